//! What was sent while a turn runs: it waits, is shown, and can be taken back. Behind a turn that was stopped it waits until
//! somebody wants it sent.

use std::collections::VecDeque;

use ratatui_core::text::{Line, Span};
use zdx_protocol::display::text::truncate_width;
use zdx_protocol::display::visible_line;

use crate::composer::Draft;
use crate::look::Look;

/// More than this many are counted, not shown.
const SHOWN: usize = 3;

#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: VecDeque<Draft>,
    /// The turn that it waited for was stopped: perhaps it is not wanted any more.
    paused: bool,
    /// So many waited when the turn that runs was told to stop.
    before_stop: Option<usize>,
    /// Sent since then, and so meant to be next.
    next: VecDeque<Draft>,
}

impl Queue {
    /// Whoever sends more wants it all, in this order.
    pub fn push(&mut self, draft: Draft) {
        self.waiting.push_back(draft);
        self.paused = false;
    }

    /// The turn that runs is told to stop: what waits by now may not be wanted, what is sent from here on is.
    pub fn stop(&mut self) {
        self.waiting.extend(self.next.drain(..));
        self.before_stop = Some(self.waiting.len());
    }

    /// While the turn that was told to stop has yet to end.
    pub fn push_next(&mut self, draft: Draft) {
        self.waiting.push_back(draft);
    }

    pub fn next(&mut self) -> Option<Draft> {
        let waiting = if self.paused { None } else { Some(&mut self.waiting) };
        self.next.pop_front().or_else(|| waiting?.pop_front())
    }

    /// The turn was stopped, or failed: what waits is not sent by itself, but for what was sent since it was told to stop.
    pub fn pause(&mut self) {
        if let Some(before) = self.before_stop.take() {
            self.next = self.waiting.split_off(before.min(self.waiting.len()));
        } else {
            self.waiting.extend(self.next.drain(..));
        }
        self.paused = !self.waiting.is_empty();
    }

    pub fn go_on(&mut self) {
        self.paused = false;
    }

    pub fn is_paused(&self) -> bool {
        self.paused && !self.waiting.is_empty()
    }

    pub fn last(&self) -> Option<&Draft> {
        if self.paused {
            self.next.back().or(self.waiting.back())
        } else {
            self.waiting.back().or(self.next.back())
        }
    }

    /// The one that was sent last, to be edited.
    pub fn take_back(&mut self) -> Option<Draft> {
        let Self { waiting, next, .. } = self;
        let (first, second) = if self.paused { (next, waiting) } else { (waiting, next) };
        first.pop_back().or_else(|| second.pop_back())
    }

    pub fn len(&self) -> usize {
        self.next.len() + self.waiting.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// `within`: no question is open. `typed`: something stands in the composer. `up`: Up takes the last one back.
    pub fn draw(&self, look: Look<'_>, within: bool, typed: bool, up: bool) -> Vec<Line<'static>> {
        let width = usize::from(look.width);
        let row = |text: &str| Line::from(Span::styled(truncate_width(text, width), look.theme.dim));
        let mut rows: Vec<Line<'static>> = Vec::new();
        for (at, draft) in self.next.iter().chain(&self.waiting).enumerate().take(SHOWN) {
            let last = within && up && !self.paused && at + 1 == self.len();
            let how = if last { " · Up takes it back" } else { "" };
            let room = width.saturating_sub(how.chars().count() + "queued: ".len());
            rows.push(row(&format!("queued: {}{how}", truncate_width(&first_line(draft.shown()), room))));
        }
        if self.len() > SHOWN {
            let how = if within && up && !self.paused { " · Up takes the last one back" } else { "" };
            rows.push(row(&format!("and {} more{how}", self.len() - SHOWN)));
        }
        if within && self.is_paused() {
            let what = if self.waiting.len() == 1 { "it" } else { "the next" };
            let how = match typed {
                true => "what is typed goes first".to_owned(),
                false => format!("Enter sends {what} · Up takes it back"),
            };
            rows.push(row(&format!("{} queued · {how}", self.waiting.len())));
        }
        rows
    }
}

fn first_line(text: &str) -> String {
    let mut lines = text.trim().lines();
    let first = visible_line(lines.next().unwrap_or_default());
    if lines.next().is_some() { format!("{first} …") } else { first }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::composer::{Composer, History};
    use crate::theme::{Depth, Theme};

    #[test]
    fn what_waits_is_shown_and_the_last_can_be_taken_back() {
        let mut queue = Queue::default();
        for text in ["one", "two\nlines", "three", "four"] {
            let mut composer = Composer::new(History::default());
            composer.set(text);
            queue.push(composer.take_draft());
        }
        let theme = Theme::new(Depth::None, false);
        let drawn = |within| {
            let rows = queue.draw(Look { width: 40, theme: &theme }, within, false, true);
            rows.iter().map(ToString::to_string).collect::<Vec<String>>()
        };
        assert_eq!(
            drawn(true),
            ["queued: one", "queued: two …", "queued: three", "and 1 more · Up takes the last one back"]
        );
        assert_eq!(
            drawn(false).last().map(String::as_str),
            Some("and 1 more"),
            "then Up means something else"
        );
        assert_eq!(queue.take_back().map(|draft| draft.text()).as_deref(), Some("four"));
        assert_eq!(queue.next().map(|draft| draft.text()).as_deref(), Some("one"));
        queue.pause();
        assert_eq!((queue.next().map(|draft| draft.text()), queue.len()), (None, 2));
        let rows = queue.draw(Look { width: 60, theme: &theme }, true, false, true);
        assert_eq!(
            rows.last().map(ToString::to_string).as_deref(),
            Some("2 queued · Enter sends the next · Up takes it back")
        );
        let rows = queue.draw(Look { width: 60, theme: &theme }, true, true, true);
        assert_eq!(
            rows.last().map(ToString::to_string).as_deref(),
            Some("2 queued · what is typed goes first")
        );
        queue.go_on();
        assert_eq!(queue.next().map(|draft| draft.text()).as_deref(), Some("two\nlines"));
    }
}
