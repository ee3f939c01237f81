//! `--backend acp:NAME`: another agent behind our own face. What it says and does is told and kept as ours is, what it asks is
//! asked of the person, and it dies, is interrupted and gone on with as a model is.

use serde_json::{Value, json};
use zdx_testkit::{Run, Signal, Zdx, acp_fake};

use super::{answers, log_of, methods, sent, sent_of};
use crate::approvals::wait_for_question;
use crate::chat::{leave, wait_for_prompt};
use crate::mcp::{processes_with, wait_until};
use crate::{SOON, place};

/// A place whose configuration names one agent.
pub fn with_backend(script: &Value) -> Zdx {
    let zdx = place();
    let args = ["--script".to_owned(), script.to_string()];
    let files = [("--log", log_of(&zdx)), ("--state", zdx.home().join("state"))];
    let files = files.iter().flat_map(|(option, path)| [(*option).to_owned(), path.display().to_string()]);
    let words: Vec<String> = args.into_iter().chain(files).collect();
    zdx.config(&format!("[acp.agents.fake]\ncommand = {:?}\nargs = {}\n", acp_fake(), json!(words)))
}

pub fn playing(play: Value) -> Zdx {
    with_backend(&json!({"on": {"session/prompt": play}}))
}

pub fn exec<'z>(zdx: &'z Zdx, args: &[&str]) -> Run<'z> {
    zdx.command().args(["exec", "--backend", "acp:fake"]).args(args)
}

pub fn of_type<'v>(lines: &'v [Value], kind: &str) -> Vec<&'v Value> {
    lines.iter().filter(|line| line["type"] == kind).collect()
}

/// What was chosen of the options of each permission.
pub fn chosen(zdx: &Zdx) -> Vec<String> {
    let outcome = |answer: Value| {
        let outcome = &answer["result"]["outcome"];
        outcome["optionId"].as_str().or(outcome["outcome"].as_str()).map(str::to_owned)
    };
    answers(zdx).into_iter().filter_map(outcome).collect()
}

#[test]
fn a_prompt_is_answered_by_the_agent_and_kept() {
    let zdx = with_backend(&json!({}));
    let output = exec(&zdx, &["-p", "hello"]).run().success();
    assert_eq!(output.stdout, "echo: hello\n");
    assert_eq!(methods(&zdx), ["initialize", "session/new", "session/prompt"]);
    assert_eq!(sent_of(&zdx, "session/prompt")[0]["prompt"], json!([{"type": "text", "text": "hello"}]));
    let records = zdx.records();
    assert_eq!(of_type(&records, "meta")[0]["model"], "acp:fake");
    let remote = of_type(&records, "remote");
    assert_eq!((&remote[0]["agent"], remote.len()), (&json!("fake"), 1));
    assert!(of_type(&records, "message").iter().any(|message| message["text"] == "echo: hello"));
    wait_until("no agent is left", || processes_with(&log_of(&zdx).display().to_string()) == 0);
}

#[test]
fn a_whole_turn_is_told_as_events_and_its_calls_as_remote_ones() {
    let zdx = playing(json!("turn"));
    zdx.write("a.txt", "old\n");
    let output = exec(&zdx, &["--format", "json", "-p", "go"]).run().success();
    let lines = output.json_lines();
    let requested = of_type(&lines, "tool_requested");
    let seen: Vec<(&Value, &Value)> = requested.iter().map(|call| (&call["name"], &call["origin"])).collect();
    assert_eq!(
        seen,
        [
            (&json!("Read a.txt"), &json!("remote")),
            (&json!("Write b.txt"), &json!("remote")),
            // What it has us write is our own call.
            (&json!("write"), &json!("model")),
        ]
    );
    let finished = of_type(&lines, "tool_finished");
    assert!(finished.iter().any(|call| call["diff"].as_str().is_some_and(|diff| diff.contains("+new"))));
    assert_eq!(of_type(&lines, "reasoning_delta")[0]["text"], "let me look");
    assert_eq!(of_type(&lines, "todos_changed")[0]["items"][0]["status"], "in_progress");
    assert_eq!(of_type(&lines, "context_usage")[0]["limit"], 8000);
    assert_eq!(lines.last().unwrap()["text"], "all done", "{:?}", lines.last());
    assert_eq!(zdx.read("b.txt"), "new\n");
    let read = answers(&zdx).into_iter().find(|answer| answer["result"]["content"] == "old\n");
    assert!(read.is_some(), "{:?}", answers(&zdx));
    // Nobody is there and everything may happen: once, never for good.
    assert_eq!(chosen(&zdx), ["o-4"]);
    let records = zdx.records();
    assert_eq!(of_type(&records, "remote_use").len(), 2);
    let results = of_type(&records, "remote_result");
    let reads: Vec<&Value> = results.iter().map(|result| &result["reads"]).collect();
    assert_eq!(reads, [&json!("read"), &Value::Null], "only what it calls a read is told with others");
    assert_eq!(of_type(&records, "tool_use").len(), 1, "only what was run here is ours");
    let plain = exec(&zdx, &["-p", "again"]).run().success();
    assert!(plain.stderr.contains("Read a.txt") && plain.stderr.contains("(remote)"), "{}", plain.stderr);
}

