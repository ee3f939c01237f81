//! Input and conversations that are too large for a model nobody described: what is learnt from refusals, what stays, what
//! goes and how that is said. Refusals are the bytes of real servers.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use zdx_testkit::{Gate, ModelServer, Reply, Request, Step, Zdx};

use crate::place;

pub(crate) const LIMIT: u64 = 4_096;

/// What a server says to so many tokens.
type Refusal = fn(u64) -> Reply;

/// A tokenizer for which each digit and the blank behind it is a token, and anything else a quarter of one.
pub(crate) fn tokens(request: &Request) -> u64 {
    let text = format!("{}{}", request.body["messages"], request.body["tools"]);
    let dense = text.bytes().filter(|byte| byte.is_ascii_digit() || *byte == b' ').count();
    (dense + (text.len() - dense) / 5) as u64
}

/// 42 kB that look like 14,000 tokens and are 42,000.
pub(crate) fn digits() -> String {
    (0..4_200u32).map(|n| format!("{} ", 100_000_000 + n.wrapping_mul(7_919_333) % 900_000_000)).collect()
}

/// Refuses in these words what is longer than it can hold, and calls for nothing.
fn refusing(refusal: Refusal) -> ModelServer {
    let server = ModelServer::start();
    server.always(move |request| match tokens(request) {
        counted if counted > LIMIT => refusal(counted),
        counted => Reply::chat().text("fixed it").usage(counted, 5).done(),
    });
    server
}

fn text_of(request: &Request) -> String {
    request
        .messages()
        .iter()
        .map(|message| format!("{}\n", message["content"].as_str().unwrap_or_default()))
        .collect()
}

fn sent_last(server: &ModelServer) -> String {
    text_of(server.calls().last().unwrap())
}

/// The file that a marker in this text names.
fn named_file(text: &str) -> PathBuf {
    let (_, rest) = text.split_once("the whole is in ").unwrap_or_else(|| panic!("no file in {text}"));
    PathBuf::from(rest.split_once(": read it").unwrap().0)
}

#[test]
fn a_prompt_denser_than_thought_is_cut_until_it_fits_and_the_session_lives_on() {
    let refusals: [(&str, Refusal); 3] = [
        ("llama.cpp", |counted| Reply::llama_cpp_too_long(counted, LIMIT)),
        ("vLLM", |_| Reply::vllm_too_long(LIMIT)),
        ("LiteLLM", |_| Reply::litellm_too_long(LIMIT)),
    ];
    for (name, refusal) in refusals {
        let server = refusing(refusal);
        let zdx = place().chat(&server);
        let prompt = format!("sum these: {}", digits().trim_end());
        let out = zdx.run(["exec", "-p", &prompt]).success();
        assert_eq!(out.stdout, "fixed it\n", "{name}");
        assert!(server.calls().len() <= 6, "{name}: {} requests", server.calls().len());
        assert!(out.stderr.contains("input too long for the model"), "{name}: {}", out.stderr);
        assert!(out.records_of("compaction").is_empty(), "{name}: what was just said is no summary");
        let prompts = out.records_of("message");
        assert!(prompts[0]["text"] == prompt, "{name}: the file keeps it whole");

        let sent = sent_last(&server);
        assert!(sent.contains("sum these: 100000000 "), "{name}: {sent}");
        let file = named_file(&sent);
        assert!(file.starts_with(zdx.storage().join("sessions")), "{name}");
        let kept = fs::read_to_string(file).unwrap();
        assert!(kept.replace('\n', "") == prompt, "{name}");
        assert!(kept.lines().all(|line| line.len() <= 200), "{name}: `read` goes by lines");

        for _ in 0..2 {
            let out = zdx.run(["exec", "-c", "-p", "hi"]).success();
            assert_eq!(out.stdout, "fixed it\n", "{name}: {}", out.stderr);
        }
    }
}

#[test]
fn a_limit_is_learnt_from_a_refusal_of_the_answer_and_kept() {
    let refusals: [Refusal; 2] = [
        |wanted| Reply::vllm_answer_too_long(wanted, LIMIT),
        |wanted| Reply::litellm_answer_too_long(wanted, LIMIT),
    ];
    for refusal in refusals {
        let server = ModelServer::start();
        server.always(move |request| match request.body["max_tokens"].as_u64().unwrap() {
            wanted if wanted > LIMIT => refusal(wanted),
            _ => Reply::chat().text("ok").done(),
        });
        let zdx = place().chat(&server);
        zdx.run(["exec", "-p", "hello"]).success();
        let wanted = |at: usize| server.calls()[at].body["max_tokens"].as_u64().unwrap();
        assert_eq!((server.calls().len(), wanted(0)), (2, 8192));
        assert!(wanted(1) <= LIMIT - 1_500, "no more than the context leaves: {}", wanted(1));
        zdx.run(["exec", "-p", "hello again"]).success();
        assert_eq!(server.calls().len(), 3, "another session knows");
    }
}

