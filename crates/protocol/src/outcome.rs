//! How a turn and a check end, and how loud a word about it is: what both events and records say.

use serde::{Deserialize, Serialize};

/// What proved the work of a turn, or did not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// The call that ran it.
    pub id: String,
    pub command: String,
    pub result: CheckResult,
    /// How often the model was sent back to mend it in this turn, this time included.
    pub attempt: u32,
    /// How often that may be.
    pub attempts: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckResult {
    Passed,
    /// The model is told, and goes on.
    Failed,
    /// It still fails, and the model had its attempts.
    GivenUp,
    /// Nothing was proved: why.
    NotRun {
        why: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeLevel {
    Info,
    Warning,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Completed,
    Interrupted,
    MaxSteps,
    RepeatedCalls,
    /// The work was checked, and the last check failed.
    CheckFailed,
    Error,
}

/// Why the last answer of a turn ended before the model was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CutShort {
    /// The answer, or the context, has no room for more.
    MaxTokens,
    /// The model would not, or its provider did not let it.
    Refusal,
}
