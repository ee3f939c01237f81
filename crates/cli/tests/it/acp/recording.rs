//! `--proxy` writes down what passes between an editor and an agent, `--replay` plays the agent from it. The editor here is
//! `zdx acp` itself.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use zdx_testkit::{Zdx, acp_fake};

use super::{acp, log_of, settings};
use crate::mcp::{processes_with, wait_until};
use crate::place;

/// The agent of the settings is the proxy before this one.
fn behind_proxy(script: &Value) -> Zdx {
    let zdx = place();
    let fake = acp_fake();
    let proxy = json!([
        "acp",
        "--proxy",
        tape(&zdx),
        "--",
        fake,
        "--script",
        script.to_string(),
        "--log",
        log_of(&zdx)
    ]);
    let replay = json!(["acp", "--replay", tape(&zdx)]);
    let zdx_itself = env!("CARGO_BIN_EXE_zdx");
    settings(
        &zdx,
        &json!({"agent_servers": {
            "proxy": {"command": zdx_itself, "args": proxy},
            "replay": {"command": zdx_itself, "args": replay}
        }}),
    );
    zdx
}

fn tape(zdx: &Zdx) -> std::path::PathBuf {
    zdx.home().join("tape.jsonl")
}

fn lines(zdx: &Zdx) -> Vec<Value> {
    let text = std::fs::read_to_string(tape(zdx)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_frame_is_written_down_and_played_again() {
    let zdx = behind_proxy(&json!({"on": {"session/prompt": "turn"}}));
    zdx.write("a.txt", "old\n");
    let told = acp(&zdx, &["-a", "proxy", "--write", "go"]).run().success();
    let mode = std::fs::metadata(tape(&zdx)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let methods: Vec<(String, String)> = lines(&zdx)
        .iter()
        .filter_map(|line| {
            Some((line["dir"].as_str()?.to_owned(), line["frame"]["method"].as_str()?.to_owned()))
        })
        .collect();
    let is_there = |dir: &str, method: &str| methods.iter().any(|(d, m)| d == dir && m == method);
    assert!(is_there("client", "initialize") && is_there("client", "session/prompt"), "{methods:?}");
    assert!(is_there("agent", "session/update") && is_there("agent", "fs/write_text_file"), "{methods:?}");
    assert!(lines(&zdx).iter().all(|line| line["t_ms"].is_u64()));
    wait_until("no agent is left", || processes_with(&log_of(&zdx).display().to_string()) == 0);

    std::fs::remove_file(zdx.root().join("b.txt")).unwrap();
    let again = acp(&zdx, &["-a", "replay", "--write", "go"]).run().success();
    assert_eq!(again.stdout, told.stdout);
    assert_eq!(zdx.read("b.txt"), "new\n", "what the agent asked then it asks again");
}

#[test]
fn what_is_no_frame_passes_too_and_a_second_run_stands_behind_the_first() {
    let zdx = behind_proxy(&json!({"on": {"session/prompt": "garbage"}}));
    let told = acp(&zdx, &["-a", "proxy", "go"]).run().success();
    let first = lines(&zdx);
    assert!(first.iter().any(|line| line["text"] == "Welcome to the agent!"), "{first:?}");
    acp(&zdx, &["-a", "proxy", "go"]).run().success();
    let both = lines(&zdx);
    assert_eq!(both[..first.len()], first[..]);
    assert!(both.len() > first.len());
    let again = acp(&zdx, &["-a", "replay", "go"]).run().success();
    assert_eq!(again.stdout, told.stdout);
}

#[test]
fn an_asker_that_does_something_else_hears_what_was_recorded() {
    let zdx = behind_proxy(&json!({}));
    acp(&zdx, &["-a", "proxy", "go"]).run().success();
    let output = acp(&zdx, &["-a", "replay", "--mode", "code", "go"]).run().expect_code(1);
    let why = "the recording goes on with session/prompt, and the client sent session/set_config_option";
    assert!(output.stderr.contains(why), "{}", output.stderr);
}

#[test]
fn the_end_of_an_agent_is_the_end_of_the_proxy() {
    let zdx = behind_proxy(&json!({"on": {"session/prompt": "dies"}}));
    let output = acp(&zdx, &["-a", "proxy", "go"]).run().expect_code(1);
    // What it says on stderr passes as well.
    assert!(output.stderr.contains("the table is gone"), "{}", output.stderr);
    assert!(output.stderr.contains("the agent ended (exit code 3)"), "{}", output.stderr);
    wait_until("no agent is left", || processes_with(&log_of(&zdx).display().to_string()) == 0);
}

#[test]
fn what_cannot_be_proxied_or_played_is_a_usage_error() {
    let zdx = place();
    let fails = |args: &[&str]| acp(&zdx, args).run().expect_code(2).stderr;
    assert!(fails(&["--proxy", "tape"]).contains("wants the agent's command behind it"));
    assert!(fails(&["--proxy", "no/such/tape", "--", "true"]).contains("cannot write to no/such/tape"));
    assert!(fails(&["--replay", "nowhere"]).contains("cannot read nowhere"));
    zdx.write("odd", "what?\n");
    assert!(fails(&["--replay", "odd"]).contains("odd:1: no line of a recording"));
}
