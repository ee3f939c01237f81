//! A proxy under signals and faults: whoever leaves, the other is not kept, the recording is whole lines, and the code tells how
//! it ended. The editor is the test.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use zdx_testkit::{Running, Signal, Zdx, acp_fake};

use super::recording::{lines, tape};
use super::{acp, log_of};
use crate::mcp::{processes_with, wait_until};
use crate::{SOON, place};

/// An agent that plays this as its turn.
fn words(zdx: &Zdx, file: &Path, script: &Value) -> Vec<String> {
    let (fake, log) = (acp_fake(), log_of(zdx));
    let mut words = vec!["--proxy".to_owned(), file.display().to_string(), "--".to_owned()];
    words.push(fake.to_owned());
    words.extend(["--script".to_owned(), script.to_string()]);
    words.extend(["--log".to_owned(), log.display().to_string()]);
    words
}

fn proxied(zdx: &Zdx, file: &Path, script: &Value) -> Running {
    let words = words(zdx, file, script);
    acp(zdx, &words.iter().map(String::as_str).collect::<Vec<_>>()).stdin_open().spawn()
}

fn playing(zdx: &Zdx, play: Value) -> Running {
    let mut running = proxied(zdx, &tape(zdx), &json!({"on": {"session/prompt": play}}));
    running.write(prompt(1));
    running
}

fn prompt(id: u64) -> String {
    let params = json!({"sessionId": "s", "prompt": [{"type": "text", "text": "go"}]});
    format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": "session/prompt", "params": params}))
}

fn nobody_is_left(zdx: &Zdx) {
    let home = zdx.home().to_str().unwrap();
    wait_until("nobody is left", || processes_with(home) == 0);
}

/// The chunks of what the agent said, of a file of whole lines.
fn said(zdx: &Zdx) -> String {
    let text =
        |line: &Value| line["frame"]["params"]["update"]["content"]["text"].as_str().map(str::to_owned);
    lines(zdx).iter().filter_map(text).collect()
}

#[test]
fn a_signal_ends_the_agent_too_and_the_file_is_whole() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let zdx = place();
        let mut running = playing(&zdx, json!("waits"));
        running.wait_for_stdout("waiting", SOON);
        running.signal(signal);
        let output = running.finish(SOON).expect_code(code);
        assert_eq!(output.stderr, "");
        assert_eq!(lines(&zdx).len(), 2);
        assert_eq!(said(&zdx), "waiting");
        nobody_is_left(&zdx);
    }
}

#[test]
fn a_proxy_that_is_killed_takes_its_agent_along_and_what_was_said_is_there() {
    let zdx = place();
    let mut running = playing(&zdx, json!("waits"));
    running.wait_for_stdout("waiting", SOON);
    running.signal(Signal::KILL);
    assert_eq!(running.finish(SOON).signal, Some(9));
    assert_eq!(said(&zdx), "waiting");
    nobody_is_left(&zdx);
}

#[test]
fn an_editor_that_hangs_up_is_heard_to_its_last_byte_and_the_agent_goes() {
    let zdx = place();
    let mut running = playing(&zdx, json!("waits"));
    running.write("no line");
    running.wait_for_stdout("waiting", SOON);
    running.close_stdin();
    running.finish(SOON).success();
    assert!(lines(&zdx).iter().any(|line| line["text"] == "no line"), "{:?}", lines(&zdx));
    assert!(std::fs::read_to_string(log_of(&zdx)).unwrap().ends_with("no line\neof\n"));
    nobody_is_left(&zdx);

    // One that does not mind is ended.
    let zdx = place();
    let script = json!({"stays": true, "on": {"session/prompt": "deaf"}});
    let mut running = proxied(&zdx, &tape(&zdx), &script);
    running.write(prompt(1));
    running.wait_for_stdout("working", SOON);
    running.close_stdin();
    running.finish(SOON).success();
    assert_eq!(said(&zdx), "working");
    nobody_is_left(&zdx);
}

/// With a stdout that the test holds.
fn held(zdx: &Zdx, play: Value) -> Child {
    let script = json!({"on": {"session/prompt": play}});
    let mut child = Command::new(env!("CARGO_BIN_EXE_zdx"))
        .arg("acp")
        .args(words(zdx, &tape(zdx), &script))
        .current_dir(zdx.root())
        .env("HOME", zdx.home())
        .env("ZDX_HOME", zdx.storage())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.as_mut().unwrap().write_all(prompt(1).as_bytes()).unwrap();
    child
}

fn end_of(child: &mut Child) -> Option<i32> {
    let mut end = None;
    let child = std::cell::RefCell::new((child, &mut end));
    wait_until("it has left", || {
        let (child, end) = &mut *child.borrow_mut();
        **end = child.try_wait().unwrap();
        end.is_some()
    });
    end.and_then(|end| end.code())
}

