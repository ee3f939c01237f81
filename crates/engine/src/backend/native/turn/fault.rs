//! What a user reads when the model's server fails: what happened and what to do.

use zdx_models::retry::NoRetry;
use zdx_models::{Endpoint, ModelError};
use zdx_protocol::ErrorKind;

/// `kept`: the answer broke off in the middle of its text, which the session keeps.
pub(super) fn explain(
    error: &ModelError,
    why_final: Option<NoRetry>,
    kept: bool,
    endpoint: &Endpoint,
) -> (ErrorKind, String) {
    let (kind, message) = words(error, why_final, endpoint);
    let rest = if kept { "; what came of the answer is kept, ask to go on" } else { "" };
    (kind, format!("{message}{rest}"))
}

fn words(error: &ModelError, why_final: Option<NoRetry>, endpoint: &Endpoint) -> (ErrorKind, String) {
    if let Some(why @ NoRetry::TooLong(_)) = why_final {
        return (ErrorKind::Provider, format!("{error}; {why}"));
    }
    let provider = &endpoint.provider;
    match error {
        ModelError::Connect { .. } => (
            ErrorKind::Provider,
            format!("{error}; is the server running, and is base_url of {provider} right?"),
        ),
        ModelError::Status { status: 401 | 403, .. } => {
            (ErrorKind::Auth, format!("{error}; check the key for {provider}"))
        }
        ModelError::Status { status: 404, .. } => (
            ErrorKind::Provider,
            format!("{error}; check the model name with `zdx models --provider {provider}`, and base_url"),
        ),
        ModelError::ContextTooLong { .. } => (
            ErrorKind::Provider,
            format!("{error}; /compact makes room, or raise the server's context length"),
        ),
        ModelError::Timeout { .. } => {
            (ErrorKind::Provider, format!("{error}; the waits are set under [timeouts] in the config"))
        }
        ModelError::Setup(_) => (ErrorKind::Config, error.to_string()),
        ModelError::Status { .. }
        | ModelError::Api { .. }
        | ModelError::Cut(_)
        | ModelError::Empty(_)
        | ModelError::Protocol(_) => (ErrorKind::Provider, error.to_string()),
    }
}
