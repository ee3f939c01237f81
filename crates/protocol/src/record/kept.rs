//! What a session file keeps so that it can be told again as it was told: ends of turns and of typed commands, checks, questions,
//! what stands beside a result. No model reads any of it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::stamp;
use crate::code::ToolCode;
use crate::conversation::Usage;
use crate::outcome::{self, CutShort, NoticeLevel, Outcome};
use crate::policy::Decision;

/// A command that the user ran with `!`, and how it ended: nobody has to read that out of a sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shell {
    pub command: String,
    #[serde(flatten)]
    pub end: ShellEnd,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// As in [`Beside`]; where both streams have lines it is there, though it may only say how many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum ShellEnd {
    Exited {
        exit_code: i32,
    },
    Signalled {
        signal: i32,
    },
    /// Stopped when its time was up.
    TimedOut {
        after_ms: u64,
    },
    /// Stopped by the user.
    Interrupted,
    /// Refused, or it could not be started.
    NotRun {
        why: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<ToolCode>,
    },
    /// An ending that this build does not know.
    #[serde(other)]
    Unknown,
}

/// What is known of a call besides its result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beside {
    /// In which order what a command printed came: so many lines of `stdout`, then so many of `stderr`, and so on. Empty where
    /// one of them is, or where text was left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<u32>,
    /// Calls of the agent that a task was given to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskCalls>,
    /// What a person, or an option, answered to that agent, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<TaskAnswer>,
}

/// An answer to a question about a call that an agent made for a task. The call itself is in that agent's own session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskAnswer {
    pub tool: String,
    /// What the call was about, in a line.
    pub about: String,
    #[serde(flatten)]
    pub decision: Decision,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskCalls {
    pub calls: u32,
    #[serde(default)]
    pub failed: u32,
    #[serde(default)]
    pub denied: u32,
}

/// Somebody was asked about a call; or, `withdrawn`, is no longer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    pub tool_use_id: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withdrawn: bool,
    #[serde(serialize_with = "stamp")]
    pub ts: Timestamp,
}

/// A word about an answer that belongs to the conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noted {
    pub level: NoticeLevel,
    pub message: String,
    #[serde(serialize_with = "stamp")]
    pub ts: Timestamp,
}

/// What a check proved; its command is a `check_use`, what came of that a `check_result`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    #[serde(flatten)]
    pub checked: outcome::Checked,
    #[serde(serialize_with = "stamp")]
    pub ts: Timestamp,
}

/// What a turn came to, agents that worked for it included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnEnd {
    pub outcome: Outcome,
    pub usage: Usage,
    #[serde(default)]
    pub denied: u32,
    pub duration_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<CutShort>,
    #[serde(serialize_with = "stamp")]
    pub ts: Timestamp,
}
