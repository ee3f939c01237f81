use serde_json::json;
use zdx_protocol::record::now;
use zdx_protocol::{CallOrigin, Event, Record, ToolCall, Transcript};

use super::*;
use crate::wire::testing::*;

fn shape(messages: &[Message]) -> Vec<String> {
    let block = |block: &Block| match block {
        Block::Text(text) => (*text).to_owned(),
        Block::Reasoning(thought) => format!("({})", thought.text),
        Block::Call { id, name, .. } => format!("{name}#{id}"),
        Block::Result { id, output } => format!("{}#{id}", if output.is_ok() { "ok" } else { "err" }),
    };
    turns(messages, Wire::OpenaiChat, MODEL)
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

#[test]
fn ids_are_unique_and_plain() {
    assert_eq!(
        shape(&[
            calls(&["a", "a"]),
            answers(&["a", "a"]),
            calls(&["a", "functions.read:0", ""]),
            answers(&["a", "functions.read:0", ""])
        ]),
        [
            "Assistant: read#a, read#a_2",
            "User: ok#a, ok#a_2",
            "Assistant: read#a_3, read#functions_read_0, read#call",
            "User: ok#a_3, ok#functions_read_0, ok#call"
        ]
    );
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
        Box::new(Signature { wire: Wire::OpenaiChat.name().to_owned(), model: MODEL.to_owned(), opaque })
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
            Block::Text(_) | Block::Reasoning(_) | Block::Result { .. } => None,
        };
        turns(&messages, wire, model).flat_map(|turn| turn.blocks).filter_map(signature).collect()
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
    let mut turns = turns(&messages, Wire::OpenaiChat, MODEL);
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
