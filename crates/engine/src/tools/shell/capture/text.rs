//! Bytes of a stream as text: lossy where they are none, cut only between characters.

use tokio::sync::mpsc;

/// What one piece of progress carries at most; of more, the end is what a screen shows anyway.
const PIECE: usize = 8 * 1024;

/// Lossy UTF-8. NULs go the way of other bytes that are no text: some servers refuse a request that holds one.
pub fn decode(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text.into_owned() }
}

/// Drops an unfinished character at the end.
pub fn before_cut(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len() - unfinished(bytes)]
}

/// Drops the rest of a character whose beginning was cut.
pub fn after_cut(bytes: &[u8]) -> &[u8] {
    let rest = bytes.iter().take(3).take_while(|&&byte| byte & 0xc0 == 0x80).count();
    &bytes[rest..]
}

/// How many bytes at the end begin a character that is not complete yet.
fn unfinished(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let byte = bytes[bytes.len() - back];
        let length = match byte {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            0x80..=0xbf => continue,
            _ => return 0,
        };
        return if length > back { back } else { 0 };
    }
    0
}

pub fn first(text: &str, limit: usize) -> &str {
    let end = (0..=limit.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
    &text[..end.unwrap_or_default()]
}

pub fn last(text: &str, limit: usize) -> &str {
    let start = (text.len().saturating_sub(limit)..text.len()).find(|&at| text.is_char_boundary(at));
    &text[start.unwrap_or(text.len())..]
}

/// Output for the screen while it comes. Never waits: what does not fit is dropped.
pub struct Progress {
    to: mpsc::Sender<String>,
    /// The beginning of a character whose end has not come yet.
    carry: Vec<u8>,
}

impl Progress {
    pub fn new(to: mpsc::Sender<String>) -> Self {
        Self { to, carry: Vec::new() }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        if self.to.capacity() == 0 {
            self.carry.clear();
            return;
        }
        let mut piece = std::mem::take(&mut self.carry);
        match bytes.len() > PIECE {
            true => piece = after_cut(&bytes[bytes.len() - PIECE..]).to_vec(),
            false => piece.extend_from_slice(bytes),
        }
        self.carry = piece.split_off(piece.len() - unfinished(&piece));
        if !piece.is_empty() {
            let _ = self.to.try_send(decode(&piece));
        }
    }
}
