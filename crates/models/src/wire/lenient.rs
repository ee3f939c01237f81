//! Reads answers whose fields have another JSON type than they should: converts what can be converted and leaves out the
//! rest. One odd field must not cost a finished answer. What is as it should be is read without a detour.

use serde::de::{DeserializeOwned, Error};
use serde_json::Value;
use zdx_protocol::Arguments;

#[cfg(test)]
mod tests;

/// Larger counts are nonsense, and adding them up would overflow.
const MOST: f64 = (1u64 << 40) as f64;

pub(super) fn parse<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    serde_json::from_str(text).or_else(|error| {
        // A repeated field or half a surrogate pair is no obstacle to a tree.
        let whole = || serde_json::from_str(&without_lone_surrogates(text)).map_err(|_| error);
        let mut value: Value = serde_json::from_str(text).or_else(|_| whole())?;
        if !value.is_object() {
            return Err(serde_json::Error::custom("it is no object"));
        }
        tidy(&mut value);
        serde_json::from_value(value)
    })
}

/// Arguments of a call. Half a surrogate pair does not make them unreadable.
pub(super) fn arguments(text: &str) -> Arguments {
    match Arguments::parse(text) {
        Arguments::Raw(raw) => match Arguments::parse(&without_lone_surrogates(text)) {
            Arguments::Object(map) => Arguments::Object(map),
            Arguments::Raw(_) => Arguments::Raw(raw),
        },
        object @ Arguments::Object(_) => object,
    }
}

/// Gives the fields that decoders read the types they expect; looks into nothing that a model wrote.
fn tidy(value: &mut Value) {
    let Value::Object(fields) = value else { return };
    for (key, field) in fields {
        match key.as_str() {
            "index" => *field = number(field).into(),
            key if key.ends_with("_tokens") => *field = number(field).into(),
            "id" | "name" | "type" | "object" | "finish_reason" | "stop_reason" | "refusal" | "reasoning"
            | "reasoning_content" | "text" | "thinking" | "partial_json" | "signature" => {
                *field = text(field).into();
            }
            "usage"
            | "delta"
            | "message"
            | "function"
            | "function_call"
            | "prompt_tokens_details"
            | "completion_tokens_details" => match field {
                Value::Object(_) => tidy(field),
                _ => *field = Value::Null,
            },
            "choices" | "tool_calls" => {
                let mut objects = objects(field.take());
                objects.iter_mut().for_each(tidy);
                *field = Value::Array(objects);
            }
            "reasoning_details" if !field.is_array() => *field = Value::Array(objects(field.take())),
            _ => {}
        }
    }
}

/// The objects of a list. An object is a list of one, unless the names of its fields are numbers.
fn objects(value: Value) -> Vec<Value> {
    let is_number = |name: &String| name.parse::<u64>().is_ok();
    let list = match value {
        Value::Array(items) => items,
        Value::Object(fields) if !fields.is_empty() && fields.keys().all(is_number) => {
            fields.into_iter().map(|(_, item)| item).collect()
        }
        one => vec![one],
    };
    list.into_iter().filter(Value::is_object).collect()
}

/// A count or an index: whole, with a fraction, or as text. A negative one says that there is none.
pub(crate) fn number(value: &Value) -> Option<u64> {
    let number = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    (0.0..=MOST).contains(&number).then_some(number.round() as u64)
}

/// Words or an id. A number is its digits.
pub(crate) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Whether a field that should hold an error holds one. Some servers send an empty one with every event.
pub(crate) fn is_error(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    }
}

/// JSON text in which an escape from `\ud800` to `\udfff` that belongs to no pair is `\ufffd`.
fn without_lone_surrogates(text: &str) -> String {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(digits, 16).ok()
    };
    let (mut fixed, mut copied, mut at) = (String::with_capacity(text.len()), 0, 0);
    while let Some(found) = text[at..].find('\\') {
        at += found;
        at += match unit(at) {
            Some(0xd800..0xdc00) if matches!(unit(at + 6), Some(0xdc00..0xe000)) => 12,
            Some(0xd800..0xe000) => {
                fixed.push_str(&text[copied..at]);
                fixed.push_str("\\ufffd");
                copied = at + 6;
                6
            }
            // The character behind the backslash is part of this escape and begins no other.
            Some(_) | None => 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
        };
    }
    fixed.push_str(&text[copied..]);
    fixed
}
