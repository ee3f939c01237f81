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
    // Line mode shows what comes behind a request once it is answered: either may be first.
    wait_for_question(&pty);
    assert!(!zdx.root().join("a.txt").exists(), "nothing runs before the answer");
    pty.send("y\r");
    pty.wait_for_text("meanwhile", SOON);
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
    pty.send("y\r");
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
    pty.send("y\r");
    pty.wait_for_text("asked", SOON);
    leave(pty);
    assert_eq!(chosen(&zdx), ["n", "y"]);
}

/// What the agent was answered to each of these calls, with nobody to ask and rules that let much pass.
fn answered(calls: &[Value], args: &[&str]) -> Vec<String> {
    let options = json!([{"optionId": "y", "name": "Yes", "kind": "allow_once"}, {"optionId": "n", "name": "No", "kind": "reject_once"}]);
    let ask = |(n, call): (usize, &Value)| {
        let mut call = call.clone();
        call["toolCallId"] = json!(format!("c{n}"));
        json!({"ask": "session/request_permission", "params": {"options": options, "toolCall": call}})
    };
    let asks = calls.iter().enumerate().map(ask);
    let zdx = playing(Value::Array(asks.chain([json!({"say": "asked"})]).collect()))
        .config_more("[permission]\nwrite = \"allow\"\n");
    zdx.write("a.txt", "x");
    std::fs::create_dir(zdx.root().join("sub")).unwrap();
    let output = zdx.command().args(["exec", "--backend", "acp:fake", "-p", "go"]).args(args).run();
    let chosen = chosen(&zdx);
    assert_eq!(chosen.len(), calls.len(), "{}", output.stderr);
    chosen
}

