//! What breaks: servers, processes, signals. Nothing shown is lost, nothing runs twice, every end is told.

use std::time::Duration;

use serde_json::json;
use zdx_testkit::{Gate, ModelServer, Reply, Signal, Step};

use crate::{SOON, place};

#[test]
fn a_busy_server_is_tried_again_openly() {
    let server = ModelServer::start_with([
        Reply::status(429).header("retry-after-ms", "5").json(json!({"error": {"message": "slow down"}})),
        Reply::status(503).header("retry-after", "0.01").json(json!({"error": {"message": "busy"}})),
        Reply::chat().text("here").done(),
    ]);
    let zdx = place().chat(&server);
    let out = zdx.run(["exec", "-p", "go", "--format", "json"]).success();
    let retries: Vec<_> = out.json_lines().into_iter().filter(|l| l["type"] == "retrying").collect();
    assert_eq!(retries.len(), 2);
    assert_eq!((&retries[1]["attempt"], &retries[1]["of"]), (&json!(2), &json!(2)));
    assert_eq!(server.calls().len(), 3);
}

/// By the settings as they are, in a fraction of the time: the server says how soon it wants to be asked.
#[test]
fn a_server_that_fails_nine_times_and_loads_its_model_is_outlived() {
    let soon = |status: u16| Reply::status(status).header("retry-after-ms", "2");
    let server = ModelServer::start();
    for status in [500, 502, 503, 504, 529, 429, 408, 500, 500] {
        server.push(soon(status).json(json!({"error": {"message": "no"}})));
    }
    for _ in 0..5 {
        server.push(
            soon(503).json(json!({"error": {"message": "Loading model", "type": "unavailable_error"}})),
        );
    }
    server.push(Reply::chat().text("here").done());
    let zdx = place().chat(&server).config_more("[retry]\nmax_attempts = 10");
    let out = zdx.run(["exec", "-p", "go", "--format", "json"]).success();
    assert_eq!(server.calls().len(), 15);
    let retries: Vec<_> = out.json_lines().into_iter().filter(|line| line["type"] == "retrying").collect();
    let counts: Vec<_> = retries.iter().map(|line| (line["attempt"].as_u64(), line["of"].as_u64())).collect();
    let counted = (1..=9).map(|n| (Some(n), Some(10)));
    assert_eq!(counts, counted.chain([(Some(9), Some(0)); 5]).collect::<Vec<_>>());
    assert_eq!(retries[4]["reason"], "overloaded (529): no");
    assert_eq!(retries[9]["reason"], "loading its model (503): Loading model");
}

#[test]
fn ctrl_c_is_heard_while_a_refusal_awaits_the_list_of_models() {
    let server = ModelServer::start();
    let never = Gate::new();
    server.models(Reply::status(200).json(json!({"data": []})).insert_at(0, Step::WaitFor(never.clone())));
    server.always(|_| Reply::status(400).json(json!({"error": {"message": "Prompt exceeds max length"}})));
    let zdx = place().chat(&server);
    let mut running = zdx.command().args(["exec", "-p", "go"]).spawn();
    server.wait_for_request(2, SOON);
    running.signal(Signal::INT);
    running.finish(SOON).expect_code(130);
    never.open();
}

/// More than anybody means: the first are run, and one error says what became of the rest.
#[test]
fn thousands_of_calls_in_one_answer_are_capped() {
    let mut reply = Reply::chat();
    for n in 0..5_000 {
        reply = reply.tool_call(&format!("c{n}"), "glob", json!({"pattern": format!("nothing{n}")}));
    }
    let server = ModelServer::start_with([reply.done(), Reply::chat().text("done").done()]);
    let zdx = place().chat(&server);
    let out = zdx.run(["exec", "-p", "go"]).success();
    let results = out.records_of("tool_result");
    assert_eq!(results.len(), 257);
    assert!(results[..256].iter().all(|result| result["ok"] == true));
    let told = results[256]["output"]["error"]["message"].as_str().unwrap();
    assert!(told.contains("held 5000 calls; the first 256 were run"), "{told}");
    assert_eq!(server.calls()[1].messages().iter().filter(|m| m["role"] == "tool").count(), 257);
}

