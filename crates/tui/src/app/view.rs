//! The live region, put together from its parts: what still changes of the conversation, the steps that are open, what
//! waits, a question or the composer, and the status row. Nothing here changes what is shown but what was asked for.

use std::time::Instant;

use ratatui_core::text::Line;

use super::State;
use crate::completion::MOST_ROWS;
use crate::dialog::KeyFocus;
use crate::look::{Drawn, Look};
use crate::term::Frame;
use crate::write::wrap::cut;

/// Rows below which nothing can be left out any more.
const LEAST: usize = 4;

/// Rows of the conversation that show while it goes on, if there is any room for them.
const TOLD: usize = 8;
/// Rows that say what a question is about.
const SUBJECT: usize = 3;

/// From so many rows on there is one to spare.
const ROOMY: usize = 16;

/// A screen's columns and rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub columns: u16,
    pub rows: u16,
}

impl State {
    /// The next frame of the main screen. What is settled is handed out once.
    pub fn frame(&mut self, size: Size, now: Instant) -> Frame {
        let theme = self.theme.clone();
        (self.width, self.height) = (size.columns.max(1), size.rows);
        let look = Look { width: self.width, theme: &theme };
        let history = self.settled(look);
        let (mut frame, above) = self.live(look, size, now);
        frame.history = history;
        let runs = self.turn.is_some() && !frame.modal;
        self.calm.keep(&mut frame, above, size, runs);
        if !self.told_when_seen {
            self.seen(now);
        }
        frame
    }

    /// The terminal says when it has shown a frame: [`Self::seen`] is called then, and not before.
    pub fn tells_what_is_seen(&mut self, tells: bool) {
        self.told_when_seen = tells;
    }

    /// The last frame is on the screen.
    pub fn seen(&mut self, now: Instant) {
        self.dialogs.drawn(now);
    }

    /// The last frame of all: the conversation as it stands, and nothing below it.
    pub fn last_frame(&mut self, size: Size, now: Instant) -> Frame {
        let theme = self.theme.clone();
        let look = Look { width: size.columns.max(1), theme: &theme };
        let mut history = self.settled(look);
        history.extend(self.conversation.live(look, now, usize::MAX));
        Frame { history, ..Frame::default() }
    }

    fn settled(&mut self, look: Look<'_>) -> Vec<Line<'static>> {
        let mut lines = std::mem::take(&mut self.before);
        lines.extend(self.conversation.settled(look));
        lines
    }

    /// With how many of its rows stand above the composer.
    fn live(&mut self, look: Look<'_>, size: Size, now: Instant) -> (Frame, usize) {
        let rows = usize::from(size.rows);
        let asked = self.dialogs.is_open();
        // A question may take what it needs; else half of the screen stays for what is settled.
        let most = if asked { rows.saturating_sub(1) } else { rows / 2 }.max(LEAST);
        let foot = self.foot(look, now);
        let input = self.input(look, most.saturating_sub(1), now);
        let mut room = most.saturating_sub(1 + input.lines.len());
        // Apart from what was said, where there is room to spare; a welcome ends with a row of its own.
        let apart = usize::from(rows >= ROOMY && room > 0 && self.conversation.whole_len() > 0);
        room -= apart;
        let (typed, up) = (!self.composer.is_empty(), self.can_take_back());
        let queued = bounded(self.queue.draw(look, !asked, typed, up), &mut room);
        // A question goes with what it is about before the steps do.
        let for_steps = if asked { room.saturating_sub(SUBJECT) } else { room.min(rows / 4) };
        let todos = bounded(self.conversation.pinned_todos(look, for_steps), &mut room);
        // The steps stand apart from what is told above them.
        let pinned = usize::from(!todos.is_empty() && apart > 0 && room > 0);
        room -= pinned;
        if !asked {
            // What is pinned must not hide what goes on: then more than half of the screen is taken.
            let more = (rows * 3 / 4).saturating_sub(most);
            room = room.max((room + more).min(TOLD));
        }
        let mut lines = self.conversation.live(look, now, room);
        lines.truncate(room);
        lines.extend(std::iter::repeat_n(Line::default(), pinned));
        lines.extend(todos);
        lines.extend(queued);
        lines.extend(std::iter::repeat_n(Line::default(), apart));
        let above = lines.len();
        let cursor =
            input.cursor.map(|(column, row)| (column, row + u16::try_from(above).unwrap_or(u16::MAX)));
        lines.extend(input.lines);
        lines.push(foot);
        (Frame { history: Vec::new(), live: lines, cursor, modal: asked }, above)
    }

    /// Where the user's answer goes: a question, or the composer with what is offered for a word.
    fn input(&mut self, look: Look<'_>, most: usize, now: Instant) -> Drawn {
        if self.dialogs.is_open() {
            return self.request(look, most, now);
        }
        let offered = self.popup.draw(look, most.saturating_sub(1).min(MOST_ROWS));
        let mut drawn = self.composer.draw(look, most.saturating_sub(offered.len()).max(1));
        drawn.lines.extend(offered);
        drawn
    }

    /// The request in view, with the composer below it unless the request takes text itself.
    fn request(&mut self, look: Look<'_>, most: usize, now: Instant) -> Drawn {
        let focus = self.key_focus(now);
        let has_room = most >= ROOMY / 2 || !self.composer.is_empty();
        let below = if self.dialogs.takes_text() || !has_room {
            Drawn::default()
        } else {
            let offered = self.popup.draw(look, (most / 4).min(MOST_ROWS));
            let mut composer = self.composer.draw(look, (most / 4).max(1));
            composer.lines.extend(offered);
            composer
        };
        let mut drawn = self.dialogs.draw(look, most.saturating_sub(below.lines.len()), focus);
        if focus != KeyFocus::Request {
            let above = u16::try_from(drawn.lines.len()).unwrap_or(u16::MAX);
            drawn.cursor = below.cursor.map(|(column, row)| (column, row.saturating_add(above)));
        }
        drawn.lines.extend(below.lines);
        drawn
    }

    fn foot(&self, look: Look<'_>, now: Instant) -> Line<'static> {
        if let Some(words) = self.warning() {
            return cut(Line::styled(words, look.theme.warning), look.width);
        }
        match &self.hint {
            Some((_, hint)) => cut(Line::styled(hint.clone(), look.theme.dim), look.width),
            None => self.status.row(look, now),
        }
    }

    /// What the same key does when it is pressed once more.
    fn warning(&self) -> Option<String> {
        if let Some(line) = &self.stops_for {
            let name = line.split_whitespace().next().unwrap_or_default();
            return Some(format!("a turn runs · Enter again stops it for {name}"));
        }
        self.warned?;
        let words = match (self.is_stopped(), self.composer.is_empty()) {
            (true, true) if !self.queue.is_empty() => "messages wait · once more leaves without them",
            (true, true) => "Ctrl-C again leaves",
            (true, false) => "Ctrl-C again clears what is typed",
            (false, _) => "a turn runs · Ctrl-D again stops it and leaves",
        };
        Some(words.to_owned())
    }
}

fn bounded(mut lines: Vec<Line<'static>>, room: &mut usize) -> Vec<Line<'static>> {
    lines.truncate(*room);
    *room -= lines.len();
    lines
}
