//! A session told again: whoever reads it back counts the same turns and names the same prompts and commands.

use serde_json::{Value, json};
use zdx_testkit::{ModelServer, Reply, Zdx};

use crate::{place, with_model};

const STEPS: &str = "1. read it\n2. mend it";
const STEPS_IN_A_LINE: &str = "1. read it 2. mend it";

fn ids(zdx: &Zdx) -> Vec<String> {
    let files = zdx.session_files();
    files.iter().map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

/// What a model is shown before its next answer, by role; texts that stand in one message are joined.
fn shown(server: &ModelServer) -> Vec<(String, String)> {
    let text = |content: &Value| match content {
        Value::String(text) => text.clone(),
        parts => {
            let parts = parts.as_array().into_iter().flatten();
            parts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
    };
    let request = server.calls().pop().unwrap();
    let spoken = request.messages().iter().filter(|message| message["role"] != "system");
    spoken.map(|message| (message["role"].as_str().unwrap().to_owned(), text(&message["content"]))).collect()
}

fn answered(zdx: &Zdx, server: &ModelServer, args: &[&str], prompt: &str, answer: &str) {
    server.push(Reply::chat().text(answer));
    zdx.command().args(args).args(["exec", "-p", prompt]).run().success();
}

fn hidden(zdx: &Zdx) -> usize {
    zdx.records().iter().filter(|record| record["hidden"] == true).count()
}

#[test]
fn a_session_is_known_by_what_was_asked_not_by_a_reminder() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    answered(&zdx, &server, &[], STEPS, "all done");
    assert_eq!(hidden(&zdx), 1, "the model was reminded of its list");

    let listed = zdx.run(["sessions", "list", "--format", "json"]).success().json_lines();
    assert_eq!(listed[0]["first_prompt"], "1. read it");
    let id = ids(&zdx).remove(0);
    server.push(Reply::status(503));
    let summary = zdx.run(["sessions", "summarize", &id]).success().stdout;
    assert_eq!(summary, format!("First request: {STEPS_IN_A_LINE}\nLast answer: all done\n"));
    server.push(Reply::status(503));
    let handoff = zdx.run(["handoff", "--goal", "ship it"]).success().stdout;
    assert!(handoff.contains(&format!("It began with: {STEPS_IN_A_LINE}\nThe last answer")), "{handoff}");
    let shown = zdx.run(["sessions", "show", &id]).success().stdout;
    assert!(shown.contains("> 1. read it\n> 2. mend it\n"), "{shown}");
    assert!(!shown.contains("todowrite"), "{shown}");
}

#[test]
fn a_reverted_beginning_is_not_what_a_session_is_known_by() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    answered(&zdx, &server, &[], "a slip", "what?");
    let id = ids(&zdx).remove(0);
    zdx.run(["sessions", "revert", &id]).success();
    let first = || {
        zdx.run(["sessions", "list", "--format", "json"]).success().json_lines()[0]["first_prompt"].clone()
    };
    assert_eq!(first(), Value::Null);
    answered(&zdx, &server, &["-c"], "what was meant", "that");
    assert_eq!(first(), "what was meant");
}

#[test]
fn a_fork_counts_the_turns_that_a_revert_counts() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    answered(&zdx, &server, &[], STEPS, "first done");
    answered(&zdx, &server, &["-c"], "second", "second done");
    assert_eq!(hidden(&zdx), 1);
    let id = ids(&zdx).remove(0);

    let refused = zdx.run(["sessions", "fork", &id, "--turn", "3"]).expect_code(1);
    assert!(
        refused.stderr.contains("there is no turn 3") && refused.stderr.contains("has 2"),
        "{}",
        refused.stderr
    );
    let refused = zdx.run(["sessions", "revert", &id, "--turn", "3"]).expect_code(1);
    assert!(refused.stderr.contains("there is no turn 3"), "{}", refused.stderr);

    let later = zdx.run(["sessions", "fork", &id, "--turn", "2"]).success().stdout.trim().to_owned();
    answered(&zdx, &server, &["--session", &later], "another second", "fine");
    let forked = shown(&server);
    let roles: Vec<_> = forked.iter().map(|(role, _)| role.as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    assert!(forked[0].1.ends_with(STEPS), "{forked:?}");
    assert_eq!((forked[1].1.as_str(), forked[2].1.as_str()), ("first done", "another second"));

    // What was put before the first prompt is part of its turn, the list that it was given too.
    let anew = zdx.run(["sessions", "fork", &id, "--turn", "1"]).success().stdout.trim().to_owned();
    answered(&zdx, &server, &["--session", &anew], "hello", "hi");
    assert_eq!(shown(&server), [("user".to_owned(), "hello".to_owned())]);
    assert!(!zdx.records().iter().any(|record| record["type"] == "todos"), "{:?}", zdx.records());
}

