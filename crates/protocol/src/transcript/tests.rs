use serde_json::json;

use super::*;
use crate::compaction::Measured;
use crate::content::{ContentOrigin, ImageRef};
use crate::conversation::Reasoning;
use crate::event::LastTurn;
use crate::image::{ImageFormat, ImageInfo};

fn ts() -> Timestamp {
    "2025-12-17T03:21:09Z".parse().unwrap()
}

fn said(role: Role, text: &str) -> Record {
    Record::Message(record::Message::new(role, text, ts()))
}

fn user(text: &str) -> Record {
    said(Role::User, text)
}

fn assistant(text: &str) -> Record {
    said(Role::Assistant, text)
}

fn call(id: &str) -> Record {
    Record::ToolUse(record::ToolUse::new(id, "read", json!({"path": "a"}), ts()))
}

fn done(id: &str) -> Record {
    Record::ToolResult(record::ToolResult::new(id, ToolOutput::Ok(json!(id)), ts()))
}

fn fold(records: &[Record]) -> Transcript {
    let mut transcript = Transcript::default();
    for record in records {
        transcript.apply(record);
    }
    transcript
}

/// One line a message: `user: text(hi)`, parts in order.
fn drawn(transcript: &Transcript) -> Vec<String> {
    let part = |part: &Part| match part {
        Part::Content(content) => content.text().into_owned(),
        Part::Reasoning(reasoning) => format!("~{}", reasoning.text),
        Part::ToolUse { id, .. } => format!("?{id}"),
        Part::ToolResult { tool_use_id, output, .. } if output.is_ok() => format!("={tool_use_id}"),
        Part::ToolResult { tool_use_id, output, .. } => {
            let ToolOutput::Err(error) = output.unpack() else { panic!("an error") };
            format!("!{tool_use_id}:{}", error.code)
        }
    };
    let message = |message: &Message| {
        let role = match message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::System => "system",
        };
        format!("{role}: {}", message.parts.iter().map(part).collect::<Vec<_>>().join(" "))
    };
    transcript.messages().iter().map(message).collect()
}

#[test]
fn an_answer_that_broke_off_and_went_on_is_one_text() {
    let said = |text: &str, partial: bool, continues: bool| {
        let message = record::Message::new(Role::Assistant, text, ts());
        Record::Message(record::Message { partial, continues, ..message })
    };
    let thought = || {
        let reasoning =
            Reasoning { text: "hm".into(), wire: "w".into(), model: "m".into(), opaque: None, took_ms: None };
        Record::Reasoning(record::ReasoningRecord { reasoning, ts: ts() })
    };
    let pieces =
        [said("Half", true, false), thought(), said(" an", true, true), said(" answer", false, true)];
    let broken = fold(&[&[user("go")], &pieces[..]].concat());
    let whole = fold(&[user("go"), assistant("Half an answer"), thought()]);
    assert_eq!((broken.messages(), broken.size().total()), (whole.messages(), whole.size().total()));
    let cut = fold(&[user("go"), said("x", false, true), said("", false, true)]);
    assert_eq!(
        drawn(&cut),
        ["user: go", "assistant: x"],
        "there is nothing before it that it could go on from"
    );
}

#[test]
fn a_turn_with_tools_becomes_alternating_messages() {
    let thinking = Reasoning {
        text: "hm".to_owned(),
        wire: "anthropic".to_owned(),
        model: "m".to_owned(),
        opaque: None,
        took_ms: None,
    };
    let transcript = fold(&[
        user("do"),
        Record::Reasoning(record::ReasoningRecord { reasoning: thinking, ts: ts() }),
        assistant("looking"),
        call("a"),
        done("a"),
        assistant("done"),
    ]);
    let expected = ["user: do", "assistant: ~hm looking ?a", "user: =a", "assistant: done"];
    assert_eq!(drawn(&transcript), expected);
    assert_eq!((transcript.turns, transcript.first_prompt.as_deref()), (1, Some("do")));
    assert!(transcript.open_calls().is_empty());
}

#[test]
fn results_stand_in_the_order_of_their_calls() {
    let transcript = fold(&[user("do"), call("a"), call("b"), call("c"), done("c"), done("a"), done("b")]);
    assert_eq!(drawn(&transcript), ["user: do", "assistant: ?a ?b ?c", "user: =a =b =c"]);
}

#[test]
fn a_call_that_was_cut_off_is_answered_before_the_next_prompt() {
    let transcript = fold(&[user("do"), call("a"), call("b"), done("b"), user("go on"), done("a")]);
    let expected = ["user: do", "assistant: ?a ?b", "user: !a:interrupted =b go on"];
    assert_eq!(drawn(&transcript), expected, "and a late result changes nothing");
}

