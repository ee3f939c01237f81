//! Reads, lists and searches that came one after the other, in one line. What failed among them stays visible.

use std::collections::BTreeSet;
use std::time::Instant;

use ratatui_core::text::Line;
use zdx_protocol::display::format::count;

use super::call::Call;
use super::calls;
use super::cell::Item;
use super::rows::{INDENT, Manner, block, seconds};
use crate::look::Look;

pub(super) fn rows(items: &[Item], look: Look<'_>, manner: &Manner) -> Vec<Line<'static>> {
    let calls: Vec<&Call> = items.iter().filter_map(Item::call).collect();
    match calls.as_slice() {
        [one] => return calls::rows(one, look, manner),
        _ if manner.whole => return calls.iter().flat_map(|call| calls::rows(call, look, manner)).collect(),
        _ => {}
    }
    let mut rows = Vec::new();
    let well: Vec<&Call> = calls.iter().copied().filter(|call| !call.failed()).collect();
    match well.as_slice() {
        [] => {}
        [one] => rows.extend(calls::rows(one, look, manner)),
        many => {
            rows.extend(calls::line(look, manner, true, (&summary(many), &subjects(many)), &thought(items)))
        }
    }
    for call in calls.into_iter().filter(|call| call.failed()) {
        rows.extend(failure(call, look, manner));
    }
    rows
}

/// While one of them runs.
pub(super) fn live(items: &[Item], look: Look<'_>, manner: &Manner, now: Instant) -> Vec<Line<'static>> {
    let calls: Vec<&Call> = items.iter().filter_map(Item::call).collect();
    let open = calls.iter().copied().filter(|call| !call.is_over());
    match calls.as_slice() {
        [one] => calls::live(one, look, manner, now),
        _ => {
            let mut rows = rows(items, look, manner);
            rows.extend(open.flat_map(|call| calls::live(call, look, manner, now)));
            rows
        }
    }
}

fn failure(call: &Call, look: Look<'_>, manner: &Manner) -> Vec<Line<'static>> {
    let Some(end) = call.end() else { return Vec::new() };
    // In a row of its own with why, where that is short enough to be read at a glance.
    let words = match &end.ended.message {
        Some(message) if manner.one_row => vec![message.clone()],
        Some(_) | None => vec![end.ended.words.clone()],
    };
    let mut rows = calls::line(look, manner, false, (call.title.plain, &call.title.subject), &words);
    if let Some(message) = end.ended.message.as_ref().filter(|_| !manner.one_row) {
        rows.extend(block(INDENT, message, (look.theme.dim, look.theme.dim), look, manner.message));
    }
    rows
}

/// `Read 4 files, searched 2 patterns`; what is still open does not count.
fn summary(calls: &[&Call]) -> String {
    let mut kinds: Vec<(&str, &str)> = Vec::new();
    let key = |call: &Call| (call.title.done, call.folds().unwrap_or("file"));
    for call in calls.iter().filter(|call| call.is_over()) {
        if !kinds.contains(&key(call)) {
            kinds.push(key(call));
        }
    }
    let counted = |(at, kind): (usize, &(&str, &str))| {
        let of_kind = calls.iter().filter(|call| call.is_over() && key(call) == *kind);
        let different: BTreeSet<&str> = of_kind.map(|call| place(&call.title.subject)).collect();
        let verb = if at == 0 { kind.0.to_owned() } else { kind.0.to_lowercase() };
        format!("{verb} {}", count(different.len(), kind.1))
    };
    kinds.iter().enumerate().map(counted).collect::<Vec<_>>().join(", ")
}

/// Two parts of one file are one file.
fn place(subject: &str) -> &str {
    match subject.rsplit_once(':') {
        Some((path, line)) if line.bytes().all(|byte| byte.is_ascii_digit()) => path,
        Some(_) | None => subject,
    }
}

/// Which ones, as far as there is room.
fn subjects(calls: &[&Call]) -> String {
    let mut seen = BTreeSet::new();
    let names = calls.iter().filter(|call| call.is_over()).map(|call| place(&call.title.subject));
    let names: Vec<&str> = names.filter(|name| seen.insert(*name)).collect();
    format!("· {}", names.join(", "))
}

fn thought(items: &[Item]) -> Vec<String> {
    let took = items.iter().filter_map(|item| match item {
        Item::Thought(thought) => thought.took,
        Item::Call(_) => None,
    });
    let total: u128 = took.map(|took| took.as_millis()).sum();
    if total >= 1_000 { vec![format!("thought for {}", seconds(total))] } else { Vec::new() }
}