/// The time is that of one failure: what comes of an answer sets it back.
#[test]
fn an_answer_that_goes_on_has_all_its_time_again() {
    let server = ModelServer::start_with([
        Reply::status(500).header("retry-after-ms", "900").json(json!({"error": {"message": "no"}})),
        Reply::chat().text("Half an").unfinished().done(),
        Reply::chat().text(" answer.").done(),
    ]);
    let zdx = place().chat(&server).config_more("[retry]\nmax_seconds = 1");
    let out = zdx.run(["exec", "-p", "go"]).success();
    assert_eq!(out.stdout, "Half an answer.\n");
}

#[test]
fn who_gives_up_says_after_how_much() {
    let server = ModelServer::start();
    server.always(|_| {
        Reply::status(500).header("retry-after-ms", "2").json(json!({"error": {"message": "no"}}))
    });
    let zdx = place().chat(&server).config_more("[retry]\nmax_attempts = 3");
    let out = zdx.run(["exec", "-p", "go"]).expect_code(1);
    assert_eq!(server.calls().len(), 4);
    assert!(out.stderr.contains("Retrying in 1 s (3 of 3) · server error (500): no\n"), "{}", out.stderr);
    assert!(out.stderr.contains("gave up after 3 retries in 0 s"), "{}", out.stderr);
    let zdx = place().chat(&server).config_more("[retry]\nmax_seconds = 1");
    let wait = || Reply::status(429).header("retry-after", "2").json(json!({"error": {"message": "slow"}}));
    server.always(move |_| wait());
    let out = zdx.run(["exec", "-p", "go"]).expect_code(1);
    assert!(out.stderr.contains("the server asks to wait 2 s"), "{}", out.stderr);
}

#[test]
fn ctrl_c_keeps_what_was_said() {
    let gate = Gate::new();
    let server = ModelServer::start_with([Reply::chat()
        .text_deltas(["Once upon", " a time"])
        .done()
        .after_events(2, Step::WaitFor(gate.clone()))]);
    let zdx = place().chat(&server);
    let mut running = zdx.command().args(["exec", "-p", "tell"]).spawn();
    running.wait_for_stdout("Once upon", SOON);
    running.signal(Signal::INT);
    let out = running.finish(SOON).expect_code(130);
    let messages = out.records_of("message");
    assert_eq!(messages[1]["text"], "Once upon");
    assert_eq!(out.records.last().unwrap()["type"], "interrupted");
    assert_eq!(out.records.last().unwrap()["text"], "Interrupted");
}

#[test]
fn term_and_hup_are_recorded_like_ctrl_c() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129)] {
        let server = ModelServer::start_with([Reply::chat().text("x").done().after_events(1, Step::Stall)]);
        let zdx = place().chat(&server);
        let mut running = zdx.command().args(["exec", "-p", "tell"]).spawn();
        server.wait_for_call(1, SOON);
        running.signal(signal);
        let out = running.finish(SOON).expect_code(code);
        assert_eq!(out.records.last().unwrap()["type"], "interrupted", "{code}");
    }
}

#[test]
fn ctrl_c_stops_a_command_and_its_children() {
    let command =
        "trap '' TERM INT; setsid sh -c 'echo $$ > pid; exec sleep 600' & echo started; wait; sleep 600";
    let server = ModelServer::start_with([Reply::chat()
        .tool_call("c1", "bash", json!({ "command": command }))
        .done()]);
    let zdx = place().chat(&server);
    let mut running = zdx.command().args(["exec", "-p", "go", "--format", "json"]).spawn();
    running.wait_for_stdout("started", SOON);
    let pid_file = zdx.root().join("pid");
    let pid = wait_until(|| std::fs::read_to_string(&pid_file).ok().filter(|text| text.ends_with('\n')));
    running.signal(Signal::INT);
    // The command would go on for ten minutes.
    let out = running.finish(SOON).expect_code(130);
    let alive = std::path::Path::new("/proc").join(pid.trim()).join("cmdline");
    let alive = std::fs::read_to_string(alive).is_ok_and(|line| line.contains("sleep"));
    assert!(!alive, "the grandchild {pid} still runs");
    let result = out.records_of("tool_result")[0];
    assert_eq!(result["output"]["error"]["code"], "interrupted");
    assert_eq!(out.records.last().unwrap()["type"], "interrupted");
}

