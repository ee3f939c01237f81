use serde_json::{Value, json};
use zdx_protocol::Usage;

use crate::wire::Wire::OpenaiChat;
use crate::wire::testing::*;
use crate::{ModelError, ModelEvent, StopReason};

fn stream(chunks: &[Value]) -> String {
    let mut text: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    text.push_str("data: [DONE]\n\n");
    text
}

fn choice(delta: Value) -> Value {
    json!({"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":delta,"finish_reason":null}]})
}

fn end(reason: &str) -> Value {
    json!({"choices":[{"index":0,"delta":{},"finish_reason":reason}]})
}

fn answered(deltas: &[Value], reason: &str) -> Vec<ModelEvent> {
    let mut chunks: Vec<Value> = deltas.iter().cloned().map(choice).collect();
    chunks.push(end(reason));
    events(OpenaiChat, &stream(&chunks))
}

/// Deltas of calls only, and the calls that come of them.
fn calls(deltas: &[Value]) -> Vec<ModelEvent> {
    let deltas: Vec<Value> = deltas.iter().map(|delta| json!({"tool_calls":[delta]})).collect();
    let found = answered(&deltas, "tool_calls");
    found.into_iter().filter(|event| matches!(event, ModelEvent::ToolCall(_))).collect()
}

const END: StopReason = StopReason::EndTurn;

#[test]
fn text_streams_as_vllm_sends_it() {
    let chunks = [
        choice(json!({"role":"assistant","content":""})),
        json!({"choices":[{"index":0,"delta":{"content":"Grü"},"logprobs":null,"stop_reason":null,"token_ids":null}],"usage":null}),
        choice(json!({"content":"ße 🦀"})),
        json!({"choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop","stop_reason":151645}]}),
        json!({"choices":[],"usage":{"prompt_tokens":7,"total_tokens":9,"completion_tokens":2}}),
    ];
    assert_eq!(events(OpenaiChat, &stream(&chunks)), [text("Grü"), text("ße 🦀"), usage(7, 2), stop(END)]);
}

