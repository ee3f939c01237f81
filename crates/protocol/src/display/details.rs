//! What a call printed or changed, in a few lines below its outcome: the end of a command's output, the diff of an edit, a
//! todo list as a checklist. Everything returned is safe to print.

use serde_json::Value;

use super::labels;
use crate::facts;
use crate::tool::ToolOutput;
use crate::typeset::diff::{self, Bounds, Line, LineKind};
use crate::typeset::format::count;
use crate::typeset::text::truncate_width;
use crate::typeset::{plain, visible_line};

/// Of what a command printed, the last.
const OUTPUT_LINES: usize = 10;
/// The command and how it ended.
const HEAD_LINES: usize = 2;
/// Of what changed, the first.
const CHANGED_LINES: usize = 40;

/// `diff` is what the call changed, where that was kept.
pub fn details(
    name: &str,
    input: &Value,
    result: &ToolOutput,
    diff: Option<&str>,
    columns: usize,
) -> Vec<Line> {
    let ToolOutput::Ok(data) = result else { return Vec::new() };
    let bounds = Bounds { columns, lines: CHANGED_LINES };
    let is = |tool: &facts::ToolFacts| facts::facts(name).is_some_and(|facts| facts.name == tool.name);
    match diff {
        _ if is(&facts::BASH) => printed(data, columns),
        // The list is told as such, right beside the call.
        _ if is(&facts::TODOWRITE) => Vec::new(),
        Some(diff) if is(&facts::PATCH) => diff::judged_files(diff, bounds),
        Some(diff) => diff::unified(diff, bounds),
        None => labels::summary(name, input, result, bounds),
    }
}

/// The end of what a command printed, below how much more there is and where.
fn printed(data: &Value, columns: usize) -> Vec<Line> {
    let text = |key: &str| data.get(key).and_then(Value::as_str).unwrap_or_default();
    let lines: Vec<&str> = text("stdout").lines().chain(text("stderr").lines()).collect();
    // A note about a single line would take the room of that line.
    let shown = if lines.len() > OUTPUT_LINES { OUTPUT_LINES - 1 } else { lines.len() };
    let more = lines.len() - shown;
    let cut = data.get("truncated").and_then(Value::as_bool) == Some(true);
    let mut told = Vec::new();
    if more > 0 || cut {
        let note = left_out(more, cut, &["stdout_file", "stderr_file"].map(text));
        told.push(Line::new(LineKind::LeftOut, truncate_width(&visible_line(&note), columns)));
    }
    told.extend(lines[more..].iter().map(|line| {
        // What a progress bar wrote over is gone on a terminal too.
        let last = line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default();
        let clean = visible_line(&plain(last).replace('\t', "    "));
        Line::new(LineKind::Context, truncate_width(&clean, columns))
    }));
    told
}

/// What is kept of a command that the user ran, as the model reads it: its head, which says how it ended, and its end.
pub fn typed_command(text: &str, columns: usize) -> Vec<Line> {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let line = |text: &&str| {
        let clean = visible_line(&plain(text).replace('\t', "    "));
        Line::new(LineKind::Context, truncate_width(&clean, columns))
    };
    if lines.len() <= HEAD_LINES + OUTPUT_LINES {
        return lines.iter().map(line).collect();
    }
    let (head, rest) = lines.split_at(HEAD_LINES);
    let more = rest.len() - (OUTPUT_LINES - 1);
    let note = Line::new(LineKind::LeftOut, left_out(more, false, &[]));
    head.iter().map(line).chain([note]).chain(rest[more..].iter().map(line)).collect()
}

/// `… 1990 more lines; the whole is in /x/call_1.stdout`.
fn left_out(more: usize, cut: bool, files: &[&str]) -> String {
    let files: Vec<&str> = files.iter().copied().filter(|file| !file.is_empty()).collect();
    let lines = match (more, cut) {
        (0, _) => "more was printed".to_owned(),
        (_, true) => format!("{} and what was too much to keep", count(more, "more line")),
        (_, false) => count(more, "more line"),
    };
    match files.as_slice() {
        [] => format!("… {lines}"),
        files => format!("… {lines}; the whole is in {}", files.join(" and ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(name: &str, data: Value, diff: Option<&str>) -> Vec<String> {
        let lines = details(name, &json!({}), &ToolOutput::Ok(data), diff, 60);
        lines.into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn of_output_the_end_is_shown_and_how_much_more_there_is() {
        let many: String = (1..=20).map(|n| format!("line {n}\n")).collect();
        let shown = told("bash", json!({"stdout": many, "stderr": "oh\u{1b}[31m no\n"}), None);
        assert_eq!(shown.len(), 10);
        assert_eq!((shown[0].as_str(), shown[9].as_str()), ("… 12 more lines", "oh no"));
        let cut = json!({"stdout": "a\n10 %\r20 %\r\n", "truncated": true, "stdout_file": "/x/c.stdout"});
        assert_eq!(told("bash", cut, None), ["… more was printed; the whole is in /x/c.stdout", "a", "20 %"]);
        assert_eq!(told("bash", json!({"stdout": "", "stderr": ""}), None), Vec::<String>::new());
    }

    #[test]
    fn a_typed_command_is_told_by_its_head_and_its_end() {
        let many: String = (1..=20).map(|n| format!("line {n}\n")).collect();
        let told = |text: &str| typed_command(text, 60).into_iter().map(|line| line.text).collect::<Vec<_>>();
        let shown = told(&format!("$ seq\nexit code 0\n{many}"));
        assert_eq!((shown.len(), shown[2].as_str(), shown[11].as_str()), (12, "… 11 more lines", "line 20"));
        assert_eq!(told("$ ls\nexit code 0\na\n"), ["$ ls", "exit code 0", "a"]);
    }

    #[test]
    fn a_change_is_shown_as_its_diff_and_a_list_only_where_it_is_told() {
        let diff = "--- a\n+++ a\n@@ -1 +1 @@\n-old\n+new\n";
        assert_eq!(told("edit", json!({}), Some(diff)), ["@@ -1 +1 @@", "-old", "+new"]);
        assert_eq!(told("todoread", json!({"checklist": "[x] plan"}), None), ["[x] plan"]);
        assert_eq!(told("todowrite", json!({"checklist": "[x] plan"}), None), Vec::<String>::new());
    }
}
