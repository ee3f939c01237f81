//! Masks bytes that come in pieces: a secret that two pieces share is found all the same.

use std::borrow::Cow;
use std::sync::Arc;

use super::Redactor;

/// The longest secret that is found wherever the pieces were cut; what comes last is held back for so long.
const HOLD: usize = 16 << 10;
/// What is looked at in one go, so that small pieces cost no more than large ones.
const BATCH: usize = 64 << 10;

pub struct RedactStream {
    redactor: Arc<Redactor>,
    held: Vec<u8>,
}

impl RedactStream {
    pub fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, held: Vec::new() }
    }

    pub fn redactor(&self) -> Arc<Redactor> {
        Arc::clone(&self.redactor)
    }

    /// Takes the next piece and gives what can be told by now, often nothing.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        if self.held.len() < HOLD + BATCH {
            return Vec::new();
        }
        let at = self.cut();
        let rest = self.held.split_off(at);
        let ready = std::mem::replace(&mut self.held, rest);
        self.mask(ready)
    }

    /// Takes a piece of which only the end may ever be looked at: gives up all but the last 80 KiB, unmasked and
    /// unseen, and says how much that was.
    pub fn skip(&mut self, bytes: &[u8]) -> usize {
        self.held.extend_from_slice(bytes);
        let surplus = self.held.len().saturating_sub(HOLD + BATCH);
        self.held.drain(..surplus);
        surplus
    }

    /// The rest.
    pub fn finish(&mut self) -> Vec<u8> {
        let rest = std::mem::take(&mut self.held);
        self.mask(rest)
    }

    /// Before what is held back, and never inside a secret or a character.
    fn cut(&self) -> usize {
        let wanted = self.held.len() - HOLD;
        let mut start = 0;
        for chunk in self.held.utf8_chunks() {
            let text = chunk.valid();
            if wanted < start + text.len() {
                let at = text.floor_char_boundary(wanted - start);
                let window = text.floor_char_boundary(at.saturating_sub(HOLD));
                let begins = self.redactor.secret_across(&text[window..], at - window);
                return start + begins.map_or(at, |begins| window + begins);
            }
            start += text.len() + chunk.invalid().len();
            if wanted < start {
                return wanted;
            }
        }
        wanted
    }

    fn mask(&self, bytes: Vec<u8>) -> Vec<u8> {
        if let Ok(text) = std::str::from_utf8(&bytes) {
            return match self.redactor.redact(text) {
                Cow::Borrowed(_) => bytes,
                Cow::Owned(masked) => masked.into_bytes(),
            };
        }
        let mut out = Vec::with_capacity(bytes.len());
        for chunk in bytes.utf8_chunks() {
            out.extend_from_slice(self.redactor.redact(chunk.valid()).as_bytes());
            out.extend_from_slice(chunk.invalid());
        }
        out
    }
}
