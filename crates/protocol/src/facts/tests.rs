use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::display::labels;

/// Only `todo` is two tools, told apart by what a call brings.
#[test]
fn a_name_means_one_tool() {
    let mut names: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for facts in ALL {
        for name in std::iter::once(&facts.name).chain(facts.aliases).chain(facts.listed_as) {
            names.entry(name).or_default().push(facts.name);
        }
    }
    names.retain(|_, tools| tools.len() > 1);
    assert_eq!(names, BTreeMap::from([("todo", vec!["todowrite", "todoread"])]));
    let meant = |name: &str, input: Value| called(name, input.as_object()).map(|facts| facts.name);
    for (name, input, tool) in [
        ("todo", json!({"todos": [{"content": "x"}]}), Some("todowrite")),
        ("todo", json!({}), Some("todoread")),
        ("Todo", json!({"items": null}), Some("todoread")),
        ("todowrite", json!({}), Some("todowrite")),
        ("todoread", json!({"items": []}), Some("todoread")),
        (" READ_FILE ", json!({}), Some("read")),
        ("github__search", json!({}), None),
    ] {
        assert_eq!(meant(name, input.clone()), tool, "{name} {input}");
    }
}

#[test]
fn an_argument_is_found_however_it_is_spelt() {
    for (input, text) in [
        (json!({"path": "a"}), Some("a")),
        (json!({"file_path": "a"}), Some("a")),
        (json!({"file_path": "b", "path": "a"}), Some("a")),
        (json!({"path": null, "filename": "a"}), Some("a")),
        (json!({"path": ["a"]}), None),
        (json!({}), None),
        (json!("a"), None),
    ] {
        assert_eq!(READ.given(&input).text("path").as_deref(), text, "{input}");
        let mut map = input.as_object().cloned().unwrap_or_default();
        let taken = READ.take(&mut map, "path");
        assert_eq!(taken.as_ref().and_then(Value::as_str), text, "{input}");
    }
    let input = json!({"cmd": ["rm", "a b"], "why": 1});
    assert_eq!(BASH.given(&input).text("command").as_deref(), Some("rm 'a b'"));
    let input = json!({"file": "b", "max_lines": 2, "path": "a", "offset": null, "x": 1});
    let fields: Vec<_> = READ.given(&input).fields().map(|(name, _)| name).collect();
    assert_eq!(fields, ["limit", "path", "x"], "in the order they came, each once");
}

#[test]
fn lines_speak_of_our_names() {
    for (name, input, line) in [
        ("bash", json!({"cmd": "ls"}), r#"bash command="ls""#),
        ("shell", json!({"command": ["ls", "a b"]}), r#"bash command="ls 'a b'""#),
        ("read_file", json!({"filePath": "a", "start_line": 3}), r#"read path="a" offset=3"#),
        ("Write", json!({"file_path": "a", "contents": "xyz"}), r#"write path="a" (3 B)"#),
        ("grep", json!({"query": "x", "include": "*.rs"}), r#"grep pattern="x" glob="*.rs""#),
        ("todo", json!({"todos": []}), "todowrite items=[0 items]"),
        ("read_mail", json!({"query": "x"}), r#"read_mail query="x""#),
    ] {
        assert_eq!(labels::call(name, &input), line);
    }
    let output = crate::ToolOutput::Ok(json!({"content": "a\n"}));
    assert_eq!(labels::outcome("read_file", &output), "read 1 line");
    assert_eq!(labels::outcome_detail("read_file", &output), "1 line");
}

#[test]
fn what_an_agents_file_lists_is_found_in_any_spelling() {
    let found = |name: &str| listed(name).map(|facts| facts.name);
    for (name, tool) in [
        ("Read", "read"),
        ("NotebookRead", "read"),
        ("MultiEdit", "edit"),
        ("list-files", "list"),
        ("TodoWrite", "todowrite"),
        ("Agent", "task"),
        ("LS", "list"),
    ] {
        assert_eq!(found(name), Some(tool), "{name}");
    }
    assert_eq!((found("*"), found("mcp__x")), (None, None));
    assert!(facts("MultiEdit").is_none(), "a call of that name brings other arguments");
}

#[test]
fn each_permission_key_stands_once() {
    let keys: Vec<_> = permission_keys().map(|permission| permission.key).collect();
    assert_eq!(
        keys,
        ["read", "write", "bash", "patch", "list", "glob", "grep", "todo", "skill", "task", "mcp"]
    );
}
