//! Output for the screen while it comes. Never waits: what does not fit is dropped.

use tokio::sync::mpsc;

use crate::files::text::{after_cut, decode, unfinished};

/// What one piece carries at most; of more, the end is what a screen shows anyway.
const PIECE: usize = 8 * 1024;

pub(super) struct Progress {
    to: mpsc::Sender<String>,
    /// The beginning of a character whose end has not come yet.
    carry: Vec<u8>,
}

impl Progress {
    pub(super) fn new(to: mpsc::Sender<String>) -> Self {
        Self { to, carry: Vec::new() }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
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
