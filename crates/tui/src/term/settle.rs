//! What a change of size leads to. Terminals break rows anew before we hear of it, and tmux tells of many changes only once,
//! up to a quarter of a second late. So nothing is drawn until it has been quiet; then the live region is where its shape says,
//! checked by asking for the cursor, and is drawn anew below a history that nobody touched.
//! A frame that was under way at that very moment went to the wrong rows: frames that move history begin with a question
//! for the size, and the answer tells which of them that happened to ([`super::mend`]). A lower terminal does them no harm while
//! it has half the rows that were known: see the painter. The same question behind what is long tells how far a slow
//! line has come: no more is sent than it can show, and keys are heard meanwhile. Who does not tell his size is asked who he is,
//! which everybody answers.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::capabilities::Reflow;
use super::cells::Shape;
use super::mend::{Misplaced, Sent};

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
/// For them; a slow line has a measure of its own.
const CATCH_UP: Duration = Duration::from_millis(50);
/// Who takes longer to answer is far away or slow.
const SLOW: Duration = Duration::from_millis(100);
/// Bytes that may be under way to such a one: what it shows in a second, but no less than this and no more than that.
const LEAST_BYTES: usize = 2 << 10;
const MOST_BYTES: usize = 64 << 10;
/// Shorter than this says nothing of how fast it is.
const MEASURABLE: Duration = Duration::from_millis(20);
/// So many are worth a question how far they came.
const WORTH_ASKING: usize = 512;
/// For one that has so much to show.
const PATIENCE: Duration = Duration::from_secs(4);

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

/// What a terminal is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    Size,
    /// What kind it is.
    Kind,
}

impl Question {
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::Size => "\x1b[18t",
            Self::Kind => "\x1b[c",
        }
    }
}

struct Asked {
    what: Question,
    at: Instant,
    about: Option<Sent>,
    /// Bytes before it that an answer is about.
    covers: usize,
}

/// Questions that are not answered yet, in the order of asking, which is that of the answers.
#[derive(Default)]
pub(super) struct Sizes {
    open: VecDeque<Asked>,
    /// Bytes written since the last question.
    since: usize,
    /// The last answer took its time.
    slow: bool,
    answered: Option<Instant>,
    /// What it shows in a second, as far as that is known.
    a_second: usize,
    /// None until the terminal has told its size once. Some tell columns first.
    columns_first: Option<bool>,
    /// It has said what kind it is.
    known: bool,
}

impl Sizes {
    /// Which of the two is the width.
    pub(super) fn columns(&self, first: u16, second: u16) -> Option<u16> {
        self.columns_first.map(|columns_first| if columns_first { first } else { second })
    }

    /// Whether it is worth asking for one.
    pub(super) fn are_told(&self) -> bool {
        self.columns_first.is_some()
    }

    /// What it answers, if anything: to ask that is to hear how far it has come.
    pub(super) fn question(&self) -> Option<Question> {
        match (self.are_told(), self.known) {
            (true, _) => Some(Question::Size),
            (false, true) => Some(Question::Kind),
            (false, false) => None,
        }
    }

    pub(super) fn asked(&mut self, what: Question, now: Instant, about: Option<Sent>) {
        // Whoever had the terminal in between may have taken the answer.
        while self.open.front().is_some_and(|asked| now.saturating_duration_since(asked.at) > LOST) {
            self.open.pop_front();
        }
        self.open.push_back(Asked { what, at: now, about, covers: std::mem::take(&mut self.since) });
    }

    pub(super) fn wrote(&mut self, bytes: usize) {
        self.since += bytes;
    }

    /// So much was written that it is worth knowing how far it came.
    pub(super) fn are_wanted(&self) -> bool {
        self.since > WORTH_ASKING
    }

    /// A slow line still has enough to show; until then it may be waited for.
    pub(super) fn full_until(&self, now: Instant) -> Option<Instant> {
        // One that never answered anything is not waited for.
        let oldest = self.open.front().filter(|_| self.question().is_some())?;
        let under_way = self.since + self.open.iter().map(|asked| asked.covers).sum::<usize>();
        let slow = now.saturating_duration_since(oldest.at) > SLOW;
        let most = self.a_second.clamp(LEAST_BYTES, MOST_BYTES);
        (slow && under_way > most).then(|| oldest.at + PATIENCE).filter(|until| *until > now)
    }

