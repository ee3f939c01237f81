//! Looks through what only a terminal sees: a secret with a colour in the middle of it is a secret all the same.
//! Tells text from codes and puts them together again; never drops a code.

use std::ops::Range;

use super::MASK;

/// No colour is longer: what goes on is text.
const LONGEST_CODE: u8 = 64;

/// Where in a code the next character stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Codes {
    #[default]
    Text,
    Escape,
    /// Behind `ESC (` and its kind, which choose a character set; so many characters of it were there.
    Charset(u8),
    /// Behind `ESC [`.
    Control(u8),
}

impl Codes {
    /// Whether this character belongs to a code. A lone escape is one: what is behind it stays text.
    fn takes(&mut self, c: char) -> bool {
        let (next, code) = match (*self, c) {
            (_, '\x1b') => (Self::Escape, true),
            (_, '\u{9b}') | (Self::Escape, '[') => (Self::Control(0), true),
            (Self::Escape, '('..='/') => (Self::Charset(0), true),
            (Self::Control(length), ' '..='?') if length < LONGEST_CODE => (Self::Control(length + 1), true),
            (Self::Charset(length), ' '..='/') if length < LONGEST_CODE => (Self::Charset(length + 1), true),
            (Self::Control(_), '@'..='~') | (Self::Charset(_), '0'..='~') => (Self::Text, true),
            (Self::Text | Self::Escape | Self::Charset(_) | Self::Control(_), _) => (Self::Text, false),
        };
        *self = next;
        code
    }

    /// Whether a text holds the beginning of a code.
    pub(super) fn begin_in(text: &str) -> bool {
        text.bytes().any(|byte| byte == b'\x1b' || byte == 0x9b) && text.contains(['\x1b', '\u{9b}'])
    }

    pub(super) fn part(&mut self, text: &str) -> Piece {
        let mut piece = Piece { text: String::with_capacity(text.len()), codes: Vec::new() };
        for c in text.chars() {
            if self.takes(c) {
                piece.code(c.encode_utf8(&mut [0; 4]));
            } else {
                piece.text.push(c);
            }
        }
        piece
    }
}

/// Text as it is seen, and the codes that stand between its characters.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub text: String,
    /// Each with the place in `text` that it stands before, in order.
    codes: Vec<(usize, String)>,
}

impl From<String> for Piece {
    fn from(text: String) -> Self {
        Self { text, codes: Vec::new() }
    }
}

impl Piece {
    /// A code, or more of one, behind the text.
    fn code(&mut self, part: &str) {
        match self.codes.last_mut() {
            Some((at, code)) if *at == self.text.len() => code.push_str(part),
            _ => self.codes.push((self.text.len(), part.to_owned())),
        }
    }

    /// Whether a code stands right before this place.
    pub(super) fn coded(&self, at: usize) -> bool {
        self.codes.binary_search_by_key(&at, |(place, _)| *place).is_ok()
    }

    pub(super) fn append(&mut self, other: Self) {
        if self.text.is_empty() && self.codes.is_empty() {
            *self = other;
            return;
        }
        let from = self.text.len();
        self.text.push_str(&other.text);
        for (at, code) in other.codes {
            match self.codes.last_mut() {
                Some((last, codes)) if *last == from + at => codes.push_str(&code),
                _ => self.codes.push((from + at, code)),
            }
        }
    }

    /// Gives away what begins at this place. A code right before it stays.
    pub(super) fn split_off(&mut self, at: usize) -> Self {
        let text = self.text.split_off(at);
        let first = self.codes.partition_point(|(place, _)| *place <= at);
        let mut codes = self.codes.split_off(first);
        codes.iter_mut().for_each(|(place, _)| *place -= at);
        Self { text, codes }
    }

    /// Masks these places, which are in order. A code from inside goes behind the mask: it colours what follows.
    pub(super) fn mask(self, found: impl IntoIterator<Item = Range<usize>>) -> Self {
        let mut found = found.into_iter().peekable();
        if found.peek().is_none() {
            return self;
        }
        let mut out = Self { text: String::with_capacity(self.text.len()), codes: Vec::new() };
        let mut codes = self.codes.into_iter().peekable();
        let mut at = 0;
        for range in found {
            while let Some((place, code)) = codes.next_if(|(place, _)| *place <= range.start) {
                out.text.push_str(&self.text[at..place]);
                out.code(&code);
                at = place;
            }
            out.text.push_str(&self.text[at..range.start]);
            out.text.push_str(MASK);
            while let Some((_, code)) = codes.next_if(|(place, _)| *place <= range.end) {
                out.code(&code);
            }
            at = range.end;
        }
        for (place, code) in codes {
            out.text.push_str(&self.text[at..place]);
            out.code(&code);
            at = place;
        }
        out.text.push_str(&self.text[at..]);
        out
    }

    /// The codes alone.
    pub(super) fn without_text(self) -> Self {
        let codes: String = self.codes.into_iter().map(|(_, code)| code).collect();
        let codes = if codes.is_empty() { Vec::new() } else { vec![(0, codes)] };
        Self { text: String::new(), codes }
    }

    /// With its codes in their places again.
    pub(super) fn weave(self) -> String {
        if self.codes.is_empty() {
            return self.text;
        }
        let mut out = String::with_capacity(self.text.len() + 16 * self.codes.len());
        let mut at = 0;
        for (place, code) in self.codes {
            out.push_str(&self.text[at..place]);
            out.push_str(&code);
            at = place;
        }
        out.push_str(&self.text[at..]);
        out
    }

    /// What a part of the text takes up where the codes are in their places.
    pub(super) fn woven(&self, range: Range<usize>) -> Range<usize> {
        let codes = |inside: &dyn Fn(usize) -> bool| {
            let before = self.codes.iter().take_while(|(place, _)| inside(*place));
            before.map(|(_, code)| code.len()).sum::<usize>()
        };
        range.start + codes(&|place| place <= range.start)..range.end + codes(&|place| place < range.end)
    }

    /// The codes, where they stand once they are in their places.
    pub(super) fn woven_codes(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.codes.iter().scan(0, |before, (place, code)| {
            let start = place + *before;
            *before += code.len();
            Some(start..start + code.len())
        })
    }
}
