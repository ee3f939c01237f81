//! What the engine tells a front end, and (in `record`) the only place that says which of it is saved.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::change::{FileChange, lossy};
use crate::compaction::{Compacted, Compaction, ContextUsage};
use crate::conversation::{Reasoning, Role, Usage};
use crate::policy::{ApprovalRequest, Decision, RequestId};
use crate::record::{self, Record, Shell};
use crate::todo::Todo;
use crate::tool::ToolOutput;

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
    /// One whole message; `partial` when the stream was cut or the user interrupted it.
    AssistantFinal {
        text: String,
        #[serde(skip_serializing_if = "is_false")]
        partial: bool,
    },
    ToolRequested {
        id: String,
        name: String,
        input: Value,
        /// The arguments as they came, when they are no JSON object.
        #[serde(skip_serializing_if = "Option::is_none")]
        raw: Option<String>,
    },
    ApprovalRequested(ApprovalRequest),
    ApprovalResolved {
        request: RequestId,
        id: String,
        decision: Decision,
        /// What was remembered, when something was.
        #[serde(skip_serializing_if = "Option::is_none")]
        grant: Option<String>,
    },
    ToolStarted {
        id: String,
        name: String,
    },
    ToolProgress {
        id: String,
        chunk: String,
    },
    ToolFinished {
        id: String,
        name: String,
        result: ToolOutput,
        duration_ms: u64,
    },
    /// The whole list as it is now.
    TodosChanged {
        items: Vec<Todo>,
    },
    /// A tool call changed a file.
    FileChanged {
        id: String,
        #[serde(flatten)]
        change: FileChange,
    },
    /// The conversation stands as before this turn, and so do the files that tools had changed since.
    Reverted {
        turn: u32,
        files: Vec<FileChange>,
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
    /// What was asked for with `Command::List`, a line each; a name may be followed by ` · ` and what it is.
    Listed {
        lines: Vec<String>,
    },
    /// Something the user mentioned, put before the prompt for the model to read.
    Attached {
        /// How the user named it: `@file:src/main.rs`.
        label: String,
        text: String,
    },
    /// A word to the model that the user need not read.
    Reminded {
        text: String,
    },
    /// Output, as it comes, of a command that no model called for.
    ShellOutput {
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
        bytes: u64,
    },
    /// After each turn, and when asked for.
    ContextUsage(ContextUsage),
    /// Tokens of one model call.
    UsageReported(Usage),
    Retrying {
        attempt: u32,
        of: u32,
        delay_ms: u64,
        reason: String,
    },
    Notice {
        level: NoticeLevel,
        message: String,
    },
    Error {
        kind: ErrorKind,
        message: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        details: Option<String>,
    },
    Interrupted,
    TurnFinished(TurnSummary),
}

fn is_false(value: &bool) -> bool {
    !*value
}

/// What a session is, told once when it starts or resumes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionInfo {
    pub session: String,
    #[serde(serialize_with = "lossy")]
    pub root: PathBuf,
    /// `provider/name`.
    pub model: String,
    pub resumed: bool,
    /// False with `--no-save`, or when the session could not be opened for writing.
    pub saved: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Where a resumed session was left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<LastTurn>,
}

/// The last thing a user asked, and the end of what he was told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LastTurn {
    pub prompt: String,
    /// Empty when there was no answer.
    pub answer: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnState {
    Idle,
    Planning,
    AwaitingPermission,
    ToolRunning,
    ModelGenerating,
    Done,
    Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeLevel {
    Info,
    Warning,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The model's server could not be reached, refused, or broke off.
    Provider,
    /// The model's server wants a key, or another one.
    Auth,
    Tool,
    Session,
    Config,
    Limit,
    Internal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Completed,
    Interrupted,
    MaxSteps,
    RepeatedCalls,
    Error,
}

/// The end of a turn: what a script wants to know of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TurnSummary {
    pub outcome: Outcome,
    /// The last assistant message of the turn.
    pub text: String,
    pub usage: Usage,
    /// Calls that were refused.
    pub denied: u32,
    pub duration_ms: u64,
}

