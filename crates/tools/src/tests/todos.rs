use zdx_protocol::{Todo, ToolCode};

use super::*;

fn written(input: Value) -> Result<Vec<(String, String, String)>, String> {
    let desk = Desk::new();
    match desk.call("todowrite", input) {
        ToolOutput::Ok(_) => {
            let status = |todo: &Todo| json!(todo.status).as_str().unwrap().to_owned();
            let items = desk.cx.todos.items();
            Ok(items.iter().map(|todo| (todo.id.clone(), todo.content.clone(), status(todo))).collect())
        }
        ToolOutput::Err(error) => {
            assert_eq!(error.code, ToolCode::InvalidInput);
            assert!(desk.cx.todos.items().is_empty(), "changed despite {error}");
            Err(error.message)
        }
    }
}

#[test]
fn a_list_is_written_read_and_told_once() {
    let desk = Desk::new();
    assert_eq!(desk.ok("todoread", json!({})), json!({"items": [], "checklist": ""}));
    let items = json!([
        {"id": "a", "content": "plan", "status": "completed"},
        {"id": "b", "content": "build\nit", "status": "in_progress"},
        {"id": "c", "content": "ship", "status": "pending"},
    ]);
    let checklist = "[x] plan\n[~] build it\n[ ] ship";
    assert_eq!(desk.ok("todowrite", json!({"items": items})), json!({"checklist": checklist}));
    assert_eq!(desk.ok("todoread", json!({})), json!({"items": items, "checklist": checklist}));
    assert_eq!(desk.cx.todos.take_change().map(|items| items.len()), Some(3));
    assert_eq!(desk.cx.todos.take_change(), None);
    desk.ok("todowrite", json!({"items": items}));
    assert_eq!(desk.cx.todos.take_change(), None, "nothing changed");
    desk.ok("todowrite", json!({"items": []}));
    assert_eq!(desk.cx.todos.take_change(), Some(Vec::new()));
}

#[test]
fn preparing_changes_nothing() {
    let desk = Desk::new();
    let prepared = desk.prepare("todowrite", json!({"items": ["a"]})).unwrap();
    assert_eq!(prepared.action, Action::Todo);
    assert!(desk.cx.todos.items().is_empty());
}

#[test]
fn other_spellings_are_understood() {
    let row = |id: &str, content: &str, status: &str| (id.to_owned(), content.to_owned(), status.to_owned());
    for (input, rows) in [
        (json!({"todos": ["a", "b"]}), vec![row("1", "a", "pending"), row("2", "b", "pending")]),
        (
            json!({"plan": [{"step": "a", "status": "done"}, {"step": "b", "status": "In Progress"}]}),
            vec![row("1", "a", "completed"), row("2", "b", "in_progress")],
        ),
        (
            json!({"items": [{"content": "a"}, {"id": 1, "content": "b"}, {"content": "c"}]}),
            vec![row("2", "a", "pending"), row("1", "b", "pending"), row("3", "c", "pending")],
        ),
        (
            json!({"items": "[{\"id\":\"x\",\"content\":\"a\",\"status\":\"todo\"}]"}),
            vec![row("x", "a", "pending")],
        ),
    ] {
        assert_eq!(written(input.clone()), Ok(rows), "{input}");
    }
}

#[test]
fn a_list_that_is_none_is_refused_whole() {
    let long = "x".repeat(3000);
    for (input, part) in [
        (json!({}), "`items` is missing"),
        (json!({"items": "not a list"}), "must be a list"),
        (json!({"items": [{"id": "a", "content": "x"}, {"id": "a", "content": "y"}]}), "\"a\" stands twice"),
        (json!({"items": [{"content": "x", "status": "cancelled"}]}), "pending, in_progress or completed"),
        (
            json!({"items": [{"content": "x", "status": "doing"}, {"content": "y", "status": "in_progress"}]}),
            "2 items are in_progress",
        ),
        (json!({"items": [{"content": " "}]}), "item 1 has no `content`"),
        (json!({"items": [{"content": "x"}, 3]}), "item 2 must be an object"),
        (json!({"items": [{"content": long}]}), "too long"),
        (json!({"items": vec!["x"; 201]}), "too many"),
        (json!({"items": [{"id": {}, "content": "x"}]}), "id of item 1 must be text"),
    ] {
        let message = written(input.clone()).unwrap_err();
        assert!(message.contains(part), "{input}: {message}");
    }
}
