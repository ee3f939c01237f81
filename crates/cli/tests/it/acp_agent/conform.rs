//! Both ends are ours: `zdx acp` drives `zdx acp-agent`.

use serde_json::json;
use zdx_testkit::Zdx;

use crate::place;

/// A place whose only agent is zdx itself, answered by the demo.
fn with_itself() -> (Zdx, String) {
    let zdx = place().config("model = \"demo\"\n");
    let itself = json!({"command": env!("CARGO_BIN_EXE_zdx"), "args": ["acp-agent"]});
    zdx.write("acp.json", json!({"agent_servers": {"zdx": itself}}).to_string());
    let settings = zdx.root().join("acp.json").to_string_lossy().into_owned();
    (zdx, settings)
}

#[test]
fn it_passes_the_whole_checklist() {
    let (zdx, settings) = with_itself();
    let output = zdx.run(["acp", "--settings", &settings, "--conform", "what is in this folder?"]).success();
    assert!(output.stdout.contains(" passed, 0 failed"), "{}", output.stdout);
    // The demo may be done before it can be called off; that is tried elsewhere.
    for item in ["session/load replays", "session/prompt ends", "nothing but frames"] {
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