/// Neither title nor kind lets anything pass, and neither does an input of which something is not understood.
#[test]
fn no_permission_passes_unasked_for_what_it_calls_itself() {
    let diff = |path: &str| json!([{"type": "diff", "path": path, "oldText": "x", "newText": "y"}]);
    let calls = [
        // Kind and title of a read, and an input that writes or runs something, or says nothing.
        json!({"kind": "read", "title": "Read file"}),
        json!({"kind": "read", "title": "Read a.txt", "locations": [{"path": "$cwd/a.txt"}]}),
        json!({"kind": "read", "title": "Read a.txt", "rawInput": {}}),
        json!({"kind": "read", "title": "Read a.txt", "rawInput": {"path": "a.txt"}}),
        json!({"kind": "read", "title": "Read a.txt", "rawInput": {"path": "a.txt", "content": "new"}}),
        json!({"kind": "read", "title": "Read file", "rawInput": {"path": "a.txt", "mode": "delete"}}),
        json!({"kind": "read", "title": "Read file", "rawInput": {"command": "ls"}}),
        json!({"kind": "search", "title": "Search", "rawInput": {"command": "cat a.txt"}}),
        json!({"kind": "read", "title": "Read a.txt", "rawInput": {"path": "a.txt"}, "content": diff("a.txt")}),
        json!({"kind": "think", "title": "Think", "rawInput": {"thought": "x"}}),
        // Titles that are commands.
        json!({"kind": "execute", "title": "ls"}),
        json!({"kind": "execute", "title": "`cat a.txt`", "rawInput": {"script": "touch made"}}),
        json!({"kind": "execute", "title": "`ls`", "rawInput": {}}),
        json!({"title": "ls"}),
        // Commands with more than is understood.
        json!({"kind": "execute", "title": "ls", "rawInput": {"command": "ls", "env": {"PATH": "."}}}),
        json!({"kind": "execute", "title": "ls", "rawInput": {"command": "ls", "run_in_background": true}}),
        json!({"kind": "execute", "title": "ls", "rawInput": {"command": "ls", "stdin": "x"}}),
        json!({"kind": "execute", "title": "ls", "rawInput": {"command": "ls", "shell": "./sh"}}),
        json!({"kind": "execute", "title": "ls", "rawInput": {"command": "ls", "cmd": "touch made"}}),
        json!({"kind": "execute", "title": "ls", "rawInput": {"command": "ls", "args": ["; touch made"]}}),
        json!({"kind": "execute", "title": "ls", "rawInput": {"command": ["ls", "; touch made"]}}),
        json!({"kind": "execute", "title": "ls", "rawInput": {"command": ["ls", {"and": "touch made"}]}}),
        json!({"kind": "execute", "title": "ls", "rawInput": {"command": {"text": "ls"}}}),
        json!({"kind": "execute", "title": "ls", "rawInput": {"command": "ls", "cwd": "/etc"}}),
        json!({"kind": "execute", "title": "ls", "rawInput": {"command": "ls", "cwd": "$HOME"}}),
        json!({"kind": "execute", "title": "ls", "rawInput": {"command": "ls", "cwd": ".", "workdir": "/etc"}}),
        json!({"kind": "execute", "title": "ls", "rawInput": {"command": "ls", "then": {"command": "touch made"}}}),
        json!({"kind": "execute", "title": "ls", "rawInput": [{"command": "ls"}]}),
        json!({"kind": "execute", "title": "ls", "rawInput": "ls"}),
        json!({"kind": "other", "title": "ls", "rawInput": {"command": "ls"}}),
        json!({"kind": "execute", "title": "ls", "rawInput": {"command": "ls"}, "content": diff("a.txt")}),
        // Changes, which the rules allow, with more than is understood.
        json!({"kind": "edit", "title": "Edit a.txt"}),
        json!({"kind": "edit", "title": "Edit a.txt", "content": diff("a.txt")}),
        json!({"kind": "edit", "title": "Edit", "rawInput": {"path": "a.txt", "content": "x", "run": "make"}}),
        json!({"kind": "edit", "title": "Edit", "rawInput": {"path": "a.txt", "content": {"command": "make"}}}),
        json!({"kind": "edit", "title": "Edit", "rawInput": {"path": "a.txt", "file_path": "/etc/x", "content": "x"}}),
        json!({"kind": "edit", "title": "Edit", "rawInput": {"path": "a.txt", "to": "$HOME/x", "content": "x"}}),
        json!({"kind": "edit", "title": "Edit", "rawInput": {"paths": ["a.txt", "../x"], "content": "x"}}),
        json!({"kind": "edit", "title": "Edit", "rawInput": {"path": "a.txt", "content": "x", "command": "ls"}}),
        json!({"kind": "delete", "title": "Delete", "rawInput": {"path": "a.txt"}}),
        json!({"kind": "edit", "title": "Edit", "rawInput": {"path": "a.txt", "content": "x"}, "content": diff("../x")}),
        json!({"kind": "edit", "title": "Edit", "rawInput": {"path": ".git/hooks/x", "content": "x"}}),
        json!({"kind": "edit", "title": "Edit", "rawInput": {"path": "a.txt", "absolute_path": ".git/hooks/x", "content": "x"}}),
        json!({"kind": "edit", "title": "Edit", "rawInput": {"path": "a.txt", "notebook_path": ".envrc", "content": "x"}}),
        json!({"kind": "edit", "title": "Edit", "rawInput": {"path": "a.txt", "patch": "*** Begin Patch\n*** Update File: .envrc\n+x"}}),
        json!({"kind": "edit", "title": "Edit", "rawInput": {"path": "a.txt", "edits": [{"diff": "+++ b/.git/hooks/x\n"}]}}),
        json!({"kind": "edit", "title": "Edit", "rawInput": {"path": "a.txt", "patch": "w .envrc"}}),
        json!({"kind": "edit", "title": "Edit", "rawInput": {"path": ".envrc\n", "content": "x"}}),
        json!({"kind": "execute", "title": "ls", "rawInput": {"command": "ls", "timeout": "5; touch made"}}),
    ];
    let chosen = answered(&calls, &["--approval", "balanced"]);
    for (call, chosen) in calls.iter().zip(&chosen) {
        assert_eq!(chosen, "n", "{call}");
    }
}

