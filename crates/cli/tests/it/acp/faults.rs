//! Agents that misbehave, each as real ones have been seen to.

use serde_json::{Value, json};

use super::{acp, answers, methods, playing, sent_of, with_agent};
use crate::SOON;

#[test]
fn no_oddity_breaks_a_turn() {
    for (play, said, warned) in [
        ("nulls", "still here\n", "no message: null"),
        ("empty", "ab\n", ""),
        ("update_first", "[tool] edit Write w.txt\n[tool] edit Write w.txt @ w.txt\ndone\n", ""),
        (
            "relative",
            "[tool] edit Edit w.txt @ w.txt\n[diff] {\"path\":\"w.txt\",\"oldText\":null,\"newText\":\"hi\\n\"}\nchanged\n",
            "",
        ),
        ("garbage", "spoke\n", "the agent wrote what is no message: Welcome to the agent!"),
        ("long 65", "after it\n", "the agent wrote what is no message: {\"jsonrpc\""),
    ] {
        let zdx = playing(json!(play));
        let output = acp(&zdx, &["hi"]).run().success();
        assert_eq!(output.stdout, said, "{play}");
        assert!(output.stderr.contains(warned), "{play}: {}", output.stderr);
        assert!(output.stderr.is_empty() == warned.is_empty(), "{play}: {}", output.stderr);
        assert!(output.stderr.lines().count() <= 6, "{play}: {}", output.stderr);
    }
}

#[test]
fn every_reason_to_stop_is_shown_and_only_one_is_well() {
    for (reason, code, said) in [
        ("end_turn", 0, ""),
        ("max_tokens", 1, "the agent stopped: max_tokens"),
        ("max_turn_requests", 1, "the agent stopped: max_turn_requests"),
        ("refusal", 1, "the agent stopped: refusal"),
        ("bored", 1, "the agent stopped: bored"),
        ("cancelled", 130, "cancelled"),
    ] {
        let zdx = playing(json!([{"say": "x"}, {"stop": reason}]));
        let output = acp(&zdx, &["hi"]).run().expect_code(code);
        assert_eq!(output.stdout, "x\n");
        assert!(
            output.stderr.contains(said) && output.stderr.is_empty() == said.is_empty(),
            "{}",
            output.stderr
        );
    }
    let zdx = playing(json!([{"result": null}]));
    let output = acp(&zdx, &["hi"]).run().expect_code(1);
    assert!(output.stderr.contains("does not say why"), "{}", output.stderr);
}

#[test]
fn a_version_below_ours_is_the_end() {
    for version in [json!(0), json!("1"), json!(null), json!(-1)] {
        let zdx = with_agent(json!({"initialize": {"protocolVersion": version}}));
        let output = acp(&zdx, &["hi"]).run().expect_code(1);
        assert!(output.stderr.contains("of the protocol"), "{version}: {}", output.stderr);
        assert_eq!(methods(&zdx), ["initialize"]);
    }
    let zdx = with_agent(json!({"initialize": {"protocolVersion": 2}}));
    let output = acp(&zdx, &["hi"]).run().success();
    assert!(output.stderr.contains("version 2"), "{}", output.stderr);
}

#[test]
fn one_that_dies_says_its_last_words() {
    let at_once = with_agent(json!({"on": {"start": "leaves"}}));
    let in_a_turn = playing(json!("dies"));
    // What it started holds its stdout.
    let survived =
        playing(json!([{"child": 3600}, {"say": "half"}, {"stderr": "out of memory"}, {"exit": 4}]));
    for (zdx, said, why) in [
        (
            at_once,
            "",
            "no answer of the agent to initialize: it ended (exit code 7); its last words: cannot find the database / leaving",
        ),
        (
            in_a_turn,
            "half a sen\n",
            "session/prompt: it ended (exit code 3); its last words: panic: the table is gone",
        ),
        (survived, "half\n", "session/prompt: it ended (exit code 4); its last words: out of memory"),
    ] {
        let output = acp(&zdx, &["hi"]).timeout(SOON).run().expect_code(1);
        assert_eq!(output.stdout, said);
        assert!(output.stderr.contains(why), "{}", output.stderr);
    }
}

#[test]
fn one_that_never_answers_is_not_waited_for() {
    // Nothing has to be answered before this one, so that its limit may be short.
    is_given_up("initialize", 1);
    // Here the agent must come to answer what is asked before, on a busy machine too.
    let later = ["session/new", "session/load", "session/set_config_option"];
    let waits = later.map(|method| std::thread::spawn(move || is_given_up(method, 10)));
    for wait in waits {
        wait.join().unwrap();
    }
}

