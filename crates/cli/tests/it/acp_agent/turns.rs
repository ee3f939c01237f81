//! A turn as a client sees it: what is said, done and planned, and every way it can end.

use serde_json::{Value, json};
use zdx_testkit::{Gate, ModelServer, Reply, Step};

use super::Client;
use crate::{hold_before, prompt_of, with_model};

fn call_of(client: &Client, session: &str, id: &str) -> (Value, Vec<Value>) {
    let of = |kind: &str| {
        let all = client.updates_of(session, kind).into_iter();
        all.filter(|update| update["toolCallId"] == id).collect::<Vec<_>>()
    };
    (of("tool_call")[0].clone(), of("tool_call_update"))
}

#[test]
fn words_thoughts_calls_and_usage_are_told_as_they_come() {
    let server = ModelServer::start();
    server.push(Reply::chat().reasoning("let me look").text("I read it. ").tool_call(
        "c1",
        "read",
        json!({"path": "a.txt"}),
    ));
    server.push(Reply::chat().text("It says hello."));
    let zdx = with_model(&server);
    zdx.write("a.txt", "hello\n");
    let mut client = Client::start(&zdx, &[]);
    let session = client.open(&zdx);
    assert_eq!(client.prompt(&session, "what does a.txt say?").unwrap(), "end_turn");
    assert_eq!(client.said(&session), "I read it. It says hello.");
    let thoughts = client.updates_of(&session, "agent_thought_chunk");
    assert_eq!(thoughts[0]["content"], json!({"type": "text", "text": "let me look"}));
    let (call, updates) = call_of(&client, &session, "c1");
    let path = zdx.root().join("a.txt");
    assert_eq!(
        (&call["title"], &call["kind"], &call["status"]),
        (&json!("Read a.txt"), &json!("read"), &json!("pending"))
    );
    assert_eq!(call["rawInput"], json!({"path": "a.txt"}));
    assert_eq!(call["locations"], json!([{"path": path}]));
    let statuses: Vec<&Value> = updates.iter().map(|update| &update["status"]).collect();
    assert_eq!(statuses, ["in_progress", "completed"]);
    assert_eq!(updates[1]["rawOutput"]["ok"], true);
    assert!(client.updates_of(&session, "usage_update").iter().all(|usage| usage["used"].is_u64()));
    assert_eq!(client.updates_of(&session, "usage_update").len(), 1);
    assert_eq!(client.updates_of(&session, "session_info_update")[0]["title"], "what does a.txt say?");
    client.hang_up();
}

#[test]
fn a_change_is_told_as_a_diff_and_steps_as_a_plan() {
    let server = ModelServer::start();
    let items = json!([{"content": "edit", "status": "in_progress"}, {"content": "test"}]);
    server.push(Reply::chat().tool_call("c1", "todowrite", json!({"items": items})).tool_call(
        "c2",
        "edit",
        json!({"path": "a.txt", "old": "two", "new": "2"}),
    ));
    server.push(Reply::chat().text("done"));
    let zdx = with_model(&server);
    zdx.write("a.txt", "one\ntwo\nthree\n");
    let mut client = Client::start(&zdx, &["--yolo"]);
    let session = client.open(&zdx);
    assert_eq!(client.prompt(&session, "go").unwrap(), "end_turn");
    let plan = &client.updates_of(&session, "plan")[0]["entries"];
    assert_eq!(plan[0], json!({"content": "edit", "priority": "medium", "status": "in_progress"}));
    assert_eq!(plan[1]["status"], "pending");
    let (call, updates) = call_of(&client, &session, "c2");
    assert_eq!(call["kind"], "edit");
    let path = zdx.root().join("a.txt");
    let diff =
        json!({"type": "diff", "path": path, "oldText": "one\ntwo\nthree\n", "newText": "one\n2\nthree\n"});
    assert_eq!(updates.last().unwrap()["content"], json!([diff]));
    assert_eq!(updates[0]["locations"], json!([{"path": path, "line": 2}]));
    client.hang_up();
}

