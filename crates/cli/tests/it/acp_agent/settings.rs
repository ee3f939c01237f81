//! What can be chosen in a session, and the servers that a client brings along.

use serde_json::{Value, json};
use zdx_testkit::{ModelServer, Reply, mcp_fake};

use super::Client;
use crate::{prompt_of, with_model};

fn current(options: &Value, id: &str) -> Value {
    let options = options["configOptions"].as_array().unwrap();
    options.iter().find(|option| option["id"] == id).unwrap()["currentValue"].clone()
}

#[test]
fn agents_are_modes_and_every_option_can_be_set() {
    let server = ModelServer::start();
    server.models(Reply::status(200).json(json!({"data": [{"id": "scripted"}, {"id": "other"}]})));
    server.push(Reply::chat().text("planned"));
    let zdx = with_model(&server);
    let mut client = Client::start(&zdx, &["--approval", "paranoid"]);
    let made = client.call("session/new", json!({"cwd": zdx.root(), "mcpServers": []})).unwrap();
    let session = made["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(made["modes"]["currentModeId"], "build");
    assert_eq!(current(&made, "approval"), "paranoid");
    assert_eq!(current(&made, "model"), "test/scripted");

    let mode = json!({"sessionId": session, "modeId": "plan"});
    assert_eq!(client.call("session/set_mode", mode).unwrap(), json!({}));
    assert_eq!(client.updates_of(&session, "current_mode_update")[0]["currentModeId"], "plan");
    assert_eq!(
        client.call("session/set_mode", json!({"sessionId": session, "modeId": "x"})).unwrap_err()["code"],
        -32602
    );

    client.wait("the models", |_| {
        let updates = client.updates_of(&session, "config_option_update");
        let models = updates.iter().map(|update| &update["configOptions"][1]["options"]);
        models.filter_map(Value::as_array).any(|models| models.len() == 2).then_some(())
    });
    for (option, value) in [("model", "test/other"), ("approval", "balanced"), ("agent", "build")] {
        let set = json!({"sessionId": session, "configId": option, "value": value});
        let answer = client.call("session/set_config_option", set).unwrap();
        assert_eq!(current(&answer, option), value);
        assert_eq!(answer["configOptions"].as_array().unwrap().len(), 3);
    }
    for (option, value) in
        [("approval", json!("all")), ("agent", json!("x")), ("x", json!("y")), ("model", json!(7))]
    {
        let set = json!({"sessionId": session, "configId": option, "value": value});
        assert_eq!(client.call("session/set_config_option", set).unwrap_err()["code"], -32602, "{option}");
    }
    assert_eq!(client.prompt(&session, "hello").unwrap(), "end_turn");
    assert_eq!(server.calls()[0].body["model"], "other");
    assert_eq!(prompt_of(&server.calls()[0]), "hello");
    client.hang_up();
}

#[test]
fn servers_of_the_client_bring_their_tools_to_its_session_alone() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let mut client = Client::start(&zdx, &[]);
    let log = zdx.home().join("sent");
    let servers = json!([{
        "name": "lent", "command": mcp_fake(), "args": ["--log", log], "env": [{"name": "A", "value": "b"}],
    }]);
    let made = client.call("session/new", json!({"cwd": zdx.root(), "mcpServers": servers})).unwrap();
    let session = made["sessionId"].as_str().unwrap().to_owned();
    let ready = |client: &mut Client, session: &str| {
        client.prompt(session, "/mcp").unwrap();
        client.said(session).contains("ready")
    };
    let start = std::time::Instant::now();
    while !ready(&mut client, &session) {
        assert!(start.elapsed() < crate::SOON, "{}", client.said(&session));
    }
    server.push(Reply::chat().text("ok"));
    client.prompt(&session, "x").unwrap();
    let lent = |n: usize| server.calls()[n].tool_names().iter().any(|name| name.starts_with("mcp__lent__"));
    assert!(lent(0));
    let other = client.open(&zdx);
    server.push(Reply::chat().text("ok"));
    client.prompt(&other, "x").unwrap();
    assert!(!lent(1));
    client.hang_up();
}
