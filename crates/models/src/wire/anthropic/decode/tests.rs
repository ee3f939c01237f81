use serde_json::{Value, json};
use zdx_protocol::Usage;

use crate::wire::Wire::Anthropic;
use crate::wire::testing::*;
use crate::{ModelError, ModelEvent, StopReason};

/// Named events from their data alone.
fn stream(events: &[Value]) -> String {
    events.iter().map(|e| format!("event: {}\ndata: {e}\n\n", e["type"].as_str().unwrap())).collect()
}

fn start() -> Value {
    json!({"type":"message_start","message":{"id":"msg_1","model":"m","role":"assistant","content":[],"stop_reason":null,
        "usage":{"input_tokens":43,"cache_creation_input_tokens":5,"cache_read_input_tokens":100,"output_tokens":1}}})
}

fn open(index: u64, block: Value) -> Value {
    json!({"type":"content_block_start","index":index,"content_block":block})
}

fn delta(index: u64, delta: Value) -> Value {
    json!({"type":"content_block_delta","index":index,"delta":delta})
}

fn words(index: u64, text: &str) -> Value {
    delta(index, json!({"type":"text_delta","text":text}))
}

fn arguments(index: u64, text: &str) -> Value {
    delta(index, json!({"type":"input_json_delta","partial_json":text}))
}

fn close(index: u64) -> Value {
    json!({"type":"content_block_stop","index":index})
}

fn end(reason: &str) -> [Value; 2] {
    [
        json!({"type":"message_delta","delta":{"stop_reason":reason,"stop_sequence":null},"usage":{"output_tokens":20}}),
        json!({"type":"message_stop"}),
    ]
}

fn answer(body: &[Value], reason: &str) -> String {
    stream(&[&[start()], body, &end(reason)].concat())
}

fn counted() -> ModelEvent {
    ModelEvent::Usage(Usage {
        input_tokens: 148,
        output_tokens: 20,
        cache_read_tokens: 100,
        cache_write_tokens: 5,
        reasoning_tokens: 0,
    })
}

fn text_block() -> Value {
    json!({"type":"text","text":""})
}

fn tool_block(id: &str) -> Value {
    json!({"type":"tool_use","id":id,"name":"read","input":{}})
}

#[test]
fn text_streams() {
    let ping = json!({"type":"ping"});
    let body = [
        ping.clone(),
        open(0, text_block()),
        ping.clone(),
        words(0, "Grü"),
        words(0, "ße 🦀"),
        close(0),
        ping,
    ];
    assert_eq!(
        events(Anthropic, &answer(&body, "end_turn")),
        [text("Grü"), text("ße 🦀"), counted(), stop(StopReason::EndTurn)]
    );
}

#[test]
fn thinking_keeps_its_signature_and_calls_their_arguments() {
    let body = [
        open(0, json!({"type":"thinking","thinking":"","signature":""})),
        delta(0, json!({"type":"thinking_delta","thinking":"let me "})),
        delta(0, json!({"type":"thinking_delta","thinking":"see"})),
        delta(0, json!({"type":"signature_delta","signature":"c2ln"})),
        close(0),
        open(1, json!({"type":"redacted_thinking","data":"hidden"})),
        close(1),
        open(2, tool_block("toolu_1")),
        arguments(2, ""),
        arguments(2, "{\"path\": \"a"),
        arguments(2, ".txt\"}"),
        close(2),
        open(3, tool_block("toolu_2")),
        arguments(3, ""),
        close(3),
    ];
    let told = grown(Anthropic, &answer(&body, "tool_use"));
    assert_eq!(told, ["toolu_1 read", "toolu_1 +{\"path\": \"a", "toolu_1 +.txt\"}", "toolu_2 read"]);
    assert_eq!(
        events(Anthropic, &answer(&body, "tool_use")),
        [
            thinking("let me "),
            thinking("see"),
            thought(Anthropic, "let me see", Some(json!({"signature":"c2ln"}))),
            thought(Anthropic, "", Some(json!({"redacted":"hidden"}))),
            begun("toolu_1", "read"),
            call("toolu_1", "read", json!({"path":"a.txt"})),
            begun("toolu_2", "read"),
            call("toolu_2", "read", json!({})),
            counted(),
            stop(StopReason::ToolUse),
        ]
    );
}

#[test]
fn interleaved_blocks_and_bad_arguments_are_kept_apart() {
    let body = [
        open(0, tool_block("a")),
        open(1, tool_block("b")),
        arguments(1, "{\"path\":"),
        arguments(0, "[1,"),
        arguments(1, "\"x\"}"),
        close(1),
        close(0),
    ];
    let found = events(Anthropic, &answer(&body, "tool_use"));
    assert_eq!(found[2..4], [call("b", "read", json!({"path":"x"})), call("a", "read", json!("[1,"))]);
}

