//! The one decision whether to ask a server again, and when. Pure: the caller waits and brings the dice.

use std::fmt;
use std::time::Duration;

use crate::ModelError;

/// A longer wait is the user's to decide.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
const FIRST_DELAY: f64 = 0.5;
const LONGEST_DELAY: f64 = 8.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Retry {
    After(Duration),
    No { why: NoRetry },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRetry {
    /// The same request would fail the same way.
    Final,
    /// All retries are used up.
    Exhausted,
    /// The server wants to be left alone for longer than we wait.
    TooLong(Duration),
}

impl fmt::Display for NoRetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Final => f.write_str("trying again would not help"),
            Self::Exhausted => f.write_str("tried again without success"),
            Self::TooLong(wait) => {
                write!(f, "the server asks to wait {} s; try again then", wait.as_secs_f64().ceil())
            }
        }
    }
}

/// `attempt` counts the retries made so far, of whatever kind; `jitter` is a random number from 0 to 1. Whether the
/// answer is asked for anew or goes on where it stopped is for whoever knows what was shown of it.
pub fn decide(error: &ModelError, attempt: u32, max_retries: u32, jitter: f64) -> Retry {
    let no = |why| Retry::No { why };
    if !is_passing(error) {
        return no(NoRetry::Final);
    }
    let asked = wanted_wait(error).filter(|wait| !wait.is_zero());
    if let Some(wait) = asked.filter(|wait| *wait > LONGEST_WAIT) {
        return no(NoRetry::TooLong(wait));
    }
    if attempt >= max_retries {
        return no(NoRetry::Exhausted);
    }
    Retry::After(asked.unwrap_or_else(|| delay(attempt, jitter)))
}

/// Doubling from half a second to eight, spread so that many clients do not come back at once.
fn delay(attempt: u32, jitter: f64) -> Duration {
    let seconds = (FIRST_DELAY * 2f64.powi(attempt.min(16) as i32)).min(LONGEST_DELAY);
    Duration::from_secs_f64(seconds * (1.0 - 0.25 * jitter.clamp(0.0, 1.0)))
}

fn wanted_wait(error: &ModelError) -> Option<Duration> {
    match error {
        ModelError::Status { retry_after, .. } => *retry_after,
        ModelError::Connect { .. }
        | ModelError::Timeout { .. }
        | ModelError::ContextTooLong { .. }
        | ModelError::Api { .. }
        | ModelError::Cut(_)
        | ModelError::Empty(_)
        | ModelError::Protocol(_)
        | ModelError::Setup(_) => None,
    }
}

/// Whether the same request may succeed later.
fn is_passing(error: &ModelError) -> bool {
    match error {
        ModelError::Connect { .. }
        | ModelError::Timeout { .. }
        | ModelError::Cut(_)
        | ModelError::Empty(_) => true,
        ModelError::Status { status, should_retry, .. } => {
            should_retry.unwrap_or(matches!(status, 408 | 409 | 429 | 500..))
        }
        ModelError::Api { kind, .. } => kind.as_deref().is_none_or(is_passing_kind),
        ModelError::ContextTooLong { .. } | ModelError::Protocol(_) | ModelError::Setup(_) => false,
    }
}

/// Errors inside a stream have no status, only the vendor's word or number for one.
fn is_passing_kind(kind: &str) -> bool {
    if let Ok(code) = kind.parse::<u16>() {
        return matches!(code, 408 | 409 | 429 | 500..);
    }
    !matches!(
        kind,
        "invalid_request_error"
            | "authentication_error"
            | "permission_error"
            | "not_found_error"
            | "request_too_large"
            | "billing_error"
            | "BadRequestError"
            | "NotFoundError"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TimeoutPhase;

    fn status(status: u16, retry_after: Option<f64>, should_retry: Option<bool>) -> ModelError {
        let retry_after = retry_after.map(Duration::from_secs_f64);
        ModelError::Status { status, message: String::new(), kind: None, retry_after, should_retry }
    }

    fn api(kind: Option<&str>) -> ModelError {
        ModelError::Api { kind: kind.map(str::to_owned), message: String::new() }
    }

    fn first(error: &ModelError) -> Retry {
        decide(error, 0, 2, 0.0)
    }

    const HALF: Retry = Retry::After(Duration::from_millis(500));
    const FINAL: Retry = Retry::No { why: NoRetry::Final };

    #[test]
    fn passing_errors_are_tried_again() {
        let connect = ModelError::Connect { url: String::new(), message: String::new() };
        let timeout = |phase| ModelError::Timeout { phase, after: Duration::ZERO };
        let mut passing = vec![
            connect,
            timeout(TimeoutPhase::Connect),
            timeout(TimeoutPhase::FirstByte),
            timeout(TimeoutPhase::Idle),
            ModelError::Cut(String::new()),
            ModelError::Empty(String::new()),
            api(None),
            api(Some("overloaded_error")),
            api(Some("502")),
            status(400, None, Some(true)),
        ];
        passing.extend([408, 409, 429, 500, 502, 503, 504, 529].map(|code| status(code, None, None)));
        for error in passing {
            assert_eq!(first(&error), HALF, "{error:?}");
        }
    }

    #[test]
    fn final_errors_are_not() {
        let mut last = vec![
            ModelError::ContextTooLong { message: String::new() },
            ModelError::Protocol(String::new()),
            ModelError::Setup(String::new()),
            api(Some("invalid_request_error")),
            api(Some("400")),
            status(500, None, Some(false)),
        ];
        last.extend([301, 400, 401, 402, 403, 404, 413, 422].map(|code| status(code, None, None)));
        for error in last {
            assert_eq!(first(&error), FINAL, "{error:?}");
        }
    }

    #[test]
    fn delays_double_to_a_limit_and_are_spread() {
        let error = status(500, None, None);
        let delays: Vec<f64> = (0..7)
            .map(|attempt| match decide(&error, attempt, 10, 0.0) {
                Retry::After(delay) => delay.as_secs_f64(),
                Retry::No { .. } => -1.0,
            })
            .collect();
        assert_eq!(delays, [0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]);
        assert_eq!(decide(&error, 1, 10, 1.0), Retry::After(Duration::from_millis(750)));
        assert_eq!(decide(&error, 2, 2, 0.0), Retry::No { why: NoRetry::Exhausted });
        assert_eq!(decide(&error, 0, 0, 0.0), Retry::No { why: NoRetry::Exhausted });
    }

    #[test]
    fn a_server_may_name_the_wait_up_to_a_minute() {
        assert_eq!(first(&status(429, Some(1.5), None)), Retry::After(Duration::from_millis(1500)));
        assert_eq!(first(&status(429, Some(60.0), None)), Retry::After(Duration::from_secs(60)));
        assert_eq!(first(&status(429, Some(0.0), None)), HALF);
        let why = NoRetry::TooLong(Duration::from_secs(61));
        assert_eq!(first(&status(429, Some(61.0), None)), Retry::No { why });
        assert_eq!(why.to_string(), "the server asks to wait 61 s; try again then");
        // Told even when the retries are used up: it is the more useful answer.
        assert_eq!(decide(&status(429, Some(61.0), None), 2, 2, 0.0), Retry::No { why });
    }
}
