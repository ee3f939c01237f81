//! What stood on the screen stands there again when somebody comes back: the same rows, with what they said.

use std::time::Duration;

use serde_json::json;
use zdx_testkit::{ChatReply, ModelServer, Pty, Reply, Signal, Zdx};

use crate::tui_start::{leave, open, wait_idle};
use crate::turns::chat_results;
use crate::{SOON, place};

/// Prints in turns to both streams: each line waits until the one before it was read.
const BOTH: &str = "echo one; sleep 0.2; echo two >&2; sleep 0.2; echo three; exit 3\n";

fn bash(id: &str, command: &str) -> ChatReply {
    Reply::chat().tool_call(id, "bash", json!({"command": command}))
}

/// The rows of the conversation, from this prompt on. How long a thought took is measured where it is shown, and what was
/// interrupted ends where its last record stands.
fn rows(pty: &Pty, from: &str) -> Vec<String> {
    let lines = pty.lines();
    let start = lines.iter().position(|line| line == from).unwrap_or_else(|| panic!("{from} in {lines:#?}"));
    let end = lines.iter().rposition(|line| line.starts_with('›')).unwrap_or(lines.len());
    let timeless = |line: &String| match line.split_once("thought for ") {
        Some((before, rest)) => {
            format!("{before}thought for {}", rest.split_once(" s").map_or("", |(_, behind)| behind))
        }
        None if line.starts_with("⚠ interrupted") => {
            line.split(" · ").filter(|part| !part.ends_with(" s")).collect::<Vec<_>>().join(" · ")
        }
        None => line.clone(),
    };
    let mut rows: Vec<String> = lines[start..end].iter().map(timeless).collect();
    while rows.last().is_some_and(|row| row.trim().is_empty()) {
        rows.pop();
    }
    rows
}

fn say(pty: &Pty, prompt: &str, wanted: &str) {
    pty.send(format!("{prompt}\r"));
    pty.wait_for_text(wanted, SOON);
    wait_idle(pty);
}

fn wait_for_question(pty: &Pty) {
    pty.wait_for_text("waiting for you", SOON);
    crate::tui_approval::wait_for_focus(pty);
}

fn again(zdx: &Zdx, args: &[&str], from: &str) -> Vec<String> {
    let mut pty = open(zdx, args);
    pty.wait_for_text("ctx ", SOON);
    let rows = rows(&pty, from);
    leave(&mut pty);
    rows
}

#[test]
fn a_session_that_is_resumed_looks_as_it_did() {
    let server = ModelServer::start();
    let zdx = place().chat(&server).config_more("[validation]\ncommand = \"sh check.sh\"");
    zdx.write("check.sh", "echo 'line 7 is wrong'; exit 1\n");
    zdx.write("both.sh", BOTH);
    zdx.write("build/kept", "");
    let mut pty = open(&zdx, &["--yolo"]);
    server.push(Reply::chat().tool_call("w", "write", json!({"path": "a.rs", "content": "bad\n"})));
    server.push(Reply::chat().text("it is written"));
    server.push(Reply::chat().text("it is fine as it is"));
    say(&pty, "write it", "check still fails");
    say(&pty, "!sh both.sh", "exit 3");
    say(&pty, "!true", "exit 0");
    server.push(Reply::chat().done());
    say(&pty, "say nothing", "the model answered with nothing");
    zdx.write("check.sh", "exit 0\n");
    server.push(bash("b", "sh both.sh"));
    server.push(
        Reply::chat().reasoning("let me see").text("so it prints").done().paced(Duration::from_millis(600)),
    );
    say(&pty, "run it", "so it prints");
    server.push(Reply::chat().text("half an ans").finish("length").usage(10, 21));
    say(&pty, "be cut", "was cut off by the server after 21 tokens");
    server.push(
        Reply::chat().tool_call("t", "task", json!({"agent": "general", "prompt": "help"})).usage(100, 10),
    );
    server.push(bash("c", "false").usage(1000, 10));
    server.push(bash("d", "true").usage(1000, 10));
    server.push(Reply::chat().text("I helped").usage(1000, 10));
    server.push(Reply::chat().text("it was helped").usage(100, 10));
    say(&pty, "have it done", "it was helped");
    server.push(bash("e", "rm -rf build").tool_call(
        "f",
        "write",
        json!({"path": "b.txt", "content": "x\n"}),
    ));
    pty.send("remove it\r");
    wait_for_question(&pty);
    pty.send("\x1b");
    pty.wait_for_text("interrupted", SOON);
    wait_idle(&pty);
    let shown = rows(&pty, "› write it");
    leave(&mut pty);
    let told = shown.join("\n");
    for part in [
        "✗ Check failed sh check.sh",
        "    line 7 is wrong",
        "    one\n    two\n    three",
        "thought for",
        "⚠ the model answered with nothing",
        "⚠ the last check failed, and nothing was changed since: sh check.sh",
        "• Check passed sh check.sh",
        "⚠ the answer was cut off by the server after 21 tokens",
        "· 2 calls · 1 failed",
        " · 100 in · 50 out",
        "✗ Run rm -rf build · not run: interrupted",
        "✗ Write b.txt · not run: interrupted",
    ] {
        assert!(told.contains(part), "{part} in {told}");
    }
    assert_eq!(told.matches("    one\n    two\n    three").count(), 2, "{told}");
    assert_eq!(again(&zdx, &["-c"], "› write it"), shown);
}