#[test]
fn a_call_in_pieces() {
    let deltas = [
        json!({"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"read","arguments":""}}]}),
        json!({"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":"}}]}),
        json!({"tool_calls":[{"index":0,"function":{"arguments":" \"a\"}"}}]}),
    ];
    assert_eq!(
        answered(&deltas, "tool_calls"),
        [begun("call_1", "read"), call("call_1", "read", json!({"path":"a"})), stop(StopReason::ToolUse)]
    );
    let told = grown(OpenaiChat, &stream(&deltas.map(choice)));
    assert_eq!(told, ["call_1 read", "call_1 +{\"path\":", "call_1 + \"a\"}"], "as it comes");
}

#[test]
fn continuations_with_empty_ids_and_names() {
    // Alibaba: the id comes again, empty; GLM: so does the name, with a stray index beside it.
    let found = calls(&[
        json!({"index":0,"id":"c1","type":"function","function":{"name":"read","arguments":"{\"pa"}}),
        json!({"index":0,"id":"","function":{"arguments":"th\":"}}),
        json!({"index":0,"id":null,"function":{"name":"","arguments":"\"a\""}}),
        json!({"index":0,"id":"c1","function":{"name":"read","arguments":"}"}}),
    ]);
    assert_eq!(found, [call("c1", "read", json!({"path":"a"}))]);
    // A chunk without the finish_reason key, and one with delta.index.
    let chunks = [
        json!({"choices":[{"delta":{"content":"x","index":3}}]}),
        json!({"choices":[{"finish_reason":"stop"}]}),
    ];
    assert_eq!(events(OpenaiChat, &stream(&chunks)), [text("x"), stop(END)]);
}

#[test]
fn whole_calls_in_one_chunk_and_odd_indexes() {
    let one = json!({"tool_calls":[
        {"index":0,"id":"a","function":{"name":"read","arguments":"{\"path\":\"x\"}"}},
        {"index":1,"id":"b","function":{"name":"bash","arguments":"{}"}}]});
    let found = answered(&[one], "tool_calls");
    assert_eq!(found[2..4], [call("a", "read", json!({"path":"x"})), call("b", "bash", json!({}))]);
    let from_one = calls(&[
        json!({"index":1,"id":"a","function":{"name":"read","arguments":""}}),
        json!({"index":1,"function":{"arguments":"{}"}}),
    ]);
    assert_eq!(from_one, [call("a", "read", json!({}))]);
}

#[test]
fn two_calls_on_one_index() {
    let with_ids = calls(&[
        json!({"index":0,"id":"a","function":{"name":"read","arguments":"{\"path\":"}}),
        json!({"index":0,"function":{"arguments":"\"x\"}"}}),
        json!({"index":0,"id":"b","function":{"name":"read","arguments":""}}),
        json!({"index":0,"function":{"arguments":"{\"path\":\"y\"}"}}),
    ]);
    assert_eq!(with_ids, [call("a", "read", json!({"path":"x"})), call("b", "read", json!({"path":"y"}))]);
    let without = calls(&[
        json!({"index":0,"function":{"name":"read","arguments":"{\"path\":\"x\"}"}}),
        json!({"index":0,"function":{"name":"read","arguments":"{\"path\":\"y\"}"}}),
    ]);
    assert_eq!(
        without,
        [
            call("call_000000000abc01", "read", json!({"path":"x"})),
            call("call_000000000abc02", "read", json!({"path":"y"}))
        ]
    );
}

#[test]
fn interleaved_calls_and_missing_indexes() {
    let found = calls(&[
        json!({"index":0,"id":"a","function":{"name":"read","arguments":"{\"path\""}}),
        json!({"index":1,"id":"b","function":{"name":"bash","arguments":"{\"c\""}}),
        json!({"index":0,"function":{"arguments":":1}"}}),
        json!({"index":1,"function":{"arguments":":2}"}}),
    ]);
    assert_eq!(found, [call("a", "read", json!({"path":1})), call("b", "bash", json!({"c":2}))]);
    let unnumbered = calls(&[
        json!({"id":"a","function":{"name":"read","arguments":"{\"path\":"}}),
        json!({"function":{"arguments":"1}"}}),
        json!({"id":"b","function":{"name":"bash"}}),
        json!({"id":"a","function":{"arguments":" "}}),
    ]);
    assert_eq!(unnumbered, [call("a", "read", json!({"path":1})), call("b", "bash", json!({}))]);
    let nameless_ids = calls(&[
        json!({"function":{"name":"read","arguments":{"path":1}}}),
        json!({"function":{"name":"read","arguments":{"path":2}}}),
    ]);
    assert_eq!(nameless_ids.len(), 2);
}

#[test]
fn duplicate_ids_stay_two_calls_and_late_ids_are_taken() {
    let twice = calls(&[
        json!({"index":0,"id":"a","function":{"name":"read","arguments":"{}"}}),
        json!({"index":1,"id":"a","function":{"name":"read","arguments":"{}"}}),
    ]);
    assert_eq!(twice, [call("a", "read", json!({})), call("a", "read", json!({}))]);
    let late = calls(&[
        json!({"index":0,"function":{"name":"read"}}),
        json!({"index":0,"id":"late","function":{"arguments":"{}"}}),
    ]);
    assert_eq!(late, [call("late", "read", json!({}))]);
}

#[test]
fn arguments_that_are_no_object_are_kept_as_they_came() {
    for (arguments, expected) in [
        ("", json!({})),
        ("{\"a\":", json!("{\"a\":")),
        ("[1]", json!("[1]")),
        ("\"{\\\"a\\\":1}\"", json!({"a":1})),
    ] {
        let found = calls(&[json!({"index":0,"id":"a","function":{"name":"read","arguments":arguments}})]);
        assert_eq!(found, [call("a", "read", expected)], "{arguments}");
    }
    assert_eq!(calls(&[json!({"index":0})]), [], "a stray delta is no call");
}

#[test]
fn calls_count_more_than_the_reason() {
    let delta = json!({"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{}"}}]});
    for (reason, expected) in
        [("stop", StopReason::ToolUse), ("weird", StopReason::ToolUse), ("length", StopReason::Length)]
    {
        assert_eq!(answered(std::slice::from_ref(&delta), reason).pop(), Some(stop(expected)));
    }
    for (reason, expected) in [
        ("stop", END),
        ("tool_calls", END),
        ("length", StopReason::Length),
        ("content_filter", StopReason::ContentFilter),
        ("weird", StopReason::Other("weird".into())),
    ] {
        assert_eq!(answered(&[], reason).pop(), Some(stop(expected)));
    }
    let old = json!({"function_call":{"name":"read","arguments":"{}"}});
    assert_eq!(answered(&[old], "function_call").pop(), Some(stop(StopReason::ToolUse)));
    let refusal = json!({"refusal":"I will not"});
    assert_eq!(answered(&[refusal], "stop"), [text("I will not"), stop(StopReason::Refusal)]);
}

#[test]
fn reasoning_under_each_name() {
    let found =
        answered(&[json!({"reasoning":"a"}), json!({"reasoning":"b"}), json!({"content":"c"})], "stop");
    assert_eq!(
        found,
        [
            thinking("a"),
            thinking("b"),
            thought(OpenaiChat, "ab", Some(json!("reasoning"))),
            text("c"),
            stop(END)
        ]
    );
    let deepseek = answered(
        &[json!({"content":null,"reasoning_content":"a"}), json!({"content":"c","reasoning_content":null})],
        "stop",
    );
    assert_eq!(deepseek[1], thought(OpenaiChat, "a", Some(json!("reasoning_content"))));
    // Both names at once say the same thing once.
    let both = answered(&[json!({"reasoning":"a","reasoning_content":"a"})], "stop");
    assert_eq!(both[..2], [thinking("a"), thought(OpenaiChat, "a", Some(json!("reasoning")))]);
}

#[test]
fn openrouter_details_are_put_together_and_completed_late() {
    let detail = |text: &str| json!({"type":"reasoning.text","text":text,"index":0,"format":"f"});
    let deltas = [
        json!({"role":"assistant","content":"","reasoning":"a","reasoning_details":[detail("a")]}),
        json!({"role":"assistant","content":"","reasoning":"b","reasoning_details":[detail("b")]}),
        json!({"role":"assistant","content":"c"}),
        json!({"content":"","reasoning_details":[{"type":"reasoning.text","signature":"s","index":0}]}),
        json!({"content":"","reasoning_details":[{"type":"reasoning.encrypted","data":"d","index":1}]}),
    ];
    let details = json!([
        {"type":"reasoning.text","text":"ab","index":0,"format":"f","signature":"s"},
        {"type":"reasoning.encrypted","data":"d","index":1},
    ]);
    assert_eq!(
        answered(&deltas, "stop"),
        [thinking("a"), thinking("b"), text("c"), thought(OpenaiChat, "ab", Some(details)), stop(END)]
    );
    let alone = answered(
        &[json!({"reasoning_details":[{"type":"reasoning.summary","summary":"s","index":0}]})],
        "stop",
    );
    assert_eq!(alone[0], thinking("s"));
}

#[test]
fn content_in_typed_parts() {
    let mistral = json!({"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a"},{"type":"text","text":"b"}]});
    assert_eq!(
        answered(&[mistral], "stop"),
        [thinking("hm"), thought(OpenaiChat, "hm", None), text("ab"), stop(END)]
    );
    for (content, shown) in [
        (json!([{"type":"reference","reference_ids":[1]}]), r#"[{"type":"reference","reference_ids":[1]}]"#),
        (json!({"text":"t"}), "t"),
        (json!({"answer":1}), r#"{"answer":1}"#),
        (json!(["a", "b"]), "ab"),
        (json!(7), "7"),
    ] {
        assert_eq!(answered(&[json!({"content":content})], "stop")[0], text(shown));
    }
    assert_eq!(answered(&[json!({"content":[]})], "stop"), [stop(END)]);
}

#[test]
fn usage_wherever_it_comes() {
    let counts = json!({"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":8},
        "completion_tokens_details":{"reasoning_tokens":3},"cost":0.1});
    let expected = Usage {
        input_tokens: 10,
        output_tokens: 5,
        cache_read_tokens: 8,
        cache_write_tokens: 0,
        reasoning_tokens: 3,
    };
    let on_finish = json!({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":counts});
    let continuous = json!({"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":10,"completion_tokens":1}});
    let alone = json!({"choices":[],"usage":counts});
    for chunks in
        [vec![on_finish.clone()], vec![continuous, on_finish], vec![end("stop"), alone.clone()], vec![alone]]
    {
        let found = events(OpenaiChat, &stream(&chunks));
        assert_eq!(found[found.len() - 2..], [ModelEvent::Usage(expected), stop(END)]);
    }
    let hit = json!({"choices":[],"usage":{"prompt_tokens":10,"prompt_cache_hit_tokens":4}});
    match &events(OpenaiChat, &stream(&[hit]))[0] {
        ModelEvent::Usage(usage) => assert_eq!(usage.cache_read_tokens, 4),
        other => panic!("{other:?}"),
    }
}

#[test]
fn errors_inside_the_stream() {
    let vllm =
        json!({"error":{"message":"engine died","type":"InternalServerError","param":null,"code":500}});
    let old_vllm = json!({"object":"error","message":"engine died","type":"InternalServerError","code":500});
    let failed = ModelError::Api { kind: Some("InternalServerError".into()), message: "engine died".into() };
    for error in [vllm, old_vllm] {
        let stream = stream(&[choice(json!({"content":"so far"})), error]);
        splits_agree(OpenaiChat, &stream, &(vec![text("so far")], Some(failed.clone())));
    }
    let router = json!({"id":"g","provider":"p","error":{"code":502,"message":"gone"},
        "choices":[{"index":0,"delta":{"role":"assistant","content":"tail"},"finish_reason":"error"}]});
    let (events, error) = decode(OpenaiChat, &[stream(&[router]).as_bytes()]);
    assert_eq!(events, [text("tail")]);
    assert_eq!(error, Some(ModelError::Api { kind: Some("502".into()), message: "gone".into() }));
    let long = json!({"error":{"message":"This model's maximum context length is 10 tokens","code":400}});
    assert!(matches!(
        decode(OpenaiChat, &[stream(&[long]).as_bytes()]).1,
        Some(ModelError::ContextTooLong { .. })
    ));
}

#[test]
fn openrouter_comments_are_no_events() {
    let body = format!(
        ": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n{}",
        stream(&[choice(json!({"content":"a"})), end("stop")])
    );
    assert_eq!(events(OpenaiChat, &body), [text("a"), stop(END)]);
}

#[test]
fn the_end_is_known_by_either_marker() {
    let body = stream(&[choice(json!({"content":"a"})), end("stop")]);
    let no_done = body.replace("data: [DONE]\n\n", "");
    assert_eq!(decode(OpenaiChat, &[no_done.as_bytes()]), (vec![text("a"), stop(END)], None));
    let no_reason = stream(&[choice(json!({"content":"a"}))]);
    assert_eq!(events(OpenaiChat, &no_reason), [text("a"), stop(END)]);
    let neither = no_reason.replace("data: [DONE]\n\n", "");
    let (events, error) = decode(OpenaiChat, &[neither.as_bytes()]);
    assert_eq!(events, [text("a")]);
    assert!(matches!(error, Some(ModelError::Cut(_))));
    assert!(matches!(decode(OpenaiChat, &[]).1, Some(ModelError::Cut(_))));
}

#[test]
fn half_a_call_is_no_call() {
    let body = stream(&[choice(
        json!({"tool_calls":[{"index":0,"id":"a","function":{"name":"bash","arguments":"{\"command\":\"rm"}}]}),
    )]);
    let cut = body.replace("data: [DONE]\n\n", "");
    let (events, error) = decode(OpenaiChat, &[cut.as_bytes()]);
    assert_eq!(events, [begun("a", "bash")]);
    assert!(matches!(error, Some(ModelError::Cut(_))));
}

#[test]
fn unreadable_events_are_named() {
    for data in ["{", "[]", "oops"] {
        let (_, error) = decode(OpenaiChat, &[format!("data: {data}\n\n").as_bytes()]);
        assert!(matches!(error, Some(ModelError::Protocol(_))), "{data}: {error:?}");
    }
}

#[test]
fn an_unreadable_event_is_passed_over_outside_of_calls() {
    let body = stream(&[choice(json!({"content":"all"})), end("stop")]);
    let last = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"fin";
    for junk in ["data: ping\n\n", "data: {\"choices\":\n\n", "data: [1]\n\n", "data: NaN\n\n"] {
        for at in [last, "data: [DONE]"] {
            let with = body.replacen(at, &format!("{junk}{at}"), 1);
            assert_ne!(with, body);
            assert_eq!(events(OpenaiChat, &with), [text("all"), stop(END)], "{junk} before {at}");
        }
        // Nothing else came: the answer is not an empty one.
        let error = decode(OpenaiChat, &[format!("{junk}data: [DONE]\n\n").as_bytes()]).1;
        assert!(matches!(error, Some(ModelError::Protocol(_))), "{error:?}");
        let called = stream(&[
            choice(json!({"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{}"}}]})),
            end("tool_calls"),
        ]);
        let (found, error) =
            decode(OpenaiChat, &[called.replacen(last, &format!("{junk}{last}"), 1).as_bytes()]);
        let ran = found.iter().any(|event| matches!(event, ModelEvent::ToolCall(_)));
        assert_eq!(ran, !junk.contains('{'), "{found:?}");
        assert_eq!(matches!(error, Some(ModelError::Cut(_))), !ran, "{error:?}");
    }
}

