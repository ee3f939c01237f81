//! What a server says on stderr: all of it into a log that is bounded, the last of it for whoever is told of a failure.
//! (The field says server logs.)

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use zdx_protocol::redact::Redactor;

use zdx_store::RotatingFile;

const LINES: usize = 5;
const LONGEST: usize = 300;
/// A longer line is broken: nobody waits for its end.
const LONGEST_LINE: usize = 16 << 10;

#[derive(Default)]
pub struct StderrTail(Mutex<VecDeque<String>>);

impl StderrTail {
    /// Keeps them until the stream is closed, and nothing else of what is said.
    pub async fn listen(self: Arc<Self>, stderr: impl AsyncRead + Unpin, redactor: Arc<Redactor>) {
        listen(stderr, None, redactor, self).await;
    }

    /// On one line, oldest first.
    fn said(&self) -> Option<String> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text: Vec<&str> = lines.iter().map(String::as_str).collect();
        (!text.is_empty()).then(|| text.join(" / "))
    }

    /// What became of somebody, with what he himself said last.
    pub fn behind(&self, why: String) -> String {
        match self.said() {
            Some(last) => format!("{why}; its last words: {last}"),
            None => why,
        }
    }

    fn note(&self, line: &str) {
        let line = line.trim();
        if line.is_empty() {
            return;
        }
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LINES {
            lines.pop_front();
        }
        lines.push_back(line.chars().take(LONGEST).collect());
    }
}

/// Until the server closes its stderr. What cannot be written is done without.
pub async fn listen(
    stderr: impl AsyncRead + Unpin,
    mut log: Option<RotatingFile>,
    redactor: Arc<Redactor>,
    words: Arc<StderrTail>,
) {
    let mut from = BufReader::with_capacity(LONGEST_LINE, stderr);
    let mut line = Vec::new();
    loop {
        let (taken, ends) = match from.fill_buf().await {
            Ok([]) | Err(_) => break,
            Ok(piece) => {
                let end = memchr::memchr(b'\n', piece);
                let taken = end.map_or(piece.len(), |at| at + 1).min(LONGEST_LINE - line.len());
                line.extend_from_slice(&piece[..taken]);
                (taken, line.ends_with(b"\n") || line.len() == LONGEST_LINE)
            }
        };
        from.consume(taken);
        if ends {
            write(&mut line, &mut log, &redactor, &words);
        }
    }
    if !line.is_empty() {
        write(&mut line, &mut log, &redactor, &words);
    }
}

fn write(line: &mut Vec<u8>, log: &mut Option<RotatingFile>, redactor: &Redactor, words: &StderrTail) {
    let text = String::from_utf8_lossy(line);
    let masked = redactor.redact(text.trim_end_matches('\n'));
    words.note(&masked);
    if log.as_mut().is_some_and(|log| log.append(format!("{masked}\n").as_bytes()).is_err()) {
        *log = None;
    }
    line.clear();
}
