//! Both ends are ours: `zdx acp` drives `zdx acp-agent`.

use serde_json::json;
use zdx_testkit::{ModelServer, Reply, Step, Zdx};

use crate::{place, with_model};

/// A place whose only agent is zdx itself, answered by the demo.
fn with_itself() -> (Zdx, String) {
    driving_itself(place().config("model = \"demo\"\n"))
}

fn driving_itself(zdx: Zdx) -> (Zdx, String) {
    let itself = json!({"command": env!("CARGO_BIN_EXE_zdx"), "args": ["acp-agent"]});
    zdx.write("acp.json", json!({"agent_servers": {"zdx": itself}}).to_string());
    let settings = zdx.root().join("acp.json").to_string_lossy().into_owned();
    (zdx, settings)
}

#[test]
fn it_passes_the_whole_checklist() {
    // The turn that is to be called off never ends by itself.
    let server = ModelServer::start();
    server.always(|request| match request.body["messages"].to_string().contains("Count from 1") {
        true => Reply::chat().text("one, two").unfinished().done().then(Step::Stall),
        false => Reply::chat().text("a readme").done(),
    });
    let (zdx, settings) = driving_itself(with_model(&server));
    let output = zdx.run(["acp", "--settings", &settings, "--conform", "what is in this folder?"]).success();
    assert!(output.stdout.contains(" passed, 0 failed"), "{}", output.stdout);
    for item in ["session/load replays", "session/prompt ends", "session/cancel ends", "nothing but frames"] {
        let passed = output.stdout.lines().any(|line| line.starts_with("pass") && line.contains(item));
        assert!(passed, "{item}\n{}", output.stdout);
    }
}

#[test]
fn a_turn_reads_the_same_from_both_ends() {
    let (zdx, settings) = with_itself();
    zdx.write("README.md", "# Widgets\n");
    let output = zdx.run(["acp", "--settings", &settings, "what is in this folder?"]).success();
    assert!(output.stdout.contains("[tool] read Read README.md @ "), "{}", output.stdout);
    assert!(output.stdout.contains("begins: # Widgets"), "{}", output.stdout);
    let sessions = zdx.run(["acp", "--settings", &settings, "--list-sessions"]).success().stdout;
    let listed = zdx.run(["sessions", "list", "--format", "json"]).success().json_lines();
    assert_eq!(listed.len(), 1);
    assert!(sessions.contains(listed[0]["id"].as_str().unwrap()), "{sessions}");
}