#[test]
fn usage_is_merged_field_by_field() {
    let tail = json!({"type":"message_delta","delta":{"stop_reason":"end_turn"},
        "usage":{"input_tokens":61,"output_tokens":9,"cache_read_input_tokens":null}});
    let found = events(Anthropic, &stream(&[start(), tail, json!({"type":"message_stop"})]));
    let expected = Usage {
        input_tokens: 166,
        output_tokens: 9,
        cache_read_tokens: 100,
        cache_write_tokens: 5,
        reasoning_tokens: 0,
    };
    assert_eq!(found, [ModelEvent::Usage(expected), stop(StopReason::EndTurn)]);
}

#[test]
fn what_is_unknown_or_repeated_is_tolerated() {
    let body = [
        start(),
        json!({"type":"brand_new","delta":"a string"}),
        open(0, json!({"type":"server_tool_use","id":"s","name":"web_search","input":{}})),
        arguments(0, "{\"query\":1}"),
        close(0),
        open(1, text_block()),
        words(1, "a"),
        delta(1, json!({"type":"citations_delta","citation":{"type":"x"}})),
        // A second answer spliced in: the same index opens again.
        start(),
        open(1, json!({"type":"text","text":"b"})),
        words(1, "c"),
        close(1),
        close(9),
        words(7, "d"),
    ];
    let found = events(Anthropic, &answer(&body, "end_turn"));
    assert_eq!(found[..4], [text("a"), text("b"), text("c"), text("d")]);
    // Anthropic pads its JSON, proxies drop event names, one adds [DONE].
    let odd = answer(&[], "end_turn").replace("event: message_stop\n", "").replace("}\n", "}   \n")
        + "data: [DONE]\n\n";
    assert_eq!(events(Anthropic, &odd), [counted(), stop(StopReason::EndTurn)]);
}

#[test]
fn stop_reasons() {
    for (reason, expected) in [
        ("end_turn", StopReason::EndTurn),
        ("stop_sequence", StopReason::EndTurn),
        ("max_tokens", StopReason::Length),
        ("refusal", StopReason::Refusal),
        ("model_context_window_exceeded", StopReason::ContextExceeded),
        ("pause_turn", StopReason::Other("pause_turn".into())),
        // It wants its tools run, but called none.
        ("tool_use", StopReason::EndTurn),
    ] {
        assert_eq!(events(Anthropic, &answer(&[], reason)).pop(), Some(stop(expected)));
    }
    // Calls count more than the reason.
    let body = [open(0, tool_block("a")), close(0)];
    assert_eq!(events(Anthropic, &answer(&body, "end_turn")).pop(), Some(stop(StopReason::ToolUse)));
}

