//! Rows of cells, as they stand on the screen.

use ratatui_core::buffer::Cell;
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::capabilities::Reflow;

/// From the left, without the blanks at the end. The cells a wide character covers besides its first are empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Row {
    pub(super) cells: Vec<Cell>,
}

impl Row {
    /// What of a line fits.
    pub(super) fn new(line: &Line<'_>, columns: usize) -> Self {
        let mut cells: Vec<Cell> = Vec::new();
        'line: for span in &line.spans {
            let style = Style::new().patch(line.style).patch(span.style);
            if span.content.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
                // What most of it is: a byte, a character, a column.
                let room = columns - cells.len();
                let (full, end) = (span.content.len() > room, span.content.len().min(room));
                cells.extend(span.content[..end].chars().map(|c| plain(c, style)));
                if full {
                    break 'line;
                }
                continue;
            }
            for cluster in span.content.graphemes(true) {
                let width = cluster.width();
                if cells.len() + width > columns {
                    break 'line;
                }
                if width == 0 || cluster.chars().any(char::is_control) {
                    join(&mut cells, cluster);
                    continue;
                }
                let mut cell = Cell::EMPTY;
                cell.set_symbol(cluster).set_style(style);
                if is_blank(&cell) {
                    cell = Cell::EMPTY;
                }
                cells.push(cell.clone());
                cell.set_symbol("");
                cells.resize(cells.len() + width - 1, cell);
            }
        }
        let mut row = Self { cells };
        let seen = row.cells.iter().rposition(|cell| !is_blank(cell)).map_or(0, |last| last + 1);
        row.cells.truncate(seen);
        row
    }

    /// Returns all from this column on.
    pub(super) fn line_from(&self, column: usize) -> Line<'static> {
        let cells = self.cells.iter().skip(column).filter(|cell| !cell.symbol().is_empty());
        cells.map(|cell| Span::styled(cell.symbol().to_owned(), cell.style())).collect()
    }

    /// Of the character that begins here.
    pub(super) fn width_at(&self, at: usize) -> usize {
        1 + self.cells[at + 1..].iter().take_while(|cell| cell.symbol().is_empty()).count()
    }
}

fn plain(c: char, style: Style) -> Cell {
    let mut cell = Cell::EMPTY;
    cell.set_char(c).set_style(style);
    if is_blank(&cell) { Cell::EMPTY } else { cell }
}

/// A mark without room of its own belongs to what stands before it.
fn join(cells: &mut [Cell], mark: &str) {
    if mark.chars().any(char::is_control) {
        return;
    }
    if let Some(cell) = cells.iter_mut().rfind(|cell| !cell.symbol().is_empty()) {
        let joined = format!("{}{mark}", cell.symbol());
        cell.set_symbol(&joined);
    }
}

/// Nothing to see, so nothing to write: what a terminal shows where nobody wrote.
pub(super) fn is_blank(cell: &Cell) -> bool {
    let shows = Modifier::REVERSED | Modifier::UNDERLINED | Modifier::CROSSED_OUT;
    cell.symbol() == " " && cell.bg == Color::Reset && !cell.modifier.intersects(shows)
}

/// Terminals disagree about how wide this is.
pub(super) fn is_doubtful(symbol: &str) -> bool {
    if symbol.is_ascii() {
        return false;
    }
    let mut chars = symbol.chars();
    match (chars.next(), chars.next()) {
        (Some(one), None) => {
            one >= '\u{1f000}' || ('\u{2300}'..='\u{2bff}').contains(&one) || one.width() != one.width_cjk()
        }
        _ => true,
    }
}

/// How wide the characters of a row are, and how far to the right it was ever written to.
#[derive(Clone, Debug, Default)]
pub(super) struct RowShape {
    widths: Vec<u8>,
    written: usize,
}

/// All that decides where the live region is after the terminal changed its size.
#[derive(Clone, Debug, Default)]
pub(super) struct Shape {
    pub(super) rows: Vec<RowShape>,
    pub(super) caret: (usize, usize),
}

impl RowShape {
    pub(super) fn new(row: &Row, written: usize) -> Self {
        let begins = (0..row.cells.len()).filter(|at| !row.cells[*at].symbol().is_empty());
        let widths = begins.map(|at| u8::try_from(row.width_at(at)).unwrap_or(1)).collect();
        Self { widths, written: written.max(row.cells.len()) }
    }

    /// At which columns a narrower terminal breaks it.
    pub(super) fn breaks(&self, columns: usize, reflow: Reflow) -> Vec<usize> {
        let content: usize = self.widths.iter().map(|width| usize::from(*width)).sum();
        let blanks = match reflow {
            Reflow::Cut => return Vec::new(),
            Reflow::Content => 0,
            Reflow::Written => self.written.saturating_sub(content),
        };
        let mut breaks = Vec::new();
        let (mut at, mut used) = (0, 0);
        for width in self.widths.iter().map(|width| usize::from(*width)).chain(std::iter::repeat_n(1, blanks))
        {
            if used + width > columns {
                breaks.push(at);
                used = 0;
            }
            at += width;
            used += width;
        }
        breaks
    }
}

impl Shape {
    /// How many rows lie above the caret's, and the caret's column, once the terminal is so wide.
    pub(super) fn above_caret(&self, columns: usize, reflow: Reflow) -> (usize, usize) {
        let (row, column) = self.caret;
        let above: usize = self.rows.iter().take(row).map(|row| 1 + row.breaks(columns, reflow).len()).sum();
        let breaks = self.rows.get(row).map(|row| row.breaks(columns, reflow)).unwrap_or_default();
        let passed: Vec<&usize> = breaks.iter().filter(|at| **at <= column).collect();
        let column = column - passed.last().map_or(0, |at| **at);
        (above + passed.len(), column.min(columns.saturating_sub(1)))
    }
}
