//! Masks what streams: one text of the model's, one thought, the output of each call that runs. What may be the start of
//! a secret waits for what comes next, and goes out at the latest before the event that ends its block.

use std::collections::HashMap;

use zdx_protocol::Event;
use zdx_protocol::redact::{LiveMask, Redactor};

#[derive(Default)]
pub(crate) struct LiveMasks {
    text: LiveMask,
    reasoning: LiveMask,
    /// By call: calls run side by side.
    calls: HashMap<String, LiveMask>,
}

impl LiveMasks {
    /// Masks a piece of a stream. False when nothing of it can be told yet.
    pub(crate) fn pass(&mut self, redactor: &Redactor, event: &mut Event) -> bool {
        let (mask, piece) = if let Event::AssistantDelta { text } = event {
            (&mut self.text, text)
        } else if let Event::ReasoningDelta { text } = event {
            (&mut self.reasoning, text)
        } else if let Event::ToolProgress { id, chunk } = event {
            (self.calls.entry(id.clone()).or_default(), chunk)
        } else {
            return true;
        };
        *piece = mask.push(redactor, std::mem::take(piece));
        !piece.is_empty()
    }

    /// What was held back of the blocks that this event ends.
    pub(crate) fn release(&mut self, redactor: &Redactor, event: &Event) -> Vec<Event> {
        let mut out = Vec::new();
        if ends_reasoning(event) && self.reasoning.holds_back() {
            out.push(Event::ReasoningDelta { text: self.reasoning.flush(redactor) });
        }
        if ends_text(event) && self.text.holds_back() {
            out.push(Event::AssistantDelta { text: self.text.flush(redactor) });
        }
        // What broke off may go on, in the middle of a secret too.
        if let Event::AssistantFinal { partial: false, .. } | Event::Retrying { continues: false, .. } = event
        {
            self.text = LiveMask::default();
        } else if let Event::ReasoningFinal(_) = event {
            self.reasoning = LiveMask::default();
        } else if let Event::ToolFinished { id, .. } = event {
            out.extend(self.release_call(redactor, id));
        } else if let Event::TurnFinished(_) = event {
            *self = Self::default();
        }
        out
    }

    fn release_call(&mut self, redactor: &Redactor, id: &str) -> Option<Event> {
        let chunk = self.calls.remove(id)?.flush(redactor);
        (!chunk.is_empty()).then(|| Event::ToolProgress { id: id.to_owned(), chunk })
    }
}

/// What the model says after these is something else: what it said before must stand before them.
fn ends_block(event: &Event) -> bool {
    matches!(
        event,
        Event::AssistantFinal { .. }
            | Event::ReasoningFinal(_)
            | Event::ToolAnnounced { .. }
            | Event::ToolRequested { .. }
            | Event::Retrying { .. }
            | Event::Error { command: None, .. }
            | Event::Interrupted
            | Event::TurnFinished(_)
    )
}

fn ends_text(event: &Event) -> bool {
    matches!(event, Event::ReasoningDelta { .. }) || ends_block(event)
}

fn ends_reasoning(event: &Event) -> bool {
    matches!(event, Event::AssistantDelta { .. }) || ends_block(event)
}
