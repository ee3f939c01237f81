//! Sessions of a client are sessions like all others: several at once, listed, told again, gone on with, closed.

use serde_json::{Value, json};
use zdx_testkit::{Gate, ModelServer, Reply, Zdx};

use super::Client;
use crate::{hold_before, prompt_of, with_model};

fn named(zdx: &Zdx, id: &str) -> Value {
    json!({"sessionId": id, "cwd": zdx.root(), "mcpServers": []})
}

fn kinds(client: &Client, session: &str) -> Vec<String> {
    let kind = |update: &Value| update["sessionUpdate"].as_str().unwrap().to_owned();
    let all = client.updates(session);
    let said = |kind: &String| kind.ends_with("_chunk") || kind.starts_with("tool_call");
    all.iter().map(kind).filter(said).collect()
}

#[test]
fn two_sessions_work_at_once_and_do_not_mix() {
    let (server, gate) = (ModelServer::start(), Gate::new());
    let held = gate.clone();
    server.always(move |request| match prompt_of(request).as_str() {
        "slow" => hold_before(Reply::chat().text_deltas(["first", " last"]).done(), " last", &held),
        _ => Reply::chat().text("quick").done(),
    });
    let zdx = with_model(&server);
    let mut client = Client::start(&zdx, &[]);
    let (one, other) = (client.open(&zdx), client.open(&zdx));
    assert_ne!(one, other);
    let slow = client.begin(&one, "slow");
    client.wait("the slow one begins", |_| (client.said(&one) == "first").then_some(()));
    assert_eq!(client.prompt(&other, "fast").unwrap(), "end_turn");
    assert_eq!(client.said(&other), "quick");
    gate.open();
    assert_eq!(client.answer(slow).unwrap()["stopReason"], "end_turn");
    assert_eq!(client.said(&one), "first last");
    client.hang_up();
    assert_eq!(zdx.session_files().len(), 2);
}

#[test]
fn a_session_is_listed_loaded_with_all_that_was_said_and_resumed_without() {
    let server = ModelServer::start();
    server.push(Reply::chat().text("Looking. ").tool_call("c1", "read", json!({"path": "a.txt"})));
    server.push(Reply::chat().text("Hello."));
    let zdx = with_model(&server);
    zdx.write("a.txt", "hello\n");
    // It may as well have been begun on the command line.
    zdx.run(["exec", "-p", "what does it say?"]).success();
    let mut client = Client::start(&zdx, &[]);
    let listed = client.call("session/list", json!({"cwd": zdx.root()})).unwrap();
    let session = listed["sessions"][0]["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(listed["sessions"][0]["title"], "what does it say?");
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(client.call("session/list", json!({"cwd": "/"})).unwrap(), json!({"sessions": []}));

    let loading = client.ask("session/load", named(&zdx, &session));
    let state = client.answer(loading).unwrap();
    assert_eq!(state["modes"]["currentModeId"], "build");
    let told =
        ["user_message_chunk", "agent_message_chunk", "tool_call", "tool_call_update", "agent_message_chunk"];
    assert_eq!(kinds(&client, &session), told);
    assert_eq!(client.said(&session), "Looking. Hello.");
    let at = |find: &dyn Fn(&Value) -> bool| client.heard().iter().position(find).unwrap();
    let last_chunk = at(&|frame| frame["params"]["update"]["content"]["text"] == "Hello.");
    assert!(last_chunk < at(&|frame| frame["id"] == loading), "told before the answer");

    server.push(Reply::chat().text("Again."));
    assert_eq!(client.prompt(&session, "and now?").unwrap(), "end_turn");
    assert_eq!(server.calls()[2].messages().len(), 6);
    // Once more, while it is open: it is told again from its beginning.
    client.call("session/load", named(&zdx, &session)).unwrap();
    assert_eq!(client.said(&session), "Looking. Hello.Again.Looking. Hello.Again.");
    client.hang_up();

    let mut client = Client::start(&zdx, &[]);
    client.call("session/resume", named(&zdx, &session)).unwrap();
    // Open already: nothing is lost by that.
    client.call("session/resume", named(&zdx, &session)).unwrap();
    server.push(Reply::chat().text("Still here."));
    assert_eq!(client.prompt(&session, "there?").unwrap(), "end_turn");
    assert_eq!(client.said(&session), "Still here.");
    assert_eq!(client.updates_of(&session, "user_message_chunk"), Vec::<Value>::new());
    client.hang_up();
    let list = zdx.run(["sessions", "list"]).success().stdout;
    assert!(list.contains(&session[..8]) && list.lines().count() <= 2, "{list}");
}

#[test]
fn a_closed_session_is_unknown_and_can_be_opened_again() {
    let server = ModelServer::start();
    let gate = Gate::new();
    server.push(hold_before(Reply::chat().text_deltas(["half", " more"]).done(), " more", &gate));
    let zdx = with_model(&server);
    let mut client = Client::start(&zdx, &[]);
    let session = client.open(&zdx);
    let turn = client.begin(&session, "x");
    client.wait("half an answer", |_| (client.said(&session) == "half").then_some(()));
    assert_eq!(client.call("session/close", json!({"sessionId": session})).unwrap(), json!({}));
    assert_eq!(client.answer(turn).unwrap()["stopReason"], "cancelled");
    assert_eq!(client.prompt(&session, "y").unwrap_err()["code"], -32002);
    client.call("session/resume", named(&zdx, &session)).unwrap();
    server.push(Reply::chat().text(" again"));
    assert_eq!(client.prompt(&session, "y").unwrap(), "end_turn");
    client.hang_up();
}

#[test]
fn an_unsaid_session_that_is_open_can_be_loaded() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let mut client = Client::start(&zdx, &[]);
    let session = client.open(&zdx);
    let state = client.call("session/load", named(&zdx, &session)).unwrap();
    assert_eq!(state["modes"]["currentModeId"], "build");
    // Part of an id names nothing here.
    assert_eq!(client.call("session/load", named(&zdx, &session[..8])).unwrap_err()["code"], -32002);
    client.hang_up();
}
