//! What a change of size leads to. Terminals break rows anew before we hear of it, and tmux tells of many changes only once,
//! up to a quarter of a second late. So nothing is drawn until it has been quiet; then the live region is where its shape says,
//! checked by asking for the cursor, and is drawn anew below a history that nobody touched.
//! A frame that was under way at that very moment went to the wrong rows: frames that move history begin with a question
//! for the size, and the answer tells which of them that happened to.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use ratatui_core::text::Line;

use super::capabilities::Reflow;
use super::cells::Shape;

const QUIET: Duration = Duration::from_millis(100);
/// tmux passes changes on every 250 ms.
const QUIET_IN_TMUX: Duration = Duration::from_millis(300);
/// For the answer to where the cursor is, from a terminal that never answered anything; and from one that does, for it may be
/// busy with breaking thousands of rows, and its earlier answers count too.
const ANSWER: Duration = Duration::from_millis(150);
const SURE_ANSWER: Duration = Duration::from_secs(2);
/// An answer that did not come until then never will.
const LOST: Duration = Duration::from_secs(5);
const MOST_UNDER_WAY: usize = 3;
/// Over a slow line nobody shall wait for answers.
const CATCH_UP: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    Steady,
    /// Changes may still come, until then.
    Unquiet(Instant),
    /// Where the cursor is was asked; until then the answer counts.
    Asked(Instant),
}

impl Phase {
    pub(super) fn unquiet(now: Instant, tmux: bool) -> Self {
        Self::Unquiet(now + if tmux { QUIET_IN_TMUX } else { QUIET })
    }

    pub(super) fn asked(now: Instant, answers: bool) -> Self {
        Self::Asked(now + if answers { SURE_ANSWER } else { ANSWER })
    }

    pub(super) fn ends(self) -> Option<Instant> {
        match self {
            Self::Steady => None,
            Self::Unquiet(until) | Self::Asked(until) => Some(until),
        }
    }
}

/// A frame that moved history, until it is known which size the terminal had when it came.
pub(super) struct Sent {
    /// How wide the terminal was that it was made for.
    pub(super) columns: u16,
    /// What was on the screen before it.
    pub(super) before: Shape,
    pub(super) caret_ever: u64,
    pub(super) history: Vec<Line<'static>>,
}

/// Questions for the size that are not answered yet, in the order of asking.
#[derive(Default)]
pub(super) struct Sizes {
    open: VecDeque<(Instant, Option<Sent>)>,
    /// None until the terminal has answered once. Some tell columns first.
    columns_first: Option<bool>,
}

impl Sizes {
    /// Which of the two is the width.
    pub(super) fn columns(&self, first: u16, second: u16) -> Option<u16> {
        self.columns_first.map(|columns_first| if columns_first { first } else { second })
    }

    /// Whether it is worth asking.
    pub(super) fn are_told(&self) -> bool {
        self.columns_first.is_some()
    }

    pub(super) fn asked(&mut self, now: Instant, about: Option<Sent>) {
        // Whoever had the terminal in between may have taken the answer.
        while self.open.front().is_some_and(|(asked, _)| now.saturating_duration_since(*asked) > LOST) {
            self.open.pop_front();
        }
        self.open.push_back((now, about));
    }

    /// Another program had the terminal: what is open stays so.
    pub(super) fn give_up(&mut self) {
        self.open.clear();
    }

    /// The terminal has not come to the last frames yet; until then it may be waited for, so that not many of them can meet
    /// another size.
    pub(super) fn behind_until(&self) -> Option<Instant> {
        match self.open.front() {
            Some((asked, _)) if self.open.len() >= MOST_UNDER_WAY => Some(*asked + CATCH_UP),
            Some(_) | None => None,
        }
    }

    /// Frames that went wrong, oldest first; none if all is well. `now` is the size as the kernel has it.
    pub(super) fn told(&mut self, first: u16, second: u16, now: (u16, u16)) -> Vec<Sent> {
        self.columns_first.get_or_insert((first, second) == now && now.0 != now.1);
        let columns = self.columns(first, second).unwrap_or(u16::MAX);
        // In a wider one all rows are where they were.
        match self.open.pop_front() {
            Some((_, Some(sent))) if columns < sent.columns => {
                let rest = self.open.iter_mut().filter_map(|(_, sent)| sent.take());
                std::iter::once(sent).chain(rest).collect()
            }
            Some(_) | None => Vec::new(),
        }
    }

