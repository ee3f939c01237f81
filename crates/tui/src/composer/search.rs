//! Ctrl-R: looking for something typed before, letter by letter.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use zdx_protocol::prompt_history::LONG;

use super::{Composer, Kind, Text, Typed};
use crate::key::{Key, KeyCode};

/// More is not looked for.
const LONGEST: usize = 200;
/// Bytes of a long entry that are shown on both sides of what was found.
const AROUND: usize = 200;

#[derive(Debug, Default)]
pub(super) struct Search {
    pub letters: String,
    /// Which entry, and where in it.
    pub found: Option<(usize, Range<usize>)>,
}

impl Composer {
    pub(super) fn search_begin(&mut self) -> Typed {
        self.search = Some(Search::default());
        Typed::Nothing
    }

    pub(super) fn search_more(&mut self, letters: &str) {
        let Some(search) = &mut self.search else { return };
        search.letters.extend(letters.chars().take(LONGEST.saturating_sub(search.letters.len())));
        search.found = self.history.search(&search.letters, self.history.len());
    }

    pub(super) fn search_key(&mut self, key: Key) -> Typed {
        let Some(search) = &mut self.search else { return Typed::Unused };
        match (key.code, key.ctrl, key.alt) {
            (KeyCode::Char('r'), true, false) => {
                let Some((at, _)) = search.found else { return Typed::Nothing };
                let older = self.history.search(&search.letters, at);
                search.found = older.or(search.found.take());
                Typed::Nothing
            }
            (KeyCode::Char('c' | 'g'), true, false) | (KeyCode::Esc, ..) => {
                self.search = None;
                Typed::Nothing
            }
            (KeyCode::Char('h'), true, false) | (KeyCode::Backspace, ..) => {
                let left = search.letters.grapheme_indices(true).next_back().map_or(0, |(at, _)| at);
                search.letters.truncate(left);
                self.search_more("");
                Typed::Nothing
            }
            (KeyCode::Char(letter), false, false) => {
                self.search_more(letter.encode_utf8(&mut [0; 4]));
                Typed::Nothing
            }
            // Whatever else is pressed goes on with what was found.
            (KeyCode::Enter | KeyCode::Tab, ..) => self.search_take(),
            _ => match self.search_take() {
                Typed::Edited => match self.key(key) {
                    Typed::Submit => Typed::Submit,
                    Typed::Nothing | Typed::Edited | Typed::Unused => Typed::Edited,
                },
                Typed::Nothing | Typed::Submit | Typed::Unused => self.key(key),
            },
        }
    }

    fn search_take(&mut self) -> Typed {
        let found = self.search.take().and_then(|search| search.found);
        let Some((entry, place)) = found.and_then(|(at, place)| Some((self.history.get(at)?, place))) else {
            return Typed::Nothing;
        };
        let entry = self.as_recalled(entry.to_owned());
        self.edit(0..self.text.len(), entry, Kind::Alone);
        (self.caret, self.recalled) = (self.text.snap(place.end), true);
        Typed::Edited
    }

    /// What is looked at: the entry that was found, and where the letters stand in it.
    pub(super) fn looked_at(&self) -> Option<(Text, Range<usize>)> {
        let (at, place) = self.search.as_ref()?.found.clone()?;
        let entry = self.history.get(at)?;
        if entry.len() <= LONG {
            return Some((Text::from(entry), place));
        }
        // Of a paste the line is enough, and quickly drawn.
        let start = entry[..place.start].rfind('\n').map_or(0, |newline| newline + 1);
        let start = start.max(entry.ceil_char_boundary(place.start.saturating_sub(AROUND)));
        let end = entry[place.end..].find('\n').map_or(entry.len(), |newline| place.end + newline);
        let end = end.min(entry.floor_char_boundary(place.end.saturating_add(AROUND)));
        Some((Text::from(&entry[start..end]), place.start - start..place.end - start))
    }
}
