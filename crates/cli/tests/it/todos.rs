//! The list of steps: a draft that zdx makes, the model's own, and what a person sees of either.

use serde_json::{Value, json};
use zdx_testkit::{ModelServer, Reply};

use crate::{results, with_model};

const STEPS: &str = "Please do this:\n1. add a test\n2. fix the bug\n3. update the docs";

fn items(record: &Value) -> Vec<(&str, &str)> {
    let text = |item: &Value, key: &str| item[key].as_str().unwrap_or_default().to_owned().leak() as &str;
    record["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (text(item, "status"), text(item, "content")))
        .collect()
}

#[test]
fn a_draft_is_made_of_the_users_list_and_goes_when_nobody_takes_it_up() {
    let server = ModelServer::start_with([
        Reply::chat().tool_call("c1", "todoread", json!({})).done(),
        Reply::chat().text("ok").done(),
    ]);
    let zdx = with_model(&server);
    let out = zdx.run(["exec", "-p", STEPS]).success();
    let todos = out.records_of("todos");
    let expected =
        [("in_progress", "add a test"), ("pending", "fix the bug"), ("pending", "update the docs")];
    assert_eq!((&todos[0]["draft"], items(todos[0])), (&json!(true), expected.to_vec()));
    assert_eq!((&todos[1]["draft"], &todos[1]["items"], todos.len()), (&Value::Null, &json!([]), 2));
    let read = &results(&server.calls()[1])[0]["data"];
    assert!(read["draft"].as_str().unwrap().contains("todowrite"), "{read}");
    assert_eq!(read["checklist"], "[~] add a test\n[ ] fix the bug\n[ ] update the docs");
    assert!(!out.stderr.contains("[~]"), "{}", out.stderr);
    let reminder = out.records.iter().find(|r| r["hidden"] == true).unwrap();
    assert!(reminder["text"].as_str().unwrap().contains("todowrite"));
    assert!(server.calls()[0].messages()[1].to_string().contains("todowrite"));
    let shown = zdx.run(["sessions", "show", out.records[0]["id"].as_str().unwrap()]).success().stdout;
    // What the model read it is shown to have read; the draft itself is nobody's word.
    assert_eq!(shown.matches("[~]").count(), 1, "{shown}");
    assert!(!shown.contains("Before other tools"), "{shown}");
}

#[test]
fn prose_gives_neutral_steps_and_a_question_or_a_pipe_none() {
    let server = ModelServer::start();
    server.always(|_| Reply::chat().text("ok").done());
    let drafted = |prompt: &str, piped: &str| {
        let zdx = with_model(&server);
        let out = zdx.command().args(["exec", "-p", prompt]).stdin(piped).run().success();
        let reminded = out.records.iter().any(|record| record["hidden"] == true);
        let todos = out.records_of("todos");
        assert_eq!(reminded, !todos.is_empty());
        todos
            .first()
            .map(|record| items(record).iter().map(|(_, text)| (*text).to_owned()).collect::<Vec<_>>())
    };
    let neutral = ["look at what is there", "do what is asked", "check the result"];
    assert_eq!(drafted("Add a flag --all and then document it.", "").unwrap(), neutral);
    assert_eq!(drafted("what does this project do?", ""), None);
    assert_eq!(drafted("why does this fail?", STEPS), None);
}

#[test]
fn a_list_that_the_model_takes_up_stays_and_a_finished_one_is_in_nobodys_way() {
    let write = |status: &str| json!({"items": [{"id": "1", "content": "add a test", "status": status}]});
    let server = ModelServer::start_with([
        Reply::chat().tool_call("c1", "todowrite", write("in_progress")).done(),
        Reply::chat().text("more to do").done(),
        Reply::chat().tool_call("c2", "todowrite", write("completed")).done(),
        Reply::chat().text("done").done(),
        Reply::chat().text("next").done(),
    ]);
    let zdx = with_model(&server);
    let out = zdx.run(["exec", "-p", STEPS]).success();
    let kept = out.records_of("todos");
    assert_eq!((kept.len(), items(kept[1])), (2, vec![("in_progress", "add a test")]));
    assert!(out.stderr.contains("[~] add a test"), "{}", out.stderr);
    // It is open: no draft takes its place.
    let out = zdx.run(["exec", "-c", "-p", STEPS]).success();
    assert_eq!(out.records_of("todos").iter().filter(|record| record["draft"] == true).count(), 1);
    // It is done: the next task gets one.
    let out = zdx.run(["exec", "-c", "-p", STEPS]).success();
    assert_eq!(out.records_of("todos").iter().filter(|record| record["draft"] == true).count(), 2);
    assert_eq!(out.records_of("todos").last().unwrap()["items"], json!([]));
}
