//! How servers come, fail, come back and go, and that nobody waits for them who need not.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use zdx_testkit::{ModelServer, Reply, Signal, mcp_fake};

use super::{PATIENT, processes_with, server, wait_until, with_fake};
use crate::guard::{code, told};
use crate::{SOON, place, with_model};

/// A server whose start takes as long as a file says, under one and the same command.
const SLEEPY: &str = "sleep $(cat delay); exec \"$0\"";

fn sleepy() -> String {
    format!("[mcp.fake]\ncommand = [\"sh\", \"-c\", {SLEEPY:?}, {:?}]\n", mcp_fake())
}

#[test]
fn exec_waits_once_for_a_server_that_nobody_knows_and_never_for_one_that_is_known() {
    let model = ModelServer::start();
    let zdx = with_model(&model).config_more(&sleepy()).config_more("[mcp]\nfirst_wait_ms = 300");
    zdx.write("delay", "600");
    model.push(Reply::chat().text("fine"));
    let output = zdx.run(["exec", "-p", "x"]).success();
    assert!(output.duration < Duration::from_secs(60), "{:?}", output.duration);
    let told_so = "not up after 300 ms, going on without its tools: MCP server fake";
    assert!(output.stderr.contains(told_so), "{}", output.stderr);
    assert!(!model.calls()[0].tool_names().join(" ").contains("mcp__"));

    zdx.write("delay", "0");
    let config = fs::read_to_string(zdx.storage().join("config.toml")).unwrap();
    let zdx = zdx.config(&config.replace("first_wait_ms = 300", "first_wait_ms = 60000"));
    told(&zdx, &model, &[("mcp__fake__echo", json!({}))], &[]);

    // From here on its list is known: offered at once, though the server is not up and will not be.
    zdx.write("delay", "60");
    model.push(Reply::chat().text("fine"));
    let output = zdx.run(["exec", "-p", "x"]).success();
    assert!(output.stderr.is_empty(), "{}", output.stderr);
    assert!(model.calls().last().unwrap().tool_names().contains(&"mcp__fake__echo"));
}

#[test]
fn a_call_waits_for_its_server_as_long_as_it_may() {
    let model = ModelServer::start();
    let zdx = with_model(&model).config_more(PATIENT).config_more(&sleepy());
    zdx.write("delay", "0");
    told(&zdx, &model, &[("mcp__fake__echo", json!({}))], &[]);
    zdx.write("delay", "1");
    let (_, results) = told(&zdx, &model, &[("mcp__fake__echo", json!({"text": "late"}))], &[]);
    assert_eq!(results[0]["data"]["content"], "echo: late");

    zdx.write("delay", "60");
    let before = fs::read_to_string(zdx.storage().join("config.toml")).unwrap();
    let zdx = zdx.config(&format!("{before}timeout_ms = 400\n"));
    let calls = [("mcp__fake__echo", json!({})), ("bash", json!({"command": "echo on"}))];
    let (_, results) = told(&zdx, &model, &calls, &[]);
    assert_eq!(code(&results[0]), "mcp_unavailable");
    let why = results[0]["error"]["message"].as_str().unwrap();
    assert!(why.contains("the MCP server fake is not there") && why.contains("timeout_ms"), "{why}");
    assert_eq!(results[1]["data"]["stdout"], "on\n", "the session goes on");
}

#[test]
fn a_crash_costs_its_call_and_the_next_one_finds_the_server_again() {
    let model = ModelServer::start();
    let zdx = with_fake(&model, &[]);
    let calls = [("mcp__fake__crash", json!({})), ("mcp__fake__echo", json!({"text": "back"}))];
    let (output, results) = told(&zdx, &model, &calls, &[]);
    assert_eq!(code(&results[0]), "mcp_unavailable");
    let why = results[0]["error"]["message"].as_str().unwrap();
    assert!(why.contains("exit code 3") && why.contains("panic: the table is gone"), "{why}");
    assert_eq!(results[1]["data"]["content"], "echo: back");
    // Told, and kept with the session.
    assert!(output.stderr.contains("warning: MCP server fake: it ended (exit code 3)"), "{}", output.stderr);
    let errors = output.records_of("error");
    assert!(errors[0]["message"].as_str().unwrap().starts_with("MCP server fake: it ended"), "{errors:?}");
    let log = fs::read_to_string(zdx.storage().join("logs/mcp-fake")).unwrap();
    assert_eq!(log, "panic: the table is gone\n");
}

