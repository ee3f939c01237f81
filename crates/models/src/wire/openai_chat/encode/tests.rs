use serde_json::{Value, json};
use zdx_protocol::{Message, Part, Reasoning, Role};

use crate::wire::Wire::OpenaiChat;
use crate::wire::testing::*;
use crate::{ModelEvent, ModelRequest, RequestImages, ThinkingSwitch};

#[test]
fn a_request_says_all() {
    let messages = [
        user("one"),
        assistant(vec![
            said("two"),
            used("t1", "read", json!({"path":"a"})),
            used("t2", "bash", json!("{broken")),
        ]),
        results(vec![
            result("t1", Ok(json!({"content":"x"}))),
            result("t2", Err("not JSON")),
            said("also"),
            said("this"),
        ]),
        assistant(vec![used("t3", "read", json!({}))]),
        results(vec![result("t3", Ok(json!(1)))]),
        Message::text(Role::System, "@file:a"),
        user("next"),
    ];
    let tools = tools();
    let ok = json!({"ok":true,"data":{"content":"x"}}).to_string();
    let failed = json!({"ok":false,"error":{"code":"failed","message":"not JSON"}}).to_string();
    let function = |name: &str, arguments: &str| json!({"name":name,"arguments":arguments});
    assert_eq!(
        encoded(OpenaiChat, &request(&messages, &tools)),
        json!({
            "model": MODEL, "max_tokens": 4096, "stream": true, "stream_options": {"include_usage": true},
            "tools": [
                {"type":"function","function":{"name":"read","description":"the tool read","parameters":tools[0].schema}},
                {"type":"function","function":{"name":"bash","description":"the tool bash","parameters":tools[1].schema}},
            ],
            "messages": [
                {"role":"system","content":"be brief"},
                {"role":"user","content":"one"},
                {"role":"assistant","content":"two","tool_calls":[
                    {"id":"t1","type":"function","function":function("read", r#"{"path":"a"}"#)},
                    {"id":"t2","type":"function","function":function("bash", "{}")}]},
                {"role":"tool","tool_call_id":"t1","content":ok},
                {"role":"tool","tool_call_id":"t2","content":failed},
                {"role":"user","content":"also\n\nthis"},
                {"role":"assistant","content":null,"tool_calls":[{"id":"t3","type":"function","function":function("read", "{}")}]},
                {"role":"tool","tool_call_id":"t3","content":"{\"ok\":true,\"data\":1}"},
                {"role":"user","content":"@file:a\n\nnext"},
            ],
        })
    );
}

#[test]
fn each_request_extends_the_one_before() {
    prefix_is_stable(OpenaiChat);
}

#[test]
fn thinking_goes_back_where_it_is_wanted() {
    let thought = |opaque: Value| {
        Part::Reasoning(Box::new(Reasoning {
            text: "hm".into(),
            wire: "openai-chat".into(),
            model: MODEL.into(),
            opaque: Some(opaque),
            took_ms: None,
        }))
    };
    let details = json!([{"type":"reasoning.text","text":"hm","index":0,"signature":"s"}]);
    let sent = |parts: Vec<Part>| {
        let messages = [user("q"), assistant(parts), user("r")];
        encoded(OpenaiChat, &request(&messages, &[]))["messages"][2].clone()
    };
    assert_eq!(sent(vec![thought(details.clone()), said("a")])["reasoning_details"], details);
    for name in ["reasoning", "reasoning_content"] {
        let with_call = sent(vec![thought(json!(name)), used("t", "read", json!({}))]);
        assert_eq!(with_call[name], "hm");
        assert!(sent(vec![thought(json!(name)), said("a")]).get(name).is_none());
    }
    let mut other = thought(details);
    if let Part::Reasoning(reasoning) = &mut other {
        reasoning.model = "other".into();
    }
    assert!(sent(vec![other, said("a")]).get("reasoning_details").is_none());
}

/// The message of a server that thought under this name and then made a call, as the next request shows it again.
fn returned(name: &str) -> Value {
    let call = json!({"index": 0, "id": "t", "function": {"name": "read", "arguments": "{}"}});
    let chunks = [
        json!({"choices": [{"index": 0, "delta": {name: "hm"}}]}),
        json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}),
    ];
    let stream: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    let part = |event: ModelEvent| match event {
        ModelEvent::Reasoning(thought) => Some(Part::Reasoning(Box::new(thought))),
        ModelEvent::ToolCall(call) => Some(used(&call.id, &call.name, call.arguments.input())),
        _ => None,
    };
    let parts = events(OpenaiChat, &stream).into_iter().filter_map(part).collect();
    let messages = [user("q"), assistant(parts), user("r")];
    encoded(OpenaiChat, &request(&messages, &[]))["messages"][2].clone()
}

