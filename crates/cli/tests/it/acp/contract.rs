//! What holds for every backend (`engine/tests/it/seam.rs`), lived through by another agent: what it runs itself is its own,
//! what it has us run is judged, told and taken back like ours, questions go to the person, an interrupt reaches everything, and
//! what it cannot do is said.

use serde_json::{Value, json};

use super::backend::{chosen, of_type, playing, with_backend};
use super::methods;
use crate::SOON;
use crate::approvals::wait_for_question;
use crate::chat::{leave, wait_for_prompt};
use crate::mcp::wait_until;

fn permission() -> Value {
    json!({"ask": "session/request_permission", "params": {
        "toolCall": {"toolCallId": "x", "title": "Run make deploy", "kind": "execute", "rawInput": {"command": "make deploy"}},
        "options": [{"optionId": "y", "name": "Yes", "kind": "allow_once"}, {"optionId": "n", "name": "No", "kind": "reject_once"}]}})
}

#[test]
fn what_it_has_us_do_is_asked_about_while_it_speaks_and_can_be_taken_back() {
    let write = json!({"ask": "fs/write_text_file", "params": {"path": "$cwd/a.txt", "content": "made\n"}, "id": "w", "wait": false});
    let zdx = playing(json!([write, {"say": "meanwhile "}, {"gate": "a.txt"}, {"say": "written"}]));
    let pty = zdx.command().args(["--backend", "acp:fake"]).line_mode(40, 100);
    wait_for_prompt(&pty);
    pty.send("go\r");
    pty.wait_for_text("meanwhile", SOON);
    wait_for_question(&pty);
    assert!(!zdx.root().join("a.txt").exists(), "nothing runs before the answer");
    pty.send("y");
    pty.wait_for_text("written", SOON);
    assert_eq!(zdx.read("a.txt"), "made\n");
    pty.send("/revert\r");
    wait_until("it is taken back", || !zdx.root().join("a.txt").exists());
    leave(pty);
    assert_eq!(of_type(&zdx.records(), "tool_use").len(), 1);
}

#[test]
fn an_interrupt_reaches_every_question() {
    let write = json!({"ask": "fs/write_text_file", "params": {"path": "$cwd/late.txt", "content": "x"}, "id": "w", "wait": false});
    let zdx = playing(json!([write, permission(), {"wait": "cancel"}]));
    let pty = zdx.command().args(["--backend", "acp:fake"]).line_mode(40, 100);
    wait_for_prompt(&pty);
    pty.send("go\r");
    wait_for_question(&pty);
    pty.send("\x03");
    pty.wait_for_text("⚠ interrupted", SOON);
    // Nobody answered: it was stopped, and no denial is counted.
    assert!(!pty.contents().contains("tool call"), "{}", pty.contents());
    leave(pty);
    assert!(methods(&zdx).contains(&"session/cancel".to_owned()));
    assert!(chosen(&zdx).iter().all(|chosen| chosen == "cancelled"), "{:?}", chosen(&zdx));
    assert!(!zdx.root().join("late.txt").exists());
    assert_eq!(of_type(&zdx.records(), "interrupted").len(), 1);
}

#[test]
fn what_it_cannot_do_is_said_and_harms_nothing() {
    let zdx = with_backend(&json!({"initialize": {"agentCapabilities": {}}}));
    let pty = zdx.command().args(["--backend", "acp:fake"]).line_mode(40, 100);
    wait_for_prompt(&pty);
    pty.send("/context\r");
    pty.wait_for_text("who answers here does not say how full its context is", SOON);
    pty.send("/compact\r");
    pty.send("still there?\r");
    pty.wait_for_text("echo: still there?", SOON);
    leave(pty);
}

#[test]
fn what_was_shown_and_allowed_is_written_unasked_and_nothing_else_is() {
    let options = json!([{"optionId": "y", "name": "Yes", "kind": "allow_once"}, {"optionId": "n", "name": "No", "kind": "reject_once"}]);
    let ask = json!({"ask": "session/request_permission", "params": {"options": options, "toolCall": {
        "toolCallId": "x", "title": "write", "kind": "edit", "rawInput": {"filePath": "$cwd/a.txt"},
        "content": [{"type": "diff", "path": "$cwd/a.txt", "oldText": null, "newText": "made\n"}]}}});
    let write =
        |text: &str| json!({"ask": "fs/write_text_file", "params": {"path": "$cwd/a.txt", "content": text}});
    let zdx = playing(json!([ask, write("made\n"), {"say": "first done"}, write("other\n"), {"say": "two"}]));
    let pty = zdx.command().args(["--backend", "acp:fake"]).line_mode(40, 100);
    wait_for_prompt(&pty);
    pty.send("go\r");
    pty.wait_for_text("the agent asks: write", SOON);
    wait_for_question(&pty);
    assert!(!pty.contents().contains("dangerous"), "{}", pty.contents());
    pty.send("y");
    pty.wait_for_text("first done", SOON);
    assert_eq!(zdx.read("a.txt"), "made\n");
    pty.wait_for_text("-made", SOON);
    wait_for_question(&pty);
    pty.send("n\r");
    pty.wait_for_text("two", SOON);
    assert_eq!(zdx.read("a.txt"), "made\n");
    leave(pty);
}

