//! Called off: the agent is told, may end by itself, and goes in any case.

use std::time::Duration;

use serde_json::json;
use zdx_testkit::Signal;

use super::{acp, methods, playing, sent_of, with_agent};
use crate::SOON;
use crate::mcp::{processes_with, wait_until};

#[test]
fn a_signal_calls_the_turn_off_and_nobody_is_left() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let zdx = playing(json!("waits"));
        let mut running = acp(&zdx, &["hi"]).spawn();
        running.wait_for_stdout("waiting", SOON);
        running.signal(signal);
        let output = running.finish(SOON).expect_code(code);
        assert_eq!(output.stdout, "waiting\n");
        assert_eq!(sent_of(&zdx, "session/cancel").len(), 1);
        assert_eq!(processes_with(zdx.home().to_str().unwrap()), 0);
    }
}

#[test]
fn what_is_said_after_it_was_called_off_is_still_shown_and_the_code_is_ours() {
    let zdx = playing(json!("stubborn"));
    let mut running = acp(&zdx, &["hi"]).spawn();
    running.wait_for_stdout("working", SOON);
    running.signal(Signal::INT);
    let output = running.finish(SOON).expect_code(130);
    assert_eq!(output.stdout, "working to the end\n");
}

#[test]
fn one_that_does_not_listen_is_given_two_seconds() {
    let zdx = playing(json!("deaf"));
    let mut running = acp(&zdx, &["hi"]).spawn();
    running.wait_for_stdout("working", SOON);
    running.signal(Signal::INT);
    let output = running.finish(SOON).expect_code(130);
    assert_eq!(output.stdout, "working on\n");
    assert_eq!(processes_with(zdx.home().to_str().unwrap()), 0);
}

/// An agent that does not listen to one signal is given two seconds.
#[test]
fn a_second_signal_ends_the_wait() {
    let (one, two) = (time_to_leave_after(1), time_to_leave_after(2));
    assert!(two < one, "{two:?} with a second signal, {one:?} without");
}

fn time_to_leave_after(signals: usize) -> Duration {
    let zdx = playing(
        json!([{"deaf": true}, {"say": "working"}, {"wait": "cancel"}, {"say": " on"}, {"never": true}]),
    );
    let mut running = acp(&zdx, &["hi"]).spawn();
    running.wait_for_stdout("working", SOON);
    running.signal(Signal::INT);
    running.wait_for_stdout(" on", SOON);
    let asked = std::time::Instant::now();
    if signals == 2 {
        running.signal(Signal::INT);
    }
    running.finish(SOON).expect_code(130);
    let took = asked.elapsed();
    let home = zdx.home().to_str().unwrap();
    wait_until("the agent is gone", || processes_with(home) == 0);
    took
}

#[test]
fn a_call_that_was_under_way_is_told_as_cancelled() {
    let zdx = playing(json!([
        {"update": {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "sleep 9", "kind": "execute", "status": "in_progress"}},
        {"wait": "cancel"}
    ]));
    let mut running = acp(&zdx, &["hi"]).spawn();
    running.wait_for_stdout("[tool]", SOON);
    running.signal(Signal::INT);
    let output = running.finish(SOON).expect_code(130);
    assert_eq!(output.stdout, "[tool] execute sleep 9\n[tool] execute sleep 9 (cancelled)\n");
}

#[test]
fn before_the_turn_there_is_nothing_to_call_off() {
    let zdx = with_agent(json!({"on": {"session/new": "silent"}}));
    let mut running = acp(&zdx, &["-o", "jsonl", "hi"]).spawn();
    running.wait_for_stdout("session/new", SOON);
    running.signal(Signal::INT);
    running.finish(SOON).expect_code(130);
    assert_eq!(methods(&zdx), ["initialize", "session/new"]);
    assert_eq!(processes_with(zdx.home().to_str().unwrap()), 0);
}

#[test]
fn when_we_are_killed_the_agent_goes_too() {
    let zdx = playing(json!("waits"));
    let mut running = acp(&zdx, &["hi"]).spawn();
    running.wait_for_stdout("waiting", SOON);
    running.signal(Signal::KILL);
    assert_eq!(running.finish(SOON).signal, Some(9));
    let home = zdx.home().to_str().unwrap();
    wait_until("the agent is gone", || processes_with(home) == 0);
}

#[test]
fn a_reader_that_leaves_ends_the_turn_quietly() {
    let zdx = playing(json!([{"chunks": 200_000}, {"wait": "cancel"}]));
    let command = format!("{} acp hi | head -c 5", env!("CARGO_BIN_EXE_zdx"));
    let output = std::process::Command::new("bash")
        .args(["-c", &format!("set -o pipefail; {command}")])
        .current_dir(zdx.root())
        .env("HOME", zdx.home())
        .env("ZDX_HOME", zdx.storage())
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), b"1 2 3".as_slice()));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(processes_with(zdx.home().to_str().unwrap()), 0);
}

