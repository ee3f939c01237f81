//! What a call of another agent brought, as text: without the fence that some put around it, and no more than is kept.

use serde_json::{Value, json};
use zdx_acp::shapes::{Block, Call, ToolContent};
use zdx_protocol::facts::BASH;

/// Of what a call brought.
const OUTPUT: usize = 32 << 10;

pub(super) fn texts(call: &Call) -> String {
    let texts = call.content.iter().filter_map(|content| match content {
        ToolContent::Content(Block::Text(text)) => Some(unfenced(text)),
        ToolContent::Content(_)
        | ToolContent::Diff(_)
        | ToolContent::Terminal(_)
        | ToolContent::Unknown(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Without the fence that some put around all that a call printed.
fn unfenced(text: &str) -> &str {
    let inner = || {
        let (mark, rest) = text.trim().split_once('\n')?;
        let mark = mark.trim_end_matches(|c: char| c.is_alphanumeric());
        let fence = mark.len() >= 3 && mark.bytes().all(|byte| byte == b'`');
        let inner = rest.strip_suffix(mark).filter(|_| fence)?;
        Some(inner.strip_suffix('\n').unwrap_or(inner)).filter(|inner| !inner.contains(mark))
    };
    inner().unwrap_or(text)
}

/// What came out of it: as the agent has it, else what it shows.
pub(super) fn output(name: &str, call: &Call) -> Value {
    let shown = texts(call);
    let raw = call.raw_output.as_ref().filter(|raw| raw.to_string().len() <= OUTPUT);
    // One of ours behind another wraps it.
    let raw = raw.map(|raw| if raw["ok"] == true && raw["data"].is_object() { &raw["data"] } else { raw });
    match (raw, name == BASH.name) {
        (Some(raw @ Value::Object(_)), _) if raw["stdout"].is_string() => raw.clone(),
        (Some(raw), false) => raw.clone(),
        (Some(Value::String(raw)), true) if shown.is_empty() => json!({"stdout": cut(raw)}),
        (_, true) => json!({"stdout": cut(&shown)}),
        (None, false) => json!({"text": cut(&shown)}),
    }
}

pub(super) fn failure(call: &Call) -> String {
    let shown = texts(call);
    match &call.raw_output {
        _ if !shown.is_empty() => cut(&shown),
        Some(Value::String(raw)) => cut(raw),
        Some(raw) => cut(&raw.to_string()),
        None => "the agent says that it failed".to_owned(),
    }
}

pub(super) fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(OUTPUT)].to_owned()
}
