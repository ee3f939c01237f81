//! Keeps the composer in its row while a turn runs: where something above it gives way, blank rows stand until something is
//! printed there. Whoever types ahead keeps the caret under his eyes.

use ratatui_core::text::Line;

use super::view::Size;
use crate::term::Frame;

/// More are no rest but a hole.
const MOST: usize = 6;

#[derive(Debug, Default)]
pub(super) struct Calm {
    /// Rows above the composer in the last frame.
    above: usize,
    size: Option<Size>,
}

impl Calm {
    /// `above`: how many rows of the frame stand above the composer. `runs`: there is something to be calm about.
    pub(super) fn keep(&mut self, frame: &mut Frame, above: usize, size: Size, runs: bool) {
        let holds = runs && self.size == Some(size);
        let gone = self.above.saturating_sub(frame.history.len() + above);
        let blank = if holds { gone.min(MOST) } else { 0 };
        frame.live.splice(above..above, std::iter::repeat_n(Line::default(), blank));
        frame.cursor = frame.cursor.map(|(column, row)| (column, row + u16::try_from(blank).unwrap_or(0)));
        (self.above, self.size) = (above + blank, Some(size));
    }
}
