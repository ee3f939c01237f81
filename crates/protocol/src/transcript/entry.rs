//! What a record means to a reader: the one place that tells a prompt from a reminder, and an answer from a command's end.
//! Decides nothing about what is shown or kept; that is each reader's business.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;

use crate::compaction::Compaction;
use crate::content::Content;
use crate::conversation::{Reasoning, Role, Usage};
use crate::policy::Approval;
use crate::record::{self, Record, Shell};
use crate::todo::Todo;

/// More calls than this are never open at once but in a damaged file.
const OPEN_CALLS: usize = 1000;

/// One thing that happened in a session.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    Meta(record::Meta),
    /// What the user asked: a turn begins.
    Prompt {
        text: String,
    },
    /// Content that the user named, put before the prompt.
    Attached {
        content: Content,
    },
    /// A word to the model in the user's name that he neither said nor reads.
    Reminder {
        text: String,
    },
    Said {
        text: String,
        partial: bool,
        /// It goes on where a partial one stopped: [`Entries`] joins the two.
        continues: bool,
    },
    /// A command that the user typed has ended; `text` is what the model reads of it.
    Ran {
        shell: Shell,
        text: String,
    },
    Thought(Reasoning),
    /// A call of any origin, as its result is. A model reads only those of its own.
    Call(record::ToolUse),
    Result {
        /// Where it is known: [`Entries`] remembers it.
        call: Option<record::ToolUse>,
        result: record::ToolResult,
    },
    Checked(crate::outcome::Checked),
    /// Somebody was asked about a call, or is no longer.
    Asked(record::Asked),
    /// A word about an answer.
    Noted(record::Noted),
    /// What the turn came to.
    Ended(record::TurnEnd),
    /// Another agent answers, in this session of its own.
    Remote(record::Remote),
    Interrupted,
    Error(record::ErrorRecord),
    Model(String),
    Agent(String),
    Approval(record::ApprovalRecord),
    Revoked(String),
    FolderAdded(PathBuf),
    Preset(Approval),
    Todos(Vec<Todo>),
    FileChanged(record::Change),
    FileChangeIntended(record::Change),
    FileChangeDropped(record::Change),
    Reverted(record::Revert),
    Redone(record::Redo),
    Usage(Usage),
    Compacted(Box<Compaction>),
    Pruned(record::Prune),
    Cut(record::Cut),
    Unknown(record::UnknownRecord),
}

/// Where an entry stands as to turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Belongs to the turn of the prompt that comes next, if one does before anything else happens.
    LeadIn,
    Prompt,
    /// Part of a turn that has begun, or an end to it.
    Within,
    /// Says nothing about turns.
    Beside,
}

impl From<Record> for Entry {
    fn from(record: Record) -> Self {
        match record {
            Record::Meta(meta) => Self::Meta(meta),
            Record::Message(message) => message.into(),
            Record::ToolUse(call) => Self::Call(call),
            Record::ToolResult(result) => Self::Result { call: None, result },
            Record::Remote(remote) => Self::Remote(remote),
            Record::Checked(record) => Self::Checked(record.checked),
            Record::Asked(asked) => Self::Asked(asked),
            Record::Noted(noted) => Self::Noted(noted),
            Record::TurnEnd(end) => Self::Ended(end),
            Record::Interrupted(_) => Self::Interrupted,
            Record::Reasoning(record) => Self::Thought(record.reasoning),
            Record::Model(change) => Self::Model(change.model),
            Record::Agent(change) => Self::Agent(change.agent),
            Record::Approval(approval) => Self::Approval(approval),
            Record::Revoked(revoked) => Self::Revoked(revoked.grant),
            Record::FolderAdded(added) => Self::FolderAdded(added.path),
            Record::Preset(preset) => Self::Preset(preset.approval),
            // A draft that nobody took up is no list.
            Record::Todos(todos) if todos.draft => Self::Todos(Vec::new()),
            Record::Todos(todos) => Self::Todos(todos.items),
            Record::Change(change) => Self::FileChanged(change),
            Record::ChangeIntent(change) => Self::FileChangeIntended(change),
            Record::ChangeDropped(change) => Self::FileChangeDropped(change),
            Record::Revert(revert) => Self::Reverted(revert),
            Record::Redo(redo) => Self::Redone(redo),
            Record::Usage(record) => Self::Usage(record.usage),
            Record::Error(error) => Self::Error(error),
            Record::Compaction(compaction) => Self::Compacted(compaction),
            Record::Prune(prune) => Self::Pruned(prune),
            Record::Cut(cut) => Self::Cut(cut),
            Record::Unknown(unknown) => Self::Unknown(unknown),
        }
    }
}

