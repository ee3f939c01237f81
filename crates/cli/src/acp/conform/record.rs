//! Everything that the agent said on one connection, in its order, up to a limit.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use zdx_acp::{Direction, Frame, Id, Tap};

/// What is kept; an agent that says more is judged by this much.
const MOST: usize = 64 << 20;

#[derive(Default)]
pub(super) struct Record {
    lines: Mutex<Lines>,
}

#[derive(Default)]
struct Lines {
    kept: Vec<String>,
    bytes: usize,
}

impl Record {
    pub(super) fn tap(self: &Arc<Self>) -> Tap {
        let record = Arc::clone(self);
        Arc::new(move |direction, line| match direction {
            Direction::Received if !line.trim_ascii().is_empty() => record.keep(line),
            Direction::Received | Direction::Sent => {}
        })
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, line: &[u8]) {
        let mut lines = self.lock();
        if lines.bytes + line.len() <= MOST {
            lines.bytes += line.len();
            lines.kept.push(String::from_utf8_lossy(line).into_owned());
        }
    }

    /// How much there is by now: a place to look from.
    pub(super) fn here(&self) -> usize {
        self.lock().kept.len()
    }

    /// What it said between two places.
    pub(super) fn between(&self, from: usize, upto: usize) -> Vec<String> {
        let lines = self.lock();
        let upto = upto.min(lines.kept.len());
        lines.kept[from.min(upto)..upto].to_vec()
    }

    pub(super) fn since(&self, from: usize) -> Vec<String> {
        self.between(from, usize::MAX)
    }

    /// The answer to this, and where it stands.
    pub(super) fn answer(&self, id: &Id, from: usize) -> Option<(usize, String)> {
        let is_answer = |line: &&String| matches!(Frame::read(line.as_bytes()), Ok(Frame::Response { id: Some(of), .. }) if of == *id);
        let lines = self.lock();
        let at = lines.kept.iter().skip(from).position(|line| is_answer(&line))?;
        Some((from + at, lines.kept[from + at].clone()))
    }
}

/// The `session/update`s of a session among these lines, each with its line.
pub(super) fn updates(lines: &[String], session: &str) -> Vec<(Value, String)> {
    let update = |line: &String| match Frame::read(line.as_bytes()) {
        Ok(Frame::Notification { method, params })
            if method == "session/update" && params["sessionId"] == session =>
        {
            Some((params["update"].clone(), line.clone()))
        }
        Ok(_) | Err(_) => None,
    };
    lines.iter().filter_map(update).collect()
}
