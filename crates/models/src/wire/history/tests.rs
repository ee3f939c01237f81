use serde_json::json;
use zdx_protocol::record::now;
use zdx_protocol::{CallOrigin, Event, Message, Record, ToolCall, Transcript};

use super::*;
use crate::wire::testing::*;

fn shape(messages: &[Message]) -> Vec<String> {
    let block = |block: &Block| match block {
        Block::Text(text) => text.to_string(),
        Block::Image(image) => format!("<{}>", image.base64),
        Block::Reasoning(thought) => format!("({})", thought.text),
        Block::Call { id, name, .. } => format!("{name}#{id}"),
        Block::Result { id, output, .. } => format!("{}#{id}", if output.is_ok() { "ok" } else { "err" }),
    };
    turns(&request(messages, &[]), Wire::OpenaiChat)
        .map(|turn| {
            format!("{:?}: {}", turn.role, turn.blocks.iter().map(block).collect::<Vec<_>>().join(", "))
        })
        .collect()
}

fn calls(ids: &[&str]) -> Message {
    assistant(ids.iter().map(|id| used(id, "read", json!({}))).collect())
}

fn answers(ids: &[&str]) -> Message {
    results(ids.iter().map(|id| result(id, Ok(json!(1)))).collect())
}

#[test]
fn results_follow_their_calls_in_the_calls_order() {
    assert_eq!(
        shape(&[user("q"), calls(&["a", "b"]), answers(&["b", "a"]), user("and?")]),
        ["User: q", "Assistant: read#a, read#b", "User: ok#a, ok#b, and?"]
    );
    // Something said in between does not come between them.
    assert_eq!(
        shape(&[calls(&["a"]), Message::text(Role::System, "note"), answers(&["a"])]),
        ["Assistant: read#a", "User: ok#a, note"]
    );
}

#[test]
fn calls_without_result_and_results_without_call_are_put_right() {
    assert_eq!(
        shape(&[calls(&["a", "b"]), answers(&["b"])]),
        ["Assistant: read#a, read#b", "User: err#a, ok#b"]
    );
    assert_eq!(
        shape(&[calls(&["a"]), assistant(vec![said("on")]), answers(&["a"])]),
        ["Assistant: read#a", "User: err#a", "Assistant: on"]
    );
    assert_eq!(shape(&[calls(&["a"])]), ["Assistant: read#a", "User: err#a"]);
    assert_eq!(shape(&[user("q"), answers(&["x"])]), ["User: q"]);
}

/// Ids as they are sent, calls and results in their order.
fn ids(messages: &[Message], wire: Wire, model: &str) -> Vec<String> {
    let id = |block: Block| match block {
        Block::Call { id, .. } | Block::Result { id, .. } => Some(id.to_string()),
        Block::Text(_) | Block::Image(_) | Block::Reasoning(_) => None,
    };
    turns(&ModelRequest { model, ..request(messages, &[]) }, wire)
        .flat_map(|turn| turn.blocks)
        .filter_map(id)
        .collect()
}

/// A call that the session calls `id` and its server `server`.
fn renamed(id: &str, server: &str) -> Part {
    let mut part = used(id, "read", json!({}));
    if let Part::ToolUse { signature, .. } = &mut part {
        let wire = Wire::OpenaiChat.name().to_owned();
        let made = Signature {
            wire,
            model: MODEL.to_owned(),
            opaque: Value::Null,
            call_id: Some(server.to_owned()),
        };
        *signature = Some(Box::new(made));
    }
    part
}

#[test]
fn a_chat_server_gets_its_own_ids_back_word_for_word() {
    let messages = [
        calls(&["functions.bash:0"]),
        answers(&["functions.bash:0"]),
        assistant(vec![
            renamed("functions.bash:0-2", "functions.bash:0"),
            used("functions.read:1", "read", json!({})),
        ]),
        answers(&["functions.bash:0-2", "functions.read:1"]),
    ];
    let bash = "functions.bash:0";
    assert_eq!(
        ids(&messages, Wire::OpenaiChat, MODEL),
        [bash, bash, bash, "functions.read:1", bash, "functions.read:1"]
    );
    // A server that takes no such characters, and no id twice.
    assert_eq!(
        ids(&messages, Wire::Anthropic, MODEL),
        [
            "functions_bash_0",
            "functions_bash_0",
            "functions_bash_0-2",
            "functions_read_1",
            "functions_bash_0-2",
            "functions_read_1"
        ]
    );
}

#[test]
fn an_id_that_one_answer_repeats_is_renamed_there() {
    let one_for_all = |first: &str, second: &str| {
        assistant(vec![renamed(first, "call_x"), renamed(second, "call_x"), used("", "read", json!({}))])
    };
    let messages = [
        one_for_all("call_x", "call_x-2"),
        answers(&["call_x-2", "call_x", ""]),
        one_for_all("call_x-3", "call_x-4"),
        answers(&["call_x-3", "call_x-4", ""]),
    ];
    let each = ["call_x", "call_x-2", "call"];
    assert_eq!(ids(&messages, Wire::OpenaiChat, MODEL), [each; 4].concat());
    assert_eq!(
        ids(
            &[calls(&["a", "a"]), answers(&["a", "a"]), calls(&["a"]), answers(&["a"])],
            Wire::Anthropic,
            MODEL
        ),
        ["a", "a_2", "a", "a_2", "a_3", "a_3"]
    );
}