#[test]
fn what_has_to_be_confirmed_is_asked_about_in_every_preset() {
    let ask = json!({"ask": "session/request_permission", "params": {
        "toolCall": {"toolCallId": "x", "title": "clean", "kind": "execute", "rawInput": {"command": "rm -rf kept"}},
        "options": [{"optionId": "y", "name": "Yes", "kind": "allow_once"}, {"optionId": "n", "name": "No", "kind": "reject_once"}]}});
    let zdx = playing(json!([ask, {"say": "asked"}]));
    zdx.write("kept/a.txt", "x");
    zdx.command().args(["exec", "--yolo", "--backend", "acp:fake", "-p", "go"]).run().success();
    assert_eq!(chosen(&zdx), ["n"], "nobody was there");
    let pty = zdx.command().args(["--yolo", "--backend", "acp:fake"]).line_mode(40, 100);
    wait_for_prompt(&pty);
    pty.send("go\r");
    pty.wait_for_text("dangerous", SOON);
    wait_for_question(&pty);
    pty.send("y");
    pty.wait_for_text("asked", SOON);
    leave(pty);
    assert_eq!(chosen(&zdx), ["n", "y"]);
}

#[test]
fn what_a_tool_of_ours_would_do_unasked_is_not_asked_about() {
    let options = json!([{"optionId": "y", "name": "Yes", "kind": "allow_once"}, {"optionId": "n", "name": "No", "kind": "reject_once"}]);
    let ask = |call: Value| json!({"ask": "session/request_permission", "params": {"options": options, "toolCall": call}});
    let zdx = playing(json!([
        ask(json!({"toolCallId": "1", "title": "Read a.txt", "kind": "read", "locations": [{"path": "$cwd/a.txt"}]})),
        ask(json!({"toolCallId": "2", "title": "ls", "kind": "execute", "rawInput": {"command": "ls"}})),
        ask(json!({"toolCallId": "3", "title": "Read", "kind": "read"})),
        ask(json!({"toolCallId": "4", "title": "Read", "kind": "read", "locations": [{"path": "/etc/shadow"}]})),
        {"say": "asked"}
    ]));
    zdx.write("a.txt", "x");
    let output =
        zdx.command().args(["exec", "--approval", "balanced", "--backend", "acp:fake", "-p", "go"]).run();
    assert_eq!(chosen(&zdx), ["y", "y", "n", "n"], "{}", output.stderr);
}

#[test]
fn a_call_that_was_refused_is_never_told_as_done() {
    let ask = permission();
    let done =
        json!({"update": {"sessionUpdate": "tool_call_update", "toolCallId": "x", "status": "completed"}});
    let zdx = playing(json!([ask, done, {"say": "all right"}]));
    let output = zdx
        .command()
        .args(["exec", "--approval", "balanced", "--format", "json", "--backend", "acp:fake", "-p", "go"])
        .run()
        .success();
    let lines = output.json_lines();
    let ended = of_type(&lines, "tool_finished");
    assert_eq!((ended.len(), &ended[0]["result"]["error"]["code"]), (1, &json!("rejected")), "{ended:?}");
}

#[test]
fn a_question_shows_what_the_agent_says_about_it() {
    let ask = json!({"ask": "session/request_permission", "params": {
        "toolCall": {"toolCallId": "x", "title": "Ready to code?", "kind": "switch_mode",
            "content": [{"type": "content", "content": {"type": "text", "text": "1. read\n2. write"}}]},
        "options": [{"optionId": "y", "name": "Yes", "kind": "allow_once"}, {"optionId": "n", "name": "No", "kind": "reject_once"}]}});
    let zdx = playing(json!([ask, {"say": "so be it"}]));
    let pty = zdx.command().args(["--backend", "acp:fake"]).line_mode(40, 100);
    wait_for_prompt(&pty);
    pty.send("go\r");
    pty.wait_for_text("let the agent do this: Ready to code?", SOON);
    wait_for_question(&pty);
    assert!(pty.contents().contains("2. write"), "{}", pty.contents());
    pty.send("y");
    pty.wait_for_text("so be it", SOON);
    leave(pty);
    assert_eq!(chosen(&zdx), ["y"]);
}
