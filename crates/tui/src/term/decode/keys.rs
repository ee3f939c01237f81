//! Which key a terminal means: the old codes, the kitty protocol (CSI u), modifyOtherKeys.

use super::sequences::{first_number, released};
use crate::key::{Key, KeyCode};

#[derive(Clone, Copy, Default)]
pub(super) struct Modifiers {
    shift: bool,
    alt: bool,
    ctrl: bool,
    /// Super or Hyper: the window manager's keys, none of ours.
    foreign: bool,
}

impl Modifiers {
    /// As xterm numbers them: one more than the sum of 1 (Shift), 2 (Alt), 4 (Ctrl), 8 (Super), 16 (Hyper), 32 (Meta).
    pub(super) fn new(number: u32) -> Self {
        let bits = number.saturating_sub(1);
        Self {
            shift: bits & 1 != 0,
            alt: bits & (2 | 32) != 0,
            ctrl: bits & 4 != 0,
            foreign: bits & (8 | 16) != 0,
        }
    }

    fn on(self, code: KeyCode) -> Option<Key> {
        (!self.foreign).then_some(Key { code, ctrl: self.ctrl, alt: self.alt, shift: self.shift })
    }
}

pub(super) fn control(byte: u8) -> Key {
    match byte {
        0 => Key::ctrl(' '),
        b'\t' => Key::plain(KeyCode::Tab),
        b'\r' => Key::plain(KeyCode::Enter),
        // Which of the two the Backspace key sends is a matter of settings.
        0x08 | 0x7f => Key::plain(KeyCode::Backspace),
        0x1b => Key::plain(KeyCode::Esc),
        0x01..=0x1a => Key::ctrl(char::from(byte - 1 + b'a')),
        _ => Key::ctrl(char::from(byte + 0x40)),
    }
}

pub(super) fn ss3(last: u8) -> Option<Key> {
    let code = match last {
        b'A'..=b'H' | b'P'..=b'S' => return lettered(last).map(Key::plain),
        b'M' => KeyCode::Enter,
        b'I' => KeyCode::Tab,
        // The keypad.
        b'j'..=b'y' => KeyCode::Char(char::from(last - 0x40)),
        b' ' => KeyCode::Char(' '),
        _ => return None,
    };
    Some(Key::plain(code))
}

fn lettered(last: u8) -> Option<KeyCode> {
    Some(match last {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'F' => KeyCode::End,
        b'H' => KeyCode::Home,
        b'P'..=b'S' => KeyCode::F(last - b'P' + 1),
        _ => return None,
    })
}

fn numbered(number: u32) -> Option<KeyCode> {
    Some(match number {
        1 | 7 => KeyCode::Home,
        2 => KeyCode::Insert,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        11..=15 => function(number - 10)?,
        17..=21 => function(number - 11)?,
        23..=26 => function(number - 12)?,
        28 | 29 => function(number - 13)?,
        31..=34 => function(number - 14)?,
        _ => return None,
    })
}

fn function(number: u32) -> Option<KeyCode> {
    u8::try_from(number).ok().map(KeyCode::F)
}

/// `CSI 1;5A`, `CSI 3;2~`, `CSI Z`.
pub(super) fn csi(last: u8, numbers: &[u32], released: bool) -> Option<Key> {
    if released {
        return None;
    }
    let held = Modifiers::new(numbers.get(1).copied().unwrap_or(1));
    match last {
        b'Z' => Modifiers { shift: true, ..held }.on(KeyCode::Tab),
        b'~' => held.on(numbered(numbers.first().copied()?)?),
        _ => held.on(lettered(last)?),
    }
}

/// `CSI code:shifted:base ; modifiers:event u`.
pub(super) fn csi_u(code: u32, text: &str) -> Option<Key> {
    if released(text) {
        return None;
    }
    let mut parts = text.split(';');
    let shifted = parts.next().and_then(|codes| codes.split(':').nth(1)).map(first_number);
    with_code(code, shifted.filter(|code| *code > 0), Modifiers::new(parts.next().map_or(1, first_number)))
}

pub(super) fn with_code(code: u32, shifted: Option<u32>, held: Modifiers) -> Option<Key> {
    if let Some(key) = named(code) {
        return held.on(key);
    }
    let typed = char::from_u32(code).filter(|c| !c.is_control() && !is_private(*c))?;
    let shifted = shifted.and_then(char::from_u32);
    if held.ctrl {
        return held.on(KeyCode::Char(typed.to_lowercase().next().unwrap_or(typed)));
    }
    // Shift made another character, and that is what was typed.
    let typed = match shifted {
        Some(shifted) if held.shift => shifted,
        None if held.shift => typed.to_uppercase().next().unwrap_or(typed),
        _ => typed,
    };
    Modifiers { shift: false, ..held }.on(KeyCode::Char(typed))
}

fn is_private(c: char) -> bool {
    ('\u{e000}'..='\u{f8ff}').contains(&c)
}

/// Keys without a character: C0 codes, and the kitty protocol's private ones.
fn named(code: u32) -> Option<KeyCode> {
    Some(match code {
        8 | 127 => KeyCode::Backspace,
        9 => KeyCode::Tab,
        13 | 57414 => KeyCode::Enter,
        27 => KeyCode::Esc,
        57348 | 57425 => KeyCode::Insert,
        57349 | 57426 => KeyCode::Delete,
        57350 | 57417 => KeyCode::Left,
        57351 | 57418 => KeyCode::Right,
        57352 | 57419 => KeyCode::Up,
        57353 | 57420 => KeyCode::Down,
        57354 | 57421 => KeyCode::PageUp,
        57355 | 57422 => KeyCode::PageDown,
        57356 | 57423 => KeyCode::Home,
        57357 | 57424 => KeyCode::End,
        57376..=57398 => function(code - 57376 + 13)?,
        57399..=57408 => KeyCode::Char(char::from_digit(code - 57399, 10)?),
        57409 => KeyCode::Char('.'),
        57410 => KeyCode::Char('/'),
        57411 => KeyCode::Char('*'),
        57412 => KeyCode::Char('-'),
        57413 => KeyCode::Char('+'),
        57415 => KeyCode::Char('='),
        _ => return None,
    })
}
