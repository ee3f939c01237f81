//! What happened in a session, told again to a front end: the events of its last turns, as far as they still count.
//! The way back from `Event::record`; what was never saved (deltas, progress, questions) is not told again.

use jiff::Timestamp;

use crate::compaction::Compaction;
use crate::conversation::{Part, Role, Usage};
use crate::event::{Event, NoticeLevel, Outcome, TurnSummary};
use crate::policy::RequestId;
use crate::record::{Record, ToolResult, ToolUse, UsageRecord};
use crate::tool::CallOrigin;
use crate::transcript::{Entries, Entry, Place, Turns, of_output, of_value};

/// What is kept to be told again, in bytes; beyond it the earliest turns go.
const MOST_BYTES: usize = 8 << 20;

/// The last turns of a session that is being read.
#[derive(Debug)]
pub struct Retold {
    entries: Entries,
    turns: Turns<Told>,
    /// What a compaction kept of the turns before those that are known.
    before: Told,
    /// Came before the prompt that it belongs to.
    lead_in: Told,
    most: usize,
}

#[derive(Debug, Default)]
struct Told {
    events: Vec<Event>,
    bytes: usize,
    /// When it began and when something was heard of it last.
    began: Option<Timestamp>,
    last: Option<Timestamp>,
    usage: Usage,
}

impl Told {
    fn add(&mut self, (event, bytes): (Event, usize)) {
        self.events.push(event);
        self.bytes += bytes;
    }

    fn append(&mut self, other: &mut Self) {
        self.events.append(&mut other.events);
        self.bytes += std::mem::take(&mut other.bytes);
    }

    /// What the turn took, as it was told at its end.
    fn summary(&self) -> TurnSummary {
        let outcome = self.events.iter().rev().find_map(ends).unwrap_or(Outcome::Completed);
        let ms = |at: Option<Timestamp>| at.map_or(0, |at| at.as_millisecond());
        let duration_ms = u64::try_from(ms(self.last) - ms(self.began)).unwrap_or_default();
        TurnSummary {
            outcome,
            text: String::new(),
            usage: self.usage,
            denied: 0,
            duration_ms,
            cut_short: None,
        }
    }
}

impl Retold {
    /// Of so many turns at most.
    pub fn of(turns: usize) -> Self {
        Self {
            entries: Entries::default(),
            turns: Turns::default(),
            before: Told::default(),
            lead_in: Told::default(),
            most: turns,
        }
    }

    pub fn note(&mut self, record: Record) {
        let (ts, usage) = match &record {
            Record::Usage(UsageRecord { usage, ts }) => (Some(*ts), *usage),
            Record::Message(_)
            | Record::ToolUse(_)
            | Record::ToolResult(_)
            | Record::RemoteUse(_)
            | Record::RemoteResult(_)
            | Record::Reasoning(_)
            | Record::Interrupted(_)
            | Record::Error(_) => (record.ts(), Usage::default()),
            // May come later, and is no part of it.
            Record::Meta(_)
            | Record::Model(_)
            | Record::Agent(_)
            | Record::Remote(_)
            | Record::Approval(_)
            | Record::Revoked(_)
            | Record::Preset(_)
            | Record::Todos(_)
            | Record::Change(_)
            | Record::Revert(_)
            | Record::Redo(_)
            | Record::Compaction(_)
            | Record::Prune(_)
            | Record::Cut(_)
            | Record::Unknown(_) => (None, Usage::default()),
        };
        self.entries.read(record);
        self.take();
        if let Some(turn) = self.turns.last_mut().filter(|_| self.lead_in.events.is_empty()) {
            turn.began = turn.began.or(ts);
            turn.last = ts.or(turn.last);
            turn.usage.add(usage);
        }
    }

    fn take(&mut self) {
        while let Some(entry) = self.entries.next() {
            self.tell(entry);
        }
    }

