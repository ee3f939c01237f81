//! What can be asked of an agent without a prompt.

use serde_json::json;

use super::{acp, methods, sent_of, with_agent};
use crate::SOON;

#[test]
fn lists_stack_and_need_no_prompt() {
    let zdx = with_agent(json!({}));
    let lists = ["--list-caps", "--list-modes", "--list-commands", "--list-sessions"];
    let output = acp(&zdx, &lists).run().success();
    let expected = "capabilities of The fake 1.0 (protocol 1)\n";
    assert!(output.stdout.starts_with(expected), "{}", output.stdout);
    for line in [
        "  loadSession                         true",
        "  promptCapabilities.image            false",
        "  auth key                            An API key: Set FAKE_KEY.",
        "sessions\n  old-1  2026-11-15T10:00:00Z  about old-1\n",
        "modes\n  ask*  Ask\n  code  Code\n",
        "commands\n  /plan <what for>  Makes a plan.\n  /review           Reviews a change.\n",
    ] {
        assert!(output.stdout.contains(line), "{line:?} is missing in\n{}", output.stdout);
    }
    assert_eq!(methods(&zdx), ["initialize", "session/list", "session/new"]);
    assert_eq!(sent_of(&zdx, "session/list")[0]["cwd"], json!(zdx.root()));

    let zdx = with_agent(json!({}));
    acp(&zdx, &["--list-caps"]).run().success();
    assert_eq!(methods(&zdx), ["initialize"], "capabilities need no session");
}

#[test]
fn with_a_prompt_they_come_first() {
    let zdx = with_agent(json!({}));
    let output = acp(&zdx, &["--list-modes", "hi"]).run().success();
    assert_eq!(output.stdout, "modes\n  ask*  Ask\n  code  Code\necho: hi\n");
    let output = acp(&zdx, &["--list-modes"]).stdin("piped").run().success();
    assert_eq!(output.stdout, "modes\n  ask*  Ask\n  code  Code\necho: piped\n");
}

#[test]
fn a_pipe_that_stays_silent_is_not_waited_for() {
    let zdx = with_agent(json!({}));
    let running = acp(&zdx, &["--list-modes"]).stdin_open().spawn();
    assert_eq!(running.finish(SOON).success().stdout, "modes\n  ask*  Ask\n  code  Code\n");
}

#[test]
fn modes_are_those_of_the_options_else_those_of_old() {
    let modes = json!({"currentModeId": "b", "availableModes": [{"id": "a", "name": "A"}, {"id": "b", "name": "B", "description": "Bb."}]});
    let zdx = with_agent(json!({"session": {"configOptions": null, "modes": modes}}));
    assert_eq!(acp(&zdx, &["--list-modes"]).run().success().stdout, "modes\n  a   A\n  b*  B: Bb.\n");
    let zdx = with_agent(json!({"session": {"configOptions": null, "modes": null}}));
    assert_eq!(acp(&zdx, &["--list-modes"]).run().success().stdout, "modes: the agent has none\n");
}

/// Some never say; others say it at once, before the session is there.
#[test]
fn commands_are_waited_for_and_not_for_ever() {
    let session = json!([{"result": {"sessionId": "s"}}]);
    let zdx = with_agent(json!({"on": {"session/new": session}, "session": {}}));
    let output = acp(&zdx, &["--list-commands", "--timeout", "1"]).run().success();
    // The fake tells its commands behind every session, a played one included.
    assert!(output.stdout.starts_with("commands\n  /plan"), "{}", output.stdout);

    let silent =
        json!([{"raw": "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"sessionId\":\"s\"}}"}, {"never": true}]);
    let zdx = with_agent(json!({"on": {"session/new": silent}}));
    let output = acp(&zdx, &["--list-commands", "--timeout", "1"]).run().success();
    assert_eq!(output.stdout, "commands: the agent told none\n");
}

#[test]
fn sessions_come_page_by_page_and_go() {
    let page = |id: &str, next: serde_json::Value| json!([{"result": {"sessions": [{"sessionId": id}], "nextCursor": next}}]);
    let zdx =
        with_agent(json!({"on": {"session/list": [page("one", json!("c1")), page("two", json!(null))]}}));
    let output = acp(&zdx, &["--list-sessions"]).run().success();
    assert_eq!(output.stdout, "sessions\n  one\n  two\n");
    assert_eq!(sent_of(&zdx, "session/list")[1]["cursor"], "c1");

    for odd in [json!([1]), json!("none"), json!(7), json!({"sessions": 7, "nextCursor": []})] {
        let zdx = with_agent(json!({"on": {"session/list": [{"result": odd}]}}));
        let output = acp(&zdx, &["--list-sessions"]).run().success();
        assert_eq!(output.stdout, "sessions: the agent keeps none for this folder\n", "{odd}");
    }

    let zdx = with_agent(json!({}));
    acp(&zdx, &["--delete-session", "old-1", "--logout"]).run().success();
    assert_eq!(sent_of(&zdx, "session/delete"), [json!({"sessionId": "old-1"})]);
    assert_eq!(methods(&zdx), ["initialize", "session/delete", "logout"]);

    let bare = json!({"initialize": {"agentCapabilities": {}}});
    for (option, why) in [
        (&["--list-sessions"][..], "does not offer to list sessions"),
        (&["--delete-session", "x"][..], "does not offer to delete a session"),
        (&["--logout"][..], "does not offer to log out"),
        (&["--close", "hi"][..], "does not offer to close a session"),
    ] {
        let output = acp(&with_agent(bare.clone()), option).run().expect_code(2);
        assert!(output.stderr.contains(why), "{option:?}: {}", output.stderr);
    }
}

/// An id is of use only as a whole; the others stay in their columns.
#[test]
fn a_name_may_be_of_any_length() {
    let long = "x".repeat(70_000);
    let sessions = json!([{"sessionId": long, "title": "long"}, {"sessionId": "short", "title": "other"}]);
    let zdx = with_agent(json!({"on": {"session/list": [{"result": {"sessions": sessions}}]}}));
    let output = acp(&zdx, &["--list-sessions"]).run().success();
    assert_eq!(output.stdout, format!("sessions\n  {long}  long\n  {:40}  other\n", "short"));
}
