//! Calls that came one after the other without a word between them. Reads, lists and searches are one line; so are commands,
//! once there are many of them, all but the last. What failed, and what somebody was asked about, stays visible.

use std::collections::BTreeSet;
use std::time::Instant;

use ratatui_core::text::Line;
use zdx_protocol::display::format::count;

use super::call::Call;
use super::cell::{Item, Thought};
use super::rows::{INDENT, Manner, block, seconds};
use super::{calls, draw};
use crate::look::Look;

/// From so many commands on that went well, they are one line.
const MANY: usize = 4;
/// Then another run begins: what is not settled is drawn again and again.
const LONGEST: usize = 200;

/// Whether the next call belongs to it.
pub(super) fn goes_on(items: &[Item]) -> bool {
    items.len() < LONGEST && !items.iter().filter_map(Item::call).any(Call::stands_out)
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
    let run = Run { look, manner, now, last: shown.iter().rev().find_map(|item| item.call()) };
    let commands =
        shown.iter().filter_map(|item| item.call()).filter(|call| call.is_run() && went_well(call));
    if commands.count() < MANY { run.one_by_one(&shown) } else { run.folded(&shown) }
}

fn went_well(call: &Call) -> bool {
    call.is_over() && !call.failed() && !call.stands_out()
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

    /// All that went well in one line, the last command aside.
    fn folded(&self, items: &[&Item]) -> Vec<Line<'static>> {
        let last = self.last.filter(|call| call.is_run() && call.is_over());
        let is_last = |call: &Call| last.is_some_and(|last| std::ptr::eq(last, call));
        let before: Vec<&Item> =
            items.iter().copied().filter(|item| !item.call().is_some_and(is_last)).collect();
        let mut rows = self.gathered(&before);
        rows.extend(last.into_iter().flat_map(|call| self.single(call)));
        rows
    }

    /// What went well in one line, below it what did not, and what is not over.
    fn gathered(&self, items: &[&Item]) -> Vec<Line<'static>> {
        let (look, manner) = (self.look, self.manner);
        let calls: Vec<&Call> = items.iter().filter_map(|item| item.call()).collect();
        let well: Vec<&Call> = calls.iter().copied().filter(|call| went_well(call)).collect();
        let mut rows = match (well.as_slice(), calls.as_slice()) {
            ([], []) => thoughts(items, look, manner),
            ([], _) => Vec::new(),
            ([one], _) => {
                let mut rows = self.single(one);
                let at =
                    if items.first().is_some_and(|first| first.thought().is_some()) { 0 } else { rows.len() };
                rows.splice(at..at, thoughts(items, look, manner));
                rows
            }
            (many, _) => {
                let ends: Vec<String> = took(many).into_iter().chain(thought(items)).collect();
                calls::line(look, manner, true, (&summary(many), &subjects(many)), &ends)
            }
        };
        for call in calls.iter().filter(|call| call.is_over() && !went_well(call)) {
            let alone = call.stands_out() || calls.len() == 1;
            rows.extend(if alone { self.single(call) } else { failure(call, look, manner) });
        }
        rows.extend(calls.iter().filter(|call| !call.is_over()).flat_map(|call| self.single(call)));
        rows
    }

    fn single(&self, call: &Call) -> Vec<Line<'static>> {
        let last = self.last.is_some_and(|last| std::ptr::eq(last, call));
        let manner = Manner { followed: self.manner.followed || !last, ..*self.manner };
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
    let mut rows = calls::line(look, manner, false, (call.title.plain, &call.title.subject), &words);
    if let Some(message) = end.ended.message.as_ref().filter(|_| !manner.one_row) {
        rows.extend(block(INDENT, message, (look.theme.dim, look.theme.dim), look, manner.message));
    }
    rows
}

/// `Read 4 files, searched 2 patterns`; what is still open does not count.
fn summary(calls: &[&Call]) -> String {
    let mut kinds: Vec<(&str, &str)> = Vec::new();
    let key = |call: &Call| (call.title.done, call.folds().or(call.runs).unwrap_or("file"));
    for call in calls.iter().filter(|call| call.is_over()) {
        if !kinds.contains(&key(call)) {
            kinds.push(key(call));
        }
    }
    let counted = |(at, kind): (usize, &(&str, &str))| {
        let of_kind = calls.iter().filter(|call| call.is_over() && key(call) == *kind);
        // The same command is run again for a reason; the same file read twice is one file.
        let many = match kind.1 {
            "command" => of_kind.count(),
            _ => of_kind.map(|call| name(call)).collect::<BTreeSet<String>>().len(),
        };
        let verb = if at == 0 { kind.0.to_owned() } else { kind.0.to_lowercase() };
        format!("{verb} {}", count(many, kind.1))
    };
    kinds.iter().enumerate().map(counted).collect::<Vec<_>>().join(", ")
}

/// What it is called where there is little room.
fn name(call: &Call) -> String {
    if call.is_run() { program(&call.title.subject) } else { place(&call.title.subject).to_owned() }
}

/// What they do is said by their second word.
const WITH_VERBS: [&str; 16] = [
    "apt",
    "brew",
    "bundle",
    "cargo",
    "docker",
    "gh",
    "git",
    "go",
    "kubectl",
    "npm",
    "pip",
    "pip3",
    "pnpm",
    "systemctl",
    "uv",
    "yarn",
];

/// `cargo test` of `cd web && RUST_LOG=debug /usr/bin/cargo test -q`, `ls` of `time ls -l`.
fn program(command: &str) -> String {
    let body = match command.split_once("&&") {
        Some((first, rest)) if first.trim_start().starts_with("cd ") => rest,
        Some(_) | None => command,
    };
    let is_set = |word: &&str| word.split_once('=').is_some_and(|(name, _)| !name.contains(['/', '"', '\'']));
    let leads = |word: &&str| is_set(word) || matches!(*word, "!" | "time" | "if" | "while" | "until");
    let mut words = body.split_whitespace().skip_while(leads);
    let word = words.next().unwrap_or(command);
    let bare = word.trim_start_matches('(').trim_end_matches([';', ')']);
    let name = bare.rsplit('/').find(|part| !part.is_empty()).unwrap_or(bare);
    let verb = words.find(|word| !word.starts_with('-')).map(|verb| verb.trim_end_matches([';', ')']));
    match verb.filter(|verb| {
        WITH_VERBS.contains(&name) && verb.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
    }) {
        Some(verb) => format!("{name} {verb}"),
        None => name.to_owned(),
    }
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
    let names = calls.iter().filter(|call| call.is_over()).map(|call| name(call));
    let names: Vec<String> = names.filter(|name| seen.insert(name.clone())).collect();
    format!("· {}", names.join(", "))
}

/// All of them together, where something was run.
fn took(calls: &[&Call]) -> Option<String> {
    let ends = calls.iter().filter(|call| call.is_run()).filter_map(|call| call.end()?.took);
    let total: u128 = ends.map(|took| took.as_millis()).sum();
    (total >= 100).then(|| seconds(total))
}

fn thought(items: &[&Item]) -> Option<String> {
    let took = items.iter().filter_map(|item| item.thought()?.took);
    let total: u128 = took.map(|took| took.as_millis()).sum();
    (total >= 1_000).then(|| format!("thought for {}", seconds(total)))
}
