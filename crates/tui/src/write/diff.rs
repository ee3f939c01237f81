//! A unified diff as rows: numbers, signs, colours, and marks on the words that differ. Signs alone say it all.
//! Reading and spelling the lines is the protocol's work, so that nobody who judges a change sees less here than there.

#[cfg(test)]
mod tests;
mod words;

use std::ops::Range;

use ratatui_core::text::{Line, Span};
use zdx_protocol::display::diff::{self, Bounds, CUT, LineKind, WHOLE};
use zdx_protocol::display::format::count;
use zdx_protocol::display::visible_line;

use super::wrap::{Margin, fold_in, spaces, width_of, wrap_in};
use crate::{Look, Theme};
use words::Words;

/// Below this a row has one column of numbers, not two.
const TWO_NUMBERS: u16 = 60;
const ALL: Bounds = Bounds { columns: usize::MAX, lines: WHOLE };

/// How much is shown, and how to see the rest.
#[derive(Clone, Copy)]
pub(crate) struct Cut {
    pub(crate) rows: usize,
    pub(crate) rest: &'static str,
}

/// A diff of one file, whose name the caller shows, or of several, each below its name. `None`: all rows.
pub(crate) fn draw(unified: &str, look: Look<'_>, cut: Option<Cut>) -> Vec<Line<'static>> {
    let mut lines = diff::unified(unified, ALL);
    let several = lines.iter().any(|line| line.kind == LineKind::Note && line.text.starts_with("+++ "));
    if let Some(name) = first_name(unified).filter(|_| several) {
        lines.insert(0, diff::Line::new(LineKind::Note, name));
    }
    set(&lines, unified, look, cut)
}

/// The same for diffs that the engine put together, each below a line of its own that names the file.
pub(crate) fn draw_files(diffs: &str, look: Look<'_>, cut: Option<Cut>) -> Vec<Line<'static>> {
    set(&diff::judged_files(diffs, ALL), diffs, look, cut)
}

/// The first row that was added or removed, of rows that were drawn here.
pub(crate) fn first_change(rows: &[Line<'_>]) -> Option<usize> {
    let sign = |row: &Line<'_>| row.spans.get(1).map(|span| span.content.trim_end().to_owned());
    rows.iter().position(|row| matches!(sign(row).as_deref(), Some("+" | "-")))
}

/// `+++ b/name`, or what it was called if it is gone. Only before the first hunk these are no lines of a file.
fn first_name(unified: &str) -> Option<String> {
    let head: Vec<&str> = unified.lines().take_while(|line| !line.starts_with("@@ ")).collect();
    let after = |start: &str| head.iter().find_map(|line| line.strip_prefix(start));
    let name = after("+++ ").filter(|name| !name.starts_with("/dev/null")).or_else(|| after("--- "))?;
    Some(visible_line(&format!("+++ {name}")))
}

/// A line of the diff, and where it stands in the files.
struct Numbered<'a> {
    kind: LineKind,
    text: &'a str,
    old: Option<u64>,
    new: Option<u64>,
    words: Option<Words>,
}

fn set(lines: &[diff::Line], source: &str, look: Look<'_>, cut: Option<Cut>) -> Vec<Line<'static>> {
    let most_lines = cut.map(|cut| cut.rows);
    let gap = most_lines.map_or(0..0, |most| gap(lines, most));
    let in_gap = format!("… {}", count(gap.len(), "removed line"));
    // What will not be shown needs no work, but for the count.
    let enough = most_lines
        .map_or(lines.len(), |most| most.saturating_mul(2).saturating_add(64 + gap.end))
        .min(lines.len());
    let mut numbered = numbered(&lines[..enough]);
    words::mark(&mut numbered);
    if !gap.is_empty() {
        let left_out = Numbered { kind: LineKind::LeftOut, text: &in_gap, old: None, new: None, words: None };
        numbered.splice(gap.clone(), [left_out]);
    }
    let gutter = Gutter::of(&numbered, look.width);
    let mut out = Vec::new();
    let mut starts = Vec::with_capacity(enough);
    for (at, line) in numbered.iter().enumerate() {
        starts.push(out.len());
        let follows = at.checked_sub(1).is_some_and(|before| !names_file(&numbered[before]));
        out.extend(rows(line, follows, &gutter, look));
        if most_lines.is_some_and(|most| out.len() > most) {
            break;
        }
    }
    let Some(most) = most_lines.filter(|most| out.len() > *most || enough < lines.len()) else { return out };
    // The note takes a row; of a line that alone is too tall, what fits.
    let room = most.saturating_sub(1);
    let whole = starts.iter().rposition(|start| *start <= room).unwrap_or(0);
    let rows = starts.get(whole).copied().unwrap_or(0);
    let torn = rows == 0 && room > 0;
    out.truncate(if torn { room } else { rows });
    let below = if whole > gap.start { gap.len().saturating_sub(1) } else { 0 };
    let missing =
        lines[whole + below + usize::from(torn)..].iter().filter(|line| line.kind != LineKind::Hunk).count();
    out.push(note(missing, torn, source, look, cut.map_or("", |cut| cut.rest)));
    out
}

/// Of a change that begins with more removed lines than there is room for, those in the middle: some of what came in
/// their place must be seen, too.
fn gap(lines: &[diff::Line], most: usize) -> Range<usize> {
    let run = |from: usize, kind: LineKind| lines[from..].iter().take_while(|line| line.kind == kind).count();
    let changed = |line: &diff::Line| matches!(line.kind, LineKind::Add | LineKind::Remove);
    let first = lines.iter().position(changed).unwrap_or(lines.len());
    let removed = run(first, LineKind::Remove);
    let added = run(first + removed, LineKind::Add);
    // A row for what is left out here, and one for the rest.
    let room = most.saturating_sub(first + 2);
    let kept = room / 2;
    if kept == 0 || removed < kept + 2 || removed + added.min(kept) <= room || added == 0 {
        return 0..0;
    }
    first + (room - added.min(kept)).min(removed - 2)..first + removed
}

fn note(missing: usize, torn: bool, source: &str, look: Look<'_>, rest: &str) -> Line<'static> {
    let more = format!("+{}", count(missing, "line"));
    let mut text = match (torn, missing) {
        (false, _) => more,
        (true, 0) => "more of this line".to_owned(),
        (true, _) => format!("more of this line, {more}"),
    };
    if source.trim_end().ends_with(CUT) {
        text.push_str(" of what is left of the diff, which was cut");
    }
    text.push_str(rest);
    super::wrap::cut(Line::from(Span::styled(text, look.theme.dim)), look.width)
}

fn numbered(lines: &[diff::Line]) -> Vec<Numbered<'_>> {
    let (mut old, mut new) = (0, 0);
    let next = |number: &mut u64| {
        *number += 1;
        Some(*number - 1)
    };
    let number = |line| {
        let diff::Line { kind, text }: &diff::Line = line;
        let (old, new) = match kind {
            LineKind::Add => (None, next(&mut new)),
            LineKind::Remove => (next(&mut old), None),
            LineKind::Context => (next(&mut old), next(&mut new)),
            LineKind::Hunk => {
                (old, new) = starts_of(text).unwrap_or((0, 0));
                (None, None)
            }
            LineKind::Note | LineKind::LeftOut => (None, None),
        };
        Numbered { kind: *kind, text, old, new, words: None }
    };
    lines.iter().map(number).collect()
}

/// `@@ -3,5 +4,6 @@` begins at 3 and 4.
fn starts_of(hunk: &str) -> Option<(u64, u64)> {
    let (old, rest) = hunk.strip_prefix("@@ -")?.split_once(" +")?;
    let start = |range: &str| range.split([',', ' ']).next()?.parse().ok();
    Some((start(old)?, start(rest)?))
}

/// A note that begins a file; others are about the line before them.
fn names_file(line: &Numbered<'_>) -> bool {
    line.kind == LineKind::Note && !line.text.starts_with('\\')
}

/// How wide the numbers are.
struct Gutter {
    digits: usize,
    two: bool,
}

impl Gutter {
    fn of(lines: &[Numbered<'_>], width: u16) -> Self {
        let highest = lines.iter().flat_map(|line| [line.old, line.new]).flatten().max().unwrap_or(0);
        Self { digits: highest.to_string().len().max(2), two: width >= TWO_NUMBERS }
    }

    fn numbers(&self, line: &Numbered<'_>) -> String {
        let digits = self.digits;
        let shown = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
        if self.two {
            format!("{:>digits$} {:>digits$} ", shown(line.old), shown(line.new))
        } else {
            format!("{:>digits$} ", shown(line.new.or(line.old)))
        }
    }
}

fn rows(line: &Numbered<'_>, follows: bool, gutter: &Gutter, look: Look<'_>) -> Vec<Line<'static>> {
    let theme = look.theme;
    let dim = |text: String| Line::from(Span::styled(text, theme.dim));
    match line.kind {
        LineKind::Hunk if !follows => Vec::new(),
        LineKind::Hunk => {
            let section = line.text.splitn(3, "@@").nth(2).unwrap_or_default();
            let blank = " ".repeat((gutter.digits * (1 + usize::from(gutter.two))).saturating_sub(1));
            vec![super::wrap::cut(dim(format!("{blank}…{section}")), look.width)]
        }
        LineKind::Note if names_file(line) => {
            let name = line.text.strip_prefix("+++ ").map(|name| name.strip_prefix("b/").unwrap_or(name));
            let name = Span::styled(name.unwrap_or(line.text).trim_end().to_owned(), theme.strong);
            wrap_in(Line::from(name), look.width, &Margin::blank(0, 2))
        }
        LineKind::Note | LineKind::LeftOut => {
            wrap_in(dim(line.text.to_owned()), look.width, &Margin::blank(0, 2))
        }
        LineKind::Add | LineKind::Remove | LineKind::Context => content(line, gutter, look),
    }
}

fn content(line: &Numbered<'_>, gutter: &Gutter, look: Look<'_>) -> Vec<Line<'static>> {
    let theme: &Theme = look.theme;
    let (sign, style, word) = match line.kind {
        LineKind::Add => ("+ ", theme.added, theme.added_word),
        LineKind::Remove => ("- ", theme.removed, theme.removed_word),
        LineKind::Context | LineKind::Hunk | LineKind::Note | LineKind::LeftOut => {
            ("  ", theme.text, theme.text)
        }
    };
    let text = body(line);
    let spans = match &line.words {
        None => vec![Span::styled(text.to_owned(), style)],
        Some(words) => words.spans(text, style, word),
    };
    let first = vec![Span::styled(gutter.numbers(line), theme.dim), Span::styled(sign, style)];
    let margin = Margin { rest: spaces(width_of(&first)), first };
    let mut rows = fold_in(Line::from(spans), look.width, &margin);
    for row in &mut rows {
        trim_margin(row);
    }
    rows
}

/// An empty line shows its number and sign, without blanks behind them.
fn trim_margin(row: &mut Line<'static>) {
    if let Some(last) = row.spans.last_mut()
        && matches!(last.content.as_ref(), "+ " | "- " | "  ")
    {
        last.content = last.content.trim_end().to_owned().into();
    }
}

/// A line of a file without its sign.
fn body<'a>(line: &Numbered<'a>) -> &'a str {
    match line.kind {
        LineKind::Add | LineKind::Remove => line.text.get(1..).unwrap_or_default(),
        LineKind::Context => line.text.strip_prefix(' ').unwrap_or(line.text),
        LineKind::Hunk | LineKind::Note | LineKind::LeftOut => line.text,
    }
}