impl Event {
    /// What of this event is saved: the one place that decides it.
    pub fn record(&self, ts: Timestamp) -> Option<Record> {
        Some(match self {
            Self::SessionStarted(info) if !info.resumed => Record::Meta(record::Meta {
                schema_version: record::SCHEMA_VERSION,
                id: Some(info.session.clone()),
                root: Some(info.root.clone()),
                model: Some(info.model.clone()),
                parent: info.parent.clone(),
                ts,
            }),
            Self::TurnStarted { prompt, .. } => {
                Record::Message(record::Message::new(Role::User, prompt.as_str(), ts))
            }
            Self::Attached { text, .. } => {
                Record::Message(record::Message::new(Role::System, text.as_str(), ts))
            }
            Self::Reminded { text } => Record::Message(record::Message {
                hidden: true,
                ..record::Message::new(Role::User, text.as_str(), ts)
            }),
            Self::ShellFinished { text, shell } => Record::Message(record::Message {
                shell: Some(shell.clone()),
                ..record::Message::new(Role::Assistant, text.as_str(), ts)
            }),
            Self::AgentChanged { agent } => Record::Agent(record::Agent { agent: agent.clone(), ts }),
            Self::AssistantFinal { text, partial } => Record::Message(record::Message {
                partial: *partial,
                ..record::Message::new(Role::Assistant, text.as_str(), ts)
            }),
            Self::ReasoningFinal(reasoning) => {
                Record::Reasoning(record::ReasoningRecord { reasoning: reasoning.clone(), ts })
            }
            Self::ToolRequested { id, name, input, raw } => Record::ToolUse(record::ToolUse {
                id: id.clone(),
                name: name.clone(),
                input: input.clone(),
                raw: raw.clone(),
                ts,
            }),
            Self::ToolFinished { id, result, .. } => Record::ToolResult(record::ToolResult {
                tool_use_id: id.clone(),
                output: result.clone(),
                ok: result.is_ok(),
                ts,
            }),
            Self::ApprovalResolved { id, decision, grant, .. } => Record::Approval(record::ApprovalRecord {
                tool_use_id: id.clone(),
                decision: decision.clone(),
                grant: grant.clone(),
                ts,
            }),
            Self::TodosChanged { items } => Record::Todos(record::Todos { items: items.clone(), ts }),
            Self::FileChanged { id, change } => {
                Record::Change(record::Change { tool_use_id: id.clone(), change: change.clone(), ts })
            }
            Self::Reverted { turn, files } => {
                Record::Revert(record::Revert { turn: *turn, files: files.clone(), ts })
            }
            Self::Redone { files, .. } => Record::Redo(record::Redo { files: files.clone(), ts }),
            Self::ModelChanged { model } => Record::Model(record::Model { model: model.clone(), ts }),
            Self::Compacted(Compacted(compaction)) => {
                Record::Compaction(Box::new(Compaction { ts, ..Compaction::clone(compaction) }))
            }
            Self::Pruned { calls, bytes } => {
                Record::Prune(record::Prune { calls: calls.clone(), bytes: *bytes, ts })
            }
            Self::UsageReported(usage) => Record::Usage(record::UsageRecord { usage: *usage, ts }),
            Self::Error { kind, message, .. } => {
                Record::Error(record::ErrorRecord { kind: *kind, message: message.clone(), ts })
            }
            Self::Interrupted => Record::Interrupted(record::Interrupted::at(ts)),
            Self::SessionStarted(_)
            | Self::StateChanged { .. }
            | Self::ReasoningDelta { .. }
            | Self::AssistantDelta { .. }
            | Self::ApprovalRequested(_)
            | Self::ToolStarted { .. }
            | Self::Listed { .. }
            | Self::ToolProgress { .. }
            | Self::ShellOutput { .. }
            | Self::ContextUsage(_)
            | Self::Retrying { .. }
            | Self::Notice { .. }
            | Self::TurnFinished(_) => return None,
        })
    }
}
