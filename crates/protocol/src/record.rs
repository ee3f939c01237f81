//! One line of a session file. The shapes are a contract: see `docs/SPEC.md`.
//! Lines of a type this build does not know are kept as they are.

mod calls;
mod kept;

use std::borrow::Cow;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::change::{FileChange, LeftBehind};
use crate::code::ErrorKind;
use crate::compaction::Compaction;
use crate::content::Content;
use crate::conversation::{Reasoning, Role, Usage};
use crate::path_text;
use crate::policy::{Approval, Decision};
pub use crate::time::{millis, now, stamp, written};
use crate::todo::Todo;

pub use calls::{ToolResult, ToolUse, ToolUseOrigin};
pub use kept::{Asked, Beside, Checked, Noted, Shell, ShellEnd, TaskAnswer, TaskCalls, TurnEnd};

/// A file with a higher number was written by a newer zdx: it may be read, not appended to.
pub const SCHEMA_VERSION: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Record {
    Meta(Meta),
    Message(Message),
    Remote(Remote),
    Checked(Checked),
    Asked(Asked),
    Noted(Noted),
    TurnEnd(TurnEnd),
    Interrupted(Interrupted),
    Reasoning(ReasoningRecord),
    Model(Model),
    Agent(Agent),
    Approval(ApprovalRecord),
    Revoked(Revoked),
    FolderAdded(FolderAdded),
    Preset(Preset),
    Todos(Todos),
    Change(Change),
    ChangeIntent(Change),
    ChangeDropped(Change),
    Revert(Revert),
    Redo(Redo),
    Usage(UsageRecord),
    Error(ErrorRecord),
    Compaction(Box<Compaction>),
    Prune(Prune),
    Cut(Cut),
    /// Written as `tool_use`, `remote_use` or `check_use`, by its origin.
    #[serde(untagged)]
    ToolUse(ToolUse),
    /// Written as `tool_result`, `remote_result` or `check_result`, by its origin.
    #[serde(untagged)]
    ToolResult(ToolResult),
    #[serde(untagged)]
    Unknown(UnknownRecord),
}

/// A line of a type this build does not know, as it was written to the last digit.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct UnknownRecord(Box<RawValue>);

impl UnknownRecord {
    pub fn as_str(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for UnknownRecord {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    pub schema_version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "path_text::option")]
    pub root: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The call of the parent that this session works for: it is the parent's child, not a session of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Begun by a run of one prompt (`exec`), not in a conversation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_prompt: bool,
    #[serde(serialize_with = "stamp")]
    pub ts: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    pub text: String,
    /// The answer broke off here, or was interrupted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// Goes on where the partial one before it stopped: the two are one message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continues: bool,
    /// For the model alone: a reminder that the user need not read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
    /// On what the model is told of a command that the user ran with `!`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<Shell>,
    /// On an attachment that is more than text: its words are in `text`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    #[serde(serialize_with = "stamp")]
    pub ts: Timestamp,
}

impl Message {
    /// Content that is put before a prompt.
    pub fn attached(content: &Content, ts: Timestamp) -> Self {
        let (text, content) = content.clone().into_record();
        Self { content, ..Self::new(Role::System, text, ts) }
    }

    pub fn new(role: Role, text: impl Into<String>, ts: Timestamp) -> Self {
        Self {
            role,
            text: text.into(),
            partial: false,
            continues: false,
            hidden: false,
            shell: None,
            content: None,
            ts,
        }
    }
}

/// From here on another agent answers, in a session of its own. Its calls have the origin [`ToolUseOrigin::Remote`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remote {
    pub agent: String,
    /// As that agent names it.
    pub session: String,
    #[serde(serialize_with = "stamp")]
    pub ts: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interrupted {
    pub role: Role,
    pub text: String,
    #[serde(serialize_with = "stamp")]
    pub ts: Timestamp,
}