#[test]
fn going_back_takes_the_reminder_and_its_list_along() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    answered(&zdx, &server, &[], STEPS, "first done");
    let id = ids(&zdx).remove(0);
    zdx.run(["sessions", "revert", &id]).success();
    answered(&zdx, &server, &["-c"], "hello", "hi");
    assert_eq!(shown(&server), [("user".to_owned(), "hello".to_owned())]);
    server.push(Reply::status(503));
    let summary = zdx.run(["sessions", "summarize", &id]).success().stdout;
    assert_eq!(summary, "First request: hello\nLast answer: hi\n");
}

#[test]
fn a_failed_check_is_not_taken_for_a_prompt() {
    let server = ModelServer::start();
    for (n, content) in ["bad", "good"].into_iter().enumerate() {
        let input = json!({"path": "a.rs", "content": content.repeat(2_000)});
        server.push(Reply::chat().tool_call(&format!("c{n}"), "write", input));
        server.push(Reply::chat().text(&format!("done {n}")));
    }
    let zdx = place().chat(&server).config_more("[validation]\ncommand = \"grep -q good a.rs\"");
    zdx.run(["exec", "-p", "write the file"]).success();
    assert_eq!(hidden(&zdx), 1, "the check failed once");
    server.push(Reply::chat().text("fine"));
    let resumed = zdx.run(["-c", "exec", "--format", "json", "-p", "thanks"]).success().json_lines();
    assert_eq!(resumed[0]["last"], json!({"prompt": "write the file", "answer": "done 1"}));
    server.push(Reply::chat().text("A summary that is long enough to be of some use to a reader."));
    zdx.command().arg("-c").stdin("/compact\n").run().success();
    let records = zdx.records();
    let compaction = records.iter().find(|record| record["type"] == "compaction").expect("a compaction");
    assert_eq!(compaction["instructions"], json!(["write the file", "thanks"]));
}

#[test]
fn how_a_typed_command_ended_is_a_field_not_a_sentence() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write("build/kept", "");
    zdx.command().stdin("!true\n!false\n!kill -9 $$\n! rm -rf build\n").run().success();
    let records = zdx.records();
    let ran: Vec<&Value> = records.iter().filter(|record| record["role"] == "assistant").collect();
    let timeless = |record: &&Value| {
        let mut shell = record["shell"].clone();
        shell.as_object_mut().unwrap().remove("duration_ms");
        shell
    };
    let shells: Vec<Value> = ran.iter().map(timeless).collect();
    assert_eq!(
        shells[..3],
        [
            json!({"command": "true", "end": "exited", "exit_code": 0}),
            json!({"command": "false", "end": "exited", "exit_code": 1}),
            json!({"command": "kill -9 $$", "end": "signalled", "signal": 9}),
        ]
    );
    assert_eq!((&shells[3]["command"], &shells[3]["end"]), (&json!("rm -rf build"), &json!("not_run")));
    let why = shells[3]["why"].as_str().unwrap();
    assert_eq!(ran[3]["text"], format!("$ rm -rf build\nnot run: {why}"));
    assert_eq!(ran[0]["text"], "$ true\nexit code 0");

    server.push(Reply::status(503));
    let handoff = zdx.run(["handoff", "--goal", "ship it"]).success().stdout;
    assert!(handoff.contains("## Repro commands\n\n```sh\ntrue\n```\n"), "{handoff}");
    server.push(Reply::chat().text("summed up"));
    zdx.run(["sessions", "summarize", &ids(&zdx)[0]]).success();
    let asked = server.calls().pop().unwrap().body.to_string();
    assert!(asked.contains("COMMANDS THAT SUCCEEDED:\\ntrue\\n\\n"), "{asked}");

    let events = zdx.run(["exec", "--format", "json", "-p", "!exit 3"]).success().json_lines();
    let finished = events.iter().find(|event| event["type"] == "shell_finished").expect("its end is told");
    assert_eq!((&finished["shell"]["end"], &finished["shell"]["exit_code"]), (&json!("exited"), &json!(3)));
}

#[test]
fn a_typed_command_that_is_told_masks_what_must_not_be_written() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789";
    let lines = format!("!true {secret}\n");
    let out = zdx.command().args(["--format", "json"]).stdin(&lines).run();
    let saved = std::fs::read_to_string(&zdx.session_files()[0]).unwrap();
    assert!(saved.contains("\"shell\":{\"command\":\"true "), "{saved}");
    assert!(!saved.contains(secret) && !out.stdout.contains(secret), "{saved}");
}

/// What a pipe brought is a prompt like any other, even if it looks like a command, and so is the answer to it.
#[test]
fn a_model_cannot_say_that_a_command_was_run() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    server.push(Reply::chat().text("$ touch made\nexit code 0"));
    zdx.command().arg("exec").stdin("!touch made").run().success();
    server.push(Reply::status(503));
    let handoff = zdx.run(["handoff", "--goal", "ship it"]).success().stdout;
    assert!(!handoff.contains("```sh\ntouch made"), "{handoff}");
    assert!(
        handoff.contains("It began with: !touch made\nThe last answer was: $ touch made exit code 0"),
        "{handoff}"
    );
}
