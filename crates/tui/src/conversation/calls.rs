//! A call as rows: one line that says what it is and how it ended, and a little of what it brought below.

use std::time::Instant;

use ratatui_core::text::{Line, Span};
use zdx_protocol::CallOrigin;
use zdx_protocol::display::format::{count, size};
use zdx_protocol::display::text::{truncate_width, width};
use zdx_protocol::display::titles::Ended;

use super::call::{Call, End, Kept, Stage};
use super::rows::{INDENT, Manner, block, printed, row, seconds, span, ticking};
use super::task::Task;
use crate::look::Look;
use crate::write::wrap::{Margin, wrap_in};
use crate::write::{diff, markdown};

pub(super) const BELOW: &str = "    ";
/// Of a running command.
const LIVE: usize = 3;
/// With less room than this for what a call is about, its end goes first.
const LEAST_SUBJECT: usize = 12;
/// What stands between two words about a call, at most.
const BETWEEN: usize = 3;
/// How a task's report begins.
const REPORT: usize = 3;

/// A call that is over.
pub(super) fn rows(call: &Call, look: Look<'_>, manner: &Manner) -> Vec<Line<'static>> {
    let Some(end) = call.end() else { return Vec::new() };
    if call.is_silent() && !manner.whole {
        return Vec::new();
    }
    let quiet = Manner { output: 0, ..*manner };
    let manner = if manner.followed && call.gives_way() { &quiet } else { manner };
    let mut rows = answers(call, look, manner);
    rows.extend(head(call, end, look, manner));
    let message = end.ended.message.as_deref().or_else(|| refusal_below(call, end, look, manner));
    if let Some(message) = message {
        rows.extend(block(INDENT, message, (look.theme.dim, look.theme.dim), look, manner.message));
    }
    rows.extend(below(call, end, look, manner));
    rows
}

/// Why a person refused it, where that leaves no room for what was refused: then it stands below.
pub(super) fn refusal_below<'a>(
    call: &Call,
    end: &'a End,
    look: Look<'_>,
    manner: &Manner,
) -> Option<&'a str> {
    let Ended { undone, words, .. } = &end.ended;
    let why = words.strip_prefix("denied: ").filter(|_| *undone && manner.one_row)?;
    let taken = [call.title.plain, &call.title.subject, words].map(|text| width(text) + BETWEEN);
    (taken.iter().sum::<usize>() > usize::from(look.width)).then_some(why)
}

