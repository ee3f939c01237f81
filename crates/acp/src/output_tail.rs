//! The last bytes of a program's output, as text of bounded length that never begins or ends inside a character.

use std::collections::VecDeque;

#[derive(Debug)]
pub struct OutputTail {
    bytes: VecDeque<u8>,
    limit: usize,
    /// Something was dropped.
    truncated: bool,
}

impl OutputTail {
    pub fn new(limit: usize) -> Self {
        Self { bytes: VecDeque::new(), limit, truncated: false }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        let over = self.bytes.len().saturating_sub(self.limit);
        if over > 0 {
            self.truncated = true;
            self.bytes.drain(..over);
        }
    }

    /// Returns the kept text and whether something was dropped. Bytes that are no text become `U+FFFD`, for which more is dropped if the limit wants it; a character
    /// that is still to come whole is left out unless the stream has `ended`.
    pub fn text(&self, ended: bool) -> (String, bool) {
        let all: Vec<u8> = self.bytes.iter().copied().collect();
        let kept = if self.truncated { after_cut(&all) } else { &all };
        let come = if ended { kept } else { &kept[..kept.len() - unfinished(kept)] };
        let mut text = String::from_utf8_lossy(come).into_owned();
        let mut truncated = self.truncated;
        if text.len() > self.limit {
            truncated = true;
            let from = (text.len() - self.limit..=text.len()).find(|&at| text.is_char_boundary(at));
            text.drain(..from.unwrap_or_default());
        }
        (text, truncated)
    }
}

/// Drops the rest of a character whose beginning was cut.
fn after_cut(bytes: &[u8]) -> &[u8] {
    let rest = bytes.iter().take(3).take_while(|&&byte| byte & 0xc0 == 0x80).count();
    &bytes[rest..]
}

/// Number of bytes at the end that begin a character which is not complete yet.
fn unfinished(bytes: &[u8]) -> usize {
    let begins_one = |back: &usize| {
        let end = std::str::from_utf8(&bytes[bytes.len() - back..]);
        end.is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    (1..=bytes.len().min(3)).find(begins_one).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(limit: usize, pieces: &[&[u8]], ended: bool) -> (String, bool) {
        let mut tail = OutputTail::new(limit);
        for piece in pieces {
            tail.push(piece);
        }
        tail.text(ended)
    }

    #[test]
    fn the_end_stays_and_no_character_is_cut() {
        assert_eq!(tail(10, &[b"short"], true), ("short".into(), false));
        assert_eq!(tail(4, &[b"abc", b"defg"], true), ("defg".into(), true));
        assert_eq!(tail(4, &["aäöü".as_bytes()], true), ("öü".into(), true));
        assert_eq!(tail(5, &["äöü".as_bytes()], true), ("öü".into(), true));
        assert_eq!(tail(0, &[b"x"], true), (String::new(), true));
        assert_eq!(tail(0, &[], true), (String::new(), false));
    }

    #[test]
    fn half_a_character_waits_for_its_rest() {
        let euro = "€".as_bytes();
        assert_eq!(tail(10, &[b"a", &euro[..2]], false), ("a".into(), false));
        assert_eq!(tail(10, &[b"a", &euro[..2], &euro[2..]], false), ("a€".into(), false));
        assert_eq!(tail(10, &[b"a", &euro[..2]], true), ("a\u{fffd}".into(), false));
        assert_eq!(tail(5, &["äab".as_bytes(), &euro[..2]], false), ("ab".into(), true));
    }

    #[test]
    fn what_is_no_text_stays_within_the_limit() {
        let (text, truncated) = tail(8, &[&[0xff; 8]], true);
        assert!(text.len() <= 8 && truncated, "{text:?}");
    }
}