#[test]
fn with_nobody_to_ask_and_rules_that_would_ask_a_permission_is_rejected_once() {
    let zdx = playing(json!("turn"));
    zdx.write("a.txt", "old\n");
    let output = exec(&zdx, &["--approval", "balanced", "--format", "json", "-p", "go"]).run();
    assert_eq!(chosen(&zdx), ["o-3"]);
    assert!(!zdx.root().join("b.txt").exists(), "{}", output.stdout);
    let end = output.json_lines();
    assert!(end.last().unwrap()["denied"].as_u64().is_some_and(|denied| denied >= 1), "{:?}", end.last());
}

#[test]
fn what_no_preset_allows_is_rejected_whoever_would_run_it() {
    let ask = json!({"ask": "session/request_permission", "params": {
        "toolCall": {"toolCallId": "x", "title": "clean", "kind": "execute", "rawInput": {"command": "rm -rf /"}},
        "options": [{"optionId": "y", "name": "Yes", "kind": "allow_once"}, {"optionId": "n", "name": "No", "kind": "reject_once"}]}});
    let zdx = playing(json!([ask, {"say": "asked"}]));
    exec(&zdx, &["--yolo", "-p", "go"]).run();
    assert_eq!(chosen(&zdx), ["n"]);
}

#[test]
fn an_agent_that_can_only_be_allowed_for_good_is_not_allowed() {
    let ask = json!({"ask": "session/request_permission", "params": {
        "toolCall": {"toolCallId": "x", "title": "look", "kind": "other"},
        "options": [{"optionId": "ever", "name": "Yes", "kind": "allow_always"}, {"optionId": "n", "name": "No", "kind": "reject_once"}]}});
    let zdx = playing(json!([ask, {"say": "asked"}]));
    let output = exec(&zdx, &["--yolo", "-p", "go"]).run();
    assert_eq!(chosen(&zdx), ["n"]);
    assert!(output.stderr.contains("no way to allow it once"), "{}", output.stderr);
}

#[test]
fn a_person_is_asked_and_the_answer_is_the_agents() {
    let ask = json!({"ask": "session/request_permission", "as": "may", "params": {
        "toolCall": {"toolCallId": "x", "title": "Run make deploy", "kind": "execute", "rawInput": {"command": "make deploy"}},
        "options": [{"optionId": "ever", "name": "Always", "kind": "allow_always"}, {"optionId": "y", "name": "Yes", "kind": "allow_once"},
            {"optionId": "n", "name": "No", "kind": "reject_once"}]}});
    let zdx = playing(json!([ask, {"say": "so be it"}]));
    for (key, option) in [("y\r", "y"), ("n\r", "n")] {
        let pty = zdx.command().args(["--backend", "acp:fake"]).line_mode(40, 100);
        wait_for_prompt(&pty);
        pty.send("go\r");
        pty.wait_for_text("$ make deploy", SOON);
        pty.wait_for_text("the agent asks: Run make deploy", SOON);
        wait_for_question(&pty);
        pty.send(key);
        pty.wait_for_text("so be it", SOON);
        leave(pty);
        assert_eq!(chosen(&zdx).last().map(String::as_str), Some(option));
    }
}