#[test]
fn what_a_command_prints_is_text_and_a_failure_says_why() {
    let server = ModelServer::start();
    server.push(
        Reply::chat().tool_call("c1", "bash", json!({"command": "echo out; echo err >&2"})).tool_call(
            "c2",
            "read",
            json!({"path": "missing"}),
        ),
    );
    server.push(Reply::chat().text("done"));
    let zdx = with_model(&server);
    let mut client = Client::start(&zdx, &["--yolo"]);
    let session = client.open(&zdx);
    client.prompt(&session, "go").unwrap();
    let (call, updates) = call_of(&client, &session, "c1");
    assert_eq!((&call["kind"], &call["title"]), (&json!("execute"), &json!("Run echo out; echo err >&2")));
    let last = updates.last().unwrap();
    assert_eq!(last["content"][0]["content"]["text"], "```\nout\nerr\n```");
    assert_eq!((&last["status"], &last["rawOutput"]["data"]["exit_code"]), (&json!("completed"), &json!(0)));
    let (_, updates) = call_of(&client, &session, "c2");
    let last = updates.last().unwrap();
    assert_eq!((&last["status"], &last["rawOutput"]["error"]["code"]), (&json!("failed"), &json!("ENOENT")));
    client.hang_up();
}

#[test]
fn files_that_are_linked_or_embedded_reach_the_model() {
    let server = ModelServer::start();
    server.push(Reply::chat().text("read"));
    let zdx = with_model(&server);
    zdx.write("src/a b.txt", "one\ntwo\nthree\n");
    let mut client = Client::start(&zdx, &[]);
    let session = client.open(&zdx);
    let uri = format!("file://{}/src/a%20b.txt#L2", zdx.root().display());
    let prompt = json!([
        {"type": "text", "text": "compare"},
        {"type": "resource_link", "uri": uri, "name": "a b.txt"},
        {"type": "resource", "resource": {"uri": "file:///x/buffer", "text": "!echo unsaved @src"}},
    ]);
    let answer = client.call("session/prompt", json!({"sessionId": session, "prompt": prompt})).unwrap();
    assert_eq!(answer["stopReason"], "end_turn");
    let request = &server.calls()[0];
    let all = Value::from(request.messages()).to_string();
    assert!(all.contains("@file:src/a b.txt:2\\ntwo") && !all.contains("three"), "{all}");
    let said = prompt_of(request);
    assert!(said.ends_with("file:///x/buffer\n```\n!echo unsaved @src\n```"), "{said}");
    client.hang_up();
}

#[test]
fn a_cancel_in_mid_answer_ends_the_turn_as_cancelled_and_the_next_one_works() {
    let (server, gate) = (ModelServer::start(), Gate::new());
    server.push(hold_before(Reply::chat().text_deltas(["half", " more"]).done(), " more", &gate));
    server.push(Reply::chat().text(" and on"));
    let zdx = with_model(&server);
    let mut client = Client::start(&zdx, &[]);
    let session = client.open(&zdx);
    // Nothing runs yet: nobody minds.
    client.notify("session/cancel", json!({"sessionId": session}));
    let turn = client.begin(&session, "x");
    client.wait("half an answer", |_| (client.said(&session) == "half").then_some(()));
    let second = client.prompt(&session, "too early");
    assert_eq!(second.unwrap_err()["code"], -32600);
    client.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(client.answer(turn).unwrap()["stopReason"], "cancelled");
    assert_eq!(client.prompt(&session, "go on").unwrap(), "end_turn");
    assert_eq!(client.said(&session), "half and on");
    client.hang_up();
}

