//! A stream that breaks after something of the answer was shown: it goes on where it stopped, and whoever reads it, now or
//! later, reads one answer.

use serde_json::{Value, json};
use zdx_testkit::{ModelServer, Output, Reply, Request, Step, Zdx};

use crate::{SOON, place, prompt_of};

/// A server of each wire that breaks off after `half` and says `rest` when it is asked for it.
fn broken_once(half: &str, rest: &str) -> [(ModelServer, Zdx); 2] {
    let chat = ModelServer::start_with([
        Reply::chat().text(half).unfinished().done(),
        Reply::chat().text(rest).done(),
    ]);
    let anthropic = ModelServer::start_with([
        Reply::anthropic().text(half).unfinished().done(),
        Reply::anthropic().text(rest).done(),
    ]);
    let places = (place().chat(&chat), place().anthropic(&anthropic));
    [(chat, places.0), (anthropic, places.1)]
}

/// Role and text of each message of a request but the system's.
fn spoken(request: &Request) -> Vec<(String, String)> {
    let text = |content: &Value| match content {
        Value::String(text) => text.clone(),
        parts => {
            let texts = parts.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("|")
        }
    };
    let messages = request.messages().iter().filter(|message| message["role"] != "system");
    messages
        .map(|message| (message["role"].as_str().unwrap().to_owned(), text(&message["content"])))
        .collect()
}

/// What was recorded of the answers: text, `partial`, `continues`.
fn answers(out: &Output) -> Vec<(String, bool, bool)> {
    let said = out.records_of("message").into_iter().filter(|record| record["role"] == "assistant");
    said.map(|record| {
        (record["text"].as_str().unwrap().to_owned(), record["partial"] == true, record["continues"] == true)
    })
    .collect()
}

fn retries(out: &Output) -> Vec<(u64, bool)> {
    let lines = out.json_lines();
    let retrying = lines.iter().filter(|line| line["type"] == "retrying");
    retrying.map(|line| (line["attempt"].as_u64().unwrap(), line["continues"] == true)).collect()
}

#[test]
fn stdout_reads_as_one_answer_and_the_model_is_asked_for_the_rest() {
    for (server, zdx) in broken_once("Half an", " answer.") {
        let out = zdx.run(["exec", "-p", "go"]).success();
        assert_eq!(out.stdout, "Half an answer.\n");
        let told = "(1 of 2) · the connection broke: the connection closed before the end of the answer; the answer goes on";
        assert_eq!(out.stderr.matches(told).count(), 1, "{}", out.stderr);
        assert_eq!(
            answers(&out),
            [("Half an".to_owned(), true, false), (" answer.".to_owned(), false, true)]
        );
        let said = spoken(&server.calls()[1]);
        assert_eq!(said[1], ("assistant".to_owned(), "Half an".to_owned()));
        let (role, asked) = &said[2];
        assert!(role == "user" && asked.contains("Go on exactly where it stops"), "{asked}");
        assert_eq!(said.len(), 3);

        // Later it is one message, and what the model was asked is nowhere to be found.
        server.push(match server.calls()[0].path.ends_with("/messages") {
            true => Reply::anthropic().text("fine").done(),
            false => Reply::chat().text("fine").done(),
        });
        zdx.run(["exec", "-c", "-p", "and now?"]).success();
        let said = spoken(&server.calls()[2]);
        let texts: Vec<&str> = said.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["go", "Half an answer.", "and now?"]);
        let id = zdx.session_files()[0].file_stem().unwrap().to_str().unwrap().to_owned();
        let shown = zdx.run(["sessions", "show", &id]).success().stdout;
        assert!(shown.contains("\n> go\n\nHalf an answer.\n\n> and now?\n"), "{shown}");
        let listed = zdx.run(["sessions", "list", "--format", "json"]).success().json_lines();
        assert_eq!(listed[0]["first_prompt"], "go");
        assert!(!zdx.records().iter().any(|record| record["hidden"] == true));
    }
}

#[test]
fn the_result_is_whole_and_the_retry_says_what_it_is() {
    for (_server, zdx) in broken_once("one, ", "two") {
        let out = zdx.run(["exec", "-p", "count", "--format", "json"]).success();
        assert_eq!(retries(&out), [(1, true)]);
        let lines = out.json_lines();
        assert_eq!(lines.last().unwrap()["text"], "one, two");
        let deltas = lines.iter().filter(|line| line["type"] == "assistant_delta");
        assert_eq!(deltas.map(|line| line["text"].as_str().unwrap()).collect::<String>(), "one, two");
    }
}

#[test]
fn a_resumed_chat_tells_one_answer() {
    let [(server, zdx), _] = broken_once("Half an", " answer.");
    zdx.run(["exec", "-p", "go"]).success();
    let chat = zdx.command().args(["-c"]).line_mode(24, 80);
    chat.wait_for_text("Half an answer.", SOON);
    assert!(!chat.contents().contains("Go on exactly"), "{}", chat.contents());
    drop(server);
}

