//! Puts thinking together from deltas: plain text under two names, and OpenRouter's details, which must go back.

use serde_json::{Map, Value};
use zdx_protocol::Reasoning;

use super::super::Wire;

/// The two names of plain text.
pub(super) const REASONING: &str = "reasoning";
pub(super) const REASONING_CONTENT: &str = "reasoning_content";

#[derive(Default)]
pub(super) struct Thinking {
    text: String,
    details: Vec<Value>,
    /// What the server calls it, and wants it back as: vLLM reads no other name than its own.
    field: Option<&'static str>,
}

impl Thinking {
    pub fn add_text(&mut self, text: &str, field: Option<&'static str>) {
        self.text.push_str(text);
        self.field = self.field.or(field);
    }

    /// Adds details; pieces of one detail (same kind and index, one after the other) are joined.
    pub fn add_details(&mut self, details: Vec<Value>) {
        for detail in details {
            match (self.details.last_mut(), &detail) {
                (Some(Value::Object(last)), Value::Object(more)) if same_detail(last, more) => {
                    join(last, more)
                }
                _ => self.details.push(detail),
            }
        }
    }

    /// Details may be completed (a signature) until the very end; plain text is done when anything else comes.
    pub fn is_closed_by_other_content(&self) -> bool {
        self.details.is_empty() && !self.text.is_empty()
    }

    pub fn take(&mut self, model: &str) -> Option<Reasoning> {
        let Self { text, details, field } = std::mem::take(self);
        if text.is_empty() && details.is_empty() {
            return None;
        }
        let opaque = if !details.is_empty() { Some(Value::Array(details)) } else { field.map(Value::from) };
        Some(Reasoning {
            text,
            wire: Wire::OpenaiChat.name().to_owned(),
            model: model.to_owned(),
            opaque,
            took_ms: None,
        })
    }
}

/// The words in details, for a server that sends them nowhere else.
pub(super) fn words(details: &[Value]) -> String {
    let text = |detail: &Value| {
        detail.get("text").or_else(|| detail.get("summary")).and_then(Value::as_str).map(str::to_owned)
    };
    details.iter().filter_map(text).collect()
}

fn same_detail(last: &Map<String, Value>, more: &Map<String, Value>) -> bool {
    ["type", "index", "id"].iter().all(|key| match (last.get(*key), more.get(*key)) {
        (Some(a), Some(b)) => a == b || a.is_null() || b.is_null(),
        _ => true,
    })
}

fn join(last: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (key, value) in more {
        match (key.as_str(), last.get_mut(key), value) {
            ("text" | "summary" | "data", Some(Value::String(so_far)), Value::String(more)) => {
                so_far.push_str(more);
            }
            (_, Some(Value::Null) | None, _) => {
                last.insert(key.clone(), value.clone());
            }
            _ => {}
        }
    }
}