fn is_given_up(method: &str, seconds: u64) {
    let zdx = with_agent(json!({"on": {method: "silent"}}));
    let limit = seconds.to_string();
    let mut args = vec!["--timeout", limit.as_str()];
    match method {
        "session/load" => args.extend(["--resume", "old-1"]),
        "session/set_config_option" => args.extend(["--mode", "code"]),
        _ => {}
    }
    args.push("hi");
    let output = acp(&zdx, &args).timeout(SOON).run().expect_code(1);
    let why = format!("the agent did not answer {method} within {seconds} s (--timeout)");
    assert!(output.stderr.contains(&why), "{}", output.stderr);
}

#[test]
fn an_error_of_the_agent_is_shown_as_it_says_it() {
    let zdx = playing(
        json!([{"fail": {"code": -32603, "message": "Internal\u{1b}[31m error", "data": {"why": "quota"}}}]),
    );
    let output = acp(&zdx, &["hi"]).run().expect_code(1);
    let why = "the agent refuses session/prompt: Internal\\x1b[31m error (-32603); {\"why\":\"quota\"}";
    assert!(output.stderr.contains(why), "{}", output.stderr);
    let zdx = with_agent(json!({"on": {"session/new": [{"result": {"sessionId": 7}}]}}));
    let output = acp(&zdx, &["hi"]).run().expect_code(1);
    assert!(output.stderr.contains("a session without an id"), "{}", output.stderr);
}

/// Its stdin is never read, so no answer of ours can be got rid of.
#[test]
fn one_that_asks_and_does_not_read_is_not_listened_to() {
    let zdx = with_agent(json!({}));
    let asks =
        r#"yes '{"id":1,"method":"session/hologram"}' | head -n 30000 && echo all was taken >&2; sleep 600"#;
    let agent = json!({"command": "sh", "args": ["-c", asks]});
    super::settings(&zdx, &json!({"agent_servers": {"asks": agent}}));
    let output = acp(&zdx, &["--timeout", "4", "hi"]).timeout(SOON).run().expect_code(1);
    assert!(output.stderr.contains("did not answer initialize"), "{}", output.stderr);
    assert!(!output.stderr.contains("all was taken"), "{}", output.stderr);
}

/// An agent has the whole environment, and may show it.
#[test]
fn no_key_of_ours_is_shown_with_what_went_wrong() {
    const KEY: &str = "k3y-of-ours-0123456789";
    let fail = json!([{"fail": {"code": -32603, "message": format!("bad {KEY}"), "data": {"key": KEY}}}]);
    let wants = json!([{"fail": {"code": -32000, "message": format!("who is {KEY}")}}]);
    let stray = "x".repeat(190) + KEY;
    let odd = json!([{"raw": stray}, {"stop": format!("odd {KEY}")}]);
    for play in [fail, wants, odd] {
        let zdx = playing(play);
        let output = acp(&zdx, &["hi"]).env("SOME_API_KEY", KEY).run().expect_code(1);
        assert!(!output.stderr.contains(&KEY[..8]), "{}", output.stderr);
    }
    let zdx = with_agent(json!({"on": {"session/new": [{"fail": {"code": 1, "message": KEY}}]}}));
    let output = acp(&zdx, &["--conform"]).env("SOME_API_KEY", KEY).run().expect_code(1);
    assert!(output.stdout.contains("fail") && !output.stdout.contains(KEY), "{}", output.stdout);
}

#[test]
fn what_we_do_not_serve_is_refused_and_not_advertised() {
    let zdx = playing(json!([
        {"ask": "elicitation/create", "params": {}}, {"ask": "session/hologram", "params": {}, "id": "a string"}, {"say": "fine"}
    ]));
    assert_eq!(acp(&zdx, &["hi"]).run().success().stdout, "fine\n");
    let answers = answers(&zdx);
    assert!(answers.iter().all(|answer| answer["error"]["code"] == -32601), "{answers:?}");
    assert_eq!(
        answers.iter().map(|answer| answer["id"].clone()).collect::<Vec<_>>(),
        [json!(0), json!("a string")]
    );
    let advertised = &sent_of(&zdx, "initialize")[0]["clientCapabilities"];
    assert_eq!(advertised.get("elicitation"), None::<&Value>);
}

/// What a child process of the agent holds open is no reason to wait.
#[test]
fn nothing_that_the_agent_started_is_left() {
    let zdx = playing(json!("child 31536001"));
    assert_eq!(acp(&zdx, &["hi"]).timeout(SOON).run().success().stdout, "started one\n");
    assert_eq!(crate::mcp::processes_with("31536001"), 0);
}

#[test]
fn one_that_minds_no_closed_stdin_is_made_to_end() {
    let zdx = with_agent(json!({"stays": true}));
    assert_eq!(acp(&zdx, &["hi"]).timeout(SOON).run().success().stdout, "echo: hi\n");
    assert_eq!(crate::mcp::processes_with(zdx.home().to_str().unwrap()), 0);
}