/// Xinference sends each call whole, and all of an answer with one id.
#[test]
fn one_id_for_parallel_calls_does_not_glue_them_together() {
    let whole = |index: Value, path: &str| {
        let arguments = json!({ "path": path }).to_string();
        json!({"index":index,"id":"call_x","function":{"name":"read","arguments":arguments}})
    };
    for indexes in [[json!(null), json!(null)], [json!(0), json!(0)], [json!(0), json!(1)]] {
        let [first, second] = indexes;
        let found = calls(&[whole(first, "a"), whole(second, "b")]);
        let expected =
            [call("call_x", "read", json!({"path":"a"})), call("call_x", "read", json!({"path":"b"}))];
        assert_eq!(found, expected);
    }
    // Others send id and name with every piece.
    let piece =
        |arguments: &str| json!({"index":0,"id":"c","function":{"name":"read","arguments":arguments}});
    let found = calls(&[piece("{\"path\":"), piece("\"a\"}")]);
    assert_eq!(found, [call("c", "read", json!({"path":"a"}))]);
}

/// Each of these once cost the whole answer.
#[test]
fn odd_fields_do_not_matter() {
    let said = choice(json!({"content":"hi"}));
    let counted = |counts: Value| json!({"choices":[],"usage":counts});
    let heard = |chunks: &[Value]| events(OpenaiChat, &stream(chunks));
    for counts in [
        json!({"prompt_tokens":7.0,"completion_tokens":2.0}),
        json!({"prompt_tokens":"7","completion_tokens":"2","prompt_tokens_details":"none"}),
        json!({"prompt_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":-1}}),
        json!({"prompt_tokens":7,"completion_tokens":2,"completion_tokens_details":[]}),
    ] {
        let chunks = [said.clone(), end("stop"), counted(counts.clone())];
        assert_eq!(heard(&chunks), [text("hi"), usage(7, 2), stop(END)], "{counts}");
    }
    let negative = [said.clone(), end("stop"), counted(json!({"prompt_tokens":-7,"completion_tokens":2}))];
    assert_eq!(heard(&negative), [text("hi"), usage(0, 2), stop(END)]);
    for error in [json!({}), json!(""), json!(null), json!(false), json!([])] {
        let mut chunk = said.clone();
        chunk["error"] = error.clone();
        assert_eq!(heard(&[chunk, end("stop")]), [text("hi"), stop(END)], "{error}");
    }
    let both =
        json!({"choices":[{"delta":{"content":"hi"},"message":{"content":"hi"},"finish_reason":"stop"}]});
    assert_eq!(heard(&[both]), [text("hi"), stop(END)]);
    for odd in [
        json!({"choices":{"index":0,"delta":{"content":"hi"}}}),
        json!({"choices":[{"index":"0","delta":{"content":"hi","reasoning":[]},"finish_reason":false}],"object":3}),
        json!({"choices":[{"delta":{"content":"hi","tool_calls":""}}],"usage":"none"}),
    ] {
        assert_eq!(heard(&[odd.clone(), end("stop")]), [text("hi"), stop(END)], "{odd}");
    }
}

