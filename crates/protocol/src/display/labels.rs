//! How tool calls are worded, for every front end. The `bash` lines and `Done.` are a contract.
//! Everything returned is safe to print: what a model or a file put into it is spelled out.

use serde_json::{Map, Value};

use super::diff::{self, Bounds, Line, LineKind};
use super::format::{count, size};
use super::sanitize::{plain, visible_line};
use super::text::{one_line, one_line_ends, truncate_width};
use crate::change::{FileChange, Operation};
use crate::event::{CheckResult, Checked, NoticeLevel};
use crate::record::ShellEnd;
use crate::tool::ToolOutput;

/// A command is shown whole; only an absurd one is cut.
const COMMAND_COLUMNS: usize = 8_000;
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

/// `Done. (0.02s)`.
pub fn done(duration_ms: u64) -> String {
    format!("Done. ({:.2}s)", duration_ms as f64 / 1000.0)
}

/// A call in one line: `read path="src/main.rs"`.
pub fn call(name: &str, input: &Value) -> String {
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let detail = match (name, text("command"), text("path")) {
        ("bash", Some(command), _) => {
            let command = truncate_width(&visible_line(command), COMMAND_COLUMNS);
            return format!("bash command=\"{command}\"");
        }
        ("read", _, Some(path)) => format!("path=\"{}\"{}", visible_line(path), line_range(input)),
        ("write", _, Some(path)) => {
            let bytes = text("content").map_or(0, str::len) as u64;
            format!("path=\"{}\" ({})", visible_line(path), size(bytes))
        }
        ("edit", _, Some(path)) => format!("path=\"{}\"", visible_line(path)),
        _ => input.as_object().map(pairs).unwrap_or_default(),
    };
    with_name(name, &detail)
}

/// A result in one line: `edit 1 replacement +1 -1`.
pub fn outcome(name: &str, result: &ToolOutput) -> String {
    let data = match result {
        ToolOutput::Ok(data) => data,
        ToolOutput::Err(error) => {
            let code = one_line(error.code.as_str(), NAME_COLUMNS);
            let message = one_line_ends(&error.message, ERROR_COLUMNS);
            return format!("{} error={code} {message}", shown_name(name)).trim_end().to_owned();
        }
    };
    let detail = match name {
        "bash" => bash_outcome(data),
        "read" => read_outcome(data),
        "write" => write_outcome(data),
        "edit" => edit_outcome(data),
        "patch" => patch_outcome(data),
        "grep" => grep_outcome(data),
        "glob" => listed(data, "path"),
        "list" => listed(data, "entry"),
        "todowrite" | "todoread" => todo_outcome(data),
        "task" => task_outcome(data),
        "skill" => data.get("name").and_then(Value::as_str).map(|name| format!("loaded {name}")),
        _ => None,
    };
    with_name(name, &detail.unwrap_or_else(|| data.as_object().map(pairs).unwrap_or_default()))
}

/// What a result changed, in lines: the diff of a write or an edit, a todo list as a checklist, else nothing.
pub fn summary(name: &str, input: &Value, result: &ToolOutput, bounds: Bounds) -> Vec<Line> {
    let ToolOutput::Ok(data) = result else { return Vec::new() };
    if let Some(diff) = data.get("diff").and_then(Value::as_str) {
        return diff::unified(diff, bounds);
    }
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    match (name, text("old"), text("new"), text("content")) {
        ("edit", Some(old), Some(new), _) => diff::between(old, new, bounds),
        ("write", _, _, Some(content)) if is_created(data) => diff::between("", content, bounds),
        ("todowrite" | "todoread", ..) => checklist(data, bounds),
        ("patch", ..) => patch_lines(text("patch").unwrap_or_default(), bounds),
        _ => Vec::new(),
    }
}

/// `explore reported: The parser is in src/parse.rs.`
fn task_outcome(data: &Value) -> Option<String> {
    let text = |key: &str| data.get(key).and_then(Value::as_str);
    let report = text("report").filter(|report| !report.trim().is_empty()).or_else(|| text("note"))?;
    Some(format!("{} reported: {}", text("agent")?, one_line(report, DETAIL_COLUMNS)))
}

fn with_name(name: &str, detail: &str) -> String {
    let name = shown_name(name);
    let detail = truncate_width(&plain(detail), DETAIL_COLUMNS);
    if detail.is_empty() { name } else { format!("{name} {detail}") }
}

fn shown_name(name: &str) -> String {
    truncate_width(&visible_line(name), NAME_COLUMNS)
}

/// ` offset=10 limit=50`, when a part of the file is wanted.
fn line_range(input: &Value) -> String {
    let field = |key: &str| input.get(key).and_then(Value::as_u64).map(|n| format!(" {key}={n}"));
    ["offset", "limit"].into_iter().filter_map(field).collect()
}

fn bash_outcome(data: &Value) -> Option<String> {
    if data.get("timed_out").and_then(Value::as_bool) == Some(true) {
        return Some("timed_out=true".to_owned());
    }
    let code = data.get("exit_code")?.as_i64()?;
    let background = data.get("background").and_then(Value::as_bool) == Some(true);
    Some(format!("exit={code}{}", if background { " background=true" } else { "" }))
}

fn read_outcome(data: &Value) -> Option<String> {
    let lines = count(data.get("content")?.as_str()?.lines().count(), "line");
    let truncated = data.get("truncated").and_then(Value::as_bool) == Some(true);
    match data.get("bytes").and_then(Value::as_u64).filter(|_| truncated) {
        Some(bytes) => Some(format!("{lines} of {}", size(bytes))),
        None => Some(lines),
    }
}

