//! Single rows that must say what one wants to know.

use super::*;

#[test]
fn what_can_be_done_after_a_failure_depends_on_what_was_done() {
    let said = |before: Vec<Event>| {
        let message = "the server answered 500".to_owned();
        let kind = zdx_protocol::ErrorKind::Provider;
        let mut shown = Shown::new(120);
        shown.tell([prompt("go")]);
        shown.tell(before);
        shown.tell([Event::Error { command: None, kind, message, details: None }, over(Outcome::Error)]);
        shown.settled.last().cloned().unwrap_or_default()
    };
    let changed = Event::FileChanged {
        id: "1".into(),
        change: zdx_protocol::FileChange { path: "/w/a".into(), before: None, after: None, folders: 0 },
    };
    assert!(said(Vec::new()).ends_with("/retry asks again") && !said(Vec::new()).contains("go on"));
    assert!(said(ran("1", "ls", "", 0)).ends_with("/retry takes this turn back and asks again"));
    let with_files = said(ran("1", "ls", "", 0).into_iter().chain([changed]).collect());
    assert!(with_files.ends_with("/retry takes this turn back, files too, and asks again"), "{with_files}");
}

#[test]
fn a_call_whose_arguments_cannot_be_read_is_named() {
    let mut shown = Shown::new(80);
    let wrong = ToolOutput::error(ToolCode::InvalidInput, "the arguments are no JSON");
    shown.tell([prompt("go"), requested("1", "bash", Value::Null), finished("1", "bash", wrong, None)]);
    shown.tell([over(Outcome::Completed)]);
    assert_eq!(shown.settled[2..4], ["✗ Run bash · 2.1 s · failed", "  the arguments are no JSON"]);
}

#[test]
fn a_long_refusal_stands_below_what_was_refused() {
    let word = "do not delete the build folder, it takes an hour to make it again; use make clean";
    let mut shown = Shown::new(60);
    let decision = Decision::Deny { word: Some(word.into()) };
    let answer =
        Event::ApprovalResolved { request: RequestId(1), id: "1".into(), decision, grant: None, by: None };
    let rejected = ToolOutput::error(ToolCode::Rejected, "the user said no");
    shown.tell([prompt("go"), requested("1", "bash", json!({"command": "rm -rf build dist"})), answer]);
    shown.tell([finished("1", "bash", rejected, None), over(Outcome::Completed)]);
    assert_eq!(
        shown.settled[2..5],
        [
            "✗ Run rm -rf build dist · denied",
            "  do not delete the build folder, it takes an hour to make",
            "  it again; use make clean"
        ]
    );
}

#[test]
fn the_folder_that_is_worked_in_is_named() {
    let mut shown = Shown::new(80);
    shown.tell([prompt("go")]);
    shown.tell(call("1", "list", json!({"path": "."}), json!({"entries": "a\n"})));
    shown.tell(read("2", "lib/parse.js"));
    shown.tell([over(Outcome::Completed)]);
    let row = shown.settled.iter().find(|row| row.contains("lib/parse.js")).cloned().unwrap_or_default();
    assert!(row.contains("· the project folder, lib/parse.js"), "{:?}", shown.settled);
}

#[test]
fn a_list_stands_in_the_transcript_where_it_was_first_written() {
    let item = |content: &str, status| Todo { id: content.into(), content: content.into(), status };
    let told = |items: Vec<Todo>| Event::TodosChanged { items, draft: false };
    let mut shown = Shown::new(80);
    let (open, done) = (TodoStatus::Pending, TodoStatus::Completed);
    shown.tell([prompt("go"), told(vec![item("one", open), item("two", open)])]);
    shown.tell([told(vec![item("one", done), item("two", open)]), said("on"), over(Outcome::Completed)]);
    let rows = shown.settled.iter().filter(|row| row.contains("Todo ·")).collect::<Vec<_>>();
    assert_eq!(rows, ["• Todo · 0 of 2 done"], "{:?}", shown.settled);
}
