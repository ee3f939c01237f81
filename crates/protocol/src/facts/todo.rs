//! `todowrite` and `todoread`. Some models know one tool `todo` for both: with a list it writes, without it reads.

use serde_json::Value;

use super::{Argument, Given, LESS, Label, PermissionKey, Title, ToolFacts, Touches};
use crate::code::Level;
use crate::tool::CallKind;
use crate::typeset::diff::{self, Bounds, Line, LineKind};
use crate::typeset::text::one_line;

const PERMISSION: PermissionKey =
    PermissionKey { others: &["todoread", "todowrite"], ..PermissionKey::plain("todo", Level::Allow) };

const LIST: fn(&Given<'_>) -> Option<String> = |_| Some("the todo list".to_owned());

const LABEL: Label = Label { outcome, summary, ..Label::PLAIN };

pub static TODOWRITE: ToolFacts = ToolFacts {
    name: "todowrite",
    aliases: &["todo_write", "write_todos", "update_todos", "update_plan", "todo"],
    listed_as: &[],
    arguments: &[Argument::spelt("items", &["todos", "plan", "tasks", "list"])],
    permission: PERMISSION,
    kind: CallKind::Think,
    touches: Touches::Nothing,
    when_cut: LESS,
    label: LABEL,
    title: Title { subject: LIST, ..Title::of("Updating", "Updated", "Update") },
};

pub static TODOREAD: ToolFacts = ToolFacts {
    name: "todoread",
    aliases: &["todo_read", "read_todos", "get_todos", "todo"],
    listed_as: &[],
    arguments: &[],
    permission: PERMISSION,
    kind: CallKind::Think,
    touches: Touches::Nothing,
    when_cut: LESS,
    label: LABEL,
    title: Title { subject: LIST, ..Title::of("Reading", "Read", "Read") },
};

fn outcome(data: &Value) -> Option<String> {
    let items = data.get("checklist")?.as_str()?;
    let done = items.lines().filter(|item| item.starts_with("[x]")).count();
    Some(format!("{done} of {} done", items.lines().count()))
}

/// The list as the tool worded it: a line for each item, the mark first.
fn summary(_: &Given<'_>, data: &Value, bounds: Bounds) -> Vec<Line> {
    let items: Vec<&str> =
        data.get("checklist").and_then(Value::as_str).map(|text| text.lines().collect()).unwrap_or_default();
    let shown = if items.len() > bounds.lines { bounds.lines.saturating_sub(1) } else { items.len() };
    let mut lines: Vec<Line> = items[..shown].iter().map(|item| line(item, bounds.columns)).collect();
    if shown < items.len() {
        lines.push(diff::more(items.len() - shown));
    }
    lines
}

fn line(item: &str, columns: usize) -> Line {
    let kind = match item.get(..3) {
        Some("[x]") => LineKind::Add,
        Some("[~]") => LineKind::Hunk,
        _ => LineKind::Context,
    };
    Line::new(kind, one_line(item, columns))
}
