//! What Enter, Esc and a paste lead to on a terminal: nothing runs that nobody meant, and nothing is sent that was taken back.

use serde_json::json;
use zdx_testkit::{Gate, ModelServer, Pty, Reply, Step};

use crate::SOON;
use crate::tui_composer::{UP, echoing, prompts};
use crate::tui_start::{ask, leave, open, wait_idle};

const ESC: &str = "\x1b";

/// Nothing of the first answer comes until the gate opens.
fn silent(pty: &Pty, server: &ModelServer, gate: &Gate, prompt: &str) {
    server.push(Reply::chat().text("never said").done().after_events(0, Step::WaitFor(gate.clone())));
    pty.send(format!("{prompt}\r"));
    pty.wait_for_text("waiting for the model", SOON);
}

#[test]
fn enter_runs_what_is_meant_and_only_completes_a_guess() {
    let (server, zdx) = echoing();
    zdx.write("my notes.txt", "");
    let mut pty = open(&zdx, &[]);
    for (typed, listed, completed) in
        [("/ex", "▸ /exit", "› /exit"), ("/rev", "▸ /revert", "› /revert"), ("/k", "▸ /", "› /")]
    {
        pty.send(typed);
        pty.wait_for_text(listed, SOON);
        pty.send("\r");
        pty.wait_for(
            |screen| {
                let shown = screen.contents();
                shown.lines().any(|line| line.starts_with(completed) && line.len() > "› /rev".len())
            },
            SOON,
        );
        pty.send("\x15");
        pty.wait_for_text("› describe a task", SOON);
    }
    // The only one that begins so.
    pty.send("/conte");
    pty.wait_for_text("▸ /context", SOON);
    pty.send("\r");
    pty.wait_for_text("tokens", SOON);
    // What other agents call otherwise, and how people leave other programs.
    pty.send("!cat no");
    pty.send("\t");
    pty.wait_for_text("! cat 'my notes.txt'", SOON);
    pty.send("\x15/undo\r");
    pty.wait_for_text("there is no command /undo; here: /revert", SOON);
    pty.send("exit\r");
    assert_eq!(pty.wait_exit(SOON), 0);
    assert!(server.calls().is_empty());
}

#[test]
fn a_prompt_that_is_put_back_was_never_said_and_redo_says_it() {
    let (server, zdx) = echoing();
    let mut pty = open(&zdx, &[]);
    let gate = Gate::new();
    silent(&pty, &server, &gate, "delete the lot");
    pty.send(ESC);
    pty.wait_for_text("back to before turn 1", SOON);
    pty.wait_for_text("› delete the lot", SOON);
    pty.send("\x15");
    ask(&pty, "look at it", "heard: look at it");
    let sent = server.calls().last().unwrap().body.to_string();
    assert!(sent.contains("look at it") && !sent.contains("delete the lot"), "{sent}");
    silent(&pty, &server, &gate, "and the rest");
    pty.send(ESC);
    pty.wait_for_text("› and the rest", SOON);
    wait_idle(&pty);
    pty.send("\x15/redo\r");
    pty.wait_for_text("forth again to the end of turn", SOON);
    ask(&pty, "go on", "heard: and the rest");
    let sent = server.calls().last().unwrap().body.to_string();
    assert!(sent.contains("and the rest"), "{sent}");
    leave(&mut pty);
}

#[test]
fn behind_a_turn_that_failed_what_is_queued_waits() {
    let (server, zdx) = echoing();
    let mut pty = open(&zdx, &[]);
    let gate = Gate::new();
    let refused = Reply::status(400).json(json!({"error": {"message": "no such luck"}}));
    server.push(refused.after_events(0, Step::WaitFor(gate.clone())));
    pty.send("first\r");
    pty.wait_for_text("waiting for the model", SOON);
    for text in ["A", "/model test/other", "B"] {
        pty.send(format!("{text}\r"));
        pty.wait_for_text(&format!("queued: {text}"), SOON);
    }
    gate.open();
    pty.wait_for_text("no such luck", SOON);
    pty.wait_for_text("3 queued · Enter sends the next", SOON);
    assert_eq!(server.calls().len(), 1);
    pty.send("\r");
    pty.wait_for_text("heard: B", SOON);
    wait_idle(&pty);
    // What failed stays said.
    assert_eq!(prompts(&server), ["first", "first\n\nA", "B"]);
    assert_eq!(server.calls()[2].body["model"], "other");
    leave(&mut pty);
}

