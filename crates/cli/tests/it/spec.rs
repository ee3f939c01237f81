//! `docs/SPEC.md` names every word that a script may meet: codes, what results hold, keys of rules.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use zdx_protocol::{ReasonCode, ToolCode};
use zdx_testkit::ModelServer;

use crate::guard::{code, told};
use crate::with_model;

const SPEC: &str = include_str!("../../../../docs/SPEC.md");

fn section(number: u32) -> &'static str {
    let from = SPEC.find(&format!("\n## {number}. ")).expect("the section");
    let rest = &SPEC[from + 1..];
    rest.find("\n## ").map_or(rest, |end| &rest[..end])
}

#[test]
fn every_code_is_listed() {
    let tools = format!("{}{}", section(7), section(15));
    for code in ToolCode::ALL {
        assert!(tools.contains(&format!("`{code}`")), "{code}");
    }
    for code in ReasonCode::ALL {
        assert!(section(11).contains(&format!("`{code}`")), "{code}");
    }
}

#[test]
fn every_key_of_rules_is_listed_with_what_holds_unwritten() {
    for permission in zdx_protocol::facts::permission_keys() {
        let name = format!("`{}`", permission.key);
        let row = section(11)
            .lines()
            .find(|line| line.split(" | ").next().is_some_and(|cell| cell.contains(&name)));
        let row = row.unwrap_or_else(|| panic!("no row for {name}"));
        let built_in = row.split(" | ").nth(2).unwrap_or_default();
        assert!(built_in.starts_with(&format!("`{}`", permission.level)), "{name}: {built_in}");
        for other in permission.others {
            assert!(section(11).contains(&format!("`{other}`")), "{other}");
        }
    }
}

/// What stands in a tool's row.
fn row(tool: &str) -> &'static str {
    let begin = format!("| `{tool}` |");
    SPEC.lines().find(|line| line.starts_with(&begin)).unwrap_or_else(|| panic!("no row for {tool}"))
}

#[test]
fn every_field_of_a_result_is_listed_with_its_tool() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write("long", "x".repeat(60_000));
    zdx.write("lines", "line\n".repeat(20_000));
    zdx.write("crlf", "a\r\nb\r\n");
    zdx.write("bytes", "a\0b");
    zdx.write("src/a.rs", "fn a() {}\n");
    let patch = "*** Begin Patch\n*** Update File: src/a.rs\n*** Move to: src/b.rs\n@@\n-fn a() {}\n+fn b() {}\n*** End Patch";
    let calls = [
        ("read", json!({"path": "long"})),
        ("read", json!({"path": "lines", "limit": 2})),
        ("read", json!({"path": "bytes"})),
        ("write", json!({"path": "new", "content": "x"})),
        ("edit", json!({"path": "crlf", "old": "a\nb\n", "new": "c\n"})),
        ("bash", json!({"command": "seq 1 60000; sleep 30 &"})),
        ("bash", json!({"command": "printf 'a\\0b'; seq 1 60000 >&2"})),
        ("patch", json!({ "patch": patch })),
        ("list", json!({})),
        ("glob", json!({"pattern": "*"})),
        ("grep", json!({"pattern": "nowhere"})),
        ("todoread", json!({})),
        ("todowrite", json!({"items": ["a"]})),
    ];
    let (_, results) = told(&zdx, &server, &calls, &[]);
    let mut seen: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for ((tool, _), result) in calls.iter().zip(&results) {
        assert_eq!(result["ok"], true, "{tool}: {result}");
        let data = result["data"].as_object().unwrap();
        let inner = data.get("files").and_then(Value::as_array).and_then(|files| files[0].as_object());
        seen.entry(tool)
            .or_default()
            .extend(data.keys().chain(inner.into_iter().flat_map(|file| file.keys())).cloned());
    }
    for (tool, fields) in &seen {
        for field in fields {
            let named = [format!("`{field}`"), format!("`{field}?`")];
            assert!(named.iter().any(|name| row(tool).contains(name.as_str())), "{field} of {tool}");
        }
    }
    let has = |tool: &str, fields: &[&str]| fields.iter().all(|field| seen[tool].contains(*field));
    assert!(has("read", &["next_offset", "long_line", "binary", "total_lines"]), "{seen:?}");
    assert!(has("bash", &["truncated", "binary", "background", "stdout_file", "stderr_file"]), "{seen:?}");
    assert!(has("edit", &["note"]) && has("patch", &["from"]) && has("grep", &["searched"]), "{seen:?}");
}

#[test]
fn a_link_that_leads_out_is_called_one() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let outside = zdx.home().join("private.txt");
    std::fs::write(&outside, "private\n").unwrap();
    symlink(&outside, zdx.root().join("link")).unwrap();
    symlink("loop", zdx.root().join("loop")).unwrap();
    let read = |path: &str| ("read", json!({ "path": path }));
    let name = "n".repeat(300);
    let paths = ["link", outside.to_str().unwrap(), "../home/private.txt", "loop", name.as_str()];
    let (_, results) = told(&zdx, &server, &paths.map(read), &["--approval", "balanced"]);
    let codes: Vec<&str> = results.iter().map(code).collect();
    let unasked = "approval_required";
    assert_eq!(codes, [unasked, unasked, unasked, "ELOOP", "ENAMETOOLONG"]);
    let zdx = zdx.config_more("[permission]\nexternal_directory = \"deny\"\n");
    let (_, results) = told(&zdx, &server, &paths.map(read), &["--yolo"]);
    let codes: Vec<&str> = results.iter().map(code).collect();
    assert_eq!(codes, ["symlink_escape", "path_escape", "path_escape", "ELOOP", "ENAMETOOLONG"]);
}
