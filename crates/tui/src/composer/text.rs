//! A text with chips in it: large pastes that show as a label and are moved over and deleted as one. Every offset is a byte of
//! the shown text, and a place to stand is a boundary of graphemes outside of chips. Knows no keys, no rows, no undo.

use std::ops::Range;
use std::sync::Arc;

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text {
    shown: String,
    /// In order; none touches the inside of another.
    chips: Vec<Chip>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Chip {
    /// Where its label stands.
    place: Range<usize>,
    content: Arc<str>,
}

impl Chip {
    fn moved(&self, by: isize) -> Self {
        let moved = |at: usize| at.saturating_add_signed(by);
        Self { place: moved(self.place.start)..moved(self.place.end), content: Arc::clone(&self.content) }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self { shown: text.to_owned(), chips: Vec::new() }
    }
}

impl Text {
    /// A chip alone.
    pub(crate) fn chip(label: &str, content: &str) -> Self {
        let chip = Chip { place: 0..label.len(), content: content.into() };
        Self { shown: label.to_owned(), chips: vec![chip] }
    }

    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    pub(crate) fn len(&self) -> usize {
        self.shown.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// What is meant: every chip replaced by what was pasted.
    pub(crate) fn expanded(&self) -> String {
        let mut out = String::with_capacity(self.expanded_len());
        let mut at = 0;
        for chip in &self.chips {
            out.push_str(&self.shown[at..chip.place.start]);
            out.push_str(&chip.content);
            at = chip.place.end;
        }
        out.push_str(&self.shown[at..]);
        out
    }

    pub(crate) fn expanded_len(&self) -> usize {
        let grown = self.chips.iter().map(|chip| chip.content.len());
        let labels = self.chips.iter().map(|chip| chip.place.len());
        self.shown.len() + grown.sum::<usize>() - labels.sum::<usize>()
    }

    /// Labels and what they stand for.
    pub(crate) fn chips(&self) -> impl Iterator<Item = (Range<usize>, &str)> {
        self.chips.iter().map(|chip| (chip.place.clone(), &*chip.content))
    }

    /// Puts something else in a place, which is widened to whole chips. What was there.
    pub(crate) fn splice(&mut self, range: Range<usize>, new: &Text) -> (usize, Text) {
        let range = self.whole(range);
        let removed = self.slice(range.clone());
        let grown = new.len().cast_signed() - range.len().cast_signed();
        let before = self.chips.iter().filter(|chip| chip.place.end <= range.start).cloned();
        let within = new.chips.iter().map(|chip| chip.moved(range.start.cast_signed()));
        let after =
            self.chips.iter().filter(|chip| chip.place.start >= range.end).map(|chip| chip.moved(grown));
        self.chips = before.chain(within).chain(after).collect();
        self.shown.replace_range(range.clone(), &new.shown);
        (range.start, removed)
    }

    /// A part, widened to whole chips.
    pub(crate) fn slice(&self, range: Range<usize>) -> Self {
        let range = self.whole(range);
        let inside = |chip: &&Chip| {
            chip.place.start >= range.start && chip.place.end <= range.end && !range.is_empty()
        };
        let chips = self.chips.iter().filter(inside);
        let back = -range.start.cast_signed();
        Self { chips: chips.map(|chip| chip.moved(back)).collect(), shown: self.shown[range].to_owned() }
    }

    /// No part of a character or a chip, and nothing past the end.
    fn whole(&self, range: Range<usize>) -> Range<usize> {
        let mut start = floor(&self.shown, range.start);
        let mut end = ceil(&self.shown, range.end.max(range.start));
        for chip in &self.chips {
            let place = &chip.place;
            // An empty place inside of a chip becomes one behind it: nothing is deleted that nobody marked.
            if start == end && place.start < start && start < place.end {
                return place.end..place.end;
            }
            if place.start < end && start < place.end {
                (start, end) = (start.min(place.start), end.max(place.end));
            }
        }
        start..end
    }

    /// The nearest place to stand, at or behind this one.
    pub(crate) fn snap(&self, at: usize) -> usize {
        let at = ceil(&self.shown, at);
        if let Some(chip) = self.chip_around(at) {
            return chip.place.end;
        }
        let (from, piece) = self.piece(at);
        match GraphemeCursor::new(at - from, piece.len(), true).is_boundary(piece, 0) {
            Ok(false) => self.next(at),
            Ok(true) | Err(_) => at,
        }
    }

    pub(crate) fn next(&self, at: usize) -> usize {
        if let Some(chip) = self.chips.iter().find(|chip| chip.place.start <= at && at < chip.place.end) {
            return chip.place.end;
        }
        let (from, piece) = self.piece(at);
        let mut cursor = GraphemeCursor::new(at - from, piece.len(), true);
        cursor.next_boundary(piece, 0).ok().flatten().map_or(self.len(), |next| from + next)
    }

    pub(crate) fn prev(&self, at: usize) -> usize {
        if let Some(chip) = self.chips.iter().find(|chip| chip.place.start < at && at <= chip.place.end) {
            return chip.place.start;
        }
        let from = self.chips.iter().rev().find(|chip| chip.place.end <= at).map_or(0, |chip| chip.place.end);
        let piece = &self.shown[from..at];
        let mut cursor = GraphemeCursor::new(piece.len(), piece.len(), true);
        cursor.prev_boundary(piece, 0).ok().flatten().map_or(0, |prev| from + prev)
    }

    /// The text between chips that a place stands in, or before.
    fn piece(&self, at: usize) -> (usize, &str) {
        let from = self.chips.iter().rev().find(|chip| chip.place.end <= at).map_or(0, |chip| chip.place.end);
        let upto =
            self.chips.iter().find(|chip| chip.place.start >= at).map_or(self.len(), |chip| chip.place.start);
        (from, &self.shown[from..upto])
    }

    fn chip_around(&self, at: usize) -> Option<&Chip> {
        self.chips.iter().find(|chip| chip.place.start < at && at < chip.place.end)
    }

    /// Where the line begins.
    pub(crate) fn line_start(&self, at: usize) -> usize {
        self.shown[..at].rfind('\n').map_or(0, |newline| newline + 1)
    }

    pub(crate) fn line_end(&self, at: usize) -> usize {
        self.shown[at..].find('\n').map_or(self.len(), |newline| at + newline)
    }

    /// The end of this word or the next one.
    pub(crate) fn word_end(&self, at: usize) -> usize {
        let mut at = at;
        while at < self.len() && !self.is_word(at) {
            at = self.next(at);
        }
        if at == self.len() || self.is_chip(at) {
            return self.next(at).min(self.len());
        }
        let (from, piece) = self.piece(at + 1);
        words(piece, from).find(|word| word.end > at).map_or(self.len(), |word| word.end)
    }

    /// The beginning of this word or the one before.
    pub(crate) fn word_start(&self, at: usize) -> usize {
        let mut at = at;
        while at > 0 && !self.is_word(self.prev(at)) {
            at = self.prev(at);
        }
        if at == 0 {
            return 0;
        }
        let before = self.prev(at);
        if self.is_chip(before) {
            return before;
        }
        let (from, piece) = self.piece(before + 1);
        words(piece, from).filter(|word| word.start < at).last().map_or(before, |word| word.start)
    }

    /// What a shell takes for a word: up to a blank.
    pub(crate) fn blank_before(&self, at: usize) -> usize {
        let is_blank = |at: usize| !self.is_chip(at) && self.shown[at..].starts_with(char::is_whitespace);
        let mut at = at;
        while at > 0 && is_blank(self.prev(at)) {
            at = self.prev(at);
        }
        while at > 0 && !is_blank(self.prev(at)) {
            at = self.prev(at);
        }
        at
    }

    fn is_chip(&self, at: usize) -> bool {
        self.chips.iter().any(|chip| chip.place.contains(&at))
    }

    fn is_word(&self, at: usize) -> bool {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        self.is_chip(at) || self.shown[at..].starts_with(is_part)
    }
}

/// Words by Unicode's own rules: a script without blanks has words too.
fn words(piece: &str, from: usize) -> impl Iterator<Item = Range<usize>> {
    piece.unicode_word_indices().map(move |(at, word)| from + at..from + at + word.len())
}

fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chipped() -> Text {
        let mut text = Text::from("ab 你好 e\u{301}x");
        text.splice(3..3, &Text::chip("[chip]", "long\ntext"));
        text
    }

    #[test]
    fn a_chip_is_one_step_and_goes_as_one() {
        let mut text = chipped();
        assert_eq!(
            (text.shown(), text.expanded().as_str()),
            ("ab [chip]你好 e\u{301}x", "ab long\ntext你好 e\u{301}x")
        );
        assert_eq!((text.next(3), text.prev(9), text.snap(5)), (9, 3, 9));
        let (at, removed) = text.splice(8..9, &Text::default());
        assert_eq!((at, removed.expanded().as_str(), text.shown()), (3, "long\ntext", "ab 你好 e\u{301}x"));
        // Nothing is typed into one.
        let mut text = chipped();
        text.splice(5..5, &Text::from("!"));
        assert_eq!(text.expanded(), "ab long\ntext!你好 e\u{301}x");
    }

    #[test]
    fn graphemes_and_words_are_steps() {
        let text = Text::from("ab 你好 e\u{301}x");
        assert_eq!((text.next(10), text.prev(13)), (13, 10));
        assert_eq!(text.snap(11), 13);
        assert_eq!((text.word_end(0), text.word_end(2), text.word_start(14)), (2, 6, 10));
        assert_eq!((text.word_start(10), text.blank_before(10)), (6, 3));
        let text = chipped();
        assert_eq!((text.word_end(2), text.word_start(9), text.blank_before(15)), (9, 3, 3));
        assert_eq!(Text::default().word_end(0), 0);
    }
}