    fn tell(&mut self, entry: Entry) {
        self.turns.fold(&entry, Told::default);
        let place = entry.place();
        if let Entry::Compacted(compaction) = &entry
            && self.turns.iter().len() == 0
        {
            self.before = Told::default();
            kept(compaction, self.turns.count()).into_iter().for_each(|told| self.before.add(told));
            return;
        }
        let told = event(entry, self.turns.count());
        match place {
            Place::LeadIn => told.into_iter().for_each(|told| self.lead_in.add(told)),
            Place::Prompt | Place::Within | Place::Beside => {
                let turn = self.turns.last_mut().unwrap_or(&mut self.before);
                if place != Place::Beside {
                    turn.append(&mut self.lead_in);
                }
                told.into_iter().for_each(|told| turn.add(told));
            }
        }
        if place == Place::Prompt {
            self.forget_early();
        }
    }

    /// Only what may still be told again is worth its memory.
    fn forget_early(&mut self) {
        let (mut kept, mut back, mut bytes) = (true, 0, 0);
        while let Some(turn) = self.turns.before_last_mut(back) {
            bytes += turn.bytes;
            back += 1;
            kept &= back <= self.most && (bytes <= MOST_BYTES || back == 1);
            if !kept {
                if turn.events.is_empty() {
                    return;
                }
                *turn = Told::default();
            }
        }
    }

    /// In order; earlier turns than these are still in the file.
    pub fn events(mut self) -> Vec<Event> {
        self.entries.end();
        self.take();
        let known = self.turns.iter().len();
        let before = if known < self.most { self.before.events } else { Vec::new() };
        let turns = self.turns.iter().skip(known.saturating_sub(self.most));
        let whole = |turn: &Told| -> Vec<Event> {
            let mut events = turn.events.clone();
            if !events.is_empty() {
                let summary = turn.summary();
                // Killed in the middle of it, nobody was left to record that.
                let told = events.iter().any(|event| matches!(event, Event::Interrupted));
                if summary.outcome == Outcome::Interrupted && !told {
                    events.push(Event::Interrupted);
                }
                events.push(Event::TurnFinished(summary));
            }
            events
        };
        before.into_iter().chain(turns.flat_map(whole)).collect()
    }
}

/// What a turn that ends with this was. A call, or a part of an answer, is no end: it was cut off there.
fn ends(event: &Event) -> Option<Outcome> {
    match event {
        Event::Interrupted => Some(Outcome::Interrupted),
        Event::Error { .. } => Some(Outcome::Error),
        Event::AssistantFinal { partial: false, .. } => Some(Outcome::Completed),
        Event::AssistantFinal { partial: true, .. }
        | Event::TurnStarted { .. }
        | Event::ReasoningFinal(_)
        | Event::ToolRequested { .. }
        | Event::ToolFinished { .. } => Some(Outcome::Interrupted),
        _ => None,
    }
}

