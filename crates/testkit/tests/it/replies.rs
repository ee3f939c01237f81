use serde_json::{Value, json};
use zdx_testkit::{Reply, Step};

/// Names and data of the events of a body.
fn events(reply: impl Into<Reply>) -> Vec<(String, Value)> {
    let body = String::from_utf8(reply.into().body_bytes()).unwrap();
    let mut events = Vec::new();
    for event in body.split_terminator("\n\n") {
        let mut lines = event.lines().rev();
        let data = lines.next().unwrap().strip_prefix("data: ").unwrap();
        let name = lines.next().map(|line| line.strip_prefix("event: ").unwrap()).unwrap_or_default();
        events.push((name.to_owned(), serde_json::from_str(data).unwrap_or(json!(data))));
    }
    events
}

fn deltas(reply: impl Into<Reply>) -> Vec<Value> {
    events(reply).into_iter().filter_map(|(_, data)| Some(data["choices"].get(0)?["delta"].clone())).collect()
}

#[test]
fn a_chat_stream_has_role_deltas_finish_usage_and_end() {
    let events = events(Reply::chat().text("hello, world").usage(7, 3));
    let choices: Vec<&Value> = events.iter().map(|(_, data)| &data["choices"]).collect();
    let choice = |delta: Value, finish: Value| json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
    assert_eq!(
        choices,
        [
            &choice(json!({"role": "assistant", "content": ""}), Value::Null),
            &choice(json!({"content": "hello,"}), Value::Null),
            &choice(json!({"content": " world"}), Value::Null),
            &choice(json!({}), json!("stop")),
            &json!([]),
            &Value::Null,
        ]
    );
    assert_eq!(events[4].1["usage"], json!({"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}));
    assert_eq!(events[5].1, json!("[DONE]"));
}

#[test]
fn chat_calls_are_numbered_and_their_arguments_split() {
    let reply = Reply::chat()
        .reasoning("so")
        .tool_call("call_1", "read", json!({"path": "a"}))
        .tool_call_deltas("call_2", "bash", ["{\"comm", "and\":"]);
    let deltas = deltas(reply);
    let call = |index: u64, rest: Value| {
        let mut call = json!({"index": index});
        call.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        json!({"tool_calls": [call]})
    };
    let begin = |id: &str, name: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": ""}});
    let more = |text: &str| json!({"function": {"arguments": text}});
    assert_eq!(
        deltas[1..],
        [
            json!({"reasoning": "so"}),
            call(0, begin("call_1", "read")),
            call(0, more("{\"path")),
            call(0, more("\":\"a\"}")),
            call(1, begin("call_2", "bash")),
            call(1, more("{\"comm")),
            call(1, more("and\":")),
            json!({}),
        ]
    );
}

#[test]
fn chat_answers_can_be_whole_or_unfinished() {
    let reply = Reply::chat().text("a").text("b").tool_call("c", "read", json!({"path": "x"}));
    let whole: Value = serde_json::from_slice(&reply.clone().whole().body_bytes()).unwrap();
    let message = &whole["choices"][0]["message"];
    assert_eq!(message["content"], "ab");
    assert_eq!(message["tool_calls"][0]["function"]["arguments"], "{\"path\":\"x\"}");
    assert_eq!(whole["choices"][0]["finish_reason"], "tool_calls");
    let cut = String::from_utf8(reply.unfinished().done().body_bytes()).unwrap();
    assert!(!cut.contains("[DONE]") && !cut.contains("\"tool_calls\"}"), "{cut}");
}

#[test]
fn an_anthropic_stream_has_every_block_in_its_place() {
    let reply = Reply::anthropic()
        .thinking("hm", "sig")
        .ping()
        .text("hi")
        .tool_use("toolu_1", "read", json!({}))
        .usage(20, 9)
        .cache_usage(4, 2);
    let events = events(reply);
    assert!(events.iter().all(|(name, data)| data["type"] == name.as_str()));
    let names: Vec<&str> = events.iter().map(|(name, _)| name.trim_start_matches("content_block_")).collect();
    let expected = "message_start start delta delta stop ping start delta stop start delta delta stop message_delta message_stop";
    assert_eq!(names.join(" "), expected);
    let usage = json!({"input_tokens": 20, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 4, "output_tokens": 1});
    assert_eq!(events[0].1["message"]["usage"], usage);
    assert_eq!(events[3].1["delta"], json!({"type": "signature_delta", "signature": "sig"}));
    assert_eq!(
        events[9].1["content_block"],
        json!({"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}})
    );
    assert_eq!(events[9].1["index"], 2);
    assert_eq!(events[11].1["delta"], json!({"type": "input_json_delta", "partial_json": "{}"}));
    assert_eq!(events[13].1["delta"]["stop_reason"], "tool_use");
    assert_eq!(events[13].1["usage"]["output_tokens"], 9);
}

#[test]
fn an_anthropic_answer_can_be_whole() {
    let reply = Reply::anthropic().text("hi").tool_use("t", "read", json!({"path": "x"})).whole();
    let whole: Value = serde_json::from_slice(&reply.body_bytes()).unwrap();
    let call = json!({"type": "tool_use", "id": "t", "name": "read", "input": {"path": "x"}});
    assert_eq!(whole["content"], json!([{"type": "text", "text": "hi"}, call]));
    assert_eq!(whole["stop_reason"], "tool_use");
}

#[test]
fn bodies_can_be_cut_and_rewritten() {
    let stream = || Reply::stream([Step::bytes("data: 1\n\n"), Step::bytes("data: 2\n\n")]);
    let whole = stream().body_bytes();
    for offset in 0..=whole.len() {
        assert_eq!(stream().cut_at(offset, Step::Close).body_bytes(), whole[..offset]);
        assert_eq!(stream().insert_at(offset, Step::Stall).body_bytes(), whole);
        assert_eq!(stream().split_at(&[offset, 4]).body_bytes(), whole);
    }
    assert_eq!(stream().cut_after_events(1, Step::Reset).body_bytes(), b"data: 1\n\n");
    let crlf = |body: Vec<u8>| String::from_utf8(body).unwrap().replace('\n', "\r\n").into_bytes();
    assert_eq!(stream().map_body(crlf).body_bytes(), b"data: 1\r\n\r\ndata: 2\r\n\r\n");
}
