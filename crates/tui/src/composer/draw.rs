//! The composer on a screen: a sign before the first row, the caret's place for the terminal's own cursor, chips and spelled-out
//! characters told apart, the row of a history search above.

use std::ops::Range;

use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use unicode_width::UnicodeWidthStr;
use zdx_protocol::display::text::truncate_width;

use super::layout::{CellLook, Layout, Row};
use super::search::Search;
use super::text::Text;
use super::{Composer, PLACEHOLDER, Seen};
use crate::look::{Drawn, Look};
use crate::theme::Theme;

/// The sign and a blank.
const GUTTER: usize = 2;
/// Below this there is no room for a sign.
const NARROW: usize = 8;
const SHELL: &str = "shell command";
const SEARCH: &str = "history: ";
const SEARCH_KEYS: &str = " · Enter takes · Ctrl-R older · Esc leaves";

impl Composer {
    /// At most so many rows, at least one; those around the caret.
    pub(crate) fn draw(&self, look: Look<'_>, most_rows: usize) -> Drawn {
        let width = usize::from(look.width.max(1));
        let Some(search) = &self.search else {
            return self.draw_text(&self.text, self.caret, 0..0, look, most_rows.max(1));
        };
        let (row, cursor) = search_row(search, width, look.theme);
        let (text, place) = self.looked_at().unwrap_or_else(|| (self.text.clone(), 0..0));
        let caret = if place.is_empty() { self.caret } else { text.snap(place.end) };
        let mut drawn = self.draw_text(&text, caret, place, look, most_rows.saturating_sub(1).max(1));
        if most_rows > 1 {
            drawn.lines.insert(0, row);
        } else {
            drawn.lines = vec![row];
        }
        // Letters go into the search.
        drawn.cursor = Some((column(cursor.min(width - 1)), 0));
        drawn
    }

    fn draw_text(
        &self,
        text: &Text,
        caret: usize,
        found: Range<usize>,
        look: Look<'_>,
        most: usize,
    ) -> Drawn {
        let width = usize::from(look.width.max(1));
        let gutter = if width < NARROW { 0 } else { GUTTER };
        // One column is the caret's, behind a full row.
        let room = (width - gutter).saturating_sub(1).max(1);
        let shell = gutter > 0 && text.shown().starts_with('!');
        if text.is_empty() {
            self.seen.set(Seen { width: room, top: 0 });
            return self.empty(gutter, width, look.theme);
        }
        // The sign is the first letter then: it is not drawn twice.
        let layout = Layout::new(text, room, usize::from(shell));
        let (at, row) = layout.position(caret);
        let top = scrolled(self.seen.get().top, row, layout.rows.len(), most);
        self.seen.set(Seen { width: room, top });
        let shown = layout.rows.iter().enumerate().skip(top).take(most);
        let last = top + most;
        let lines = shown.map(|(n, row)| {
            let more = n == top && top > 0 || n + 1 == last && last < layout.rows.len();
            let mut line = Line::default();
            if gutter > 0 {
                line.push_span(sign(n, shell, more, look.theme));
            }
            spans(row, &found, width - gutter, look.theme, &mut line);
            line
        });
        let mut lines: Vec<Line<'static>> = lines.collect();
        if shell && top == 0 {
            label(&mut lines, width, look.theme);
        }
        let at = if shell && caret == 0 { 0 } else { gutter + at };
        Drawn { lines, cursor: Some((column(at.min(width - 1)), column(row - top))) }
    }

    fn empty(&self, gutter: usize, width: usize, theme: &Theme) -> Drawn {
        let mut line = Line::default();
        if gutter > 0 {
            line.push_span(sign(0, false, false, theme));
        }
        line.push_span(Span::styled(truncate_width(PLACEHOLDER, width - gutter), theme.dim));
        Drawn { lines: vec![line], cursor: Some((column(gutter), 0)) }
    }
}

/// The first row to show: the same as before, as long as the caret is in sight.
fn scrolled(top: usize, caret: usize, rows: usize, most: usize) -> usize {
    let top = top.min(rows.saturating_sub(most));
    top.clamp((caret + 1).saturating_sub(most), caret)
}

fn sign(row: usize, shell: bool, more: bool, theme: &Theme) -> Span<'static> {
    match (row, shell) {
        (0, true) => Span::styled("! ", theme.warning),
        (0, false) => Span::styled("› ", theme.accent),
        _ if more => Span::styled("⋮ ", theme.dim),
        _ => Span::raw("  "),
    }
}

/// Neighbours that look the same become one span.
fn spans(row: &Row<'_>, found: &Range<usize>, room: usize, theme: &Theme, line: &mut Line<'static>) {
    let mut used = 0;
    let mut run = String::new();
    let mut style = theme.text;
    for cell in &row.cells {
        used += cell.width;
        if used > room {
            break;
        }
        let cell_style = match cell.look {
            _ if found.contains(&cell.place.start) => theme.accent.patch(theme.strong),
            CellLook::Text => theme.text,
            CellLook::Chip => theme.accent,
            CellLook::Spelled => theme.warning,
        };
        if cell_style != style {
            flush(&mut run, style, line);
            style = cell_style;
        }
        run.push_str(&cell.drawn);
    }
    flush(&mut run, style, line);
}

fn flush(run: &mut String, style: Style, line: &mut Line<'static>) {
    if !run.is_empty() {
        line.push_span(Span::styled(std::mem::take(run), style));
    }
}

/// Says at the right what the sign means, where there is room for it.
fn label(lines: &mut [Line<'static>], width: usize, theme: &Theme) {
    let Some(line) = lines.first_mut() else { return };
    if let Some(gap) = width.checked_sub(line.width() + SHELL.len()).filter(|gap| *gap >= GUTTER) {
        line.push_span(Span::raw(" ".repeat(gap)));
        line.push_span(Span::styled(SHELL, theme.dim));
    }
}

fn search_row(search: &Search, width: usize, theme: &Theme) -> (Line<'static>, usize) {
    let head = if width < NARROW + SEARCH.len() { "" } else { SEARCH };
    let letters = truncate_width(&search.letters, width.saturating_sub(head.len() + 1));
    let cursor = head.len() + letters.width();
    let told = match (&search.found, search.letters.is_empty()) {
        (None, false) => " · nothing like that",
        (Some(_), _) | (None, true) => SEARCH_KEYS,
    };
    let mut line = Line::from(vec![Span::styled(head, theme.dim), Span::styled(letters, theme.strong)]);
    // The first column behind the letters is the cursor's.
    let room = width.saturating_sub(cursor + 1);
    if told.width() <= room {
        line.push_span(Span::styled(format!(" {told}"), theme.dim));
    }
    (line, cursor)
}

fn column(at: usize) -> u16 {
    u16::try_from(at).unwrap_or(u16::MAX)
}