/// How an entry was told when it happened, and about what it weighs.
fn event(entry: Entry, turn: u32) -> Option<(Event, usize)> {
    let weighed = |event: Event, bytes: usize| Some((event, bytes));
    match entry {
        Entry::Prompt { text } => {
            let bytes = text.len();
            weighed(Event::TurnStarted { turn, prompt: text }, bytes)
        }
        Entry::Attached { text } => {
            let (first, bytes) = (text.lines().next().unwrap_or_default(), text.len());
            let label = first.strip_prefix("@file:").unwrap_or(first).to_owned();
            weighed(Event::Attached { label, text }, bytes)
        }
        Entry::Reminder { text } => {
            let bytes = text.len();
            weighed(Event::Reminded { text }, bytes)
        }
        Entry::Said { text, partial, continues } => {
            let bytes = text.len();
            weighed(Event::AssistantFinal { text, partial, continues }, bytes)
        }
        Entry::Ran { shell, text } => {
            let bytes = text.len();
            weighed(Event::ShellFinished { text, shell }, bytes)
        }
        Entry::Thought(reasoning) => {
            let bytes = reasoning.text.len();
            weighed(Event::ReasoningFinal(reasoning), bytes)
        }
        Entry::Call(call) => Some(requested(call, CallOrigin::Model)),
        Entry::Result { call, result } => Some(finished(call, result, CallOrigin::Model)),
        Entry::RemoteCall(call) => Some(requested(call, CallOrigin::Remote)),
        Entry::RemoteResult { call, result } => Some(finished(call, result, CallOrigin::Remote)),
        Entry::Interrupted => weighed(Event::Interrupted, 0),
        Entry::Error(error) => {
            let (kind, message) = (error.kind, error.message);
            weighed(Event::Error { command: None, kind, message, details: None }, 0)
        }
        Entry::Model(model) => weighed(Event::ModelChanged { model }, 0),
        Entry::Agent(agent) => weighed(Event::AgentChanged { agent }, 0),
        Entry::Todos(items) => weighed(Event::TodosChanged { items, draft: false }, 0),
        Entry::Compacted(compaction) => {
            let message = crate::display::context::compacted(&compaction);
            weighed(Event::Notice { level: NoticeLevel::Info, message }, 0)
        }
        Entry::Cut(cut) => weighed(Event::InputCut { cuts: cut.cuts }, 0),
        Entry::Pruned(prune) => weighed(Event::Pruned { calls: prune.calls, bytes: prune.bytes }, 0),
        Entry::Approval(record) => weighed(
            Event::ApprovalResolved {
                // Nobody waits for it any more.
                request: RequestId(0),
                id: record.tool_use_id,
                decision: record.decision,
                grant: record.grant,
                by: record.by,
            },
            0,
        ),
        Entry::Meta(_)
        | Entry::Remote(_)
        | Entry::Revoked(_)
        | Entry::Preset(_)
        | Entry::FileChanged(_)
        | Entry::Reverted(_)
        | Entry::Redone(_)
        | Entry::Usage(_)
        | Entry::Unknown(_) => None,
    }
}

/// What is still there of turns that became a summary.
fn kept(compaction: &Compaction, turn: u32) -> Vec<(Event, usize)> {
    let message = crate::display::context::compacted(compaction);
    let mut told = vec![(Event::Notice { level: NoticeLevel::Info, message }, 0)];
    for message in &compaction.kept {
        let said = message.parts.iter().filter_map(|part| match (message.role, part) {
            (Role::User, Part::Text(text)) if compaction.instructions.contains(text) => {
                Some(Event::TurnStarted { turn, prompt: text.clone() })
            }
            (Role::Assistant, Part::Text(text)) => {
                Some(Event::AssistantFinal { text: text.clone(), partial: false, continues: false })
            }
            // A reminder's or an attachment's words are for the model; calls are in the file.
            _ => None,
        });
        told.extend(said.map(|event| (event, 0)));
    }
    told
}

fn requested(call: ToolUse, origin: CallOrigin) -> (Event, usize) {
    let ToolUse { id, name, input, raw, .. } = call;
    let bytes = of_value(&input) + raw.as_ref().map_or(0, String::len);
    (Event::ToolRequested { id, name, input, raw, signature: None, origin, parent: None }, bytes)
}

fn finished(call: Option<ToolUse>, result: ToolResult, origin: CallOrigin) -> (Event, usize) {
    let bytes = of_output(&result.output) + result.diff.as_ref().map_or(0, String::len);
    let event = Event::ToolFinished {
        id: result.tool_use_id,
        name: call.map_or_else(|| "tool".to_owned(), |call| call.name),
        origin,
        result: result.output,
        diff: result.diff,
        duration_ms: result.duration_ms.unwrap_or_default(),
    };
    (event, bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::record::{self, Message, now};
    use crate::tool::ToolOutput;

    fn said(role: Role, text: &str) -> Record {
        Record::Message(Message::new(role, text, now()))
    }

    fn turn(n: u32) -> Vec<Record> {
        let id = format!("c{n}");
        let call = ToolUse {
            id: id.clone(),
            name: "bash".into(),
            input: json!({"command": "ls"}),
            raw: None,
            signature: None,
            ts: now(),
        };
        let output = ToolOutput::Ok(json!({"exit_code": 0}));
        let result = ToolResult {
            tool_use_id: id,
            output,
            ok: true,
            diff: Some("@@".into()),
            duration_ms: Some(7),
            ts: now(),
        };
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
        assert!(told(records, 1)[0].contains("Attached { label: \"a\""));
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
}
