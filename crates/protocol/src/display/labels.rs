//! How tool calls are worded, for every front end. The `bash` lines and `Done.` are a contract.
//! Everything returned is safe to print: what a model or a file put into it is spelled out.

use serde_json::{Map, Value};

use super::diff::{self, Bounds, Line, LineKind};
use super::format::{count, size};
use super::sanitize::{plain, visible_line};
use super::text::{one_line, truncate_width};
use crate::tool::ToolOutput;

/// A command is shown whole; only an absurd one is cut.
const COMMAND_COLUMNS: usize = 8_000;
const DETAIL_COLUMNS: usize = 160;
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
            let message = one_line(&error.message, DETAIL_COLUMNS);
            return with_name(name, &format!("error={} {message}", one_line(&error.code, NAME_COLUMNS)));
        }
    };
    let detail = match name {
        "bash" => bash_outcome(data),
        "read" => read_outcome(data),
        "write" => write_outcome(data),
        "edit" => edit_outcome(data),
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
        ("todowrite" | "todoread", ..) => checklist(input, data, bounds),
        _ => Vec::new(),
    }
}

fn with_name(name: &str, detail: &str) -> String {
    let name = truncate_width(&visible_line(name), NAME_COLUMNS);
    let detail = truncate_width(&plain(detail), DETAIL_COLUMNS);
    if detail.is_empty() { name } else { format!("{name} {detail}") }
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
        None if is_created(data) => "created".to_owned(),
        None => "updated".to_owned(),
    };
    if operation == "unchanged" {
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

fn checklist(input: &Value, data: &Value, bounds: Bounds) -> Vec<Line> {
    let todos = data.get("todos").or_else(|| input.get("todos")).and_then(Value::as_array);
    let todos = todos.map(Vec::as_slice).unwrap_or_default();
    let shown = if todos.len() > bounds.lines { bounds.lines.saturating_sub(1) } else { todos.len() };
    let mut lines: Vec<Line> = todos[..shown].iter().map(|todo| todo_line(todo, bounds.columns)).collect();
    if shown < todos.len() {
        lines.push(diff::more(todos.len() - shown));
    }
    lines
}

fn todo_line(todo: &Value, columns: usize) -> Line {
    let text = |key: &str| todo.get(key).and_then(Value::as_str);
    let (kind, mark) = match text("status") {
        Some("completed") => (LineKind::Add, "[x]"),
        Some("in_progress") => (LineKind::Hunk, "[>]"),
        Some("cancelled") => (LineKind::Note, "[-]"),
        _ => (LineKind::Context, "[ ]"),
    };
    let content = text("content").or_else(|| text("text")).or_else(|| todo.as_str()).unwrap_or_default();
    Line::new(kind, one_line(&format!("{mark} {content}"), columns))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const BOUNDS: Bounds = Bounds { columns: 40, lines: 6 };

    #[test]
    fn requests_read_as_promised() {
        let table = [
            ("bash", json!({"command": "ls -l"}), r#"bash command="ls -l""#),
            ("bash", json!({"command": "echo \"a\"\n\x1b[2Jrm"}), r#"bash command="echo "a"\n\x1b[2Jrm""#),
            ("bash", json!({}), "bash"),
            ("read", json!({"path": "src/main.rs"}), r#"read path="src/main.rs""#),
            ("read", json!({"path": "a", "offset": 10, "limit": 5}), r#"read path="a" offset=10 limit=5"#),
            (
                "write",
                json!({"path": "a.txt", "content": "x".repeat(1_234)}),
                r#"write path="a.txt" (1.2 kB)"#,
            ),
            ("edit", json!({"path": "a\u{202e}", "old": "x", "new": "y"}), r#"edit path="a\u{202e}""#),
            (
                "grep",
                json!({"pattern": "a\tb", "max": 5, "in": ["a", "b"], "none": null, "o": {}}),
                r#"grep pattern="a\tb" max=5 in=[2 items] o={0 fields}"#,
            ),
            ("evil\x1b[2J", json!("no object"), r"evil\x1b[2J"),
        ];
        for (name, input, text) in table {
            assert_eq!(tool_requested(name, &input), format!("Tool requested: {text}"));
        }
    }

    #[test]
    fn a_command_is_whole_and_the_rest_is_bounded() {
        let long = "x".repeat(5_000);
        assert!(tool_requested("bash", &json!({"command": long})).contains(&format!("\"{long}\"")));
        for input in [json!({"path": long}), json!({&long: &long, "b": &long, "c": &long, "d": &long})] {
            let line = tool_requested("read", &input);
            assert!(line.chars().count() < 200 && line.ends_with('…'), "{line}");
        }
    }

    #[test]
    fn results_read_as_promised() {
        let table = [
            ("bash", json!({"stdout": "", "stderr": "", "exit_code": 3, "timed_out": false}), "bash exit=3"),
            ("bash", json!({"exit_code": -1, "timed_out": true}), "bash timed_out=true"),
            ("bash", json!({"exit_code": 0, "background": true}), "bash exit=0 background=true"),
            ("read", json!({"content": "a\nb\n", "truncated": false, "bytes": 4}), "read 2 lines"),
            ("read", json!({"content": "a", "truncated": true, "bytes": 1_200_000}), "read 1 line of 1.2 MB"),
            (
                "write",
                json!({"bytes": 9, "created": true, "operation": "created", "additions": 12, "deletions": 0}),
                "write created +12 -0",
            ),
            ("write", json!({"bytes": 9, "created": false}), "write updated (9 B)"),
            ("write", json!({"operation": "unchanged", "additions": 0, "deletions": 0}), "write unchanged"),
            ("edit", json!({"replacements": 1, "additions": 1, "deletions": 1}), "edit 1 replacement +1 -1"),
            ("edit", json!({"replacements": 2}), "edit 2 replacements"),
            ("glob", json!({"files": ["a"], "truncated": false}), "glob files=[1 item] truncated=false"),
        ];
        for (name, data, text) in table {
            assert_eq!(tool_finished(name, &ToolOutput::Ok(data)), format!("Tool finished: {text}"));
        }
        let error = ToolOutput::error("ENOENT", "File not found\nreally\x07");
        assert_eq!(tool_finished("read", &error), "Tool finished: read error=ENOENT File not found really");
        assert_eq!(done(20), "Done. (0.02s)");
    }

    #[test]
    fn a_change_is_summed_up_in_lines() {
        let edit = json!({"path": "a", "old": "one\n", "new": "two\n"});
        let ok = |data: Value| ToolOutput::Ok(data);
        let texts = |lines: Vec<Line>| lines.into_iter().map(|line| line.text).collect::<Vec<_>>();
        let lines = summary("edit", &edit, &ok(json!({"replacements": 1})), BOUNDS);
        assert_eq!(texts(lines), ["@@ -1 +1 @@", "-one", "+two"]);
        let write = json!({"path": "a", "content": "x\n"});
        let lines = summary("write", &write, &ok(json!({"created": true})), BOUNDS);
        assert_eq!(texts(lines), ["@@ -0,0 +1 @@", "+x"]);
        assert!(summary("write", &write, &ok(json!({"created": false})), BOUNDS).is_empty());
        let lines = summary("write", &write, &ok(json!({"diff": "@@ -1 +1 @@\n-a\n+b\n"})), BOUNDS);
        assert_eq!(texts(lines), ["@@ -1 +1 @@", "-a", "+b"]);
        assert!(summary("edit", &edit, &ToolOutput::error("x", "y"), BOUNDS).is_empty());
        let todos = json!({"todos": [
            {"content": "plan", "status": "completed"},
            {"content": "build\x1b[2J", "status": "in_progress"},
            {"content": "ship", "status": "pending"},
        ]});
        let lines = summary("todowrite", &todos, &ok(json!({})), BOUNDS);
        assert_eq!(texts(lines), ["[x] plan", "[>] build", "[ ] ship"]);
    }
}
