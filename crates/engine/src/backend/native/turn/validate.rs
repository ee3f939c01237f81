//! Work that checks itself: after a turn that edited code a command decides whether it is done, and what it
//! says on failure goes back to the model.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use zdx_protocol::check::is_prose;
use zdx_protocol::display::format::count;
use zdx_protocol::policy::CHECK;
use zdx_protocol::{CallOrigin, CheckResult, CheckStanding, Checked, Event, Origin};

use crate::call::TurnIo;
use crate::call::command::{NotRun, Wanted, ending, report, run_gated};
use crate::session_check::SessionCheck;
use zdx_config::Config;
use zdx_tools::{CommandEnd, CommandOutput, changed_since};

/// What a failing command may tell the model.
const REPORT_LIMIT: usize = 8 << 10;
/// What of it the user is told once more at the end.
const SHOWN_LIMIT: usize = 2 << 10;
/// A file's time is that of the last tick of the kernel's clock.
const CLOCK_TICK: SignedDuration = SignedDuration::from_millis(10);

#[derive(Clone)]
pub(crate) struct Validation {
    pub check: Arc<SessionCheck>,
    timeout: Option<Duration>,
    /// How many failures may go back to the model in one turn.
    attempts: u32,
    /// The folder of zdx's own files: what is written there is no work of the session.
    own_files: PathBuf,
    /// Whoever was asked said no: that holds until the session ends, whichever agent works.
    declined: Arc<AtomicBool>,
}

pub(crate) enum Check {
    Passed,
    /// The model has been told why; another step may mend it.
    Failed(Red),
    /// The model had its attempts.
    GivenUp(Red),
    Interrupted,
    /// Not run, or of no use: the turn ends as it is.
    Skipped,
}

/// A check that failed.
#[derive(Clone, Debug)]
pub(crate) struct Red {
    command: String,
    end: String,
    output: String,
}

impl Red {
    fn new(command: &str, output: &CommandOutput) -> Self {
        let said: Vec<_> = [&output.stdout, &output.stderr]
            .into_iter()
            .map(|captured| captured.text.trim_end())
            .filter(|text| !text.is_empty())
            .collect();
        Self {
            command: command.to_owned(),
            end: ending(&output.end),
            output: both_ends(&said.join("\n"), SHOWN_LIMIT),
        }
    }

    /// What a turn that ends like this says, and what the command said.
    pub(crate) fn words(&self, attempts: u32) -> (String, Option<String>) {
        let Self { command, end, output } = self;
        let fails = match attempts {
            0 => "check fails".to_owned(),
            some => format!("check still fails after {}", count(some as usize, "attempt")),
        };
        let message = format!("{fails}: {command} ({end})");
        (message, (!output.is_empty()).then(|| output.clone()))
    }
}

impl Validation {
    pub(crate) fn new(check: Arc<SessionCheck>, config: &Config, own_files: PathBuf) -> Self {
        let settings = &config.validation;
        let (timeout, attempts) = (settings.timeout, settings.max_attempts);
        Self { check, timeout, attempts, own_files, declined: Arc::default() }
    }

    /// Whether the user wants to hear of this check: nobody declined it, for this session or for the folder.
    pub(crate) async fn is_wanted(&self) -> bool {
        let check = Arc::clone(&self.check);
        let state = tokio::task::spawn_blocking(move || check.state()).await;
        !self.declined.load(Ordering::Relaxed)
            && state.is_ok_and(|state| state.standing != CheckStanding::Never)
    }

    /// Whether a file that is likely code changed at or after this time. The look at the folder is bounded and leaves out
    /// ignored files; it does not see that a file was deleted.
    pub(crate) async fn finds_changes(&self, since: Timestamp, io: &TurnIo) -> bool {
        let since = since.checked_sub(CLOCK_TICK).unwrap_or(since);
        let (workspace, own_files) = (Arc::clone(io.session.workspace()), self.own_files.clone());
        let look = tokio::task::spawn_blocking(move || {
            let files = changed_since(&workspace, since).files;
            files.iter().any(|(path, _)| !is_prose(path) && !path.starts_with(&own_files))
        });
        tokio::select! {
            biased;
            () = io.cancel.cancelled() => false,
            found = look => found.unwrap_or(false),
        }
    }