#[test]
fn calls_come_in_odd_shapes() {
    let function = json!({"name":"read","arguments":"{\"path\":\"a\"}"});
    for (calls, id) in [
        (json!({"index":0,"id":"x","function":function}), "x"),
        (json!({"0":{"index":0,"id":"x","function":function}}), "x"),
        (json!([{"index":"0","id":"x","function":function}]), "x"),
        (json!([{"index":-1,"id":"x","function":function}]), "x"),
        (json!([{"index":0.0,"id":"x","function":function}]), "x"),
        (json!([{"index":0,"id":31,"function":function}]), "31"),
        (json!([null, {"index":0,"id":"x","function":function}]), "x"),
    ] {
        let found = answered(&[json!({ "tool_calls": calls })], "tool_calls");
        assert_eq!(found[1], call(id, "read", json!({"path":"a"})), "{calls}");
    }
}

#[test]
fn half_a_surrogate_pair_does_not_cost_the_answer() {
    let body = stream(&[choice(json!({"content":"a@"})), choice(json!({"content":"#b"})), end("stop")]);
    let body = body.replace('@', "\\ud83e").replace('#', "\\udd80");
    assert_eq!(decode(OpenaiChat, &[body.as_bytes()]).0, [text("a\u{fffd}"), text("\u{fffd}b"), stop(END)]);
    let in_call =
        calls(&[json!({"index":0,"id":"a","function":{"name":"read","arguments":"{\"path\":\"\\ud83e\"}"}})]);
    assert_eq!(in_call, [call("a", "read", json!({"path":"\u{fffd}"}))]);
}

