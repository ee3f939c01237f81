//! What happened in a session, told again to a front end: the events of its last turns, as far as they still count.
//! The way back from `Event::record`; what was never saved (deltas, progress, questions) is not told again.

mod waited;

use jiff::Timestamp;

use crate::compaction::Compaction;
use crate::content::{AttachedContent, Content};
use crate::conversation::{Part, Role, Usage};
use crate::event::{Event, NoticeLevel, Outcome, TurnSummary};
use crate::policy::RequestId;
use crate::record::{Record, ToolResult, ToolUse, TurnEnd, UsageRecord};
use crate::transcript::{Entries, Entry, Place, Turns, of_output, of_value};

/// What is kept to be told again, in bytes; beyond it the earliest turns go.
const MOST_BYTES: usize = 8 << 20;

/// The last turns of a session that is being read.
#[derive(Clone, Debug)]
pub struct Retold {
    entries: Entries,
    turns: Turns<Told>,
    /// What a compaction kept of the turns before those that are known.
    before: Told,
    /// Came before the prompt that it belongs to.
    lead_in: Told,
    most: usize,
}

#[derive(Clone, Debug, Default)]
struct Told {
    events: Vec<Event>,
    bytes: usize,
    /// When it began and when something was heard of it last.
    began: Option<Timestamp>,
    last: Option<Timestamp>,
    usage: Usage,
    last_request: Option<Usage>,
    /// What was recorded of its end.
    end: Option<TurnEnd>,
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
        if let Some(end) = &self.end {
            return TurnSummary {
                outcome: end.outcome,
                text: String::new(),
                usage: end.usage,
                last_request: self.last_request,
                denied: end.denied,
                duration_ms: end.duration_ms,
                cut_short: end.cut_short,
                begun: true,
            };
        }
        let outcome = self.events.iter().rev().find_map(ends).unwrap_or(Outcome::Completed);
        let ms = |at: Option<Timestamp>| at.map_or(0, |at| at.as_millisecond());
        let duration_ms = u64::try_from(ms(self.last) - ms(self.began)).unwrap_or_default();
        TurnSummary {
            outcome,
            text: String::new(),
            usage: self.usage,
            last_request: self.last_request,
            denied: 0,
            duration_ms,
            cut_short: None,
            begun: true,
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
        let answered = waited::answered(&record);
        let (ts, usage) = match &record {
            Record::Usage(UsageRecord { usage, ts }) => (Some(*ts), Some(*usage)),
            Record::Message(_)
            | Record::ToolUse(_)
            | Record::ToolResult(_)
            | Record::Reasoning(_)
            | Record::Interrupted(_)
            | Record::Error(_) => (record.ts(), None),
            // May come later, and is no part of it.
            Record::Meta(_)
            | Record::Model(_)
            | Record::Agent(_)
            | Record::Remote(_)
            | Record::Approval(_)
            | Record::Asked(_)
            | Record::Noted(_)
            | Record::Checked(_)
            | Record::TurnEnd(_)
            | Record::Revoked(_)
            | Record::FolderAdded(_)
            | Record::Preset(_)
            | Record::Todos(_)
            | Record::Change(_)
            | Record::ChangeIntent(_)
            | Record::ChangeDropped(_)
            | Record::Revert(_)
            | Record::Redo(_)
            | Record::Compaction(_)
            | Record::Prune(_)
            | Record::Cut(_)
            | Record::Unknown(_) => (None, None),
        };
        self.entries.read(record);
        self.take();
        if let Some(turn) = self.turns.last_mut().filter(|_| self.lead_in.events.is_empty()) {
            turn.began = turn.began.or(ts);
            turn.waited(answered);
            turn.last = ts.or(turn.last);
            turn.usage.add(usage.unwrap_or_default());
            turn.last_request = usage.or(turn.last_request);
        }
    }

    /// What was read so far began in the middle of a session: only whole turns of it are told, and whether there are any.
    pub fn whole_turns_only(&mut self) -> bool {
        (self.before, self.lead_in) = (Told::default(), Told::default());
        self.turns.iter().len() > 0
    }

    fn take(&mut self) {
        while let Some(entry) = self.entries.next() {
            self.tell(entry);
        }
    }

