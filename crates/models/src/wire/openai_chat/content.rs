//! Content in the shapes that servers send it: a string, nothing, typed parts, an object.

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor, value};
use serde_json::Value;

/// `content` as it came. The string is by far the most frequent and is read without a detour.
#[derive(Debug, Default)]
pub(super) enum Content {
    #[default]
    Nothing,
    Text(String),
    Typed(Value),
}

/// What of it is for the reader, and what is thinking.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Parts {
    pub text: String,
    pub thinking: String,
}

impl Content {
    pub fn parts(self) -> Parts {
        let value = match self {
            Self::Nothing => return Parts::default(),
            Self::Text(text) => return Parts { text, thinking: String::new() },
            Self::Typed(value) => value,
        };
        let mut parts = Parts::default();
        let known = match &value {
            Value::Array(items) => {
                items.iter().fold(items.is_empty(), |known, item| parts.take(item) | known)
            }
            item => parts.take(item),
        };
        if !known {
            // Whatever it is, the reader should see it rather than nothing.
            parts.text = value.to_string();
        }
        parts
    }
}

impl Parts {
    /// Takes the words out of one part; false if it has none.
    fn take(&mut self, part: &Value) -> bool {
        if let Some(thinking) = part.get("thinking") {
            self.thinking.push_str(&words(thinking));
            return true;
        }
        match part {
            Value::String(text) => self.text.push_str(text),
            Value::Object(fields) => match fields.get("text").or_else(|| fields.get("content")) {
                Some(Value::String(text)) => self.text.push_str(text),
                _ => return false,
            },
            _ => return false,
        }
        true
    }
}

/// All text in a string, a part, or parts.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(words).collect(),
        Value::Object(fields) => fields.get("text").map(words).unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("content")
    }

    fn visit_str<E>(self, text: &str) -> Result<Content, E> {
        Ok(Content::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Content, E> {
        Ok(Content::Text(text))
    }

    fn visit_unit<E>(self) -> Result<Content, E> {
        Ok(Content::Nothing)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Content, E> {
        Ok(Content::Typed(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Content, E> {
        Ok(Content::Typed(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Content, E> {
        Ok(Content::Typed(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Content, E> {
        Ok(Content::Typed(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Content, A::Error> {
        Value::deserialize(value::SeqAccessDeserializer::new(items)).map(Content::Typed)
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Content, A::Error> {
        Value::deserialize(value::MapAccessDeserializer::new(fields)).map(Content::Typed)
    }
}