impl Interrupted {
    pub fn at(ts: Timestamp) -> Self {
        Self { role: Role::System, text: "Interrupted".to_owned(), ts }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReasoningRecord {
    #[serde(flatten)]
    pub reasoning: Reasoning,
    #[serde(serialize_with = "stamp")]
    pub ts: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    pub model: String,
    #[serde(serialize_with = "stamp")]
    pub ts: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    pub agent: String,
    #[serde(serialize_with = "stamp")]
    pub ts: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRecord {
    pub tool_use_id: String,
    #[serde(flatten)]
    pub decision: Decision,
    /// What "always" allowed, word for word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
    /// What decided where nobody was asked: an option of the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(serialize_with = "stamp")]
    pub ts: Timestamp,
}

/// The whole todo list after a change: the last one counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Todos {
    pub items: Vec<Todo>,
    /// A starter that the model has not taken up: to whoever reads on, there is no list.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub draft: bool,
    #[serde(serialize_with = "stamp")]
    pub ts: Timestamp,
}

/// What a tool call did to a file; the contents lie beside the session. As an intent: what it is about to do, followed by
/// a `change` or `change_dropped` of the same path unless the process was killed in between.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    pub tool_use_id: String,
    #[serde(flatten)]
    pub change: FileChange,
    #[serde(serialize_with = "stamp")]
    pub ts: Timestamp,
}

impl Change {
    pub fn new(call: &str, change: &FileChange, ts: Timestamp) -> Self {
        Self { tool_use_id: call.to_owned(), change: change.clone(), ts }
    }
}

/// From here on it is as if this turn and all after it had not been.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Revert {
    pub turn: u32,
    /// What was done to files for it.
    #[serde(default)]
    pub files: Vec<FileChange>,
    /// What it left as it was; absent where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<LeftBehind>,
    #[serde(serialize_with = "stamp")]
    pub ts: Timestamp,
}

/// The last revert that still stands is taken back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Redo {
    #[serde(default)]
    pub files: Vec<FileChange>,
    #[serde(serialize_with = "stamp")]
    pub ts: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UsageRecord {
    #[serde(flatten)]
    pub usage: Usage,
    #[serde(serialize_with = "stamp")]
    pub ts: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ErrorRecord {
    pub kind: ErrorKind,
    pub message: String,
    #[serde(serialize_with = "stamp")]
    pub ts: Timestamp,
}

/// A grant that was taken back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Revoked {
    pub grant: String,
    #[serde(serialize_with = "stamp")]
    pub ts: Timestamp,
}

/// A folder outside the workspace that the user added to the session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FolderAdded {
    /// Absolute, links followed.
    #[serde(with = "path_text")]
    pub path: PathBuf,
    #[serde(serialize_with = "stamp")]
    pub ts: Timestamp,
}

/// How much may happen without asking, from here on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Preset {
    pub approval: Approval,
    #[serde(serialize_with = "stamp")]
    pub ts: Timestamp,
}

/// Old outputs that left the context to make room; the file keeps them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prune {
    pub calls: Vec<String>,
    /// Hashes of images that left it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
    pub bytes: u64,
    #[serde(serialize_with = "stamp")]
    pub ts: Timestamp,
}

/// Input of the running turn that turned out too large: head and tail stay in the context, the file keeps it whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cut {
    pub cuts: Vec<InputCut>,
    #[serde(serialize_with = "stamp")]
    pub ts: Timestamp,
}

/// One text of the context and what stands in its place from here on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputCut {
    /// Which message of the context, and which part of it.
    pub message: usize,
    pub part: usize,
    /// How long it was: if it is not, this is another context and nothing is cut.
    pub was: usize,
    pub text: String,
    /// Where the whole of it can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

