//! Tables that fit: columns as wide as they need to be, narrowed with wrapped cells where the room is short, and `key: value`
//! lines where it is too short for that. No frames: blanks between columns, a thin rule below the head.

use pulldown_cmark::{Alignment, Event, Options, Parser, Tag, TagEnd};
use ratatui_core::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::inline::Setter;
use crate::Theme;
use crate::write::wrap::{Margin, spaces, width_of, wrap_in};

const GAP: usize = 2;
/// No column is narrowed below this, nor below its longest word up to the second.
const NARROW: usize = 6;
const LONG_WORD: usize = 14;

pub(super) struct Table {
    alignments: Vec<Alignment>,
    head: Vec<Line<'static>>,
    rows: Vec<Vec<Line<'static>>>,
}

/// How a table is laid out, for all of its parts.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    pub room: usize,
    /// None: row by row, a line each cell.
    widths: Option<Vec<usize>>,
    /// Some cell takes more than one line, so rows need something between them.
    airy: bool,
}

/// A table alone, as text; none if it is something else.
pub(super) fn read(text: &str, theme: &Theme) -> Option<Table> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let Some(Event::Start(Tag::Table(alignments))) = Parser::new_ext(text, options).next() else {
        return None;
    };
    let text = with_all_cells(text, alignments.len());
    let mut events = Parser::new_ext(&text, options).into_offset_iter();
    events.next();
    let mut table = Table { alignments, head: Vec::new(), rows: Vec::new() };
    let mut cell: Option<Setter<'_>> = None;
    let (mut row, mut in_head) = (Vec::new(), false);
    for (event, at) in events.by_ref() {
        match event {
            Event::Start(Tag::TableHead) => in_head = true,
            Event::End(TagEnd::TableHead) => {
                table.head = std::mem::take(&mut row);
                in_head = false;
            }
            Event::End(TagEnd::TableRow) => table.rows.push(std::mem::take(&mut row)),
            Event::Start(Tag::TableCell) => {
                cell = Some(Setter::new(&text, if in_head { theme.strong } else { theme.text }, theme));
            }
            Event::End(TagEnd::TableCell) => {
                row.push(cell.take().map(Setter::on_one_line).unwrap_or_default());
            }
            Event::End(TagEnd::Table) => break,
            event => {
                if let Some(cell) = &mut cell {
                    cell.event(event, at);
                }
            }
        }
    }
    events.next().is_none().then_some(table)
}

/// What stands behind the last column is a part of it: markdown itself drops such cells.
fn with_all_cells(text: &str, columns: usize) -> String {
    let row = |(at, line): (usize, &str)| match at {
        // The head and the rule say how many there are.
        0 | 1 => line.to_owned(),
        _ => within(line, columns),
    };
    text.split_inclusive('\n').enumerate().map(row).collect()
}

fn within(line: &str, columns: usize) -> String {
    let body = line.trim();
    let start = line.len() - line.trim_start().len();
    let mut escaped = false;
    let is_bar = |(at, c): (usize, char)| {
        let bar = c == '|' && !escaped;
        escaped = c == '\\' && !escaped;
        bar.then_some(at)
    };
    let bars: Vec<usize> = body.char_indices().filter_map(is_bar).collect();
    let between = bars.iter().copied().filter(|at| *at > 0 && at + 1 < body.len());
    let more: Vec<usize> = between.skip(columns.saturating_sub(1)).collect();
    let has_text = |at: &usize| body[*at..].chars().any(|c| c != '|' && !c.is_whitespace());
    let mut out = line.to_owned();
    for at in more.into_iter().filter(has_text).rev() {
        out.insert(start + at, '\\');
    }
    out
}

impl Columns {
    pub(super) fn of(table: &Table, room: usize) -> Self {
        let cells = |at: usize| {
            table.rows.iter().chain(std::iter::once(&table.head)).filter_map(move |row| row.get(at))
        };
        let count = table.head.len();
        let wanted: Vec<usize> =
            (0..count).map(|at| cells(at).map(Line::width).max().unwrap_or(0).max(1)).collect();
        let least: Vec<usize> = (0..count)
            .map(|at| {
                let word = cells(at).map(longest_word).max().unwrap_or(0).min(LONG_WORD);
                word.max(NARROW).min(wanted[at])
            })
            .collect();
        let free = room.saturating_sub(GAP * count.saturating_sub(1));
        if least.iter().sum::<usize>() > free {
            return Self { room, widths: None, airy: true };
        }
        // The widest give way first: one bound for all, as high as fits.
        let at_most = |bound: usize| -> Vec<usize> {
            wanted.iter().zip(&least).map(|(wanted, least)| (*wanted).min(bound.max(*least))).collect()
        };
        let fits = |bound: &usize| at_most(*bound).iter().sum::<usize>() <= free;
        let bound = (1..=room).rev().find(fits).unwrap_or(1);
        let mut widths = at_most(bound);
        // What is left over goes to the first that can use it.
        let mut left = free - widths.iter().sum::<usize>();
        for (width, wanted) in widths.iter_mut().zip(&wanted) {
            let more = left.min(wanted - *width).min(1);
            *width += more;
            left -= more;
        }
        let airy = widths.iter().zip(&wanted).any(|(width, wanted)| width < wanted);
        Self { room, widths: Some(widths), airy }
    }
}

