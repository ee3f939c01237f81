//! What can go wrong between us and a model's server, in kinds a caller can act on.

use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutPhase {
    Connect,
    FirstByte,
    Idle,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// No connection, or it was lost before an answer began.
    #[error("cannot reach {url}: {message}")]
    Connect { url: String, message: String },
    #[error("{}", timeout_text(*phase, *after))]
    Timeout { phase: TimeoutPhase, after: Duration },
    /// The server answered with an error status.
    #[error("the server answered {status}: {message}")]
    Status {
        status: u16,
        message: String,
        /// The vendor's own word for it, such as `overloaded_error`.
        kind: Option<String>,
        retry_after: Option<Duration>,
        /// `x-should-retry`, which wins over the status.
        should_retry: Option<bool>,
    },
    /// The request does not fit the model's context.
    #[error("the request is too long for the model: {message}")]
    ContextTooLong { message: String },
    /// An error sent inside a stream that began well.
    #[error("the server broke off: {message}")]
    Api { kind: Option<String>, message: String },
    /// The stream ended without its end marker, or the connection was lost.
    #[error("the stream broke off: {0}")]
    Cut(String),
    /// The server sends something that is no answer: HTML, a wrong content type, broken JSON.
    #[error("the server sent something unreadable: {0}")]
    Protocol(String),
    /// Something is missing on our side: a key, a base URL, a certificate.
    #[error("{0}")]
    Setup(String),
}

fn timeout_text(phase: TimeoutPhase, after: Duration) -> String {
    let seconds = after.as_secs_f32();
    match phase {
        TimeoutPhase::Connect => format!("no connection after {seconds:.0} s"),
        TimeoutPhase::FirstByte => {
            format!("the server accepted the request but sent nothing for {seconds:.0} s")
        }
        TimeoutPhase::Idle => format!("the stream fell silent for {seconds:.0} s"),
    }
}