#[test]
fn an_interrupt_calls_the_turn_off_and_nothing_is_left() {
    let zdx = playing(json!("waits"));
    let mut running = exec(&zdx, &["-p", "go"]).spawn();
    running.wait_for_stdout("waiting", SOON);
    running.signal(Signal::INT);
    running.finish(SOON).expect_code(130);
    assert_eq!(methods(&zdx).last().unwrap(), "session/cancel");
    assert_eq!(of_type(&zdx.records(), "interrupted").len(), 1);
    // One that does not mind is ended.
    let zdx = playing(json!("deaf"));
    let mut running = exec(&zdx, &["-p", "go"]).spawn();
    running.wait_for_stdout("working", SOON);
    running.signal(Signal::INT);
    running.finish(SOON).expect_code(130);
    wait_until("no agent is left", || processes_with(&log_of(&zdx).display().to_string()) == 0);
}

#[test]
fn a_dead_agent_is_an_error_with_its_last_words_and_the_next_prompt_starts_it_again() {
    let script = json!({"initialize": {"agentCapabilities": {}}, "on": {"session/prompt": "dies"}});
    let zdx = with_backend(&script);
    let output = exec(&zdx, &["-p", "go"]).run().expect_code(1);
    for part in ["it ended (exit code 3)", "panic: the table is gone"] {
        assert!(output.stderr.contains(part), "{part:?}: {}", output.stderr);
    }
    let pty = zdx.command().args(["--backend", "acp:fake"]).line_mode(40, 200);
    for told in ["the table is gone", "fake starts anew"] {
        wait_for_prompt(&pty);
        pty.send("go\r");
        pty.wait_for_text(told, SOON);
    }
    leave(pty);
    let pids: Vec<Value> = sent(&zdx).into_iter().filter(|frame| frame.get("pid").is_some()).collect();
    assert_eq!(pids.len(), 3, "{pids:?}");
}

#[test]
fn a_session_goes_on_with_the_agents_own_where_it_can() {
    let zdx = playing(json!("relative"));
    exec(&zdx, &["-p", "first"]).run().success();
    let session = of_type(&zdx.records(), "remote")[0]["session"].clone();
    // The session knows by itself who answers in it.
    let output = zdx.command().args(["exec", "-c", "-p", "second"]).run().success();
    assert!(!output.stderr.contains("starts anew"), "{}", output.stderr);
    assert_eq!(sent_of(&zdx, "session/resume")[0]["sessionId"], session);
    assert_eq!(of_type(&zdx.records(), "remote").len(), 1);
    let pty = zdx.command().args(["-c"]).line_mode(40, 100);
    pty.wait_for_text("Edit w.txt", SOON);
    leave(pty);

    let load = json!({"initialize": {"agentCapabilities": {"loadSession": true}}});
    let zdx = with_backend(&load);
    exec(&zdx, &["-p", "first"]).run().success();
    let output = exec(&zdx, &["-c", "-p", "second"]).run().success();
    assert_eq!(output.stdout, "echo: second\n", "what is told again is not shown");
    assert_eq!(sent_of(&zdx, "session/load").len(), 1);

    let zdx = with_backend(&json!({"initialize": {"agentCapabilities": {}}}));
    exec(&zdx, &["-p", "first"]).run().success();
    let output = exec(&zdx, &["-c", "-p", "second"]).run().success();
    assert!(output.stderr.contains("fake starts anew"), "{}", output.stderr);
    assert_eq!(sent_of(&zdx, "session/new").len(), 2);
}

#[test]
fn an_agent_that_does_not_know_what_it_offers_is_asked_the_other_way() {
    let unknown = json!([{"fail": {"code": -32601, "message": "no such method"}}]);
    let zdx = with_backend(&json!({"on": {"session/resume": unknown}}));
    exec(&zdx, &["-p", "first"]).run().success();
    let output = exec(&zdx, &["-c", "-p", "second"]).run().success();
    assert_eq!((output.stdout.as_str(), sent_of(&zdx, "session/load").len()), ("echo: second\n", 1));
    assert!(!output.stderr.contains("no such method"), "{}", output.stderr);
}

