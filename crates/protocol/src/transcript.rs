//! The only replay: what a session's records add up to, for the screen, the model and resume alike. What one record
//! means is said in `entry`, which turns count in `turns`; whoever reads a session otherwise reads it through these two.

mod compacted;
mod entry;
mod history;
mod size;
mod turns;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use jiff::Timestamp;

use crate::change::FileChange;
use crate::check::CheckHistory;
use crate::code::ToolCode;
use crate::compaction::Compaction;
use crate::content::{Content, ImageCost};
use crate::conversation::{Message, Part, Role, Usage};
use crate::policy::{Approval, Decision, GrantScope, Granting};
use crate::record::{self, Record, ToolUseOrigin};
use crate::todo::Todo;
use crate::tool::{Arguments, ToolError, ToolOutput};

pub use compacted::{pruned_image, pruned_output};
pub use entry::{Entries, Entry, Place};
use history::History;
pub use history::OpenInput;
pub use size::{ContextSize, of_output, of_value};
pub use turns::Turns;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transcript {
    /// What the model is shown, in order. Always well formed: each call has its result in the next message.
    messages: Vec<Message>,
    open_calls: Vec<String>,
    call_ids: KnownCallIds,
    history: History,
    size: ContextSize,
    compaction: Option<Box<Compaction>>,
    pub id: Option<String>,
    /// The session this one was made from.
    pub parent: Option<String>,
    /// The call of that one which this works for.
    pub task: Option<String>,
    /// Begun by a run of one prompt, and never gone on with in a conversation.
    pub one_prompt: bool,
    pub root: Option<PathBuf>,
    pub model: Option<String>,
    pub agent: Option<String>,
    /// The agent that answers in place of a model, and its own session.
    pub remote: Option<record::Remote>,
    pub first_prompt: Option<String>,
    pub turns: u32,
    /// When something was recorded last.
    pub last: Option<Timestamp>,
    pub todos: Vec<Todo>,
    /// What the user allowed for good in this session.
    pub grants: Vec<String>,
    /// Changes of files that were about to happen when the records end; oldest first, one for each path.
    intents: Vec<record::Change>,
    /// A call that somebody was asked about and has not answered: it never ran, nor did those behind it.
    asked: Option<String>,
    /// The preset, if one was chosen in it.
    pub approval: Option<Approval>,
    pub checks: CheckHistory,
    /// Of all model calls together.
    pub usage: Usage,
    /// Of the last model call: what the server counted for the context it was sent.
    pub last_usage: Option<Usage>,
}

impl Transcript {
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// How large `messages` is.
    pub fn size(&self) -> ContextSize {
        self.size
    }

    /// Calls that were requested and have no result yet.
    pub fn open_calls(&self) -> &[String] {
        &self.open_calls
    }

    pub fn apply(&mut self, record: &Record) {
        self.absorb(record.clone());
    }