#[test]
fn what_is_pasted_runs_nothing_and_kinds_are_never_merged() {
    let (server, zdx) = echoing();
    let pty = open(&zdx, &[]);
    pty.send("\x1b[200~!touch pasted\x1b[201~");
    pty.wait_for_text("› \\!touch pasted", SOON);
    pty.send("\r");
    pty.wait_for_text("heard: !touch pasted", SOON);
    wait_idle(&pty);
    assert_eq!(prompts(&server), ["\\!touch pasted"]);
    assert!(!zdx.root().join("pasted").exists());
    let gate = Gate::new();
    silent(&pty, &server, &gate, "first");
    pty.send("!echo A\r");
    pty.wait_for_text("queued: !echo A", SOON);
    pty.send("please rm nothing\r");
    pty.wait_for_text("queued: please rm nothing", SOON);
    pty.send(UP);
    pty.wait_for_text("› please rm nothing", SOON);
    pty.send(UP);
    pty.send("\x05 now");
    pty.wait_for_text("now", SOON);
    let shown = pty.contents();
    assert!(shown.contains("queued: !echo A") && !shown.contains("› !echo A"), "{shown}");
    gate.open();
    pty.wait_for_text("never said", SOON);
}

#[test]
fn another_model_is_as_full_as_it_is_at_once() {
    let (server, zdx) = echoing();
    let models = json!({"data": [
        {"id": "scripted", "max_model_len": 100_000},
        {"id": "small", "max_model_len": 10_000},
    ]});
    server.models(Reply::status(200).json(models));
    let mut pty = open(&zdx, &[]);
    ask(&pty, "hello", "heard: hello");
    let full = |shown: &str| {
        let foot = shown.lines().last().unwrap_or_default();
        foot.split("ctx ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<u64>().ok())
    };
    assert!(full(&pty.contents()).is_some_and(|percent| percent < 20), "{}", pty.contents());
    pty.send("/model small\r");
    pty.wait_for_text("model: test/small", SOON);
    pty.wait_for(|screen| full(&screen.contents()).is_some_and(|percent| percent > 20), SOON);
    assert_eq!(server.calls().len(), 1);
    leave(&mut pty);
}

#[test]
fn what_the_server_listed_is_offered_behind_model() {
    let (server, zdx) = echoing();
    server.models(Reply::status(200).json(json!({"data": [{"id": "scripted"}, {"id": "smaller"}]})));
    let mut pty = open(&zdx, &[]);
    // Nobody asked it yet, and nobody asks it for a letter that is typed.
    pty.send("/model");
    pty.wait_for_text("list the models", SOON);
    pty.send("\r");
    pty.wait_for_text("smaller", SOON);
    pty.send("\x1b");
    wait_idle(&pty);
    pty.send("/model sm");
    pty.wait_for_text("test/smaller", SOON);
    pty.send("\t\r");
    pty.wait_for_text("model: test/smaller", SOON);
    pty.send("/copy c");
    pty.wait_for_text("its last block of code", SOON);
    pty.send("\x15");
    leave(&mut pty);
}

/// What is sent while a stopped turn has yet to end is meant as the next message; what waited before is perhaps not wanted.
#[test]
fn what_is_sent_after_esc_goes_out_when_the_turn_has_ended() {
    let (server, zdx) = echoing();
    let mut pty = open(&zdx, &["--yolo"]);
    let stubborn = json!({"command": "trap '' TERM; echo begun; while :; do sleep 0.05; done"});
    server.push(Reply::chat().tool_call("c", "bash", stubborn));
    pty.send("first\r");
    pty.wait_for_text("begun", SOON);
    pty.send("before\r");
    pty.wait_for_text("queued: before", SOON);
    // Esc as terminals spell it that leave no doubt where it ends.
    pty.send("\x1b[27uafter\r");
    pty.wait_for_glimpse("queued: after", SOON);
    pty.wait_for_text("heard: after", SOON);
    pty.wait_for_text("1 queued · Enter sends it", SOON);
    assert_eq!(server.calls().len(), 2);
    pty.send("\r");
    pty.wait_for_text("heard: before", SOON);
    wait_idle(&pty);
    assert_eq!(prompts(&server).last().map(String::as_str), Some("before"));
    leave(&mut pty);
}
