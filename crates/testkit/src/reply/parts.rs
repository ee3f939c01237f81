//! What both wires have in common: the parts of an answer, and how text is cut into deltas.

use serde_json::Value;

/// Characters in one delta unless a test sets its own borders.
const DELTA: usize = 6;

#[derive(Clone, Debug)]
pub(super) enum Part {
    Text(Vec<String>),
    /// Thinking, and what signs it.
    Reasoning(Vec<String>, String),
    Redacted(String),
    ToolCall {
        id: String,
        name: String,
        arguments: Vec<String>,
    },
    /// An event written by the test itself: its name, if the wire has names, and its data.
    Event(Option<String>, Value),
    /// Bytes in the stream that are no event.
    Bytes(Vec<u8>),
}

impl Part {
    pub fn text<S: Into<String>>(pieces: impl IntoIterator<Item = S>) -> Self {
        Self::Text(pieces.into_iter().map(Into::into).collect())
    }

    pub fn call<S: Into<String>>(id: &str, name: &str, pieces: impl IntoIterator<Item = S>) -> Self {
        let arguments = pieces.into_iter().map(Into::into).collect();
        Self::ToolCall { id: id.to_owned(), name: name.to_owned(), arguments }
    }

    pub fn is_call(&self) -> bool {
        matches!(self, Self::ToolCall { .. })
    }
}

/// Cuts at character borders; an empty text is one empty delta.
pub(super) fn deltas(text: &str) -> Vec<String> {
    if text.is_empty() {
        return vec![String::new()];
    }
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(DELTA).map(|piece| piece.iter().collect()).collect()
}

/// The input of a whole answer: a test may script arguments that are no JSON, which no server could send here.
pub(super) fn parse(arguments: &[String]) -> Value {
    let text = arguments.concat();
    if text.is_empty() {
        Value::Object(Default::default())
    } else {
        serde_json::from_str(&text).unwrap_or(Value::String(text))
    }
}
