//! What a person pressed, told from what a paste or a cursor key sent. Reads no terminal itself.

/// Makes a terminal mark what is pasted, so that it cannot pass for keys.
pub const MARK_PASTES: &str = "\x1b[?2004h";
pub const UNMARK_PASTES: &str = "\x1b[?2004l";

pub const PASTE_BEGINS: &[u8] = b"\x1b[200~";
pub const PASTE_ENDS: &[u8] = b"\x1b[201~";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pressed {
    Key(char),
    /// Ctrl-D.
    End,
}

/// Follows what a terminal sends, burst by burst.
#[derive(Debug, Default)]
pub struct Keys {
    pasting: bool,
    /// The end of the last burst of a paste, where its closing mark may have begun.
    tail: Vec<u8>,
}

impl Keys {
    /// One burst: a key that was pressed alone, or with Enter behind it; or nothing that counts.
    pub fn read(&mut self, burst: &[u8]) -> Option<Pressed> {
        if self.pasting {
            self.paste(burst);
            return None;
        }
        if let Some(at) = find(burst, PASTE_BEGINS) {
            self.pasting = true;
            self.paste(burst.get(at + PASTE_BEGINS.len()..).unwrap_or_default());
            return None;
        }
        match burst {
            [0x04] => Some(Pressed::End),
            [key @ b' '..=b'~'] | [key @ b' '..=b'~', b'\r' | b'\n'] => Some(Pressed::Key(char::from(*key))),
            _ => None,
        }
    }

    fn paste(&mut self, burst: &[u8]) {
        self.tail.extend_from_slice(burst);
        if find(&self.tail, PASTE_ENDS).is_some() {
            *self = Self::default();
        } else {
            let surplus = self.tail.len().saturating_sub(PASTE_ENDS.len() - 1);
            self.tail.drain(..surplus);
        }
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(bursts: &[&[u8]]) -> Option<Pressed> {
        let mut keys = Keys::default();
        bursts.iter().map(|burst| keys.read(burst)).last().flatten()
    }

    #[test]
    fn a_key_counts_alone_and_with_enter_behind_it() {
        assert_eq!(last(&[b"y"]), Some(Pressed::Key('y')));
        assert_eq!(last(&[b"y\r"]), Some(Pressed::Key('y')));
        assert_eq!(last(&[b"\x04"]), Some(Pressed::End));
        for noise in [&b"yes\r"[..], b"\x1b[A", b"\x1b", b"\r", b"\ry", b"yy", "ÿ".as_bytes(), b""] {
            assert_eq!(last(&[noise]), None, "{noise:?}");
        }
    }

    #[test]
    fn nothing_of_a_paste_counts_however_it_is_cut() {
        let paste = b"\x1b[200~y\n\x1b[201~";
        for cut in PASTE_BEGINS.len()..=paste.len() {
            let (a, b) = paste.split_at(cut);
            assert_eq!(last(&[a, b]), None, "{cut}");
            assert_eq!(last(&[a, b, b"n"]), Some(Pressed::Key('n')), "{cut}");
        }
        assert_eq!(last(&[b"\x1b[200~", b"y"]), None);
    }
}
