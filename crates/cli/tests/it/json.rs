//! `--format json`: one object a line, and a result whatever happens.

use serde_json::{Value, json};
use zdx_testkit::{ModelServer, Reply};

use crate::{place, with_model};

/// Checks what holds for every stream and returns its types and its result.
fn check(lines: &[Value]) -> (Vec<&str>, &Value) {
    for (at, line) in lines.iter().enumerate() {
        assert_eq!(line["v"], 1, "{line}");
        assert_eq!(line["seq"], at, "{line}");
        assert!(line["ts"].as_str().is_some_and(|ts| ts.ends_with('Z')), "{line}");
    }
    let types: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(types.iter().filter(|kind| **kind == "result").count(), 1);
    assert_eq!(types.last(), Some(&"result"));
    (types, &lines[lines.len() - 1])
}

#[test]
fn events_come_in_order_and_end_with_the_result() {
    let server = ModelServer::start();
    server.push(Reply::chat().tool_call("c1", "bash", json!({"command": "echo hi"})).usage(10, 2));
    server.push(Reply::chat().text_deltas(["It ", "says hi."]).usage(20, 3));
    let zdx = with_model(&server);
    let output = zdx.run(["--format", "json", "exec", "-p", "x"]).success();
    let lines = output.json_lines();
    let (types, result) = check(&lines);
    let mut told: Vec<&str> =
        types.iter().filter(|kind| !matches!(**kind, "state_changed" | "tool_progress")).copied().collect();
    // Deltas that arrive together may be told together.
    told.dedup();
    assert_eq!(
        told,
        [
            "session_started",
            "turn_started",
            "tool_announced",
            "usage_reported",
            "tool_requested",
            "tool_started",
            "tool_finished",
            "assistant_delta",
            "assistant_final",
            "usage_reported",
            "context_usage",
            "turn_finished",
            "result",
        ]
    );
    let deltas = lines.iter().filter(|line| line["type"] == "assistant_delta");
    let text: String = deltas.map(|line| line["text"].as_str().unwrap()).collect();
    assert_eq!(text, "It says hi.");
    assert_eq!(result["outcome"], "completed");
    assert_eq!(result["text"], "It says hi.");
    assert_eq!(result["usage"]["input_tokens"], 30);
    assert_eq!(result["usage"]["output_tokens"], 5);
    assert_eq!(result["denied"], 0);
    assert!(result["duration_ms"].is_u64());
    assert_eq!(result["session"], lines[0]["session"]);
    let finished = lines.iter().find(|line| line["type"] == "tool_finished").unwrap();
    assert_eq!(finished["result"]["data"]["stdout"], "hi\n");
    assert_eq!(output.stderr, "");
}

#[test]
fn failures_have_a_result_too() {
    let server = ModelServer::start();
    server.always(|_| Reply::status(400).json(json!({"error": {"message": "no such model"}})));
    let output = with_model(&server).run(["exec", "--format", "json", "-p", "x"]).expect_code(1);
    let lines = output.json_lines();
    let (types, result) = check(&lines);
    assert!(types.contains(&"error"), "{types:?}");
    assert_eq!(result["outcome"], "error");
    assert_eq!(result["error"]["kind"], "provider");
    let message = result["error"]["message"].as_str().unwrap();
    assert!(message.contains("no such model"), "{message}");
    assert_eq!(output.stderr, format!("zdx: {message}\n"));
}

#[test]
fn every_run_that_fails_says_why_in_its_result() {
    let server = ModelServer::start();
    server.always(|_| Reply::chat().tool_call("c", "bash", json!({"command": "true"})));
    let zdx = with_model(&server);
    for (args, outcome, kind, word) in [
        (&["--max-steps", "2", "-p", "x"][..], "max_steps", "limit", "2 steps"),
        (&["-p", "x"], "repeated_calls", "limit", "same call five times"),
        (&["-p", "@agent:nobody"], "error", "config", "nobody"),
    ] {
        let output = zdx.command().args(["exec", "--format", "json"]).args(args).run().expect_code(1);
        let lines = output.json_lines();
        let (_, result) = check(&lines);
        let message = result["error"]["message"].as_str().unwrap();
        assert!(message.contains(word), "{message}");
        assert_eq!((&result["outcome"], &result["error"]["kind"]), (&json!(outcome), &json!(kind)));
        assert!(output.stderr.contains(message), "{}", output.stderr);
    }
    // A run that did not fail has none.
    server.always(|_| Reply::chat().text("fine"));
    let output = zdx.run(["exec", "--format", "json", "-p", "x"]).success();
    assert_eq!(output.json_lines().pop().unwrap().get("error"), None);
}

#[test]
fn a_usage_error_has_no_result() {
    for args in [&["exec"][..], &["exec", "--root", "/nonexistent", "-p", "x"], &["exec", "--bogus"]] {
        let output = place().command().args(["--format", "json"]).args(args).run().expect_code(2);
        assert_eq!(output.stdout, "", "{args:?}");
        assert!(!output.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn failures_before_anything_started_have_one_as_well() {
    for (zdx, args, kind, word) in [
        (place(), &["exec", "--model", "anthropic/x", "-p", "x"][..], "provider", "ANTHROPIC_API_KEY"),
        (place().config("max_tokens = \"many\""), &["exec", "-p", "x"], "config", "max_tokens"),
        (place(), &["exec", "--session", "0000", "-p", "x"], "session", "0000"),
    ] {
        let output = zdx.command().args(["--format", "json"]).args(args).run().expect_code(1);
        let lines = output.json_lines();
        let (_, result) = check(&lines);
        assert_eq!(result["outcome"], "error", "{args:?}");
        let message = result["error"]["message"].as_str();
        assert!(message.is_some_and(|error| error.contains(word)), "{args:?}: {result}");
        assert_eq!(result["error"]["kind"], kind, "{args:?}");
        assert!(output.stderr.contains(word), "{args:?}: {}", output.stderr);
    }
}

#[test]
fn lines_of_a_pipe_are_prompts_of_one_session() {
    let server = ModelServer::start();
    server.push(Reply::chat().text("one"));
    server.push(Reply::chat().text("two"));
    let zdx = with_model(&server);
    let output = zdx.command().args(["--format", "json"]).stdin("first\nsecond\n").run().success();
    let lines = output.json_lines();
    let (types, result) = check(&lines);
    assert_eq!(types.iter().filter(|kind| **kind == "turn_finished").count(), 2);
    assert_eq!(result["text"], "two");
    assert_eq!(zdx.session_files().len(), 1);
}
