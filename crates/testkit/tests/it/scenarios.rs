use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use zdx_testkit::{ModelServer, Scenario};

use crate::client::exchange;

fn play(words: &[&str]) -> ModelServer {
    let server = ModelServer::start();
    let scenario = Scenario::parse(words).unwrap();
    server.always(move |request| scenario.reply(request));
    server
}

fn ask(server: &ModelServer, path: &str, messages: Value) -> String {
    let (bytes, _) =
        exchange(server, "POST", path, &json!({"stream": true, "messages": messages}).to_string());
    String::from_utf8(bytes).unwrap()
}

#[test]
fn the_path_chooses_the_wire() {
    let server = play(&["hello"]);
    assert!(ask(&server, "/v1/chat/completions", json!([])).contains("data: [DONE]"));
    assert!(ask(&server, "/v1/messages?beta=true", json!([])).contains("event: message_stop"));
    assert!(ask(&server, "/v1/other", json!([])).starts_with("HTTP/1.1 404"));
    let (whole, _) = exchange(&server, "POST", "/v1/messages", "{}");
    assert!(
        String::from_utf8(whole).unwrap().contains("\"content\":[{\"type\":\"text\",\"text\":\"hello\"}]")
    );
}

#[test]
fn tool_steps_go_on_from_the_results_in_the_request() {
    let server = play(&["tool-steps", "5", "2"]);
    let chat = |results: usize| {
        let messages: Vec<Value> = (0..results).map(|_| json!({"role": "tool", "content": "ok"})).collect();
        ask(&server, "/v1/chat/completions", json!(messages))
    };
    let anthropic = |results: usize| {
        let blocks: Vec<Value> = (0..results).map(|_| json!({"type": "tool_result"})).collect();
        ask(&server, "/v1/messages", json!([{"role": "user", "content": blocks}]))
    };
    for answer in [chat(2), anthropic(2)] {
        let ids: Vec<bool> = (0..6).map(|n| answer.contains(&format!("\"id\":\"call_{n}\""))).collect();
        assert_eq!(ids, [false, false, true, true, false, false], "{answer}");
    }
    assert!(chat(4).contains("call_4") && !chat(4).contains("call_5"));
    assert!(chat(5).contains("\"finish_reason\":\"stop\""));
    assert!(anthropic(5).contains("\"stop_reason\":\"end_turn\""));
}

#[test]
fn deltas_are_counted() {
    let server = play(&["deltas", "50"]);
    assert_eq!(ask(&server, "/v1/chat/completions", json!([])).matches("\"content\":\"word").count(), 50);
    assert_eq!(ask(&server, "/v1/messages", json!([])).matches("text_delta").count(), 50);
}

#[test]
fn a_scenario_nobody_knows_is_refused_with_the_list() {
    for words in [&["dance"][..], &["deltas"], &["deltas", "many"], &["status", "70000"]] {
        assert!(Scenario::parse(words).is_err(), "{words:?}");
    }
    assert!(Scenario::parse(&["dance"]).unwrap_err().contains("known: hello | "));
}

#[test]
fn the_program_plays_until_its_stdin_closes_and_keeps_a_log() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    // Not CARGO_BIN_EXE_…: the shell around rustc drops variables with a hyphen in their name.
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().unwrap().with_file_name("zdx-scripted-server");
    let mut program = Command::new(program)
        .arg("--log")
        .arg(&log)
        .arg("hello")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut port = String::new();
    BufReader::new(program.stdout.take().unwrap()).read_line(&mut port).unwrap();
    let body = crate::client::request("POST", "/v1/messages", "{\"stream\":true}");
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port.trim().parse().unwrap())).unwrap();
    std::io::Write::write_all(&mut stream, body.as_bytes()).unwrap();
    crate::client::read_until(&mut stream, "message_stop\"}\n\n");
    drop(program.stdin.take());
    assert!(program.wait().unwrap().success());

    let log = std::fs::read_to_string(log).unwrap();
    let words: Vec<Vec<&str>> = log.lines().map(|line| line.split(' ').collect()).collect();
    assert_eq!((words[0][0], &words[0][2..]), ("asked", &["POST", "/v1/messages", "15"][..]));
    assert_eq!(words[1][0], "answering");
    assert!(words[0][1].parse::<u64>().unwrap() <= words[1][1].parse().unwrap());
}