fn longest_word(cell: &Line<'_>) -> usize {
    cell.to_string().split(' ').map(UnicodeWidthStr::width).max().unwrap_or(0)
}

/// Rows within the room; without the head when the table only goes on.
pub(super) fn rows(table: Table, columns: &Columns, more: bool, theme: &Theme) -> Vec<Line<'static>> {
    let Some(widths) = &columns.widths else { return stacked(table, columns.room, more, theme) };
    let mut out = Vec::new();
    if !more {
        out.extend(grid_row(table.head, widths, &table.alignments));
        let dashes = |width: &usize| Span::styled("─".repeat(*width), theme.dim);
        out.push(joined(widths.iter().map(|width| vec![dashes(width)])));
    }
    let mut first = !more;
    for row in table.rows {
        if columns.airy && !std::mem::take(&mut first) {
            out.push(Line::default());
        }
        out.extend(grid_row(row, widths, &table.alignments));
    }
    out
}

fn grid_row(cells: Vec<Line<'static>>, widths: &[usize], alignments: &[Alignment]) -> Vec<Line<'static>> {
    let mut cells = cells.into_iter();
    let wrapped: Vec<Vec<Line<'static>>> = widths
        .iter()
        .map(|width| {
            let cell = cells.next().unwrap_or_default();
            wrap_in(cell, u16::try_from(*width).unwrap_or(u16::MAX), &Margin::default())
        })
        .collect();
    let tall = wrapped.iter().map(Vec::len).max().unwrap_or(1);
    let line = |at: usize| {
        let pieces =
            wrapped.iter().zip(widths).zip(alignments.iter().chain(std::iter::repeat(&Alignment::None)));
        joined(pieces.map(|((lines, width), alignment)| {
            padded(lines.get(at).cloned().unwrap_or_default(), *width, *alignment)
        }))
    };
    (0..tall).map(line).collect()
}

fn padded(line: Line<'static>, width: usize, alignment: Alignment) -> Vec<Span<'static>> {
    let blank = width.saturating_sub(width_of(&line.spans));
    let before = match alignment {
        Alignment::None | Alignment::Left => 0,
        Alignment::Center => blank / 2,
        Alignment::Right => blank,
    };
    let mut spans = spaces(before);
    spans.extend(line.spans);
    spans.extend(spaces(blank - before));
    spans
}

/// Columns side by side; nothing blank at the end.
fn joined(pieces: impl Iterator<Item = Vec<Span<'static>>>) -> Line<'static> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    for (at, piece) in pieces.enumerate() {
        if at > 0 {
            spans.extend(spaces(GAP));
        }
        spans.extend(piece);
    }
    while spans.last().is_some_and(|span| span.content.trim_end_matches(' ').is_empty()) {
        spans.pop();
    }
    Line::from(spans)
}

/// A line for each cell, behind the name of its column.
fn stacked(table: Table, room: usize, more: bool, theme: &Theme) -> Vec<Line<'static>> {
    let width = u16::try_from(room).unwrap_or(u16::MAX);
    let mut out = Vec::new();
    if table.rows.is_empty() && !more {
        let cells = table.head.into_iter().flat_map(|cell| wrap_in(cell, width, &Margin::default()));
        return cells.collect();
    }
    for (at, row) in table.rows.into_iter().enumerate() {
        if at > 0 || more {
            out.push(Line::default());
        }
        for (at, cell) in row.into_iter().enumerate() {
            let mut spans = table.head.get(at).map(|name| name.spans.clone()).unwrap_or_default();
            if spans.is_empty() && cell.spans.is_empty() {
                continue;
            }
            if !spans.is_empty() {
                spans.push(Span::styled(": ", theme.dim));
            }
            spans.extend(cell.spans);
            out.extend(wrap_in(Line::from(spans), width, &Margin::blank(0, 2)));
        }
    }
    out
}
