//! What events carry: a session as it is announced, a turn's state and end, what a check came to.
//! Plain data; which of it is saved is `Event::record`'s to say.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::conversation::Usage;
use crate::outcome::{CutShort, Outcome};
use crate::path_text;
use crate::policy::Approval;

/// What a session is, told once when it starts or resumes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionInfo {
    pub session: String,
    #[serde(serialize_with = "path_text::serialize")]
    pub root: PathBuf,
    /// `provider/name`.
    pub model: String,
    /// Who is at work.
    pub agent: String,
    pub approval: Approval,
    /// Tokens the model can hold, when somebody knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_limit: Option<u64>,
    pub resumed: bool,
    /// False with `--no-save`, or when the session could not be opened for writing.
    pub saved: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The parent's call that it works for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// For one prompt and no more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub one_prompt: bool,
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

/// The end of a turn: what a script wants to know of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TurnSummary {
    pub outcome: Outcome,
    /// The last assistant message of the turn.
    pub text: String,
    /// The sum of all requests.
    pub usage: Usage,
    /// Usage of the last request that reported one: the context as a person is told it.
    #[serde(skip)]
    pub last_request: Option<Usage>,
    /// Calls that were refused.
    pub denied: u32,
    pub duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<CutShort>,
    /// A prompt was answered, so that it is an end to be recorded; /compact and a `!` command have none.
    #[serde(skip)]
    pub begun: bool,
}
