//! The terminal that is left behind: after every way to go, after Ctrl-Z and fg, and when it goes away itself.

use std::fs;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{PidfdFlags, pidfd_open};
use serde_json::json;
use zdx_testkit::{Gate, ModelServer, Pty, Reply, Signal, Step, Zdx};

use crate::tui_approval::wait_for_focus;
use crate::tui_start::{ask, count, open, wait_idle};
use crate::{SOON, with_model};

/// Whatever was turned on is off again.
#[track_caller]
fn assert_clean(pty: &Pty, how: &str) {
    let (screen, raw) = (pty.screen(), pty.raw());
    assert!(!screen.bracketed_paste(), "{how}: pastes are marked");
    assert!(!screen.hide_cursor(), "{how}: no cursor");
    assert!(!screen.alternate_screen(), "{how}: another screen");
    assert!(!screen.application_cursor() && !screen.application_keypad(), "{how}: keys");
    for (on, off) in [
        ("\x1b[?2004h", "\x1b[?2004l"),
        ("\x1b[?1004h", "\x1b[?1004l"),
        ("\x1b[>1u", "\x1b[<u"),
        ("\x1b[22;2t", "\x1b[23;2t"),
    ] {
        let (on, off) = (count(&raw, on.as_bytes()), count(&raw, off.as_bytes()));
        assert!(on > 0 && on == off, "{how}: {on} times on, {off} times off");
    }
    assert!(
        raw.windows(8).rposition(|bytes| bytes == b"\x1b[?2026l")
            > raw.windows(8).rposition(|bytes| bytes == b"\x1b[?2026h")
    );
}

/// The front end in a shell, which notes how the terminal was before and after.
fn in_shell(zdx: &Zdx, args: &str) -> Pty {
    let pty = zdx.command().shell(30, 100);
    pty.wait_for_text("shell$", SOON);
    pty.send(format!(
        "clear; bind 'set enable-bracketed-paste off' 2>/dev/null; stty -g > before; \
         sh -c 'echo $$ > pid; exec \"$ZDX\" {args}'; echo code=$?; stty -g > after\r"
    ));
    pty.wait_for_text("agent build", SOON);
    wait_idle(&pty);
    pty
}

fn same_modes(zdx: &Zdx, pty: &Pty) {
    let until = Instant::now() + SOON;
    let read = |name: &str| fs::read_to_string(zdx.root().join(name)).unwrap_or_default();
    while read("after").is_empty() {
        assert!(Instant::now() < until, "{}", pty.contents());
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(read("after"), read("before"));
}

fn pid(zdx: &Zdx) -> rustix::process::Pid {
    let pid = zdx.read("pid").trim().parse().unwrap();
    rustix::process::Pid::from_raw(pid).unwrap()
}

#[test]
fn every_way_to_go_leaves_the_terminal_as_it_was() {
    for (how, code) in [("\x04", 0), ("/exit\r", 0), ("\x03\x03", 130), ("TERM", 143), ("HUP", 129)] {
        let server = ModelServer::start_with([Reply::chat().text("fine")]);
        let zdx = with_model(&server);
        let pty = in_shell(&zdx, "");
        ask(&pty, "go", "fine");
        match how {
            "TERM" => rustix::process::kill_process(pid(&zdx), Signal::TERM).unwrap(),
            "HUP" => rustix::process::kill_process(pid(&zdx), Signal::HUP).unwrap(),
            keys => pty.send(keys),
        }
        pty.wait_for_text(&format!("\ncode={code}"), SOON);
        same_modes(&zdx, &pty);
        assert_clean(&pty, how);
        let lines = pty.lines();
        assert!(
            !lines.iter().any(|line| line.contains("describe a task") || line.contains("/help · @file")),
            "{lines:#?}"
        );
        let fine = lines.iter().position(|line| line == "fine").expect("the conversation stays");
        let ended = lines.iter().position(|line| line.starts_with("code=")).expect("the shell goes on");
        assert!(
            fine < ended && lines[ended - 1].starts_with("resume with: zdx sessions resume "),
            "{lines:#?}"
        );
    }
}

#[test]
fn told_to_go_in_the_middle_of_an_answer_or_in_the_pager() {
    for signal in [Signal::TERM, Signal::HUP] {
        for paged in [false, true] {
            let gate = Gate::new();
            let server = ModelServer::start();
            server.push(
                Reply::chat().text("half an answer").done().after_events(2, Step::WaitFor(gate.clone())),
            );
            let zdx = with_model(&server);
            let mut pty = open(&zdx, &[]);
            pty.send("go\r");
            gate.wait_reached(SOON);
            pty.wait_for_text("half", SOON);
            if paged {
                pty.send("\x0f");
                pty.wait_for(|screen| screen.alternate_screen(), SOON);
            }
            pty.signal(signal);
            pty.wait_exit(SOON);
            assert_clean(&pty, &format!("{signal:?} {paged}"));
            assert!(pty.contents().contains("half"), "{}", pty.contents());
            assert!(zdx.records().iter().any(|record| record["type"] == "interrupted"));
        }
    }
}

#[test]
fn a_terminal_that_goes_away_takes_us_with_it() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let pty = in_shell(&zdx, "");
    // The kernel tells of its end, whoever buries it.
    let zdx = pidfd_open(pid(&zdx), PidfdFlags::empty()).unwrap();
    drop(pty);
    let soon = Timespec::try_from(SOON).unwrap();
    assert_eq!(poll(&mut [PollFd::new(&zdx, PollFlags::IN)], Some(&soon)), Ok(1), "it still runs");
}