#[test]
fn when_it_keeps_breaking_what_was_said_is_kept() {
    let server = ModelServer::start_with([
        Reply::chat().text("one,").unfinished().done(),
        Reply::chat().text(" two,").unfinished().done(),
    ]);
    let zdx = place().chat(&server).config_more("[retry]\nmax_attempts = 1\n");
    let out = zdx.run(["exec", "-p", "count"]).expect_code(1);
    assert_eq!(out.stdout, "one, two,\n");
    assert_eq!(answers(&out), [("one,".to_owned(), true, false), (" two,".to_owned(), true, true)]);
    assert!(out.stderr.contains("broke off") && out.stderr.contains("ask to go on"), "{}", out.stderr);
    server.push(Reply::chat().text(" three").done());
    zdx.run(["exec", "-c", "-p", "go on"]).success();
    let said = spoken(server.calls().last().unwrap());
    assert_eq!(said[1].1, "one, two,");
}

/// However a try failed, it was one.
#[test]
fn plain_retries_and_continuations_share_one_count() {
    let busy =
        || Reply::status(503).header("retry-after-ms", "1").json(json!({"error": {"message": "busy"}}));
    let server = ModelServer::start_with([busy(), Reply::chat().text("Half").unfinished().done(), busy()]);
    let zdx = place().chat(&server);
    let out = zdx.run(["exec", "-p", "go", "--format", "json"]).expect_code(1);
    assert_eq!(retries(&out), [(1, false), (2, true)]);
    assert_eq!(server.calls().len(), 3);
    assert_eq!(out.json_lines().last().unwrap()["text"], "Half");
}

#[test]
fn broken_in_its_thoughts_it_is_asked_for_anew() {
    // Cut inside a signed thought, and after it where nothing was said yet.
    for events in [4, 6] {
        let server = ModelServer::start_with([
            Reply::anthropic()
                .thinking("hm hm hm", "s1")
                .text("never")
                .done()
                .cut_after_events(events, Step::Close),
            Reply::anthropic().thinking("again", "s2").text("Done.").done(),
        ]);
        let zdx = place().anthropic(&server);
        let out = zdx.run(["exec", "-p", "go", "--format", "json"]).success();
        assert_eq!(retries(&out), [(1, false)], "{events}");
        let calls = server.calls();
        assert_eq!(calls[0].body["messages"], calls[1].body["messages"]);
        let thoughts: Vec<_> = out.records_of("reasoning").iter().map(|r| r["text"].clone()).collect();
        assert_eq!(thoughts, [json!("again")], "what led to nothing is not kept");
        assert_eq!(answers(&out), [("Done.".to_owned(), false, false)]);
    }
}

#[test]
fn a_call_whose_stream_broke_is_not_run() {
    let write = |content: &str| json!({"path": "a.txt", "content": content});
    let server = ModelServer::start_with([
        Reply::chat().text("Writing.").tool_call("c1", "write", write("half")).unfinished().done(),
        Reply::chat().tool_call("c1", "write", write("whole")).done(),
        Reply::chat().text("Written.").done(),
    ]);
    let zdx = place().chat(&server);
    let out = zdx.run(["exec", "-p", "go"]).success();
    assert_eq!(zdx.read("a.txt"), "whole");
    assert_eq!(out.records_of("tool_use").len(), 1);
    assert_eq!(out.stdout, "Writing.\nWritten.\n");
    assert!(prompt_of(&server.calls()[1]).contains("Go on exactly"));
    assert_eq!(
        answers(&out)[..2],
        [("Writing.".to_owned(), true, false), (String::new(), false, true)],
        "it had nothing to add"
    );

    // Nothing but a call: there is nothing to go on from.
    let server = ModelServer::start_with([
        Reply::chat().tool_call("c1", "write", write("half")).unfinished().done(),
        Reply::chat().text("Done.").done(),
    ]);
    let zdx = place().chat(&server);
    let out = zdx.run(["exec", "-p", "go", "--format", "json"]).success();
    assert!(!zdx.root().join("a.txt").exists() && out.records_of("tool_use").is_empty());
    assert_eq!(retries(&out), [(1, false)]);
}

/// The template of some models opens their thinking, so the rest of an answer begins with it.
#[test]
fn thinking_before_the_rest_is_no_part_of_the_answer() {
    let server = ModelServer::start_with([
        Reply::chat().text("Half an").unfinished().done(),
        Reply::chat().text("Where was I?\n</think>\n\n answer.").done(),
    ]);
    let zdx = place().chat(&server);
    let out = zdx.run(["exec", "-p", "go", "--format", "json"]).success();
    assert_eq!(out.json_lines().last().unwrap()["text"], "Half an answer.");
    assert_eq!(out.records_of("reasoning")[0]["text"], "Where was I?");
}