#[test]
fn a_call_without_id_gets_one() {
    let body = [open(0, tool_block("")), close(0), open(1, tool_block("")), close(1)];
    let found = events(Anthropic, &answer(&body, "tool_use"));
    let ids: Vec<_> = found
        .iter()
        .filter_map(|event| match event {
            ModelEvent::ToolCall(call) => Some(call.id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["call_000000000abc01", "call_000000000abc02"]);
}

#[test]
fn an_error_in_the_stream_comes_after_the_text_before_it() {
    let error = json!({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}});
    let stream = stream(&[start(), open(0, text_block()), words(0, "so far"), error]);
    let failed = ModelError::Api { kind: Some("overloaded_error".into()), message: "Overloaded".into() };
    splits_agree(Anthropic, &stream, &(vec![text("so far")], Some(failed)));
    let long = json!({"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}});
    assert!(matches!(
        decode(Anthropic, &[super::tests::stream(&[long]).as_bytes()]).1,
        Some(ModelError::ContextTooLong { .. })
    ));
}

#[test]
fn a_cut_stream_gives_what_it_had_and_says_so() {
    let body = answer(&[open(0, text_block()), words(0, "so far"), open(1, tool_block("a"))], "tool_use");
    let cut = &body[..body.find("event: message_delta").unwrap()];
    let (events, error) = decode(Anthropic, &[cut.as_bytes()]);
    assert_eq!(events, [text("so far"), begun("a", "read")], "half a call is no call");
    assert!(matches!(error, Some(ModelError::Cut(_))));
    // Only the last marker is missing: the answer is whole.
    let nearly = &body[..body.find("event: message_stop").unwrap()];
    assert_eq!(decode(Anthropic, &[nearly.as_bytes()]).1, None);
}

#[test]
fn unreadable_events_are_named() {
    for data in ["{", "[1]", "nonsense"] {
        let (_, error) = decode(Anthropic, &[format!("data: {data}\n\n").as_bytes()]);
        assert!(matches!(error, Some(ModelError::Protocol(_))), "{data}: {error:?}");
    }
    let (_, error) = decode(Anthropic, &[stream(&[arguments(0, "{")]).as_bytes()]);
    assert!(matches!(error, Some(ModelError::Cut(_))), "asked for again: a call is lost");
}

#[test]
fn an_unreadable_event_is_passed_over_outside_of_calls() {
    let body = answer(&[open(0, text_block()), words(0, "all"), close(0)], "end_turn");
    for junk in ["data: ping\n\n", "data: {\"type\":\n\n", "data: [1]\n\n"] {
        for at in ["event: content_block_delta", "event: content_block_stop", "event: message_stop"] {
            let with = body.replacen(at, &format!("{junk}{at}"), 1);
            assert_ne!(with, body);
            assert_eq!(events(Anthropic, &with), events(Anthropic, &body), "{junk} before {at}");
        }
    }
    let called = answer(
        &[open(0, tool_block("t")), arguments(0, "{\"path\":"), arguments(0, "\"a\"}"), close(0)],
        "tool_use",
    );
    let holed =
        called.replacen("event: content_block_stop", "data: {\"type\":\n\nevent: content_block_stop", 1);
    let (found, error) = decode(Anthropic, &[holed.as_bytes()]);
    assert!(!found.iter().any(|event| matches!(event, ModelEvent::ToolCall(_))), "{found:?}");
    assert!(matches!(error, Some(ModelError::Cut(_))), "{error:?}");
}

/// Each of these once cost the whole answer.
#[test]
fn odd_fields_do_not_matter() {
    let start =
        |usage: Value| json!({"type":"message_start","message":{"id":7,"role":"assistant","usage":usage}});
    let finish =
        |usage: Value| json!({"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":usage});
    let bodies = [
        (start(json!({"input_tokens":5.0})), open(0, tool_block("t")), finish(json!({"output_tokens":"3"}))),
        (
            start(json!({"input_tokens":5})),
            open(0, tool_block("t")),
            finish(json!({"input_tokens":-1,"output_tokens":3.0})),
        ),
        (
            start(json!({"input_tokens":"5"})),
            json!({"type":"content_block_start","index":"0","content_block":tool_block("t")}),
            finish(json!({"output_tokens":3})),
        ),
        (
            start(json!({"input_tokens":5})),
            json!({"type":"content_block_start","index":-1,"content_block":tool_block("t")}),
            finish(json!({"output_tokens":3,"cache_read_input_tokens":null})),
        ),
    ];
    for (start, open, finish) in bodies {
        let given = delta(0, json!({"type":"input_json_delta","partial_json":"{\"path\":\"a\"}"}));
        let all = [
            start,
            open,
            given,
            json!({"type":"content_block_stop","index":0.0}),
            finish,
            json!({"type":"message_stop"}),
        ];
        let expected = [
            begun("t", "read"),
            call("t", "read", json!({"path":"a"})),
            usage(5, 3),
            stop(StopReason::ToolUse),
        ];
        assert_eq!(events(Anthropic, &stream(&all)), expected, "{all:?}");
    }
    let numbered =
        answer(&[open(0, json!({"type":"tool_use","id":12,"name":"read","input":{}})), close(0)], "tool_use");
    assert_eq!(events(Anthropic, &numbered)[1], call("12", "read", json!({})));
    let half =
        answer(&[open(0, text_block()), words(0, "a@b"), close(0)], "end_turn").replace('@', "\\ud83e");
    assert_eq!(events(Anthropic, &half)[0], text("a\u{fffd}b"));
    let plain = r#"{"content":"hi","stop_reason":"end_turn"}"#;
    assert_eq!(whole(Anthropic, plain).0[0], text("hi"));
}

#[test]
fn whole_answers_are_read_too() {
    let body = json!({"type":"message","role":"assistant","stop_reason":"tool_use","usage":{"input_tokens":2,"output_tokens":3},
        "content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"hi"},
                   {"type":"tool_use","id":"t","name":"read","input":{"path":"a"}}]});
    let (events, error) = whole(Anthropic, &body.to_string());
    assert_eq!(error, None);
    assert_eq!(
        events,
        [
            thinking("hm"),
            thought(Anthropic, "hm", Some(json!({"signature":"s"}))),
            text("hi"),
            begun("t", "read"),
            call("t", "read", json!({"path":"a"})),
            usage(2, 3),
            stop(StopReason::ToolUse),
        ]
    );
    let odd = r#"{"content":[{"type":"chart","points":[1]}],"stop_reason":"end_turn"}"#;
    assert_eq!(whole(Anthropic, odd).0[0], text(r#"[{"type":"chart","points":[1]}]"#));
    let chat = whole(Anthropic, r#"{"choices":[]}"#).1.unwrap().to_string();
    assert!(chat.contains("openai-chat"), "{chat}");
    let error = whole(Anthropic, r#"{"type":"error","error":{"type":"api_error","message":"x"}}"#).1;
    assert!(matches!(error, Some(ModelError::Api { .. })));
    assert!(matches!(whole(Anthropic, "{}").1, Some(ModelError::Protocol(_))));
}

#[test]
fn any_split_decodes_alike() {
    let body = [
        open(0, json!({"type":"thinking","thinking":""})),
        delta(0, json!({"type":"thinking_delta","thinking":"日本"})),
        close(0),
        open(1, text_block()),
        words(1, "çava 🦀"),
        close(1),
        open(2, tool_block("t")),
        arguments(2, "{\"path\":\"ü\"}"),
        close(2),
    ];
    any_split_agrees(Anthropic, &answer(&body, "tool_use"));
    any_split_agrees(Anthropic, &answer(&body, "tool_use").replace('\n', "\r\n"));
}
