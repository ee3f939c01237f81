//! Decides, character by character, what of a text without escape sequences is written.
//! Everything it remembers is a few bytes: no input makes it grow.

use super::chars::{self, Class, Shape};

/// More in a row only push what follows off the screen.
pub(super) const MAX_TABS: u8 = 16;
/// Marks on one character; the scripts that stack most need four or five.
pub(super) const MAX_MARKS: u8 = 8;

#[derive(Default)]
pub(super) struct TextFilter {
    /// A carriage return came: the next visible character must not overwrite the line.
    carriage_return: bool,
    /// Something stands on this line.
    on_line: bool,
    tabs: u8,
    marks: u8,
    selected: bool,
    before: Shape,
    /// A joiner that waits for what it joins.
    joiner: Option<char>,
    flag: Option<FlagTags>,
}

impl TextFilter {
    /// Copies text that holds printable ASCII and newlines only.
    pub(super) fn ascii(&mut self, run: &str, out: &mut String) {
        if self.carriage_return && !run.starts_with('\n') {
            self.settle(out);
        }
        out.push_str(run);
        *self = Self { on_line: !run.ends_with('\n'), ..Self::default() };
    }

    pub(super) fn char(&mut self, c: char, out: &mut String) {
        match chars::classify(c) {
            Class::Plain => self.plain(c, out),
            Class::Space => self.plain(' ', out),
            Class::Invalid => self.plain(char::REPLACEMENT_CHARACTER, out),
            Class::Break => self.newline(out),
            Class::Control => self.control(c, out),
            Class::Mark => self.mark(c, out),
            Class::Selector => self.selector(c, out),
            Class::Joiner => self.joiner = (self.before != Shape::Other).then_some(c),
            Class::Tag => self.tag(c, out),
            Class::Hidden => {}
        }
    }

    /// An escape sequence begins: what was waiting for the very next character waits in vain.
    pub(super) fn interrupted(&mut self) {
        self.joiner = None;
        self.flag = None;
    }

    fn plain(&mut self, c: char, out: &mut String) {
        self.settle(out);
        let shape = chars::shape(c);
        if let Some(joiner) = self.joiner.take()
            && chars::joins(self.before, joiner, shape)
        {
            out.push(joiner);
        }
        out.push(c);
        self.base(shape);
        self.flag = (c == BLACK_FLAG).then(FlagTags::default);
    }

    fn control(&mut self, c: char, out: &mut String) {
        match c {
            '\n' | '\u{b}' | '\u{c}' => self.newline(out),
            '\r' => self.carriage_return = true,
            '\t' if self.tabs < MAX_TABS => {
                let tabs = self.tabs + 1;
                self.settle(out);
                out.push('\t');
                self.base(Shape::Other);
                self.tabs = tabs;
            }
            _ => {}
        }
    }

    fn newline(&mut self, out: &mut String) {
        out.push('\n');
        *self = Self::default();
    }

    fn mark(&mut self, c: char, out: &mut String) {
        if self.on_line && !self.carriage_return && self.marks < MAX_MARKS {
            out.push(c);
            self.marks += 1;
        }
    }

    /// One a character: long runs of selectors carry hidden bytes.
    fn selector(&mut self, c: char, out: &mut String) {
        let fits = c <= '\u{fe0f}' || self.before == Shape::Ideograph;
        if self.on_line && !self.carriage_return && !self.selected && fits {
            out.push(c);
            self.selected = true;
        }
    }

    fn tag(&mut self, c: char, out: &mut String) {
        let Some(mut flag) = self.flag.take() else { return };
        match flag.push(c) {
            TagState::More => self.flag = Some(flag),
            TagState::Flag => flag.write(out),
            TagState::Hidden => {}
        }
    }

    /// A bare carriage return becomes a line break: text is never overwritten, and a progress bar leaves lines.
    fn settle(&mut self, out: &mut String) {
        if self.carriage_return {
            if self.on_line {
                out.push('\n');
            }
            *self = Self::default();
        }
    }

    fn base(&mut self, shape: Shape) {
        *self = Self { on_line: true, before: shape, ..Self::default() };
    }
}

const BLACK_FLAG: char = '\u{1f3f4}';
const END_TAG: char = '\u{e007f}';

/// The tags after a black flag, held back until they are known to name a country.
#[derive(Default)]
struct FlagTags {
    letters: [u8; 5],
    len: usize,
}

enum TagState {
    More,
    Flag,
    Hidden,
}

impl FlagTags {
    fn push(&mut self, c: char) -> TagState {
        if c == END_TAG {
            let known = matches!(&self.letters[..self.len], b"gbeng" | b"gbsct" | b"gbwls");
            return if known { TagState::Flag } else { TagState::Hidden };
        }
        let letter = (u32::from(c) & 0x7f) as u8;
        match self.letters.get_mut(self.len) {
            Some(slot) => *slot = letter,
            None => return TagState::Hidden,
        }
        self.len += 1;
        TagState::More
    }

    fn write(&self, out: &mut String) {
        out.extend(self.letters.iter().filter_map(|&letter| char::from_u32(0xe0000 + u32::from(letter))));
        out.push(END_TAG);
    }
}
