//! What can go wrong between us and a model's server, in kinds a caller can act on.

use std::time::Duration;

use zdx_net::NetError;

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
    /// A stream that began with a good status and brought nothing at all: some servers (llama-cpp-python) tell what is wrong
    /// only to whoever asks for the answer whole.
    #[error("the server sent an empty answer: {0}")]
    Empty(String),
    /// The server sends something that is no answer: HTML, a wrong content type, broken JSON.
    #[error("the server sent something unreadable: {0}")]
    Protocol(String),
    /// Something is missing on our side: a key, a base URL, a certificate.
    #[error("{0}")]
    Setup(String),
}

impl ModelError {
    /// The server is up and its model is not.
    pub fn is_loading(&self) -> bool {
        const WORDS: [&str; 4] = ["loading", "warming up", "being loaded", "starting up"];
        let Self::Status { status: 503, message, .. } = self else { return false };
        let message = message.to_lowercase();
        WORDS.iter().any(|words| message.contains(words))
    }

    /// Why an answer is asked for again, the shortest words first: `overloaded (529)`, and what the server said about it.
    pub fn reason(&self) -> String {
        match self {
            Self::Status { status, message, .. } => {
                let what = match status {
                    _ if self.is_loading() => "loading its model",
                    408 | 504 => "timed out",
                    429 => "rate limited",
                    502 => "bad gateway",
                    503 | 529 => "overloaded",
                    500.. => "server error",
                    _ => "refused",
                };
                match message.as_str() {
                    "" => format!("{what} ({status})"),
                    said => format!("{what} ({status}): {said}"),
                }
            }
            // The hints behind it are for whoever gives up.
            Self::Connect { url, message } => {
                let why = message.split(';').next().unwrap_or_default();
                format!("{why}: {url}")
            }
            Self::Cut(why) => format!("the connection broke: {why}"),
            Self::Api { message, .. } => format!("server error: {message}"),
            Self::Timeout { .. }
            | Self::ContextTooLong { .. }
            | Self::Empty(_)
            | Self::Protocol(_)
            | Self::Setup(_) => self.to_string(),
        }
    }
}

/// The way to a server failed: said as it is for a provider, whose entry has a `ca_file`.
impl From<NetError> for ModelError {
    fn from(error: NetError) -> Self {
        match error {
            NetError::Unreachable { origin: url, why: message } => Self::Connect { url, message },
            NetError::Untrusted { origin: url, why } => {
                let message = format!("{why}; for a certificate of your own set ca_file for this provider");
                Self::Connect { url, message }
            }
            NetError::NoConnection { after } => Self::Timeout { phase: TimeoutPhase::Connect, after },
            NetError::NoAnswer { after } => Self::Timeout { phase: TimeoutPhase::FirstByte, after },
            NetError::Silent { after } => Self::Timeout { phase: TimeoutPhase::Idle, after },
            NetError::Broken(why) => Self::Cut(why),
            NetError::NoAuthorities => {
                Self::Setup(format!("{error}; install ca-certificates or set ca_file for this provider"))
            }
            NetError::CaFile { .. } | NetError::Setup(_) => Self::Setup(error.to_string()),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_for_a_retry_begins_with_few_words() {
        let status = |status: u16, message: &str| ModelError::Status {
            status,
            message: message.to_owned(),
            kind: None,
            retry_after: None,
            should_retry: None,
        };
        for (error, reason) in [
            (status(529, "Overloaded"), "overloaded (529): Overloaded"),
            (status(429, "slow down"), "rate limited (429): slow down"),
            (status(500, ""), "server error (500)"),
            (status(503, "Loading model"), "loading its model (503): Loading model"),
            (ModelError::Cut("reset".into()), "the connection broke: reset"),
            (
                ModelError::Connect {
                    url: "http://h".into(),
                    message: "connection refused; is it up?".into(),
                },
                "connection refused: http://h",
            ),
        ] {
            assert_eq!(error.reason(), reason);
        }
    }

    /// What a user reads when the way to a server fails.
    #[test]
    fn what_went_wrong_on_the_way_says_what_to_do() {
        let (origin, why) = ("https://lab:1".to_owned(), "it broke".to_owned());
        let after = Duration::from_secs(7);
        for (error, text) in [
            (
                NetError::Unreachable { origin: origin.clone(), why: why.clone() },
                "cannot reach https://lab:1: it broke",
            ),
            (
                NetError::Untrusted { origin, why: why.clone() },
                "cannot reach https://lab:1: it broke; for a certificate of your own set ca_file for this provider",
            ),
            (NetError::NoConnection { after }, "no connection after 7 s"),
            (NetError::NoAnswer { after }, "the server accepted the request but sent nothing for 7 s"),
            (NetError::Silent { after }, "the stream fell silent for 7 s"),
            (NetError::Broken(why.clone()), "the stream broke off: it broke"),
            (
                NetError::NoAuthorities,
                "no certificate authorities found, so no https server can be trusted; install ca-certificates or set \
                 ca_file for this provider",
            ),
            (NetError::CaFile { path: "/ca.pem".into(), why }, "ca_file /ca.pem: it broke"),
            (NetError::Setup("no TLS".to_owned()), "no TLS"),
        ] {
            assert_eq!(ModelError::from(error).to_string(), text);
        }
    }
}
