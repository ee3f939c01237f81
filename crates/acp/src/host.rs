//! What an agent may ask of its client. Replaceable: who drives an agent brings the host that fits, tests one of their own.

use std::future::Future;

use serde_json::Value;

use crate::error::RpcError;

pub trait Host: Send + Sync + 'static {
    /// The `clientCapabilities` that it really serves.
    fn capabilities(&self) -> Value;

    /// One request of the agent: `fs/*`, `terminal/*`, `session/request_permission` …. What it does not serve is
    /// [`RpcError::method_not_found`].
    fn ask(&self, method: &str, params: Value) -> impl Future<Output = Result<Value, RpcError>> + Send;

    /// The turn was cancelled: pending permissions answer `cancelled`, terminals go on until released or killed.
    fn cancel(&self);

    /// The end: no process is left.
    fn close(&self) -> impl Future<Output = ()> + Send;
}

/// What a host did, for whoever shows it; sent over the channel that it was made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostEvent {
    Permission {
        allowed: bool,
        what: String,
    },
    TerminalCreated {
        id: String,
        command: String,
    },
    TerminalOutput {
        id: String,
        text: String,
    },
    TerminalExited {
        id: String,
        code: Option<i64>,
        signal: Option<String>,
    },
    TerminalReleased {
        id: String,
    },
    /// For the user, beside what the agent says.
    Warning(String),
}