#[test]
fn thinking_goes_back_under_the_name_it_came() {
    for (name, other) in [("reasoning", "reasoning_content"), ("reasoning_content", "reasoning")] {
        let message = returned(name);
        assert_eq!(message[name], "hm", "{message}");
        assert!(message.get(other).is_none(), "{message}");
    }
}

#[test]
fn reasoning_models_of_openai_want_another_name() {
    let messages = [user("q")];
    for (model, name) in [
        ("gpt-5-mini", "max_completion_tokens"),
        ("o3", "max_completion_tokens"),
        ("gpt-oss-20b", "max_tokens"),
        ("olmo", "max_tokens"),
        ("openai/gpt-5", "max_tokens"),
    ] {
        let mut request = request(&messages, &[]);
        request.model = model;
        request.stream = false;
        request.temperature = Some(0.0);
        let body = encoded(OpenaiChat, &request);
        assert_eq!(body[name], 4096, "{model}");
        assert_eq!((body["stream"].as_bool(), body["temperature"].as_f64()), (Some(false), Some(0.0)));
        assert!(body.get("stream_options").is_none() && body.get("tools").is_none());
    }
}

#[test]
fn images_are_parts_and_a_model_without_them_reads_a_note() {
    let (messages, images, not_taken) = (with_images(), sent_images(), not_taken());
    let sent = encoded(OpenaiChat, &ModelRequest { images: &images, ..request(&messages, &[]) });
    let image = |data: &str| json!({"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{data}")}});
    let ok = json!({"ok": true, "data": {"path": "b.png"}}).to_string();
    assert_eq!(
        sent["messages"][1],
        json!({"role": "user", "content": [image("QUFB"), {"type": "text", "text": "compare"}]})
    );
    assert_eq!(sent["messages"][3], json!({"role": "tool", "tool_call_id": "t1", "content": ok}));
    let after = json!([{"type": "text", "text": "Images from the tool results above:"}, image("QkJC")]);
    assert_eq!(sent["messages"][4], json!({"role": "user", "content": after}));
    let noted = encoded(OpenaiChat, &ModelRequest { images: &not_taken, ..request(&messages, &[]) });
    assert_eq!(noted["messages"][1]["content"], format!("{}\n\ncompare", note("a.png")));
    assert_eq!(noted["messages"][3]["content"], format!("{ok}\n{}", note("b.png")));
    assert_eq!(noted["messages"].as_array().unwrap().len(), 4);
}

#[test]
fn an_image_that_is_gone_is_a_note() {
    let (messages, images) = (with_images(), RequestImages::Sent([].into()));
    let sent = encoded(OpenaiChat, &ModelRequest { images: &images, ..request(&messages, &[]) });
    let gone = "[image not sent: a.png, PNG 8×6, 99 B; its content is no longer kept]\n\ncompare";
    assert_eq!(sent["messages"][1]["content"], gone);
}

#[test]
fn thinking_is_switched_off_in_the_servers_own_way() {
    let messages = [user("sum up")];
    let plain = encoded(OpenaiChat, &request(&messages, &[]));
    for (switch, name, value) in [
        (ThinkingSwitch::Template, "chat_template_kwargs", json!({"enable_thinking":false,"thinking":false})),
        (ThinkingSwitch::Effort, "reasoning_effort", json!("low")),
        (ThinkingSwitch::Reasoning, "reasoning", json!({"enabled":false})),
        (ThinkingSwitch::EnableThinking, "enable_thinking", json!(false)),
        (ThinkingSwitch::ThinkingType, "thinking", json!({"type":"disabled"})),
    ] {
        let off = ModelRequest { thinking_off: Some(switch), ..request(&messages, &[]) };
        let mut body = encoded(OpenaiChat, &off);
        assert_eq!(body.as_object_mut().unwrap().remove(name), Some(value));
        assert_eq!(body, plain);
    }
}
