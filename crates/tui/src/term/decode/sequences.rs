//! Cuts the next key or answer off a stream of bytes.

use super::keys::{self, Modifiers};
use super::{ESC, TermInput};
use crate::key::{Key, KeyCode};
use crate::term::Report;

/// No key and no answer we ask for is longer.
const LONGEST_CSI: usize = 64;
const LONGEST_STRING: usize = 4 << 10;

pub(super) enum Taken {
    /// Not complete yet.
    More,
    /// So many bytes mean nothing to us.
    Nothing(usize),
    Event(usize, TermInput),
    PasteBegins(usize),
}

impl Taken {
    fn of(used: usize, key: Option<Key>) -> Self {
        match key {
            Some(key) => Self::Event(used, TermInput::Key(key)),
            None => Self::Nothing(used),
        }
    }

    fn with_alt(self) -> Self {
        match self {
            Self::Event(used, TermInput::Key(key)) => {
                Self::Event(used + 1, TermInput::Key(Key { alt: true, ..key }))
            }
            Self::Event(used, event) => Self::Event(used + 1, event),
            Self::Nothing(used) => Self::Nothing(used + 1),
            Self::PasteBegins(used) => Self::PasteBegins(used + 1),
            Self::More => Self::More,
        }
    }
}

pub(super) fn take(bytes: &[u8]) -> Taken {
    match bytes {
        [] | [ESC] => Taken::More,
        [ESC, second, rest @ ..] => match (second, rest) {
            (b'[', _) => csi(bytes),
            (b'O', []) => Taken::More,
            (b'O', [last, ..]) => match last {
                // A sequence that was cut off, and the next.
                0..=0x1f | 0x7f.. => Taken::Event(2, TermInput::Key(Key::alt('O'))),
                _ => Taken::of(3, keys::ss3(*last)),
            },
            (b']' | b'P', []) => Taken::More,
            (b']', [b'0'..=b'9', ..]) | (b'P', [b'>' | b'0' | b'1' | b'!', ..]) => string(bytes),
            (&ESC, []) => Taken::More,
            // Alt with a key that is a sequence itself, as rxvt sends it.
            (&ESC, [b'[' | b'O', ..]) => match take(&bytes[1..]) {
                // Nobody held Alt while the terminal answered: it was Esc, a moment before.
                Taken::Nothing(_)
                | Taken::PasteBegins(_)
                | Taken::Event(
                    _,
                    TermInput::Report(_)
                    | TermInput::Focus(_)
                    | TermInput::Paste(_)
                    | TermInput::Resize
                    | TermInput::Stop
                    | TermInput::Continue
                    | TermInput::Gone,
                ) => Taken::Event(1, TermInput::Key(Key::plain(KeyCode::Esc))),
                key @ (Taken::More | Taken::Event(_, TermInput::Key(_))) => key.with_alt(),
            },
            (&ESC, _) => Taken::Event(1, TermInput::Key(Key::plain(KeyCode::Esc))),
            _ => take(&bytes[1..]).with_alt(),
        },
        [byte @ (0..=0x1f | 0x7f), ..] => Taken::of(1, Some(keys::control(*byte))),
        _ => character(bytes),
    }
}

fn character(bytes: &[u8]) -> Taken {
    let length = match bytes[0] {
        0..=0x7f => 1,
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Taken::Nothing(1),
    };
    let have = &bytes[..length.min(bytes.len())];
    match std::str::from_utf8(have) {
        Ok(text) => Taken::of(length, text.chars().next().map(Key::char)),
        Err(error) if error.error_len().is_none() => Taken::More,
        Err(error) => Taken::Nothing(error.error_len().unwrap_or(1)),
    }
}

/// `ESC [ parameters intermediates final`.
fn csi(bytes: &[u8]) -> Taken {
    let body = &bytes[2..];
    if let [b'[', rest @ ..] = body {
        // The Linux console's function keys.
        return match rest {
            [] => Taken::More,
            [last @ b'A'..=b'E', ..] => Taken::of(4, Some(Key::plain(KeyCode::F(last - b'A' + 1)))),
            _ => Taken::Nothing(3),
        };
    }
    let Some(length) = body.iter().take(LONGEST_CSI).position(|byte| !(0x20..=0x3f).contains(byte)) else {
        return if body.len() < LONGEST_CSI { Taken::More } else { Taken::Nothing(2 + LONGEST_CSI) };
    };
    let used = 2 + length + 1;
    match body[length] {
        // Cut off in the middle: what follows is something of its own.
        0..=0x1f | 0x7f.. => Taken::Nothing(used - 1),
        last => meaning(used, &body[..length], last),
    }
}