impl From<record::Message> for Entry {
    fn from(message: record::Message) -> Self {
        let record::Message { role, text, partial, continues, hidden, shell, content, .. } = message;
        match (role, hidden, shell) {
            (Role::User, false, _) => Self::Prompt { text },
            (Role::User, true, _) => Self::Reminder { text },
            (Role::System, ..) => Self::Attached { content: Content::from_record(text, content) },
            (Role::Assistant, _, Some(shell)) => Self::Ran { shell, text },
            (Role::Assistant, _, None) => Self::Said { text, partial, continues },
        }
    }
}

impl Entry {
    pub fn place(&self) -> Place {
        match self {
            Self::Attached { .. } | Self::Reminder { .. } => Place::LeadIn,
            Self::Prompt { .. } => Place::Prompt,
            Self::Said { .. }
            | Self::Ran { .. }
            | Self::Thought(_)
            | Self::Call(_)
            | Self::Result { .. }
            | Self::Checked(_)
            | Self::Noted(_)
            | Self::Ended(_)
            | Self::Interrupted
            | Self::Error(_)
            | Self::FileChanged(_)
            | Self::FileChangeIntended(_)
            | Self::FileChangeDropped(_)
            | Self::Reverted(_)
            | Self::Redone(_)
            | Self::Usage(_)
            | Self::Compacted(_)
            | Self::Pruned(_)
            | Self::Cut(_) => Place::Within,
            // What a prompt chooses, is asked for or is given a list of may come between what leads in to it and itself.
            Self::Meta(_)
            | Self::Model(_)
            | Self::Agent(_)
            | Self::Remote(_)
            | Self::Approval(_)
            | Self::Asked(_)
            | Self::Revoked(_)
            | Self::FolderAdded(_)
            | Self::Preset(_)
            | Self::Todos(_)
            | Self::Unknown(_) => Place::Beside,
        }
    }
}

/// Reads the records of a session in order: knows of a result which call it answers, and joins an answer that broke off
/// with what continues it.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    open: HashMap<String, record::ToolUse>,
    /// To be given out, in order.
    ready: VecDeque<Entry>,
    /// An answer that broke off, and what was thought since: what comes next tells whether it goes on.
    broken: Vec<Entry>,
}

impl Entries {
    /// Takes in one record; [`next`](Self::next) gives out what is known by now.
    pub fn read(&mut self, record: Record) {
        let entry = self.answered(Entry::from(record));
        match (entry, self.broken.first_mut()) {
            (
                Entry::Said { text: more, partial: again, continues: true },
                Some(Entry::Said { text, partial, .. }),
            ) => {
                text.push_str(&more);
                *partial = again;
                if !again {
                    self.end();
                }
            }
            (entry @ Entry::Thought(_), Some(_)) => self.broken.push(entry),
            (entry, _) => {
                self.end();
                if matches!(entry, Entry::Said { partial: true, .. }) {
                    self.broken.push(entry);
                } else {
                    self.ready.push_back(entry);
                }
            }
        }
    }

    /// No record follows: what broke off stays so.
    pub fn end(&mut self) {
        self.ready.extend(self.broken.drain(..));
    }

    #[expect(clippy::should_implement_trait, reason = "more may come after it had nothing to give")]
    pub fn next(&mut self) -> Option<Entry> {
        self.ready.pop_front()
    }

