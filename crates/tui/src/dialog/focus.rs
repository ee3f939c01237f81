//! Decides whether a key answers the request in view or belongs to the composer. No text that a person types may grant
//! anything. The rules, all of them here:
//!
//! - The request has the focus after Tab, or when nothing is typed anywhere and no key came for [`ANSWER_PAUSE`].
//! - Only then do arrows and Enter belong to it. Enter takes the marked choice, [`ANSWER_PAUSE`] after the key before it.
//! - A letter belongs to it only while nothing is typed and after the same pause; Tab makes no difference. On the pages
//!   behind a choice it needs no pause: none of their letters grants anything by itself.
//! - Every other key is the composer's: it takes the focus back, with the letters that marked a choice, and unmarks it.

use std::time::Instant;

use zdx_protocol::display::approval::ANSWER_PAUSE;

use super::Dialogs;
use super::request::Page;
use crate::key::{Key, KeyCode};

/// The receiver of keys while a request is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyFocus {
    /// The composer, and Tab does not move the focus: the request just came up, or Tab completes what is typed.
    Composer,
    /// The composer, until Tab moves the focus.
    ComposerUntilTab,
    Request,
}

impl Dialogs {
    /// The focus at `now`. The message field of a denial always has it: it must never fall back to answering.
    pub(crate) fn focus(&self, nothing_typed: bool, now: Instant) -> KeyFocus {
        let Some(front) = &self.front else { return KeyFocus::Composer };
        let is_due = |due: Option<Instant>| due.is_some_and(|due| due <= now);
        if front.page == Page::Message
            || front.focused_by_tab
            || (nothing_typed && is_due(self.focus_pause_ends()))
        {
            KeyFocus::Request
        } else if is_due(self.tab_works_from()) {
            KeyFocus::ComposerUntilTab
        } else {
            KeyFocus::Composer
        }
    }

    /// The instant at which the focus changes by itself.
    pub(crate) fn focus_due(&self, nothing_typed: bool) -> Option<Instant> {
        if nothing_typed { self.focus_pause_ends() } else { self.tab_works_from() }
    }

    fn focus_pause_ends(&self) -> Option<Instant> {
        let from = self.tab_works_from()?;
        Some(self.last_typed.map_or(from, |typed| from.max(typed + ANSWER_PAUSE)))
    }

    /// A Tab in a line that is being typed when the request comes up was not meant for it.
    fn tab_works_from(&self) -> Option<Instant> {
        Some(self.front.as_ref()?.first_drawn? + ANSWER_PAUSE)
    }

    /// Whether the last key is long enough ago for the next one to answer.
    pub(super) fn has_paused(&self, now: Instant) -> bool {
        self.last_key.is_none_or(|last| last + ANSWER_PAUSE <= now)
    }

    /// Whether this key is for the request in view. Every other key is the composer's.
    pub(crate) fn claims(&self, key: Key, nothing_typed: bool, now: Instant) -> bool {
        if key == Key::ctrl('c') || key == Key::plain(KeyCode::Esc) || self.leaves_yolo(key) {
            return true;
        }
        let Some(front) = &self.front else { return false };
        if front.page == Page::Message {
            return true;
        }
        if key.ctrl || key.alt {
            return false;
        }
        // They only scroll, and mean nothing to the composer.
        if nothing_typed && matches!(key.code, KeyCode::PageUp | KeyCode::PageDown) {
            return true;
        }
        if self.focus(nothing_typed, now) != KeyFocus::Request {
            return false;
        }
        match key.code {
            KeyCode::Char(c) => {
                let has_paused = self.has_paused(now) || front.page != Page::First;
                nothing_typed && has_paused && (c == ' ' || front.has_choice(c))
            }
            KeyCode::Tab => key.shift,
            KeyCode::Enter
            | KeyCode::Up
            | KeyCode::Down
            | KeyCode::PageUp
            | KeyCode::PageDown
            | KeyCode::Home
            | KeyCode::End => true,
            _ => false,
        }
    }

    /// Moves the focus to the request, or back to the composer.
    pub(crate) fn toggle_focus(&mut self, now: Instant) {
        let works = self.tab_works_from().is_some_and(|from| from <= now);
        if let Some(front) = &mut self.front {
            let by_tab = works && !front.focused_by_tab;
            front.unmark();
            front.focused_by_tab = by_tab;
        }
    }

    /// Gives the focus back to the composer, for a key or a paste that it gets. Returns the letters that marked a choice and
    /// were the beginning of a text.
    pub(crate) fn return_focus(&mut self) -> String {
        self.front.as_mut().map(super::Front::unmark).unwrap_or_default()
    }

    /// Notes a key, which restarts the pause before an answer unless it only scrolls the request.
    pub(crate) fn note_key(&mut self, key: Key, claimed: bool, now: Instant) {
        let scrolls = matches!(key.code, KeyCode::PageUp | KeyCode::PageDown | KeyCode::Home | KeyCode::End);
        if !(claimed && scrolls) {
            self.note_input(claimed, now);
        }
    }

    /// Notes a key, a paste or the use of another program. Only what the request did not claim, or took as text, takes the
    /// focus away.
    pub(crate) fn note_input(&mut self, claimed: bool, now: Instant) {
        self.last_key = Some(now);
        if !claimed || self.takes_text() {
            self.last_typed = Some(now);
        }
    }
}
