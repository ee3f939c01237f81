//! Requests that a server refuses as too long, in the words of many servers: recognised, made to fit, and no later prompt
//! fails. What was learnt from one is a hint for the next session.

use serde_json::json;
use zdx_testkit::{ModelServer, Reply};

use crate::place;
use crate::room::{LIMIT, digits, tokens};

/// Status and body for so many tokens.
type Wording = (&'static str, u16, fn(u64) -> String);

fn refusal(status: u16, message: &str) -> Reply {
    Reply::status(status).json(json!({"error": {"message": message, "type": "some_error"}}))
}

const WORDINGS: [Wording; 15] = [
    ("Gemini", 400, |n| {
        format!("The input token count ({n}) exceeds the maximum number of tokens allowed ({LIMIT}).")
    }),
    ("xAI", 400, |n| {
        format!("This model's maximum prompt length is {LIMIT} but the request contains {n} tokens.")
    }),
    ("TGI", 422, |n| {
        format!("Input validation error: `inputs` must have less than {LIMIT} tokens. Given: {n}")
    }),
    ("Bedrock", 400, |_| "Input is too long for requested model.".to_owned()),
    ("Moonshot", 400, |n| {
        format!("Invalid request: Your request exceeded model token limit: {LIMIT} (requested: {n})")
    }),
    ("GLM", 400, |_| "Prompt exceeds max length".to_owned()),
    ("MiniMax", 400, |_| "invalid params, context window exceeds limit (2013)".to_owned()),
    ("TabbyAPI", 503, |n| format!("Prompt length {n} is greater than max_seq_len {LIMIT}")),
    ("Copilot", 400, |n| format!("prompt token count of {n} exceeds the limit of {LIMIT}")),
    ("Cohere", 400, |n| {
        let beyond = n - LIMIT;
        format!(
            "too many tokens: size limit exceeded by {beyond} tokens. The limit for this model is {LIMIT} tokens."
        )
    }),
    ("Cohere, by how much alone", 400, |n| {
        let beyond = n - LIMIT;
        format!("too many tokens: size limit exceeded by {beyond} tokens. Try using shorter or fewer inputs.")
    }),
    ("NIM", 400, |n| format!("Prompt length ({n}) exceeds maximum input length ({LIMIT}).")),
    ("Ollama", 400, |n| {
        let beyond = n - LIMIT;
        format!("prompt too long; exceeded max context length by {beyond} tokens")
    }),
    ("SGLang", 400, |n| {
        let total = n + 100;
        format!(
            "Requested token count exceeds the model's maximum context length of {LIMIT} tokens. You requested a total of \
             {total} tokens: {n} tokens from the input messages and 100 tokens for the completion."
        )
    }),
    ("nobody we know", 422, |_| "This conversation exceeds the context of the model".to_owned()),
];

#[test]
fn a_refusal_in_any_words_is_made_to_fit_and_no_later_prompt_fails() {
    for (name, status, words) in WORDINGS {
        let server = ModelServer::start();
        server.always(move |request| match tokens(request) {
            counted if counted > LIMIT => refusal(status, &words(counted)),
            counted => Reply::chat().text("fixed it").usage(counted, 5).done(),
        });
        let zdx = place().chat(&server);
        let out = zdx.run(["exec", "-p", &format!("sum these: {}", digits())]).success();
        assert_eq!(out.stdout, "fixed it\n", "{name}: {}", out.stderr);
        assert!(server.calls().len() <= 9, "{name}: {} requests", server.calls().len());
        let out = zdx.run(["exec", "-c", "-p", "hi"]).success();
        assert_eq!(out.stdout, "fixed it\n", "{name}: {}", out.stderr);
    }
}

/// The limit that a front end was told last.
fn limit_told(lines: &[serde_json::Value]) -> Option<u64> {
    lines.iter().rev().find(|line| line["type"] == "context_usage")?["limit"].as_u64()
}

#[test]
fn a_refusal_without_numbers_does_not_lower_a_known_limit() {
    let server = ModelServer::start();
    server.always(|request| match tokens(request) {
        counted if counted > LIMIT => refusal(400, "Prompt exceeds max length"),
        counted => Reply::chat().text("fixed it").usage(counted, 5).done(),
    });
    let zdx = place().chat(&server).config_more("[models.\"test/scripted\"]\ncontext_limit = 16384");
    let out = zdx.run(["exec", "--format", "json", "-p", &format!("sum these: {}", digits())]).success();
    assert_eq!(limit_told(&out.json_lines()), Some(16_384));
}

/// A server that was started anew with more room says so in its list.
#[test]
fn a_limit_from_a_refusal_is_a_hint_that_the_list_raises_in_the_next_session() {
    let server = ModelServer::start();
    server.always(move |request| match request.body["max_tokens"].as_u64().unwrap() {
        wanted if wanted > LIMIT => Reply::vllm_answer_too_long(wanted, LIMIT),
        _ => Reply::chat().text("ok").done(),
    });
    let zdx = place().chat(&server);
    zdx.run(["exec", "-p", "hello"]).success();
    let before = server.calls().len();

    server.models(Reply::status(200).json(json!({"data": [{"id": "scripted", "max_model_len": 32_768}]})));
    server.always(|request| match request.messages().iter().any(|message| message["role"] == "tool") {
        false => Reply::chat().tool_call("c1", "bash", json!({"command": "true"})).done(),
        true => Reply::chat().text("done").done(),
    });
    let wanted = |at: usize| server.calls()[at].body["max_tokens"].as_u64().unwrap();
    zdx.run(["exec", "-p", "hello"]).success();
    assert!(wanted(before) < LIMIT, "it begins with the hint: {}", wanted(before));
    assert_eq!(wanted(before + 1), 8_192, "the list was asked after the first answer");
    zdx.run(["exec", "-p", "hello"]).success();
    assert_eq!(wanted(before + 2), 8_192, "a third session begins with what the list said");
}