    fn answered(&mut self, mut entry: Entry) -> Entry {
        if entry.place() == Place::Prompt {
            self.open.clear();
        }
        if let Entry::Result { call, result } = &mut entry {
            *call = self.open.remove(&result.tool_use_id);
        }
        // The first of two calls of one id counts, as in the context.
        if let Entry::Call(call) = &entry
            && self.open.len() < OPEN_CALLS
            && !self.open.contains_key(&call.id)
        {
            self.open.insert(call.id.clone(), call.clone());
        }
        entry
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::record::{ShellEnd, now};
    use crate::tool::ToolOutput;

    fn message(role: Role) -> record::Message {
        record::Message::new(role, "x", now())
    }

    #[test]
    fn a_message_means_one_thing() {
        let (text, shell) = (
            "x".to_owned(),
            Shell {
                command: "ls".to_owned(),
                end: ShellEnd::Interrupted,
                duration_ms: None,
                order: Vec::new(),
            },
        );
        let cases = [
            (message(Role::User), Entry::Prompt { text: text.clone() }),
            (record::Message { hidden: true, ..message(Role::User) }, Entry::Reminder { text: text.clone() }),
            (message(Role::System), Entry::Attached { content: Content::Text(text.clone()) }),
            (message(Role::Assistant), Entry::Said { text: text.clone(), partial: false, continues: false }),
            (
                record::Message { partial: true, ..message(Role::Assistant) },
                Entry::Said { text: text.clone(), partial: true, continues: false },
            ),
            (
                record::Message { shell: Some(shell.clone()), ..message(Role::Assistant) },
                Entry::Ran { shell, text },
            ),
        ];
        for (message, entry) in cases {
            assert_eq!(Entry::from(Record::Message(message)), entry);
        }
    }

    #[test]
    fn a_result_comes_with_its_call_until_the_next_prompt() {
        let call = |id: &str, name: &str| record::ToolUse::new(id, name, json!({}), now());
        let result =
            |id: &str| Record::ToolResult(record::ToolResult::new(id, ToolOutput::Ok(json!(1)), now()));
        let mut entries = Entries::default();
        let mut answered = |record: Record| {
            entries.read(record);
            match entries.next() {
                Some(Entry::Result { call, .. }) => call.map(|call| call.name),
                _ => None,
            }
        };
        for name in ["read", "again"] {
            answered(Record::ToolUse(call("a", name)));
        }
        answered(Record::ToolUse(call("b", "bash")));
        assert_eq!(answered(result("a")).as_deref(), Some("read"));
        assert_eq!(answered(result("a")), None, "it was answered");
        answered(Record::Message(message(Role::User)));
        assert_eq!(answered(result("b")), None, "it was cut off");
    }

    #[test]
    fn what_broke_off_and_went_on_is_one_message() {
        let said = |text: &str, partial: bool, continues: bool| {
            Record::Message(record::Message {
                partial,
                continues,
                ..record::Message::new(Role::Assistant, text, now())
            })
        };
        let told = |records: Vec<Record>| {
            let mut entries = Entries::default();
            records.into_iter().for_each(|record| entries.read(record));
            entries.end();
            let word = |entry: Entry| match entry {
                Entry::Said { text, partial, .. } => format!("{text}{}", if partial { "…" } else { "" }),
                Entry::Thought(_) => "thought".to_owned(),
                Entry::Prompt { .. } => "prompt".to_owned(),
                other => format!("{other:?}"),
            };
            std::iter::from_fn(|| entries.next()).map(word).collect::<Vec<_>>()
        };
        let prompt = || Record::Message(message(Role::User));
        let thought = || {
            let reasoning = Reasoning {
                text: "hm".into(),
                wire: "w".into(),
                model: "m".into(),
                opaque: None,
                took_ms: None,
            };
            Record::Reasoning(record::ReasoningRecord { reasoning, ts: now() })
        };
        assert_eq!(
            told(vec![
                said("a", true, false),
                thought(),
                said("b", true, true),
                said("c", false, true),
                prompt()
            ]),
            ["abc", "thought", "prompt"]
        );
        assert_eq!(told(vec![said("a", true, false), said("b", true, true)]), ["ab…"], "it never ended");
        assert_eq!(
            told(vec![said("a", true, false), prompt(), said("b", false, false)]),
            ["a…", "prompt", "b"]
        );
        assert_eq!(told(vec![prompt(), said("b", false, true)]), ["prompt", "b"], "a file that was cut");
    }
}
