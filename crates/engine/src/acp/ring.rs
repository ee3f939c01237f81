//! The end of a stream, as text of bounded length that never begins or ends inside a character.

use std::collections::VecDeque;

use zdx_workspace::text::{after_cut, unfinished};

pub struct Ring {
    bytes: VecDeque<u8>,
    limit: usize,
    /// Something was dropped.
    truncated: bool,
}

impl Ring {
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

    /// What is kept. Bytes that are no text become `U+FFFD`, for which more is dropped if the limit wants it; a character
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(limit: usize, pieces: &[&[u8]], ended: bool) -> (String, bool) {
        let mut ring = Ring::new(limit);
        for piece in pieces {
            ring.push(piece);
        }
        ring.text(ended)
    }

    #[test]
    fn the_end_stays_and_no_character_is_cut() {
        assert_eq!(ring(10, &[b"short"], true), ("short".into(), false));
        assert_eq!(ring(4, &[b"abc", b"defg"], true), ("defg".into(), true));
        assert_eq!(ring(4, &["aäöü".as_bytes()], true), ("öü".into(), true));
        assert_eq!(ring(5, &["äöü".as_bytes()], true), ("öü".into(), true));
        assert_eq!(ring(0, &[b"x"], true), (String::new(), true));
        assert_eq!(ring(0, &[], true), (String::new(), false));
    }

    #[test]
    fn half_a_character_waits_for_its_rest() {
        let euro = "€".as_bytes();
        assert_eq!(ring(10, &[b"a", &euro[..2]], false), ("a".into(), false));
        assert_eq!(ring(10, &[b"a", &euro[..2], &euro[2..]], false), ("a€".into(), false));
        assert_eq!(ring(10, &[b"a", &euro[..2]], true), ("a\u{fffd}".into(), false));
        assert_eq!(ring(5, &["äab".as_bytes(), &euro[..2]], false), ("ab".into(), true));
    }

    #[test]
    fn what_is_no_text_stays_within_the_limit() {
        let (text, truncated) = ring(8, &[&[0xff; 8]], true);
        assert!(text.len() <= 8 && truncated, "{text:?}");
    }
}
