//! The list against the scripted agent: a good one passes, and each fault fails its item and no other.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::process::{Child, Command};
use zdx_acp::{Host, HostAnswer, HostRequest, Inbox, Peer, RpcError, Tap, TerminalTable, connect};

use super::report::Outcome;
use super::{Dial, Ground, Report, run};

struct Fake {
    args: Vec<String>,
}

impl Dial for Fake {
    type Agent = Child;

    async fn dial(&self, tap: Tap) -> Result<(Child, Peer, Inbox), String> {
        let mut command = Command::new(zdx_testkit::acp_fake());
        command.args(&self.args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.kill_on_drop(true).spawn().map_err(|error| error.to_string())?;
        let (peer, inbox) = connect(child.stdout.take().unwrap(), child.stdin.take().unwrap(), Some(tap));
        Ok((child, peer, inbox))
    }

    async fn hang_up(&self, mut agent: Child) {
        let _ = tokio::time::timeout(Duration::from_millis(300), agent.wait()).await;
        let _ = agent.kill().await;
    }
}

/// Says yes to everything and does nothing.
#[derive(Default)]
struct Nods {
    terminals: TerminalTable,
}

impl Host for Nods {
    async fn read_text_file(&self, _: HostRequest) -> HostAnswer {
        Ok(json!({"content": "a"}))
    }

    async fn write_text_file(&self, _: HostRequest) -> HostAnswer {
        Ok(json!({}))
    }

    async fn request_permission(&self, _: HostRequest) -> HostAnswer {
        Ok(json!({"outcome": {"outcome": "selected", "optionId": "o-4"}}))
    }

    async fn create_terminal(&self, _: HostRequest) -> HostAnswer {
        Err(RpcError::method_not_found("terminal/create"))
    }