#[test]
fn dangling_calls_get_an_interrupted_result_that_closes_them() {
    let mut transcript = fold(&[user("do"), call("a"), call("b"), done("a")]);
    assert_eq!(transcript.open_calls(), ["b"]);
    let results = transcript.interrupted_results(ts());
    let line = String::from_utf8(results[0].to_line().unwrap()).unwrap();
    assert!(
        line.contains(r#""tool_use_id":"b","output":{"ok":false,"error":{"code":"interrupted""#),
        "{line}"
    );
    assert!(line.contains(r#""ok":false,"ts""#), "{line}");
    for result in results {
        transcript.absorb(result);
    }
    assert_eq!(drawn(&transcript), ["user: do", "assistant: ?a ?b", "user: =a !b:interrupted"]);
    assert!(transcript.interrupted_results(ts()).is_empty());
}

#[test]
fn a_result_nobody_asked_for_is_left_out() {
    let transcript = fold(&[done("x"), user("do"), call("a"), done("y"), done("a"), done("a")]);
    assert_eq!(drawn(&transcript), ["user: do", "assistant: ?a", "user: =a"]);
}

#[test]
fn a_repeated_id_is_one_call() {
    let transcript = fold(&[user("do"), call("a"), call("a"), done("a")]);
    assert_eq!(drawn(&transcript), ["user: do", "assistant: ?a", "user: =a"]);
}

#[test]
fn an_answer_after_an_open_call_closes_it_first() {
    let transcript = fold(&[user("do"), call("a"), call("b"), done("a"), assistant("so"), done("b")]);
    let expected = ["user: do", "assistant: ?a ?b", "user: =a !b:interrupted", "assistant: so"];
    assert_eq!(drawn(&transcript), expected);
}

#[test]
fn prompts_in_a_row_are_one_message() {
    let transcript = fold(&[user("one"), Record::Interrupted(record::Interrupted::at(ts())), user("two")]);
    assert_eq!(drawn(&transcript), ["user: one two"]);
    assert_eq!(transcript.turns, 2);
}

#[test]
fn an_empty_answer_leaves_no_message() {
    assert_eq!(drawn(&fold(&[user("do"), assistant("")])), ["user: do"]);
}

#[test]
fn arguments_that_are_no_object_stay_as_they_came() {
    let raw = |input, raw: Option<&str>| {
        let raw = raw.map(str::to_owned);
        let call = record::ToolUse { raw, ..record::ToolUse::new("a", "read", input, ts()) };
        let transcript = fold(&[Record::ToolUse(call)]);
        match &transcript.messages()[0].parts[0] {
            Part::ToolUse { arguments, .. } => arguments.unpack(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(raw(json!({}), Some("{\"p")), Arguments::Raw("{\"p".to_owned()));
    assert_eq!(raw(json!([1]), None), Arguments::Raw("[1]".to_owned()));
    assert_eq!(raw(json!({"p": 1}), None), Arguments::parse(r#"{"p":1}"#));
}

#[test]
fn the_header_and_later_model_are_remembered() {
    let meta = record::Meta {
        schema_version: 1,
        id: Some("i".to_owned()),
        root: Some("/r".into()),
        model: Some("one".to_owned()),
        parent: None,
        task: None,
        one_prompt: false,
        ts: ts(),
    };
    let model = Record::Model(record::Model { model: "two".to_owned(), ts: ts() });
    let transcript = fold(&[Record::Meta(meta), model]);
    assert_eq!(transcript.id.as_deref(), Some("i"));
    assert_eq!(transcript.root, Some("/r".into()));
    assert_eq!(transcript.model.as_deref(), Some("two"));
}

#[test]
fn usage_adds_up_and_the_last_is_known() {
    let usage = |input_tokens| {
        let usage = Usage { input_tokens, output_tokens: 1, ..Usage::default() };
        Record::Usage(record::UsageRecord { usage, ts: ts() })
    };
    let transcript = fold(&[usage(3), usage(4)]);
    assert_eq!((transcript.usage.input_tokens, transcript.usage.output_tokens), (7, 2));
    assert_eq!(transcript.last_usage.map(|last| last.input_tokens), Some(4));
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    fn any_record() -> impl Strategy<Value = Record> {
        let id = prop::sample::select(vec!["a", "b", "c"]);
        prop_oneof![
            Just(user("u")),
            Just(assistant("t")),
            Just(Record::Interrupted(record::Interrupted::at(ts()))),
            id.clone().prop_map(call),
            id.prop_map(done),
        ]
    }

    proptest! {
        /// Whatever a damaged file holds, each answered call is followed by its result in the next message, and no
        /// message but the last has unanswered ones.
        #[test]
        fn any_order_folds_to_a_context_a_model_accepts(records in prop::collection::vec(any_record(), 0..40)) {
            let mut transcript = fold(&records);
            for result in transcript.interrupted_results(ts()) {
                transcript.absorb(result);
            }
            let messages = transcript.messages();
            for (at, message) in messages.iter().enumerate() {
                prop_assert!(!message.parts.is_empty());
                prop_assert!(at == 0 || messages[at - 1].role != message.role, "roles alternate");
                let mut calls: Vec<&str> = Vec::new();
                for part in &message.parts {
                    if let Part::ToolUse { id, .. } = part {
                        calls.push(id);
                    }
                }
                let mut results: Vec<&str> = Vec::new();
                for part in messages.get(at + 1).map_or(&[][..], |next| &next.parts) {
                    if let Part::ToolResult { tool_use_id, .. } = part {
                        results.push(tool_use_id);
                    }
                }
                prop_assert_eq!(calls, results);
            }
        }
    }
}

#[test]
fn the_last_todo_list_counts() {
    let todos = |content: &str| {
        let (id, content) = ("1".to_owned(), content.to_owned());
        let items = vec![Todo { id, content, status: crate::todo::TodoStatus::Pending }];
        Record::Todos(record::Todos { items, draft: false, ts: ts() })
    };
    let transcript = fold(&[user("do it"), todos("first"), call("1"), todos("second"), done("1")]);
    assert_eq!(transcript.todos.iter().map(|todo| todo.content.as_str()).collect::<Vec<_>>(), ["second"]);
    assert_eq!(drawn(&transcript), ["user: do it", "assistant: ?1", "user: =1"]);
}

fn usage(input_tokens: u64, output_tokens: u64) -> Record {
    let usage = Usage { input_tokens, output_tokens, ..Usage::default() };
    Record::Usage(record::UsageRecord { usage, ts: ts() })
}

fn thought(opaque: Option<serde_json::Value>) -> Record {
    let reasoning = Reasoning {
        text: "hm".repeat(50),
        wire: "anthropic".to_owned(),
        model: "m".to_owned(),
        opaque,
        took_ms: None,
    };
    Record::Reasoning(record::ReasoningRecord { reasoning, ts: ts() })
}

#[test]
fn the_size_that_is_kept_up_is_what_measuring_again_gives() {
    let records = [
        user("do this"),
        thought(None),
        thought(Some(json!({"signature": "abc"}))),
        assistant("let me look"),
        call("a"),
        call("b"),
        done("b"),
        done("a"),
        assistant("one more"),
        call("c"),
        user("stop"),
        user("go on"),
        call("d"),
        done("d"),
    ];
    for upto in 0..=records.len() {
        let transcript = fold(&records[..upto]);
        let measured = ContextSize::of(transcript.messages(), false, ImageCost::Note);
        assert_eq!(transcript.size().total(), measured.total(), "after {upto}");
        assert_eq!(transcript.size().tool_results, measured.tool_results, "after {upto}");
    }
    let mut pruned = fold(&records);
    let prune =
        record::Prune { calls: vec!["a".to_owned(), "d".to_owned()], images: Vec::new(), bytes: 0, ts: ts() };
    pruned.apply(&Record::Prune(prune));
    assert_eq!(pruned.size().total(), ContextSize::of(pruned.messages(), false, ImageCost::Note).total());
    let results = pruned.messages().iter().flat_map(|message| &message.parts);
    let gone = results
        .filter(|part| matches!(part, Part::ToolResult { output, .. } if output.unpack() == pruned_output()));
    assert_eq!(gone.count(), 2);
}

#[test]
fn a_report_covers_the_whole_answer_it_came_with_and_nothing_after_it() {
    let asked = [user("do this"), assistant("let me look")];
    let before = fold(&asked[..1]).size().total();
    let mut transcript = fold(&asked);
    transcript.apply(&usage(1000, 50));
    transcript.apply(&call("a"));
    transcript.apply(&call("b"));
    let answered = transcript.size();
    assert_eq!(answered.reported, Some(Measured { bytes: answered.total(), tokens: 1050 }));
    assert_eq!(answered.learnt, Some(Measured { bytes: before, tokens: 1000 }));
    transcript.apply(&done("a"));
    assert_eq!(transcript.size().reported, answered.reported);
    transcript.apply(&Record::Model(record::Model { model: "other".to_owned(), ts: ts() }));
    assert_eq!(transcript.size().reported, None, "another model counts in other tokens");
}

#[test]
fn prompts_are_told_from_results_and_from_the_summary() {
    let transcript = fold(&[user("one"), assistant("x"), call("a"), user("two"), user("three")]);
    assert_eq!(transcript.prompts_since_compaction(), ["one", "two", "three"]);
}

fn reminder(text: &str) -> Record {
    Record::Message(record::Message { hidden: true, ..record::Message::new(Role::User, text, ts()) })
}

#[test]
fn a_reminder_is_heard_and_is_neither_a_prompt_nor_a_turn() {
    let records = [
        reminder("keep a list"),
        user("one"),
        assistant("done"),
        reminder("the check failed"),
        call("a"),
        done("a"),
        reminder("one"),
    ];
    let transcript = fold(&records);
    let heard = ["user: keep a list one", "assistant: done", "user: the check failed", "assistant: ?a"];
    assert_eq!(drawn(&transcript)[..4], heard);
    assert_eq!((transcript.turns, transcript.first_prompt.as_deref()), (1, Some("one")));
    assert_eq!(transcript.prompts_since_compaction(), ["one"]);
    let last = LastTurn { prompt: "one".to_owned(), answer: "done".to_owned() };
    assert_eq!(transcript.last_turn(), Some(last));
}

#[test]
fn going_back_takes_along_what_led_in_to_the_prompt() {
    let todos = |items: Vec<Todo>| Record::Todos(record::Todos { items, draft: false, ts: ts() });
    let item = Todo { id: "1".into(), content: "x".into(), status: crate::todo::TodoStatus::Pending };
    let records = [
        user("one"),
        call("a"),
        said(Role::System, "a file"),
        reminder("keep a list"),
        todos(vec![item]),
        user("two"),
        assistant("done"),
    ];
    let mut transcript = fold(&records);
    let whole = transcript.clone();
    transcript.apply(&Record::Revert(record::Revert { turn: 2, files: Vec::new(), left: None, ts: ts() }));
    assert_eq!(drawn(&transcript), ["user: one", "assistant: ?a", "user: !a:interrupted"]);
    assert_eq!((transcript.turns, transcript.todos.len()), (1, 0));
    transcript.apply(&Record::Redo(record::Redo { files: Vec::new(), ts: ts() }));
    assert_eq!(transcript, whole);
    assert_eq!(transcript.prompts_since_compaction(), ["one", "two"]);
}

#[test]
fn going_back_takes_its_prompts_and_its_weight_along() {
    let mut transcript =
        fold(&[user("one"), assistant("x"), user("two"), call("a"), done("a"), usage(500, 5)]);
    let before = transcript.size().total();
    transcript.apply(&Record::Revert(record::Revert { turn: 2, files: Vec::new(), left: None, ts: ts() }));
    assert_eq!(transcript.prompts_since_compaction(), ["one"]);
    assert_eq!(
        transcript.size().total(),
        ContextSize::of(transcript.messages(), false, ImageCost::Note).total()
    );
    assert_eq!(transcript.size().reported, None);
    transcript.apply(&Record::Redo(record::Redo { files: Vec::new(), ts: ts() }));
    assert_eq!(transcript.prompts_since_compaction(), ["one", "two"]);
    assert_eq!(transcript.size().total(), before);
}

fn image(sha256: &str) -> Content {
    let info = ImageInfo { format: ImageFormat::Png, width: 1000, height: 750 };
    Content::Image(Box::new(ImageRef::new(sha256.to_owned(), 9, info, sha256, ContentOrigin::Tool)))
}

#[test]
fn images_are_counted_by_their_wire_and_leave_a_note_when_pruned() {
    let mut shown = record::ToolResult::new("a", ToolOutput::Ok(json!({})), ts());
    shown.content = vec![image("new"), image("old")];
    let mut transcript = fold(&[
        Record::Message(record::Message::attached(&image("old"), ts())),
        user("see"),
        call("a"),
        Record::ToolResult(shown),
    ]);
    let before = transcript.size().total();
    transcript.set_image_cost(ImageCost::Area);
    assert_eq!(transcript.size().total() - before, 3 * 3 * (1000 - 40));
    let (calls, images) = (Vec::new(), vec!["old".to_owned()]);
    transcript.apply(&Record::Prune(record::Prune { calls, images, bytes: 0, ts: ts() }));
    let measured = ContextSize::of(transcript.messages(), false, ImageCost::Area);
    assert_eq!(transcript.size().total(), measured.total());
    let parts = transcript.messages().iter().flat_map(|message| &message.parts);
    let content: Vec<_> = parts.flat_map(Part::content).map(|content| content.text().into_owned()).collect();
    let note = "[image removed to make room: old, PNG 1000×750, 9 B; read or attach it again if you need it]";
    assert_eq!(content, [note, "see", "[image: new, PNG 1000×750, 9 B]", note]);
}
