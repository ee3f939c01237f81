//! Everything foreign (model text, tool output, file names, errors) passes here before a terminal.
//! Colours stay, in a form of our own; nothing else that a terminal obeys gets out, and nothing hidden.
//!
//! Decisions a reader may wonder about:
//! - `\r\n` is a newline; a bare `\r` becomes one when text follows, so that no line is ever overwritten.
//! - OSC, DCS, APC, PM and SOS strings are dropped up to their end or the end of the line, whichever comes
//!   first: an unfinished one must not swallow the rest of an answer.
//! - ZWJ stays inside emoji, ZWJ and ZWNJ between letters of scripts that are spelled with them. A variation
//!   selector stays once a character, tags only in the three flags made of them.
//! - A no-break or typographic space becomes a space. At most sixteen tabs in a row, eight marks a character.

mod chars;
mod filter;
mod json;
mod sgr;
#[cfg(test)]
mod tests;
mod visible;

use std::borrow::Cow;

use filter::TextFilter;
use sgr::{SgrWriter, Style};

pub use chars::{is_invisible, is_obeyed};
pub use json::json_safe;
pub use visible::{visible, visible_line};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colours {
    #[default]
    Keep,
    Strip,
}

/// Cleans a stream chunk by chunk. However the input is split, the output is the same; memory is constant.
#[derive(Default)]
pub struct Sanitizer {
    colours: Colours,
    state: State,
    parser: vte::Parser,
    style: Style,
    text: TextFilter,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and an intermediate byte.
    EscapeIntermediate,
    /// After ESC [.
    Csi,
    /// In a string that a terminal would act upon. The parser is not fed: it would store it all.
    String,
}

const ESC: char = '\x1b';
const CAN: char = '\x18';
const SUB: char = '\x1a';

impl Sanitizer {
    pub fn new(colours: Colours) -> Self {
        Self { colours, ..Self::default() }
    }

    pub fn push(&mut self, chunk: &str) -> String {
        let mut out = String::with_capacity(chunk.len());
        self.push_into(chunk, &mut out);
        out
    }

    /// Like [`Sanitizer::push`], into a buffer that the caller reuses.
    pub fn push_into(&mut self, chunk: &str, out: &mut String) {
        let mut rest = chunk;
        while let Some(c) = rest.chars().next() {
            let run = if self.state == State::Text { ascii_run(rest) } else { 0 };
            if run > 0 {
                self.text.ascii(&rest[..run], out);
                rest = &rest[run..];
            } else {
                self.char(c, out);
                rest = &rest[c.len_utf8()..];
            }
        }
    }

    /// Ends the text: a reset when colours are still on, so that they never leak into what is ours.
    pub fn finish(&mut self) -> &'static str {
        let reset = if self.style.is_default() { "" } else { "\x1b[0m" };
        *self = Self::new(self.colours);
        reset
    }

    fn char(&mut self, c: char, out: &mut String) {
        match c {
            ESC => self.begin(State::Escape),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => self.begin(State::String),
            '\u{9b}' => {
                self.begin(State::Csi);
                self.feed("\x1b[", out);
            }
            '\n' | '\r' if self.state != State::Text => {
                self.state = State::Text;
                self.text.char(c, out);
            }
            CAN | SUB | '\u{80}'..='\u{84}' | '\u{86}'..='\u{9f}' => self.state = State::Text,
            _ => match self.state {
                State::Text => self.text.char(c, out),
                State::String if c == '\x07' => self.state = State::Text,
                State::String => {}
                State::Escape | State::EscapeIntermediate | State::Csi => self.sequence(c, out),
            },
        }
    }

    fn begin(&mut self, state: State) {
        self.text.interrupted();
        self.state = state;
    }

    /// One more character of an escape sequence. Where a terminal would go on waiting, we are strict: what
    /// cannot belong to the sequence ends it and is text.
    fn sequence(&mut self, c: char, out: &mut String) {
        let next = match (self.state, c) {
            (State::Escape, '[') => {
                self.feed("\x1b[", out);
                State::Csi
            }
            (State::Escape, 'P' | 'X' | ']' | '^' | '_') => State::String,
            (State::Escape | State::EscapeIntermediate, ' '..='/') => State::EscapeIntermediate,
            (State::Escape | State::EscapeIntermediate, '0'..='~') => State::Text,
            (State::Csi, ' '..='~') => {
                self.feed(c.encode_utf8(&mut [0; 4]), out);
                if c < '@' { State::Csi } else { State::Text }
            }
            _ => {
                self.state = State::Text;
                return self.text.char(c, out);
            }
        };
        self.state = next;
    }

    fn feed(&mut self, bytes: &str, out: &mut String) {
        // `ESC [` starts afresh whatever came before it, so an abandoned sequence needs no clean-up.
        match self.colours {
            Colours::Keep => {
                self.parser.advance(&mut SgrWriter { style: &mut self.style, out }, bytes.as_bytes());
            }
            Colours::Strip => {}
        }
    }
}

/// How many bytes at the start need no look at all: printable ASCII and newlines.
fn ascii_run(text: &str) -> usize {
    let plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n');
    let blocks = text.as_bytes().chunks_exact(32).take_while(|block| block.iter().all(plain));
    let skipped = blocks.count() * 32;
    let tail = &text.as_bytes()[skipped..];
    skipped + tail.iter().position(|byte| !plain(byte)).unwrap_or(tail.len())
}

/// Cleans a whole text; borrowed when there is nothing to clean.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    clean(text, Colours::Keep)
}

/// Like [`sanitize`], colours removed too: for labels, titles and file names.
pub fn plain(text: &str) -> Cow<'_, str> {
    clean(text, Colours::Strip)
}

fn clean(text: &str, colours: Colours) -> Cow<'_, str> {
    let run = ascii_run(text);
    if text[run..].chars().all(|c| c == '\n' || chars::is_plain_fast(c)) {
        return Cow::Borrowed(text);
    }
    let mut sanitizer = Sanitizer::new(colours);
    let mut out = sanitizer.push(text);
    out.push_str(sanitizer.finish());
    Cow::Owned(out)
}