    /// [`apply`](Self::apply) for a record nobody else needs: a resumed session moves its text instead of copying it.
    pub fn absorb(&mut self, record: Record) {
        self.last = record.ts().or(self.last);
        let entry = Entry::from(record);
        if matches!(entry.place(), Place::LeadIn | Place::Prompt) {
            self.answer_open_calls();
        }
        self.follow_turns(&entry);
        match entry {
            Entry::Meta(meta) => {
                self.id = meta.id;
                self.parent = meta.parent;
                self.task = meta.task;
                self.one_prompt = meta.one_prompt;
                self.root = meta.root;
                self.model = meta.model;
            }
            Entry::Prompt { text } => self.apply_prompt(text),
            Entry::Reminder { text } => self.hear(Role::User, Part::text(text)),
            Entry::Attached { content } => self.hear(Role::System, Part::Content(content)),
            Entry::Said { text, continues: true, .. } => self.go_on(text),
            Entry::Said { text, .. } | Entry::Ran { text, .. } => {
                if !text.is_empty() {
                    self.push_answer(Part::text(text));
                }
            }
            Entry::Thought(reasoning) => self.push_answer(Part::Reasoning(Box::new(reasoning))),
            Entry::Call(call) => match call.origin {
                ToolUseOrigin::Model => self.apply_call(call),
                ToolUseOrigin::Check => self.mark_check(),
                ToolUseOrigin::Remote => {}
            },
            Entry::Result { result, .. } => {
                if result.origin == ToolUseOrigin::Model {
                    self.apply_result(result.tool_use_id, result.output, result.content);
                }
            }
            Entry::Model(model) => {
                // Another model counts in other tokens.
                self.size.reported = None;
                self.model = Some(model);
            }
            Entry::Agent(agent) => self.agent = Some(agent),
            Entry::Remote(remote) => self.remote = Some(remote),
            Entry::Todos(items) => self.todos = items,
            Entry::FileChanged(record) => {
                self.end_intent(&record.change);
                self.checks.note_change(&record.change.path);
                self.note_change(record.change);
            }
            Entry::FileChangeIntended(record) => self.note_intent(record),
            Entry::FileChangeDropped(record) => self.end_intent(&record.change),
            Entry::Reverted(revert) => {
                self.note_files_restored(&revert.files);
                self.apply_revert(revert.turn, revert.files);
                self.remeasure();
            }
            Entry::Redone(redo) => {
                self.note_files_restored(&redo.files);
                self.apply_redo();
                self.remeasure();
            }
            Entry::Usage(usage) => {
                self.usage.add(usage);
                self.last_usage = Some(usage);
                self.size.report(usage);
            }
            Entry::Compacted(compaction) => self.apply_compaction(compaction),
            Entry::Pruned(prune) => self.apply_prune(&prune),
            Entry::Cut(cut) => self.apply_cut(cut.cuts),
            Entry::Asked(asked) => self.asked = (!asked.withdrawn).then_some(asked.tool_use_id),
            Entry::Approval(approval) => {
                self.asked = None;
                // What a project was granted is kept outside, where it can be revoked for every session.
                if matches!(approval.decision, Decision::AllowAlways { scope: GrantScope::Session, .. }) {
                    self.grants.extend(approval.grant);
                }
            }
            Entry::Preset(approval) => self.approval = Some(approval),
            Entry::FolderAdded(path) => {
                self.grants.extend(path.to_str().map(|path| Granting::Folder(path).spelled()));
            }
            Entry::Revoked(grant) => self.grants.retain(|known| *known != grant),
            Entry::Checked(checked) => self.checks.note_checked(&checked),
            Entry::Ended(end) => self.checks.note_turn_end(end.outcome),
            Entry::Noted(_) | Entry::Interrupted | Entry::Error(_) | Entry::Unknown(_) => {}
        }
    }

    fn note_files_restored(&mut self, files: &[FileChange]) {
        if !files.is_empty() {
            self.checks.note_files_restored();
        }
    }

    /// Messages came or went other than by being said: count them anew.
    fn remeasure(&mut self) {
        let ContextSize { learnt, image_cost, .. } = self.size;
        self.size = ContextSize::of(&self.messages, self.compaction.is_some(), image_cost);
        self.size.learnt = learnt;
    }

    /// Images count from now on as the wire of the model in use counts them.
    pub fn set_image_cost(&mut self, image_cost: ImageCost) {
        if self.size.image_cost != image_cost {
            self.size.image_cost = image_cost;
            self.remeasure();
        }
    }

    /// Results for calls that were cut off: never run again, but the model must be told. The records are
    /// returned so that the caller can save them; apply them to take effect.
    pub fn interrupted_results(&self, ts: Timestamp) -> Vec<Record> {
        let result = |(at, id): (usize, &String)| {
            Record::ToolResult(record::ToolResult::new(id, cut_off(self.never_ran(at)), ts))
        };
        self.open_calls.iter().enumerate().map(result).collect()
    }

    /// Whether this one of the open calls is the one that somebody is asked about, or comes after it.
    fn never_ran(&self, at: usize) -> bool {
        let asked = self.asked.as_ref().and_then(|asked| self.open_calls.iter().position(|id| id == asked));
        asked.is_some_and(|asked| at >= asked)
    }

    fn apply_prompt(&mut self, text: String) {
        if self.first_prompt.is_none() {
            self.first_prompt = Some(text.clone());
        }
        self.hear(Role::User, Part::text(text));
        self.mark_prompt();
    }

    /// Something is said to the model.
    fn hear(&mut self, role: Role, part: Part) {
        self.size.add(role, &part);
        match self.messages.last_mut() {
            // Two prompts in a row happen after an error; wires want roles to alternate.
            Some(last) if last.role == role => last.parts.push(part),
            Some(_) | None => self.begin(Message { role, parts: vec![part] }),
        }
    }

    /// A file may have been cut between a call and its result: the context must be whole all the same.
    fn answer_open_calls(&mut self) {
        let never_ran: Vec<bool> = (0..self.open_calls.len()).map(|at| self.never_ran(at)).collect();
        for (id, never_ran) in std::mem::take(&mut self.open_calls).into_iter().zip(never_ran) {
            self.place_result(id, cut_off(never_ran), Vec::new());
        }
    }

