//! Decides whether a key answers the request in view or belongs to the composer. No text that a person types may grant
//! anything: answering takes Tab, or an empty composer and a pause.

use std::time::{Duration, Instant};

use super::Dialogs;
use super::request::Page;
use crate::key::{Key, KeyCode};

/// Time without a typed key, and with the request on the screen, before a key can answer it.
pub(crate) const ANSWER_PAUSE: Duration = Duration::from_millis(600);

/// The receiver of keys while a request is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyFocus {
    /// The composer, and the request just came up: Tab does not move the focus yet.
    Composer,
    /// The composer, until Tab moves the focus.
    ComposerUntilTab,
    Request,
}

impl Dialogs {
    /// The focus at `now`. The message field of a denial always has it: it must never fall back to answering.
    pub(crate) fn focus(&self, composer_is_empty: bool, now: Instant) -> KeyFocus {
        let Some(front) = &self.front else { return KeyFocus::Composer };
        let is_due = |due: Option<Instant>| due.is_some_and(|due| due <= now);
        if front.page == Page::Message
            || front.focused_by_tab
            || (composer_is_empty && is_due(self.pause_ends()))
        {
            KeyFocus::Request
        } else if is_due(self.tab_works_from()) {
            KeyFocus::ComposerUntilTab
        } else {
            KeyFocus::Composer
        }
    }

    /// The instant at which the focus changes by itself.
    pub(crate) fn focus_due(&self, composer_is_empty: bool) -> Option<Instant> {
        if composer_is_empty { self.pause_ends() } else { self.tab_works_from() }
    }

    fn pause_ends(&self) -> Option<Instant> {
        let from = self.tab_works_from()?;
        Some(self.last_typed.map_or(from, |typed| from.max(typed + ANSWER_PAUSE)))
    }

    /// A Tab in a line that is being typed when the request comes up was not meant for it.
    fn tab_works_from(&self) -> Option<Instant> {
        Some(self.front.as_ref()?.first_drawn? + ANSWER_PAUSE)
    }

    /// Whether this key is for the request in view. Every other key is the composer's.
    pub(crate) fn claims(&self, key: Key, composer_is_empty: bool, now: Instant) -> bool {
        if key == Key::ctrl('c') || is_escape(key) || self.leaves_yolo(key) {
            return true;
        }
        let Some(front) = &self.front else { return false };
        if front.page == Page::Message || is_navigation(key) && composer_is_empty {
            return true;
        }
        match self.focus(composer_is_empty, now) {
            KeyFocus::Composer | KeyFocus::ComposerUntilTab => false,
            KeyFocus::Request if front.focused_by_tab => true,
            // Somebody who starts a sentence is writing to the model.
            KeyFocus::Request => match key.code {
                KeyCode::Char(c) => !key.ctrl && !key.alt && (c == ' ' || front.has_choice(c)),
                KeyCode::Enter => !key.alt,
                KeyCode::Tab => key.shift,
                _ => false,
            },
        }
    }

    /// Moves the focus to the request, or back to the composer.
    pub(crate) fn toggle_focus(&mut self, now: Instant) {
        let works = self.tab_works_from().is_some_and(|from| from <= now);
        if let Some(front) = &mut self.front {
            front.focused_by_tab = works && !front.focused_by_tab;
        }
    }

    /// Notes a key or a paste, which restarts the pause. Navigation inside the request is not typing.
    pub(crate) fn note_typed(&mut self, key: Option<Key>, claimed: bool, now: Instant) {
        if !(claimed && key.is_some_and(is_navigation)) {
            self.last_typed = Some(now);
        }
    }
}

fn is_escape(key: Key) -> bool {
    key == Key::plain(KeyCode::Esc)
}

fn is_navigation(key: Key) -> bool {
    let moves = matches!(
        key.code,
        KeyCode::Up | KeyCode::Down | KeyCode::PageUp | KeyCode::PageDown | KeyCode::Home | KeyCode::End
    );
    moves && !key.ctrl && !key.alt
}
