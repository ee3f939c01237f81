//! Tracks what calls may have changed, so that a turn knows whether its last check still says something.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Changes to the work of one session, its tasks included. Clones share one state.
#[derive(Clone, Default)]
pub struct WorkTracker {
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// Counts everything that may have changed a file.
    changes: AtomicU64,
    /// A file that is likely code was changed since this was last taken.
    edited_code: AtomicBool,
}

impl WorkTracker {
    /// Notes a change that may be to any file, or to none: a command not known to be read-only, an MCP tool.
    pub(crate) fn note_possible_change(&self) {
        self.state.changes.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn note_edit(&self, code: bool) {
        self.note_possible_change();
        self.state.edited_code.fetch_or(code, Ordering::Relaxed);
    }

    /// The number of changes so far. A check is stale once this has grown.
    pub(crate) fn changes(&self) -> u64 {
        self.state.changes.load(Ordering::Relaxed)
    }

    pub(crate) fn take_edited_code(&self) -> bool {
        self.state.edited_code.swap(false, Ordering::Relaxed)
    }
}
