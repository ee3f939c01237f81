//! The turn loop as a user and a model's server see it: requests, channels, session file, exit code.

use serde_json::{Value, json};
use zdx_testkit::{ModelServer, Reply};

use crate::place;

/// The last request's tool results, as the envelope each carries.
pub fn chat_results(request: &zdx_testkit::Request) -> Vec<(String, Value)> {
    let results = request.messages().iter().filter(|message| message["role"] == "tool");
    results
        .map(|message| {
            let id = message["tool_call_id"].as_str().unwrap().to_owned();
            (id, serde_json::from_str(message["content"].as_str().unwrap()).unwrap())
        })
        .collect()
}

#[test]
fn two_tools_then_an_answer_over_chat() {
    let server = ModelServer::start_with([
        Reply::chat().tool_call("c1", "write", json!({"path": "a.txt", "content": "hello\n"})).done(),
        Reply::chat().text("Now I look.").tool_call("c2", "bash", json!({"command": "cat a.txt"})).done(),
        Reply::chat().text("It says hello.").done(),
    ]);
    let zdx = place().chat(&server);
    let out = zdx.run(["exec", "-p", "go"]).success();

    assert_eq!(out.stdout, "Now I look.\nIt says hello.\n");
    assert_eq!(zdx.read("a.txt"), "hello\n");
    for line in ["Tool requested: bash command=\"cat a.txt\"", "Tool finished: bash exit=0"] {
        assert!(out.stderr.lines().any(|l| l == line), "{line} in {}", out.stderr);
    }
    assert!(out.stderr.lines().any(|l| l.starts_with("Done. (") && l.ends_with("s)")), "{}", out.stderr);

    let requests = server.calls();
    assert_eq!(requests.len(), 3);
    let results = chat_results(&requests[2]);
    assert_eq!(results[0].0, "c1");
    assert_eq!(results[0].1["data"]["created"], true);
    assert_eq!(results[1].1["data"]["stdout"], "hello\n");

    let kinds: Vec<_> = out
        .records
        .iter()
        .map(|r| r["type"].as_str().unwrap())
        .filter(|k| !["usage", "change_intent", "change", "turn_end"].contains(k))
        .collect();
    let expected =
        ["meta", "message", "tool_use", "tool_result", "message", "tool_use", "tool_result", "message"];
    assert_eq!(kinds, expected);
    assert_eq!(out.records[0]["schema_version"], 1);
}

#[test]
fn two_tools_then_an_answer_over_anthropic() {
    let server = ModelServer::start_with([
        Reply::anthropic()
            .thinking("first write", "sig-1")
            .tool_use("t1", "write", json!({"path": "a.txt", "content": "hello\n"}))
            .done(),
        Reply::anthropic().tool_use("t2", "read", json!({"path": "a.txt"})).done(),
        Reply::anthropic().text("It says hello.").done(),
    ]);
    let zdx = place().anthropic(&server);
    let out = zdx.run(["exec", "-p", "go"]).success();
    assert_eq!(out.stdout, "It says hello.\n");

    let requests = server.calls();
    let messages = requests[2].messages();
    let roles: Vec<_> = messages.iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user"]);
    let thinking = &messages[1]["content"][0];
    assert_eq!((&thinking["type"], &thinking["signature"]), (&json!("thinking"), &json!("sig-1")));
    assert_eq!(messages[1]["content"][1]["id"], "t1");
    assert_eq!(messages[2]["content"][0]["tool_use_id"], "t1");
    let read = messages[4]["content"][0].to_string();
    assert!(read.contains("hello"), "{read}");
}

/// Cache marks move with the end of the conversation; everything else must stay.
fn without_marks(mut value: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(map) => {
                map.remove("cache_control");
                map.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut value);
    value
}

fn assert_prefix_stable(requests: &[zdx_testkit::Request]) {
    assert!(requests.len() > 20, "{} requests", requests.len());
    for pair in requests.windows(2) {
        let [before, after] = [&pair[0].body, &pair[1].body].map(|body| without_marks(body.clone()));
        assert_eq!(before["tools"], after["tools"]);
        assert_eq!(before["system"], after["system"]);
        let (before, after) = (before["messages"].as_array().unwrap(), after["messages"].as_array().unwrap());
        assert!(after.len() > before.len());
        for (at, message) in before.iter().enumerate() {
            assert_eq!(message.to_string(), after[at].to_string(), "message {at}");
        }
    }
}

