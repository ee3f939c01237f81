//! Sessions: begun, kept, gone on with, set up, logged in to.

use serde_json::{Value, json};

use zdx_testkit::{Zdx, acp_fake};

use super::{acp, methods, sent_of, settings, with_agent};

const OLD_MODES: &str = r#"{"currentModeId": "a", "availableModes": [{"id": "a"}, {"id": "b"}]}"#;
const OLD_MODELS: &str =
    r#"{"currentModelId": "m", "availableModels": [{"modelId": "m"}, {"modelId": "n"}]}"#;

#[test]
fn a_session_is_saved_and_gone_on_with_and_nothing_old_is_shown() {
    let zdx = with_agent(json!({}));
    acp(&zdx, &["--save-session", "id", "first"]).run().success();
    let id = zdx.read("id");
    assert!(id.ends_with('\n') && id.starts_with("sess-"), "{id:?}");
    for mode in ["text", "simple"] {
        let output = acp(&zdx, &["-o", mode, "--resume", id.trim(), "second"]).run().success();
        assert_eq!(output.stdout, "echo: second\n", "{mode}");
    }
    let load = &sent_of(&zdx, "session/load")[0];
    assert_eq!(*load, json!({"cwd": zdx.root(), "mcpServers": [], "sessionId": id.trim()}));
    let mirrored = acp(&zdx, &["-o", "jsonl", "--resume", id.trim(), "third"]).run().success().stdout;
    assert!(mirrored.contains("echo: before"), "the frames have it all: {mirrored}");
}

/// It answers first and tells again then, as it must not.
#[test]
fn a_replay_that_comes_late_is_not_shown_either() {
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let late = json!([{"raw": answer}, {"say": "old"}, {"never": true}]);
    let zdx = with_agent(json!({"on": {"session/load": late}}));
    let output = acp(&zdx, &["--resume", "old-1", "--list-commands", "--timeout", "1"]).run().success();
    assert_eq!(output.stdout, "commands: the agent told none\n");
    // Nor is it taken for the answer to a prompt.
    let late = json!([{"raw": answer}, {"chunks": 5_000}, {"never": true}]);
    let zdx =
        with_agent(json!({"on": {"session/load": late, "session/prompt": [{"sleep": 500}, {"say": "new"}]}}));
    let output = acp(&zdx, &["--resume", "old-1", "hi"]).run().success();
    assert_eq!(output.stdout, "new\n");
}

#[test]
fn load_is_preferred_then_resume_then_it_is_an_error() {
    let caps = |caps: Value| json!({"initialize": {"agentCapabilities": caps}});
    let zdx = with_agent(caps(json!({"sessionCapabilities": {"resume": {}}})));
    acp(&zdx, &["--resume", "old-1", "hi"]).run().success();
    assert_eq!(methods(&zdx), ["initialize", "session/resume", "session/prompt"]);
    let zdx = with_agent(caps(json!({})));
    let output = acp(&zdx, &["--resume", "old-1", "hi"]).run().expect_code(2);
    assert!(output.stderr.contains("can go on with no session"), "{}", output.stderr);
    assert_eq!(methods(&zdx), ["initialize"]);
    let zdx = with_agent(json!({}));
    let output = acp(&zdx, &["--resume", "nowhere", "hi"]).run().expect_code(1);
    assert!(
        output.stderr.contains("refuses session/load: Session not found: nowhere (-32002)"),
        "{}",
        output.stderr
    );
}

#[test]
fn a_session_is_closed_when_that_is_asked_for() {
    let zdx = with_agent(json!({}));
    acp(&zdx, &["--close", "hi"]).run().success();
    assert_eq!(methods(&zdx), ["initialize", "session/new", "session/prompt", "session/close"]);
    let zdx = with_agent(json!({}));
    acp(&zdx, &["--close", "--resume", "old-1"]).run().success();
    assert_eq!(methods(&zdx), ["initialize", "session/load", "session/close"]);
}

#[test]
fn what_cannot_be_done_at_the_end_is_told_before_the_prompt() {
    for option in ["--close", "--logout"] {
        let zdx = with_agent(json!({"initialize": {"agentCapabilities": {}}}));
        let output = acp(&zdx, &[option, "hi"]).run().expect_code(2);
        assert!(output.stderr.contains("does not offer"), "{}", output.stderr);
        assert_eq!(methods(&zdx), ["initialize"]);
    }
}

#[test]
fn what_is_done_to_a_session_is_done_beside_a_list_too() {
    let zdx = with_agent(json!({}));
    acp(&zdx, &["--list-caps", "--save-session", "id", "--mode", "code", "--close"]).run().success();
    assert!(zdx.read("id").starts_with("sess-"));
    assert_eq!(methods(&zdx), ["initialize", "session/new", "session/set_config_option", "session/close"]);
}

#[test]
fn an_id_that_cannot_be_written_is_told_before_the_prompt() {
    let zdx = with_agent(json!({}));
    let output = acp(&zdx, &["--save-session", "no/such/folder", "hi"]).run().expect_code(1);
    assert!(output.stderr.contains("cannot write the session's id to no/such/folder"), "{}", output.stderr);
    assert!(sent_of(&zdx, "session/prompt").is_empty());
}

/// As `ulimit -f` has it: an error, no death by a signal.
#[test]
fn a_file_that_may_not_grow_is_an_error() {
    let zdx = Zdx::new("/bin/sh");
    settings(&zdx, &json!({"agent_servers": {"fake": {"command": acp_fake()}}}));
    let limited = "ulimit -f 0; exec \"$0\" acp --save-session id hi";
    let output = zdx.command().args(["-c", limited, env!("CARGO_BIN_EXE_zdx")]).run().expect_code(1);
    assert!(output.stderr.contains("cannot write the session's id to id"), "{}", output.stderr);
}

