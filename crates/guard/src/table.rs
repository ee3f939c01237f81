//! Case tables: rows of commands and paths with the verdict each needs, judged on a disk made for the row.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use zdx_protocol::facts::{BASH, WRITE};
use zdx_protocol::{Level, Origin, Verdict};

use crate::{FileEntry, MapView, PolicyContext, explain};

/// One line of a table.
#[derive(Clone, Debug, Deserialize)]
struct Row {
    id: String,
    #[serde(default)]
    class: String,
    kind: String,
    input: String,
    expect: String,
    #[serde(default)]
    setup: Option<String>,
}

/// A row that fell short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Miss {
    pub id: String,
    pub input: String,
    pub expect: String,
    pub got: Level,
    pub reason: String,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    pub judged: usize,
    /// Rows about situations, screens or doors that no single decision shows; tests live through those.
    pub skipped: Vec<String>,
    pub missed: Vec<Miss>,
}

#[derive(Debug, thiserror::Error)]
#[error("{line}: {message}")]
pub struct RowError {
    pub line: usize,
    pub message: String,
}

/// Runs the rows of a table. Its class says how `expect` is meant: a benign row must not be stricter, any other not
/// laxer; what is denied for leaving the workspace is denied where nobody can be asked. `call` judges `{"tool":…,"input":…}`, as what a tool makes of its input is not known here; rows for which it
/// has no answer are skipped.
pub fn run_table(
    text: &str,
    cx: &PolicyContext,
    call: impl Fn(&Value, &PolicyContext) -> Option<Verdict>,
) -> Result<Report, RowError> {
    let mut report = Report::default();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let row: Row = serde_json::from_str(line)
            .map_err(|error| RowError { line: index + 1, message: error.to_string() })?;
        judge_row(&row, cx, &call, &mut report);
    }
    Ok(report)
}

fn judge_row(
    row: &Row,
    cx: &PolicyContext,
    call: impl Fn(&Value, &PolicyContext) -> Option<Verdict>,
    report: &mut Report,
) {
    let mut cx = cx.clone();
    cx.person &= !LEAVES_WORKSPACE.contains(&row.class.as_str());
    cx.files = Arc::new(disk_for(row, &mut cx));
    let judged = level(&row.expect).and_then(|expect| Some((expect, verdict_for(row, &cx, call)?)));
    let Some((expect, verdict)) = judged else {
        report.skipped.push(row.id.clone());
        return;
    };
    report.judged += 1;
    let got = verdict.level();
    let right = if row.class == "benign" { got <= expect } else { got >= expect };
    if !right {
        let reason = verdict.reason().map(|reason| reason.message.clone()).unwrap_or_default();
        report.missed.push(Miss {
            id: row.id.clone(),
            input: row.input.clone(),
            expect: row.expect.clone(),
            got,
            reason,
        });
    }
}

/// Classes of rows about paths outside, with which a person would be asked.
const LEAVES_WORKSPACE: [&str; 3] = ["external-directory", "external-write", "path-jail"];

fn level(text: &str) -> Option<Level> {
    serde_json::from_value(Value::String(text.to_owned())).ok()
}

/// What is said about the action that a row stands for, with the surroundings its text names.
fn verdict_for(
    row: &Row,
    cx: &PolicyContext,
    call: impl Fn(&Value, &PolicyContext) -> Option<Verdict>,
) -> Option<Verdict> {
    let input = row.input.as_str();
    match row.kind.as_str() {
        "shell" => Some(explain(input, Origin::Model, cx).verdict),
        "write" => call(&json!({"tool": WRITE.name, "input": {"path": input, "content": ""}}), cx),
        "entry" => {
            if let Some(typed) = input.strip_prefix("@!").or_else(|| input.strip_prefix('!')) {
                return Some(explain(typed.trim(), Origin::User, cx).verdict);
            }
            let asked: Value = serde_json::from_str(input).ok()?;
            call(&json!({"tool": BASH.name, "input": asked.get("payload")?}), cx)
        }
        _ => None,
    }
}

/// A small machine: the usual folders, a workspace, and what the row's setup says.
fn disk_for(row: &Row, cx: &mut PolicyContext) -> MapView {
    let setup = row.setup.as_deref().unwrap_or("");
    if let Some(cwd) = setup.strip_prefix("cwd=") {
        cx.root = PathBuf::from(cwd.trim());
    }
    let mut disk = MapView::default();
    for folder in
        ["/etc", "/home/user", "/tmp", "/usr/bin", "/bin", "/var", "/proc", "/dev", "/root", "/opt", "/srv"]
    {
        disk.insert(folder, FileEntry::Dir);
    }
    disk.insert(cx.root.clone(), FileEntry::Dir);
    for folder in ["docs", "src", "sub", "build"] {
        disk.insert(cx.root.join(folder), FileEntry::Dir);
    }
    set_up(setup, row, &cx.root, &mut disk);
    disk
}

/// Reads statements like `a exists`, `a, b exist`, `d is a folder`, `l -> target`; what is absent needs none.
fn set_up(setup: &str, row: &Row, root: &Path, disk: &mut MapView) {
    let mut names: Vec<&str> = Vec::new();
    for statement in setup.split([',', ';']).flat_map(|text| text.split(" and ")).map(str::trim) {
        let statement = ["symlink ", "link ", "file ", "a file "]
            .iter()
            .find_map(|kind| statement.strip_prefix(kind))
            .unwrap_or(statement);
        if let Some((name, target)) =
            statement.split_once("->").or_else(|| statement.split_once(" links to "))
        {
            let (name, target) = (name.trim(), target.trim());
            if !target.contains("..") && !target.starts_with('/') {
                disk.insert(root.join(target), FileEntry::File);
            }
            let named = |word: &&str| Path::new(word).file_name().is_some_and(|last| last == name);
            let place = row.input.split_whitespace().find(named).unwrap_or(name);
            disk.insert(root.join(place), FileEntry::Link(PathBuf::from(target)));
            continue;
        }
        let verbs = [
            " is a directory",
            " is a folder",
            " is a dir",
            " exists",
            " exist",
            " is a file",
            " is present",
        ];
        match verbs.iter().find_map(|verb| statement.strip_suffix(verb).map(|name| (*verb, name))) {
            Some((_, name)) if name.ends_with(" not") || name.ends_with(" do") || name.ends_with(" does") => {
                names.clear()
            }
            Some((verb, name)) => {
                let entry = if verb.contains(" dir") || verb.contains("folder") {
                    FileEntry::Dir
                } else {
                    FileEntry::File
                };
                for name in names.drain(..).chain([name]).filter(|name| !name.is_empty()) {
                    disk.insert(root.join(name), entry.clone());
                }
            }
            None if statement.contains(' ') => names.clear(),
            None => names.push(statement),
        }
    }
}
