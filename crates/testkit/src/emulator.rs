//! A terminal in memory. vt100 always goes on in the next row behind the last column; this adds the mode that turns that off
//! (DECAWM), without which a row too long for a terminal that got narrower moves all rows below it.

use unicode_width::UnicodeWidthChar;
use vt100::{Callbacks, Parser, Screen};

/// Longest control sequence that is looked at; a mode is far shorter.
const LONGEST_SEQUENCE: usize = 64;

/// The position in the byte stream, as far as it decides which bytes are printed.
enum StreamState {
    Text,
    /// The bytes of a character that are known so far.
    Character(Vec<u8>),
    Escape,
    Sequence(Vec<u8>),
    /// A title, a colour, or something else that ends in ST.
    ControlString,
}

/// A [`Parser`] that knows when a row must not be wrapped.
pub struct TerminalEmulator<C: Callbacks = ()> {
    parser: Parser<C>,
    state: StreamState,
    /// The beginning of a character that is not complete yet.
    held: Vec<u8>,
    wraps: bool,
}

impl TerminalEmulator {
    pub fn new(rows: u16, columns: u16, scrollback: usize) -> Self {
        Self::with_callbacks(rows, columns, scrollback, ())
    }
}

impl<C: Callbacks> TerminalEmulator<C> {
    pub fn with_callbacks(rows: u16, columns: u16, scrollback: usize, callbacks: C) -> Self {
        let (rows, columns) = (rows.try_into(), columns.try_into());
        let (rows, columns) = (rows.expect("a row"), columns.expect("a column"));
        let parser = Parser::new_with_callbacks(rows, columns, scrollback, callbacks);
        Self { parser, state: StreamState::Text, held: Vec::new(), wraps: true }
    }

    pub fn screen(&self) -> &Screen {
        self.parser.screen()
    }

    pub fn screen_mut(&mut self) -> &mut Screen {
        self.parser.screen_mut()
    }

    pub fn callbacks_mut(&mut self) -> &mut C {
        self.parser.callbacks_mut()
    }

    /// Cuts rows that are too long off, as xterm does.
    pub fn set_size(&mut self, rows: u16, columns: u16) {
        let (rows, columns) = (rows.try_into(), columns.try_into());
        self.parser.set_size(rows.expect("a row"), columns.expect("a column"));
    }

    pub fn process(&mut self, bytes: &[u8]) {
        let held = std::mem::take(&mut self.held);
        if held.is_empty() { self.take(bytes) } else { self.take(&[&held, bytes].concat()) }
    }

    fn take(&mut self, bytes: &[u8]) {
        let mut from = 0;
        for (at, byte) in bytes.iter().enumerate() {
            let Some(character) = self.step(*byte) else { continue };
            let begin = at + 1 - character.len_utf8();
            self.parser.process(&bytes[from..begin]);
            from = begin;
            self.make_room(character);
        }
        let mut end = bytes.len();
        if let StreamState::Character(known) = &mut self.state {
            end -= known.len();
            self.held = std::mem::take(known);
            self.state = StreamState::Text;
        }
        self.parser.process(&bytes[from..end]);
    }

    /// Returns the character this byte ends, if it is printed where rows are not wrapped.
    fn step(&mut self, byte: u8) -> Option<char> {
        let state = std::mem::replace(&mut self.state, StreamState::Text);
        let mut ended = None;
        self.state = match (state, byte) {
            (_, 0x18 | 0x1a) => StreamState::Text,
            (_, 0x1b) => StreamState::Escape,
            (StreamState::Escape, b'[') => StreamState::Sequence(Vec::new()),
            (StreamState::Escape, b']' | b'P' | b'X' | b'^' | b'_') => StreamState::ControlString,
            (StreamState::Escape, b' '..=b'/') => StreamState::Escape,
            (StreamState::Escape, byte) => {
                self.wraps |= byte == b'c';
                StreamState::Text
            }
            (StreamState::Sequence(sequence), b'@'..=b'~') => {
                self.set_mode(&sequence, byte);
                StreamState::Text
            }
            (StreamState::Sequence(mut sequence), byte) => {
                if sequence.len() < LONGEST_SEQUENCE {
                    sequence.push(byte);
                }
                StreamState::Sequence(sequence)
            }
            (StreamState::ControlString, 0x07) => StreamState::Text,
            (StreamState::ControlString, _) => StreamState::ControlString,
            (StreamState::Text, b' '..=b'~') => {
                ended = Some(char::from(byte));
                StreamState::Text
            }
            (StreamState::Text, 0xc2..=0xf4) => StreamState::Character(vec![byte]),
            (StreamState::Text, _) => StreamState::Text,
            (StreamState::Character(mut known), byte) => {
                known.push(byte);
                match std::str::from_utf8(&known) {
                    Ok(text) => {
                        ended = text.chars().next();
                        StreamState::Text
                    }
                    Err(error) if error.error_len().is_none() => StreamState::Character(known),
                    Err(_) => StreamState::Text,
                }
            }
        };
        ended.filter(|_| !self.wraps)
    }

    fn set_mode(&mut self, sequence: &[u8], end: u8) {
        let Some(modes) = sequence.strip_prefix(b"?") else { return };
        if matches!(end, b'h' | b'l') && modes.split(|byte| *byte == b';').any(|mode| mode == b"7") {
            self.wraps = end == b'h';
        }
    }

    /// Moves the cursor back to where the character still fits.
    fn make_room(&mut self, character: char) {
        let width = u16::try_from(character.width().unwrap_or(0)).unwrap_or(0);
        let (_, columns) = self.parser.screen().size();
        let (_, column) = self.parser.screen().cursor_position();
        if column + width > columns.get() {
            let back = (columns.get() + 1).saturating_sub(width).max(1);
            self.parser.process(format!("\x1b[{back}G").as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pieces: &[&str]) -> (Vec<String>, (u16, u16)) {
        let mut terminal = TerminalEmulator::new(3, 10, 0);
        pieces.iter().for_each(|piece| terminal.process(piece.as_bytes()));
        let rows = terminal.screen().rows(0, 10).collect();
        (rows, terminal.screen().cursor_position())
    }

    #[test]
    fn a_long_row_is_wrapped_unless_that_is_off() {
        assert_eq!(shown(&["0123456789ab"]).0, ["0123456789", "ab", ""]);
        let off = "\x1b[?7l0123456789ab\x1b]2;a long title\x1b\\c";
        assert_eq!(shown(&[off]), (vec!["012345678c".into(), String::new(), String::new()], (0, 10)));
        assert_eq!(shown(&[off, "\x1b[?25;7hd"]).0, ["012345678c", "d", ""]);
        assert_eq!(shown(&[off, "\x1bcd"]).0, ["d", "", ""]);
    }

    #[test]
    fn wide_characters_stay_whole_however_they_come() {
        let text = "\x1b[?7l12345678中文";
        let whole = shown(&[text]);
        assert_eq!(whole.0, ["12345678文", "", ""]);
        let mut terminal = TerminalEmulator::new(3, 10, 0);
        text.as_bytes().iter().for_each(|byte| terminal.process(&[*byte]));
        assert_eq!(terminal.screen().rows(0, 10).collect::<Vec<_>>(), whole.0);
    }
}
