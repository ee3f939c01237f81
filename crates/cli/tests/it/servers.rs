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
fn text_that_is_called_a_stream_is_shown_in_its_first_words() {
    let text = Reply::status(200).body("text/event-stream", "upstream connect error, try later");
    let server = ModelServer::start_with([text, Reply::chat().text("Here.").whole()]);
    let out = with_model(&server).run(["exec", "-p", "go"]).success();
    assert!(out.stderr.contains("\"upstream connect error, try later\" and no event"), "{}", out.stderr);
}

#[test]
fn an_answer_that_comes_only_whole_is_taken_whole() {
    let server = ModelServer::start_with([quirks::empty_stream(), Reply::chat().text("Here.").whole()]);
    let out = with_model(&server).run(["exec", "-p", "go"]).success();
    assert_eq!(out.stdout, "Here.\n");
    assert_eq!(server.calls()[1].body["stream"], false);
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

#[test]
fn a_key_is_shown_the_way_the_provider_wants_it() {
    for (wire, auth, bearer) in [
        ("anthropic", None, false),
        ("anthropic", Some("bearer"), true),
        ("openai-chat", None, true),
        ("openai-chat", Some("x-api-key"), false),
    ] {
        let server = ModelServer::start_with([match wire {
            "anthropic" => Reply::anthropic().text("hi").done(),
            _ => Reply::chat().text("hi").done(),
        }]);
        let auth = auth.map(|auth| format!("auth = \"{auth}\"\n")).unwrap_or_default();
        let config = format!(
            "model = \"lab/m\"\n[providers.lab]\nwire = \"{wire}\"\nbase_url = \"{}\"\napi_key_env = \"LAB_KEY\"\n{auth}",
            server.url()
        );
        let zdx = place().config(&config).env("LAB_KEY", "sk-lab-1234567");
        zdx.run(["exec", "-p", "go"]).success();
        let call = &server.calls()[0];
        let shown = (call.header("authorization"), call.header("x-api-key"));
        let expected =
            if bearer { (Some("Bearer sk-lab-1234567"), None) } else { (None, Some("sk-lab-1234567")) };
        assert_eq!(shown, expected, "{wire} {auth}");
    }
    let wrong = place().config("[providers.lab]\nauth = \"basic\"\n").run(["exec", "-p", "go"]);
    assert!(wrong.stderr.contains("bearer, x-api-key"), "{}", wrong.stderr);
}

/// vLLM reads no other name than its own.
#[test]
fn thinking_goes_back_under_the_name_it_came_by() {
    for (field, other) in [("reasoning", "reasoning_content"), ("reasoning_content", "reasoning")] {
        let server = ModelServer::start_with([
            Reply::chat()
                .reasoning_field(field)
                .reasoning("hm")
                .tool_call("c1", "bash", json!({"command": "true"}))
                .done(),
            Reply::chat().text("done").done(),
        ]);
        with_model(&server).run(["exec", "-p", "go"]).success();
        let calls = server.calls();
        let said = calls[1].messages().iter().find(|message| message["role"] == "assistant").unwrap();
        assert_eq!((said[field].as_str(), said.get(other)), (Some("hm"), None), "{said}");
    }
}

#[test]
fn models_are_listed_with_what_they_hold() {
    let server = ModelServer::start();
    let models = json!({"data": [
        {"id": "tiny", "meta": {"n_ctx": 4096, "n_ctx_train": 32768}}, {"id": "qwen3-coder", "max_model_len": 262144}, {"id": "mute"},
    ]});
    server.models(Reply::status(200).json(models));
    let out = with_model(&server).run(["models"]).success();
    assert_eq!(out.stdout, "test/tiny         4096 tokens\ntest/qwen3-coder  262144 tokens\ntest/mute\n");
}

#[test]
fn hints_are_given_once_and_name_the_way_out() {
    let closed = place().config(
        "model = \"lab/m\"\nretries = 0\n[providers.lab]\nwire = \"openai-chat\"\nbase_url = \"http://127.0.0.1:1/v1\"\n",
    );
    let out = closed.run(["exec", "-p", "go"]).expect_code(1);
    assert_eq!(out.stderr.matches("is the server running").count(), 1, "{}", out.stderr);

    let refused = |reply: Reply| {
        let server = ModelServer::start_with([reply]);
        with_model(&server).run(["exec", "-p", "go"]).expect_code(1).stderr
    };
    let locked = refused(quirks::wants_a_key());
    assert!(locked.contains("no key was sent") && !locked.contains("check the key"), "{locked}");
    let unknown = refused(
        Reply::status(400).json(json!({"error": {"message": "Invalid model name passed in model=x"}})),
    );
    assert!(unknown.contains("`zdx models --provider test` lists"), "{unknown}");
    let jinja = refused(quirks::tools_need_jinja());
    assert!(jinja.contains("start llama.cpp's server with --jinja"), "{jinja}");
}
