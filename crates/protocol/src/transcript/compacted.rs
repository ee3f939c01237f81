//! How a compaction and a pruning change the context. Both are records: a resumed session has the same context, byte for
//! byte, as the one that wrote them.

use std::collections::HashSet;

use serde_json::json;

use super::{ContextSize, Transcript};
use crate::compaction::Compaction;
use crate::content::{Content, ImageRef};
use crate::conversation::{Message, Part, Role, calls};
use crate::path_text;
use crate::record::{InputCut, Prune};
use crate::tool::ToolOutput;

impl Transcript {
    /// The last compaction, without the messages it kept: those are in the context.
    pub fn compaction(&self) -> Option<&Compaction> {
        self.compaction.as_deref()
    }

    pub(super) fn apply_compaction(&mut self, mut compaction: Box<Compaction>) {
        let mut first = Message::text(Role::User, compaction.context_text());
        let mut kept = std::mem::take(&mut compaction.kept).into_iter().peekable();
        // Wires want roles to alternate.
        while let Some(more) = kept.next_if(|message| message.role == Role::User) {
            first.parts.extend(more.parts);
        }
        self.messages = std::iter::once(first).chain(kept).collect();
        for call in calls(&self.messages) {
            self.call_ids.note(call.id);
        }
        self.open_calls.clear();
        self.size = ContextSize::of(&self.messages, true, self.size.image_cost);
        self.size.learnt = compaction.state.measured;
        let state = &compaction.state;
        if self.root.is_none() {
            self.root = state.root.as_deref().map(path_text::decode);
        }
        self.model.clone_from(&state.model);
        self.agent.clone_from(&state.agent);
        self.first_prompt.clone_from(&state.first_prompt);
        self.turns = state.turns;
        self.usage = state.usage;
        self.last_usage = None;
        self.grants.clone_from(&state.grants);
        self.approval = state.approval;
        self.checks.clone_from(&state.checks);
        self.todos.clone_from(&compaction.todos);
        self.compaction = Some(compaction);
        // What was before cannot be gone back to: it is not in the context any more.
        self.forget_history();
    }

    pub(super) fn apply_cut(&mut self, cuts: Vec<InputCut>) {
        for InputCut { message, part, was, text, .. } in cuts {
            let part = self.messages.get_mut(message).and_then(|message| message.parts.get_mut(part));
            if let Some(Part::Content(content)) = part
                && let Some(whole) = content.text_mut().filter(|whole| whole.len() == was)
            {
                self.size.shorten_text(whole.len() - text.len().min(whole.len()));
                *whole = text;
            }
        }
    }

    pub(super) fn apply_prune(&mut self, prune: &Prune) {
        let calls: HashSet<&str> = prune.calls.iter().map(String::as_str).collect();
        let images: HashSet<&str> = prune.images.iter().map(String::as_str).collect();
        let size = &mut self.size;
        for part in self.messages.iter_mut().flat_map(|message| &mut message.parts) {
            let pruned = match &*part {
                Part::ToolResult { tool_use_id, .. } if calls.contains(tool_use_id.as_str()) => {
                    Part::result(tool_use_id, pruned_output())
                }
                _ => match without_images(part, &images) {
                    Some(pruned) => pruned,
                    None => continue,
                },
            };
            size.replace(part, &pruned);
            *part = pruned;
        }
    }
}

/// The part with a note in place of each of these images; None when it has none of them.
fn without_images(part: &Part, images: &HashSet<&str>) -> Option<Part> {
    let is_gone =
        |content: &Content| content.image().is_some_and(|image| images.contains(image.blob.sha256.as_str()));
    if images.is_empty() || !part.content().iter().any(is_gone) {
        return None;
    }
    let without = |content: &Content| match content.image().filter(|_| is_gone(content)) {
        Some(image) => Content::Text(pruned_image(image)),
        None => content.clone(),
    };
    Some(match part {
        Part::Content(content) => Part::Content(without(content)),
        Part::ToolResult { tool_use_id, output, content } => Part::ToolResult {
            tool_use_id: tool_use_id.clone(),
            output: output.clone(),
            content: content.iter().map(without).collect(),
        },
        Part::Reasoning(_) | Part::ToolUse { .. } => return None,
    })
}

/// The words that stand where an old image was.
pub fn pruned_image(image: &ImageRef) -> String {
    format!("[image removed to make room: {}; read or attach it again if you need it]", image.summary())
}

/// What stands where an old output was.
pub fn pruned_output() -> ToolOutput {
    ToolOutput::Ok(
        json!({ "pruned": "this output was removed to make room; make the call again if you need it" }),
    )
}