#[test]
fn what_is_told_again_behind_the_answer_is_no_answer() {
    let again = json!([{"say": "old "}, {"answer": {}}, {"say": "words"}, {"say": " again"}]);
    let script = json!({"initialize": {"agentCapabilities": {"loadSession": true}},
        "on": {"session/load": again, "session/prompt": [{"say": "new"}]}});
    let zdx = with_backend(&script);
    exec(&zdx, &["-p", "first"]).run().success();
    assert_eq!(exec(&zdx, &["-c", "-p", "second"]).run().success().stdout, "new\n");
}

#[test]
fn the_model_is_the_agents_own() {
    let zdx = with_backend(&json!({}));
    exec(&zdx, &["--model", "large", "-p", "hi"]).run().success();
    assert_eq!(sent_of(&zdx, "session/set_config_option")[0]["value"], "large");
    let output = exec(&zdx, &["--model", "huge", "-p", "hi"]).run().expect_code(1);
    assert!(output.stderr.contains("acp:fake has no model huge; it has: small, large"), "{}", output.stderr);
}

#[test]
fn mentioned_files_go_along() {
    let zdx = with_backend(&json!({}));
    zdx.write("a.txt", "content\n");
    exec(&zdx, &["-p", "look at @a.txt"]).run().success();
    let prompt = &sent_of(&zdx, "session/prompt")[0]["prompt"];
    let uri = format!("file://{}", zdx.root().join("a.txt").display());
    assert_eq!(
        (&prompt[0]["resource"]["uri"], prompt[0]["resource"]["text"].as_str()),
        (&json!(uri), Some("content\n"))
    );
    assert_eq!(prompt[1]["text"], "look at @a.txt");
}

#[test]
fn a_name_that_nobody_has_is_a_usage_error_with_the_list() {
    let zdx = with_backend(&json!({}));
    let run = |backend: &str| {
        zdx.command().args(["exec", "--backend", backend, "-p", "hi"]).run().expect_code(2).stderr
    };
    assert!(run("acp:nobody").contains("there is no agent nobody; there are: fake"));
    assert!(run("fake").contains("acp:NAME"));
    assert!(!log_of(&zdx).exists());
    // A project's own is started only where somebody trusts the project.
    let zdx = place();
    zdx.write(".zdx/config.toml", format!("[acp.agents.own]\ncommand = {:?}\n", acp_fake()));
    let output = zdx.command().args(["exec", "--backend", "acp:own", "-p", "hi"]).run().expect_code(1);
    assert!(output.stderr.contains("nobody trusts the folder"), "{}", output.stderr);
    let output = zdx.command().args(["--trust", "exec", "--backend", "acp:own", "-p", "hi"]).run().success();
    assert_eq!(output.stdout, "echo: hi\n");
}

/// 1,280 × 800.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x05\0\0\0\x03 \x08\x02\0\0\0";

#[test]
fn an_image_goes_to_an_agent_that_takes_images_and_a_note_to_another() {
    for takes_images in [true, false] {
        let can = json!({"promptCapabilities": {"image": takes_images, "embeddedContext": true}});
        let zdx = with_backend(&json!({"initialize": {"agentCapabilities": can}}));
        zdx.write("shot.png", PNG);
        let output = exec(&zdx, &["-p", "what is in @shot.png?"]).run().success();
        let prompt = &sent_of(&zdx, "session/prompt")[0]["prompt"];
        let image = json!({"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAABQAAAAMgCAIAAAA="});
        let note = json!({"type": "text", "text": "[image: shot.png, PNG 1280×800, 29 B]"});
        assert_eq!(prompt[0], if takes_images { image } else { note });
        assert_eq!(prompt[1]["text"], "what is in @shot.png?");
        let told = output.stderr.contains("fake does not take images; it gets a note");
        assert_eq!(told, !takes_images, "{}", output.stderr);
    }
}