#[test]
fn twenty_steps_extend_one_prefix() {
    for anthropic in [false, true] {
        let server = ModelServer::start();
        server.always(move |request| {
            let step = request.messages().len() / 2;
            let (id, command) = (format!("call_{step}"), format!("echo {step}"));
            let input = json!({ "command": command });
            match (anthropic, step < 21) {
                (true, true) => {
                    Reply::anthropic().thinking("hm", "sig").text("next").tool_use(&id, "bash", input).done()
                }
                (false, true) => {
                    Reply::chat().reasoning("hm").text("next").tool_call(&id, "bash", input).done()
                }
                (true, false) => Reply::anthropic().text("done").done(),
                (false, false) => Reply::chat().text("done").done(),
            }
        });
        let zdx = if anthropic { place().anthropic(&server) } else { place().chat(&server) };
        zdx.run(["exec", "-p", "twenty steps"]).success();
        assert_prefix_stable(&server.calls());
    }
}

#[test]
fn the_first_request_is_small_and_the_only_one() {
    let server = ModelServer::start_with([Reply::chat().text("hi").done()]);
    let zdx = place().chat(&server);
    zdx.run(["exec", "-p", "hello"]).success();
    let requests = server.calls();
    assert_eq!(requests.len(), 1, "no request that the turn does not need");
    let size = requests[0].raw.len();
    assert!(size <= 12_000, "{size} bytes");
}

#[test]
fn what_a_model_gets_wrong_is_told_to_it() {
    let server = ModelServer::start_with([
        Reply::chat()
            .tool_call_deltas("c1", "bash", ["{\"command\": \"echo", " broken"])
            .tool_call("c2", "launch", json!({}))
            .tool_call("c3", "read", json!({"path": 5}))
            .tool_call_deltas("c4", "bash", ["[1,2]"])
            .done(),
        Reply::chat().text("sorry").done(),
    ]);
    let zdx = place().chat(&server);
    let out = zdx.run(["exec", "-p", "go"]).success();
    let results = chat_results(&server.calls()[1]);
    let codes: Vec<_> =
        results.iter().map(|(id, result)| (id.as_str(), result["error"]["code"].as_str())).collect();
    let expected = [
        ("c1", Some("invalid_input")),
        ("c2", Some("unknown_tool")),
        ("c3", Some("invalid_input")),
        ("c4", Some("invalid_input")),
    ];
    assert_eq!(codes, expected);
    let raw = out.records_of("tool_use")[0]["raw"].as_str().unwrap();
    assert_eq!(raw, "{\"command\": \"echo broken");
}

#[test]
fn a_call_that_is_cut_off_is_told_to_both_with_what_to_do() {
    let server = ModelServer::start_with([
        Reply::chat()
            .tool_call_deltas("c1", "write", ["{\"path\": \"a.txt\", \"content\": \"half"])
            .usage(100, 8192)
            .finish("length")
            .done(),
        Reply::chat().text("in parts, then").done(),
    ]);
    let zdx = place().chat(&server);
    let out = zdx.run(["exec", "-p", "go"]).success();
    assert!(!zdx.root().join("a.txt").exists());
    let (_, result) = &chat_results(&server.calls()[1])[0];
    let told = result["error"]["message"].as_str().unwrap();
    assert!(told.starts_with("cut at max_tokens 8192: write it in parts"), "{told}");
    assert!(
        out.stderr.contains("a call of write was cut at max_tokens 8192: write it in parts"),
        "{}",
        out.stderr
    );
}

#[test]
fn a_call_that_an_answer_repeats_runs_once() {
    let append = json!({"command": "echo x >> log"});
    let server = ModelServer::start_with([
        Reply::chat().tool_call("c1", "bash", append.clone()).tool_call("c1", "bash", append).done(),
        Reply::chat().text("done").done(),
    ]);
    let zdx = place().chat(&server);
    let out = zdx.run(["exec", "-p", "go"]).success();
    assert_eq!(zdx.read("log"), "x\n");
    let codes: Vec<_> =
        out.records_of("tool_result").iter().map(|r| r["output"]["error"]["code"].clone()).collect();
    assert_eq!(codes, [Value::Null, json!("duplicate_id")]);
    let ids: Vec<_> = chat_results(&server.calls()[1]).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["c1", "c1-2"], "no server takes one id twice in an answer");
}