fn wait_until<T>(mut ready: impl FnMut() -> Option<T>) -> T {
    let deadline = std::time::Instant::now() + SOON;
    loop {
        if let Some(value) = ready() {
            return value;
        }
        assert!(std::time::Instant::now() < deadline, "waited too long");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_killed_session_resumes_with_all_it_had() {
    let server = ModelServer::start_with([
        Reply::chat().text("Looking.").tool_call("c1", "bash", json!({"command": "echo one"})).done(),
        Reply::chat().tool_call("c2", "bash", json!({"command": "echo started > mark; sleep 600"})).done(),
    ]);
    let zdx = place().chat(&server);
    let mut running = zdx.command().args(["exec", "-p", "first"]).spawn();
    wait_until(|| zdx.root().join("mark").exists().then_some(()));
    running.signal(Signal::KILL);
    running.finish(SOON);

    server.push(Reply::chat().text("Back again.").done());
    let out = zdx.run(["exec", "-c", "-p", "second"]).success();
    assert_eq!(out.stdout, "Back again.\n");
    let request = server.calls().pop().unwrap();
    let text = request.body.to_string();
    for part in ["first", "Looking.", "one\\\\n", "second"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let results: Vec<_> = request.messages().iter().filter(|m| m["role"] == "tool").collect();
    assert_eq!(results.len(), 2);
    assert!(results[1]["content"].as_str().unwrap().contains("interrupted"));
    assert_eq!(zdx.session_files().len(), 1);
}

#[test]
fn killed_while_streaming_the_session_is_whole() {
    let server = ModelServer::start_with([Reply::chat()
        .text_deltas(["never", " finished"])
        .done()
        .after_events(2, Step::Stall)]);
    let zdx = place().chat(&server);
    let mut running = zdx.command().args(["exec", "-p", "first"]).spawn();
    running.wait_for_stdout("never", SOON);
    running.signal(Signal::KILL);
    running.finish(SOON);
    server.push(Reply::chat().text("ok").done());
    zdx.run(["exec", "-c", "-p", "second"]).success();
    let prompts: Vec<_> =
        zdx.records().iter().filter(|r| r["role"] == "user").map(|r| r["text"].clone()).collect();
    assert_eq!(prompts, [json!("first"), json!("second")]);
}

#[test]
fn errors_say_what_to_do() {
    let refused = place().config(
        "model = \"lab/m\"\nretries = 0\n[providers.lab]\nwire = \"openai-chat\"\nbase_url = \"http://127.0.0.1:1/v1\"\n",
    );
    let out = refused.run(["exec", "-p", "go"]).expect_code(1);
    assert!(out.stderr.contains("cannot reach") && out.stderr.contains("base_url"), "{}", out.stderr);

    let out = place().run(["exec", "--model", "anthropic/claude-x", "-p", "go"]).expect_code(1);
    assert!(
        out.stderr.contains("ANTHROPIC_API_KEY") && out.stderr.contains("local server"),
        "{}",
        out.stderr
    );

    let server = ModelServer::start_with([Reply::status(401).json(json!({"error": {"message": "bad key"}}))]);
    let out = place().chat(&server).run(["exec", "-p", "go"]).expect_code(1);
    assert!(out.stderr.contains("401") && out.stderr.contains("key"), "{}", out.stderr);
}
