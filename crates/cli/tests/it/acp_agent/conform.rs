//! Both ends are ours: `zdx acp` drives `zdx acp-agent`.

use serde_json::{Value, json};
use zdx_testkit::{Gate, ModelServer, Reply, Run, Signal, Step, Zdx};

use crate::{SOON, hold_before, place, prompt_of, with_model};

/// A place whose only agent is zdx itself, answered by the demo.
fn with_itself() -> (Zdx, String) {
    let zdx = place().config("model = \"demo\"\n");
    let itself = json!({"command": env!("CARGO_BIN_EXE_zdx"), "args": ["acp-agent"]});
    zdx.write("acp.json", json!({"agent_servers": {"zdx": itself}}).to_string());
    let settings = zdx.root().join("acp.json").to_string_lossy().into_owned();
    (zdx, settings)
}

/// The agent stands in the configuration, where a user would have it.
fn configured(server: &ModelServer, options: &str) -> Zdx {
    let command = format!("[{:?}, \"acp-agent\"{options}]", env!("CARGO_BIN_EXE_zdx"));
    with_model(server).config_more(&format!("[acp.agents.zdx]\ncommand = {command}\n"))
}

fn driven<'z>(zdx: &'z Zdx, args: &[&str]) -> Run<'z> {
    zdx.command().args(["acp", "-a", "zdx"]).args(args)
}

#[test]
fn it_passes_the_whole_checklist() {
    // The turn that is to be called off never ends by itself.
    let server = ModelServer::start();
    server.always(|request| match request.body["messages"].to_string().contains("Count from 1") {
        true => Reply::chat().text("one, two").unfinished().done().then(Step::Stall),
        false => Reply::chat().text("a readme").done(),
    });
    let zdx = configured(&server, "");
    let output = driven(&zdx, &["--conform", "what is in this folder?"]).run().success();
    assert!(output.stdout.contains(" passed, 0 failed"), "{}", output.stdout);
    for item in ["session/load replays", "session/prompt ends", "session/cancel ends", "nothing but frames"] {
        let passed = output.stdout.lines().any(|line| line.starts_with("pass") && line.contains(item));
        assert!(passed, "{item}\n{}", output.stdout);
    }
}

#[test]
fn a_turn_reads_the_same_from_both_ends() {
    let (zdx, settings) = with_itself();
    zdx.write("README.md", "# Widgets\n");
    let output = zdx.run(["acp", "--settings", &settings, "what is in this folder?"]).success();
    assert!(output.stdout.contains("[tool] read Read README.md @ "), "{}", output.stdout);
    assert!(output.stdout.contains("begins: # Widgets"), "{}", output.stdout);
    let sessions = zdx.run(["acp", "--settings", &settings, "--list-sessions"]).success().stdout;
    let listed = zdx.run(["sessions", "list", "--format", "json"]).success().json_lines();
    assert_eq!(listed.len(), 1);
    assert!(sessions.contains(listed[0]["id"].as_str().unwrap()), "{sessions}");
}

#[test]
fn a_permission_and_a_file_go_as_the_client_says() {
    let server = ModelServer::start();
    let zdx = configured(&server, "");
    let write = json!({"path": "b.txt", "content": "new\n"});
    let turn = || {
        server.push(Reply::chat().text("Writing. ").tool_call("c1", "write", write.clone()));
        server.push(Reply::chat().text("Done."));
    };
    turn();
    let output = driven(&zdx, &["go"]).run().success();
    assert!(output.stdout.contains("[permission] auto-deny"), "{}", output.stdout);
    assert!(output.stdout.contains("(failed)") && output.stdout.ends_with("Done.\n"), "{}", output.stdout);
    assert!(!zdx.root().join("b.txt").exists());
    turn();
    let frames = driven(&zdx, &["--write", "-o", "jsonl", "go"]).run().success().json_lines();
    assert_eq!(zdx.read("b.txt"), "new\n");
    let of = |method: &str| frames.iter().filter(|frame| frame["method"] == method).collect::<Vec<_>>();
    let written: Vec<&Value> =
        of("fs/write_text_file").iter().map(|frame| &frame["params"]["content"]).collect();
    assert_eq!(written, ["new\n"]);
    let id = &of("session/request_permission")[0]["id"];
    let answers = frames.iter().filter(|frame| frame["id"] == *id && frame["result"]["outcome"].is_object());
    let chosen: Vec<&Value> = answers.map(|frame| &frame["result"]["outcome"]["optionId"]).collect();
    assert_eq!(chosen, ["allow_once"]);
}

#[test]
fn a_turn_is_called_off_and_its_session_gone_on_with() {
    let (server, gate) = (ModelServer::start(), Gate::new());
    let zdx = configured(&server, "");
    server.push(hold_before(Reply::chat().text_deltas(["half", " more"]).done(), " more", &gate));
    let id = zdx.home().join("id");
    let mut running = driven(&zdx, &["--save-session", id.to_str().unwrap(), "first"]).spawn();
    running.wait_for_stdout("half", SOON);
    running.signal(Signal::INT);
    assert_eq!(running.finish(SOON).expect_code(130).stdout, "half\n");
    let id = std::fs::read_to_string(id).unwrap();
    server.push(Reply::chat().text("and on"));
    let output = driven(&zdx, &["--resume", id.trim(), "second"]).run().success();
    // What is told again is not shown again; the model knows it.
    assert_eq!(output.stdout, "and on\n");
    let said = Value::from(server.calls()[1].messages()).to_string();
    assert!(said.contains("first") && said.contains("half"), "{said}");
    assert_eq!(zdx.session_files().len(), 1);
    let output = driven(&zdx, &["--resume", "nobody", "third"]).run().expect_code(1);
    assert!(output.stderr.contains("nobody"), "{}", output.stderr);
    assert_eq!(server.calls().len(), 2);
}

#[test]
fn every_end_is_an_exit_code_and_a_word() {
    let server = ModelServer::start();
    let zdx = configured(&server, ", \"--max-steps\", \"1\"");
    let ends = [
        (Reply::chat().text("too lo").finish("length"), "max_tokens"),
        (Reply::chat().text("").finish("content_filter"), "refusal"),
        (Reply::chat().tool_call("c1", "list", json!({})), "max_turn_requests"),
    ];
    for (reply, reason) in ends {
        server.push(reply);
        let output = driven(&zdx, &["-o", "jsonl", "go"]).run().expect_code(1);
        let told = output.json_lines().into_iter().any(|frame| frame["result"]["stopReason"] == reason);
        assert!(told, "{reason}: {}", output.stdout);
        assert!(!output.stderr.is_empty());
    }
    server.push(Reply::status(401).json(json!({"error": {"message": "no key"}})));
    let output = driven(&zdx, &["go"]).run().expect_code(1);
    assert!(output.stderr.contains("no key"), "{}", output.stderr);
}

#[test]
fn two_at_once_do_not_mix() {
    let (server, gate) = (ModelServer::start(), Gate::new());
    let held = gate.clone();
    server.always(move |request| match prompt_of(request).as_str() {
        "slow" => hold_before(Reply::chat().text_deltas(["first", " last"]).done(), " last", &held),
        _ => Reply::chat().text("quick").done(),
    });
    let zdx = configured(&server, "");
    let slow = driven(&zdx, &["slow"]).spawn();
    slow.wait_for_stdout("first", SOON);
    assert_eq!(driven(&zdx, &["fast"]).run().success().stdout, "quick\n");
    gate.open();
    assert_eq!(slow.finish(SOON).success().stdout, "first last\n");
    assert_eq!(zdx.session_files().len(), 2);
}
