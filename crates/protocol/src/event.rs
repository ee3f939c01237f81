//! What the engine tells a front end, and (in `record`) the only place that says which of it is saved.

mod saved;
mod told;

use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

use crate::change::{FileChange, LeftBehind};
use crate::check::CheckState;
use crate::code::ErrorKind;
use crate::command::CommandId;
use crate::compaction::{Compacted, ContextUsage};
use crate::content::{AttachedContent, Content};
use crate::conversation::{Reasoning, Usage};
use crate::mcp::McpServer;
use crate::path_text;
use crate::policy::{Approval, ApprovalRequest, Decision, Preview, RequestId};
use crate::query::Reply;
use crate::record::{Beside, InputCut, Shell};
use crate::todo::Todo;
use crate::tool::{CallKind, CallOrigin, Location, Signature, ToolCall, ToolOutput};
use crate::trust::TrustRequest;

pub use crate::outcome::{CheckResult, Checked, CutShort, NoticeLevel, Outcome};
pub use told::{LastTurn, SessionInfo, TurnState, TurnSummary};

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    SessionStarted(SessionInfo),
    TurnStarted {
        turn: u32,
        prompt: String,
    },
    StateChanged {
        state: TurnState,
    },
    ReasoningDelta {
        text: String,
    },
    ReasoningFinal(Reasoning),
    AssistantDelta {
        text: String,
    },
    /// One whole message; `partial` when the stream was cut or the user interrupted it. What comes after the cut is
    /// told as another one that `continues` it.
    AssistantFinal {
        text: String,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        partial: bool,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        continues: bool,
    },
    /// The model has begun a call: its arguments still stream. The call may never be requested, when the answer breaks
    /// off or is asked for again.
    ToolAnnounced {
        id: String,
        name: String,
    },
    /// More has come of a call that was announced and changes files.
    ToolGrew {
        id: String,
        /// The file it changes, as the model names it, once that is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// How much of the arguments there is.
        bytes: u64,
    },
    /// A call begins its life. Every call has the same one, whoever asked for it: requested, perhaps asked about,
    /// started unless it was refused, and finished, all under one id.
    ToolRequested {
        id: String,
        name: String,
        input: Value,
        /// The arguments as they came, when they are no JSON object.
        #[serde(skip_serializing_if = "Option::is_none")]
        raw: Option<String>,
        /// For the record and the model's server; it means nothing to a front end.
        #[serde(skip)]
        signature: Option<Box<Signature>>,
        origin: CallOrigin,
        /// The task that a subagent's call belongs to.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent: Option<String>,
    },
    ApprovalRequested(ApprovalRequest),
    /// The question stands no longer: what holds now decides it, or the turn was interrupted.
    ApprovalWithdrawn {
        request: RequestId,
        id: String,
    },
    ApprovalResolved {
        request: RequestId,
        id: String,
        decision: Decision,
        /// What was remembered, when something was.
        #[serde(skip_serializing_if = "Option::is_none")]
        grant: Option<String>,
        /// What decided where nobody was asked.
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    ToolStarted {
        id: String,
        name: String,
        origin: CallOrigin,
        kind: CallKind,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        locations: Vec<Location>,
        preview: Preview,
    },
    ToolProgress {
        id: String,
        chunk: String,
    },
    ToolFinished {
        id: String,
        name: String,
        origin: CallOrigin,
        result: ToolOutput,
        /// Images that came with the result.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<Content>,
        /// What it changed in files, line by line and bounded. Beside the result: no model reads it.
        #[serde(skip_serializing_if = "Option::is_none")]
        diff: Option<String>,
        duration_ms: u64,
        /// What kind of call it was, where that is known to change nothing: what may be told in a line with its neighbours.
        #[serde(skip_serializing_if = "Option::is_none")]
        reads: Option<CallKind>,
        /// What else is known of it; no model reads it.
        #[serde(skip_serializing_if = "Option::is_none")]
        beside: Option<Box<Beside>>,
    },
    /// The whole list as it is now.
    TodosChanged {
        items: Vec<Todo>,
        /// A starter that the model has yet to take up: for whoever asks, not for the screen.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        draft: bool,
    },
    /// A tool call changed a file.
    FileChanged {
        id: String,
        #[serde(flatten)]
        change: FileChange,
    },
    /// A tool call is about to change a file. Saved before the file is touched and told to no front end: a `FileChanged`
    /// or `FileChangeDropped` of the same path follows, unless zdx is killed in between.
    FileChangeIntended {
        id: String,
        #[serde(flatten)]
        change: FileChange,
    },
    /// An intended change did not happen. Saved, and told to no front end.
    FileChangeDropped {
        id: String,
        #[serde(flatten)]
        change: FileChange,
    },
    /// The conversation stands as before this turn, and so do the files that tools had changed since.
    Reverted {
        turn: u32,
        files: Vec<FileChange>,
        /// What commands may have done, which stays; absent where nobody looked.
        #[serde(skip_serializing_if = "Option::is_none")]
        left: Option<LeftBehind>,
    },
    /// The last revert was taken back; `turn` is the one that is the last again.
    Redone {
        turn: u32,
        files: Vec<FileChange>,
    },
    ModelChanged {
        model: String,
    },
    AgentChanged {
        agent: String,
    },
    /// Another agent answers from here on, in this session of its own.
    RemoteSession {
        agent: String,
        session: String,
    },
    ApprovalChanged {
        approval: Approval,
    },
    GrantRevoked {
        grant: String,
    },
    /// The check is offered, or was answered or asked about.
    CheckTold(CheckState),
    /// A folder outside the workspace counts like it from here on, in this session.
    FolderAdded {
        #[serde(serialize_with = "path_text::serialize")]
        path: PathBuf,
    },
    /// A server that brings tools has come up, has failed, or lists others now.
    McpChanged(McpServer),
    /// Tools of servers came or went: the next request begins with other bytes.
    ToolsChanged {
        added: Vec<String>,
        removed: Vec<String>,
    },
    /// Nothing of a folder's own files that needs trust is used before this is answered.
    TrustRequested(TrustRequest),
    TrustResolved {
        request: RequestId,
        trusted: bool,
    },
    /// What happened in a session before it was resumed, in order, as far as it is told again.
    Replayed {
        event: Box<Event>,
    },
    /// The session was written down as text.
    Exported {
        #[serde(serialize_with = "path_text::serialize")]
        path: PathBuf,
    },
    /// Something the user mentioned, put before the prompt for the model to read.
    Attached(AttachedContent),
    /// A word to the model that the user need not read.
    Reminded {
        text: String,
    },
    /// A command that the user ran with `!` has ended; `text` is what the model will read of it.
    ShellFinished {
        text: String,
        shell: Shell,
    },
    /// The earlier conversation was replaced by a summary: the next request begins with other bytes.
    Compacted(Compacted),
    /// Outputs of these old calls left the context: the next request has other bytes from the first of them on.
    Pruned {
        calls: Vec<String>,
        /// Hashes of images that left it too.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        images: Vec<String>,
        bytes: u64,
    },
    /// Input of this turn was too large after all: the next request has its beginning and end only.
    InputCut {
        cuts: Vec<InputCut>,
    },
    /// After each turn.
    ContextUsage(ContextUsage),
    /// Tokens of one model call.
    UsageReported(Usage),
    Retrying {
        attempt: u32,
        of: u32,
        delay_ms: u64,
        reason: String,
        /// The answer broke off in the middle of its text: it is not asked for anew but goes on where it stopped.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        continues: bool,
    },
    Notice {
        level: NoticeLevel,
        message: String,
        /// It belongs to the conversation: it is recorded, and told again.
        #[serde(skip)]
        kept: bool,
    },
    /// The work of a turn was checked.
    Checked(Checked),
    Error {
        /// The command that could not be carried out, and ends with this.
        #[serde(skip)]
        command: Option<CommandId>,
        kind: ErrorKind,
        message: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        details: Option<String>,
    },
    Interrupted,
    TurnFinished(TurnSummary),
    /// A command was carried out.
    Done {
        id: CommandId,
    },
    /// The answer to a question, and its end.
    Reply {
        id: CommandId,
        answer: Reply,
    },
}

impl Event {
    /// A call begins its life.
    pub fn requested(call: &ToolCall, origin: CallOrigin) -> Self {
        Self::ToolRequested {
            id: call.id.clone(),
            name: call.name.clone(),
            input: call.arguments.input(),
            raw: call.arguments.raw().map(str::to_owned),
            signature: call.signature.clone(),
            origin,
            parent: None,
        }
    }

    /// The command that is over with this event.
    pub fn ends(&self) -> Option<CommandId> {
        match self {
            Self::Done { id } | Self::Reply { id, .. } => Some(*id),
            Self::Error { command, .. } => *command,
            _ => None,
        }
    }
}