    /// The screen is drawn anew: what happened before is of no interest.
    pub(super) fn forget(&mut self) {
        self.open.iter_mut().for_each(|(_, sent)| *sent = None);
    }
}

/// How many rows of the region lie above the caret, in a terminal that is so wide now. `cursor` is what the terminal said.
pub(super) fn rows_above(shape: &Shape, columns: u16, reflow: Reflow, cursor: Option<(u16, u16)>) -> usize {
    let columns = usize::from(columns.max(1));
    let (above, column) = shape.above_caret(columns, reflow);
    let Some((at_row, at_column)) = cursor else { return above };
    let (at_row, at_column) =
        (usize::from(at_row).saturating_sub(1), usize::from(at_column).saturating_sub(1));
    let other = match reflow {
        Reflow::Cut => Reflow::Content,
        Reflow::Content | Reflow::Written => Reflow::Cut,
    };
    let (otherwise, other_column) = shape.above_caret(columns, other);
    let above = if at_column != column && at_column == other_column { otherwise } else { above };
    // What left the screen at the top is out of reach.
    above.min(at_row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::cells::{Row, RowShape};

    fn shape(rows: &[&str], caret: (usize, usize)) -> Shape {
        let rows = rows.iter().map(|text| Row::new(&Line::from((*text).to_owned()), 1_000));
        Shape { rows: rows.map(|row| RowShape::new(&row, 0)).collect(), caret }
    }

    #[test]
    fn the_region_grows_by_what_no_longer_fits() {
        let live = shape(&[&"x".repeat(80), "short", &"中".repeat(20), "> ab"], (3, 4));
        let above = |columns, reflow| rows_above(&live, columns, reflow, None);
        assert_eq!(above(80, Reflow::Content), 3);
        assert_eq!(above(40, Reflow::Content), 4);
        // Nineteen wide characters in 39 columns, and one in the next row.
        assert_eq!(above(39, Reflow::Content), 3 + 2 + 1);
        assert_eq!(above(39, Reflow::Cut), 3);
    }

    #[test]
    fn the_caret_moves_with_its_row() {
        let live = shape(&["a", &"x".repeat(50)], (1, 45));
        assert_eq!(rows_above(&live, 20, Reflow::Content, None), 1 + 2);
        // The terminal says that it cut the row off.
        assert_eq!(rows_above(&live, 20, Reflow::Content, Some((9, 20))), 1);
        // Half of it went off the screen.
        assert_eq!(rows_above(&live, 20, Reflow::Content, Some((2, 6))), 1);
    }

    #[test]
    fn a_frame_that_met_another_size_is_found_with_all_that_followed() {
        let sent = |columns| Some(Sent { columns, before: Shape::default(), caret_ever: 0, history: vec![] });
        let (mut sizes, now) = (Sizes::default(), Instant::now());
        sizes.asked(now, None);
        assert!(!sizes.are_told());
        assert!(sizes.told(80, 24, (80, 24)).is_empty() && sizes.are_told());
        for _ in 0..4 {
            sizes.asked(now, sent(80));
        }
        assert!(sizes.behind_until() > Some(now));
        assert!(sizes.told(80, 24, (80, 24)).is_empty());
        assert_eq!(sizes.told(60, 24, (80, 24)).len(), 3);
        assert!(sizes.told(60, 24, (60, 24)).is_empty() && sizes.told(60, 24, (60, 24)).is_empty());
        assert_eq!(sizes.behind_until(), None);
        // An answer that got lost does not make later ones mean another frame, nor anybody wait.
        for later in [0, 1, 6] {
            sizes.asked(now + Duration::from_secs(later), sent(80));
        }
        assert_eq!(sizes.behind_until(), None);
        sizes.give_up();
        // Wider does no harm.
        sizes.asked(now, sent(60));
        assert!(sizes.told(90, 24, (90, 24)).is_empty());
    }
}
