//! Output for the screen while it comes. Never waits while it does: what nobody takes in time is left out, with a word about
//! how much that was, and the end of it is always told. Secrets are masked here, before anything is left out or another
//! stream's output comes between: behind that, half of one is not known for what it is.

use std::sync::Arc;

use tokio::sync::mpsc;
use zdx_protocol::redact::{LiveMask, Redactor};

use zdx_workspace::text::{after_cut, decode, unfinished};

/// What one piece carries at most, and what is held back of what nobody took yet.
const PIECE: usize = 8 * 1024;

pub(super) struct OutputProgress {
    to: mpsc::Sender<String>,
    /// The end of what came and is not told yet, at most a piece of it when nobody listens.
    waiting: Vec<u8>,
    /// Bytes before it that nobody will be told.
    missed: usize,
    /// What was told so far ends a line.
    at_margin: bool,
    redactor: Arc<Redactor>,
    mask: LiveMask,
}

impl OutputProgress {
    pub(super) fn new(to: mpsc::Sender<String>, redactor: Arc<Redactor>) -> Self {
        Self { to, waiting: Vec::new(), missed: 0, at_margin: true, redactor, mask: LiveMask::default() }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
        while self.to.capacity() > 0 {
            let Some(piece) = self.piece() else { return };
            if !piece.is_empty() {
                let _ = self.to.try_send(piece);
            }
        }
        self.fall_behind();
    }

    /// What is left to be told at the end, and to whom.
    pub(super) fn finish(mut self) -> Option<(mpsc::Sender<String>, String)> {
        let rest = std::mem::take(&mut self.waiting);
        let rest = self.told(&rest) + &self.mask.flush(&self.redactor);
        (!rest.is_empty()).then(|| (self.to.clone(), rest))
    }

    /// The next whole characters.
    fn piece(&mut self) -> Option<String> {
        let end = self.waiting.len().min(PIECE);
        let end = end - unfinished(&self.waiting[..end]);
        let piece: Vec<u8> = self.waiting.drain(..end).collect();
        (!piece.is_empty()).then(|| self.told(&piece))
    }

    fn told(&mut self, piece: &[u8]) -> String {
        let gap = match std::mem::take(&mut self.missed) {
            0 => String::new(),
            missed => {
                let margin = if self.at_margin { "" } else { "\n" };
                format!("{margin}[zdx: {missed} bytes are not shown here]\n")
            }
        };
        self.at_margin = piece.ends_with(b"\n");
        gap + &self.mask.push(&self.redactor, decode(piece))
    }

    /// Of more than a piece that nobody took, the last whole lines are what a screen shows anyway; of a line without end
    /// its last words. What begins anywhere else may be the end of a secret.
    fn fall_behind(&mut self) {
        let over = self.waiting.len().saturating_sub(PIECE);
        if over == 0 {
            return;
        }
        let rest = after_cut(&self.waiting[over..]);
        let after = |ends: fn(&u8) -> bool| rest.iter().position(ends).filter(|at| at + 1 < rest.len());
        let whole = after(|byte| *byte == b'\n').or_else(|| after(u8::is_ascii_whitespace));
        let gone = self.waiting.len() - rest.len() + whole.map_or(rest.len(), |at| at + 1);
        self.waiting.drain(..gone);
        // What was held back may be the start of a secret whose end is gone.
        let held = std::mem::take(&mut self.mask).flush(&self.redactor);
        self.missed += gone + held.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(queue: usize, chunks: &[&[u8]]) -> String {
        let (to, mut from) = mpsc::channel(queue);
        let redactor = Arc::new(Redactor::new(["planted-secret"]).unwrap());
        let mut progress = OutputProgress::new(to, redactor);
        chunks.iter().for_each(|chunk| progress.push(chunk));
        let rest = progress.finish();
        let mut all = String::new();
        while let Ok(piece) = from.try_recv() {
            all.push_str(&piece);
        }
        all + &rest.map(|(_, rest)| rest).unwrap_or_default()
    }

    #[test]
    fn what_fits_the_queue_is_told_whole_in_any_chunks() {
        let lines: String = (1..=2000).map(|n| format!("{n}é\n")).collect();
        for size in [1, 7, 4096, lines.len()] {
            let chunks: Vec<&[u8]> = lines.as_bytes().chunks(size).collect();
            assert_eq!(told(20_000, &chunks), lines, "{size}");
        }
    }

    #[test]
    fn no_half_of_a_secret_is_told_whatever_is_left_out() {
        assert_eq!(told(9, &[b"a planted-", b"secret b plan"]), "a [redacted] b plan");
        for end in ["\n", " "] {
            let flood = format!("secret{}{end}c", "x".repeat(PIECE - 10));
            let told = told(1, &[b"a", b"b planted-", flood.as_bytes()]);
            let left_out = "b planted-".len() + flood.len() - 1;
            assert_eq!(told, format!("a\n[zdx: {left_out} bytes are not shown here]\nc"));
        }
    }

    #[test]
    fn what_nobody_takes_is_counted_and_its_end_is_told() {
        let lines: String = (1..=20_000).map(|n| format!("{n}\n")).collect();
        let chunks: Vec<&[u8]> = lines.as_bytes().chunks(3_000).collect();
        let told = told(2, &chunks);
        assert!(told.starts_with("1\n2\n3\n") && told.ends_with("\n19999\n20000\n"), "{told}");
        let (head, rest) = told.split_once("[zdx: ").unwrap();
        let (missed, tail) = rest.split_once(" bytes are not shown here]\n").unwrap();
        assert!(head.starts_with(&lines[..6_000]) && head.len() <= 6_001, "two pieces: {}", head.len());
        assert_eq!(6_000 + missed.parse::<usize>().unwrap() + tail.len(), lines.len());
        assert!(lines.contains(&format!("\n{tail}")), "in whole lines: {tail}");
    }
}
