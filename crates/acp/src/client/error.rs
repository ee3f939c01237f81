//! The reasons why a request to an agent has no usable answer. The words for people are the caller's.

use std::time::Duration;

use serde_json::Value;

use crate::error::RpcError;
use crate::shapes::AuthMethod;

/// `S` is the observer's own reason to stop waiting.
#[derive(Debug)]
pub enum AcpError<S> {
    /// The observer stopped the wait. `is_settled`: the agent ended its cancelled turn in time.
    Stopped {
        why: S,
        is_settled: bool,
    },
    Refused {
        method: &'static str,
        error: RpcError,
    },
    LoginRequired {
        message: String,
        methods: Vec<AuthMethod>,
    },
    /// The agent ended or closed its streams.
    Gone {
        method: &'static str,
    },
    Late {
        method: &'static str,
        limit: Duration,
    },
    /// The answer to `initialize` names a protocol version below ours, or none.
    Version {
        answered: Value,
    },
    /// The answer to `session/new` has no `sessionId`.
    NoSessionId,
}
