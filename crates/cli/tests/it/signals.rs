//! Signals: what was said is kept, the end is recorded, the code is the one shells know.

use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::json;
use zdx_testkit::{Gate, ModelServer, Reply, Signal, Step};

use crate::{SOON, hold_before, with_model};

#[test]
fn a_signal_in_mid_answer_keeps_what_was_said() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let gate = Gate::new();
        let server = ModelServer::start();
        server.push(hold_before(
            Reply::chat().text_deltas(["half", " an answer"]).done(),
            " an answer",
            &gate,
        ));
        let zdx = with_model(&server);
        let mut running = zdx.command().args(["exec", "-p", "x"]).spawn();
        running.wait_for_stdout("half", SOON);
        running.signal(signal);
        let output = running.finish(SOON).expect_code(code);
        assert_eq!(output.stdout, "half\n");
        let messages = output.records_of("message");
        assert_eq!(messages[1]["text"], "half");
        assert_eq!(output.records_of("interrupted").len(), 1);
    }
}

#[test]
fn json_ends_with_a_result_that_says_interrupted() {
    let gate = Gate::new();
    let server = ModelServer::start();
    server.push(hold_before(Reply::chat().text_deltas(["half", " more"]).done(), " more", &gate));
    let zdx = with_model(&server);
    let mut running = zdx.command().args(["exec", "--format", "json", "-p", "x"]).spawn();
    running.wait_for_stdout("half", SOON);
    running.signal(Signal::INT);
    let output = running.finish(SOON).expect_code(130);
    let result = output.json_lines().pop().unwrap();
    assert_eq!(result["type"], "result");
    assert_eq!(result["outcome"], "interrupted");
}

#[test]
fn a_running_command_is_stopped_with_the_turn() {
    let server = ModelServer::start();
    server.push(Reply::chat().tool_call("c1", "bash", json!({"command": "sleep 600"})));
    let zdx = with_model(&server);
    let mut running = zdx.command().args(["exec", "--format", "json", "-p", "x"]).spawn();
    running.wait_for_stdout("tool_started", SOON);
    running.signal(Signal::INT);
    let output = running.finish(SOON).expect_code(130);
    assert_eq!(output.records_of("tool_result").len(), 1);
    assert_eq!(output.records_of("interrupted").len(), 1);
}

/// `timeout` sends its signal to the process and then to the group.
#[test]
fn a_signal_that_is_sent_twice_is_one_polite_stop() {
    let command = "trap '' TERM; echo $$ > pid; while :; do sleep 0.05; done";
    let server = ModelServer::start();
    server.push(Reply::chat().tool_call("c1", "bash", json!({"command": command})));
    let zdx = with_model(&server);
    let mut running = zdx.command().args(["exec", "--format", "json", "-p", "x"]).spawn();
    let deadline = Instant::now() + SOON;
    let child = loop {
        assert!(Instant::now() < deadline, "the command does not run");
        let written = std::fs::read_to_string(zdx.root().join("pid")).unwrap_or_default();
        if let Some(pid) = written.strip_suffix('\n').and_then(|pid| pid.parse().ok()) {
            break rustix::process::Pid::from_raw(pid).unwrap();
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    // More than two, and not all in one moment: those that wait at the same time are delivered as one.
    for _ in 0..20 {
        running.signal(Signal::TERM);
        std::thread::sleep(Duration::from_millis(1));
    }
    let output = running.finish(SOON).expect_code(143);
    let result = output.json_lines().pop().unwrap();
    assert_eq!((result["type"].as_str(), result["outcome"].as_str()), (Some("result"), Some("interrupted")));
    assert_eq!(output.records_of("tool_result").len(), 1);
    assert_eq!(output.records_of("interrupted").len(), 1);
    assert_eq!(rustix::process::test_kill_process(child), Err(rustix::io::Errno::SRCH), "it still runs");
}

#[cfg(target_os = "linux")]
/// Waits until the process has a handler for the signal, so that it is not simply killed by it.
fn wait_until_caught(pid: u32, signal: Signal) {
    let deadline = Instant::now() + SOON;
    let caught = || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let mask = u64::from_str_radix(mask.unwrap_or("0").trim(), 16).unwrap();
        mask & (1 << (signal.as_raw() - 1)) != 0
    };
    while !caught() {
        assert!(Instant::now() < deadline, "process {pid} never listens for {signal:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_while_stdin_is_awaited_ends_at_once() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let mut running = zdx.command().args(["exec", "--format", "json", "-"]).stdin_open().spawn();
    running.write("never finished");
    wait_until_caught(running.pid(), Signal::INT);
    running.signal(Signal::INT);
    let output = running.finish(SOON).expect_code(130);
    assert_eq!(output.json_lines().pop().unwrap()["outcome"], "interrupted");
    assert!(server.requests().is_empty());
}

#[cfg(target_os = "linux")]
/// A run whose reader takes nothing: the first bytes fill the pipe, the rest has to wait.
struct Stalled {
    child: std::process::Child,
    _reader: std::io::PipeReader,
    zdx: zdx_testkit::Zdx,
    _server: ModelServer,
}

#[cfg(target_os = "linux")]
impl Stalled {
    fn start() -> Self {
        let server = ModelServer::start();
        server.push(
            Reply::chat().text(&"word ".repeat(40_000)).unfinished().done().then(Step::WaitFor(Gate::new())),
        );
        let zdx = with_model(&server);
        let (reader, writer) = std::io::pipe().unwrap();
        let filled = writer.try_clone().unwrap();
        let child = std::process::Command::new(env!("CARGO_BIN_EXE_zdx"))
            .args(["exec", "-p", "x"])
            .current_dir(zdx.root())
            .env_clear()
            .env("ZDX_HOME", zdx.storage())
            .stdin(std::process::Stdio::null())
            .stdout(writer)
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        server.wait_for_call(1, SOON);
        // Only when the pipe takes no more, though more is there, does anybody wait for its reader. How many bytes that
        // is depends on the pieces in which they were written: a page takes a piece whole or not at all.
        let mut since = Instant::now();
        wait("the pipe is not filled", || {
            let mut ours = [PollFd::new(&filled, PollFlags::OUT)];
            if poll(&mut ours, Some(&Timespec::default())).unwrap() > 0 {
                since = Instant::now();
            }
            since.elapsed().as_millis() > 500
        });
        Self { child, _reader: reader, zdx, _server: server }
    }

    /// Until the turn has ended by it.
    fn signal(&self, signal: Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal).unwrap();
        let recorded = || self.zdx.records().iter().any(|record| record["type"] == "interrupted");
        wait("the interruption is not recorded", recorded);
    }

    fn code(mut self) -> Option<i32> {
        let mut status = None;
        wait("it does not end", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.and_then(|status| status.code())
    }
}

#[cfg(target_os = "linux")]
fn wait(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + SOON;
    while !done() {
        assert!(Instant::now() < deadline, "{what}");
        // Who asks a pipe without a pause keeps its writer out.
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_stalled_reader_does_not_keep_a_second_ctrl_c_from_ending_it() {
    let mut stalled = Stalled::start();
    stalled.signal(Signal::INT);
    assert!(stalled.child.try_wait().unwrap().is_none(), "it did not wait for its reader");
    stalled.signal(Signal::INT);
    assert_eq!(stalled.code(), Some(130));
}

#[cfg(target_os = "linux")]
#[test]
fn whoever_is_told_to_go_does_not_wait_for_a_stalled_reader_for_ever() {
    let stalled = Stalled::start();
    stalled.signal(Signal::TERM);
    assert_eq!(stalled.code(), Some(143));
}
