//! What the model thinks: as it streams, and told once when it is over.

use std::time::{Duration, Instant};

use zdx_protocol::Reasoning;

use super::Conversation;
use super::cell::{Cell, Item, Thought};

/// Of a thought.
const MOST: usize = 200_000;

impl Conversation {
    pub(super) fn think(&mut self, text: &str, now: Instant) {
        self.retry = None;
        let thought =
            self.thought.get_or_insert_with(|| Thought { text: String::new(), since: Some(now), took: None });
        if thought.text.len() < MOST {
            thought.text.push_str(text);
        }
    }

    /// Something else begins: what streamed is told.
    pub(super) fn thought_over(&mut self, now: Instant) {
        let Some(thought) = self.thought.take().filter(|thought| !thought.text.trim().is_empty()) else {
            return;
        };
        self.thought_told = true;
        let took = thought.since.map(|since| now - since);
        self.tell_thought(Thought { text: thought.text, since: None, took });
    }

    /// All of it, at last. It comes behind what follows the thought, where it streamed and was told already.
    pub(super) fn thought_whole(&mut self, whole: &Reasoning, now: Instant) {
        self.thought_over(now);
        if !std::mem::take(&mut self.thought_told) && !whole.text.trim().is_empty() {
            let took = whole.took_ms.map(Duration::from_millis);
            self.tell_thought(Thought { text: whole.text.clone(), since: None, took });
        }
    }

    fn tell_thought(&mut self, thought: Thought) {
        let open = self.given < self.cells.len();
        match self.cells.last_mut() {
            Some(Cell::Thought(before)) if open && before.text.len() < MOST => {
                before.took = before.took.into_iter().chain(thought.took).reduce(|a, b| a + b);
                before.text.push_str(&format!("\n\n{}", thought.text));
                self.grew(thought.text.len());
            }
            Some(Cell::Fold(items)) if open => {
                let bytes = thought.text.len();
                items.push(Item::Thought(thought));
                self.grew(bytes);
            }
            _ => self.push(Cell::Thought(thought)),
        }
    }
}
