//! `bash`.

use serde_json::Value;

use super::{Argument, Given, Label, PermissionKey, Title, ToolFacts, Touches};
use crate::code::Level;
use crate::tool::CallKind;
use crate::typeset::text::truncate_width;
use crate::typeset::visible_line;

/// A command is shown whole; only an absurd one is cut.
const COMMAND_COLUMNS: usize = 8_000;

/// In the error of a command that was stopped: between the name of a stream and what it had printed.
pub const SO_FAR: &str = " so far: ";

pub static BASH: ToolFacts = ToolFacts {
    name: "bash",
    aliases: &["shell", "sh", "run_shell_command", "run_command", "execute_command", "exec", "terminal"],
    listed_as: &[],
    arguments: &[
        Argument { words: true, ..Argument::spelt("command", &["cmd", "command_line", "commandLine"]) },
        Argument::spelt("timeout_secs", &["timeout_seconds"]),
    ],
    permission: PermissionKey::of_names("bash", Level::Ask),
    kind: CallKind::Execute,
    touches: Touches::Runs("command"),
    when_cut: "; run it again with less output (head, tail, grep), or into a file that you read in parts",
    label: Label { call, whole: true, outcome, ..Label::PLAIN },
    title: Title { subject, ended, ..Title::of("Running", "Ran", "Run") },
};

fn call(given: &Given<'_>) -> Option<String> {
    let command = truncate_width(&visible_line(&given.text("command")?), COMMAND_COLUMNS);
    Some(format!("command=\"{command}\""))
}

fn outcome(data: &Value) -> Option<String> {
    if data.get("timed_out").and_then(Value::as_bool) == Some(true) {
        return Some("timed_out=true".to_owned());
    }
    let code = data.get("exit_code")?.as_i64()?;
    let background = data.get("background").and_then(Value::as_bool) == Some(true);
    Some(format!("exit={code}{}", if background { " background=true" } else { "" }))
}

fn subject(given: &Given<'_>) -> Option<String> {
    let command = given.text("command")?;
    let lines: Vec<String> = command.trim().lines().map(visible_line).collect();
    Some(truncate_width(&lines.join(" ⏎ "), COMMAND_COLUMNS))
}

fn ended(data: &Value) -> Option<String> {
    if data.get("timed_out").and_then(Value::as_bool) == Some(true) {
        return Some("timed out".to_owned());
    }
    let code = data.get("exit_code")?.as_i64()?;
    let background = data.get("background").and_then(Value::as_bool) == Some(true);
    Some(format!("exit {code}{}", if background { ", still running behind" } else { "" }))
}
