//! Tracks which calls may have changed files and how the last check ended, for as long as the session lasts. Decides
//! whether the end of a turn has something to check; runs nothing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use zdx_protocol::check::CheckHistory;

/// Changes to the work of one session, its tasks included. Clones share one state.
#[derive(Clone, Default)]
pub(crate) struct WorkTracker {
    progress: Arc<Mutex<WorkProgress>>,
}

#[derive(Debug, Default)]
struct WorkProgress {
    changes: ChangeCount,
    /// The changes that the end of a turn has dealt with: by a check, an offer, or a reason for neither.
    settled: ChangeCount,
    /// Start of the first turn whose changes are not settled.
    unsettled_since: Option<Timestamp>,
    /// A file that is likely code was edited and no check has ended since.
    edited_code: bool,
    last_check: Option<LastCheck>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ChangeCount {
    /// Everything that may have changed a file.
    all: u64,
    /// The same without edits of prose.
    code: u64,
}

#[derive(Clone, Copy, Debug)]
struct LastCheck {
    passed: bool,
    /// The changes when it ended.
    at: ChangeCount,
}

/// Whether the work changed since it was last checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckDue {
    No,
    Yes,
    /// Nobody edited code and no check has ended yet, but a command may have changed code since this time.
    IfFilesChanged(Timestamp),
}

impl WorkTracker {
    /// The tracker of a session that is resumed. A verdict counts only if this very command gave it.
    pub(crate) fn recall(history: &CheckHistory, command: Option<&str>) -> Self {
        let tracker = Self::default();
        let verdict = history.last.as_ref().filter(|last| Some(last.command.as_str()) == command);
        {
            let mut progress = tracker.lock();
            progress.last_check =
                verdict.map(|last| LastCheck { passed: last.passed, at: ChangeCount::default() });
            progress.edited_code = history.edited_code;
        }
        if history.unsettled {
            tracker.note_possible_change();
        }
        tracker
    }

    pub(crate) fn begin_turn(&self, now: Timestamp) {
        self.lock().unsettled_since.get_or_insert(now);
    }

    /// Notes a change that may be to any file, or to none: a command not known to be read-only, an MCP tool.
    pub(crate) fn note_possible_change(&self) {
        let changes = &mut self.lock().changes;
        changes.all += 1;
        changes.code += 1;
    }

    pub(crate) fn note_edit(&self, code: bool) {
        let mut progress = self.lock();
        progress.changes.all += 1;
        progress.changes.code += u64::from(code);
        progress.edited_code |= code;
    }

    /// The number of changes so far.
    pub(crate) fn changes(&self) -> u64 {
        self.lock().changes.all
    }

    pub(crate) fn check_due(&self) -> CheckDue {
        let WorkProgress { changes, settled, unsettled_since, edited_code, last_check } = &*self.lock();
        let stale = match last_check {
            _ if changes == settled => false,
            _ if *edited_code => true,
            // A repair may be of any kind.
            Some(LastCheck { passed: false, at }) => changes.all != at.all,
            Some(LastCheck { passed: true, at }) => changes.code != at.code,
            None if changes.code == settled.code => false,
            None => return unsettled_since.map_or(CheckDue::No, CheckDue::IfFilesChanged),
        };
        if stale { CheckDue::Yes } else { CheckDue::No }
    }

    /// Notes how a check of the files as they are now ended.
    pub(crate) fn note_check(&self, passed: bool) {
        {
            let mut progress = self.lock();
            progress.last_check = Some(LastCheck { passed, at: progress.changes });
            progress.edited_code = false;
        }
        self.settle();
    }

    /// Notes that the end of a turn has dealt with all changes so far.
    pub(crate) fn settle(&self) {
        let mut progress = self.lock();
        progress.settled = progress.changes;
        progress.unsettled_since = None;
    }

    pub(crate) fn last_check_failed(&self) -> bool {
        self.lock().last_check.is_some_and(|last| !last.passed)
    }