impl Record {
    /// Reads one line, with or without its newline. The type is looked at first, then the line is read once into
    /// that type: a tagged enum would buffer every line twice.
    pub fn parse(line: &[u8]) -> serde_json::Result<Self> {
        fn read<T: DeserializeOwned>(line: &[u8], wrap: fn(T) -> Record) -> serde_json::Result<Record> {
            serde_json::from_slice(line).map(wrap)
        }
        match kind(line)?.as_ref() {
            "meta" => read(line, Self::Meta),
            "message" => read(line, Self::Message),
            "tool_use" | "remote_use" | "check_use" => read(line, Self::ToolUse),
            "tool_result" | "remote_result" | "check_result" => read(line, Self::ToolResult),
            "remote" => read(line, Self::Remote),
            "checked" => read(line, Self::Checked),
            "asked" => read(line, Self::Asked),
            "noted" => read(line, Self::Noted),
            "turn_end" => read(line, Self::TurnEnd),
            "interrupted" => read(line, Self::Interrupted),
            "reasoning" => read(line, Self::Reasoning),
            "model" => read(line, Self::Model),
            "agent" => read(line, Self::Agent),
            "approval" => read(line, Self::Approval),
            "revoked" => read(line, Self::Revoked),
            "folder_added" => read(line, Self::FolderAdded),
            "preset" => read(line, Self::Preset),
            "todos" => read(line, Self::Todos),
            "change" => read(line, Self::Change),
            "change_intent" => read(line, Self::ChangeIntent),
            "change_dropped" => read(line, Self::ChangeDropped),
            "revert" => read(line, Self::Revert),
            "redo" => read(line, Self::Redo),
            "usage" => read(line, Self::Usage),
            "error" => read(line, Self::Error),
            "compaction" => read(line, |compaction| Self::Compaction(Box::new(compaction))),
            "prune" => read(line, Self::Prune),
            "cut" => read(line, Self::Cut),
            _ => read(line, |raw| Self::Unknown(UnknownRecord(raw))),
        }
    }

    /// When it happened; of a type that this build does not know nobody can say.
    pub fn ts(&self) -> Option<Timestamp> {
        match self {
            Self::Meta(Meta { ts, .. })
            | Self::Message(Message { ts, .. })
            | Self::ToolUse(ToolUse { ts, .. })
            | Self::ToolResult(ToolResult { ts, .. })
            | Self::Remote(Remote { ts, .. })
            | Self::Checked(Checked { ts, .. })
            | Self::Asked(Asked { ts, .. })
            | Self::Noted(Noted { ts, .. })
            | Self::TurnEnd(TurnEnd { ts, .. })
            | Self::Interrupted(Interrupted { ts, .. })
            | Self::Reasoning(ReasoningRecord { ts, .. })
            | Self::Model(Model { ts, .. })
            | Self::Agent(Agent { ts, .. })
            | Self::Approval(ApprovalRecord { ts, .. })
            | Self::Revoked(Revoked { ts, .. })
            | Self::FolderAdded(FolderAdded { ts, .. })
            | Self::Preset(Preset { ts, .. })
            | Self::Todos(Todos { ts, .. })
            | Self::Change(Change { ts, .. })
            | Self::ChangeIntent(Change { ts, .. })
            | Self::ChangeDropped(Change { ts, .. })
            | Self::Revert(Revert { ts, .. })
            | Self::Redo(Redo { ts, .. })
            | Self::Usage(UsageRecord { ts, .. })
            | Self::Error(ErrorRecord { ts, .. })
            | Self::Prune(Prune { ts, .. })
            | Self::Cut(Cut { ts, .. }) => Some(*ts),
            Self::Compaction(compaction) => Some(compaction.ts),
            Self::Unknown(_) => None,
        }
    }

    /// The line, newline included, as one buffer for one write.
    pub fn to_line(&self) -> serde_json::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }
}

/// The `type` of a line. Ours comes first in every line we write; only foreign lines are searched for it.
fn kind(line: &[u8]) -> serde_json::Result<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(borrow, rename = "type")]
        kind: Cow<'a, str>,
    }
    let first = line.strip_prefix(br#"{"type":""#).and_then(|rest| {
        let name = &rest[..rest.iter().position(|byte| *byte == b'"')?];
        std::str::from_utf8(name).ok().filter(|name| !name.contains('\\'))
    });
    match first {
        Some(name) => Ok(Cow::Borrowed(name)),
        None => serde_json::from_slice(line).map(|found: Kind| found.kind),
    }
}

#[cfg(test)]
mod tests;
