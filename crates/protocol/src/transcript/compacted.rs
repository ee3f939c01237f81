//! How a compaction and a pruning change the context. Both are records: a resumed session has the same context, byte for
//! byte, as the one that wrote them.

use std::collections::HashSet;

use serde_json::json;

use super::{ContextSize, Transcript};
use crate::compaction::Compaction;
use crate::conversation::{Message, Part, Role};
use crate::path_text;
use crate::record::InputCut;
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
        self.open_calls.clear();
        self.size = ContextSize::of(&self.messages, true);
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
            if let Some(part) = part.filter(|part| matches!(part, Part::Text(text) if text.len() == was)) {
                let shorter = Part::Text(text);
                self.size.replace_text(part, &shorter);
                *part = shorter;
            }
        }
    }

    pub(super) fn apply_prune(&mut self, calls: &[String]) {
        let wanted: HashSet<&str> = calls.iter().map(String::as_str).collect();
        let parts = self.messages.iter_mut().flat_map(|message| &mut message.parts);
        for part in parts {
            let Part::ToolResult { tool_use_id, .. } = &*part else { continue };
            if wanted.contains(tool_use_id.as_str()) {
                let marker =
                    Part::ToolResult { tool_use_id: tool_use_id.clone(), output: pruned_output().into() };
                self.size.replace_result(part, &marker);
                *part = marker;
            }
        }
    }
}

/// What stands where an old output was.
pub fn pruned_output() -> ToolOutput {
    ToolOutput::Ok(
        json!({ "pruned": "this output was removed to make room; make the call again if you need it" }),
    )
}