    /// Another program had the terminal: what is open stays so.
    pub(super) fn give_up(&mut self) {
        self.open.clear();
    }

    /// All that was asked is answered, or will never be: what was written before it is on the screen.
    pub(super) fn are_answered(&self, now: Instant) -> bool {
        self.open.iter().all(|asked| now.saturating_duration_since(asked.at) > LOST)
    }

    /// The terminal has not come to the last frames yet; until then it may be waited for, so that not many of them can meet
    /// another size.
    pub(super) fn behind_until(&self) -> Option<Instant> {
        let mut moving = self.open.iter().filter(|asked| asked.about.is_some());
        let oldest = moving.next()?;
        (moving.count() + 1 >= MOST_UNDER_WAY).then(|| oldest.at + CATCH_UP)
    }

    /// What is behind such a line gets history bit by bit.
    pub(super) fn is_slow(&self) -> bool {
        self.slow
    }

    /// The frame this size is about, if it went to wrong rows: the terminal had become narrower before it came.
    /// `size` is what the kernel has; `follows` says that a frame before it went wrong already.
    pub(super) fn told(
        &mut self,
        first: u16,
        second: u16,
        size: (u16, u16),
        follows: bool,
        now: Instant,
    ) -> Option<Misplaced> {
        self.columns_first.get_or_insert((first, second) == size && size.0 != size.1);
        let asked = self.answers(Question::Size, now);
        let sent = if asked { self.open.pop_front()?.about? } else { return None };
        let columns = self.columns(first, second)?;
        // In a wider one all rows are where they were.
        (follows || columns < sent.columns).then_some(Misplaced { sent, columns })
    }

    /// Frames the terminal never told its size about.
    pub(super) fn take_untold(&mut self, columns: u16) -> Vec<Misplaced> {
        let untold = self.open.iter_mut().filter_map(|asked| asked.about.take());
        untold.map(|sent| Misplaced { sent, columns }).collect()
    }

    /// It said what kind it is.
    pub(super) fn kind_told(&mut self, now: Instant) {
        if self.answers(Question::Kind, now) {
            self.known = true;
            self.open.pop_front();
        }
    }

    /// An answer to the first such question comes now, so that those before it will never be answered: how long it took, and
    /// how much was shown in that time.
    fn answers(&mut self, what: Question, now: Instant) -> bool {
        let Some(at) = self.open.iter().position(|asked| asked.what == what) else { return false };
        let before: usize = self.open.drain(..at).map(|asked| asked.covers).sum();
        let Some(asked) = self.open.front_mut() else { return false };
        asked.covers += before;
        self.slow = now.saturating_duration_since(asked.at) > SLOW;
        let before = self.answered.replace(now).map_or(asked.at, |answered| answered.max(asked.at));
        let took = now.saturating_duration_since(before);
        if took > MEASURABLE && asked.covers > 0 {
            self.a_second = (asked.covers as f64 / took.as_secs_f64()) as usize;
        }
        true
    }