#[test]
fn every_end_has_its_reason_and_a_failure_is_an_error_with_words() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let mut client = Client::start(&zdx, &["--max-steps", "1"]);
    let session = client.open(&zdx);
    server.push(Reply::chat().text("too lo").finish("length"));
    assert_eq!(client.prompt(&session, "a").unwrap(), "max_tokens");
    server.push(Reply::chat().text("").finish("content_filter"));
    assert_eq!(client.prompt(&session, "b").unwrap(), "refusal");
    server.push(Reply::chat().tool_call("c1", "list", json!({})));
    assert_eq!(client.prompt(&session, "c").unwrap(), "max_turn_requests");
    server.push(Reply::status(401).json(json!({"error": {"message": "no key"}})));
    let error = client.prompt(&session, "d").unwrap_err();
    assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32603), &json!("auth")));
    assert!(error["message"].as_str().unwrap().contains("no key"), "{error}");
    server.push(Reply::chat().text("well"));
    assert_eq!(client.prompt(&session, "e").unwrap(), "end_turn");
    client.hang_up();
}

#[test]
fn our_own_commands_are_carried_out_and_a_users_own_is_a_prompt() {
    let server = ModelServer::start();
    server.push(Reply::chat().text("greeted"));
    let zdx = with_model(&server);
    zdx.write(".zdx/commands/greet.md", "---\ndescription: says hello\n---\nSay hello to $1.");
    let mut client = Client::start(&zdx, &[]);
    let session = client.open(&zdx);
    let offered = client
        .wait("the commands", |_| client.updates_of(&session, "available_commands_update").first().cloned());
    let offered = offered["availableCommands"].as_array().unwrap();
    let named = |name: &str| offered.iter().find(|command| command["name"] == name).cloned();
    assert_eq!(named("greet").unwrap()["description"], "says hello");
    assert_eq!(named("revert").unwrap()["input"], json!({"hint": "[TURN]"}));
    assert!(named("new").is_none());
    let nothing = client.prompt(&session, "/revert").unwrap_err();
    assert_eq!((&nothing["code"], &nothing["data"]["kind"]), (&json!(-32603), &json!("session")));
    assert_eq!(client.prompt(&session, "/context").unwrap(), "end_turn");
    assert!(client.said(&session).contains("tokens"), "{}", client.said(&session));
    assert_eq!(client.prompt(&session, "/greet Ann").unwrap(), "end_turn");
    assert_eq!(prompt_of(&server.calls()[0]), "Say hello to Ann.");
    client.hang_up();
}

#[test]
fn a_long_answer_is_told_in_fewer_frames_than_pieces() {
    let server = ModelServer::start();
    let gate = Gate::new();
    let pieces: Vec<String> = (0..2_000).map(|n| format!("{n} ")).collect();
    let reply = Reply::chat().text_deltas(pieces.iter().map(String::as_str)).done();
    server.push(reply.joined().insert_at(0, Step::WaitFor(gate.clone())));
    gate.open();
    let zdx = with_model(&server);
    let mut client = Client::start(&zdx, &[]);
    let session = client.open(&zdx);
    client.prompt(&session, "count").unwrap();
    assert_eq!(client.said(&session), pieces.concat());
    let frames = client.updates_of(&session, "agent_message_chunk").len();
    assert!(frames < 1_000, "{frames}");
    client.hang_up();
}

#[test]
fn a_suggested_check_is_offered_below_the_answer_and_answered_in_the_chat() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write("Makefile", "test:\n\ttrue\n");
    server.push(Reply::chat().tool_call("w", "write", json!({"path": "a.rs", "content": "x"})).done());
    server.push(Reply::chat().text("written"));
    let mut client = Client::start(&zdx, &["--yolo"]);
    let session = client.open(&zdx);
    assert_eq!(client.prompt(&session, "go").unwrap(), "end_turn");
    let offer = "check the edits with `make test`? /check run · /check always · /check never";
    assert_eq!(client.said(&session), format!("written\n\n{offer}"));
    for line in ["/check run", "/check always"] {
        assert_eq!(client.prompt(&session, line).unwrap(), "end_turn");
    }
    let kept = "`make test` runs after each turn that edits code in this folder; /check never stops that";
    assert!(client.said(&session).ends_with(kept), "{}", client.said(&session));
    client.hang_up();
    let granted = zdx.run(["policy", "grants"]).success().stdout;
    assert!(granted.contains("the check make test after each turn"), "{granted}");
}
