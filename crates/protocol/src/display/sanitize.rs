//! Everything foreign (model text, tool output, file names, errors) passes here before a terminal.

use std::borrow::Cow;

/// Cleans a stream chunk by chunk: an escape sequence may be split anywhere.
#[derive(Default)]
pub struct Sanitizer {}

impl Sanitizer {
    pub fn push(&mut self, chunk: &str) -> String {
        sanitize(chunk).into_owned()
    }
}

/// Cleans a whole text.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    Cow::Owned(text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect())
}

/// Shows control, bidi and zero-width characters as visible escapes: for text a person must judge.
pub fn visible(text: &str) -> String {
    text.chars()
        .flat_map(|c| if c.is_control() { c.escape_default().collect::<Vec<_>>() } else { vec![c] })
        .collect()
}