    /// The screen is drawn anew: what happened before is of no interest.
    pub(super) fn forget(&mut self) {
        self.open.iter_mut().for_each(|asked| asked.about = None);
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
    use ratatui_core::text::Line;

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
        let sent = |columns| {
            let (before, history) = (Shape::default(), Vec::new());
            Some(Sent { columns, before, caret_ever: 0, history, wraps: false })
        };
        let (mut sizes, now) = (Sizes::default(), Instant::now());
        sizes.asked(Question::Size, now, None);
        assert!(!sizes.are_told());
        assert!(sizes.told(80, 24, (80, 24), false, now).is_none() && sizes.are_told());
        for _ in 0..4 {
            sizes.asked(Question::Size, now, sent(80));
        }
        assert!(sizes.behind_until() > Some(now));
        let mut met = |columns, rows, follows| {
            sizes.told(columns, rows, (80, 24), follows, now).map(|wrong| wrong.columns)
        };
        assert_eq!(met(80, 24, false), None);
        assert_eq!(met(60, 24, false), Some(60));
        // It went to rows that the one before it had moved.
        assert_eq!(met(90, 30, true), Some(90));
        assert_eq!(sizes.take_untold(70).iter().map(|wrong| wrong.columns).collect::<Vec<_>>(), [70]);
        assert!(sizes.told(60, 24, (60, 24), false, now).is_none());
        assert_eq!(sizes.behind_until(), None);
        // An answer that got lost does not make later ones mean another frame, nor anybody wait.
        for later in [0, 1, 6] {
            sizes.asked(Question::Size, now + Duration::from_secs(later), sent(80));
        }
        assert_eq!(sizes.behind_until(), None);
        sizes.give_up();
        // Wider does no harm.
        sizes.asked(Question::Size, now, sent(60));
        assert!(sizes.told(90, 24, (90, 24), false, now).is_none());
    }

    #[test]
    fn a_slow_line_gets_no_more_than_it_can_show() {
        let (mut sizes, start) = (Sizes::default(), Instant::now());
        let after = |ms: u64| start + Duration::from_millis(ms);
        sizes.asked(Question::Size, start, None);
        sizes.wrote(9_000);
        assert_eq!(sizes.full_until(after(500)), None, "nobody knows whether it answers");
        sizes = Sizes::default();
        sizes.asked(Question::Size, start, None);
        sizes.told(80, 24, (80, 24), false, after(1));
        assert!(!sizes.is_slow());
        sizes.wrote(500);
        assert!(!sizes.are_wanted(), "a letter is not worth a question");
        sizes.wrote(2_000);
        assert!(sizes.are_wanted());
        sizes.asked(Question::Size, after(10), None);
        // It may be quick, and then nobody waits.
        assert_eq!(sizes.full_until(after(60)), None);
        assert_eq!(sizes.full_until(after(200)), Some(after(10) + PATIENCE));
        sizes.told(80, 24, (80, 24), false, after(2_000));
        assert!(sizes.is_slow() && sizes.full_until(after(2_001)).is_none());
        assert_eq!(sizes.a_second, 1_256);
        // Far away, but with little under way: letters are shown as they are typed.
        sizes.wrote(100);
        sizes.asked(Question::Size, after(3_000), None);
        assert_eq!(sizes.full_until(after(3_500)), None);
        // An answer that never comes is not waited for.
        sizes.wrote(9_000);
        assert!(sizes.full_until(after(3_500)).is_some());
        assert_eq!(sizes.full_until(after(7_001)), None);
    }

    #[test]
    fn who_does_not_tell_his_size_is_asked_who_he_is() {
        let (mut sizes, start) = (Sizes::default(), Instant::now());
        let after = |ms: u64| start + Duration::from_millis(ms);
        sizes.asked(Question::Size, start, None);
        sizes.asked(Question::Kind, start, None);
        assert_eq!(sizes.question(), None, "nobody knows whether it answers");
        sizes.kind_told(after(5));
        assert_eq!(sizes.question(), Some(Question::Kind));
        assert!(sizes.are_answered(after(5)), "the one for the size will never be");
        sizes.wrote(9_000);
        sizes.asked(Question::Kind, after(10), None);
        assert!(sizes.full_until(after(200)).is_some() && !sizes.are_answered(after(200)));
        sizes.kind_told(after(2_000));
        assert!(sizes.is_slow() && sizes.are_answered(after(2_000)));
        // One that tells it after all.
        sizes.asked(Question::Kind, after(3_000), None);
        sizes.told(80, 24, (80, 24), false, after(3_001));
        assert_eq!(sizes.question(), Some(Question::Size));
        sizes.asked(Question::Size, after(3_010), None);
        sizes.told(80, 24, (80, 24), false, after(3_020));
        assert!(sizes.are_answered(after(3_020)));
    }
}
