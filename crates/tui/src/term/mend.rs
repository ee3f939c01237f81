//! Frames that met a terminal narrower than they were made for. All from the region before them on is taken away, and
//! their history is printed again; but not what left the screen since, for that stays.

use ratatui_core::text::Line;

use super::capabilities::Reflow;
use super::cells::{Row, RowShape, Shape};

/// A frame that moved history, until it is known which size the terminal had when it came.
pub(super) struct Sent {
    /// Width of the terminal that it was made for.
    pub(super) columns: u16,
    /// The region before it.
    pub(super) before: Shape,
    pub(super) caret_ever: u64,
    pub(super) history: Vec<Line<'static>>,
    /// Rows of history that do not fit are wrapped and not cut off.
    pub(super) wraps: bool,
}

/// Such a frame, and how wide the terminal really was.
pub(super) struct Misplaced {
    pub(super) sent: Sent,
    pub(super) columns: u16,
}

/// The part of the screen that is taken away.
pub(super) struct Mended {
    /// Rows of it above the caret.
    pub(super) above: usize,
    /// Rows of the live region among them.
    live: usize,
    history: Vec<PrintedLine>,
}

/// A line of history on the screen.
struct PrintedLine {
    line: Line<'static>,
    /// Columns at which the terminal goes on in another row.
    breaks: Vec<usize>,
}

impl PrintedLine {
    fn height(&self) -> usize {
        1 + self.breaks.len()
    }

    /// As many of its last rows.
    fn last_rows(self, rows: usize) -> Line<'static> {
        match self.height().checked_sub(rows + 1).and_then(|before| self.breaks.get(before)) {
            Some(from) => Row::new(&self.line, usize::MAX).line_from(*from),
            None => self.line,
        }
    }
}

/// The terminal and the caret as they are now.
pub(super) struct CaretNow {
    pub(super) columns: u16,
    pub(super) reflow: Reflow,
    /// Rows counted since the beginning.
    pub(super) ever: u64,
    /// Rows of the live region above it.
    pub(super) above: usize,
    /// The screen's row of it, counted from 0, if the terminal told it.
    pub(super) row: Option<usize>,
}

impl Misplaced {
    fn into_printed(self, now: &CaretNow) -> impl Iterator<Item = PrintedLine> {
        let met = usize::from(self.columns);
        let columns = match now.reflow {
            Reflow::Cut => met,
            Reflow::Content | Reflow::Written => usize::from(now.columns),
        };
        let printed = if self.sent.wraps { usize::MAX } else { met };
        self.sent.history.into_iter().map(move |line| {
            let breaks = RowShape::new(&Row::new(&line, printed), 0).breaks(columns, Reflow::Content);
            PrintedLine { line, breaks }
        })
    }
}

impl Mended {
    /// `wrong` in the order of sending.
    pub(super) fn new(wrong: Vec<Misplaced>, now: &CaretNow) -> Self {
        let mut all = Self { above: now.above, live: now.above, history: Vec::new() };
        let Some(Misplaced { sent: first, .. }) = wrong.first() else { return all };
        let (above, _) = first.before.above_caret(usize::from(now.columns), now.reflow);
        let moved = usize::try_from(now.ever.saturating_sub(first.caret_ever)).unwrap_or(usize::MAX);
        all.history = wrong.into_iter().flat_map(|frame| frame.into_printed(now)).collect();
        let wrapped: usize = all.history.iter().map(|line| line.breaks.len()).sum();
        all.above = above.saturating_add(moved).saturating_add(wrapped);
        // Without an answer no line is touched that was printed.
        let reached = now.row.unwrap_or(now.above);
        if reached < all.above {
            // Only whole lines: what is left of one that is half gone stays with its beginning.
            let mut room = reached.saturating_sub(all.live);
            let whole = all.history.iter().rev().map_while(|line| {
                room = room.checked_sub(line.height())?;
                Some(line.height())
            });
            let heights: Vec<usize> = whole.collect();
            all.above = all.live.min(reached) + heights.iter().sum::<usize>();
            all.history.drain(..all.history.len() - heights.len());
        }
        all
    }

    /// Returns what is to be printed again. `row` is the screen's row the caret was in when all was taken away; what lay above
    /// the first one stays.
    pub(super) fn into_history(self, row: Option<usize>) -> Vec<Line<'static>> {
        let gone = row.map_or(0, |row| self.above.saturating_sub(row));
        let mut lines = self.history.into_iter();
        let mut left = gone;
        let mut history = Vec::new();
        while left > 0
            && let Some(line) = lines.next()
        {
            let height = line.height();
            if left < height {
                history.push(line.last_rows(height - left));
            }
            left = left.saturating_sub(height);
        }
        history.extend(lines.map(|line| line.line));
        history
    }
}
