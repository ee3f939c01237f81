//! The one decision whether to ask a server again, and when. Pure: the caller waits, keeps the time and brings the dice.

use std::fmt;
use std::time::Duration;

use crate::ModelError;

const FIRST_DELAY: f64 = 0.5;
const LONGEST_DELAY: f64 = 40.0;
/// A server that loads its model is asked this often.
const LOADING_DELAY: f64 = 5.0;
/// Large models take long to load, from a slow disk above all.
const LONGEST_LOADING: Duration = Duration::from_secs(30 * 60);
/// So much later than a server asked for at most, that many clients do not come back at once.
const LATEST: f64 = 1.0;

/// Limits on asking again for one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryLimits {
    /// None at all where this is zero.
    pub max_attempts: u32,
    /// From the first failure on. What comes of an answer sets it back.
    pub max_time: Duration,
}

/// The failures of one answer so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetriesMade {
    /// Failures of any kind; waiting for a model to load is none.
    pub attempts: u32,
    /// Since the first failure.
    pub elapsed: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Retry {
    After(Duration),
    /// The server is loading its model: asked again without a count.
    WhenLoaded(Duration),
    No {
        why: NoRetry,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRetry {
    /// The same request would fail the same way.
    Final,
    /// All retries are used up, or the time for them is.
    Exhausted(RetriesMade),
    /// The server wants to be left alone for longer than we wait.
    TooLong(Duration),
}

impl fmt::Display for NoRetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Final => f.write_str("trying again would not help"),
            Self::Exhausted(RetriesMade { attempts, elapsed }) => {
                let tries = if *attempts == 1 { "retry" } else { "retries" };
                let seconds = elapsed.as_secs();
                match (seconds / 60, seconds % 60) {
                    (0, seconds) => write!(f, "gave up after {attempts} {tries} in {seconds} s"),
                    (minutes, seconds) => {
                        write!(f, "gave up after {attempts} {tries} in {minutes} min {seconds:02} s")
                    }
                }
            }
            Self::TooLong(wait) => {
                write!(f, "the server asks to wait {} s; try again then", wait.as_secs_f64().ceil())
            }
        }
    }
}

/// `jitter` is a random number from 0 to 1. Whether the answer is asked for anew or goes on where it stopped is for whoever
/// knows what was shown of it.
pub fn decide(error: &ModelError, made: RetriesMade, limits: RetryLimits, jitter: f64) -> Retry {
    let no = |why| Retry::No { why };
    if !is_passing(error) {
        return no(NoRetry::Final);
    }
    let jitter = jitter.clamp(0.0, 1.0);
    let asked = wanted_wait(error).filter(|wait| !wait.is_zero());
    let left = limits.max_time.saturating_sub(made.elapsed);
    if let Some(wait) = asked.filter(|wait| *wait > left) {
        return no(NoRetry::TooLong(wait));
    }
    if error.is_loading() && limits.max_attempts > 0 && made.elapsed < LONGEST_LOADING {
        return Retry::WhenLoaded(
            asked.map_or_else(|| delay(made, LOADING_DELAY, jitter), |wait| late(wait, jitter)),
        );
    }
    let delay = asked.map_or_else(|| delay(made, LONGEST_DELAY, jitter), |wait| late(wait, jitter));
    if made.attempts >= limits.max_attempts || (asked.is_none() && delay > left) {
        return no(NoRetry::Exhausted(made));
    }
    Retry::After(delay)
}

/// Never earlier than the server asked for, and hardly later.
fn late(wait: Duration, jitter: f64) -> Duration {
    wait + Duration::from_secs_f64((wait.as_secs_f64() / 10.0).min(LATEST) * jitter)
}

