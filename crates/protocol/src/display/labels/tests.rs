use serde_json::json;

use super::*;
use crate::code::ToolCode;

const BOUNDS: Bounds = Bounds { columns: 40, lines: 6 };

#[test]
fn requests_read_as_promised() {
    let table = [
        ("bash", json!({"command": "ls -l"}), r#"bash command="ls -l""#),
        ("bash", json!({"command": "echo \"a\"\n\x1b[2Jrm"}), r#"bash command="echo "a"\n\x1b[2Jrm""#),
        ("bash", json!({}), "bash"),
        ("read", json!({"path": "src/main.rs"}), r#"read path="src/main.rs""#),
        ("read", json!({"path": "a", "offset": 10, "limit": 5}), r#"read path="a" offset=10 limit=5"#),
        ("write", json!({"path": "a.txt", "content": "x".repeat(1_234)}), r#"write path="a.txt" (1.2 kB)"#),
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
        ("glob", json!({"paths": ["a"], "total": 1, "truncated": false}), "glob 1 path"),
        ("list", json!({"entries": "…", "total": 9, "truncated": true}), "list 9 entries, not all shown"),
        ("grep", json!({"matches": 2, "files": 1, "truncated": false}), "grep 2 matches in 1 file"),
        (
            "patch",
            json!({"files": [{"additions": 2, "deletions": 1}, {"additions": 1, "deletions": 0}]}),
            "patch 2 files +3 -1",
        ),
        ("todowrite", json!({"checklist": "[x] a\n[ ] b"}), "todowrite 1 of 2 done"),
        ("other", json!({"files": ["a"], "truncated": false}), "other files=[1 item] truncated=false"),
    ];
    for (name, data, text) in table {
        assert_eq!(tool_finished(name, &ToolOutput::Ok(data)), format!("Tool finished: {text}"));
    }
    let error = ToolOutput::error(ToolCode::Enoent, "File not found\nreally\x07");
    assert_eq!(tool_finished("read", &error), "Tool finished: read error=ENOENT File not found really");
    assert_eq!(done(&error, 20), "Failed. (0.02s)");
    assert_eq!(done(&ToolOutput::Ok(json!({"exit_code": 1, "timed_out": false})), 20), "Done. (0.02s)");
    assert_eq!(done(&ToolOutput::Ok(json!({"timed_out": true})), 1_500), "Failed. (1.50s)");
}

#[test]
fn why_a_call_failed_is_whole_and_a_success_is_short() {
    let why = format!("{}; run interactively", "cause ".repeat(100).trim_end());
    let error = ToolOutput::error(ToolCode::ApprovalRequired, &why);
    assert_eq!(tool_finished("bash", &error), format!("Tool finished: bash error=approval_required {why}"));
    let line =
        tool_finished("bash", &ToolOutput::error(ToolCode::Denied, format!("{} the way out", why.repeat(9))));
    assert!(line.chars().count() < 2_100 && line.contains('…') && line.ends_with(" the way out"), "{line}");
    let report = ToolOutput::Ok(json!({"agent": "explore", "report": why}));
    assert!(tool_finished("task", &report).chars().count() < 200);
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
    assert!(summary("edit", &edit, &ToolOutput::error("x".into(), "y"), BOUNDS).is_empty());
    let todos = ok(json!({"checklist": "[x] plan\n[~] build\x1b[2J\n[ ] ship"}));
    let lines = summary("todowrite", &json!({}), &todos, BOUNDS);
    assert_eq!(texts(lines), ["[x] plan", "[~] build", "[ ] ship"]);
    let envelope = "*** Begin Patch\n*** Update File: a\n@@ fn x\n-one\n+two\n*** End Patch\n";
    let unified = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+two\n";
    for (patch, seen) in [
        (envelope, vec!["*** Update File: a", "@@ fn x", "-one", "+two"]),
        (unified, vec!["@@ -1 +1 @@", "-one", "+two"]),
    ] {
        let lines = summary("patch", &json!({"patch": patch}), &ok(json!({"files": []})), BOUNDS);
        assert_eq!(texts(lines), seen);
    }
}
