//! `--proxy` writes down what passes between an editor and an agent, `--replay` plays the agent from it. The editor here is
//! `zdx acp` itself.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use zdx_testkit::{ModelServer, Reply, Zdx, acp_fake};

use super::{acp, log_of, settings};
use crate::mcp::{processes_with, wait_until};
use crate::{place, with_model};

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

pub(super) fn tape(zdx: &Zdx) -> std::path::PathBuf {
    zdx.home().join("tape.jsonl")
}

pub(super) fn lines(zdx: &Zdx) -> Vec<Value> {
    let text = std::fs::read_to_string(tape(zdx)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn whoever_types_it_is_told_that_it_is_for_programs() {
    let zdx = behind_proxy(&json!({"on": {"session/prompt": "turn"}}));
    std::fs::write(tape(&zdx), "").unwrap();
    let file = tape(&zdx).display().to_string();
    let mut pty = zdx.command().args(["acp", "--replay", &file]).pty(20, 80);
    pty.wait_for_text("this speaks ACP on stdin and stdout", crate::SOON);
    pty.send("\x03");
    assert_ne!(pty.wait_exit(crate::SOON), 0, "it was stopped");
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
fn one_that_goes_on_after_the_end_or_leaves_before_it_is_told_so() {
    let zdx = behind_proxy(&json!({}));
    acp(&zdx, &["-a", "proxy", "--list-caps"]).run().success();
    let output = acp(&zdx, &["-a", "replay", "go"]).run().expect_code(1);
    let why = "the recording is over, and the client sent session/new";
    assert!(output.stderr.contains(why), "{}", output.stderr);

    let zdx = behind_proxy(&json!({}));
    acp(&zdx, &["-a", "proxy", "go"]).run().success();
    let greeting = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}});
    let file = tape(&zdx).display().to_string();
    let output = acp(&zdx, &["--replay", &file]).stdin(format!("{greeting}\n")).run().expect_code(1);
    assert!(output.stdout.contains("agentCapabilities"), "{}", output.stdout);
    assert!(output.stderr.contains("the client left before session/new"), "{}", output.stderr);
}

#[test]
fn of_a_recording_that_was_cut_off_the_rest_is_played_and_the_end_is_told() {
    let zdx = behind_proxy(&json!({"on": {"session/prompt": [{"say": "half"}, {"say": " more"}]}}));
    acp(&zdx, &["-a", "proxy", "go"]).run().success();
    let text = std::fs::read_to_string(tape(&zdx)).unwrap();
    let cut = text.find(" more").unwrap();
    for cut in [cut, text[..cut].rfind('\n').unwrap() + 1] {
        std::fs::write(tape(&zdx), &text[..cut]).unwrap();
        let output = acp(&zdx, &["-a", "replay", "-o", "simple", "go"]).run().expect_code(1);
        assert_eq!(output.stdout, "half\n");
        let why = "the recording ends before the answer to session/prompt";
        assert!(output.stderr.contains(why), "{}", output.stderr);
        // So does one that stands behind it.
        std::fs::write(tape(&zdx), format!("{}{text}", &text[..=text[..cut].rfind('\n').unwrap()])).unwrap();
        let output = acp(&zdx, &["-a", "replay", "-o", "simple", "go"]).run().expect_code(1);
        assert!(output.stderr.contains(why), "{}", output.stderr);
    }
    // In its middle it is none.
    std::fs::write(tape(&zdx), format!("{}\n{text}", &text[..cut])).unwrap();
    let file = tape(&zdx).display().to_string();
    let output = acp(&zdx, &["--replay", &file]).run().expect_code(2);
    assert!(output.stderr.contains("no line of a recording"), "{}", output.stderr);
}

/// As JavaScript cuts an emoji in two: a frame to some readers, none to others.
#[test]
fn half_a_character_does_not_spoil_a_recording() {
    let half = r#"{"jsonrpc":"2.0","method":"session/update","params":{"half":"\ud83d"}}"#;
    let zdx = behind_proxy(&json!({"on": {"session/prompt": [{"raw": half}, {"say": "spoke"}]}}));
    let told = acp(&zdx, &["-a", "proxy", "go"]).run().success();
    assert!(lines(&zdx).iter().any(|line| line["text"] == half), "{:?}", lines(&zdx));
    let again = acp(&zdx, &["-a", "replay", "go"]).run().success();
    assert_eq!((again.stdout, again.stderr), (told.stdout, told.stderr));
}

#[test]
fn a_recording_of_our_own_agent_plays_as_it_was() {
    let server = ModelServer::start();
    server.push(Reply::chat().reasoning("let me look").text("Reading. ").tool_call(
        "c1",
        "read",
        json!({"path": "a.txt"}),
    ));
    server.push(Reply::chat().tool_call("c2", "write", json!({"path": "b.txt", "content": "new\n"})));
    server.push(Reply::chat().text("All done."));
    let zdx = with_model(&server);
    zdx.write("a.txt", "old\n");
    let itself = env!("CARGO_BIN_EXE_zdx");
    settings(
        &zdx,
        &json!({"agent_servers": {
            "zdx": {"command": itself, "args": ["acp", "--proxy", tape(&zdx), "--", itself, "acp-agent"]},
            "replay": {"command": itself, "args": ["acp", "--replay", tape(&zdx)]}
        }}),
    );
    let told = acp(&zdx, &["-a", "zdx", "--write", "go"]).run().success();
    assert!(told.stdout.contains("[permission] auto-allow"), "{}", told.stdout);
    assert!(told.stdout.ends_with("All done.\n"), "{}", told.stdout);
    assert_eq!(zdx.read("b.txt"), "new\n");
    let asked = server.calls().len();
    std::fs::remove_file(zdx.root().join("b.txt")).unwrap();
    let again = acp(&zdx, &["-a", "replay", "--write", "go"]).run().success();
    assert_eq!(again.stdout, told.stdout);
    assert_eq!(zdx.read("b.txt"), "new\n", "it is written through the client again");
    assert_eq!(server.calls().len(), asked, "no model is asked for it");
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