/// Says how much its model holds when it is asked, however long that takes.
fn listing(gate: &Gate) -> Reply {
    let list = json!({"object": "list", "data": [{"id": "scripted", "max_model_len": LIMIT}]});
    Reply::status(200).json(list).insert_at(0, Step::WaitFor(gate.clone()))
}

/// One call, then an answer.
fn two_steps(server: &ModelServer) {
    server.always(|request| match request.messages().iter().any(|message| message["role"] == "tool") {
        false => Reply::chat().tool_call("c1", "bash", json!({"command": "true"})).done(),
        true => Reply::chat().text("done").done(),
    });
}

fn methods(server: &ModelServer) -> Vec<String> {
    server.requests().into_iter().map(|request| request.method).collect()
}

#[test]
fn the_list_is_asked_between_requests_and_once() {
    let server = ModelServer::start();
    let open = Gate::new();
    open.open();
    server.models(listing(&open));
    two_steps(&server);
    let zdx = place().chat(&server);
    zdx.run(["exec", "-p", "hello"]).success();
    // Never while an answer streams: some servers break it off.
    assert_eq!(methods(&server), ["POST", "GET", "POST"]);
    let wanted = |at: usize| server.calls()[at].body["max_tokens"].as_u64().unwrap();
    assert_eq!(wanted(0), 8192);
    assert!(wanted(1) < LIMIT, "{}", wanted(1));
    zdx.run(["exec", "-p", "hello again"]).success();
    assert_eq!(methods(&server)[3..], ["POST", "POST"]);
    assert!(wanted(2) < LIMIT, "another session knows from its first request on: {}", wanted(2));
}

#[test]
fn a_list_that_never_comes_is_not_waited_for() {
    let server = ModelServer::start();
    let never = Gate::new();
    server.models(listing(&never));
    two_steps(&server);
    let zdx = place().chat(&server);
    assert_eq!(zdx.run(["exec", "-p", "hello"]).success().stdout, "done\n");
    assert!(methods(&server).starts_with(&["POST".to_owned()]), "the first request waits for nothing");
    never.open();
}

fn small(server: &ModelServer, limit: u64) -> Zdx {
    place().chat(server).config_more(&format!("[models.\"test/scripted\"]\ncontext_limit = {limit}"))
}

#[test]
fn two_mentioned_files_share_the_room_and_both_stay() {
    let server = ModelServer::start_with([Reply::chat().text("ok").done()]);
    let zdx = place().chat(&server);
    for name in ["one.txt", "two.txt"] {
        let lines: String = (0..1_500).map(|n| format!("{name} line {n} of a file that is long\n")).collect();
        zdx.write(name, lines);
    }
    zdx.write("three.js", "x".repeat(30_000));
    let out = zdx.run(["exec", "-p", "compare @one.txt and @two.txt and @three.js"]).success();
    assert!(out.records_of("compaction").is_empty() && out.records_of("cut").is_empty());
    let sent = sent_last(&server);
    assert!((49_152..70_000).contains(&sent.len()), "{}", sent.len());
    for name in ["one.txt", "two.txt"] {
        let [first, last] = [0, 1_499].map(|n| format!("{name} line {n} of a file"));
        assert!(sent.contains(&first) && sent.contains(&last), "{name}");
        assert!(sent.contains(&format!("read {name} with offset and limit for the rest")), "{name}");
        assert!(out.stderr.contains(&format!("@{name} is too long for the model: ")), "{}", out.stderr);
    }
    // One line cannot be read by lines: a copy in many stands in.
    let copy = fs::read_to_string(named_file(&sent)).unwrap();
    assert!(copy.starts_with("@file:three.js\n") && copy.lines().count() > 100);
}

/// Half of the context is not all of it: what it holds beside an answer is sent whole.
#[test]
fn what_the_context_has_room_for_is_sent_whole() {
    let server = ModelServer::start();
    server.always(|_| Reply::chat().text("ok").done());
    let zdx = place().chat(&server);
    let log: String = (0..1_500).map(|n| format!("{n:04} of the log, with token-{n:04}\n")).collect();
    assert!((49_200..50_000).contains(&log.len()), "{}", log.len());
    let out = zdx.command().args(["exec", "-p", "why?"]).stdin(&log).run().success();
    assert!(sent_last(&server).contains(log.trim_end()));
    assert!(!out.stderr.contains("too long"), "{}", out.stderr);
    // What is in use and what an answer takes is counted.
    let out = zdx.command().args(["exec", "-c", "-p", "and now?"]).stdin(&log).run().success();
    assert!(out.stderr.contains("what came on stdin is too long for the model: 33 kB of"), "{}", out.stderr);
}

