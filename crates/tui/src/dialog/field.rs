//! A small input of one line: the word behind a no, what a list is filtered by. The composer is another matter.

use ratatui_core::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;
use zdx_protocol::display::plain;

use crate::key::{Key, KeyCode};
use crate::look::Look;

/// Bytes; a word to a model is not an essay.
const LONGEST: usize = 8 * 1024;

#[derive(Clone, Debug, Default)]
pub(crate) struct Field {
    text: String,
    /// A byte, always between graphemes.
    cursor: usize,
}

impl Field {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// What was pasted, on one line.
    pub(crate) fn insert(&mut self, text: &str) {
        let clean: String =
            plain(text).chars().map(|c| if c.is_control() || c.is_whitespace() { ' ' } else { c }).collect();
        let room = LONGEST.saturating_sub(self.text.len());
        let fits: String = clean
            .graphemes(true)
            .scan(0, |used, grapheme| {
                *used += grapheme.len();
                (*used <= room).then_some(grapheme)
            })
            .collect();
        self.text.insert_str(self.cursor, &fits);
        self.cursor += fits.len();
    }

    /// Whether the key was one for editing.
    pub(crate) fn key(&mut self, key: Key) -> bool {
        match (key.code, key.ctrl, key.alt) {
            (KeyCode::Char(c), false, false) => self.insert(c.encode_utf8(&mut [0; 4])),
            (KeyCode::Backspace, true, _) | (KeyCode::Backspace, _, true) | (KeyCode::Char('w'), true, _) => {
                self.cut(self.word_start());
            }
            (KeyCode::Backspace, false, false) => self.cut(self.before()),
            (KeyCode::Char('u'), true, _) => self.cut(0),
            (KeyCode::Delete, ..) => drop(self.text.drain(self.cursor..self.after())),
            (KeyCode::Left, ..) => self.cursor = self.before(),
            (KeyCode::Right, ..) => self.cursor = self.after(),
            (KeyCode::Home, ..) | (KeyCode::Char('a'), true, _) => self.cursor = 0,
            (KeyCode::End, ..) | (KeyCode::Char('e'), true, _) => self.cursor = self.text.len(),
            _ => return false,
        }
        true
    }

    fn cut(&mut self, from: usize) {
        self.text.drain(from..self.cursor);
        self.cursor = from;
    }

    fn before(&self) -> usize {
        let end = self.text[..self.cursor].grapheme_indices(true).next_back();
        end.map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        self.cursor + self.text[self.cursor..].graphemes(true).next().map_or(0, str::len)
    }

    fn word_start(&self) -> usize {
        let word = self.text[..self.cursor].trim_end();
        word.rfind(' ').map_or(0, |blank| blank + 1)
    }

    /// The row, and the column of the caret. What does not fit is scrolled out on the left.
    pub(crate) fn draw(&self, prefix: &str, look: Look<'_>) -> (Line<'static>, u16) {
        // On a screen of a few columns the text matters more than what it is for.
        let prefix = if prefix.width() * 2 > usize::from(look.width) { "" } else { prefix };
        let columns = usize::from(look.width).saturating_sub(prefix.width() + 1);
        let (left, right) = self.text.split_at(self.cursor);
        let mut used = 0;
        let from = left.grapheme_indices(true).rev().take_while(|(_, grapheme)| {
            used += grapheme.width();
            used <= columns
        });
        let from = from.last().map_or(left.len(), |(at, _)| at);
        let (left, mut room) = (&left[from..], columns.saturating_sub(left[from..].width()));
        let shown = right.graphemes(true).take_while(|grapheme| {
            let fits = grapheme.width() <= room;
            room = room.saturating_sub(grapheme.width());
            fits
        });
        let text = format!("{left}{}", shown.collect::<String>());
        let caret = (prefix.width() + left.width()).min(usize::from(look.width).saturating_sub(1));
        let spans =
            vec![Span::styled(prefix.to_owned(), look.theme.accent), Span::styled(text, look.theme.text)];
        (Line::from(spans), u16::try_from(caret).unwrap_or(u16::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theme::{Depth, Theme};

    fn shown(field: &Field, width: u16) -> (String, u16) {
        let theme = Theme::new(Depth::None, false);
        let (line, caret) = field.draw("> ", Look { width, theme: &theme });
        (line.spans.iter().map(|span| span.content.as_ref()).collect(), caret)
    }

    #[test]
    fn it_is_edited_by_graphemes_and_the_caret_stays_in_sight() {
        let mut field = Field::default();
        field.insert("用 make\n\x1b[2Jtest");
        assert_eq!(field.text(), "用 make test");
        assert_eq!(shown(&field, 40), ("> 用 make test".to_owned(), 14));
        assert_eq!(shown(&field, 9), ("> e test".to_owned(), 8));
        field.key(Key::ctrl('w'));
        assert_eq!(field.text(), "用 make ");
        field.key(Key::plain(KeyCode::Home));
        assert_eq!(shown(&field, 6), ("> 用 ".to_owned(), 2));
        field.key(Key::plain(KeyCode::Right));
        field.key(Key::plain(KeyCode::Backspace));
        assert_eq!((field.text(), shown(&field, 40).1), (" make ", 2));
        assert!(!field.key(Key::plain(KeyCode::Enter)));
        field.insert(&"漢".repeat(LONGEST));
        assert!(field.text().len() <= LONGEST);
    }
}
