use serde_json::json;

use super::*;
use crate::record::{self, Message, now};
use crate::tool::ToolOutput;

fn said(role: Role, text: &str) -> Record {
    Record::Message(Message::new(role, text, now()))
}

fn turn(n: u32) -> Vec<Record> {
    let id = format!("c{n}");
    let call = ToolUse::new(&id, "bash", json!({"command": "ls"}), now());
    let output = ToolOutput::Ok(json!({"exit_code": 0}));
    let result =
        ToolResult { diff: Some("@@".into()), duration_ms: Some(7), ..ToolResult::new(id, output, now()) };
    vec![
        said(Role::User, &format!("prompt {n}")),
        Record::ToolUse(call),
        Record::ToolResult(result),
        said(Role::Assistant, &format!("answer {n}")),
        Record::Usage(UsageRecord {
            usage: Usage { input_tokens: u64::from(n), ..Usage::default() },
            ts: now(),
        }),
    ]
}

fn told(records: Vec<Record>, most: usize) -> Vec<String> {
    let mut retold = Retold::of(most);
    records.into_iter().for_each(|record| retold.note(record));
    let word = |event: Event| match event {
        Event::TurnStarted { turn, prompt } => format!("{turn} {prompt}"),
        Event::AssistantFinal { text, .. } => text,
        Event::ToolRequested { id, .. } => format!("{id}?"),
        Event::ToolFinished { id, name, diff, .. } => format!("{id} {name} {}", diff.unwrap_or_default()),
        Event::TurnFinished(summary) => format!("{:?} {}", summary.outcome, summary.usage.input_tokens),
        other => format!("{other:?}"),
    };
    retold.events().into_iter().map(word).collect()
}

#[test]
fn the_last_turns_are_told_in_order_with_their_numbers() {
    let records: Vec<Record> = (1..=5).flat_map(turn).collect();
    assert_eq!(
        told(records.clone(), 2),
        [
            "4 prompt 4",
            "c4?",
            "c4 bash @@",
            "answer 4",
            "Completed 4",
            "5 prompt 5",
            "c5?",
            "c5 bash @@",
            "answer 5",
            "Completed 5"
        ]
    );
    assert_eq!(told(records, 100).len(), 25);
    assert_eq!(told(turn(1), 0).len(), 0);
}

#[test]
fn what_a_turn_took_and_how_it_ended_is_told_with_it() {
    let at = |ms: i64| Timestamp::from_millisecond(1_000_000 + ms).unwrap();
    let usage = |n, ts| {
        let usage = Usage { input_tokens: n, output_tokens: 1, ..Usage::default() };
        Record::Usage(UsageRecord { usage, ts })
    };
    let mut retold = Retold::of(5);
    for record in [
        Record::Message(Message::new(Role::User, "one", at(0))),
        usage(10, at(900)),
        Record::Message(Message::new(Role::Assistant, "done", at(1_200))),
        usage(20, at(1_500)),
        // Switched long after it was over.
        Record::Model(record::Model { model: "other".into(), ts: at(90_000) }),
        Record::Message(Message::new(Role::User, "two", at(100_000))),
        Record::Interrupted(record::Interrupted::at(at(102_000))),
        // Killed: nobody was left to say so.
        Record::Message(Message::new(Role::User, "three", at(200_000))),
        usage(30, at(201_000)),
    ] {
        retold.note(record);
    }
    let events = retold.events();
    let stops = events.iter().filter(|event| matches!(event, Event::Interrupted)).count();
    assert_eq!(stops, 2, "it is said once of each: {events:?}");
    let ends = events.into_iter().filter_map(|event| match event {
        Event::TurnFinished(end) => Some((end.outcome, end.duration_ms, end.usage.input_tokens)),
        _ => None,
    });
    let ends: Vec<_> = ends.collect();
    let (answered, stopped) = ((Outcome::Completed, 1_500, 30), (Outcome::Interrupted, 2_000, 0));
    assert_eq!(ends, [answered, stopped, (Outcome::Interrupted, 1_000, 30)]);
}

#[test]
fn what_was_taken_back_is_not_told() {
    let mut records: Vec<Record> = (1..=3).flat_map(turn).collect();
    records.push(Record::Revert(record::Revert { turn: 2, files: Vec::new(), left: None, ts: now() }));
    assert_eq!(told(records.clone(), 10), ["1 prompt 1", "c1?", "c1 bash @@", "answer 1", "Completed 1"]);
    records.push(Record::Redo(record::Redo { files: Vec::new(), ts: now() }));
    assert_eq!(told(records, 10).len(), 15);
}

#[test]
fn what_leads_in_to_a_prompt_comes_with_its_turn_and_memory_stays_bounded() {
    let mut records = vec![said(Role::System, "@file:a\ntext")];
    records.extend(turn(1));
    assert!(told(records, 1)[0].contains("label: \"a\""));
    let large = "x".repeat(MOST_BYTES);
    let mut retold = Retold::of(10);
    for _ in 0..3 {
        retold.note(said(Role::User, "p"));
        retold.note(said(Role::Assistant, &large));
    }
    retold.note(said(Role::User, "last"));
    let kept: usize = retold.turns.iter().map(|turn| turn.bytes).sum();
    assert!(kept < 2 * MOST_BYTES, "{kept}");
}