    fn terminals(&self) -> &TerminalTable {
        &self.terminals
    }
}

async fn conform(script: &Value, auth: Option<&str>) -> Report {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state").to_str().unwrap().to_owned();
    let args = ["--script", &script.to_string(), "--state", &state].map(str::to_owned).to_vec();
    let ground = Ground {
        cwd: dir.path().to_owned(),
        auth: auth.map(str::to_owned),
        prompt: "hello".to_owned(),
        limit: Duration::from_secs(3),
        turn_limit: Duration::from_secs(5),
    };
    run(&Fake { args }, Arc::new(Nods::default()), &ground).await
}

/// A turn, then one that waits to be called off.
fn good() -> Value {
    json!({"on": {"session/prompt": ["unscripted", "turn", "waits"]}})
}

#[tokio::test]
async fn a_good_agent_passes_all_of_it() {
    let report = conform(&good(), None).await;
    let text = report.text();
    assert!(!report.failed() && text.ends_with(", 0 failed, 0 skipped\n"), "{text}");
    assert_eq!(report.values().count(), text.lines().count() - 1);
}

#[tokio::test]
async fn what_is_not_advertised_is_skipped() {
    let mut script = good();
    script["initialize"] = json!({"agentCapabilities": {}});
    script["session"] = json!({"modes": null, "configOptions": null});
    let report = conform(&script, None).await;
    assert!(!report.failed(), "{}", report.text());
    for item in [
        "session/load replays, then answers",
        "session/list",
        "session/set_mode",
        "session/set_config_option",
    ] {
        assert_eq!(report.of(item), &Outcome::not_advertised());
    }
}

#[tokio::test]
async fn an_agent_that_wants_a_login_gets_it_or_says_so() {
    let mut script = good();
    script["auth"] = json!(true);
    let report = conform(&script, None).await;
    assert!(matches!(report.of("session/new"), Outcome::Skipped(why) if why.contains("--auth")));
    let report = conform(&script, Some("key")).await;
    assert!(!report.failed(), "{}", report.text());
    assert_eq!(report.of("authenticate"), &Outcome::Pass);
}

/// By a person, in a terminal: the agent is never asked for it.
#[tokio::test]
async fn a_login_in_a_terminal_is_not_asked_for() {
    let mut script = good();
    script["on"]["authenticate"] = json!([{"exit": 9}]);
    let report = conform(&script, Some("login")).await;
    assert!(matches!(report.of("authenticate"), Outcome::Skipped(why) if why.contains("terminal")));
    assert!(!report.failed(), "{}", report.text());
}

/// Somebody may have to go to a page first. Longer than any other answer may take, and less than a turn.
#[tokio::test]
async fn a_login_may_take_its_time() {
    let on = json!({"authenticate": [{"sleep": 3500}, {"result": {}}], "session/new": [{"fail": {"code": -32603, "message": "no"}}]});
    let report = conform(&json!({"on": on}), Some("key")).await;
    assert_eq!(report.of("authenticate"), &Outcome::Pass);
}

#[tokio::test]
async fn an_agents_words_forge_no_line() {
    let words = format!("no\npass     session/new\r\u{1b}[2K{}", "x".repeat(2000));
    let on = json!({"session/new": [{"fail": {"code": -32603, "message": words}}]});
    let text = conform(&json!({"on": on}), None).await.text();
    assert!(text.contains("fail     session/new: it refuses: no"), "{text}");
    assert!(!text.lines().any(|line| line.starts_with("pass     session/new")), "{text}");
    assert!(
        !text.contains(['\r', '\u{1b}']) && text.lines().all(|line| line.chars().count() < 700),
        "{text}"
    );
}

#[tokio::test]
async fn each_fault_fails_its_item() {
    let unknown = json!({"code": -32603, "message": "Internal error"});
    let missing = json!({"code": -32601, "message": "Method not found"});
    let answered = json!({"stopReason": "end_turn"});
    let rows = [
        ("initialize", json!({"initialize": [{"result": {"protocolVersion": "1"}}]})),
        ("initialize", json!({"initialize": [{"result": {"protocolVersion": 1, "authMethods": {}}}]})),
        ("initialize", json!({"initialize": "silent"})),
        (
            "version negotiation",
            json!({"initialize": [{"result": {"protocolVersion": "$params/protocolVersion"}}]}),
        ),
        ("unknown method is refused", json!({"zdx/nothing_of_this_name": [{"fail": unknown}]})),
        ("unknown method is refused", json!({"zdx/nothing_of_this_name": [{"result": {}}]})),
        (
            "ids are echoed, text too",
            json!({"zdx/nothing_of_this_name": [{"raw": "{\"id\":1,\"result\":{}}"}, {"never": true}]}),
        ),
        ("session/new", json!({"session/new": [{"result": {}}]})),
        ("unknown session: session/prompt", json!({"session/prompt": [{"result": answered}]})),
        ("unknown session: session/set_mode", json!({"session/set_mode": [{"result": {}}]})),
        ("unknown session: session/load", json!({"session/load": [{"result": {}}]})),
        ("session/prompt ends with a stop reason", json!({"session/prompt": ["unscripted", "unknown"]})),
        ("unknown session: session/resume", json!({"session/resume": [{"fail": missing}]})),
        (
            "session/prompt ends with a stop reason",
            json!({"session/prompt": ["unscripted", [{"result": {}}]]}),
        ),
        ("updates are well-formed", json!({"session/prompt": ["unscripted", "relative"]})),
        (
            "updates are well-formed",
            json!({"session/prompt": ["unscripted", [{"update": {"sessionUpdate": "agent_message_chunk"}}]]}),
        ),
        ("a tool call is told before its updates", json!({"session/prompt": ["unscripted", "update_first"]})),
        ("requests of the agent are well-formed", json!({"session/prompt": ["unscripted", "elicit"]})),
        ("nothing but frames on stdout", json!({"session/prompt": ["unscripted", "garbage"]})),
        ("nothing but frames on stdout", json!({"start": [{"raw": "Welcome!"}]})),
        (
            "session/cancel ends the turn as cancelled",
            json!({"session/prompt": ["unscripted", "unscripted", "stubborn"]}),
        ),
        (
            "session/cancel ends the turn as cancelled",
            json!({"session/prompt": ["unscripted", "unscripted", "deaf"]}),
        ),
        ("session/list", json!({"session/list": [{"result": {"sessions": [{"id": "x"}]}}]})),
        (
            "session/set_config_option",
            json!({"session/set_config_option": [{"result": {"configOptions": []}}]}),
        ),
        (
            "unknown mode is refused",
            json!({"session/set_mode": ["unscripted", "unscripted", [{"result": {}}]]}),
        ),
        ("session/load replays, then answers", json!({"session/load": [{"result": {}}]})),
        ("session/resume does not replay", json!({"session/resume": [[{"user": "again"}]]})),
        ("session/close", json!({"session/close": [{"fail": unknown}]})),
        ("session/delete", json!({"session/delete": [{"result": {}}]})),
    ];
    // Several at once: most of the time of each is waiting.
    for rows in rows.chunks(6) {
        let mut running = tokio::task::JoinSet::new();
        for (item, on) in rows.iter().cloned() {
            running.spawn(async move { (item, conform(&json!({"on": on}), None).await, on) });
        }
        for (item, report, on) in running.join_all().await {
            let Outcome::Fail { .. } = report.of(item) else { panic!("{item} {on}\n{}", report.text()) };
            assert!(report.failed());
        }
    }
}

#[tokio::test]
async fn an_offending_frame_is_shown_and_a_long_one_cut() {
    let long = "x".repeat(2000);
    let wrong = json!({"sessionUpdate": "tool_call", "toolCallId": 7, "title": long});
    let report = conform(&json!({"on": {"session/prompt": ["unscripted", [{"update": wrong}]]}}), None).await;
    let text = report.text();
    assert!(
        text.contains(
            "fail     updates are well-formed: `toolCallId` is missing or no text\n         < {\"jsonrpc\""
        ),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() < 700));
}

#[tokio::test]
async fn one_that_dies_at_once_or_is_not_there_is_told() {
    let report = conform(&json!({"on": {"start": "leaves"}}), None).await;
    assert_eq!(report.of("initialize"), &Outcome::fail("it ended"));
}