#[test]
fn mistral_gets_ids_of_nine_letters_or_digits() {
    let messages = [
        calls(&["Ab3dEf7h9", "call_123", "functions.read:0", "call_1"]),
        answers(&["Ab3dEf7h9", "call_123", "functions.read:0", "call_1"]),
    ];
    for model in ["devstral-small", "mistralai/Mixtral-8x7B", "Ministral-3"] {
        let sent = ids(&messages, Wire::OpenaiChat, model);
        assert_eq!(sent[0], "Ab3dEf7h9", "one that fits goes back as it came");
        assert_eq!(sent[..4], sent[4..], "each result names its call");
        let distinct: std::collections::HashSet<_> = sent.iter().collect();
        assert_eq!(distinct.len(), 4, "{sent:?}");
        let fits = |id: &String| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        assert!(sent.iter().all(fits), "{sent:?}");
        assert_eq!(sent, ids(&messages, Wire::OpenaiChat, model), "the same in every request");
    }
}

#[test]
fn names_a_model_made_up_are_made_sendable() {
    for (name, expected) in
        [("read", "read"), ("", "unknown"), ("a b/ü", "a_b__"), (&"x".repeat(99), &"x".repeat(64))]
    {
        assert_eq!(fit_name(name), expected);
    }
}

#[test]
fn neighbours_of_one_role_are_joined_and_blanks_dropped() {
    assert_eq!(
        shape(&[
            user("a"),
            user("b"),
            assistant(vec![said(" ")]),
            user("c"),
            assistant(vec![said("d")]),
            assistant(vec![said("e")])
        ]),
        ["User: a, b, c", "Assistant: d, e"]
    );
}

/// A call as a decoder gives it, after it was told, saved, read back and folded.
fn remembered(calls: &[ToolCall]) -> Vec<Message> {
    let mut transcript = Transcript::default();
    for call in calls {
        let record = Event::requested(call, CallOrigin::Model).record(now()).unwrap();
        transcript.absorb(Record::parse(&record.to_line().unwrap()).unwrap());
    }
    transcript.messages().to_vec()
}

fn signed(id: &str, signature: Option<Value>) -> ToolCall {
    let made_by = |opaque| {
        Box::new(Signature {
            wire: Wire::OpenaiChat.name().to_owned(),
            model: MODEL.to_owned(),
            opaque,
            call_id: None,
        })
    };
    ToolCall {
        id: id.to_owned(),
        name: "read".to_owned(),
        arguments: Arguments::parse("{}"),
        signature: signature.map(made_by),
    }
}

#[test]
fn a_signature_goes_back_with_its_own_call_to_its_own_model_alone() {
    let opaque = json!({"thoughtSignature": "CpcBAdHtim+/=="});
    let messages = remembered(&[signed("a", None), signed("b", Some(opaque.clone())), signed("c", None)]);
    let signatures = |wire: Wire, model: &str| -> Vec<(String, Option<Value>)> {
        let signature = |block: Block| match block {
            Block::Call { id, signature, .. } => Some((id.to_string(), signature.cloned())),
            Block::Text(_) | Block::Image(_) | Block::Reasoning(_) | Block::Result { .. } => None,
        };
        turns(&ModelRequest { model, ..request(&messages, &[]) }, wire)
            .flat_map(|turn| turn.blocks)
            .filter_map(signature)
            .collect()
    };
    let expected = |b: Option<Value>| vec![("a".into(), None), ("b".into(), b), ("c".into(), None)];
    assert_eq!(signatures(Wire::OpenaiChat, MODEL), expected(Some(opaque)));
    assert_eq!(signatures(Wire::OpenaiChat, "other"), expected(None));
    assert_eq!(signatures(Wire::Anthropic, MODEL), expected(None));
}

/// A history of thousands of calls would otherwise be in memory a second time for every request.
#[test]
fn no_more_turns_are_held_than_may_still_change() {
    let exchange = [user("q"), calls(&["a", "b"]), answers(&["a", "b"]), user("and?"), calls(&["c"])];
    let messages: Vec<Message> = exchange.iter().cycle().take(500).cloned().collect();
    let request = request(&messages, &[]);
    let mut turns = turns(&request, Wire::OpenaiChat);
    let mut count = 0;
    while turns.next().is_some() {
        count += 1;
        assert!(turns.begun.len() <= 2, "{}", turns.begun.len());
    }
    assert_eq!(count, 401);
}

/// The wires so far know no place for one: what they send is the same to the byte.
#[test]
fn a_wire_that_signs_no_calls_ignores_a_signature() {
    let with = remembered(&[signed("a", Some(json!("s")))]);
    let without = remembered(&[signed("a", None)]);
    assert_ne!(with, without);
    for wire in [Wire::Anthropic, Wire::OpenaiChat] {
        let bytes = |messages: &[Message]| wire.encode(&request(messages, &[])).unwrap();
        assert_eq!(bytes(&with), bytes(&without));
    }
}