    /// Tells that the model itself ran the check of work that failed before, and that it passed.
    pub(crate) async fn tell_passed(&self, id: String, failures: u32, io: &TurnIo) {
        let command = self.check.command().to_owned();
        let (result, attempts) = (CheckResult::Passed, self.attempts);
        io.session
            .events
            .emit(Event::Checked(Checked { id, command, result, attempt: failures, attempts }))
            .await;
    }

    /// The user wants it run, whatever was said before.
    pub(crate) fn ask_again(&self) {
        self.declined.store(false, Ordering::Relaxed);
        self.check.offer_again();
    }

    /// Whether a command line makes this check and no more: where its errors are printed does not matter.
    pub(crate) fn is(&self, command: &str) -> bool {
        let bare = |line: &str| line.trim().trim_end_matches("2>&1").trim_end().to_owned();
        bare(command) == bare(self.check.command())
    }

    /// `failures`: how many checks of this turn went back to the model before. The last repair is checked too, so
    /// that nobody is left to guess whether it helped.
    pub(crate) async fn run(&self, failures: u32, io: &TurnIo) -> Check {
        let command = self.check.command();
        if self.declined.load(Ordering::Relaxed) {
            return Check::Skipped;
        }
        let id = format!("{CHECK}{}-{}", io.session.events.transcript().turns, failures + 1);
        let wanted = Wanted {
            id: id.clone(),
            command,
            by: CallOrigin::Check,
            // The user configured it, or said that it is to run.
            word: Origin::User,
            timeout: self.timeout,
        };
        let tell = |result: CheckResult| {
            let (command, attempts) = (command.to_owned(), self.attempts);
            let attempt = failures + u32::from(result == CheckResult::Failed);
            io.session.events.emit(Event::Checked(Checked { id, command, result, attempt, attempts }))
        };
        if let Some(why) = self.check.refusal().await {
            tell(CheckResult::NotRun { why }).await;
            return Check::Skipped;
        }
        let output = match run_gated(wanted, io).await {
            Ok((output, _)) => output,
            // The model was done: whoever stops at this question declines the check, and breaks nothing off.
            Err(NotRun::Interrupted) => {
                let why = format!("you stopped at its question; !{command} runs it");
                tell(CheckResult::NotRun { why }).await;
                return Check::Skipped;
            }
            Err(NotRun::Rejected(_)) => {
                self.declined.store(true, Ordering::Relaxed);
                let why = format!("you said no, and are not asked again here; !{command} runs it");
                tell(CheckResult::NotRun { why }).await;
                return Check::Skipped;
            }
            Err(not_run) => {
                tell(CheckResult::NotRun { why: not_run.message() }).await;
                return Check::Skipped;
            }
        };
        match output.end {
            CommandEnd::Exited(0) => {
                tell(CheckResult::Passed).await;
                Check::Passed
            }
            CommandEnd::Cancelled => Check::Interrupted,
            // Neither the command nor the program behind it is there: nothing a model should mend.
            CommandEnd::Exited(126 | 127) => {
                tell(CheckResult::NotRun { why: format!("{command} cannot be run here") }).await;
                Check::Skipped
            }
            CommandEnd::Exited(_) | CommandEnd::Signalled(_) | CommandEnd::TimedOut(_)
                if failures >= self.attempts =>
            {
                tell(CheckResult::GivenUp).await;
                Check::GivenUp(Red::new(command, &output))
            }
            CommandEnd::Exited(_) | CommandEnd::Signalled(_) | CommandEnd::TimedOut(_) => {
                tell(CheckResult::Failed).await;
                let text = format!(
                    "Your changes were checked and the check failed. Mend what is wrong, then finish.\n{}",
                    both_ends(&report(command, &output), REPORT_LIMIT)
                );
                io.session.events.emit(Event::Reminded { text }).await;
                Check::Failed(Red::new(command, &output))
            }
        }
    }
}

/// Compilers say the cause first and the count last: both ends are kept.
fn both_ends(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(limit / 2);
    let from = text.ceil_char_boundary(text.len() - limit / 2);
    format!("{}\n… {} bytes left out …\n{}", &text[..head], from - head, &text[from..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_report_keeps_both_ends() {
        let text = format!("first\n{}last", "x".repeat(100_000));
        let cut = both_ends(&text, REPORT_LIMIT);
        assert!(cut.len() < REPORT_LIMIT + 100);
        assert!(cut.starts_with("first") && cut.ends_with("last") && cut.contains("left out"));
    }
}
