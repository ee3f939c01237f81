//! What servers say when something is wrong, in all their spellings, as one `ModelError`.
//! Reads bodies, statuses and headers; whether to try again is decided elsewhere.

use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::lenient::{is_error, number};
use super::overflow::is_context_refusal;
use crate::ModelError;

#[cfg(test)]
mod tests;

const MAX_MESSAGE: usize = 400;

#[derive(Debug, PartialEq)]
pub(crate) struct Problem {
    pub kind: Option<String>,
    pub message: String,
}

impl Problem {
    /// Reads an error object if `value` is one; `None` for a normal answer.
    pub fn in_json(value: &Value) -> Option<Self> {
        match value.get("error").filter(|error| is_error(error)) {
            None => {}
            Some(Value::String(message)) => return Some(Self { kind: None, message: brief(message) }),
            Some(error) => return Some(Self::of_object(error)),
        }
        let says_so = ["object", "type", "status"].iter().any(|key| value[key].as_str() == Some("error"));
        (says_so || value.get("detail").is_some()).then(|| Self::of_object(value))
    }

    /// The object that holds the words, whichever way they are called.
    fn of_object(error: &Value) -> Self {
        let number_of = |key: &str| error.get(key).and_then(number);
        let kind = ["type", "code", "status"].iter().find_map(|key| match error.get(key)? {
            Value::String(text) if text != "error" && !text.is_empty() => Some(text.clone()),
            Value::Number(code) => Some(code.to_string()),
            _ => None,
        });
        let mut message = match (error.get("message"), error.get("detail")) {
            (Some(Value::String(message)), _) | (_, Some(Value::String(message))) => message.clone(),
            _ => error.to_string(),
        };
        // OpenRouter wraps what the real server said.
        if let Some(raw) = error.pointer("/metadata/raw").and_then(Value::as_str) {
            message = format!("{message}: {raw}");
        }
        // llama.cpp tells the numbers apart from its words, and older versions only there.
        if let (Some(used), Some(limit)) = (number_of("n_prompt_tokens"), number_of("n_ctx"))
            && !message.contains(&limit.to_string())
        {
            message = format!("{message}: request ({used} tokens), available context size ({limit} tokens)");
        }
        // OpenAI's `code` says more than its `type` in the one case that matters here.
        let code = error.get("code").and_then(Value::as_str);
        let kind = code.filter(|code| is_context_refusal(None, "", Some(code))).map(str::to_owned).or(kind);
        Self { kind, message: brief(&message) }
    }

    /// Any error body: JSON of some vendor, a proxy's HTML page, plain text, nothing.
    fn in_body(status: u16, body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        let text = text.trim();
        if let Ok(value) = serde_json::from_str::<Value>(text)
            && value.is_object()
        {
            return Self::in_json(&value).unwrap_or_else(|| Self::of_object(&value));
        }
        let message = if looks_like_html(text) && matches!(status, 502..=504) {
            format!("{}: a gateway answered, not the model's server", page(text))
        } else if looks_like_html(text) {
            page_summary(text)
        } else if text.is_empty() {
            meaning(status).to_owned()
        } else {
            brief(text)
        };
        Self { kind: None, message }
    }

    /// An error that came inside an answer which began well.
    pub fn mid_stream(self) -> ModelError {
        // A kind of error is all the status there is.
        let status = match self.kind.as_deref() {
            Some("invalid_request_error" | "BadRequestError" | "INVALID_ARGUMENT") => Some(400),
            kind => kind.and_then(|kind| kind.parse().ok()),
        };
        if is_context_refusal(status, &self.message, self.kind.as_deref()) {
            return ModelError::ContextTooLong { message: self.message };
        }
        ModelError::Api { kind: self.kind, message: self.message }
    }
}

/// What an answer with an error status means.
pub(crate) fn classify(
    status: u16,
    header: &dyn Fn(&str) -> Option<String>,
    body: &[u8],
    now: SystemTime,
) -> ModelError {
    let mut problem = Problem::in_body(status, body);
    if is_context_refusal(Some(status), &problem.message, problem.kind.as_deref()) {
        return ModelError::ContextTooLong { message: problem.message };
    }
    if (300..400).contains(&status) {
        let to = header("location").unwrap_or_else(|| "another address".to_owned());
        problem.message =
            format!("it points to {}; set the base URL to where the server really is", brief(&to));
    }
    let should_retry = match header("x-should-retry").as_deref().map(str::trim) {
        Some("true") => Some(true),
        Some("false") => Some(false),
        // llama.cpp calls it an error of its own that it was started without an option: it stays so.
        _ => problem.message.contains("requires --jinja").then_some(false),
    };
    let retry_after = retry_after(header, now);
    ModelError::Status { status, message: problem.message, kind: problem.kind, retry_after, should_retry }
}

/// `retry-after-ms`, else `retry-after` in (fractions of) seconds or as a date.
fn retry_after(header: &dyn Fn(&str) -> Option<String>, now: SystemTime) -> Option<Duration> {
    let number = |name: &str, scale: f64| {
        let value = header(name)?.trim().parse::<f64>().ok()?;
        Duration::try_from_secs_f64(value * scale).ok()
    };
    let date = || {
        let at = httpdate::parse_http_date(header("retry-after")?.trim()).ok()?;
        Some(at.duration_since(now).unwrap_or_default())
    };
    number("retry-after-ms", 0.001).or_else(|| number("retry-after", 1.0)).or_else(date)
}

pub(crate) fn looks_like_html(text: &str) -> bool {
    let head: String = text.trim_start().chars().take(64).collect::<String>().to_ascii_lowercase();
    head.starts_with("<!doctype") || head.starts_with("<html") || head.starts_with("<head")
}

/// A page in one line: its title, never its text.
pub(crate) fn page_summary(html: &str) -> String {
    format!("{}; is the base URL right?", page(html))
}

fn page(html: &str) -> String {
    let title = || {
        // Lower-casing ASCII keeps every offset.
        let lower = html.to_ascii_lowercase();
        let start = lower.find("<title")?;
        let start = start + lower[start..].find('>')? + 1;
        let end = start + lower[start..].find("</title")?;
        Some(brief(&html[start..end])).filter(|title| !title.is_empty())
    };
    match title() {
        Some(title) => format!("a web page came back (\"{title}\")"),
        None => "a web page came back".to_owned(),
    }
}

/// One line, bounded, without control characters.
pub(crate) fn brief(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let mut line = String::new();
    for word in words {
        if !line.is_empty() {
            line.push(' ');
        }
        let room = MAX_MESSAGE.saturating_sub(line.len());
        if word.len() > room {
            let end = (0..=room).rev().find(|at| word.is_char_boundary(*at)).unwrap_or_default();
            line.push_str(&word[..end]);
            line.push('…');
            break;
        }
        line.push_str(word);
    }
    line
}

fn meaning(status: u16) -> &'static str {
    match status {
        400 => "it did not understand the request",
        401 => "it wants a valid key",
        402 => "the account has no credit",
        403 => "the key may not do this",
        404 => "there is no such address or model",
        408 | 504 => "it took too long",
        413 => "the request is too large",
        429 => "too many requests",
        503 | 529 => "it is overloaded",
        _ => "it gave no reason",
    }
}
