//! Questions of the guard at the client: what is offered, and what each answer does.

use serde_json::{Value, json};
use zdx_testkit::{ModelServer, Reply, Zdx};

use super::Client;
use crate::with_model;

fn asks(server: &ModelServer, command: &str) {
    server.push(Reply::chat().tool_call("c1", "bash", json!({"command": command})));
}

fn kinds(params: &Value) -> Vec<&str> {
    params["options"].as_array().unwrap().iter().map(|option| option["kind"].as_str().unwrap()).collect()
}

fn begun(server: &ModelServer) -> (Zdx, Client, String) {
    let zdx = with_model(server);
    let mut client = Client::start(&zdx, &[]);
    let session = client.open(&zdx);
    (zdx, client, session)
}

#[test]
fn a_yes_runs_it_and_a_no_does_not() {
    let server = ModelServer::start();
    let (zdx, mut client, session) = begun(&server);
    for (n, (option, file)) in [("allow_once", "yes"), ("reject_once", "no")].into_iter().enumerate() {
        asks(&server, &format!("touch {file}"));
        server.push(Reply::chat().text("ok"));
        let turn = client.begin(&session, "go");
        let (id, params) = client.request(n);
        assert_eq!(params["sessionId"], session);
        assert_eq!(params["toolCall"]["title"], format!("Run touch {file}"));
        assert_eq!(params["toolCall"]["rawInput"], json!({"command": format!("touch {file}")}));
        assert!(
            client
                .updates_of(&session, "tool_call")
                .iter()
                .any(|call| call["toolCallId"] == params["toolCall"]["toolCallId"])
        );
        client.select(&id, option);
        assert_eq!(client.answer(turn).unwrap()["stopReason"], "end_turn");
    }
    assert!(zdx.root().join("yes").exists() && !zdx.root().join("no").exists());
    let last = client.updates_of(&session, "tool_call_update").pop().unwrap();
    assert_eq!(
        (&last["status"], &last["rawOutput"]["error"]["code"]),
        (&json!("failed"), &json!("rejected"))
    );
    // The id of the model came twice; on the wire it did not.
    assert_eq!(last["toolCallId"], "c1-2");
    client.hang_up();
}

#[test]
fn always_holds_and_is_not_asked_again() {
    let server = ModelServer::start();
    let (zdx, mut client, session) = begun(&server);
    asks(&server, "touch one");
    asks(&server, "touch one");
    server.push(Reply::chat().text("ok"));
    let turn = client.begin(&session, "go");
    let (id, params) = client.request(0);
    assert!(kinds(&params).contains(&"allow_always"), "{params}");
    client.select(&id, "allow_session");
    assert_eq!(client.answer(turn).unwrap()["stopReason"], "end_turn");
    let asked = client.heard().iter().filter(|frame| frame["method"] == "session/request_permission").count();
    assert_eq!(asked, 1);
    assert!(zdx.root().join("one").exists());
    client.hang_up();
}

#[test]
fn what_must_be_confirmed_is_never_offered_for_good() {
    let server = ModelServer::start();
    let (zdx, mut client, session) = begun(&server);
    zdx.write("build/x", "");
    asks(&server, "rm -rf build");
    server.push(Reply::chat().text("ok"));
    let turn = client.begin(&session, "go");
    let (id, params) = client.request(0);
    assert_eq!(kinds(&params), ["allow_once", "reject_once"]);
    // Nobody offered that: it is a no.
    client.select(&id, "allow_session");
    assert_eq!(client.answer(turn).unwrap()["stopReason"], "end_turn");
    assert!(zdx.root().join("build/x").exists());
    client.hang_up();
}

/// Called off, it stops the turn too; a client that cannot answer has only said no.
#[test]
fn what_is_no_answer_is_a_no() {
    for (answer, stop) in [
        (json!({"result": {"outcome": {"outcome": "cancelled"}}}), "cancelled"),
        (json!({"error": {"code": -32601, "message": "what?"}}), "end_turn"),
    ] {
        let server = ModelServer::start();
        let (zdx, mut client, session) = begun(&server);
        asks(&server, "touch it");
        server.push(Reply::chat().text("ok"));
        let turn = client.begin(&session, "go");
        let (id, _) = client.request(0);
        let mut frame = json!({"jsonrpc": "2.0", "id": id});
        frame.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
        client.send(&frame);
        assert_eq!(client.answer(turn).unwrap()["stopReason"], stop);
        assert!(!zdx.root().join("it").exists());
        client.hang_up();
    }
}

#[test]
fn a_preset_that_is_changed_meanwhile_answers_the_question() {
    let server = ModelServer::start();
    let (zdx, mut client, session) = begun(&server);
    asks(&server, "touch it");
    server.push(Reply::chat().text("ok"));
    let turn = client.begin(&session, "go");
    let (id, _) = client.request(0);
    let set = json!({"sessionId": session, "configId": "approval", "value": "yolo"});
    client.call("session/set_config_option", set).unwrap();
    assert_eq!(client.answer(turn).unwrap()["stopReason"], "end_turn");
    let taken_back = client.heard().into_iter().find(|frame| frame["method"] == "$/cancel_request").unwrap();
    assert_eq!(taken_back["params"]["requestId"], id);
    assert!(zdx.root().join("it").exists());
    client.hang_up();
}

#[test]
fn a_folder_that_wants_trust_gets_none_unseen() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write(".zdx/config.toml", "approval = \"yolo\"\n");
    let mut client = Client::start(&zdx, &[]);
    let made = client.call("session/new", json!({"cwd": zdx.root(), "mcpServers": []})).unwrap();
    assert_eq!(made["configOptions"][2]["currentValue"], "balanced");
    client.running.wait_for_stderr("`zdx trust`", crate::SOON);
    client.hang_up();
}

/// A path outside is asked about here too, and the folder may be added.
#[test]
fn a_folder_outside_can_be_added_for_the_session() {
    let server = ModelServer::start();
    let data = tempfile::tempdir().unwrap();
    let folder = data.path().canonicalize().unwrap();
    std::fs::write(folder.join("a.txt"), "alpha\n").unwrap();
    let (_zdx, mut client, session) = begun(&server);
    for _ in 0..2 {
        server.push(Reply::chat().tool_call("c1", "read", json!({"path": folder.join("a.txt")})));
    }
    server.push(Reply::chat().text("ok"));
    let turn = client.begin(&session, "go");
    let (id, params) = client.request(0);
    assert_eq!(kinds(&params), ["allow_once", "allow_always", "reject_once"]);
    let name = format!("yes, and add the folder {}, for this session", folder.display());
    assert_eq!(params["options"][1]["name"], name);
    client.select(&id, "allow_wider_session");
    assert_eq!(client.answer(turn).unwrap()["stopReason"], "end_turn");
    let asked = client.heard().iter().filter(|frame| frame["method"] == "session/request_permission").count();
    assert_eq!(asked, 1);
    assert_eq!(client.prompt(&session, "/add-dir").unwrap(), "end_turn");
    assert!(client.said(&session).contains(folder.to_str().unwrap()), "{}", client.said(&session));
    client.hang_up();
}
