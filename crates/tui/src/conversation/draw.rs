//! What the parts of a conversation look like. Pure: the same cell, width and moment give the same rows.

use std::time::Instant;

use ratatui_core::text::Line;
use zdx_protocol::display::format::count;
use zdx_protocol::display::text::truncate_width;
use zdx_protocol::{Todo, TodoStatus};

use super::cell::{Cell, Known, NoteKind, Text, Thought};
use super::rows::{INDENT, Manner, block, row, seconds, span, ticking};
use super::{calls, folds};
use crate::look::Look;
use crate::write::markdown;

/// A thought that took less is not worth a row.
const WORTH_TELLING_MS: u128 = 1_000;
/// Where nobody knows how long it took: about what a model writes in that time.
const WORTH_TELLING_BYTES: usize = 200;
/// Of one that goes on, in rows.
pub(super) const LAST_OF_THOUGHT: usize = 3;
const FORGOTTEN: &str = "(what stood here is no longer kept in memory; the session has it)";

/// A cell that is over, without the text of an answer: that comes as it streams.
pub(super) fn cell(cell: &Cell, look: Look<'_>, manner: &Manner) -> Vec<Line<'static>> {
    let theme = look.theme;
    match cell {
        Cell::Prompt(text) => block("› ", text, (theme.accent, theme.strong), look, manner.prompt),
        Cell::Text(text) if manner.whole => {
            let mut rows = markdown::render(&text.source, look);
            rows.extend(mark(text, look));
            rows
        }
        // A remark of one line before a call explains itself.
        Cell::Text(text) if manner.one_row && text.known == Known::Plan && is_remark(&text.source) => {
            Vec::new()
        }
        Cell::Text(text) => mark(text, look),
        Cell::Thought(thought) => thoughts(&[thought], look, manner),
        Cell::Call(call) => calls::rows(call, look, manner),
        Cell::Fold(items) => folds::rows(items, look, manner),
        Cell::Todos(items) => todos(items, look),
        Cell::Note(kind, text) => note(*kind, text, look, manner),
        Cell::Forgotten => vec![row("", FORGOTTEN, theme.dim, look)],
    }
}

fn is_remark(source: &str) -> bool {
    source.trim().lines().nth(1).is_none()
}

/// `— PLAN`, `— ANSWER · 12 s`: what the text above was.
fn mark(text: &Text, look: Look<'_>) -> Vec<Line<'static>> {
    let word = match text.known {
        Known::Plan => "— PLAN",
        Known::Answer => "— ANSWER",
        Known::NotYet | Known::Neither => return Vec::new(),
    };
    let line = match &text.cost {
        Some(cost) => format!("{word} · {cost}"),
        None => word.to_owned(),
    };
    vec![row("", &line, look.theme.dim, look)]
}

/// Several that nothing came between are one.
pub(super) fn thoughts(thoughts: &[&Thought], look: Look<'_>, manner: &Manner) -> Vec<Line<'static>> {
    let dim = look.theme.dim;
    let bytes: usize = thoughts.iter().map(|thought| thought.text.len()).sum();
    let took = thoughts.iter().filter_map(|thought| thought.took).reduce(|a, b| a + b);
    let head = match took.map(|took| took.as_millis()) {
        Some(took) if took < WORTH_TELLING_MS && !manner.whole => return Vec::new(),
        None if bytes < WORTH_TELLING_BYTES && !manner.whole => return Vec::new(),
        Some(took) => format!("thought for {}", seconds(took)),
        None => "thought".to_owned(),
    };
    let mut rows = vec![row("", &format!("∴ {head}"), dim, look)];
    if manner.whole {
        rows.extend(
            thoughts.iter().flat_map(|thought| block("  ", &thought.text, (dim, dim), look, usize::MAX)),
        );
    }
    rows
}

/// A thought that goes on: since when, and its last so many rows.
pub(super) fn thinking(thought: &Thought, look: Look<'_>, now: Instant, most: usize) -> Vec<Line<'static>> {
    /// Enough for the last rows of any window.
    const END: usize = 2_000;
    let dim = look.theme.dim;
    let since = thought.since.map(|since| format!(" {}", ticking(since, now))).unwrap_or_default();
    let mut rows = vec![row("", &format!("∴ thinking{since}"), dim, look)];
    let end = if most == usize::MAX { usize::MAX } else { END };
    let start = thought.text.ceil_char_boundary(thought.text.len().saturating_sub(end));
    let tail = block("  ", thought.text[start..].trim_start(), (dim, dim), look, usize::MAX);
    let skip = tail.len().saturating_sub(most);
    rows.extend(tail.into_iter().skip(skip));
    rows
}

/// Below a head: right under a command's row the list would read as its output.
fn todos(items: &[Todo], look: Look<'_>) -> Vec<Line<'static>> {
    let theme = look.theme;
    let head = format!(" · {}", progress(items));
    let room = usize::from(look.width).saturating_sub("• Todo".len());
    let head = vec![
        span("• ", theme.good),
        span("Todo", theme.strong),
        span(truncate_width(&head, room), theme.dim),
    ];
    let mut rows = vec![Line::from(head)];
    rows.extend(items.iter().map(|item| todo(item, INDENT, look)));
    rows
}

/// `2 of 5 done`.
pub(super) fn progress(items: &[Todo]) -> String {
    let done = items.iter().filter(|item| item.status == TodoStatus::Completed).count();
    format!("{done} of {} done", items.len())
}

pub(super) fn todo(item: &Todo, indent: &str, look: Look<'_>) -> Line<'static> {
    let style = match item.status {
        TodoStatus::Completed => look.theme.dim,
        TodoStatus::InProgress => look.theme.strong,
        TodoStatus::Pending => look.theme.text,
    };
    row(indent, &item.to_string(), style, look)
}

fn note(kind: NoteKind, text: &str, look: Look<'_>, manner: &Manner) -> Vec<Line<'static>> {
    let theme = look.theme;
    match kind {
        NoteKind::Said => block("", text, (theme.text, theme.text), look, usize::MAX),
        NoteKind::Drafted => markdown::render(text, look),
        NoteKind::Quiet => block("", text, (theme.dim, theme.dim), look, manner.message.saturating_mul(5)),
        NoteKind::Warning => block("⚠ ", text, (theme.warning, theme.warning), look, usize::MAX),
        NoteKind::Failed => {
            let (message, details) = text.split_once('\n').unwrap_or((text, ""));
            let mut rows = block("✗ ", message, (theme.error, theme.error), look, usize::MAX);
            rows.extend(block("  ", details, (theme.dim, theme.dim), look, manner.message.saturating_mul(3)));
            rows
        }
    }
}

/// The last so many rows, below how many more there are.
pub(super) fn last_rows(mut rows: Vec<Line<'static>>, most: usize, look: Look<'_>) -> Vec<Line<'static>> {
    if rows.len() <= most {
        return rows;
    }
    let hidden = rows.len() - most.saturating_sub(1);
    let mut shown = vec![Line::from(span(format!("… {} above", count(hidden, "row")), look.theme.dim))];
    shown.truncate(most);
    shown.extend(rows.drain(hidden.min(rows.len())..));
    shown
}
