//! Where a secret ends that goes on for longer than anybody waits: its mask is out, and the rest of it is dropped as it comes.

use super::shapes::{Rest, run};

pub(super) const PEM_END: &str = "PRIVATE KEY-----";
const PEM_FOOT: &str = "-----END ";

#[derive(Debug)]
pub(super) enum Inside {
    /// As long as it is made of these bytes.
    Run(fn(u8) -> bool),
    /// A private key's block, up to the end of its last line.
    Pem { at_foot: bool, tail: String },
}

impl Inside {
    pub(super) fn pem() -> Self {
        Self::Pem { at_foot: false, tail: String::new() }
    }

    /// How much of a text still belongs to it, and whether that is all there ever will.
    pub(super) fn take(&mut self, text: &str, rest: Rest) -> (usize, bool) {
        let (at_foot, tail) = match self {
            Self::Run(accept) => {
                let length = run(text, *accept);
                return (length, length < text.len());
            }
            Self::Pem { at_foot, tail } => (at_foot, tail),
        };
        let length = pem_run(text);
        let before = tail.len();
        tail.push_str(&text[..length]);
        let foot = if *at_foot { Some(0) } else { tail.find(PEM_FOOT) };
        *at_foot = foot.is_some();
        if let Some(end) = foot.and_then(|foot| end_of(tail, foot)) {
            return (end - before, true);
        }
        tail.drain(..tail.len().saturating_sub(PEM_END.len() - 1));
        // Half of an escaped line break is no end yet.
        let half = &text[length..] == "\\" && rest == Rest::MayCome;
        (length, length < text.len() && !half)
    }
}

/// Where the block ends of which this is the inside, when its last line is there.
pub(super) fn footed(inside: &str) -> Option<usize> {
    inside.find(PEM_FOOT).and_then(|foot| end_of(inside, foot))
}

fn end_of(text: &str, foot: usize) -> Option<usize> {
    text[foot..].find(PEM_END).map(|end| foot + end + PEM_END.len())
}

/// Base64, headers and line breaks, also as `\n` inside quoted text.
pub(super) fn pem_run(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        at += match byte {
            b'\\' if matches!(bytes.get(at + 1), Some(b'n' | b'r')) => 2,
            b'+' | b'/' | b'=' | b'-' | b':' | b',' | b' ' | b'\n' | b'\r' | b'\t' => 1,
            byte if byte.is_ascii_alphanumeric() => 1,
            _ => break,
        };
    }
    at
}
