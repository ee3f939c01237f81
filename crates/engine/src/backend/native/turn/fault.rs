//! What a user reads when the model's server fails: what happened and what to do.

use zdx_models::retry::NoRetry;
use zdx_models::wire::{Auth, Wire};
use zdx_models::{Endpoint, ModelError};
use zdx_protocol::ErrorKind;

/// `kept`: the answer broke off in the middle of its text, which the session keeps.
pub(super) fn explain(
    error: &ModelError,
    why_final: Option<NoRetry>,
    kept: bool,
    endpoint: &Endpoint,
    person: bool,
) -> (ErrorKind, String) {
    let (kind, mut message) = words(error, why_final, endpoint, person);
    if let Some(why @ NoRetry::Exhausted(made)) = why_final
        && made.attempts > 0
    {
        message = format!("{message}; {why}");
    }
    let rest = if kept { "; what came of the answer is kept, ask to go on" } else { "" };
    (kind, format!("{message}{rest}"))
}

fn words(
    error: &ModelError,
    why_final: Option<NoRetry>,
    endpoint: &Endpoint,
    person: bool,
) -> (ErrorKind, String) {
    if let Some(why @ NoRetry::TooLong(_)) = why_final {
        return (ErrorKind::Provider, format!("{error}; {why}"));
    }
    let provider = &endpoint.provider;
    // Whoever is in a conversation need not leave it to look.
    let list = if person { "/model".to_owned() } else { format!("`zdx models --provider {provider}`") };
    match error {
        ModelError::Connect { .. } => {
            let (error, asked) = (error.to_string(), "; is the server running?");
            let error = error.strip_suffix(asked).unwrap_or(&error);
            let hint = format!("is the server running, and is base_url of {provider} right?");
            (ErrorKind::Provider, format!("{error}; {hint}"))
        }
        // Without a key the error says so itself.
        ModelError::Status { status: 401 | 403, .. } if endpoint.api_key.is_none() => {
            (ErrorKind::Auth, error.to_string())
        }
        ModelError::Status { status: 401 | 403, .. } => {
            (ErrorKind::Auth, format!("{error}; check the key for {provider}{}", other_auth(endpoint)))
        }
        ModelError::Status { status: 400 | 404 | 422, message, kind, .. }
            if is_about_model(message, kind.as_deref()) =>
        {
            (ErrorKind::Provider, format!("{error}; {list} lists what there is"))
        }
        // Whoever sent a web page was asked about the base URL already.
        ModelError::Status { status: 404, message, .. } if !message.ends_with('?') => {
            (ErrorKind::Provider, format!("{error}; check the model name with {list}, and base_url"))
        }
        ModelError::Status { message, .. } if message.contains("requires --jinja") => {
            (ErrorKind::Provider, format!("{error}; start llama.cpp's server with --jinja"))
        }
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

/// A server that speaks a wire may want its key shown in another way.
fn other_auth(endpoint: &Endpoint) -> &'static str {
    match (endpoint.wire, endpoint.auth) {
        (Wire::Anthropic, Auth::XApiKey) => ", or set auth = \"bearer\" for it",
        (Wire::Anthropic | Wire::OpenaiChat, Auth::Bearer | Auth::XApiKey) => "",
    }
}

/// Whether a server refuses the model and not the request, in the words of those we met.
fn is_about_model(message: &str, kind: Option<&str>) -> bool {
    const WORDS: [&str; 8] = [
        "not exist",
        "not found",
        "invalid model",
        "not a valid model",
        "unknown model",
        "no such model",
        "unsupported model",
        "model is not supported",
    ];
    let message = message.to_lowercase();
    kind.is_some_and(|kind| kind.contains("model_not_found"))
        || (message.contains("model") && WORDS.iter().any(|words| message.contains(words)))
}

#[cfg(test)]
mod tests {
    use zdx_models::Secret;

    use super::*;

    fn said(error: ModelError, key: bool, wire: Wire) -> String {
        let mut endpoint = Endpoint::new("lab", wire, "http://h", "m");
        endpoint.api_key = key.then(|| Secret::new("sk").unwrap());
        explain(&error, None, false, &endpoint, false).1
    }

    fn status(status: u16, message: &str) -> ModelError {
        let message = message.to_owned();
        ModelError::Status { status, message, kind: None, retry_after: None, should_retry: None }
    }

    #[test]
    fn a_refused_model_points_to_the_list_of_models() {
        for message in [
            "The model `x` does not exist.",
            "Invalid model name passed in model=x. Call `/v1/models` to view available models for your key.",
            "model 'x' not found",
            "x is not a valid model ID",
            "Model Not Exist",
        ] {
            for code in [400, 404] {
                let text = said(status(code, message), false, Wire::OpenaiChat);
                assert!(text.ends_with("`zdx models --provider lab` lists what there is"), "{text}");
            }
        }
        let other = said(status(400, "messages: field required"), false, Wire::OpenaiChat);
        assert_eq!(other, "the server answered 400: messages: field required");
    }

    #[test]
    fn no_hint_is_given_twice() {
        let url = "http://h".to_owned();
        let refused =
            ModelError::Connect { url, message: "connection refused; is the server running?".to_owned() };
        let text = said(refused, false, Wire::OpenaiChat);
        assert_eq!(
            text,
            "cannot reach http://h: connection refused; is the server running, and is base_url of lab right?"
        );
        let unlocked =
            said(status(401, "no; no key was sent, set api_key_env for lab"), false, Wire::OpenaiChat);
        assert_eq!(unlocked, "the server answered 401: no; no key was sent, set api_key_env for lab");
        assert!(said(status(401, "no"), true, Wire::OpenaiChat).ends_with("no; check the key for lab"));
        let anthropic = said(status(401, "no"), true, Wire::Anthropic);
        assert!(anthropic.ends_with("check the key for lab, or set auth = \"bearer\" for it"), "{anthropic}");
        let page = said(status(404, "a web page came back; is the base URL right?"), false, Wire::OpenaiChat);
        assert!(page.ends_with("came back; is the base URL right?"), "{page}");
    }
}
