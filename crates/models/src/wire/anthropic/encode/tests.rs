use serde_json::{Value, json};
use zdx_protocol::{Content, Message, Part, Reasoning, Role};

use crate::wire::Wire::Anthropic;
use crate::wire::testing::*;
use crate::{ModelRequest, Thinking};

#[test]
fn a_request_says_all_and_marks_four_ends() {
    let messages = [
        user("one"),
        assistant(vec![said("two"), used("t1", "read", json!({"path":"a"}))]),
        results(vec![result("t1", Ok(json!({"content":"x"}))), said("also")]),
        assistant(vec![used("t2", "bash", json!("{broken"))]),
        results(vec![result("t2", Err("not JSON"))]),
    ];
    let tools = tools();
    let mark = json!({"type":"ephemeral"});
    let ok = json!({"ok":true,"data":{"content":"x"}}).to_string();
    let failed = json!({"ok":false,"error":{"code":"failed","message":"not JSON"}}).to_string();
    assert_eq!(
        encoded(Anthropic, &request(&messages, &tools)),
        json!({
            "model": MODEL, "max_tokens": 4096, "stream": true,
            "system": [{"type":"text","text":"be brief","cache_control":mark}],
            "tools": [
                {"name":"read","description":"the tool read","input_schema":tools[0].schema},
                {"name":"bash","description":"the tool bash","input_schema":tools[1].schema,"cache_control":mark},
            ],
            "messages": [
                {"role":"user","content":[{"type":"text","text":"one"}]},
                {"role":"assistant","content":[{"type":"text","text":"two"},
                    {"type":"tool_use","id":"t1","name":"read","input":{"path":"a"}}]},
                {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":ok},
                    {"type":"text","text":"also","cache_control":mark}]},
                {"role":"assistant","content":[{"type":"tool_use","id":"t2","name":"bash","input":{}}]},
                {"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":failed,"is_error":true,
                    "cache_control":mark}]},
            ],
        })
    );
    let sent = Anthropic.encode(&request(&messages, &tools)).unwrap();
    assert_eq!(
        (sent.target.path.as_ref(), sent.headers),
        ("/v1/messages", &[("anthropic-version", "2023-06-01")][..])
    );
}

#[test]
fn each_request_extends_the_one_before() {
    prefix_is_stable(Anthropic);
}

#[test]
fn never_more_than_four_marks() {
    let tools = tools();
    for messages in growing_turn() {
        let body = encoded(Anthropic, &request(&messages, &tools)).to_string();
        assert!(body.matches("cache_control").count() <= 4);
    }
}

fn thinking_part(model: &str, opaque: Option<Value>) -> Part {
    let (text, wire) = ("hm".into(), "anthropic".into());
    Part::Reasoning(Box::new(Reasoning { text, wire, model: model.into(), opaque, took_ms: None }))
}

#[test]
fn signed_thinking_goes_back_to_its_own_model_alone() {
    let signed = Some(json!({"signature":"s"}));
    let turn = |part: Part| {
        [
            user("q"),
            assistant(vec![part, used("t", "read", json!({}))]),
            results(vec![result("t", Ok(json!(1)))]),
        ]
    };
    let first_block = |part: Part| {
        let messages = turn(part);
        encoded(Anthropic, &request(&messages, &[]))["messages"][1]["content"][0].clone()
    };
    assert_eq!(
        first_block(thinking_part(MODEL, signed.clone())),
        json!({"type":"thinking","thinking":"hm","signature":"s"})
    );
    assert_eq!(
        first_block(thinking_part(MODEL, Some(json!({"redacted":"d"})))),
        json!({"type":"redacted_thinking","data":"d"})
    );
    for unusable in [
        thinking_part("other", signed.clone()),
        thinking_part(MODEL, None),
        thinking_part(MODEL, Some(json!(7))),
    ] {
        assert_eq!(first_block(unusable)["type"], "tool_use");
    }
}

