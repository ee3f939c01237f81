//! Calls that came one after the other without a word between them. Neighbours that are known to change nothing are one
//! line: reads, lists and searches, and commands, once there are many of them. What may have changed something, what failed,
//! and what somebody was asked about has a row of its own, in its place.

use std::time::{Duration, Instant};

use ratatui_core::text::Line;
use zdx_protocol::CallOrigin;
use zdx_protocol::display::format::count;

use super::call::Call;
use super::cell::{Item, Thought};
use super::names::COMMAND;
use super::rows::{INDENT, Manner, block, seconds};
use super::{calls, draw, names};
use crate::look::Look;

/// From so many commands on that only read, they are one line.
const MANY: usize = 4;
/// Then another run begins: what is not settled is drawn again and again.
const LONGEST: usize = 200;

/// Whether the next call belongs to it.
pub(super) fn goes_on(items: &[Item]) -> bool {
    items.len() < LONGEST && !items.iter().filter_map(Item::call).any(Call::stands_alone)
}

/// When all of it is over.
pub(super) fn rows(items: &[Item], look: Look<'_>, manner: &Manner) -> Vec<Line<'static>> {
    drawn(items, look, manner, None)
}

/// While one of them runs.
pub(super) fn live(items: &[Item], look: Look<'_>, manner: &Manner, now: Instant) -> Vec<Line<'static>> {
    drawn(items, look, manner, Some(now))
}

fn drawn(items: &[Item], look: Look<'_>, manner: &Manner, now: Option<Instant>) -> Vec<Line<'static>> {
    if manner.whole {
        let whole = |item: &Item| match item {
            Item::Call(call) => calls::rows(call, look, manner),
            Item::Thought(thought) => draw::thoughts(&[thought], look, manner),
        };
        return items.iter().flat_map(whole).collect();
    }
    let shown: Vec<&Item> = items.iter().filter(|item| !item.call().is_some_and(Call::is_silent)).collect();
    let calls: Vec<&Call> = shown.iter().filter_map(|item| item.call()).collect();
    let last = calls.last().copied().filter(|_| !manner.followed);
    let run = Run { look, manner, now, last };
    let mut rows = Vec::new();
    let mut readers: Vec<&Item> = Vec::new();
    for item in shown {
        match item.call().filter(|call| call.only_read().is_none()) {
            Some(call) => {
                rows.extend(run.readers(&std::mem::take(&mut readers)));
                rows.extend(run.other(call));
            }
            None => readers.push(item),
        }
    }
    rows.extend(run.readers(&readers));
    rows
}

struct Run<'a> {
    look: Look<'a>,
    manner: &'a Manner,
    /// While it goes on.
    now: Option<Instant>,
    /// Nothing but this one shows what it brought, if nothing follows at all.
    last: Option<&'a Call>,
}

impl Run<'_> {
    /// Neighbours that only read, and what was thought between them.
    fn readers(&self, items: &[&Item]) -> Vec<Line<'static>> {
        let commands = items.iter().filter_map(|item| item.call()).filter(|call| call.is_run());
        if commands.count() < MANY { self.one_by_one(items) } else { self.folded(items) }
    }

    /// What may have changed something, what failed, and what is not over.
    fn other(&self, call: &Call) -> Vec<Line<'static>> {
        let refused =
            call.end().and_then(|end| calls::refusal_below(call, end, self.look, self.manner)).is_some();
        let short = call.is_over() && call.failed() && !call.stands_out() && !refused;
        if short { failure(call, self.look, self.manner) } else { self.single(call) }
    }

    /// Commands in lines of their own, what was read between them in one.
    fn one_by_one(&self, items: &[&Item]) -> Vec<Line<'static>> {
        let mut rows = Vec::new();
        let mut gathered: Vec<&Item> = Vec::new();
        for item in items {
            match item.call().filter(|call| call.is_run()) {
                Some(call) => {
                    rows.extend(self.gathered(&std::mem::take(&mut gathered)));
                    rows.extend(self.single(call));
                }
                None => gathered.push(item),
            }
        }
        rows.extend(self.gathered(&gathered));
        rows
    }

    /// All in one line, the last of the whole run aside.
    fn folded(&self, items: &[&Item]) -> Vec<Line<'static>> {
        let last = self.last.filter(|call| call.is_run());
        let is_last = |call: &Call| last.is_some_and(|last| std::ptr::eq(last, call));
        let (last, before): (Vec<&Item>, Vec<&Item>) =
            items.iter().partition(|item| item.call().is_some_and(is_last));
        let mut rows = self.gathered(&before);
        rows.extend(last.iter().filter_map(|item| item.call()).flat_map(|call| self.single(call)));
        rows
    }

    fn gathered(&self, items: &[&Item]) -> Vec<Line<'static>> {
        let (look, manner) = (self.look, self.manner);
        let calls: Vec<&Call> = items.iter().filter_map(|item| item.call()).collect();
        match calls.as_slice() {
            [] => thoughts(items, look, manner),
            [one] => {
                let mut rows = self.single(one);
                let at =
                    if items.first().is_some_and(|first| first.thought().is_some()) { 0 } else { rows.len() };
                rows.splice(at..at, thoughts(items, look, manner));
                rows
            }
            many => {
                let ends: Vec<String> = took(many).into_iter().chain(thought(items)).collect();
                calls::line(look, manner, calls::Sign::Well, (&summary(many), &names::of(many)), &ends)
            }
        }
    }

    fn single(&self, call: &Call) -> Vec<Line<'static>> {
        let last = self.last.is_some_and(|last| std::ptr::eq(last, call));
        let manner = Manner { followed: !last, ..*self.manner };
        match self.now {
            Some(now) => calls::live(call, self.look, &manner, now),
            None => calls::rows(call, self.look, &manner),
        }
    }
}

