//! The first matches by path, from threads that find them in any order.
//! Keeps no more than is shown: files that lie behind the last one wanted are not even searched.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::super::walk::SortKey;
use super::lines::{LinePiece, LineSink, ShownPiece};
use zdx_workspace::text::LIMIT;

pub(super) struct GrepHits {
    limit: usize,
    /// More than is shown has been found.
    full: AtomicBool,
    files: Mutex<HitFiles>,
}

#[derive(Default)]
struct HitFiles {
    by_path: BTreeMap<SortKey, FileHits>,
    matches: usize,
    bytes: usize,
}

struct FileHits {
    pieces: Vec<ShownPiece>,
    matches: usize,
    bytes: usize,
}

pub(super) struct ShownHits {
    pub matches: usize,
    pub files: usize,
    pub truncated: bool,
    /// Lines with bytes that are not UTF-8 are among them.
    pub lossy: bool,
    pub text: String,
}

impl GrepHits {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, full: AtomicBool::new(false), files: Mutex::default() }
    }

    /// Nothing of this path, or below it, could be shown. Only so once more is known than is shown, so that what is
    /// shown, and that it is cut, does not depend on who was first.
    pub(super) fn is_behind(&self, key: &SortKey) -> bool {
        self.full.load(Ordering::Acquire)
            && self.lock().by_path.last_key_value().is_some_and(|(last, _)| key > last)
    }

    pub(super) fn add(&self, key: SortKey, lines: LineSink<'_>) {
        if lines.matches == 0 {
            return;
        }
        let hits = FileHits { pieces: lines.pieces, matches: lines.matches, bytes: lines.bytes };
        let mut files = self.lock();
        files.matches += hits.matches;
        files.bytes += hits.bytes;
        files.by_path.insert(key, hits);
        while let Some(last) = files.by_path.last_entry() {
            let (matches, bytes) = (last.get().matches, last.get().bytes);
            if !self.is_full(files.matches - matches, files.bytes - bytes) {
                break;
            }
            files.by_path.pop_last();
            files.matches -= matches;
            files.bytes -= bytes;
        }
        if self.is_full(files.matches, files.bytes) {
            self.full.store(true, Ordering::Release);
        }
    }

    fn is_full(&self, matches: usize, bytes: usize) -> bool {
        matches > self.limit || bytes > LIMIT
    }

    fn lock(&self) -> MutexGuard<'_, HitFiles> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every file's name, then its lines.
    pub(super) fn render(self, name: impl Fn(&SortKey) -> String) -> ShownHits {
        let files = self.files.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut shown =
            ShownHits { matches: 0, files: 0, truncated: false, lossy: false, text: String::new() };
        for (key, hits) in &files.by_path {
            if shown.truncated {
                break;
            }
            let start = shown.text.len();
            if start > 0 {
                shown.text.push('\n');
            }
            shown.text.push_str(&name(key));
            shown.text.push('\n');
            let matches = shown.take(&hits.pieces, self.limit);
            match matches {
                0 => shown.text.truncate(start),
                _ => shown.files += 1,
            }
        }
        if shown.truncated {
            let why = match shown.matches {
                matches if matches == self.limit => format!("more than {matches} matches"),
                _ => format!("more than {} KiB", LIMIT / 1024),
            };
            shown.text.push_str(&format!("\n[truncated: {why}; narrow the pattern, path or glob]\n"));
        }
        shown
    }
}

impl ShownHits {
    /// The pieces that still find room; tells how many of them are matches.
    fn take(&mut self, pieces: &[ShownPiece], limit: usize) -> usize {
        let before = self.matches;
        for ShownPiece { piece, text, lossy } in pieces {
            let one_more = *piece == LinePiece::Match && self.matches == limit;
            if one_more || self.text.len() + text.len() > LIMIT {
                self.truncated = true;
                break;
            }
            self.matches += usize::from(*piece == LinePiece::Match);
            self.text.push_str(text);
            self.lossy |= lossy;
        }
        self.matches - before
    }
}
