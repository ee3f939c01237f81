use super::*;

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

fn with(status: u16, headers: &[(&str, &str)], body: &str) -> ModelError {
    let header = |name: &str| headers.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
    classify(status, &header, body.as_bytes(), at(784_111_777))
}

#[track_caller]
fn status(error: ModelError) -> (u16, String, Option<String>) {
    match error {
        ModelError::Status { status, message, kind, .. } => (status, message, kind),
        other => panic!("{other:?}"),
    }
}

#[test]
fn error_bodies_of_every_vendor_are_read() {
    let cases = [
        (
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Full"}}"#,
            "Full",
            Some("overloaded_error"),
        ),
        (
            r#"{"error":{"message":"No model","type":"NotFoundError","param":null,"code":404}}"#,
            "No model",
            Some("NotFoundError"),
        ),
        (r#"{"error":{"message":"Out of credit","code":402}}"#, "Out of credit", Some("402")),
        (r#"{"error":"model 'x' not found"}"#, "model 'x' not found", None),
        (
            r#"{"object":"error","message":"bad","type":"BadRequestError","code":400}"#,
            "bad",
            Some("BadRequestError"),
        ),
        (
            r#"{"code":"InvalidApiKey","message":"wrong key","request_id":"1"}"#,
            "wrong key",
            Some("InvalidApiKey"),
        ),
        (r#"{"detail":"Not Found"}"#, "Not Found", None),
        (
            r#"{"detail":[{"loc":["body"],"msg":"missing"}]}"#,
            r#"{"detail":[{"loc":["body"],"msg":"missing"}]}"#,
            None,
        ),
        (
            r#"{"error":{"code":400,"message":"Provider returned error","metadata":{"raw":"too hot","provider_name":"p"}}}"#,
            "Provider returned error: too hot",
            Some("400"),
        ),
        ("upstream\n  failed", "upstream failed", None),
    ];
    for (body, message, kind) in cases {
        assert_eq!(
            status(with(400, &[], body)),
            (400, message.to_owned(), kind.map(str::to_owned)),
            "{body}"
        );
    }
}

#[test]
fn a_page_is_never_dumped() {
    let page =
        format!("<!DOCTYPE html><html><head><TITLE>502 Bad\nGateway</title></head>{}", "x".repeat(100_000));
    let (_, message, _) = status(with(502, &[], &page));
    assert_eq!(
        message,
        "a web page came back (\"502 Bad Gateway\"): a gateway answered, not the model's server"
    );
    let (_, message, _) = status(with(404, &[], &page));
    assert_eq!(message, "a web page came back (\"502 Bad Gateway\"); is the base URL right?");
    let (_, message, _) = status(with(502, &[], "<html>no title"));
    assert!(message.starts_with("a web page came back"), "{message}");
    let (_, message, _) = status(with(500, &[], &"ü".repeat(10_000)));
    assert!(message.len() < 500 && message.ends_with('…'));
}

#[test]
fn nothing_at_all_still_says_something() {
    assert_eq!(status(with(529, &[], "")).1, "it is overloaded");
    assert!(!status(with(418, &[], " \n")).1.is_empty());
}

#[test]
fn a_redirect_is_not_followed_but_named() {
    let (_, message, _) = status(with(308, &[("location", "https://elsewhere.example/v1")], ""));
    assert!(message.contains("https://elsewhere.example/v1"), "{message}");
}

#[test]
fn too_long_is_known_in_every_dialect() {
    for (code, body) in [
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 4096 tokens. However, you requested 5000","type":"BadRequestError","code":400}}"#,
        ),
        (
            400,
            r#"{"error":{"message":"reduce the length","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_ctx":4096}}"#,
        ),
        (413, "Prompt is too long"),
        // As heard from vLLM 0.32, alone and behind LiteLLM, and from llama.cpp behind LiteLLM.
        (
            400,
            r#"{"error":{"message":"max_tokens=8192 cannot be greater than max_model_len=4096. Please request fewer output tokens. (parameter=max_tokens, value=8192)","type":"BadRequestError","param":"max_tokens","code":400}}"#,
        ),
        (
            400,
            r#"{"error":{"message":"litellm.BadRequestError: Hosted_vllmException - {\"error\":{\"message\":\"max_tokens=8192 cannot be greater than max_model_len=4096. Please request fewer output tokens. (parameter=max_tokens, value=8192)\",\"type\":\"BadRequestError\",\"param\":\"max_tokens\",\"code\":400}}\n\nLiteLLM: model group 'vllm' failed with the error above. No fallback was attempted.","type":"invalid_request_error","param":null,"code":"400"}}"#,
        ),
        (
            400,
            r#"{"error":{"message":"litellm.ContextWindowExceededError: litellm.BadRequestError: this is a mock context window exceeded error\nmodel=mock-ctx. context_window_fallbacks=None. fallbacks=None.","type":"invalid_request_error","param":null,"code":"400"}}"#,
        ),
        (400, r#"{"error":{"message":"Requested tokens (5009) exceed context window of 4096"}}"#),
    ] {
        assert!(matches!(with(code, &[], body), ModelError::ContextTooLong { .. }), "{body}");
    }
    for (code, body) in [
        (429, r#"{"error":{"message":"tokens per minute: maximum context length of your tier"}}"#),
        (400, r#"{"error":{"message":"max_tokens is too large"}}"#),
        (
            413,
            r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
        ),
    ] {
        assert!(matches!(with(code, &[], body), ModelError::Status { .. }), "{body}");
    }
}

#[test]
fn numbers_beside_the_words_are_part_of_the_message() {
    let body = r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5009,"n_ctx":4096}}"#;
    let ModelError::ContextTooLong { message } = with(400, &[], body) else { panic!("it is too long") };
    assert!(message.ends_with("request (5009 tokens), available context size (4096 tokens)"), "{message}");
}

#[test]
fn retry_after_comes_in_four_forms() {
    let after = |headers: &[(&str, &str)]| match with(429, headers, "") {
        ModelError::Status { retry_after, .. } => retry_after,
        other => panic!("{other:?}"),
    };
    assert_eq!(after(&[("retry-after-ms", "1500"), ("retry-after", "9")]), Some(Duration::from_millis(1500)));
    assert_eq!(after(&[("retry-after", "3")]), Some(Duration::from_secs(3)));
    assert_eq!(after(&[("retry-after", " 0.25 ")]), Some(Duration::from_millis(250)));
    assert_eq!(after(&[("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT")]), Some(Duration::from_secs(10)));
    assert_eq!(after(&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")]), Some(Duration::ZERO));
    for odd in ["-1", "nan", "soon", "1e300", ""] {
        assert_eq!(after(&[("retry-after", odd)]), None, "{odd}");
    }
    assert_eq!(after(&[]), None);
}

#[test]
fn should_retry_is_kept() {
    for (value, expected) in [("true", Some(true)), ("false", Some(false)), ("maybe", None)] {
        match with(400, &[("x-should-retry", value)], "") {
            ModelError::Status { should_retry, .. } => assert_eq!(should_retry, expected),
            other => panic!("{other:?}"),
        }
    }
}