#[test]
fn what_is_piped_in_is_cut_and_what_was_typed_is_not() {
    let server = ModelServer::start_with([Reply::chat().text("ok").done(), Reply::chat().text("ok").done()]);
    let zdx = place().chat(&server);
    let log: String = (0..9_000).map(|n| format!("{n} of the log, with token-{n}\n")).collect();
    let out = zdx.command().args(["exec", "-p", "why does it fail?"]).stdin(&log).run().success();
    let sent = sent_last(&server);
    assert!(sent.contains("why does it fail?\n\n0 of the log") && sent.contains("8999 of the log"), "{sent}");
    assert_eq!(fs::read_to_string(named_file(&sent)).unwrap().trim_end(), log.trim_end());
    assert!(out.stderr.contains("what came on stdin is too long for the model: "), "{}", out.stderr);
    // Nothing is kept of a session that is not saved, and that is said.
    let out = zdx.command().args(["exec", "--no-save", "-p", "why?"]).stdin(&log).run().success();
    assert!(out.stderr.contains("the rest is left out, since the session keeps no files"), "{}", out.stderr);
    assert!(sent_last(&server).contains("left out to fit the context ...]"));
}

#[test]
fn without_compaction_what_is_too_long_is_not_sent() {
    let server = ModelServer::start();
    server.always(|_| Reply::chat().text("ok").usage(5_000, 5).done());
    let zdx = small(&server, 10_000).config_more("[compaction]\nauto = false\nprune = false");
    zdx.run(["exec", "-p", "hello"]).success();
    let config = fs::read_to_string(zdx.storage().join("config.toml")).unwrap();
    fs::write(zdx.storage().join("config.toml"), config.replace("10000", "4000")).unwrap();
    let out = zdx.run(["exec", "-c", "-p", "more"]).expect_code(1);
    assert_eq!(server.calls().len(), 1, "not sent");
    for part in ["the request was not sent", "4000", "compaction.auto = true", "/compact"] {
        assert!(out.stderr.contains(part), "{part} in {}", out.stderr);
    }
}

#[test]
fn output_that_the_context_has_no_room_for_goes_to_its_file() {
    let server = ModelServer::start_with([
        Reply::chat().tool_call("c1", "bash", json!({"command": "seq 1 6000; echo short >&2"})).done(),
        Reply::chat().text("done").done(),
    ]);
    let zdx = small(&server, 12_000);
    let out = zdx.run(["exec", "-p", "count"]).success();
    let data = &out.records_of("tool_result")[0]["output"]["data"];
    let shown = data["stdout"].as_str().unwrap();
    assert!(
        shown.len() < 12_000 && shown.contains("the whole output is in the file named in this result"),
        "{shown}"
    );
    let whole: String = (1..=6000).map(|n| format!("{n}\n")).collect();
    assert_eq!(fs::read_to_string(data["stdout_file"].as_str().unwrap()).unwrap(), whole);
    assert_eq!(data.get("stderr_file"), None);
}

#[test]
fn a_typed_command_shows_all_it_prints_or_says_how_much_it_does_not() {
    let server = ModelServer::start();
    let zdx = place().chat(&server);
    let out = zdx.run(["exec", "-p", "!seq 1 2000"]).success();
    let whole: String = (1..=2000).map(|n| format!("{n}\n")).collect();
    assert!(out.stderr.contains(&whole), "{}", out.stderr);
    let out = zdx.run(["exec", "-p", "!seq 1 900000"]).success();
    assert!(out.stderr.contains("\n899999\n900000\n"), "the end is always there");
    let lines = out.stderr.lines().filter(|line| line.parse::<u32>().is_ok()).count();
    assert!(lines == 900_000 || out.stderr.contains(" bytes are not shown here]"), "{lines} lines");
}

#[test]
fn a_summary_that_is_too_large_itself_is_made_smaller() {
    let server = ModelServer::start();
    let answer = "a summary of what was said so far, or an answer\n".repeat(20);
    server.always(move |_| Reply::chat().text(&answer).done());
    let zdx = small(&server, 100_000);
    let prompt = "remember this well. ".repeat(200);
    for turn in 0..15 {
        let on = if turn == 0 { "exec" } else { "-c" };
        zdx.run([on, "-p", &prompt]).success();
    }
    zdx.command().arg("-c").stdin("/compact\n").run().success();
    let config = fs::read_to_string(zdx.storage().join("config.toml")).unwrap();
    fs::write(zdx.storage().join("config.toml"), config.replace("100000", "6000")).unwrap();
    let out = zdx.command().arg("-c").stdin("/context\n/compact\n/context\n/compact\n").run().success();
    assert!(out.stderr.contains("context compacted (as asked)"), "{}", out.stderr);
    let percent = |line: &str| -> u64 {
        line.split(['(', ' ']).filter_map(|word| word.parse().ok()).next_back().unwrap()
    };
    let full: Vec<u64> =
        out.stderr.lines().filter(|line| line.starts_with("context: ")).map(percent).collect();
    assert!(full[0] > 300 && full[1] < 100, "{full:?}: {}", out.stderr);
    let over = ["nothing to compact", "nothing is left to compact"];
    assert!(over.iter().any(|over| out.stderr.contains(over)), "there is an end to it: {}", out.stderr);
}

