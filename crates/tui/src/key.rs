//! What a person does at the keyboard, whatever bytes a terminal makes of it.

/// A key with what was held down. Shift is told only where it makes no other character: `A` is a character, Shift-Tab is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub code: KeyCode,
    pub ctrl: bool,
    pub alt: bool,
    pub shift: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyCode {
    /// As typed; with Ctrl held in lower case.
    Char(char),
    Enter,
    Tab,
    Backspace,
    Delete,
    Esc,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
    Insert,
    /// A function key by its number.
    F(u8),
}

impl Key {
    pub const fn plain(code: KeyCode) -> Self {
        Self { code, ctrl: false, alt: false, shift: false }
    }

    pub const fn char(c: char) -> Self {
        Self::plain(KeyCode::Char(c))
    }

    pub const fn ctrl(c: char) -> Self {
        Self { ctrl: true, ..Self::char(c) }
    }

    pub const fn alt(c: char) -> Self {
        Self { alt: true, ..Self::char(c) }
    }

    pub const fn shift(code: KeyCode) -> Self {
        Self { shift: true, ..Self::plain(code) }
    }
}
