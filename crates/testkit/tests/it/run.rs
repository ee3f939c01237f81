//! `sh` stands in for the binary.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use serde_json::json;
use zdx_testkit::{ModelServer, Signal, Zdx};

use crate::client::SOON;

fn shell() -> Zdx {
    Zdx::new("/bin/sh")
}

fn script(text: &str) -> [&str; 2] {
    ["-c", text]
}

#[test]
fn tells_channels_code_and_signal_apart() {
    let output = shell().run(script("echo out; echo err >&2; exit 3"));
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("out\n", "err\n"));
    assert_eq!((output.code, output.signal), (Some(3), None));
    let output = shell().run(script("kill -9 $$"));
    assert_eq!((output.code, output.signal), (None, Some(9)));
    assert!(catch_unwind(AssertUnwindSafe(|| output.success())).is_err());
}

#[test]
fn nothing_of_the_machine_leaks_in() {
    let place = shell().env("ALWAYS", "1");
    let output = place.command().args(script("env; pwd; cat")).env("ONCE", "2").run().success();
    let has = |line: &str| output.stdout.lines().any(|known| known == line);
    assert!(has(&format!("HOME={}", place.home().display())), "{}", output.stdout);
    assert!(has(&format!("ZDX_HOME={}", place.storage().display())));
    assert!(has(&place.root().display().to_string()));
    assert!(has("ALWAYS=1") && has("ONCE=2") && has("TERM=dumb"));
    // Cargo sets this for the test itself.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert!(!output.stdout.contains("CARGO_MANIFEST_DIR"));
}

#[test]
fn feeds_stdin_and_keeps_it_open_when_told_to() {
    let large = "x".repeat(1 << 20);
    let output = shell().command().args(script("cat")).stdin(&large).run().success();
    assert_eq!(output.stdout.len(), large.len());

    let place = shell();
    let mut running = place.command().args(script("cat; echo end")).stdin_open().spawn();
    running.write("hello\n");
    running.wait_for_stdout("hello\n", SOON);
    assert!(running.is_running());
    running.close_stdin();
    assert_eq!(running.finish(SOON).stdout, "hello\nend\n");
}

#[test]
fn signals_reach_a_running_process() {
    let place = shell();
    let mut running = place
        .command()
        .args(script("trap 'echo told >&2; exit 7' TERM; echo ready; while :; do sleep 0.05; done"))
        .spawn();
    running.wait_for_stdout("ready", SOON);
    running.signal(Signal::TERM);
    running.wait_for_stderr("told", SOON);
    assert_eq!(running.finish(SOON).code, Some(7));
}

#[test]
fn a_run_that_hangs_is_killed_and_fails_the_test() {
    let started = Instant::now();
    let hangs = || {
        let place = shell();
        let running = place.command().args(script("echo $$; exec sleep 600")).spawn();
        running.wait_for_stdout("\n", SOON);
        running.finish(Duration::from_millis(300))
    };
    let panic = catch_unwind(AssertUnwindSafe(hangs)).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.starts_with("still running after 300ms\n--- stdout\n"), "{text}");
    let pid = text.lines().nth(2).unwrap();
    assert!(!std::path::Path::new("/proc").join(pid).exists());
    assert!(started.elapsed() < SOON);
}

#[test]
fn a_background_process_does_not_hold_the_run() {
    let started = Instant::now();
    let output = shell().run(script("sleep 30 & echo $!"));
    assert!(started.elapsed() < SOON);
    // The orphan is ours to end.
    let pid = rustix::process::Pid::from_raw(output.stdout.trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, Signal::KILL).unwrap();
}

#[test]
fn configures_the_server_and_reads_sessions_back() {
    let server = ModelServer::start();
    let place = shell().chat(&server).config_more("max_steps = 3");
    let config = std::fs::read_to_string(place.storage().join("config.toml")).unwrap();
    let expected = format!(
        "max_steps = 3\nmodel = \"test/scripted\"\nretries = 2\n\n[providers.test]\nwire = \"openai-chat\"\nbase_url = \"{}\"\n",
        server.openai_base()
    );
    assert_eq!(config, expected);

    let write = "mkdir -p $ZDX_HOME/sessions; printf '{\"type\":\"meta\"}\\n{\"type\":\"mess' > $ZDX_HOME/sessions/a.jsonl";
    let output = place.run(script(write)).success();
    assert_eq!(output.records, [json!({"type": "meta"}), json!("{\"type\":\"mess")]);
    assert_eq!(output.records_of("meta").len(), 1);
    assert_eq!(place.records(), output.records);
}

#[test]
fn reads_and_writes_the_workspace() {
    let place = shell();
    place.write("deep/a.txt", "hello");
    assert_eq!(place.run(script("cat deep/a.txt; echo more > b.txt")).stdout, "hello");
    assert_eq!(place.read("b.txt"), "more\n");
}

#[test]
fn a_terminal_shows_what_a_person_would_see() {
    let place = shell();
    let read = "test -t 0 && test -t 1 && test -t 2 && printf 'name? \\033[1mX\\033[0m\\n'; read name; echo \"hi $name\"; stty size; exit 5";
    let mut pty = place.command().args(script(read)).pty(10, 40);
    pty.wait_for_text("name? X", SOON);
    pty.resize(12, 50);
    pty.send("Ada\r");
    pty.wait_for(|screen| screen.contents().contains("hi Ada\n12 50"), SOON);
    assert!(pty.screen().cell(0, 6).unwrap().bold());
    assert!(pty.raw().starts_with(b"name? \x1b[1m"));
    assert_eq!(pty.wait_exit(SOON), 5);
}

#[test]
fn a_terminal_says_where_its_cursor_is() {
    let ask = "stty raw -echo; printf 'ab\\033[6n'; dd bs=1 count=6 2>/dev/null | tr '\\033' E; stty sane";
    let place = shell();
    let pty = place.command().args(script(ask)).pty(10, 40);
    pty.wait_for_text("abE[1;3R", SOON);
}

#[test]
fn what_was_gone_before_anybody_looked_was_seen_still() {
    let place = shell();
    let frames = "printf 'now\\033[?2026l\\rgone'; read line; echo later";
    let pty = place.command().args(script(frames)).pty(5, 40);
    pty.wait_for_text("gone", SOON);
    assert!(!pty.contents().contains("now"));
    pty.wait_for_glimpse("now", SOON);
    // What was there before something was typed is no answer to it.
    pty.send("\r");
    pty.wait_for_text("later", SOON);
    assert!(!pty.glimpsed("now", Duration::ZERO));
}

#[test]
fn a_screen_that_never_comes_fails_with_what_is_there() {
    let place = shell();
    let pty = place.command().args(script("echo something else; sleep 600")).pty(5, 40);
    pty.wait_for_text("something", SOON);
    let wait = || pty.wait_for_text("absent", Duration::from_millis(50));
    let panic = catch_unwind(AssertUnwindSafe(wait)).unwrap_err();
    assert!(panic.downcast_ref::<String>().unwrap().contains("something else"));
}
