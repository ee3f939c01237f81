//! What is on the main screen, and the bytes that make it what it should be: history above, printed once, and the live region
//! below it, of which only changed cells are written. Pure. All moves are relative to the caret, so that nobody needs to know
//! where on the screen the region lies; history leaves the screen by line feeds alone, for that is what every terminal keeps
//! in its scrollback.

use std::sync::Arc;

use ratatui_core::text::Line;

use super::cells::{Row, RowShape, Shape};
use super::out::Out;
use crate::theme::Depth;

/// Unchanged cells between two changed ones that are written again rather than jumped over.
const NEAR: usize = 4;
/// Rows that a region moves up by at once; more are rare.
const FURTHEST: usize = 3;
/// From so many bytes on a terminal could show half a frame.
const LARGE: usize = 512;

/// A row of the screen, as far as it is known.
#[derive(Clone, Default)]
struct Shown {
    row: Arc<Row>,
    /// How far to the right it was written to since it was cleared as a whole.
    written: usize,
    /// Something of others may stand there.
    foreign: bool,
}

pub(super) struct Painter {
    pub(super) columns: u16,
    pub(super) rows: u16,
    pub(super) depth: Depth,
    pub(super) insert_lines: bool,
    pub(super) synchronised: bool,
    /// Blanks stay behind the end of a row that once reached further (tmux): they are broken anew like words, and copied.
    pub(super) keeps_blanks: bool,
    live: Vec<Shown>,
    /// The live region as it was asked for, and for how many columns: few rows of it change from frame to frame.
    made: (usize, Vec<(Line<'static>, Arc<Row>)>),
    caret: (usize, usize),
    visible: bool,
    /// Rows of history so far: what counts how far the region moved.
    printed: u64,
    /// The terminal was left to wrap the history of the last frame.
    wraps: bool,
}

/// Rows that only moved up: those from `top` to `bottom` are the ones that stood `by` rows further down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shift {
    top: usize,
    bottom: usize,
    by: usize,
}

/// What the screen shall show.
struct Wanted {
    history: Vec<Arc<Row>>,
    live: Vec<Arc<Row>>,
    caret: (usize, usize),
    visible: bool,
}

impl Painter {
    /// The cursor stands at the beginning of a row, nothing of ours is on the screen.
    pub(super) fn new(columns: u16, rows: u16, depth: Depth, insert_lines: bool) -> Self {
        Self {
            columns: columns.max(1),
            rows: rows.max(1),
            depth,
            insert_lines,
            synchronised: false,
            keeps_blanks: false,
            live: vec![Shown { foreign: true, ..Shown::default() }],
            made: (0, Vec::new()),
            caret: (0, 0),
            visible: true,
            printed: 0,
            wraps: false,
        }
    }