    fn tell(&mut self, entry: Entry) {
        self.turns.fold(&entry, Told::default);
        let place = entry.place();
        if let Entry::Ended(end) = entry {
            if let Some(turn) = self.turns.last_mut() {
                turn.end = Some(end);
            }
            return;
        }
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
        let turns = self.turns.iter().enumerate().skip(known.saturating_sub(self.most));
        // How many came before them may have been learnt from a compaction behind them.
        let first = self.turns.count().saturating_sub(u32::try_from(known).unwrap_or(u32::MAX));
        let whole = |(at, turn): (usize, &Told)| -> Vec<Event> {
            let mut events = turn.events.clone();
            let number = first.saturating_add(u32::try_from(at).unwrap_or(u32::MAX)).saturating_add(1);
            if let Some(Event::TurnStarted { turn, .. }) =
                events.iter_mut().find(|event| matches!(event, Event::TurnStarted { .. }))
            {
                *turn = number;
            }
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
        // It says why the answer is none, or not whole.
        Event::Notice { kept: true, .. } => Some(Outcome::Completed),
        Event::AssistantFinal { partial: false, .. } | Event::ShellFinished { .. } => {
            Some(Outcome::Completed)
        }
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
        Entry::Attached { content } => {
            let bytes = content.text().len();
            weighed(Event::Attached(AttachedContent::new(content)), bytes)
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
        Entry::Call(call) => Some(requested(call)),
        Entry::Result { call, result } => Some(finished(call, result)),
        Entry::Checked(checked) => weighed(Event::Checked(checked), 0),
        Entry::Noted(noted) => {
            weighed(Event::Notice { level: noted.level, message: noted.message, kept: true }, 0)
        }
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
            weighed(Event::Notice { level: NoticeLevel::Info, message, kept: false }, 0)
        }
        Entry::Cut(cut) => weighed(Event::InputCut { cuts: cut.cuts }, 0),
        Entry::Pruned(prune) => {
            weighed(Event::Pruned { calls: prune.calls, images: prune.images, bytes: prune.bytes }, 0)
        }
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
        | Entry::Asked(_)
        | Entry::Ended(_)
        | Entry::Revoked(_)
        | Entry::FolderAdded(_)
        | Entry::Preset(_)
        | Entry::FileChanged(_)
        | Entry::FileChangeIntended(_)
        | Entry::FileChangeDropped(_)
        | Entry::Reverted(_)
        | Entry::Redone(_)
        | Entry::Usage(_)
        | Entry::Unknown(_) => None,
    }
}

/// What is still there of turns that became a summary.
fn kept(compaction: &Compaction, turn: u32) -> Vec<(Event, usize)> {
    let message = crate::display::context::compacted(compaction);
    let mut told = vec![(Event::Notice { level: NoticeLevel::Info, message, kept: false }, 0)];
    for message in &compaction.kept {
        let said = message.parts.iter().filter_map(|part| match (message.role, part) {
            (Role::User, Part::Content(Content::Text(text))) if compaction.instructions.contains(text) => {
                Some(Event::TurnStarted { turn, prompt: text.clone() })
            }
            (Role::Assistant, Part::Content(Content::Text(text))) => {
                Some(Event::AssistantFinal { text: text.clone(), partial: false, continues: false })
            }
            // A reminder's or an attachment's words are for the model; calls are in the file.
            _ => None,
        });
        told.extend(said.map(|event| (event, 0)));
    }
    told
}

fn requested(call: ToolUse) -> (Event, usize) {
    let ToolUse { origin, id, name, input, raw, .. } = call;
    let origin = origin.into();
    let bytes = of_value(&input) + raw.as_ref().map_or(0, String::len);
    (Event::ToolRequested { id, name, input, raw, signature: None, origin, parent: None }, bytes)
}

fn finished(call: Option<ToolUse>, result: ToolResult) -> (Event, usize) {
    let bytes = of_output(&result.output) + result.diff.as_ref().map_or(0, String::len);
    let event = Event::ToolFinished {
        id: result.tool_use_id,
        name: call.map_or_else(|| "tool".to_owned(), |call| call.name),
        origin: result.origin.into(),
        result: result.output,
        content: result.content,
        diff: result.diff,
        duration_ms: result.duration_ms.unwrap_or_default(),
        reads: result.reads,
        beside: result.beside,
    };
    (event, bytes)
}

#[cfg(test)]
mod tests;
