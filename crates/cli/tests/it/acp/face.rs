//! What another agent does, as a person sees it on our screen: changes where they stand in the file, asked about and shown
//! once; what it prints while it runs; and a no that comes with a word.

use serde_json::{Value, json};

use super::backend::{chosen, exec, of_type, playing};
use super::sent_of;
use crate::SOON;
use crate::approvals::wait_for_question;
use crate::chat::{leave, wait_for_prompt};

fn options() -> Value {
    json!([{"optionId": "y", "name": "Yes", "kind": "allow_once"}, {"optionId": "n", "name": "No", "kind": "reject_once"}])
}

/// An edit as agents show it: only what will be different.
fn part() -> Value {
    json!([{"type": "diff", "path": "$cwd/a.txt", "oldText": "three", "newText": "drei"}])
}

#[test]
fn a_part_of_a_file_is_shown_in_its_place_asked_about_once_and_told_once() {
    let call = json!({"toolCallId": "c1", "title": "Edit `a.txt`", "kind": "edit", "locations": [{"path": "$cwd/a.txt"}], "content": part()});
    let mut told = call.clone();
    told["sessionUpdate"] = json!("tool_call");
    let zdx = playing(json!([
        {"update": told},
        {"ask": "session/request_permission", "params": {"toolCall": call, "options": options()}},
        {"ask": "fs/write_text_file", "params": {"path": "$cwd/a.txt", "content": "one\ntwo\ndrei\nfour\n"}},
        {"update": {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed", "content": part()}},
        {"say": "changed"}
    ]));
    zdx.write("a.txt", "one\ntwo\nthree\nfour\n");
    let pty = zdx.command().args(["--backend", "acp:fake"]).line_mode(40, 100);
    wait_for_prompt(&pty);
    pty.send("go\r");
    pty.wait_for_text("the agent asks: Edit a.txt", SOON);
    wait_for_question(&pty);
    pty.send("y\r");
    // One yes is enough.
    pty.wait_for_text("changed", SOON);
    let screen = pty.lines().join("\n");
    leave(pty);
    assert_eq!(std::fs::read_to_string(zdx.root().join("a.txt")).unwrap(), "one\ntwo\ndrei\nfour\n");
    assert!(!screen.contains("No newline"), "{screen}");
    let records = zdx.records();
    let diffs: Vec<&Value> =
        of_type(&records, "tool_result").into_iter().filter(|result| result["diff"].is_string()).collect();
    assert_eq!(diffs.len(), 1, "{diffs:#?}");
    assert_eq!(diffs[0]["diff"], "@@ -1,4 +1,4 @@\n one\n two\n-three\n+drei\n four\n");
}

#[test]
fn a_word_with_a_no_reaches_the_agent_as_the_next_thing_it_is_told() {
    let zdx = playing(json!([
        {"ask": "session/request_permission", "params": {"options": options(),
            "toolCall": {"toolCallId": "x", "title": "Run make deploy", "kind": "execute", "rawInput": {"command": "make deploy"}}}},
        {"ask": "terminal/create", "as": "made", "params": {"command": "pwd"}},
        {"ask": "terminal/wait_for_exit", "params": {"terminalId": "$made/terminalId"}},
        {"say": "so be it."}
    ]));
    let pty = zdx.command().args(["--backend", "acp:fake"]).line_mode(40, 100);
    wait_for_prompt(&pty);
    pty.send("go\r");
    pty.wait_for_text("$ make deploy", SOON);
    wait_for_question(&pty);
    pty.send("m\r");
    pty.wait_for_text("Reason for the model", SOON);
    wait_for_prompt(&pty);
    pty.send("use make check\r");
    // It plays the same again, in the same turn.
    pty.wait_for_text("so be it.", SOON);
    wait_for_question(&pty);
    pty.send("y\r");
    wait_for_prompt(&pty);
    leave(pty);
    assert_eq!(chosen(&zdx), ["n", "y"]);
    let prompts = sent_of(&zdx, "session/prompt");
    let texts: Vec<&Value> = prompts.iter().map(|prompt| &prompt["prompt"][0]["text"]).collect();
    assert_eq!(texts, ["go", "use make check"]);
    let records = zdx.records();
    let ids: Vec<&Value> = of_type(&records, "tool_use").iter().map(|call| &call["id"]).collect();
    assert!(matches!(ids[..], [one, other] if one != other), "{ids:?}");
}

#[test]
fn what_a_call_prints_is_told_as_it_comes_and_without_its_fence() {
    let shows = |text: &str, status: &str| {
        json!({"update": {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": status,
            "content": [{"type": "content", "content": {"type": "text", "text": text}}]}})
    };
    let zdx = playing(json!([
        {"update": {"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "`make all`", "kind": "execute", "status": "in_progress",
            "rawInput": {"command": "make all"}}},
        shows("one\n", "in_progress"), shows("one\ntwo\n", "in_progress"), shows("one\ntwo\n", "in_progress"),
        shows("```console\none\n  two\nthree\n```", "failed"),
        {"say": "tried"}
    ]));
    let output = exec(&zdx, &["--format", "json", "-p", "go"]).run().success();
    let lines = output.json_lines();
    let chunks: Vec<&Value> = of_type(&lines, "tool_progress").iter().map(|told| &told["chunk"]).collect();
    assert_eq!(chunks, ["one\n", "two\n"]);
    let finished = of_type(&lines, "tool_finished");
    assert_eq!(finished[0]["result"]["error"]["message"], "one\n  two\nthree");
    // A traceback keeps its lines on the screen too.
    let mut pty = zdx.command().args(["--backend", "acp:fake", "-c"]).pty(30, 100);
    pty.wait_for_text("      two", SOON);
    pty.send("\x04");
    assert_eq!(pty.wait_exit(SOON), 0);
}

#[test]
fn its_own_compact_is_what_compacts() {
    let commands = json!([{"name": "compact", "description": "Makes room"}]);
    let zdx = playing(json!([
        {"update": {"sessionUpdate": "available_commands_update", "availableCommands": commands}},
        {"say": "done."}
    ]));
    let pty = zdx.command().args(["--backend", "acp:fake"]).line_mode(40, 100);
    wait_for_prompt(&pty);
    // Nothing is known of it before.
    pty.send("/compact\r");
    pty.wait_for_text("nothing to compact", SOON);
    pty.send("go\r");
    pty.wait_for_text("done.", SOON);
    wait_for_prompt(&pty);
    pty.send("/compact\r");
    crate::mcp::wait_until("it is told", || sent_of(&zdx, "session/prompt").len() == 2);
    leave(pty);
    assert_eq!(sent_of(&zdx, "session/prompt")[1]["prompt"], json!([{"type": "text", "text": "/compact"}]));
}