    /// The bytes for a frame, in one piece; none if nothing changes.
    pub(super) fn frame(
        &mut self,
        history: &[Line<'static>],
        live: &[Line<'static>],
        cursor: Option<(u16, u16)>,
    ) -> Vec<u8> {
        let wanted = self.wanted(history, live, cursor);
        let total = wanted.history.len() + wanted.live.len();
        self.wraps = total > usize::from(self.rows)
            || wanted.history.iter().any(|row| row.cells.len() > usize::from(self.columns));
        let (mut bytes, live) = if self.wraps { self.poured(&wanted) } else { self.fitted(&wanted) };
        self.live = live;
        self.caret = wanted.caret;
        self.printed += wanted.history.len() as u64;
        if wanted.visible != self.visible {
            self.visible = wanted.visible;
            bytes.extend_from_slice(if wanted.visible { b"\x1b[?25h" } else { b"\x1b[?25l" });
        } else if bytes.len() >= LARGE && !self.synchronised && self.visible {
            bytes = [b"\x1b[?25l".as_slice(), &bytes, b"\x1b[?25h"].concat();
        }
        if bytes.len() >= LARGE && self.synchronised {
            bytes = [b"\x1b[?2026h".as_slice(), &bytes, b"\x1b[?2026l"].concat();
        }
        bytes
    }

    fn wanted(
        &mut self,
        history: &[Line<'static>],
        live: &[Line<'static>],
        cursor: Option<(u16, u16)>,
    ) -> Wanted {
        let columns = usize::from(self.columns);
        // The end is what a person works at.
        let cut = live.len().saturating_sub(usize::from(self.rows));
        let mut live = self.made(&live[cut..]);
        if live.is_empty() {
            live.push(Arc::default());
        }
        let last = live.len() - 1;
        // Where none is shown it stands at the top: a window that gets lower loses the rows below it, which are drawn again, and
        // not those above it, which would be in the scrollback for ever.
        let caret = cursor.map_or((0, 0), |(column, row)| {
            (usize::from(row).saturating_sub(cut).min(last), usize::from(column).min(columns - 1))
        });
        Wanted {
            // Whole, even where they no longer fit: a terminal that breaks them loses nothing.
            history: history.iter().map(|line| Arc::new(Row::new(line, usize::MAX))).collect(),
            live,
            caret,
            visible: cursor.is_some(),
        }
    }

    /// Rows of cells. One that stood in its place before, or a little further down, is taken as it was.
    fn made(&mut self, live: &[Line<'static>]) -> Vec<Arc<Row>> {
        let columns = usize::from(self.columns);
        let (of_columns, before) = std::mem::take(&mut self.made);
        let before = if of_columns == columns { before } else { Vec::new() };
        let one = |(at, line): (usize, &Line<'static>)| {
            let near = before.iter().skip(at).take(1 + FURTHEST);
            let known = near.clone().find(|(known, _)| known == line);
            let row = known.map_or_else(|| Arc::new(Row::new(line, columns)), |(_, row)| Arc::clone(row));
            (line.clone(), row)
        };
        let made: Vec<(Line<'static>, Arc<Row>)> = live.iter().enumerate().map(one).collect();
        let rows = made.iter().map(|(_, row)| Arc::clone(row)).collect();
        self.made = (columns, made);
        rows
    }

    fn out(&self) -> Out {
        Out::new(self.depth, self.columns, self.caret.0, u16::try_from(self.caret.1).unwrap_or(u16::MAX))
    }

    /// All fits on the screen: the cheapest of the ways to push the region down below its history.
    fn fitted(&self, wanted: &Wanted) -> (Vec<u8>, Vec<Shown>) {
        let rows = usize::from(self.rows);
        let (before, history, after) = (self.live.len(), wanted.history.len(), wanted.live.len());
        let grown = (history + after).saturating_sub(before).min(history);
        let mut ways = vec![0];
        if self.insert_lines {
            // A window that got lower a moment ago must have room for all of them, or rows of the region leave it at the top.
            ways.extend([grown, history].into_iter().filter(|way| *way > 0 && way + before <= rows / 2));
            ways.dedup();
        }
        let mut painted: Vec<_> =
            ways.into_iter().map(|inserted| self.painted(wanted, inserted, None)).collect();
        if let Some(shift) = self.shift(wanted).filter(|_| self.insert_lines) {
            painted.push(self.painted(wanted, 0, Some(shift)));
        }
        painted.into_iter().min_by_key(|(bytes, _)| bytes.len()).unwrap_or_default()
    }

    /// A text that grows at the bottom of the region moves the rest of it up, if nothing else changes.
    fn shift(&self, wanted: &Wanted) -> Option<Shift> {
        /// Fewer rows are written as quickly as they are moved.
        const LEAST: usize = 3;
        if !wanted.history.is_empty() || wanted.live.len() != self.live.len() {
            return None;
        }
        let moved = |at: usize, by: usize| {
            let before = self.live.get(at + by);
            before.is_some_and(|shown| !shown.foreign && is_same(&shown.row, &wanted.live[at]))
        };
        let stays = |at: usize| is_same(&self.live[at].row, &wanted.live[at]);
        let found = (1..=FURTHEST).filter_map(|by| {
            let top = (0..wanted.live.len()).find(|at| !stays(*at) && moved(*at, by))?;
            let rows = (top..wanted.live.len()).take_while(|at| moved(*at, by)).count();
            (rows >= LEAST).then_some(Shift { top, bottom: top + rows + by, by })
        });
        found.max_by_key(|shift| shift.bottom - shift.top)
    }

    /// With so many lines inserted above the region, or some of its own moved up, the rest by writing cells anew.
    fn painted(&self, wanted: &Wanted, inserted: usize, shift: Option<Shift>) -> (Vec<u8>, Vec<Shown>) {
        let before = self.live.len();
        let total = wanted.history.len() + wanted.live.len();
        let grown = total.saturating_sub(inserted + before);
        let mut out = self.out();
        // Other rows that come at the bottom come when they are written: what leaves the screen then is history already.
        if inserted > 0 {
            out.go(before - 1, 0);
            out.down(inserted);
            out.go(0, 0);
            out.code(&format!("\x1b[{inserted}L"));
        }
        let mut shown = vec![Shown::default(); inserted];
        shown.extend_from_slice(&self.live);
        shown.resize(shown.len() + grown, Shown { foreign: true, ..Shown::default() });
        if let Some(Shift { top, bottom, by }) = shift {
            out.go(top, 0);
            out.code(&format!("\x1b[{by}M"));
            out.go(bottom - by, 0);
            out.code(&format!("\x1b[{by}L"));
            shown.drain(top..top + by);
            shown.splice(bottom - by..bottom - by, vec![Shown::default(); by]);
        }
        let rows = wanted.history.iter().chain(&wanted.live);
        for (at, row) in rows.enumerate() {
            let (is_history, shown) = (at < wanted.history.len(), &mut shown[at]);
            // Only a row that is cleared from its beginning is rid of them, and this one is printed for good. A window that got
            // lower a moment ago may have lost the rows below the caret.
            let has_blanks = self.keeps_blanks && shown.written > row.cells.len();
            shown.foreign |= is_history && (has_blanks || at > inserted + self.caret.0);
            write(&mut out, at, shown, row);
        }
        for (at, left) in shown.iter_mut().enumerate().skip(total) {
            write(&mut out, at, left, &Arc::default());
        }
        shown.truncate(total);
        (self.finished(out, wanted, true), shown.split_off(wanted.history.len()))
    }

    /// More than the screen holds: written from the region's top on, as it comes.
    fn poured(&self, wanted: &Wanted) -> (Vec<u8>, Vec<Shown>) {
        let mut out = self.out();
        out.go(0, 0);
        // A terminal that breaks a row, being narrower than is known, goes on in a row that must be empty.
        out.code(&self.gone());
        let rows = wanted.history.iter().chain(&wanted.live);
        let mut shown = Vec::new();
        for (at, row) in rows.enumerate() {
            if at > 0 {
                out.down(1);
                out.go(at, 0);
            }
            if at == wanted.history.len() {
                // History may be broken by the terminal, the live region never.
                out.code("\x1b[?7l");
            }
            out.cells(row, 0, row.cells.len());
            if at >= wanted.history.len() {
                shown.push(Shown { row: Arc::clone(row), written: row.cells.len(), foreign: false });
            }
        }
        (self.finished(out, wanted, false), shown)
    }

    fn finished(&self, mut out: Out, wanted: &Wanted, guard: bool) -> Vec<u8> {
        out.plain();
        let printed = out.printed;
        out.go(wanted.history.len() + wanted.caret.0, wanted.caret.1);
        if !printed {
            return out.bytes;
        }
        // A terminal that takes a character for wider than we do, or got narrower a moment ago, must not go on in the next row.
        let begin: &[u8] = if guard { b"\x1b[?7l" } else { b"" };
        [begin, &out.bytes, b"\x1b[?7h"].concat()
    }

    /// Takes the region away; the cursor stands where it began. `above` is how many rows of it lie above the caret.
    pub(super) fn erase(&mut self, above: usize) -> Vec<u8> {
        let up = if above > 0 { format!("\x1b[{above}A") } else { String::new() };
        let gone = self.gone();
        let shown = if self.visible { "" } else { "\x1b[?25h" };
        self.forget();
        format!("{up}\r{gone}{shown}").into_bytes()
    }

    /// Clears the row of the cursor and all below. Not "erase below": tmux takes that for a wish to keep the screen when the
    /// region fills it.
    fn gone(&self) -> String {
        if self.insert_lines { format!("\x1b[{}M", self.rows) } else { "\x1b[J".to_owned() }
    }

    /// Nothing of ours is on the screen any more; the cursor stands at the beginning of a row.
    pub(super) fn forget(&mut self) {
        self.live = vec![Shown { foreign: true, ..Shown::default() }];
        self.caret = (0, 0);
        self.visible = true;
    }

    pub(super) fn wrapped_history(&self) -> bool {
        self.wraps
    }

    pub(super) fn rows_above_caret(&self) -> usize {
        self.caret.0
    }

    /// How far down what is printed next does no harm.
    pub(super) fn rows_to_leave(&self) -> usize {
        match self.live.as_slice() {
            [only] if only.row.cells.is_empty() => 0,
            rows => rows.len() - self.caret.0,
        }
    }

    pub(super) fn cursor_shown(&self) -> &'static [u8] {
        if self.visible { b"\x1b[?25h" } else { b"\x1b[?25l" }
    }

    pub(super) fn live_rows(&self) -> usize {
        self.live.len()
    }

    /// Where the caret is, counted in rows since the beginning.
    pub(super) fn caret_ever(&self) -> u64 {
        self.printed + self.caret.0 as u64
    }

    pub(super) fn shape(&self) -> Shape {
        let rows = self.live.iter().map(|shown| RowShape::new(&shown.row, shown.written)).collect();
        Shape { rows, caret: self.caret }
    }
}

fn is_same(one: &Arc<Row>, other: &Arc<Row>) -> bool {
    Arc::ptr_eq(one, other) || one.cells == other.cells
}

/// Makes a row what it should be, by as few cells as possible.
fn write(out: &mut Out, at: usize, shown: &mut Shown, wanted: &Arc<Row>) {
    if !shown.foreign && Arc::ptr_eq(&shown.row, wanted) {
        return;
    }
    if shown.foreign {
        out.go(at, 0);
        out.erase_rest();
        *shown = Shown::default();
    }
    let (old, new) = (&shown.row.cells, &wanted.cells);
    let differs = |x: usize| old.get(x) != new.get(x);
    let mut x = 0;
    while x < new.len() {
        if !differs(x) {
            x += 1;
            continue;
        }
        let from = (0..=x).rev().find(|x| !new[*x].symbol().is_empty()).unwrap_or(x);
        let mut to = x + 1;
        let mut same = 0;
        for (next, cell) in new.iter().enumerate().skip(x + 1) {
            // A wide character is written whole.
            if differs(next) || cell.symbol().is_empty() && next == to {
                to = next + 1;
                same = 0;
            } else {
                same += 1;
                if same > NEAR {
                    break;
                }
            }
        }
        out.go(at, from);
        out.cells(wanted, from, to);
        x = to;
    }
    if old.len() > new.len() {
        out.go(at, new.len());
        out.erase_rest();
        if new.is_empty() {
            shown.written = 0;
        }
    }
    shown.written = shown.written.max(new.len());
    shown.row = Arc::clone(wanted);
}
