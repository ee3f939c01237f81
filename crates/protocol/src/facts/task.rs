//! `task`.

use serde_json::Value;

use super::{Argument, Given, LESS, Label, PermissionKey, Title, ToolFacts, Touches};
use crate::code::Level;
use crate::tool::CallKind;
use crate::typeset::text::one_line;

const REPORT_COLUMNS: usize = 160;

pub static TASK: ToolFacts = ToolFacts {
    name: "task",
    aliases: &["agent", "subagent", "delegate"],
    listed_as: &[],
    arguments: &[Argument::plain("agent"), Argument::plain("prompt"), Argument::plain("description")],
    permission: PermissionKey::of_names("task", Level::Ask),
    kind: CallKind::Think,
    touches: Touches::Nothing,
    when_cut: LESS,
    label: Label { outcome, ..Label::PLAIN },
    title: Title { subject, ended: |_| Some(String::new()), ..Title::of("Task", "Task", "Task") },
};

/// `explore reported: The parser is in src/parse.rs.`
fn outcome(data: &Value) -> Option<String> {
    let text = |key: &str| data.get(key).and_then(Value::as_str);
    let report = text("report").filter(|report| !report.trim().is_empty()).or_else(|| text("note"))?;
    Some(format!("{} reported: {}", text("agent")?, one_line(report, REPORT_COLUMNS)))
}

/// `explore: find the parser`.
fn subject(given: &Given<'_>) -> Option<String> {
    let what = given.text("description").or_else(|| given.text("prompt"))?;
    let agent = given.text("agent").unwrap_or("an agent".into());
    Some(one_line(&format!("{agent}: {what}"), REPORT_COLUMNS))
}