/// Who is killed at a question has run nothing, and the model must not believe otherwise.
#[test]
fn what_was_never_answered_never_ran() {
    let server = ModelServer::start();
    let zdx = place().chat(&server);
    zdx.write("build/kept", "");
    let mut pty = open(&zdx, &["--yolo"]);
    server.push(bash("e", "rm -rf build").tool_call("f", "bash", json!({"command": "touch made"})));
    pty.send("remove it\r");
    wait_for_question(&pty);
    pty.signal(Signal::KILL);
    pty.wait_exit(SOON);
    let mut pty = open(&zdx, &["-c"]);
    pty.wait_for_text("✗ Run rm -rf build · not run: interrupted", SOON);
    pty.wait_for_text("✗ Run touch made · not run: interrupted", SOON);
    server.push(Reply::chat().text("I see"));
    say(&pty, "and now?", "I see");
    leave(&mut pty);
    let results = chat_results(&server.calls().pop().unwrap());
    for (_, result) in &results {
        assert_eq!(result["error"]["code"], "not_run");
        assert!(result["error"]["message"].as_str().unwrap().contains("never ran"), "{result}");
    }
    assert_eq!(results.len(), 2);
}

#[test]
fn who_stops_at_the_checks_question_keeps_the_answer() {
    let server = ModelServer::start();
    let zdx = place().chat(&server).config_more("[validation]\ncommand = \"rm -f gone; touch checked\"");
    let mut pty = open(&zdx, &[]);
    server.push(Reply::chat().tool_call("w", "write", json!({"path": "a.rs", "content": "x\n"})));
    server.push(Reply::chat().text("it is written"));
    pty.send("write it\r");
    wait_for_question(&pty);
    pty.send("y");
    pty.wait_for_text("touch checked", SOON);
    wait_for_question(&pty);
    pty.send("\x1b");
    pty.wait_for_text("— ANSWER", SOON);
    wait_idle(&pty);
    let shown = rows(&pty, "› write it");
    assert!(!shown.iter().any(|row| row.starts_with("⚠ interrupted")), "{shown:#?}");
    leave(&mut pty);
    assert_eq!(again(&zdx, &["-c"], "› write it"), shown);
    assert!(!zdx.root().join("checked").exists());
}