/// What was thought, where no line counts it.
fn thoughts(items: &[&Item], look: Look<'_>, manner: &Manner) -> Vec<Line<'static>> {
    let thoughts: Vec<&Thought> = items.iter().filter_map(|item| item.thought()).collect();
    draw::thoughts(&thoughts, look, manner)
}

fn failure(call: &Call, look: Look<'_>, manner: &Manner) -> Vec<Line<'static>> {
    let Some(end) = call.end() else { return Vec::new() };
    // In a row of its own with why, where that is short enough to be read at a glance.
    let words = match &end.ended.message {
        Some(message) if manner.one_row => vec![message.clone()],
        Some(_) | None => vec![end.ended.words.clone()],
    };
    let mut rows =
        calls::line(look, manner, calls::Sign::Failed, (call.title.plain, &call.title.subject), &words);
    if let Some(message) = end.ended.message.as_ref().filter(|_| !manner.one_row) {
        rows.extend(block(INDENT, message, (look.theme.dim, look.theme.dim), look, manner.message));
    }
    rows
}

/// `Read 4 files, searched 2 patterns`.
fn summary(calls: &[&Call]) -> String {
    let mut kinds: Vec<(&str, &str)> = Vec::new();
    for kind in calls.iter().filter_map(|call| call.only_read()) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let mixed = kinds.len() > 1;
    let counted = |(at, kind): (usize, &(&str, &str))| {
        let of_kind: Vec<&Call> =
            calls.iter().copied().filter(|call| call.only_read() == Some(*kind)).collect();
        // The same command is run again for a reason; where nothing but files is told, one read twice is one.
        let many = if mixed || kind.1 == COMMAND { of_kind.len() } else { names::distinct(&of_kind).len() };
        let verb = if at == 0 { kind.0.to_owned() } else { kind.0.to_lowercase() };
        format!("{verb} {}", count(many, kind.1))
    };
    kinds.iter().enumerate().map(counted).collect::<Vec<_>>().join(", ")
}

/// How long something of it ran, where something was run: what ran side by side took that time once.
fn took(calls: &[&Call]) -> Option<String> {
    let ends: Vec<_> = calls.iter().filter(|call| call.is_run()).filter_map(|call| call.end()).collect();
    let spans: Vec<(Instant, Instant)> =
        ends.iter().filter_map(|end| Some((end.at?.checked_sub(end.took?)?, end.at?))).collect();
    let total = if spans.len() == ends.len() {
        covered(spans)
    } else if calls.iter().all(|call| call.origin == CallOrigin::Model) {
        // Told again: our own commands ran one after the other.
        ends.iter().filter_map(|end| end.took).sum()
    } else {
        return None;
    };
    (total >= Duration::from_millis(100)).then(|| seconds(total.as_millis()))
}

fn covered(mut spans: Vec<(Instant, Instant)>) -> Duration {
    spans.sort();
    let mut until: Option<Instant> = None;
    let mut total = Duration::ZERO;
    for (from, to) in spans {
        let from = until.map_or(from, |until| from.max(until));
        total += to.saturating_duration_since(from);
        until = Some(until.map_or(to, |until| to.max(until)));
    }
    total
}

fn thought(items: &[&Item]) -> Option<String> {
    let took = items.iter().filter_map(|item| item.thought()?.took);
    let total: u128 = took.map(|took| took.as_millis()).sum();
    (total >= 1_000).then(|| format!("thought for {}", seconds(total)))
}
