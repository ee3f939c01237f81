//! What an answer is, by its first bytes: servers and proxies are careless with content types.

use crate::ModelError;
use crate::wire::problem::{brief, looks_like_html, page_summary};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Too little has come to tell.
    Unknown,
    /// Server-sent events.
    Stream,
    /// One JSON document.
    Whole,
}

const FIELDS: [&[u8]; 5] = [b"data", b"event", b":", b"id", b"retry"];

pub(crate) fn shape_of(bytes: &[u8], content_type: &str) -> Result<Shape, ModelError> {
    const BOM: &[u8] = b"\xef\xbb\xbf";
    let text = bytes.strip_prefix(BOM).unwrap_or(bytes).trim_ascii_start();
    if text.is_empty() || BOM.starts_with(text) {
        return Ok(Shape::Unknown);
    }
    if text[0] == b'{' {
        return Ok(Shape::Whole);
    }
    if FIELDS.iter().any(|field| text.starts_with(field)) {
        return Ok(Shape::Stream);
    }
    if FIELDS.iter().any(|field| field.starts_with(text)) {
        return Ok(Shape::Unknown);
    }
    if content_type.starts_with("text/event-stream") {
        return Ok(Shape::Stream);
    }
    if content_type.contains("json") {
        return Ok(Shape::Whole);
    }
    let text = String::from_utf8_lossy(text);
    if looks_like_html(&text) {
        return Err(ModelError::Protocol(page_summary(&text)));
    }
    let start: String = text.chars().take(60).collect();
    let kind = if content_type.is_empty() { "no content type" } else { content_type };
    Err(ModelError::Protocol(format!(
        "neither JSON nor events ({kind}): {}; is the base URL right?",
        brief(&start)
    )))
}

/// Of an answer that is called a stream and brought no event: its first words, where they are none of a stream.
pub(crate) fn words_of(start: &[u8]) -> Option<String> {
    let text = start.trim_ascii_start();
    if text.is_empty() || FIELDS.iter().any(|field| text.starts_with(field)) {
        return None;
    }
    let text = String::from_utf8_lossy(text);
    let said = if looks_like_html(&text) {
        page_summary(&text)
    } else {
        format!("\"{}\" and no event", brief(&text.chars().take(START).collect::<String>()))
    };
    Some(said)
}

/// Enough of an answer to see what it is.
pub(crate) const START: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_without_events_is_told_by_its_first_words() {
        assert_eq!(
            words_of(b" upstream connect\nerror").as_deref(),
            Some("\"upstream connect error\" and no event")
        );
        assert!(words_of(b"<html><title>Login</title>").is_some_and(|said| said.contains("Login")));
        for of_a_stream in [&b""[..], b": ping", b"data: {", b"event: x"] {
            assert_eq!(words_of(of_a_stream), None);
        }
    }

    #[test]
    fn first_bytes_tell_what_an_answer_is() {
        let cases: [(&str, &str, Option<Shape>); 14] = [
            ("", "text/event-stream", Some(Shape::Unknown)),
            (" \r\n", "", Some(Shape::Unknown)),
            ("dat", "", Some(Shape::Unknown)),
            ("\u{feff}", "", Some(Shape::Unknown)),
            ("data: {}", "text/plain", Some(Shape::Stream)),
            ("\u{feff}data:", "", Some(Shape::Stream)),
            (": comment", "", Some(Shape::Stream)),
            ("event: x", "application/json", Some(Shape::Stream)),
            ("\n{\"a\"", "text/event-stream", Some(Shape::Whole)),
            ("other: x", "text/event-stream; charset=utf-8", Some(Shape::Stream)),
            ("[1]", "application/json", Some(Shape::Whole)),
            ("hello", "text/plain", None),
            ("hello", "", None),
            ("<!doctype html><title>Login</title>", "text/plain", None),
        ];
        for (text, content_type, expected) in cases {
            assert_eq!(shape_of(text.as_bytes(), content_type).ok(), expected, "{text:?} {content_type}");
        }
    }
}
