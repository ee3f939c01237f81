//! How tool calls are worded, for every front end. The `bash` lines and `Done.` are a contract. What is particular to a
//! tool is said by its row of [`crate::facts`].
//! Everything returned is safe to print: what a model or a file put into it is spelled out.

use std::path::Path;

use serde_json::Value;

use crate::change::{FileChange, LeftBehind};
use crate::check::{CheckStanding, CheckState};
use crate::event::{CheckResult, Checked, NoticeLevel};
use crate::facts::{self, Given, ToolFacts};
use crate::record::ShellEnd;
use crate::tool::ToolOutput;
use crate::typeset::diff::{self, Bounds, Line};
use crate::typeset::format::{count, path_from};
use crate::typeset::text::{one_line, one_line_ends, truncate_width};
use crate::typeset::{plain, visible_line};

const DETAIL_COLUMNS: usize = 160;
/// Why a call failed is shown whole, for it says what to do; only an absurd message is cut, and keeps its end.
const ERROR_COLUMNS: usize = 2_000;
const NAME_COLUMNS: usize = 64;
const VALUE_COLUMNS: usize = 60;

/// `Tool requested: bash command="ls"`.
pub fn tool_requested(name: &str, input: &Value) -> String {
    format!("Tool requested: {}", call(name, input))
}

/// `Tool finished: bash exit=0`.
pub fn tool_finished(name: &str, result: &ToolOutput) -> String {
    format!("Tool finished: {}", outcome(name, result))
}

/// How a command of the user's ended, when it did not end well and somebody has to say so.
pub fn bad_ending(end: &ShellEnd) -> Option<String> {
    match end {
        ShellEnd::Exited { exit_code: 0 }
        | ShellEnd::Interrupted
        | ShellEnd::NotRun { .. }
        | ShellEnd::Unknown => None,
        ShellEnd::Exited { exit_code } => Some(format!("exit code {exit_code}")),
        ShellEnd::Signalled { signal } => Some(format!("killed by signal {signal}")),
        ShellEnd::TimedOut { after_ms } => {
            Some(format!("stopped after {} s, the time limit", after_ms / 1000))
        }
    }
}

/// An answer is asked for again, in so many seconds. `of` is zero where nobody counts: a model is loading.
pub fn retrying(attempt: u32, of: u32, seconds: u64, reason: &str) -> String {
    let reason = visible_line(reason);
    match of {
        0 => format!("Retrying in {seconds} s · {reason}"),
        of => format!("Retrying in {seconds} s ({attempt} of {of}) · {reason}"),
    }
}

/// What came of checking a turn's work.
pub fn checked(checked: &Checked) -> (NoticeLevel, String) {
    let Checked { command, result, attempts, .. } = checked;
    match result {
        CheckResult::Passed => (NoticeLevel::Info, format!("check passed: {command}")),
        CheckResult::Failed => (NoticeLevel::Warning, format!("check failed: {command}")),
        CheckResult::GivenUp => {
            let attempts = count(*attempts as usize, "attempt");
            (NoticeLevel::Warning, format!("check still fails after {attempts}: {command}"))
        }
        CheckResult::NotRun { why } => (NoticeLevel::Warning, format!("not checked: {why}")),
    }
}

/// How the check stands, and what can be typed about it.
pub fn check_told(state: &CheckState) -> String {
    let command = visible_line(&state.command);
    let changed: Vec<String> = state.changed.iter().map(|path| visible_line(path)).collect();
    match state.standing {
        CheckStanding::Configured => {
            format!("`{command}` runs after each turn that edits code (validation.command)")
        }
        CheckStanding::Offered => {
            let offer =
                format!("check the edits with `{command}`? /check run · /check always · /check never");
            match changed.as_slice() {
                [] => offer,
                changed => format!("changed since you said always: {}; {offer}", changed.join(", ")),
            }
        }
        CheckStanding::Always => {
            format!(
                "`{command}` runs after each turn that edits code in this folder; /check never stops that"
            )
        }
        CheckStanding::Never => {
            format!(
                "`{command}` is not offered in this folder; /check always runs it after each turn that edits code"
            )
        }
    }
}

/// `Done. (0.02s)`; `Failed. (0.02s)` after a call that was not carried out, or not to its end.
pub fn done(result: &ToolOutput, duration_ms: u64) -> String {
    let word = match result {
        ToolOutput::Ok(data) if !timed_out(data) => "Done.",
        ToolOutput::Ok(_) | ToolOutput::Err(_) => "Failed.",
    };
    format!("{word} ({:.2}s)", duration_ms as f64 / 1000.0)
}

fn timed_out(data: &Value) -> bool {
    data.get("timed_out").and_then(Value::as_bool) == Some(true)
}

/// A call in one line: `read path="src/main.rs"`, under our own names for the tool and its arguments.
pub fn call(name: &str, input: &Value) -> String {
    let Some(facts) = facts::called(name, input.as_object()) else {
        return with_name(name, &pairs(Given::unknown(input).fields()));
    };
    let given = facts.given(input);
    match (facts.label.call)(&given) {
        Some(detail) if facts.label.whole => format!("{} {detail}", facts.name),
        Some(detail) => with_name(facts.name, &detail),
        None => with_name(facts.name, &pairs(given.fields())),
    }
}

