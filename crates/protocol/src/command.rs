//! What a front end may ask of the engine.

use crate::policy::{Approval, Decision, RequestId};

/// One thing the user said, with what the front end already resolved from it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prompt {
    pub text: String,
}

impl From<&str> for Prompt {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned() }
    }
}

impl From<String> for Prompt {
    fn from(text: String) -> Self {
        Self { text }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    Prompt(Prompt),
    Answer {
        request: RequestId,
        decision: Decision,
    },
    /// Stops the running turn: model and tools. Does nothing when idle.
    Interrupt,
    /// A command line the user typed with `!`: run at once, through the guard, without the model.
    Shell(String),
    /// Makes room in the context now, whatever it holds.
    Compact,
    /// Asks for a `ContextUsage` event.
    Context,
    /// `name` or `provider/name`; takes effect with the next model call.
    SetModel(String),
    SetAgent(String),
    SetApproval(Approval),
    /// Ends the engine after the running turn was interrupted and the log is safe.
    Shutdown,
}
