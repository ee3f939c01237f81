//! What real servers do that no specification speaks of, and what comes of it for the user.

use serde_json::json;
use zdx_testkit::{ModelServer, Reply, quirks};

use crate::{place, with_model};

#[test]
fn a_leading_think_block_is_no_answer() {
    let server = ModelServer::start_with([
        Reply::chat()
            .text_deltas(["\n<th", "ink>I should", " look.\n</thi", "nk>\n", "\nHere it is."])
            .done(),
        Reply::chat().text("again").done(),
    ]);
    let zdx = with_model(&server);
    let out = zdx.run(["exec", "-p", "go"]).success();
    assert_eq!(out.stdout, "Here it is.\n");
    assert_eq!(out.records_of("reasoning")[0]["text"], "I should look.");
    assert_eq!(out.records_of("message")[1]["text"], "Here it is.");
    zdx.run(["exec", "-c", "-p", "and?"]).success();
    assert!(
        !server.calls()[1].body.to_string().contains("I should look"),
        "thinking does not go back as text"
    );
}

/// The template opened the block, so what it is is known too late for the screen, but not for the answer.
#[test]
fn text_that_turns_out_as_thinking_is_not_kept_as_the_answer() {
    let text = "I should look.\n</think>\n\nHere it is.";
    for reply in [Reply::chat().text(text).done(), Reply::chat().text(text).whole()] {
        let server = ModelServer::start_with([reply]);
        let out = with_model(&server).run(["exec", "-p", "go", "--format", "json"]).success();
        assert_eq!(out.json_lines().last().unwrap()["text"], "Here it is.");
        assert!(!out.stdout.contains("</think>"), "{}", out.stdout);
        assert_eq!(out.records_of("reasoning")[0]["text"], "I should look.");
    }
}

#[test]
fn an_empty_stream_is_asked_for_whole_and_so_gets_the_error() {
    let server = ModelServer::start_with([quirks::empty_stream(), quirks::too_long_when_asked_whole()]);
    server.always(|_| Reply::chat().text("It fits now.").done());
    let zdx = with_model(&server);
    let out = zdx.run(["exec", "-p", &"alpha beta gamma delta ".repeat(1000)]).success();
    assert_eq!(out.stdout, "It fits now.\n");
    let streamed: Vec<bool> = server.calls().iter().map(|call| call.body["stream"] == true).collect();
    assert_eq!(
        streamed[..3],
        [true, false, true],
        "only the answer to the question what is wrong comes whole"
    );
    assert!(out.stderr.contains("empty answer"), "{}", out.stderr);
}

#[test]
fn an_answer_that_comes_only_whole_is_taken_whole() {
    let server = ModelServer::start_with([quirks::empty_stream(), Reply::chat().text("Here.").whole()]);
    let out = with_model(&server).run(["exec", "-p", "go"]).success();
    assert_eq!(out.stdout, "Here.\n");
}

#[test]
fn a_call_in_plain_text_names_what_the_server_lacks_once_a_session() {
    let server = ModelServer::start_with([quirks::unparsed_call(), quirks::unparsed_call()]);
    let zdx = with_model(&server);
    let mut running = zdx.command().args(["--format", "text"]).stdin("go\nagain\n").spawn();
    running.close_stdin();
    let out = running.finish(crate::SOON);
    assert_eq!(server.calls().len(), 2);
    let warned = out.stderr.matches("--enable-auto-tool-choice --tool-call-parser hermes").count();
    assert_eq!(warned, 1, "{}", out.stderr);
    assert!(out.stderr.contains("--jinja"), "{}", out.stderr);
    assert!(out.stdout.starts_with("<tool_call>\n{\"name\""), "{}", out.stdout);
}

#[test]
fn a_full_context_is_not_called_max_tokens_and_its_size_is_learnt() {
    let server = ModelServer::start_with([quirks::context_full()]);
    let zdx = with_model(&server);
    let out = zdx.run(["exec", "-p", "go", "--format", "json"]).success();
    let lines = out.json_lines();
    let notice = lines.iter().find(|line| line["type"] == "notice").expect("a notice");
    assert!(notice["message"].as_str().unwrap().contains("context is full (4096 tokens)"), "{notice}");
    let usage = lines.iter().find(|line| line["type"] == "context_usage").expect("the usage");
    assert_eq!((&usage["limit"], &usage["assumed"]), (&json!(4096), &json!(false)));

    for (used, words) in
        [(8192, "cut off at max_tokens (8192)"), (1000, "after 1000 tokens, before max_tokens")]
    {
        let server =
            ModelServer::start_with([Reply::chat().text("and").finish("length").usage(100, used).done()]);
        let out = with_model(&server).run(["exec", "-p", "go"]).success();
        assert!(out.stderr.contains(words), "{}", out.stderr);
    }
}

#[test]
fn a_model_that_only_thought_is_said_to_have_done_so() {
    for (reply, words) in [
        (Reply::chat().reasoning("hm").done(), "the model only thought"),
        (Reply::chat().text("<think>hm, and then").done(), "the model only thought"),
        (
            Reply::chat().reasoning("hm").finish("length").usage(10, 8192).done(),
            "still thinking when it was cut off",
        ),
        (Reply::chat().done(), "the model answered with nothing"),
    ] {
        let server = ModelServer::start_with([reply]);
        let out = place().chat(&server).run(["exec", "-p", "go"]).success();
        assert!(out.stderr.contains(words), "{words}: {}", out.stderr);
        assert_eq!(out.stdout, "");
    }
}