fn write_outcome(data: &Value) -> Option<String> {
    let operation = match data.get("operation").and_then(Value::as_str) {
        Some(operation) => one_line(operation, NAME_COLUMNS),
        None if is_created(data) => Operation::Created.to_string(),
        None => Operation::Updated.to_string(),
    };
    if Operation::find(&operation) == Some(Operation::Unchanged) {
        return Some(operation);
    }
    let bytes = || data.get("bytes").and_then(Value::as_u64).map(|bytes| format!("({})", size(bytes)));
    let extent = signs(data).or_else(bytes).unwrap_or_default();
    Some(format!("{operation} {extent}").trim_end().to_owned())
}

fn edit_outcome(data: &Value) -> Option<String> {
    let replacements = count(data.get("replacements")?.as_u64()? as usize, "replacement");
    Some(format!("{replacements} {}", signs(data).unwrap_or_default()).trim_end().to_owned())
}

fn patch_outcome(data: &Value) -> Option<String> {
    let files = data.get("files")?.as_array()?;
    let sum = |key: &str| files.iter().filter_map(|file| file.get(key)?.as_u64()).sum::<u64>();
    Some(format!("{} +{} -{}", count(files.len(), "file"), sum("additions"), sum("deletions")))
}

fn grep_outcome(data: &Value) -> Option<String> {
    let number = |key: &str| Some(data.get(key)?.as_u64()? as usize);
    let (matches, files) = (number("matches")?, number("files")?);
    let found = match matches {
        1 => "1 match".to_owned(),
        _ => format!("{matches} matches"),
    };
    Some(format!("{found} in {}{}", count(files, "file"), cut_note(data)))
}

/// What `glob` and `list` found; they say the total when they show less.
fn listed(data: &Value, what: &str) -> Option<String> {
    let total = data.get("total")?.as_u64()? as usize;
    let total = match (total, what) {
        (1, _) => format!("1 {what}"),
        (_, "entry") => format!("{total} entries"),
        _ => count(total, what),
    };
    Some(format!("{total}{}", cut_note(data)))
}

fn cut_note(data: &Value) -> &'static str {
    match data.get("truncated").and_then(Value::as_bool) {
        Some(true) => ", not all shown",
        Some(false) | None => "",
    }
}

fn todo_outcome(data: &Value) -> Option<String> {
    let items = data.get("checklist")?.as_str()?;
    let done = items.lines().filter(|item| item.starts_with("[x]")).count();
    Some(format!("{done} of {} done", items.lines().count()))
}

fn is_created(data: &Value) -> bool {
    data.get("created").and_then(Value::as_bool) == Some(true)
}

/// `+12 -3`.
fn signs(data: &Value) -> Option<String> {
    let number = |key: &str| data.get(key)?.as_u64();
    Some(format!("+{} -{}", number("additions")?, number("deletions")?))
}

/// Any tool's fields as compact `key=value` pairs, until a line is full.
fn pairs(fields: &Map<String, Value>) -> String {
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

/// A patch as it was given: a diff as such, an envelope by its signs.
fn patch_lines(patch: &str, bounds: Bounds) -> Vec<Line> {
    if !patch.contains("*** Begin Patch") {
        return diff::unified(patch, bounds);
    }
    let ours = ["*** Begin Patch", "*** End Patch"];
    let lines: Vec<&str> = patch.lines().filter(|line| !ours.contains(&line.trim_end())).collect();
    let shown = if lines.len() > bounds.lines { bounds.lines.saturating_sub(1) } else { lines.len() };
    let line = |text: &&str| {
        let kind = match text.as_bytes().first() {
            Some(b'+') => LineKind::Add,
            Some(b'-') => LineKind::Remove,
            Some(b'@') => LineKind::Hunk,
            Some(b'*') => LineKind::Note,
            _ => LineKind::Context,
        };
        Line::new(kind, truncate_width(&visible_line(&text.replace('\t', "    ")), bounds.columns))
    };
    let mut out: Vec<Line> = lines[..shown].iter().map(line).collect();
    if shown < lines.len() {
        out.push(diff::more(lines.len() - shown));
    }
    out
}

/// The list as the tool worded it: a line for each item, the mark first.
fn checklist(data: &Value, bounds: Bounds) -> Vec<Line> {
    let items: Vec<&str> =
        data.get("checklist").and_then(Value::as_str).map(|text| text.lines().collect()).unwrap_or_default();
    let shown = if items.len() > bounds.lines { bounds.lines.saturating_sub(1) } else { items.len() };
    let mut lines: Vec<Line> = items[..shown].iter().map(|item| todo_line(item, bounds.columns)).collect();
    if shown < items.len() {
        lines.push(diff::more(items.len() - shown));
    }
    lines
}

fn todo_line(item: &str, columns: usize) -> Line {
    let kind = match item.get(..3) {
        Some("[x]") => LineKind::Add,
        Some("[~]") => LineKind::Hunk,
        _ => LineKind::Context,
    };
    Line::new(kind, one_line(item, columns))
}

/// What going back to before a turn did, a line for each file.
pub fn reverted(turn: u32, files: &[FileChange]) -> String {
    format!("back to before turn {turn}{}", files_put_back(files))
}

/// What taking back a revert did, a line for each file.
pub fn redone(turn: u32, files: &[FileChange]) -> String {
    format!("forth again to the end of turn {turn}{}", files_put_back(files))
}

fn files_put_back(files: &[FileChange]) -> String {
    let line = |file: &FileChange| {
        let done = match (&file.before, &file.after) {
            (None, _) => "created",
            (Some(_), Some(_)) => "restored",
            (Some(_), None) => "removed",
        };
        format!("\n{done} {}", file.path.display())
    };
    match files {
        [] => "; no file was touched".to_owned(),
        files => files.iter().map(line).collect(),
    }
}

#[cfg(test)]
mod tests;