fn meaning(used: usize, middle: &[u8], last: u8) -> Taken {
    let text = std::str::from_utf8(middle).unwrap_or_default();
    let (private, text) = match text.strip_prefix('?') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    if private {
        return match answer(text, last) {
            Some(report) => Taken::Event(used, TermInput::Report(report)),
            None => Taken::Nothing(used),
        };
    }
    if text.starts_with(['<', '=', '>']) {
        return Taken::Nothing(used);
    }
    let numbers: Vec<u32> = text.split(';').map(first_number).collect();
    match (last, numbers.as_slice()) {
        (b'~', [200, ..]) => Taken::PasteBegins(used),
        (b'~', [201, ..]) => Taken::Nothing(used),
        (b'I', _) => Taken::Event(used, TermInput::Focus(true)),
        (b'O', _) => Taken::Event(used, TermInput::Focus(false)),
        // F3 with something held down looks the same on old terminals; we ask for the cursor, so that is what it is.
        (b'R', [row, column]) => Taken::Event(used, sized(Report::Cursor, *row, *column)),
        (b't', [8, first, second]) => Taken::Event(used, sized(Report::Size, *first, *second)),
        (b'u', [code, ..]) => Taken::of(used, keys::csi_u(*code, text)),
        (b'~', [27, held, code, ..]) => {
            let held = Modifiers::new(*held);
            Taken::of(used, keys::with_code(*code, None, held))
        }
        _ => Taken::of(used, keys::csi(last, &numbers, released(text))),
    }
}

fn sized(report: fn(u16, u16) -> Report, first: u32, second: u32) -> TermInput {
    let small = |number: u32| u16::try_from(number).unwrap_or(u16::MAX);
    TermInput::Report(report(small(first), small(second)))
}

/// Before any `:`; empty means nothing was said.
pub(super) fn first_number(text: &str) -> u32 {
    text.split(':').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// The kitty protocol tells of keys that are let go as `modifiers:3`.
pub(super) fn released(text: &str) -> bool {
    text.split(';').nth(1).and_then(|held| held.split(':').nth(1)) == Some("3")
}

fn answer(text: &str, last: u8) -> Option<Report> {
    match last {
        b'c' => Some(Report::Attributes),
        b'u' => Some(Report::KittyKeys(u8::try_from(first_number(text)).unwrap_or(0))),
        // `2026;1$y`: 1 and 2 are set and reset, 0 unknown, 3 and 4 cannot be changed.
        b'y' => match text.strip_suffix('$')?.split_once(';')? {
            ("2026", state) => Some(Report::Synchronised(matches!(state, "1" | "2"))),
            _ => None,
        },
        _ => None,
    }
}

/// `ESC ] … ST` and `ESC P … ST`, where BEL may stand for ST.
fn string(bytes: &[u8]) -> Taken {
    let body = &bytes[2..];
    let Some(length) = body.iter().take(LONGEST_STRING).position(|byte| matches!(*byte, 0x07 | ESC)) else {
        return if body.len() < LONGEST_STRING { Taken::More } else { Taken::Nothing(2 + LONGEST_STRING) };
    };
    let used = match (body[length], body.get(length + 1)) {
        (0x07, _) => 2 + length + 1,
        (_, None) => return Taken::More,
        (_, Some(b'\\')) => 2 + length + 2,
        (_, Some(_)) => return Taken::Nothing(2 + length),
    };
    let text = String::from_utf8_lossy(&body[..length]);
    let report = match bytes[1] {
        b']' => text.strip_prefix("11;").and_then(background),
        _ => text.strip_prefix(">|").map(|name| Report::Version(name.to_owned())),
    };
    report.map_or(Taken::Nothing(used), |report| Taken::Event(used, TermInput::Report(report)))
}

/// `rgb:ffff/8080/0000`, with one to four digits each.
fn background(text: &str) -> Option<Report> {
    let text = text.strip_prefix("rgba:").or_else(|| text.strip_prefix("rgb:"))?;
    let mut parts = text.split('/').map(|digits| {
        let most = 16_u32.checked_pow(u32::try_from(digits.len()).ok()?)?.checked_sub(1)?;
        let part = u32::from_str_radix(digits, 16).ok()?;
        u8::try_from(part * 255 / most.max(1)).ok()
    });
    let mut next = || parts.next().flatten();
    Some(Report::Background(next()?, next()?, next()?))
}
