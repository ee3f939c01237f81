//! `write`.

use serde_json::Value;

use super::{Argument, Given, LESS, Label, PATH, PermissionKey, Title, ToolFacts, Touches, words};
use crate::change::Operation;
use crate::code::Level;
use crate::tool::CallKind;
use crate::typeset::diff::{self, Bounds, Line};
use crate::typeset::text::one_line;

const OPERATION_COLUMNS: usize = 64;

/// Whoever may write a file may edit it, and the other way round. `edit` in a permission table is every change.
pub(super) const PERMISSION: PermissionKey =
    PermissionKey { others: &["edit"], ..PermissionKey::plain("write", Level::Ask) };

pub static WRITE: ToolFacts = ToolFacts {
    name: "write",
    aliases: &["write_file", "writefile", "create_file", "create", "save_file"],
    listed_as: &[],
    arguments: &[PATH, Argument::spelt("content", &["contents", "text", "file_text", "file_content"])],
    permission: PERMISSION,
    kind: CallKind::Edit,
    touches: Touches::Changes("path"),
    when_cut: LESS,
    label: Label { call, whole: false, outcome, summary },
    title: Title { subject: words::place, ended, ..Title::of("Writing", "Wrote", "Write") },
};

fn call(given: &Given<'_>) -> Option<String> {
    let bytes = given.text("content").map_or(0, |content| content.len()) as u64;
    Some(format!("{} {}", words::path(given)?, words::bytes(bytes)))
}

fn outcome(data: &Value) -> Option<String> {
    let operation = match data.get("operation").and_then(Value::as_str) {
        Some(operation) => one_line(operation, OPERATION_COLUMNS),
        None if is_created(data) => Operation::Created.to_string(),
        None => Operation::Updated.to_string(),
    };
    if Operation::find(&operation) == Some(Operation::Unchanged) {
        return Some(operation);
    }
    let bytes = || data.get("bytes").and_then(Value::as_u64).map(words::bytes);
    let extent = words::signs(data).or_else(bytes).unwrap_or_default();
    Some(format!("{operation} {extent}").trim_end().to_owned())
}

fn summary(given: &Given<'_>, data: &Value, bounds: Bounds) -> Vec<Line> {
    match given.text("content") {
        Some(content) if is_created(data) => diff::between("", &content, bounds),
        Some(_) | None => Vec::new(),
    }
}

fn is_created(data: &Value) -> bool {
    data.get("created").and_then(Value::as_bool) == Some(true)
}

fn ended(data: &Value) -> Option<String> {
    let operation = data.get("operation").and_then(Value::as_str).and_then(Operation::find);
    match words::changed(data) {
        Some(signs) if is_created(data) => Some(format!("new, {signs}")),
        Some(_) if operation == Some(Operation::Unchanged) => operation.map(|same| same.to_string()),
        signs => signs,
    }
}