/// Kimi counts the calls of each answer from zero, Xinference has one id for all calls of an answer.
#[test]
fn every_call_runs_whatever_its_server_calls_it() {
    let echo = |what: &str| json!({"command": format!("echo {what} >> log")});
    let kimi = "functions.bash:0";
    let server = ModelServer::start_with([
        Reply::chat().tool_call(kimi, "bash", echo("a")).done(),
        Reply::chat().tool_call(kimi, "bash", echo("a")).done(),
        Reply::chat().tool_call("x", "bash", echo("b")).tool_call("x", "bash", echo("c")).done(),
        Reply::chat().text("done").done(),
        Reply::chat().tool_call(kimi, "bash", echo("d")).done(),
        Reply::chat().text("done").done(),
    ]);
    let zdx = place().chat(&server);
    let out = zdx.run(["exec", "-p", "go"]).success();
    assert_eq!(zdx.read("log"), "a\na\nb\nc\n");
    let inside: Vec<_> = out.records_of("tool_use").iter().map(|r| r["id"].to_string()).collect();
    let distinct: std::collections::HashSet<_> = inside.iter().collect();
    assert_eq!(distinct.len(), 4, "{inside:?}");
    let sent = |at: usize| -> Vec<String> {
        chat_results(&server.calls()[at]).into_iter().map(|(id, _)| id).collect()
    };
    assert_eq!(sent(3), [kimi, kimi, "x", "x-2"], "back as they came, but for what one answer repeats");
    // Read from its file, the session sends the same.
    zdx.run(["exec", "-c", "-p", "again"]).success();
    assert_eq!(zdx.read("log"), "a\na\nb\nc\nd\n");
    assert_eq!(sent(5), [kimi, kimi, "x", "x-2", kimi]);
}

#[test]
fn results_go_back_in_the_order_of_the_calls() {
    let mut reply = Reply::chat();
    for n in 0..8 {
        reply = reply.tool_call(&format!("c{n}"), "read", json!({"path": format!("f{n}")}));
    }
    let server = ModelServer::start_with([reply.done(), Reply::chat().text("done").done()]);
    let zdx = place().chat(&server);
    for n in 0..8 {
        // The first file is by far the largest, so that it is read last.
        zdx.write(format!("f{n}"), if n == 0 { "0".repeat(40_000) } else { n.to_string() });
    }
    zdx.run(["exec", "-p", "go"]).success();
    let ids: Vec<_> = chat_results(&server.calls()[1]).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, (0..8).map(|n| format!("c{n}")).collect::<Vec<_>>());
}

#[test]
fn the_step_limit_ends_a_turn() {
    let server = ModelServer::start();
    server.always(|request| {
        let step = request.messages().len();
        Reply::chat()
            .tool_call(&format!("c{step}"), "bash", json!({"command": format!("echo {step}")}))
            .done()
    });
    let zdx = place().chat(&server);
    let out = zdx.run(["exec", "-p", "go", "--max-steps", "3", "--format", "json"]).expect_code(1);
    assert_eq!(server.calls().len(), 3);
    let lines = out.json_lines();
    assert_eq!(lines.last().unwrap()["outcome"], "max_steps");
}

#[test]
fn going_in_circles_is_told_and_then_stopped() {
    let server = ModelServer::start();
    server.always(|request| {
        let step = request.messages().len();
        Reply::chat().tool_call(&format!("c{step}"), "bash", json!({"command": "true"})).done()
    });
    let zdx = place().chat(&server);
    let out = zdx.run(["exec", "-p", "go", "--format", "json"]).expect_code(1);
    assert_eq!(out.json_lines().last().unwrap()["outcome"], "repeated_calls");
    let results = out.records_of("tool_result");
    assert_eq!(results.len(), 5);
    let noted: Vec<_> = results.iter().map(|r| r["output"]["data"].get("note").is_some()).collect();
    assert_eq!(noted, [false, false, true, true, true]);
}

#[test]
fn a_server_that_names_its_limit_is_asked_for_less() {
    let refusal = json!({"error": {"message": "This model's maximum context length is 4096 tokens. However, you requested \
        9000 tokens (808 in the messages, 8192 in the completion).", "type": "BadRequestError", "code": 400}});
    let server =
        ModelServer::start_with([Reply::status(400).json(refusal), Reply::chat().text("fits").done()]);
    let zdx = place().chat(&server);
    let out = zdx.run(["exec", "-p", "go"]).success();
    assert_eq!(out.stdout, "fits\n");
    let asked: Vec<_> = server.calls().iter().map(|r| r.body["max_tokens"].as_u64().unwrap()).collect();
    assert_eq!(asked[0], 8192);
    assert!(asked[1] <= 4096 - 808, "{asked:?}");
}