fn answers(call: &Call, look: Look<'_>, manner: &Manner) -> Vec<Line<'static>> {
    let line = |(allowed, words): &(bool, String)| {
        let (sign, style) = if *allowed { ("✓ ", look.theme.good) } else { ("✗ ", look.theme.error) };
        // What was allowed is worth a second row.
        let most = if manner.one_row { 2 } else { usize::MAX };
        block(sign, words, (style, look.theme.dim), look, most)
    };
    call.answers.iter().flat_map(line).collect()
}

fn head(call: &Call, end: &End, look: Look<'_>, manner: &Manner) -> Vec<Line<'static>> {
    let Ended { well, undone, words, .. } = &end.ended;
    let mut ends = Vec::new();
    // A moment is worth no word where nothing was run.
    let took = end.took.map(|took| took.as_millis());
    ends.extend(took.filter(|took| call.folds().is_none() && *took >= 100 || *took >= 1_000).map(seconds));
    if call.task.calls > 0 {
        ends.push(count(call.task.calls, "call"));
    }
    if call.task.failed > 0 {
        ends.push(format!("{} failed", call.task.failed));
    }
    if call.task.denied > 0 {
        ends.push(format!("{} denied", call.task.denied));
    }
    ends.push(match refusal_below(call, end, look, manner) {
        Some(_) => "denied".to_owned(),
        None => words.clone(),
    });
    if call.allowed {
        ends.push("allowed".to_owned());
    }
    let verb = if *undone { call.title.plain } else { call.title.done };
    if manner.output == 0 && end.output.lines > 0 && call.folds().is_none() {
        let words = [verb, &call.title.subject].into_iter().chain(ends.iter().map(String::as_str));
        let taken: usize = words.map(|word| width(word) + BETWEEN).sum();
        let only = only_line(&end.output).filter(|line| taken + width(line) <= usize::from(look.width));
        ends.push(only.unwrap_or_else(|| more(end.output.lines, &end.output)));
    }
    if let Some((_, words)) = &call.check {
        let words = words.split_once(": ").map_or(words.as_str(), |(what, _)| what);
        return line(look, manner, Sign::of(*well), (&capital(words), &call.title.subject), &ends);
    }
    line(look, manner, Sign::of(*well), (verb, &call.title.subject), &ends)
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// How a call stands, before its first word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Well,
    Failed,
    /// It waits for the person.
    Asked,
}

impl Sign {
    fn of(well: bool) -> Self {
        if well { Self::Well } else { Self::Failed }
    }
}

/// `• Ran cargo test · 2.1 s · exit 0`: what it is about is cut before its end is.
pub(super) fn line(
    look: Look<'_>,
    manner: &Manner,
    sign: Sign,
    (verb, subject): (&str, &str),
    ends: &[String],
) -> Vec<Line<'static>> {
    let theme = look.theme;
    let (text, of_sign) = match sign {
        Sign::Well => ("• ", theme.good),
        Sign::Failed => ("✗ ", theme.error),
        Sign::Asked => ("? ", theme.warning),
    };
    let ends: String = ends.iter().filter(|end| !end.is_empty()).map(|end| format!(" · {end}")).collect();
    let of_ends = if sign == Sign::Failed { theme.error } else { theme.dim };
    let sign = text;
    if !manner.one_row {
        let spans =
            vec![span(verb, theme.strong), span(format!(" {subject}"), theme.text), span(ends, of_ends)];
        let margin = Margin { first: vec![span(sign, of_sign)], rest: vec![Span::raw(INDENT)] };
        return wrap_in(Line::from(spans), look.width, &margin);
    }
    let columns = usize::from(look.width);
    let room = columns.saturating_sub(width(sign) + width(verb) + 1);
    let for_subject = room.saturating_sub(width(&ends)).max(LEAST_SUBJECT.min(room));
    let subject = truncate_width(subject, for_subject);
    let left = columns.saturating_sub(width(sign) + width(verb) + 1 + width(&subject));
    let ends = truncate_width(&ends, left);
    let verb = truncate_width(verb, columns.saturating_sub(width(sign)));
    let gap = if room == 0 { "" } else { " " };
    vec![Line::from(vec![
        span(truncate_width(sign, columns), of_sign),
        span(verb, theme.strong),
        span(format!("{gap}{subject}"), theme.text),
        span(ends, of_ends),
    ])]
}

fn below(call: &Call, end: &End, look: Look<'_>, manner: &Manner) -> Vec<Line<'static>> {
    // What somebody refused is no news to him, but can be read again.
    let refused = call.proposed.as_ref().filter(|_| manner.whole);
    if let Some(text) = end.diff.as_ref().or(refused) {
        let inner = Look { width: look.width.saturating_sub(INDENT.len() as u16).max(1), ..look };
        let draw = if call.files { diff::draw_files } else { diff::draw };
        let cut = manner.diff.map(|rows| diff::Cut { rows, rest: manner.rest });
        return draw(text, inner, cut).into_iter().map(|row| indented(row, INDENT)).collect();
    }
    if call.folds().is_some() && !manner.whole {
        return Vec::new();
    }
    let most = match call.origin {
        CallOrigin::User | CallOrigin::Command => manner.typed,
        _ if call.title.done == call.title.plain && !manner.whole => manner.output.min(REPORT),
        _ if !end.ended.well && !end.ended.undone => manner.failed,
        CallOrigin::Model | CallOrigin::Remote | CallOrigin::Check | CallOrigin::Subagent => manner.output,
    };
    let whole = end.spilled.as_ref().filter(|_| manner.whole);
    if let Some(rows) = whole.and_then(|spilled| spilled.rows(BELOW, look)) {
        return rows;
    }
    match manner.whole && call.reports {
        true => reported(call, &end.output, look, manner),
        false if most == 0 => Vec::new(),
        false => output(&end.output, look, manner, most),
    }
}

/// The calls of an agent, and what it says at last.
fn reported(call: &Call, report: &Kept, look: Look<'_>, manner: &Manner) -> Vec<Line<'static>> {
    let mut rows = steps(&call.task, look, manner);
    if report.cut {
        rows.extend(output(report, look, manner, usize::MAX));
        return rows;
    }
    let inner = Look { width: look.width.saturating_sub(BELOW.len() as u16).max(1), ..look };
    let text = markdown::render(&report.text, inner);
    if !rows.is_empty() && !text.is_empty() {
        rows.push(Line::default());
    }
    rows.extend(text.into_iter().map(|row| indented(row, BELOW)));
    rows
}

fn steps(task: &Task, look: Look<'_>, manner: &Manner) -> Vec<Line<'static>> {
    let dim = (look.theme.dim, look.theme.dim);
    let inner = Look { width: look.width.saturating_sub(INDENT.len() as u16).max(1), ..look };
    let mut rows = Vec::new();
    if task.gone() > 0 {
        let note = format!("({} before these are no longer kept in memory)", count(task.gone(), "call"));
        rows.push(row(BELOW, &note, look.theme.dim, look));
    }
    for step in &task.steps {
        let (verb, subject, state) = step.words();
        let well = step.ended().is_none_or(|ended| ended.well);
        let mut of_step = line(inner, manner, Sign::of(well), (verb, subject), &[state.to_owned()]);
        if let Some(message) = step.ended().and_then(|ended| ended.message.as_ref()) {
            of_step.extend(block(INDENT, message, dim, inner, usize::MAX));
        }
        rows.extend(of_step.into_iter().map(|row| indented(row, INDENT)));
    }
    rows
}

fn indented(mut row: Line<'static>, by: &'static str) -> Line<'static> {
    row.spans.insert(0, Span::raw(by));
    row
}

/// All that was printed, where that is a line.
fn only_line(kept: &Kept) -> Option<String> {
    let line = printed(kept.text.trim());
    (kept.lines == 1 && kept.left_out == 0 && !kept.cut && !line.is_empty()).then_some(line)
}

/// `+53 lines`, `+53 lines and 1.2 MB that were left out`.
fn more(lines: usize, kept: &Kept) -> String {
    match kept.left_out {
        0 => format!("+{}", count(lines, "line")),
        bytes => format!("+{} and {} that were left out", count(lines, "line"), size(bytes)),
    }
}

/// The end of what was printed, below how much more there is.
fn output(kept: &Kept, look: Look<'_>, manner: &Manner, most: usize) -> Vec<Line<'static>> {
    let dim = look.theme.dim;
    // Blank lines are no news where there is room for few.
    let lines: Vec<&str> =
        kept.text.trim_end().lines().filter(|line| manner.whole || !line.trim().is_empty()).collect();
    // A note about a single line would take the room of that line.
    let shown = if lines.len() > most.saturating_add(1) { most } else { lines.len() };
    let blank = kept.text.lines().count() - lines.len();
    let hidden = kept.lines.saturating_sub(shown + blank);
    let mut rows = Vec::new();
    if manner.whole && kept.cut {
        let note = format!("({} of this are no longer kept in memory)", count(hidden, "line"));
        rows.push(row(BELOW, &note, dim, look));
    } else if hidden > 0 {
        let note = format!("{}{}", more(hidden, kept), manner.rest);
        rows.push(row(BELOW, &note, dim, look));
    }
    for line in &lines[lines.len() - shown..] {
        match manner.whole {
            true if line.trim().is_empty() => rows.push(Line::default()),
            true => rows.extend(block(BELOW, &printed(line), (dim, dim), look, usize::MAX)),
            false => rows.push(row(BELOW, &printed(line), dim, look)),
        }
    }
    rows
}

/// A call that is not over: what it does, since when, and the end of what it printed.
pub(super) fn live(call: &Call, look: Look<'_>, manner: &Manner, now: Instant) -> Vec<Line<'static>> {
    let theme = look.theme;
    let title = &call.title;
    let checking = call.origin == CallOrigin::Check;
    let verb = if checking { "Checking" } else { title.doing };
    let (verb, state) = match &call.stage {
        Stage::Ended(_) => return rows(call, look, manner),
        // Those that were asked for with it may have to be answered first.
        Stage::Requested if call.is_allowed() => (title.plain, "allowed".to_owned()),
        Stage::Requested => (title.plain, call.denied.clone().unwrap_or_else(|| "waiting".to_owned())),
        Stage::Asked => (title.plain, "needs your approval".to_owned()),
        Stage::Running { since } => (verb, ticking(*since, now)),
    };
    let mut ends = vec![state];
    if call.task.calls > 0 {
        ends.push(count(call.task.calls, "call"));
    }
    let mut rows = answers(call, look, manner);
    let sign = if matches!(call.stage, Stage::Asked) { Sign::Asked } else { Sign::Well };
    rows.extend(line(look, manner, sign, (verb, &title.subject), &ends));
    match call.task.steps.last() {
        _ if manner.whole && call.task.calls > 0 => rows.extend(steps(&call.task, look, manner)),
        // What its agent reports while it works says the same in a program's words.
        Some(last) => {
            let (verb, subject, state) = last.words();
            let gap = if state.is_empty() { "" } else { " · " };
            rows.push(row(BELOW, &format!("{verb} {subject}{gap}{state}"), theme.dim, look));
        }
        None => {
            let most = if manner.whole { usize::MAX } else { LIVE };
            rows.extend(call.tail.last(most).map(|line| row(BELOW, &printed(line), theme.dim, look)));
        }
    }
    rows
}