#[test]
fn thinking_is_asked_for_only_where_it_is_taken() {
    let on = |messages: &[Message], max_tokens: u32| {
        let mut request = request(messages, &[]);
        request.thinking = Some(Thinking { budget_tokens: 2048 });
        request.temperature = Some(0.5);
        request.max_tokens = max_tokens;
        let body = encoded(Anthropic, &request);
        // Sampling and thinking exclude each other.
        assert_eq!(body.get("thinking").is_some(), body.get("temperature").is_none());
        body["thinking"]["budget_tokens"].as_u64()
    };
    let question = [user("q")];
    assert_eq!(on(&question, 8192), Some(2048));
    assert_eq!(on(&question, 2000), Some(1999));
    assert_eq!(on(&question, 1024), None);
    let unsigned =
        [user("q"), assistant(vec![used("t", "read", json!({}))]), results(vec![result("t", Ok(json!(1)))])];
    assert_eq!(on(&unsigned, 8192), None);
    let signed = thinking_part(MODEL, Some(json!({"signature":"s"})));
    let mut begun = unsigned.clone();
    begun[1].parts.insert(0, signed);
    assert_eq!(on(&begun, 8192), Some(2048));
}

#[test]
fn every_conversation_is_made_valid() {
    let messages = [
        Message::text(Role::Assistant, "I go first"),
        Message::text(Role::System, "@file:a"),
        user("q"),
        user("   "),
        assistant(vec![said(""), thinking_part("other", None)]),
        user("again"),
        assistant(vec![said("to be continued \n")]),
    ];
    let body = encoded(Anthropic, &request(&messages, &[]));
    let roles: Vec<_> = body["messages"].as_array().unwrap().iter().map(|m| m["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant"]);
    let texts: Vec<_> = body["messages"][2]["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block["text"].clone())
        .collect();
    assert_eq!(texts, ["@file:a", "q", "again"]);
    assert_eq!(body["messages"][3]["content"][0]["text"], "to be continued");
    assert!(body.get("tools").is_none());
    let mut bare = request(&messages[2..3], &[]);
    bare.system = " ";
    assert!(encoded(Anthropic, &bare).get("system").is_none());
}

#[test]
fn images_are_blocks_and_a_model_without_them_reads_a_note() {
    let (messages, images, not_taken) = (with_images(), sent_images(), not_taken());
    let sent = encoded(Anthropic, &ModelRequest { images: &images, ..request(&messages, &[]) });
    let source = |data: &str| json!({"type": "base64", "media_type": "image/png", "data": data});
    let ok = json!({"ok": true, "data": {"path": "b.png"}}).to_string();
    let first = &sent["messages"][0]["content"];
    assert_eq!(first[0], json!({"type": "image", "source": source("QUFB")}));
    assert_eq!(first[1]["text"], "compare");
    assert_eq!(
        sent["messages"][2]["content"][0]["content"],
        json!([{"type": "text", "text": ok}, {"type": "image", "source": source("QkJC")}])
    );
    let noted = encoded(Anthropic, &ModelRequest { images: &not_taken, ..request(&messages, &[]) });
    assert_eq!(noted["messages"][0]["content"][0]["text"], note("a.png"));
    assert_eq!(noted["messages"][2]["content"][0]["content"], format!("{ok}\n{}", note("b.png")));
}

#[test]
fn an_image_that_the_server_would_refuse_is_a_note() {
    let (mut messages, images) = (with_images(), sent_images());
    let Part::Content(Content::Image(image)) = &mut messages[0].parts[0] else { panic!() };
    image.height = 8_001;
    let sent = encoded(Anthropic, &ModelRequest { images: &images, ..request(&messages, &[]) });
    let note = "[image not sent: a.png, PNG 8×8001, 99 B; it is larger than this server accepts]";
    assert_eq!(sent["messages"][0]["content"][0]["text"], note);
    assert_eq!(sent["messages"][2]["content"][0]["content"][1]["type"], "image");
}
