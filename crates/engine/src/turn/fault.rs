//! What a user reads when the model's server fails: what happened and what to do.

use zdx_models::{Endpoint, ModelError};
use zdx_protocol::ErrorKind;

pub fn explain(error: &ModelError, endpoint: &Endpoint) -> (ErrorKind, String) {
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
        ModelError::Status { retry_after: Some(wait), .. } if wait.as_secs() > 60 => {
            (ErrorKind::Provider, format!("{error}; the server asks to wait {} s", wait.as_secs()))
        }
        ModelError::ContextTooLong { .. } => (
            ErrorKind::Provider,
            format!("{error}; start a new session, or raise the server's context length"),
        ),
        ModelError::Timeout { .. } => {
            (ErrorKind::Provider, format!("{error}; the waits are set under [timeouts] in the config"))
        }
        ModelError::Setup(_) => (ErrorKind::Config, error.to_string()),
        ModelError::Status { .. } | ModelError::Api { .. } | ModelError::Cut(_) | ModelError::Protocol(_) => {
            (ErrorKind::Provider, error.to_string())
        }
    }
}
