//! `read`.

use serde_json::Value;

use super::{Argument, Given, LIMIT, Label, PATH, PermissionKey, Title, ToolFacts, Touches, words};
use crate::code::Level;
use crate::tool::CallKind;
use crate::typeset::format::size;

pub static READ: ToolFacts = ToolFacts {
    name: "read",
    aliases: &["read_file", "readfile", "view", "view_file", "open_file", "cat"],
    listed_as: &["notebook_read"],
    arguments: &[PATH, Argument::spelt("offset", &["start_line", "startLine", "line_offset"]), LIMIT],
    permission: PermissionKey::plain("read", Level::Allow),
    kind: CallKind::Read,
    touches: Touches::Reads("path"),
    when_cut: "; read it with offset and limit",
    label: Label { call, outcome, ..Label::PLAIN },
    title: Title { subject: words::place, folds: Some("file"), ..Title::of("Reading", "Read", "Read") },
};

fn call(given: &Given<'_>) -> Option<String> {
    Some(format!("{}{}", words::path(given)?, line_range(given)))
}

/// ` offset=10 limit=50`, when a part of the file is wanted.
fn line_range(given: &Given<'_>) -> String {
    let field = |key: &str| given.get(key).and_then(Value::as_u64).map(|n| format!(" {key}={n}"));
    ["offset", "limit"].into_iter().filter_map(field).collect()
}

fn outcome(data: &Value) -> Option<String> {
    let lines = words::lines(data.get("content")?.as_str()?);
    let truncated = data.get("truncated").and_then(Value::as_bool) == Some(true);
    match data.get("bytes").and_then(Value::as_u64).filter(|_| truncated) {
        Some(bytes) => Some(format!("{lines} of {}", size(bytes))),
        None => Some(lines),
    }
}
