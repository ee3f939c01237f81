//! Breaks styled lines into rows (line breaking, hanging indents): at words, between CJK characters, inside a word only
//! when it is longer than a row; never inside a grapheme. Columns are counted as the terminal counts them.

mod cluster;
#[cfg(test)]
mod tests;

use std::ops::Range;

use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use unicode_width::UnicodeWidthStr;
use zdx_protocol::display::plain;

use cluster::{Cluster, Kind, clusters};

/// With less room than this behind it, a margin does more harm than good.
const NARROWEST: usize = 8;
const TAB: &str = "    ";

/// What stands before the first row, and before those that go on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Margin {
    pub first: Vec<Span<'static>>,
    pub rest: Vec<Span<'static>>,
}

impl Margin {
    pub(crate) fn blank(first: usize, rest: usize) -> Self {
        Self { first: spaces(first), rest: spaces(rest) }
    }
}

/// Rows of at most `width` columns behind their margins. The blanks at a break are gone.
pub(crate) fn wrap_in(line: Line<'static>, width: u16, margin: &Margin) -> Vec<Line<'static>> {
    set(line, width, margin, words)
}

/// For code: the rows put together are the line, not a blank less; broken between tokens where that is possible.
pub(crate) fn fold_in(line: Line<'static>, width: u16, margin: &Margin) -> Vec<Line<'static>> {
    set(line, width, margin, tokens)
}

/// Cuts a row to `width` columns, the last one `…` when something is missing.
pub(crate) fn cut(line: Line<'static>, width: u16) -> Line<'static> {
    let text = Styled::of(line);
    if text.text.width() <= usize::from(width) {
        return text.slice(0..text.text.len(), Vec::new());
    }
    let room = usize::from(width).saturating_sub(1);
    let mut used = 0;
    let all = clusters(&text.text);
    let end = all.iter().find(|cluster| {
        used += usize::from(cluster.width);
        used > room
    });
    let end = end.map_or(text.text.len(), |cluster| cluster.start);
    let end = text.text[..end].trim_end().len();
    let mut row = text.slice(0..end, Vec::new());
    if width > 0 {
        let style = row.spans.last().map_or(Style::new(), |span| span.style);
        row.push_span(Span::styled("…", style));
    }
    row
}

pub(crate) fn spaces(n: usize) -> Vec<Span<'static>> {
    if n == 0 { Vec::new() } else { vec![Span::raw(" ".repeat(n))] }
}

pub(crate) fn width_of(spans: &[Span<'_>]) -> usize {
    spans.iter().map(|span| span.content.width()).sum()
}

type Breaker = fn(&[Cluster], usize, usize) -> Vec<Range<usize>>;

fn set(line: Line<'static>, width: u16, margin: &Margin, breaker: Breaker) -> Vec<Line<'static>> {
    let width = usize::from(width.max(1));
    let first = narrowed(&margin.first, width);
    let rest = narrowed(&margin.rest, width);
    let (room, further) = (width - width_of(&first), width - width_of(&rest));
    let text = Styled::of(line);
    let rows = if text.text.len() <= room && !text.text.ends_with(' ') {
        // No character takes more columns than bytes.
        std::iter::once(0..text.text.len()).collect()
    } else {
        let all = clusters(&text.text);
        let end = |at: usize| all.get(at).map_or(text.text.len(), |cluster| cluster.start);
        let rows = breaker(&all, room.max(1), further.max(1));
        rows.into_iter().map(|row| end(row.start)..end(row.end)).collect::<Vec<_>>()
    };
    let mut margins = std::iter::once(first).chain(std::iter::repeat(rest));
    rows.into_iter().map(|row| text.slice(row, margins.next().unwrap_or_default())).collect()
}

/// As much of a margin as leaves room for words.
fn narrowed(margin: &[Span<'static>], width: usize) -> Vec<Span<'static>> {
    let most = width.saturating_sub(NARROWEST.min(width));
    let mut used = 0;
    let mut out = Vec::with_capacity(margin.len());
    for span in margin {
        let columns = span.content.width();
        if used + columns <= most {
            used += columns;
            out.push(span.clone());
            continue;
        }
        let mut kept = String::new();
        for cluster in clusters(&span.content) {
            used += usize::from(cluster.width);
            if used > most {
                break;
            }
            kept.push_str(cluster.of(&span.content));
        }
        out.push(Span::styled(kept, span.style));
        break;
    }
    out
}

/// A line in one piece, with the styles of its stretches.
struct Styled {
    text: String,
    /// Up to which byte, how.
    runs: Vec<(usize, Style)>,
}

impl Styled {
    fn of(line: Line<'static>) -> Self {
        let mut text = String::new();
        let mut runs = Vec::with_capacity(line.spans.len());
        for span in line.spans {
            push_clean(&span.content, &mut text);
            runs.push((text.len(), line.style.patch(span.style)));
        }
        Self { text, runs }
    }

    fn slice(&self, range: Range<usize>, mut spans: Vec<Span<'static>>) -> Line<'static> {
        if range.is_empty() {
            // A margin alone leaves no blanks at the end of a row.
            while spans.last().is_some_and(|span| span.content.trim_end().is_empty()) {
                spans.pop();
            }
            if let Some(last) = spans.last_mut() {
                last.content = last.content.trim_end().to_owned().into();
            }
            return Line::from(spans);
        }
        let mut from = range.start;
        let at = self.runs.partition_point(|(end, _)| *end <= range.start);
        for (end, style) in &self.runs[at..] {
            let to = (*end).min(range.end);
            if to > from {
                spans.push(Span::styled(self.text[from..to].to_owned(), *style));
                from = to;
            }
            if *end >= range.end {
                break;
            }
        }
        Line::from(spans)
    }
}

/// The last door: whoever forgot to clean does not reach the terminal either.
fn push_clean(content: &str, out: &mut String) {
    if !content.contains(char::is_control) {
        out.push_str(content);
        return;
    }
    out.push_str(&plain(content).replace('\n', " ").replace('\t', TAB));
}

/// Rows of words.
fn words(all: &[Cluster], first: usize, further: usize) -> Vec<Range<usize>> {
    let mut rows = Vec::new();
    let (mut start, mut room) = (0, first);
    while start < all.len() {
        let Some(cut) = words_cut(all, start, room, further) else { break };
        push_trimmed(all, start..cut, &mut rows);
        start = cut;
        while all.get(start).is_some_and(|cluster| cluster.kind == Kind::Space) {
            start += 1;
        }
        // A row of blanks is none, and the next one is still the first.
        room = if rows.is_empty() { first } else { further };
    }
    push_trimmed(all, start..all.len(), &mut rows);
    if rows.is_empty() {
        rows.push(0..0);
    }
    rows
}

/// A row without the blanks at its end; none that is empty.
fn push_trimmed(all: &[Cluster], row: Range<usize>, rows: &mut Vec<Range<usize>>) {
    let kept = all[row.clone()].iter().rposition(|cluster| cluster.kind != Kind::Space);
    if let Some(last) = kept {
        rows.push(row.start..row.start + last + 1);
    }
}

/// Where a row that begins at `start` ends; nothing when all of the rest fits. Blanks at the end need no room.
fn words_cut(all: &[Cluster], start: usize, room: usize, further: usize) -> Option<usize> {
    let (mut used, mut used_at_break, mut last_break) = (0, 0, None);
    let mut at = start;
    loop {
        let cluster = all.get(at)?;
        if at > start && breaks_before(all, at) {
            (last_break, used_at_break) = (Some(at), used);
        }
        if cluster.kind != Kind::Space && used + usize::from(cluster.width) > room {
            break;
        }
        used += usize::from(cluster.width);
        at += 1;
    }
    let Some(word) = last_break else { return Some(forced(all, start, at)) };
    // A word that no row can hold begins here if it would leave most of this row empty.
    let fill = at > word && used_at_break * 2 <= room && is_longer(all, word, further);
    Some(if fill { forced(all, word, at) } else { word })
}

/// Whether the word that begins here is wider than a whole row.
fn is_longer(all: &[Cluster], word: usize, room: usize) -> bool {
    let mut used = 0;
    for at in word..all.len() {
        if all[at].kind == Kind::Space || (at > word && breaks_before(all, at)) {
            return false;
        }
        used += usize::from(all[at].width);
        if used > room {
            return true;
        }
    }
    false
}

/// Breaks a word before `end`, behind a sign that joins its parts when one is near.
fn forced(all: &[Cluster], start: usize, end: usize) -> usize {
    let end = end.max(start + 1);
    let near = start + (end - start).div_ceil(2);
    (near..=end).rev().find(|at| *at > start && all[at - 1].kind == Kind::Joint).unwrap_or(end)
}

fn breaks_before(all: &[Cluster], at: usize) -> bool {
    let (before, after) = (&all[at - 1], &all[at]);
    match (before.kind, after.kind) {
        (_, Kind::Space) => false,
        (Kind::Space, _) => true,
        (Kind::Opening, _) | (_, Kind::Closing) => false,
        (Kind::Closing | Kind::Joint | Kind::Letter, Kind::Opening | Kind::Joint | Kind::Letter) => {
            before.cjk || after.cjk
        }
    }
}

/// Rows of code.
fn tokens(all: &[Cluster], first: usize, further: usize) -> Vec<Range<usize>> {
    let mut rows = Vec::new();
    let (mut start, mut room) = (0, first);
    loop {
        let mut used = 0;
        let over = (start..all.len()).find(|at| {
            used += usize::from(all[*at].width);
            used > room
        });
        let Some(over) = over else { break };
        let over = over.max(start + 1);
        let near = start + (over - start).div_ceil(2);
        let blank = (near..=over).rev().find(|at| all[at - 1].kind == Kind::Space);
        let joint = |at: &usize| {
            all[at - 1].cjk || (all[at - 1].kind != Kind::Letter && all[*at].kind == Kind::Letter)
        };
        let between = || (near..=over).rev().find(joint);
        let cut = blank.or_else(between).unwrap_or(over);
        rows.push(start..cut);
        (start, room) = (cut, further);
    }
    if start < all.len() || rows.is_empty() {
        rows.push(start..all.len());
    }
    rows
}
