//! Files that the client has open: what is unsaved is seen, and what is written goes through it, guarded as ever.

use serde_json::{Value, json};
use zdx_testkit::{ModelServer, Reply};

use super::Client;
use crate::{results, with_model};

/// An editor that has one file open with this in it, and saves what it is given. What it was asked, in order.
fn edits(client: &mut Client, turn: u64, open: &str, refuses: bool) -> Vec<(String, Value)> {
    let (mut buffer, mut asked) = (open.to_owned(), Vec::new());
    loop {
        let seen = asked.len();
        let request = client.wait("a request or the end", |frames| {
            if frames.iter().any(|frame| frame["id"] == turn && frame.get("method").is_none()) {
                return Some(None);
            }
            let asks = |frame: &&Value| frame.get("id").is_some() && frame.get("method").is_some();
            frames.iter().filter(asks).nth(seen).map(|frame| Some(frame.clone()))
        });
        let Some(request) = request else { return asked };
        let (id, method, params) = (&request["id"], request["method"].as_str().unwrap(), &request["params"]);
        match method {
            "fs/read_text_file" => client.reply(id, json!({"content": buffer})),
            "fs/write_text_file" if refuses => {
                client.send(
                    &json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": "read-only"}}),
                );
            }
            "fs/write_text_file" => {
                buffer = params["content"].as_str().unwrap().to_owned();
                std::fs::write(params["path"].as_str().unwrap(), &buffer).unwrap();
                client.reply(id, json!({}));
            }
            "session/request_permission" => client.select(id, "allow_once"),
            other => panic!("{other}"),
        }
        asked.push((method.to_owned(), params.clone()));
    }
}

fn greeted(zdx: &zdx_testkit::Zdx) -> (Client, String) {
    let mut client = Client::raw(zdx, &[]);
    let can = json!({"fs": {"readTextFile": true, "writeTextFile": true}});
    client.call("initialize", json!({"protocolVersion": 1, "clientCapabilities": can})).unwrap();
    let session = client.open(zdx);
    (client, session)
}

#[test]
fn unsaved_changes_are_seen_and_edits_go_through_the_editor() {
    let server = ModelServer::start();
    server.push(Reply::chat().tool_call("c1", "read", json!({"path": "a.txt"})));
    server.push(Reply::chat().tool_call(
        "c2",
        "edit",
        json!({"path": "a.txt", "old": "unsaved", "new": "edited"}),
    ));
    server.push(Reply::chat().text("done"));
    let zdx = with_model(&server);
    zdx.write("a.txt", "on disk\n");
    let (mut client, session) = greeted(&zdx);
    let turn = client.begin(&session, "edit it");
    let asked = edits(&mut client, turn, "unsaved\n", false);
    assert_eq!(client.answer(turn).unwrap()["stopReason"], "end_turn");
    assert_eq!(results(&server.calls()[1])[0]["data"]["content"], "unsaved\n");
    assert_eq!(zdx.read("a.txt"), "edited\n");
    let written: Vec<&Value> =
        asked.iter().filter(|(method, _)| method == "fs/write_text_file").map(|(_, params)| params).collect();
    let path = zdx.root().join("a.txt");
    assert_eq!(written, [&json!({"sessionId": session, "path": path, "content": "edited\n"})]);
    // A change is asked about before it is made.
    let first = |method: &str| asked.iter().position(|(asked, _)| asked == method).unwrap();
    assert!(first("session/request_permission") < first("fs/write_text_file"));
    // And it can be taken back: to what the editor had.
    assert_eq!(client.prompt(&session, "/revert").unwrap(), "end_turn");
    assert_eq!(zdx.read("a.txt"), "unsaved\n");
    client.hang_up();
}

#[test]
fn what_the_editor_refuses_is_not_written() {
    let server = ModelServer::start();
    server.push(Reply::chat().tool_call("c1", "write", json!({"path": "a.txt", "content": "new\n"})));
    server.push(Reply::chat().text("done"));
    let zdx = with_model(&server);
    zdx.write("a.txt", "old\n");
    let (mut client, session) = greeted(&zdx);
    let turn = client.begin(&session, "write it");
    edits(&mut client, turn, "old\n", true);
    let result = &results(&server.calls()[1])[0];
    assert_eq!(result["error"]["code"], "write_error");
    assert!(result["error"]["message"].as_str().unwrap().contains("read-only"), "{result}");
    assert_eq!(zdx.read("a.txt"), "old\n");
    client.hang_up();
}

#[test]
fn what_is_denied_never_reaches_the_editor() {
    let server = ModelServer::start();
    server.push(Reply::chat().tool_call("c1", "write", json!({"path": "/etc/zdx-test", "content": "x"})));
    server.push(Reply::chat().tool_call("c2", "write", json!({"path": ".git/config", "content": "x"})));
    server.push(Reply::chat().text("done"));
    let zdx = with_model(&server).config_more("[permission]\nwrite = \"deny\"\n");
    let (mut client, session) = greeted(&zdx);
    let turn = client.begin(&session, "write it");
    let asked = edits(&mut client, turn, "", false);
    assert_eq!(asked, Vec::new());
    client.hang_up();
}