#[test]
fn one_that_crashes_again_and_again_is_given_up() {
    let model = ModelServer::start();
    let zdx = with_fake(&model, &[]);
    let crash = |n: usize| {
        Reply::chat().tool_call(&format!("c{n}"), "mcp__fake__crash", json!({"text": n.to_string()}))
    };
    (0..5).for_each(|n| model.push(crash(n)));
    model.push(Reply::chat().text("fine"));
    zdx.run(["exec", "-p", "x"]).success();
    let results = crate::results(model.calls().last().unwrap());
    let last = results[4]["error"]["message"].as_str().unwrap();
    assert!(last.contains("is not there") && last.contains("given up after 4 times"), "{last}");
}

#[test]
fn a_server_that_cannot_come_up_says_why_and_nobody_waits_long() {
    let model = ModelServer::start();
    model.always(|_| Reply::chat().text("fine"));
    for (options, limit, why) in [
        (&["--exit", "3"][..], 60_000, "(exit code 3); its last words: cannot find the database / leaving"),
        (&["--silent"][..], 300, "did not answer the handshake within 300 ms (timeout_ms)"),
        // Time enough to be heard: it has to speak before it is given up.
        (&["--silent", "--garbage"][..], 3_000, "what is no message: Welcome to the server!"),
    ] {
        let fake = server("fake", options, &format!("timeout_ms = {limit}"));
        let zdx = place().chat(&model).config_more(&fake).config_more(PATIENT);
        let output = zdx.run(["exec", "-p", "x"]).success();
        assert!(output.stderr.contains(why), "{options:?}: {}", output.stderr);
        let listed = zdx.run(["mcp", "list"]).expect_code(1).stdout;
        assert!(listed.contains("failed") && listed.contains(why), "{listed}");
    }
    let zdx = place().chat(&model).config_more("[mcp.gone]\ncommand = [\"no-such-program\"]\n[mcp.web]\nurl = \"http://127.0.0.1:1/mcp\"\n[mcp.off]\ncommand = [\"x\"]\nenabled = false");
    let output = zdx.run(["exec", "-p", "x"]).success();
    for part in
        ["MCP server gone: could not start no-such-program", "MCP server web: it is a server elsewhere"]
    {
        assert!(output.stderr.contains(part), "{part}: {}", output.stderr);
    }
    assert!(!output.stderr.contains("off"), "{}", output.stderr);
}

#[test]
fn noise_does_no_harm() {
    let model = ModelServer::start();
    let fake = server("fake", &["--garbage", "--flood", "100", "--shout", "30"], "timeout_ms = 120000");
    let zdx = with_model(&model).config_more(&fake);
    let zdx = zdx.config_more("[mcp]\nfirst_wait_ms = 120000\n[logs]\nmax_bytes = 100000\nfiles = 2");
    let (_, results) = told(&zdx, &model, &[("mcp__fake__echo", json!({"text": "hi"}))], &[]);
    assert_eq!(results[0]["data"]["content"], "echo: hi", "{}", results[0]);
    let logs = fs::read_dir(zdx.storage().join("logs")).unwrap().flatten();
    let kept: u64 = logs.map(|entry| entry.metadata().unwrap().len()).sum();
    assert!((1..=200_000).contains(&kept), "{kept}");
}

#[test]
fn none_is_left_behind_however_zdx_ends() {
    let model = ModelServer::start();
    let dir = tempfile::tempdir().unwrap();
    let mark = dir.path().join("orphan").display().to_string();
    let zdx = with_fake(&model, &["--stays", "--log", &mark]);
    told(&zdx, &model, &[("mcp__fake__echo", json!({}))], &[]);
    wait_until("gone after the end", || processes_with(&mark) == 0);
    for signal in [Signal::KILL, Signal::TERM] {
        model.push(Reply::chat().tool_call("c1", "mcp__fake__slow", json!({"step_ms": 60_000})));
        let mut running = zdx.command().args(["exec", "--format", "json", "-p", "x"]).spawn();
        running.wait_for_stdout("tool_started", SOON);
        wait_until("it runs", || processes_with(&mark) > 0);
        running.signal(signal);
        wait_until("gone after the signal", || processes_with(&mark) == 0);
    }
}

#[test]
fn a_chat_does_not_wait_and_tells_how_servers_are() {
    let model = ModelServer::start();
    model.always(|_| Reply::chat().text("fine"));
    let zdx = with_model(&model).config_more(&sleepy());
    zdx.write("delay", "60");
    let mut running = zdx.command().env("ZDX_TEST", "1").stdin_open().spawn();
    running.write("one\n");
    model.wait_for_call(1, SOON);
    assert!(!model.calls()[0].tool_names().join(" ").contains("mcp__"));
    running.write("/mcp\n");
    running.wait_for_stderr("starting", SOON);
    running.write("/exit\n");
    let output = running.finish(SOON).success();
    assert!(output.stderr.contains("server  state"), "{}", output.stderr);

    // Known, it is there from the first request on, and counted.
    zdx.write("delay", "0");
    let mut running = zdx.command().stdin_open().spawn();
    running.write("one\n");
    model.wait_for_call(2, SOON);
    wait_until("the list is kept", || {
        zdx.storage().join("cache").read_dir().is_ok_and(|mut files| files.next().is_some())
    });
    running.write("two\n");
    model.wait_for_call(3, SOON);
    running.write("/context\n/exit\n");
    let output = running.finish(SOON).success();
    assert!(output.stderr.contains("mcp tools"), "{}", output.stderr);
    assert!(model.calls()[2].tool_names().contains(&"mcp__fake__echo"));
}