/// Doubling from half a second on, spread so that many clients do not come back at once.
fn delay(made: RetriesMade, longest: f64, jitter: f64) -> Duration {
    let seconds = (FIRST_DELAY * 2f64.powi(made.attempts.min(16) as i32)).min(longest);
    Duration::from_secs_f64(seconds * (1.0 - 0.25 * jitter))
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

    const LIMITS: RetryLimits = RetryLimits { max_attempts: 10, max_time: Duration::from_secs(300) };

    fn made(attempts: u32, seconds: u64) -> RetriesMade {
        RetriesMade { attempts, elapsed: Duration::from_secs(seconds) }
    }

    fn first(error: &ModelError) -> Retry {
        decide(error, RetriesMade::default(), LIMITS, 0.0)
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
        let delays = |jitter| -> Vec<f64> {
            let delay = |attempt| match decide(&error, made(attempt, 0), LIMITS, jitter) {
                Retry::After(delay) => delay.as_secs_f64(),
                other => panic!("{other:?}"),
            };
            (0..10).map(delay).collect()
        };
        assert_eq!(delays(0.0), [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 40.0, 40.0, 40.0]);
        // A server that fails for two minutes is outlived, whatever the dice say.
        for jitter in [0.0, 0.5, 1.0] {
            let all: f64 = delays(jitter).iter().sum();
            assert!((120.0..300.0).contains(&all), "{all}");
        }
        let exhausted = |made| Retry::No { why: NoRetry::Exhausted(made) };
        assert_eq!(decide(&error, made(10, 200), LIMITS, 0.0), exhausted(made(10, 200)));
        assert_eq!(decide(&error, made(7, 261), LIMITS, 0.0), exhausted(made(7, 261)), "the time is up");
        let none = RetryLimits { max_attempts: 0, ..LIMITS };
        assert_eq!(decide(&error, made(0, 0), none, 0.0), exhausted(made(0, 0)));
        assert_eq!(NoRetry::Exhausted(made(10, 184)).to_string(), "gave up after 10 retries in 3 min 04 s");
        assert_eq!(NoRetry::Exhausted(made(1, 1)).to_string(), "gave up after 1 retry in 1 s");
    }

    #[test]
    fn a_server_may_name_the_wait_and_is_not_asked_earlier() {
        let wait = |seconds: f64, jitter| match decide(
            &status(429, Some(seconds), None),
            made(0, 0),
            LIMITS,
            jitter,
        ) {
            Retry::After(delay) => delay.as_secs_f64(),
            other => panic!("{other:?}"),
        };
        for seconds in [0.005, 1.5, 60.0, 250.0] {
            for jitter in [0.0, 0.3, 1.0] {
                let waited = wait(seconds, jitter);
                assert!((seconds..=seconds * 1.1).contains(&waited), "{seconds}: {waited}");
                assert!(waited <= seconds + 1.0, "{seconds}: {waited}");
            }
        }
        assert_eq!(first(&status(429, Some(0.0), None)), HALF);
        let why = NoRetry::TooLong(Duration::from_secs(301));
        assert_eq!(first(&status(429, Some(301.0), None)), Retry::No { why });
        assert_eq!(why.to_string(), "the server asks to wait 301 s; try again then");
        // Told even when the retries are used up: it is the more useful answer.
        assert_eq!(decide(&status(429, Some(301.0), None), made(10, 0), LIMITS, 0.0), Retry::No { why });
        let late = decide(&status(429, Some(200.0), None), made(3, 150), LIMITS, 0.0);
        assert_eq!(late, Retry::No { why: NoRetry::TooLong(Duration::from_secs(200)) });
    }

    #[test]
    fn a_model_that_loads_is_waited_for() {
        let loading = |message: &str| {
            let message = message.to_owned();
            ModelError::Status { status: 503, message, kind: None, retry_after: None, should_retry: None }
        };
        for words in
            ["Loading model", "Model meta-llama/x is currently loading", "the model is still warming up"]
        {
            for (attempts, seconds) in [(0, 0), (10, 0), (3, 1_700)] {
                let retry = decide(&loading(words), made(attempts, seconds), LIMITS, 0.0);
                let Retry::WhenLoaded(delay) = retry else { panic!("{words}: {retry:?}") };
                assert!(delay.as_secs_f64() <= 5.0, "{delay:?}");
            }
        }
        let no = RetryLimits { max_attempts: 0, ..LIMITS };
        assert!(matches!(decide(&loading("Loading model"), made(0, 0), no, 0.0), Retry::No { .. }));
        assert!(matches!(decide(&loading("Loading model"), made(0, 1_801), LIMITS, 0.0), Retry::No { .. }));
        assert_eq!(first(&loading("busy")), HALF, "it counts");
    }
}