    /// Whether the last check failed and nothing was changed since.
    pub(crate) fn is_known_to_fail(&self) -> bool {
        let progress = self.lock();
        progress.last_check.is_some_and(|last| !last.passed && last.at == progress.changes)
    }

    fn lock(&self) -> MutexGuard<'_, WorkProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::UNIX_EPOCH;

    fn after(steps: &[&str]) -> WorkTracker {
        let work = WorkTracker::default();
        for step in steps {
            match *step {
                "turn" => work.begin_turn(START),
                "code" => work.note_edit(true),
                "prose" => work.note_edit(false),
                "command" => work.note_possible_change(),
                "passed" => work.note_check(true),
                "failed" => work.note_check(false),
                "settled" => work.settle(),
                other => panic!("{other}"),
            }
        }
        work
    }

    #[test]
    fn a_check_is_due_when_the_work_changed_since_the_last_one() {
        for (steps, due) in [
            (&["turn"][..], CheckDue::No),
            (&["turn", "prose"], CheckDue::No),
            (&["turn", "code"], CheckDue::Yes),
            // Commands alone start no checks in a session in which nobody edits code.
            (&["turn", "command"], CheckDue::IfFilesChanged(START)),
            (&["turn", "command", "settled", "turn"], CheckDue::No),
            (&["turn", "command", "settled", "turn", "prose"], CheckDue::No),
            // An interrupted turn leaves its edits to the next.
            (&["turn", "code", "turn"], CheckDue::Yes),
            (&["turn", "code", "passed", "turn"], CheckDue::No),
            (&["turn", "code", "passed", "turn", "prose"], CheckDue::No),
            (&["turn", "code", "passed", "turn", "command"], CheckDue::Yes),
            (&["turn", "code", "failed", "turn"], CheckDue::No),
            (&["turn", "code", "failed", "turn", "prose"], CheckDue::Yes),
            (&["turn", "code", "failed", "turn", "command"], CheckDue::Yes),
            // Offered and left alone: the next change brings it up again.
            (&["turn", "code", "settled", "turn"], CheckDue::No),
            (&["turn", "code", "settled", "turn", "command"], CheckDue::Yes),
        ] {
            assert_eq!(after(steps).check_due(), due, "{steps:?}");
        }
    }

    #[test]
    fn a_failure_stands_until_a_check_passes() {
        for (steps, failed, known) in [
            (&["code", "failed"][..], true, true),
            (&["code", "failed", "turn", "settled"], true, true),
            (&["code", "failed", "command", "settled"], true, false),
            (&["code", "failed", "passed"], false, false),
        ] {
            let work = after(steps);
            assert_eq!((work.last_check_failed(), work.is_known_to_fail()), (failed, known), "{steps:?}");
        }
    }

    #[test]
    fn a_resumed_session_knows_what_its_records_say() {
        let history = |passed, edited_code, unsettled| {
            let mut history = CheckHistory { edited_code, unsettled, ..CheckHistory::default() };
            history.last =
                Some(zdx_protocol::check::CheckVerdict { command: "make test".to_owned(), passed });
            history
        };
        let failed = WorkTracker::recall(&history(false, false, false), Some("make test"));
        assert!(failed.is_known_to_fail());
        assert_eq!(failed.check_due(), CheckDue::No);
        failed.note_possible_change();
        assert_eq!(failed.check_due(), CheckDue::Yes);
        assert!(!WorkTracker::recall(&history(false, false, false), Some("make all")).last_check_failed());

        let passed = WorkTracker::recall(&history(true, false, false), Some("make test"));
        assert_eq!(passed.check_due(), CheckDue::No);
        passed.note_possible_change();
        assert_eq!(passed.check_due(), CheckDue::Yes);
        let interrupted = WorkTracker::recall(&history(true, true, true), Some("make test"));
        assert_eq!(interrupted.check_due(), CheckDue::Yes);
    }
}