#[test]
fn servers_are_listed_tried_and_changed() {
    let zdx = place();
    let fake = mcp_fake();
    zdx.run(["mcp", "add", "fake", "--env", "PATH", "--", fake, "--tools", "3"]).success();
    zdx.run(["mcp", "add", "other", "--", fake]).success();
    let listed = zdx.run(["mcp", "list", "--format", "json"]).success();
    let servers: Vec<Value> = listed.json_lines();
    assert_eq!(servers[0]["state"], "ready");
    assert_eq!(
        (&servers[0]["tools"], &servers[0]["left_out"], &servers[0]["version"]),
        (&json!(15), &json!(1), &json!("fake 1.0"))
    );
    assert!(servers[0]["start_ms"].as_u64().is_some() && servers[0]["schema_bytes"].as_u64().unwrap() > 500);
    let called = zdx.run(["mcp", "test", "fake", "echo", "{\"text\":\"hi\"}"]).success();
    assert_eq!(called.stdout, "echo: hi\n");
    let failed = zdx.run(["mcp", "test", "fake", "fail"]).expect_code(1);
    assert_eq!(failed.stderr, "zdx: mcp_error: no such table\n");
    zdx.run(["mcp", "test", "nobody"]).expect_code(1);
    zdx.run(["mcp", "test", "fake", "echo", "{"]).expect_code(2);
    zdx.run(["mcp", "disable", "other"]).success();
    let listed = zdx.run(["mcp", "list"]).success().stdout;
    assert!(listed.contains("other   disabled"), "{listed}");
    zdx.run(["mcp", "enable", "other"]).success();
    zdx.run(["mcp", "remove", "other"]).success();
    assert!(!zdx.run(["mcp", "list"]).success().stdout.contains("other"));
    zdx.run(["mcp", "remove", "other"]).expect_code(1);
}

/// What a server does with a secret is its business; what of it comes back is ours.
#[test]
fn a_secret_of_a_server_is_not_told_again() {
    let secret = "wXq7-not-for-anybody";
    let zdx = place().config_more(&server("fake", &[], "environment = { WEATHER_TOKEN = \"${MY_TOKEN}\" }"));
    let run = |args: &[&str]| zdx.command().args(args).env("MY_TOKEN", secret).run();
    let called = run(&["mcp", "test", "fake", "env"]).success();
    assert!(called.stdout.contains("WEATHER_TOKEN=[redacted]"), "{}", called.stdout);
    // One that dies with the secret on its lips.
    let dies = format!(
        "[mcp.dies]\ncommand = [\"sh\", \"-c\", \"echo bad token $WEATHER_TOKEN >&2; exit 3\"]\n{}",
        "environment = { WEATHER_TOKEN = \"${MY_TOKEN}\" }"
    );
    let zdx = place().config_more(&dies);
    let listed = zdx.command().args(["mcp", "list"]).env("MY_TOKEN", secret).run();
    let all = format!("{}{}", listed.stdout, listed.stderr);
    assert!(all.contains("bad token") && !all.contains(secret), "{all}");
}

#[test]
fn servers_stay_when_another_session_is_opened() {
    let model = ModelServer::start();
    model.always(|_| Reply::chat().text("fine"));
    // A name of its own: where process ids begin anew, the one of before may have been ours.
    let dir = tempfile::tempdir().unwrap();
    let mark = dir.path().join("stays").display().to_string();
    let zdx = with_fake(&model, &["--log", &mark]);
    let mut running = zdx.command().stdin_open().spawn();
    running.write("one\n");
    model.wait_for_call(1, SOON);
    let handshakes = || fs::read_to_string(&mark).unwrap_or_default().matches("\"initialize\"").count();
    wait_until("its list is kept", || {
        handshakes() == 1
            && zdx.storage().join("cache").read_dir().is_ok_and(|mut files| files.next().is_some())
    });
    running.write("/new\ntwo\n");
    model.wait_for_call(2, SOON);
    running.write("/mcp\n");
    running.wait_for_stderr("ready", SOON);
    running.write("/exit\n");
    running.finish(SOON).success();
    assert!(model.calls()[1].tool_names().contains(&"mcp__fake__echo"));
    assert_eq!(handshakes(), 1, "it was started once for both");
}