#[test]
fn lines_of_a_file_can_be_mentioned_and_a_slip_is_told() {
    let server = ModelServer::start_with([Reply::chat().text("ok").done()]);
    let zdx = place().chat(&server);
    zdx.write("lib.rs", "one\ntwo\nthree\nfour\n");
    let out = zdx.run(["exec", "-p", "see @lib.rs:2-3 and @lip.rs and ask @someone"]).success();
    let attached = &out.records_of("message")[0];
    assert_eq!(
        (&attached["role"], &attached["text"]),
        (&json!("system"), &json!("@file:lib.rs:2-3\ntwo\nthree\n"))
    );
    let slip = "warning: @lip.rs: there is no such file; nothing was attached; near names: lib.rs";
    assert!(out.stderr.contains(slip) && !out.stderr.contains("@someone"), "{}", out.stderr);
}

#[test]
fn a_projects_instructions_are_its_files_and_claude_md_stands_in() {
    let server = ModelServer::start_with([Reply::chat().text("ok").done()]);
    let zdx = place().chat(&server);
    zdx.write("docs/rules.md", "rule of the project");
    zdx.write(".zdx/config.toml", "instructions = [\"docs/*.md\"]");
    zdx.write("CLAUDE.md", "written for another agent");
    zdx.run(["exec", "-p", "hi"]).success();
    let system = server.calls()[0].messages()[0]["content"].clone();
    let system: &str = system.as_str().unwrap();
    assert!(
        system.contains("rule of the project") && system.contains("written for another agent"),
        "{system}"
    );
}

#[test]
fn what_cannot_be_made_to_fit_says_what_takes_the_room() {
    let server = ModelServer::start();
    server.always(|_| Reply::llama_cpp_too_long(3_000, 2_048));
    let zdx = place().chat(&server);
    let out = zdx.run(["exec", "-p", "hi"]).expect_code(1);
    assert!(out.stderr.contains("system text and tools take about "), "{}", out.stderr);
    assert!(server.calls().len() <= 3, "{}", server.calls().len());
    let values: Vec<Value> = out.records_of("error").into_iter().cloned().collect();
    assert_eq!(values.len(), 1, "{values:?}");
}

#[test]
fn the_server_knows_better_than_a_models_name_what_it_holds() {
    let read = || Reply::chat().tool_call("c1", "read", json!({"path": "a.txt"})).done();
    let server = ModelServer::start_with([read(), Reply::chat().text("Done.").done()]);
    let list = json!({"data": [{"id": "qwen3-coder", "max_model_len": 16_384}]});
    server.models(Reply::status(200).json(list));
    let zdx = place().chat(&server);
    zdx.write("a.txt", "here\n");
    let out = zdx.run(["exec", "--model", "test/qwen3-coder", "-p", "go", "--format", "json"]).success();
    let limits: Vec<u64> = out
        .json_lines()
        .iter()
        .filter(|line| line["type"] == "context_usage")
        .filter_map(|line| line["limit"].as_u64())
        .collect();
    assert_eq!(limits.last(), Some(&16_384), "{limits:?}");
}

#[test]
fn a_model_chosen_from_the_list_holds_what_the_list_says() {
    let server = ModelServer::start();
    let list = json!({"data": [{"id": "scripted", "max_model_len": 32_768}, {"id": "other", "max_model_len": 8_192}]});
    server.models(Reply::status(200).json(list));
    let zdx = small(&server, 65_536);
    let mut pty = zdx.command().pty(30, 100);
    pty.wait_for_text("describe a task", crate::SOON);
    pty.send("/model\r");
    // One's own word stands above the server's.
    pty.wait_for_text("65.5k tokens", crate::SOON);
    pty.send("other\r");
    pty.wait_for_text("model: test/other", crate::SOON);
    pty.send("/context\r");
    pty.wait_for_text("of 8,192 tokens", crate::SOON);
    pty.send("\x04");
    assert_eq!(pty.wait_exit(crate::SOON), 0);
}