#[test]
fn an_editor_that_stops_reading_ends_it_though_it_still_could_write() {
    let zdx = place();
    let mut child = held(&zdx, json!([{"chunks": 200_000}, {"wait": "cancel"}]));
    let mut some = [0; 5];
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut some).unwrap();
    drop(stdout);
    let stdin = child.stdin.take();
    assert_eq!(end_of(&mut child), Some(0));
    drop(stdin);
    nobody_is_left(&zdx);
}

#[test]
fn an_editor_that_reads_nothing_keeps_no_signal_from_it() {
    let zdx = place();
    let mut child = held(&zdx, json!([{"chunks": 200_000}, {"wait": "cancel"}]));
    let stdout = child.stdout.take().unwrap();
    wait_until("the pipe is full", || rustix::io::ioctl_fionread(&stdout).unwrap() > 60_000);
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(end_of(&mut child), Some(143));
    assert!(said(&zdx).starts_with("1 2 3 "));
    nobody_is_left(&zdx);
}

#[test]
fn an_agent_that_dies_is_told_whoever_notices_first() {
    let zdx = place();
    let running = playing(&zdx, json!("dies"));
    let output = running.finish(SOON).expect_code(1);
    assert!(output.stdout.contains("half a sen"), "{}", output.stdout);
    assert!(output.stderr.contains("panic: the table is gone"), "{}", output.stderr);
    assert!(output.stderr.contains("the agent ended (exit code 3)"), "{}", output.stderr);
    assert_eq!(said(&zdx), "half a sen");
    nobody_is_left(&zdx);

    // It is gone while it is being written to.
    let zdx = place();
    let script = json!({"on": {"start": [{"stderr": "no"}, {"exit": 7}]}});
    let words = words(&zdx, &tape(&zdx), &script);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = acp(&zdx, &words).stdin(prompt(1).repeat(20_000)).run().expect_code(1);
    assert!(output.stderr.contains("the agent ended (exit code 7)"), "{}", output.stderr);
    nobody_is_left(&zdx);

    // Something that it started holds its stdout.
    let zdx = place();
    let output =
        playing(&zdx, json!([{"child": 3600}, {"say": "bye"}, {"exit": 5}])).finish(SOON).expect_code(1);
    assert!(output.stdout.contains("bye"), "{}", output.stdout);
    assert!(output.stderr.contains("the agent ended (exit code 5)"), "{}", output.stderr);
}

#[test]
fn what_does_not_start_is_said() {
    let zdx = place();
    let file = tape(&zdx).display().to_string();
    let output = acp(&zdx, &["--proxy", &file, "--", "/no/such/agent"]).run().expect_code(1);
    assert!(output.stderr.contains("the agent does not start"), "{}", output.stderr);
}

#[test]
fn a_file_that_is_full_stops_nobody_and_is_told_at_the_end() {
    let zdx = place();
    let mut running =
        proxied(&zdx, Path::new("/dev/full"), &json!({"on": {"session/prompt": [{"say": "hello"}]}}));
    for id in 1..=3 {
        running.write(prompt(id));
        let answer = format!("\"id\":{id},");
        running.wait_for_stdout(&answer, SOON);
    }
    running.close_stdin();
    let output = running.finish(SOON).expect_code(1);
    assert_eq!(output.stdout.matches("hello").count(), 3);
    assert!(output.stderr.contains("/dev/full is not whole: "), "{}", output.stderr);
    assert_eq!(output.stderr.lines().count(), 1, "{}", output.stderr);
}

#[test]
fn behind_a_line_that_was_torn_off_a_new_one_begins() {
    let zdx = place();
    std::fs::write(tape(&zdx), "{\"t_ms\":1,\"dir\":\"cli").unwrap();
    let mut running = playing(&zdx, json!([{"say": "hello"}]));
    running.wait_for_stdout("end_turn", SOON);
    running.close_stdin();
    running.finish(SOON).success();
    let text = std::fs::read_to_string(tape(&zdx)).unwrap();
    let (torn, rest) = text.split_once('\n').unwrap();
    assert_eq!(torn, "{\"t_ms\":1,\"dir\":\"cli");
    assert_eq!(rest.lines().filter(|line| serde_json::from_str::<Value>(line).is_ok()).count(), 3);
}

#[test]
fn a_line_of_any_length_passes_and_is_one_line_of_the_file() {
    let zdx = place();
    let mut running = playing(&zdx, json!([{"long": 5 << 20}]));
    running.wait_for_stdout("end_turn", 2 * SOON);
    running.close_stdin();
    let output = running.finish(SOON + Duration::from_secs(5)).success();
    assert_eq!(said(&zdx).len(), 5 << 20);
    let passed: Value = serde_json::from_str(output.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(passed, lines(&zdx)[1]["frame"]);
}