/// Stopped by Ctrl-Z: the shell has a terminal it knows; `fg` brings everything back.
fn stop_and_go_on(zdx: &Zdx, pty: &Pty) {
    let times = |text: &str| pty.contents().matches(text).count();
    let (stops, shells) = (times("Stopped"), times("in the 42 shell"));
    pty.send("\x1a");
    pty.wait_for(|screen| screen.contents().matches("Stopped").count() > stops, SOON);
    pty.wait_for(|screen| !screen.bracketed_paste() && !screen.hide_cursor(), SOON);
    pty.send("rm -f after; stty -g > stopped; echo in the $((40 + 2)) shell\r");
    pty.wait_for(|screen| screen.contents().matches("in the 42 shell").count() > shells, SOON);
    assert_eq!(zdx.read("stopped"), zdx.read("before"));
    pty.send("fg; echo over=$?; stty -g > after\r");
    pty.wait_for(|screen| screen.bracketed_paste(), SOON);
}

#[test]
fn ctrl_z_and_fg_at_the_prompt() {
    let server = ModelServer::start_with([Reply::chat().text("fine")]);
    let zdx = with_model(&server);
    let pty = in_shell(&zdx, "");
    pty.send("a draft");
    pty.wait_for_text("› a draft", SOON);
    for _ in 0..2 {
        stop_and_go_on(&zdx, &pty);
        pty.wait_for_text("› a draft", SOON);
    }
    pty.send(" of it\r");
    pty.wait_for_text("\nfine", SOON);
    wait_idle(&pty);
    pty.send("\x04");
    pty.wait_for_text("\nover=0", SOON);
    same_modes(&zdx, &pty);
    assert_clean(&pty, "after Ctrl-Z");
}

#[test]
fn ctrl_z_and_fg_at_a_question() {
    let server = ModelServer::start();
    server.push(Reply::chat().tool_call("c1", "bash", json!({"command": "touch made"})));
    server.push(Reply::chat().text("heard it"));
    let zdx = with_model(&server);
    let pty = in_shell(&zdx, "");
    pty.send("go\r");
    pty.wait_for_text("$ touch made", SOON);
    stop_and_go_on(&zdx, &pty);
    pty.wait_for(
        |screen| {
            screen.contents().rsplit("shell$ fg;").next().is_some_and(|shown| shown.contains("$ touch made"))
        },
        SOON,
    );
    assert!(!zdx.root().join("made").exists());
    wait_for_focus(&pty);
    pty.send("y");
    pty.wait_for_text("heard it", SOON);
    assert!(zdx.root().join("made").exists());
    wait_idle(&pty);
    pty.send("\x04");
    pty.wait_for_text("\nover=0", SOON);
}

#[test]
fn ctrl_z_and_fg_in_a_turn() {
    let gate = Gate::new();
    let server = ModelServer::start();
    server.push(
        Reply::chat().text("one two three\n\nfour five").done().after_events(2, Step::WaitFor(gate.clone())),
    );
    let zdx = with_model(&server);
    let pty = in_shell(&zdx, "");
    pty.send("go\r");
    gate.wait_reached(SOON);
    stop_and_go_on(&zdx, &pty);
    gate.open();
    pty.wait_for_text("four five", SOON);
    pty.wait_for_text("ANSWER", SOON);
    wait_idle(&pty);
    assert_eq!(pty.lines().iter().filter(|line| *line == "one two three").count(), 1, "{:#?}", pty.lines());
    pty.send("\x04");
    pty.wait_for_text("\nover=0", SOON);
    same_modes(&zdx, &pty);
}
