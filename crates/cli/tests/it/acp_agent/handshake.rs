//! The greeting, manners, and how it ends.

use serde_json::json;
use zdx_testkit::{Gate, ModelServer, Reply, Signal};

use super::Client;
use crate::mcp::{processes_with, wait_until};
use crate::{SOON, hold_before, place, with_model};

#[test]
fn it_says_what_it_can_do_and_no_more() {
    let zdx = place();
    let mut client = Client::raw(&zdx, &[]);
    let asked =
        json!({"protocolVersion": 99, "clientCapabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let hello = client.call("initialize", asked).unwrap();
    assert_eq!(hello["protocolVersion"], 1);
    assert_eq!(hello["authMethods"], json!([]));
    assert_eq!(hello["agentInfo"]["name"], "zdx");
    let can = &hello["agentCapabilities"];
    assert_eq!(can["loadSession"], true);
    assert_eq!(can["promptCapabilities"], json!({"image": true, "audio": false, "embeddedContext": true}));
    assert_eq!(can["mcpCapabilities"], json!({"http": false, "sse": false}));
    assert_eq!(can["sessionCapabilities"], json!({"close": {}, "list": {}, "resume": {}}));
    client.hang_up();
}

#[test]
fn with_no_save_it_promises_nothing_that_needs_files() {
    let zdx = place();
    let mut client = Client::raw(&zdx, &["--no-save"]);
    let hello = client.call("initialize", json!({"protocolVersion": 1})).unwrap();
    assert_eq!(hello["agentCapabilities"]["loadSession"], false);
    assert_eq!(hello["agentCapabilities"]["sessionCapabilities"], json!({"close": {}}));
    client.hang_up();
}

#[test]
fn what_is_out_of_order_unknown_or_wrong_is_refused_with_its_code() {
    let zdx = place();
    let mut client = Client::raw(&zdx, &[]);
    let code = |answer: Result<_, serde_json::Value>| answer.unwrap_err()["code"].as_i64().unwrap();
    assert_eq!(code(client.call("session/new", json!({"cwd": "/", "mcpServers": []}))), -32600);
    assert_eq!(code(client.call("initialize", json!({}))), -32602);
    client.call("initialize", json!({"protocolVersion": 1})).unwrap();
    client.notify("no/such_news", json!({"x": 1}));
    assert_eq!(code(client.call("no/such_method", json!({}))), -32601);
    for cwd in [json!("src"), json!("/no/such/folder"), json!(7), json!(null)] {
        assert_eq!(code(client.call("session/new", json!({"cwd": cwd, "mcpServers": []}))), -32602, "{cwd}");
    }
    let remote = json!([{"type": "http", "name": "x", "url": "http://127.0.0.1:1", "headers": []}]);
    assert_eq!(code(client.call("session/new", json!({"cwd": zdx.root(), "mcpServers": remote}))), -32602);
    let session = client.open(&zdx);
    let image = json!([{"type": "image", "data": "", "mimeType": "image/png"}]);
    assert_eq!(code(client.call("session/prompt", json!({"sessionId": session, "prompt": image}))), -32602);
    assert_eq!(code(client.call("session/prompt", json!({"prompt": []}))), -32602);
    client.hang_up();
}

#[test]
fn a_session_that_nobody_made_is_an_error_everywhere() {
    let zdx = place();
    let mut client = Client::start(&zdx, &[]);
    let strangers = ["no-such-session", "00000000-0000-4000-8000-000000000000"];
    for (id, method) in strangers.iter().flat_map(|id| {
        let methods = ["prompt", "load", "resume", "close", "set_mode", "set_config_option"];
        methods.map(|method| (*id, format!("session/{method}")))
    }) {
        let params = json!({
            "sessionId": id, "cwd": zdx.root(), "mcpServers": [], "prompt": [{"type": "text", "text": "x"}],
            "modeId": "plan", "configId": "approval", "value": "yolo",
        });
        assert_eq!(client.call(&method, params).unwrap_err()["code"], -32002, "{method} {id}");
    }
    client.hang_up();
}

#[test]
fn garbage_costs_nobody_the_connection() {
    let zdx = place();
    let mut client = Client::start(&zdx, &[]);
    for line in
        ["hello", "{\"jsonrpc\": \"2.0\", \"id\": 7, \"method\"", "[]", "", "{\"id\": 99, \"result\": {}}"]
    {
        client.running.write(format!("{line}\n"));
    }
    assert_eq!(client.call("session/list", json!({})).unwrap(), json!({"sessions": []}));
    client.running.wait_for_stderr("no frame", SOON);
    client.hang_up();
}

#[test]
fn a_client_that_hangs_up_in_mid_turn_leaves_no_process_behind() {
    let server = ModelServer::start();
    server.push(Reply::chat().tool_call("c1", "bash", json!({"command": "sleep 61.0815"})));
    let zdx = with_model(&server);
    let mut client = Client::start(&zdx, &["--yolo"]);
    let session = client.open(&zdx);
    client.begin(&session, "wait");
    wait_until("the command runs", || processes_with("61.0815") > 0);
    client.hang_up();
    wait_until("nothing is left", || processes_with("61.0815") == 0);
    let ended = zdx.records().iter().filter(|record| record["type"] == "interrupted").count();
    assert_eq!(ended, 1);
}

#[test]
fn a_signal_ends_the_turn_and_the_session_keeps_what_was_said() {
    let (server, gate) = (ModelServer::start(), Gate::new());
    server.push(hold_before(Reply::chat().text_deltas(["half", " more"]).done(), " more", &gate));
    let zdx = with_model(&server);
    let mut client = Client::start(&zdx, &[]);
    let session = client.open(&zdx);
    let turn = client.begin(&session, "x");
    client.wait("half an answer", |_| (client.said(&session) == "half").then_some(()));
    client.running.signal(Signal::TERM);
    assert_eq!(client.answer(turn).unwrap()["stopReason"], "cancelled");
    let output = client.running.finish(SOON).expect_code(143);
    assert_eq!(output.records_of("message")[1]["text"], "half");
    assert_eq!(output.records_of("interrupted").len(), 1);
}

#[test]
fn options_that_name_a_session_make_no_sense_here() {
    let output = place().run(["acp-agent", "--continue"]).expect_code(2);
    assert!(output.stderr.contains("leave --session and --continue out"), "{}", output.stderr);
    assert_eq!(output.stdout, "");
}