#[test]
fn whole_answers_are_read_too() {
    let body = json!({"object":"chat.completion","choices":[{"index":0,"finish_reason":"tool_calls","message":{
        "role":"assistant","content":"hi","reasoning_content":"hm",
        "tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"{}"}},
                      {"id":"b","type":"function","function":{"name":"read","arguments":"{}"}}]}}],
        "usage":{"prompt_tokens":1,"completion_tokens":2}});
    let (events, error) = whole(OpenaiChat, &body.to_string());
    assert_eq!(error, None);
    assert_eq!(
        events[2..],
        [
            text("hi"),
            begun("a", "read"),
            begun("b", "read"),
            call("a", "read", json!({})),
            call("b", "read", json!({})),
            usage(1, 2),
            stop(StopReason::ToolUse)
        ]
    );
    let error = whole(OpenaiChat, r#"{"error":{"message":"no"}}"#).1;
    assert!(matches!(error, Some(ModelError::Api { .. })));
    for body in ["{}", "nope", r#"{"type":"message","content":[]}"#] {
        assert!(matches!(whole(OpenaiChat, body).1, Some(ModelError::Protocol(_))), "{body}");
    }
}

#[test]
fn any_split_decodes_alike() {
    let chunks = [
        choice(json!({"reasoning":"日本"})),
        choice(json!({"content":"çava 🦀"})),
        choice(
            json!({"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{\"path\":\"ü\"}"}}]}),
        ),
        end("stop"),
        json!({"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}),
    ];
    any_split_agrees(OpenaiChat, &stream(&chunks));
    any_split_agrees(OpenaiChat, &stream(&chunks).replace('\n', "\r"));
}