/// A result in one line: `edit 1 replacement +1 -1`.
pub fn outcome(name: &str, result: &ToolOutput) -> String {
    match outcome_detail(name, result) {
        detail if detail.is_empty() => tool(name),
        detail => format!("{} {detail}", tool(name)),
    }
}

/// The same without the tool's name.
pub fn outcome_detail(name: &str, result: &ToolOutput) -> String {
    let data = match result {
        ToolOutput::Ok(data) => data,
        ToolOutput::Err(error) => {
            let code = one_line(error.code.as_str(), NAME_COLUMNS);
            let message = one_line_ends(&error.message, ERROR_COLUMNS);
            return format!("error={code} {message}").trim_end().to_owned();
        }
    };
    let worded = facts::facts(name).and_then(|facts| (facts.label.outcome)(data));
    bounded(&worded.unwrap_or_else(|| pairs(Given::unknown(data).fields())))
}

/// What a result changed, in lines: the diff of a write or an edit, a todo list as a checklist, else nothing.
pub fn summary(name: &str, input: &Value, result: &ToolOutput, bounds: Bounds) -> Vec<Line> {
    let ToolOutput::Ok(data) = result else { return Vec::new() };
    if let Some(diff) = data.get("diff").and_then(Value::as_str) {
        return diff::unified(diff, bounds);
    }
    let summed_up = |facts: &ToolFacts| (facts.label.summary)(&facts.given(input), data, bounds);
    facts::called(name, input.as_object()).map(summed_up).unwrap_or_default()
}

fn with_name(name: &str, detail: &str) -> String {
    let (name, detail) = (tool(name), bounded(detail));
    if detail.is_empty() { name } else { format!("{name} {detail}") }
}

fn bounded(detail: &str) -> String {
    truncate_width(&plain(detail), DETAIL_COLUMNS)
}

/// A tool by our own name for it; one that is not ours by its own.
fn tool(name: &str) -> String {
    match facts::facts(name) {
        Some(facts) => facts.name.to_owned(),
        None => truncate_width(&visible_line(name), NAME_COLUMNS),
    }
}

/// Any tool's fields as compact `key=value` pairs, until a line is full.
fn pairs<'a>(fields: impl Iterator<Item = (&'a str, &'a Value)>) -> String {
    let mut line = String::new();
    for (key, value) in fields {
        let value = match value {
            Value::Null => continue,
            Value::Bool(_) | Value::Number(_) => value.to_string(),
            Value::String(text) => format!("\"{}\"", truncate_width(&spelled_start(text), VALUE_COLUMNS)),
            Value::Array(items) => format!("[{}]", count(items.len(), "item")),
            Value::Object(fields) => format!("{{{}}}", count(fields.len(), "field")),
        };
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&truncate_width(&visible_line(key), NAME_COLUMNS));
        line.push('=');
        line.push_str(&value);
        if line.len() > DETAIL_COLUMNS * 4 {
            break;
        }
    }
    line
}

/// A value may be a whole file: only the part that can be shown is spelled out.
fn spelled_start(text: &str) -> String {
    let end = text.char_indices().nth(VALUE_COLUMNS * 2).map_or(text.len(), |(at, _)| at);
    visible_line(&text[..end])
}

/// What going back to before a turn did, a line for each file, named from the root where it is known.
pub fn reverted(turn: u32, files: &[FileChange], left: Option<&LeftBehind>, root: Option<&Path>) -> String {
    let put_back = match (files, left) {
        ([], Some(LeftBehind { commands: false, .. })) => {
            ": the conversation only, for no file was changed since".to_owned()
        }
        ([], Some(LeftBehind { commands: true, .. }) | None) => {
            ": the conversation only, no file was put back".to_owned()
        }
        ([_, ..], _) => files_put_back(files, root),
    };
    format!("back to before turn {turn}{put_back}{}", left.map(left_behind).unwrap_or_default())
}

/// What commands did is not taken back: which files that may be.
fn left_behind(left: &LeftBehind) -> String {
    let LeftBehind { commands, files, more, incomplete } = left;
    let mut text = String::new();
    if !files.is_empty() {
        text.push_str("\nchanged meanwhile by commands or somebody else, and left so:");
        files.iter().for_each(|file| text.push_str(&format!("\n  {}", visible_line(file))));
    }
    if *more > 0 {
        text.push_str(&format!("\n  and {}", count(*more as usize, "more file")));
    }
    match (incomplete, commands) {
        (true, _) => text.push_str("\nthe folder is too large to be looked at whole: there may be more"),
        (false, true) if files.is_empty() => {
            text.push_str("\ncommands ran: what they removed or did elsewhere is not undone; no changed file was found here");
        }
        (false, _) => {}
    }
    text
}

/// What taking back a revert did, a line for each file.
pub fn redone(turn: u32, files: &[FileChange], root: Option<&Path>) -> String {
    format!("forth again to the end of turn {turn}{}", files_put_back(files, root))
}

fn files_put_back(files: &[FileChange], root: Option<&Path>) -> String {
    let line = |file: &FileChange| {
        let done = match (&file.before, &file.after) {
            (None, _) => "created",
            (Some(_), Some(_)) => "restored",
            (Some(_), None) => "removed",
        };
        format!("\n{done} {}", path_from(&file.path, root))
    };
    match files {
        [] => "; no file was touched".to_owned(),
        files => files.iter().map(line).collect(),
    }
}

#[cfg(test)]
mod tests;
