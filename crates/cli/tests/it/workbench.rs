//! Searching, patching and the todo list, as a model's server and a session file see them.

use serde_json::{Value, json};
use zdx_testkit::{ModelServer, Reply};

use crate::{place, results};

#[test]
fn a_model_finds_and_patches_under_the_names_it_knows() {
    let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-fn old() {}\n+fn new() {}\n*** Add File: b.txt\n+b\n*** End Patch";
    let server = ModelServer::start_with([
        Reply::chat()
            .tool_call("c1", "search_text", json!({"query": "fn o"}))
            .tool_call("c2", "list_files", json!({}))
            .tool_call("c3", "glob", json!({"pattern": "*.rs"}))
            .done(),
        Reply::chat().tool_call("c4", "apply_patch", json!({"input": patch})).done(),
        Reply::chat().text("done").done(),
    ]);
    let zdx = place().chat(&server);
    zdx.write("src/a.rs", "fn old() {}\n");
    let out = zdx.run(["exec", "-p", "go"]).success();
    let seen = results(&server.calls()[2]);
    assert_eq!(seen[0]["data"]["text"], "src/a.rs\n1:fn old() {}\n");
    assert_eq!(seen[1]["data"]["entries"], "src/\n  a.rs\n");
    assert_eq!(seen[2]["data"]["paths"], json!(["src/a.rs"]));
    assert_eq!(seen[3]["data"]["files"][1]["operation"], "created");
    assert_eq!((zdx.read("src/a.rs"), zdx.read("b.txt")), ("fn new() {}\n".to_owned(), "b\n".to_owned()));
    assert!(out.stderr.contains("Tool finished: glob pattern=\"*.rs\" 1 path\n"), "{}", out.stderr);
}

#[test]
fn a_todo_list_is_an_event_and_a_record_and_comes_back() {
    let items = json!([
        {"id": "1", "content": "plan", "status": "completed"},
        {"id": "2", "content": "build", "status": "in_progress"},
    ]);
    let server = ModelServer::start_with([
        Reply::chat().tool_call("c1", "todo_write", json!({"todos": items})).done(),
        Reply::chat().text("planned").done(),
        Reply::chat().tool_call("c2", "todoread", json!({})).done(),
        Reply::chat().text("read").done(),
    ]);
    let zdx = place().chat(&server);
    let out = zdx.run(["exec", "--format", "json", "-p", "go"]).success();
    let events = out.json_lines();
    let told: Vec<&Value> = events.iter().filter(|event| event["type"] == "todos_changed").collect();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["items"], items);
    let saved = out.records_of("todos");
    assert_eq!(saved.len(), 1);
    assert_eq!(saved[0]["items"], items);

    zdx.run(["exec", "-c", "-p", "go on"]).success();
    let requests = server.calls();
    let read = results(requests.last().unwrap()).pop().unwrap();
    assert_eq!(read["data"], json!({"items": items, "checklist": "[x] plan\n[~] build"}));
}