    fn apply_call(&mut self, call: record::ToolUse) {
        // Two calls of one id in one message: no server accepts that back.
        if self.open_calls.contains(&call.id) {
            return;
        }
        let arguments = match (call.raw, call.input) {
            (Some(raw), _) => Arguments::Raw(raw),
            (None, serde_json::Value::Object(map)) => Arguments::Object(map),
            (None, other) => Arguments::Raw(other.to_string()),
        };
        let open = call.id.clone();
        self.call_ids.note(&open);
        self.push_answer(Part::ToolUse {
            id: call.id,
            name: call.name.into(),
            arguments: arguments.into(),
            signature: call.signature,
        });
        self.open_calls.push(open);
    }

    fn apply_result(&mut self, id: String, output: ToolOutput, content: Vec<Content>) {
        // A result nobody asked for (a damaged file) would make the whole context invalid.
        if let Some(at) = self.open_calls.iter().position(|open| *open == id) {
            self.open_calls.remove(at);
            self.place_result(id, output, content);
        }
    }

    /// Puts a result into the message after the calls, in the order of the calls.
    fn place_result(&mut self, id: String, output: ToolOutput, content: Vec<Content>) {
        let Some(at) = self.messages.iter().rposition(|m| m.role == Role::Assistant) else { return };
        if at + 1 == self.messages.len() {
            self.begin(Message { role: Role::User, parts: Vec::with_capacity(1) });
        }
        let (calls, results) = self.messages.split_at_mut(at + 1);
        let (Some(calls), Some(results)) = (calls.last(), results.first_mut()) else { return };
        let rank = |wanted: &str| {
            calls.parts.iter().position(|part| matches!(part, Part::ToolUse { id, .. } if id == wanted))
        };
        let mine = rank(&id);
        let later = |part: &Part| match part {
            Part::ToolResult { tool_use_id, .. } => rank(tool_use_id) > mine,
            Part::Content(_) | Part::Reasoning(_) | Part::ToolUse { .. } => true,
        };
        let before = results.parts.iter().position(later).unwrap_or(results.parts.len());
        let part = Part::ToolResult { tool_use_id: id, output: output.into(), content: content.into() };
        self.size.add(Role::User, &part);
        results.parts.insert(before, part);
    }

    fn begin(&mut self, message: Message) {
        // The one before has hardly ever another part to come.
        if let Some(last) = self.messages.last_mut() {
            last.parts.shrink_to_fit();
        }
        self.messages.push(message);
    }

    fn push_answer(&mut self, part: Part) {
        // First, because it may answer calls that were left open.
        self.assistant();
        self.size.add(Role::Assistant, &part);
        self.assistant().push(part);
    }

    /// The answer that broke off goes on: one message, as if it had never done so.
    fn go_on(&mut self, more: String) {
        let answer = self.messages.last_mut().filter(|last| last.role == Role::Assistant);
        let said = answer.and_then(|answer| {
            // What was thought before it went on stands between the two.
            answer.parts.iter_mut().rev().find(|part| !matches!(part, Part::Reasoning(_)))
        });
        match said {
            Some(Part::Content(Content::Text(text))) => {
                self.size.go_on(more.len());
                text.push_str(&more);
            }
            Some(_) | None => {
                if !more.is_empty() {
                    self.push_answer(Part::text(more));
                }
            }
        }
    }

    /// The parts of the assistant message being built. A call that is answered closes it.
    fn assistant(&mut self) -> &mut Vec<Part> {
        if self.messages.last().is_none_or(|last| last.role != Role::Assistant) {
            self.answer_open_calls();
            self.begin(Message { role: Role::Assistant, parts: Vec::with_capacity(1) });
        }
        let last = self.messages.len() - 1;
        &mut self.messages[last].parts
    }

    /// Whether a call of the session has this id. Those that a resumed session had before its last compaction are not
    /// known any more.
    pub fn has_call(&self, wanted: &str) -> bool {
        self.call_ids.contains(wanted)
    }
}

/// Hashes of the ids of all calls that were applied: a call that a compaction took out of the context keeps its id. Two ids
/// of one hash cost no more than another name for one of them.
#[derive(Clone, Debug, Default)]
struct KnownCallIds(HashSet<u32>);

impl KnownCallIds {
    fn note(&mut self, id: &str) {
        self.0.insert(Self::hash(id));
    }

    fn contains(&self, id: &str) -> bool {
        self.0.contains(&Self::hash(id))
    }

    fn hash(id: &str) -> u32 {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        hasher.finish() as u32
    }
}

/// A session that was read from its last compaction on knows fewer ids, and is the same session.
impl PartialEq for KnownCallIds {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

fn cut_off(never_ran: bool) -> ToolOutput {
    let (code, message) = match never_ran {
        true => (ToolCode::NotRun, "the session was cut off before the call began: it never ran"),
        false => (ToolCode::Interrupted, "the call was cut off before it finished; it was not run again"),
    };
    ToolOutput::Err(ToolError::new(code, message))
}

#[cfg(test)]
mod tests;