#[test]
fn a_reader_that_takes_nothing_keeps_nobody_from_leaving() {
    let zdx = playing(json!([{"chunks": 200_000}, {"wait": "cancel"}]));
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_zdx"))
        .args(["acp", "hi"])
        .current_dir(zdx.root())
        .env("HOME", zdx.home())
        .env("ZDX_HOME", zdx.storage())
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("the turn has begun", || !sent_of(&zdx, "session/prompt").is_empty());
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, Signal::TERM).unwrap();
    let asked = std::time::Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert!(asked.elapsed() < SOON, "{:?}", asked.elapsed());
    let home = zdx.home().to_str().unwrap();
    wait_until("the agent is gone", || processes_with(home) == 0);
}

/// With a reader that has taken nothing yet, and a pipe that is full.
fn unread(zdx: &zdx_testkit::Zdx, args: &[&str]) -> std::process::Child {
    let child = std::process::Command::new(env!("CARGO_BIN_EXE_zdx"))
        .arg("acp")
        .args(args)
        .current_dir(zdx.root())
        .env("HOME", zdx.home())
        .env("ZDX_HOME", zdx.storage())
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let pipe = child.stdout.as_ref().unwrap();
    // Where many pipes are open the kernel makes new ones small.
    let full = rustix::pipe::fcntl_getpipe_size(pipe).unwrap() as u64 * 9 / 10;
    wait_until("the pipe is full", || rustix::io::ioctl_fionread(pipe).unwrap() > full);
    child
}

#[test]
fn nor_does_it_before_the_turn() {
    let zdx =
        with_agent(json!({"on": {"session/new": [{"long": 300_000}, {"chunks": 20_000}, {"never": true}]}}));
    let child = unread(&zdx, &["hi"]);
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, Signal::TERM).unwrap();
    let child = std::cell::RefCell::new(child);
    wait_until("it has left", || child.borrow_mut().try_wait().unwrap().is_some());
    assert_eq!(child.borrow_mut().wait().unwrap().code(), Some(143));
}

/// The answer is behind more than is kept for a reader, and the agent is gone when that reads on.
#[test]
fn a_slow_reader_loses_nothing_of_an_agent_that_has_left() {
    let answer = r#"{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}"#;
    let zdx = playing(json!([
        {"long": 100_000}, {"long": 100_000}, {"long": 100_000}, {"long": 100_000}, {"chunks": 1200}, {"raw": answer}, {"exit": 0}
    ]));
    let child = unread(&zdx, &["hi"]);
    let agent = format!("/proc/{}", super::sent(&zdx)[0]["pid"]);
    wait_until("the agent has left", || !std::path::Path::new(&agent).exists());
    // This is what is slow.
    std::thread::sleep(Duration::from_millis(800));
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.len() > 300_000 && text.ends_with(" 1199 1200 \n"), "{}", text.len());
}

#[test]
fn time_in_which_nobody_reads_is_not_the_agents() {
    const TIMEOUT: u64 = 5;
    let zdx = with_agent(
        json!({"on": {"session/new": [{"long": 100_000}, {"long": 100_000}, {"long": 100_000}, {"long": 100_000}, {"chunks": 5000}]}}),
    );
    let child = unread(&zdx, &["--timeout", &TIMEOUT.to_string(), "hi"]);
    // The passing of time itself is what is tested.
    std::thread::sleep(Duration::from_millis(TIMEOUT * 1000 + 500));
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
    assert!(output.stdout.ends_with(b"echo: hi\n"));
}

#[test]
fn calls_that_are_told_again_are_not_cancelled_ones() {
    let old = json!({"update": {"sessionUpdate": "tool_call", "toolCallId": "o", "title": "old", "kind": "execute", "status": "in_progress"}});
    let zdx = with_agent(json!({"on": {"session/load": [old], "session/prompt": "waits"}}));
    let mut running = acp(&zdx, &["--resume", "old-1", "hi"]).spawn();
    running.wait_for_stdout("waiting", SOON);
    running.signal(Signal::INT);
    assert_eq!(running.finish(SOON).expect_code(130).stdout, "waiting\n");

    let told = json!({"ask": "session/hologram", "params": {}, "id": "told"});
    let zdx = with_agent(json!({"on": {"session/load": [old, told, {"never": true}]}}));
    let mut running = acp(&zdx, &["--resume", "old-1", "hi"]).spawn();
    wait_until("the call was told again", || !super::answers(&zdx).is_empty());
    running.signal(Signal::INT);
    assert_eq!(running.finish(SOON).expect_code(130).stdout, "");
}

/// The agent takes its own request back.
#[test]
fn a_request_that_is_taken_back_is_answered_so() {
    let zdx = playing(json!([
        {"ask": "terminal/create", "as": "made", "params": {"command": "sleep", "args": ["600"]}},
        {"ask": "terminal/wait_for_exit", "params": {"terminalId": "$made/terminalId"}, "id": "w", "wait": false},
        {"notify": "$/cancel_request", "params": {"requestId": "w"}},
        {"ask": "terminal/release", "params": {"terminalId": "$made/terminalId"}},
        {"say": "went on"}
    ]));
    let output = acp(&zdx, &["-o", "simple", "hi"]).run().success();
    assert_eq!(output.stdout, "went on\n");
    let answers = super::answers(&zdx);
    let taken_back = answers.iter().find(|answer| answer["id"] == "w").expect("an answer");
    assert_eq!(taken_back["error"]["code"], -32800, "{answers:?}");
}