#[test]
fn a_pipe_that_nobody_reads_is_not_waited_for() {
    let zdx = with_agent(json!({}));
    assert!(std::process::Command::new("mkfifo").arg(zdx.root().join("p")).status().unwrap().success());
    let args = ["--save-session", "p", "--timeout", "1", "hi"];
    let output = acp(&zdx, &args).timeout(crate::SOON).run().expect_code(1);
    assert!(output.stderr.contains("session's id to p: nobody reads it"), "{}", output.stderr);
    assert!(sent_of(&zdx, "session/prompt").is_empty());
}

#[test]
fn mode_model_and_options_are_set_by_options_where_there_are_any() {
    let zdx = with_agent(json!({}));
    acp(&zdx, &["--mode", "Code", "--model", "large", "--config", "loud=true", "hi"]).run().success();
    let set = sent_of(&zdx, "session/set_config_option");
    let id = set[0]["sessionId"].clone();
    assert_eq!(
        set,
        [
            json!({"sessionId": id, "configId": "model", "value": "large"}),
            json!({"sessionId": id, "configId": "loud", "type": "boolean", "value": true}),
            json!({"sessionId": id, "configId": "mode", "value": "code"}),
        ]
    );
    assert_eq!(methods(&zdx).last().unwrap(), "session/prompt");
    // What was set is what is listed.
    let output = acp(&zdx, &["--mode", "code", "--list-modes", "hi"]).run().success();
    assert!(output.stdout.contains("  code*  Code"), "{}", output.stdout);
}

#[test]
fn mode_and_model_are_set_the_old_way_where_there_are_no_options() {
    let of = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let script = json!({
        "session": {"configOptions": null, "modes": of(OLD_MODES), "models": of(OLD_MODELS)},
        "on": {"session/set_mode": [{"result": {}}], "session/set_model": [{"result": null}]}
    });
    let zdx = with_agent(script);
    let output = acp(&zdx, &["--mode", "b", "--model", "n", "--list-modes", "hi"]).run().success();
    assert_eq!(sent_of(&zdx, "session/set_mode")[0]["modeId"], "b");
    assert_eq!(sent_of(&zdx, "session/set_model")[0]["modelId"], "n");
    assert!(output.stdout.contains("  b*"), "{}", output.stdout);
}

#[test]
fn what_cannot_be_set_is_an_error_that_lists_what_can() {
    let zdx = with_agent(json!({}));
    for (option, why) in [
        (["--mode", "edit"], "there is no mode edit; there are: ask, code"),
        (["--model", "huge"], "there is no model huge; there are: small, large"),
        (["--config", "loud=perhaps"], "there is no loud perhaps; there are: true, false"),
        (["--config", "speed=1"], "the agent has no option speed; there are: mode, model, loud"),
        (["--config", "speed"], "write it as KEY=VALUE"),
    ] {
        let output = acp(&zdx, &[option[0], option[1], "hi"]).run().expect_code(2);
        assert!(output.stderr.contains(why), "{option:?}: {}", output.stderr);
    }
    assert!(sent_of(&zdx, "session/prompt").is_empty());
    let zdx = with_agent(json!({"session": {"configOptions": null, "modes": null}}));
    let output = acp(&zdx, &["--mode", "x", "hi"]).run().expect_code(2);
    assert!(output.stderr.contains("lets nobody choose a mode"), "{}", output.stderr);
}

#[test]
fn an_agent_that_wants_a_log_in_says_how_and_gets_it() {
    let zdx = with_agent(json!({"auth": true}));
    let output = acp(&zdx, &["hi"]).run().expect_code(1);
    for part in [
        "the agent wants a log-in first (Authentication required)",
        "key (Set FAKE_KEY.): --auth key",
        "login (Log in): run `",
        "zdx-acp-fake login` in a terminal yourself",
    ] {
        assert!(output.stderr.contains(part), "{part:?}: {}", output.stderr);
    }
    let output = acp(&zdx, &["--auth", "key", "hi"]).run().success();
    assert_eq!(output.stdout, "echo: hi\n");
    assert_eq!(sent_of(&zdx, "authenticate"), [json!({"methodId": "key"})]);

    let output = acp(&zdx, &["--auth", "login", "hi"]).run().expect_code(2);
    assert!(output.stderr.contains("in a terminal yourself"), "{}", output.stderr);
    let output = acp(&zdx, &["--auth", "magic", "hi"]).run().expect_code(2);
    assert!(
        output.stderr.contains("no method magic") && output.stderr.contains("key, login"),
        "{}",
        output.stderr
    );
    assert_eq!(sent_of(&zdx, "authenticate").len(), 1, "a terminal one is never authenticated");

    let zdx =
        with_agent(json!({"on": {"session/prompt": [{"fail": {"code": -32000, "message": "expired"}}]}}));
    let output = acp(&zdx, &["hi"]).run().expect_code(1);
    assert!(output.stderr.contains("(expired)") && output.stderr.contains("--auth key"), "{}", output.stderr);

    let variables =
        json!([{"type": "env_var", "id": "env", "name": "A key", "vars": [{"name": "FAKE_KEY"}]}]);
    let refused = json!([{"fail": {"code": -32000, "message": "who?", "data": {"authMethods": variables}}}]);
    let zdx = with_agent(json!({"on": {"session/new": refused}}));
    let output = acp(&zdx, &["hi"]).run().expect_code(1);
    assert!(output.stderr.contains("env (A key): set FAKE_KEY, then --auth env"), "{}", output.stderr);
}