/// Requests as real agents make them: what they say themselves is judged like a call of ours.
#[test]
fn what_an_input_says_by_itself_is_judged_like_a_call_of_ours() {
    let claude = json!({"command": "ls -la", "description": "List files", "timeout": 1000});
    let opencode = json!({"command": "cat a.txt", "description": "Show it", "workdir": "$cwd"});
    let qwen = json!({"command": "ls", "is_background": false, "description": "List", "directory": "sub"});
    let edit = json!({"file_path": "$cwd/a.txt", "old_string": "x", "new_string": "y", "replace_all": false});
    let codex = json!({"call_id": "1", "command": ["bash", "-lc", "ls"], "cwd": "$cwd", "parsed_cmd": [{"type": "list_files"}]});
    let calls = [
        (json!({"kind": "execute", "title": "`ls -la`", "rawInput": claude}), "y"),
        (json!({"kind": "execute", "title": "bash", "rawInput": opencode}), "y"),
        (json!({"kind": "execute", "title": "ls", "rawInput": qwen}), "y"),
        (json!({"kind": "execute", "title": "git", "rawInput": {"command": "git", "args": ["status"]}}), "n"),
        (json!({"kind": "execute", "title": "ls", "rawInput": {"command": ["ls", "-a"]}}), "y"),
        (json!({"kind": "edit", "title": "Edit a.txt", "rawInput": edit}), "y"),
        (
            json!({"kind": "edit", "title": "edit", "rawInput": {"filepath": "$cwd/a.txt", "diff": "-x\n+y\n"}}),
            "y",
        ),
        (
            json!({"kind": "edit", "title": "Write", "rawInput": {"file_path": "new.txt", "content": "x"}}),
            "y",
        ),
        (json!({"kind": "execute", "title": "touch", "rawInput": {"command": "touch made"}}), "n"),
        (json!({"kind": "execute", "title": "ls", "rawInput": codex}), "n"),
        // gemini brings no input.
        (json!({"kind": "execute", "title": "ls [current working directory /x] (List)"}), "n"),
        (json!({"kind": "edit", "title": "../x", "rawInput": {"path": "../x", "content": "x"}}), "n"),
    ];
    let (asked, expected): (Vec<Value>, Vec<&str>) = calls.into_iter().unzip();
    let chosen = answered(&asked, &["--approval", "balanced"]);
    for ((call, chosen), expected) in asked.iter().zip(&chosen).zip(expected) {
        assert_eq!(chosen, expected, "{call}");
    }
}

/// Where nearly all passes, what an input runs or changes is still what is judged, not what the call is named.
#[test]
fn yolo_passes_nothing_dangerous_under_a_harmless_name() {
    let calls = [
        json!({"kind": "read", "title": "Read a.txt", "rawInput": {"command": "rm -rf a.txt"}}),
        json!({"kind": "read", "title": "Read a.txt", "rawInput": {"path": "a.txt", "then": [{"cmd": "sudo id"}]}}),
        json!({"kind": "execute", "title": "ls", "rawInput": {"command": "ls", "input": {"command": "rm a.txt"}}}),
        json!({"kind": "execute", "title": "ls", "rawInput": {"command": "ls", "command_line": "rm a.txt"}}),
        json!({"kind": "search", "title": "Search", "rawInput": {"path": ".git/hooks/pre-commit", "content": "x"}}),
        json!({"kind": "edit", "title": "Edit", "rawInput": {"path": ".git/config", "to": "$HOME/x", "content": "x"}}),
        json!({"kind": "other", "title": "Plan", "rawInput": {"plan": "x"}, "content": [{"type": "diff", "path": ".envrc", "newText": "x"}]}),
        json!({"kind": "edit", "title": "Edit", "rawInput": {"notebook_path": ".envrc"}}),
        json!({"kind": "edit", "title": "Edit", "rawInput": {"path": "a.txt", "absolute_path": ".git/hooks/x", "content": "x"}}),
        json!({"kind": "edit", "title": "Edit", "rawInput": {"path": "a.txt", "patch": "*** Begin Patch\n*** Update File: .envrc\n+x"}}),
    ];
    let chosen = answered(&calls, &["--yolo"]);
    for (call, chosen) in calls.iter().zip(&chosen) {
        assert_eq!(chosen, "n", "{call}");
    }
}

/// A person is shown what runs, and what of the input zdx does not understand.
#[test]
fn what_is_not_understood_is_shown_to_the_person() {
    let ask = json!({"ask": "session/request_permission", "params": {
        "toolCall": {"toolCallId": "x", "title": "Read file", "kind": "read",
            "rawInput": {"command": "ls", "env": {"PATH": "."}}},
        "options": [{"optionId": "y", "name": "Yes", "kind": "allow_once"}, {"optionId": "n", "name": "No", "kind": "reject_once"}]}});
    let zdx = playing(json!([ask, {"say": "asked"}]));
    let pty = zdx.command().args(["--backend", "acp:fake"]).line_mode(40, 100);
    wait_for_prompt(&pty);
    pty.send("go\r");
    wait_for_question(&pty);
    let shown = pty.contents();
    assert!(shown.contains("$ ls") && shown.contains("zdx does not understand env="), "{shown}");
    assert!(!shown.contains("[a] always"), "{shown}");
    pty.send("n\r");
    pty.wait_for_text("asked", SOON);
    leave(pty);
    assert_eq!(chosen(&zdx), ["n"]);
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
    pty.send("y\r");
    pty.wait_for_text("so be it", SOON);
    leave(pty);
    assert_eq!(chosen(&zdx), ["y"]);
}