/// Whoever comes back to files that somebody put back, or wrote anew, hears of it, and so does the model.
#[test]
fn who_comes_back_hears_what_changed_since() {
    let server = ModelServer::start();
    let zdx = place().chat(&server);
    zdx.write("a.txt", "old\n");
    let mut pty = open(&zdx, &["--yolo"]);
    let write = |id: &str, path: &str| {
        Reply::chat().tool_call(id, "write", json!({"path": path, "content": "new\n"}))
    };
    for (id, path) in [("w1", "a.txt"), ("w2", "b.txt"), ("w3", "c.txt")] {
        server.push(write(id, path));
    }
    server.push(Reply::chat().text("it is written"));
    say(&pty, "write them", "it is written");
    leave(&mut pty);
    let mut pty = open(&zdx, &["-c"]);
    pty.wait_for_text("ctx ", SOON);
    assert!(!pty.contents().contains("changed since"), "nothing did: {}", pty.contents());
    leave(&mut pty);

    zdx.write("a.txt", "old\n");
    zdx.write("b.txt", "other\n");
    let file = &zdx.session_files()[0];
    let saved = std::fs::read_to_string(file).unwrap();
    let long_ago = saved.lines().map(|line| {
        let mut record: serde_json::Value = serde_json::from_str(line).unwrap();
        let ts: jiff::Timestamp = record["ts"].as_str().unwrap().parse().unwrap();
        record["ts"] = json!((ts - jiff::SignedDuration::from_hours(50)).to_string());
        format!("{record}\n")
    });
    std::fs::write(file, long_ago.collect::<String>()).unwrap();
    let mut pty = open(&zdx, &["-c"]);
    pty.wait_for_text("resumed · 2 days ago · 2 files changed since: a.txt, b.txt", SOON);
    say(&pty, "/files", "b.txt · changed since");
    let shown = pty.contents();
    for part in ["a.txt · since then as before", "b.txt · changed since"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    for (prompt, answer) in [("go on", "I see"), ("and on", "fine")] {
        server.push(Reply::chat().text(answer));
        say(&pty, prompt, answer);
    }
    leave(&mut pty);
    let heard = server.calls().pop().unwrap().body.to_string();
    let word = "changed files that you had changed: a.txt (as it was before your changes), b.txt. ";
    assert_eq!(heard.matches(word).count(), 1, "{heard}");
}

/// What was answered to an agent that works for this one stands above its task, then and later.
#[test]
fn a_task_looks_as_it_did() {
    let server = ModelServer::start();
    let zdx = place().chat(&server);
    let mut pty = open(&zdx, &[]);
    server.push(Reply::chat().tool_call("t", "task", json!({"agent": "general", "prompt": "help"})));
    server.push(bash("a", "touch no"));
    server.push(bash("b", "touch yes"));
    server.push(bash("c", "touch always"));
    server.push(Reply::chat().text("I did some"));
    server.push(Reply::chat().text("it was done"));
    pty.send("go\r");
    for (asks, key) in [
        ("help", "y"),
        ("$ touch no", "n"),
        ("$ touch yes", "y"),
        ("$ touch always", "a"),
        ("s  for this session", "s"),
    ] {
        pty.wait_for_text(asks, SOON);
        wait_for_question(&pty);
        match key {
            "a" | "s" => crate::tui_approval::confirm(&pty, key),
            _ => pty.send(key),
        }
    }
    pty.wait_for_text("it was done", SOON);
    wait_idle(&pty);
    let shown = rows(&pty, "› go");
    leave(&mut pty);
    for row in [
        "✗ Run touch no · denied",
        "✓ allowed: touch yes",
        "✓ allowed for this session: the command touch always",
    ] {
        assert!(shown.iter().any(|shown| shown == row), "{row} in {shown:#?}");
    }
    assert_eq!(again(&zdx, &["--continue"], "› go"), shown);
}

/// A no to what an agent wanted that works for this one reads like any no, and a task that was stopped had begun.
#[test]
fn a_no_to_a_helper_reads_like_any_no() {
    let server = ModelServer::start();
    let zdx = place().chat(&server);
    let mut pty = open(&zdx, &[]);
    let task = || Reply::chat().tool_call("t", "task", json!({"agent": "general", "prompt": "help"}));
    server.push(task());
    server.push(bash("c", "touch made"));
    server.push(Reply::chat().text("I could not"));
    server.push(Reply::chat().text("it was not done"));
    pty.send("go\r");
    wait_for_question(&pty);
    pty.send("y");
    pty.wait_for_text("$ touch made", SOON);
    wait_for_question(&pty);
    pty.send("n");
    pty.wait_for_text("it was not done", SOON);
    wait_idle(&pty);
    let shown = rows(&pty, "› go");
    assert!(shown.iter().any(|row| row == "✗ Run touch made · denied"), "{shown:#?}");
    let row = shown.iter().find(|row| row.starts_with("• Task general: help")).expect("the task's row");
    assert!(row.contains("· 1 call · 1 denied") && !row.contains("failed"), "{row}");
    server.push(task());
    server.push(bash("c", "touch made"));
    pty.send("again\r");
    wait_for_question(&pty);
    pty.send("y");
    pty.wait_for_text("$ touch made", SOON);
    wait_for_question(&pty);
    pty.send("\x1b");
    pty.wait_for_text("⚠ interrupted", SOON);
    wait_idle(&pty);
    let shown = rows(&pty, "› again");
    let row = shown.iter().find(|row| row.starts_with("✗ Task general: help")).expect("the task's row");
    assert!(row.contains("interrupted") && !row.contains("not run"), "{row}");
    leave(&mut pty);
    assert!(!zdx.root().join("made").exists());
}

/// What is told again of a copy would else look like the session itself.
#[test]
fn a_fork_says_what_it_is_one_of_and_how_far_it_goes() {
    let (server, zdx) = crate::tui_composer::echoing();
    let mut pty = open(&zdx, &[]);
    for prompt in ["one", "two", "three"] {
        say(&pty, prompt, &format!("heard: {prompt}"));
    }
    let id = zdx.session_files()[0].file_stem().unwrap().to_str().unwrap()[..8].to_owned();
    for (line, part) in [("/fork 3", "up to turn 2"), ("/fork 1", "from before its first turn")] {
        pty.send(format!("{line}\r"));
        pty.wait_for_text(&format!("{part}; /resume "), SOON);
        wait_idle(&pty);
    }
    let shown = pty.contents();
    assert!(
        shown.contains(&format!("this is a fork of session {id}, up to turn 2; /resume {id} goes")),
        "{shown}"
    );
    assert_eq!(server.calls().len(), 3);
    leave(&mut pty);
}
