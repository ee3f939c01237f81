//! Work that checks itself: after a turn that edited code a command decides whether it is done, and what it
//! says on failure goes back to the model.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use zdx_protocol::display::format::count;
use zdx_protocol::policy::CHECK;
use zdx_protocol::{CallOrigin, CheckResult, Checked, Event, Origin};

use crate::call::TurnIo;
use crate::call::command::{NotRun, Wanted, ending, report, run_gated};
use crate::configured::Configured;
use crate::tools::{CommandOutput, End};
use crate::trust::PinnedCommand;

/// What a failing command may tell the model.
const REPORT_LIMIT: usize = 8 << 10;
/// What of it the user is told once more at the end.
const SHOWN_LIMIT: usize = 2 << 10;

#[derive(Clone, Debug)]
pub(crate) struct Validation {
    command: String,
    /// A configured command is the user's own word; a guessed one is asked about like a model's.
    origin: Origin,
    timeout: Option<Duration>,
    /// How many failures may go back to the model in one turn.
    attempts: u32,
    /// Whoever was asked said no: that holds until the session ends, whichever agent works.
    declined: Arc<AtomicBool>,
    /// Set for a project's own command: it is run only as it was trusted.
    pinned: Option<PinnedCommand>,
}

pub(crate) enum Check {
    Passed,
    /// The model has been told why; another step may mend it.
    Failed(Red),
    /// The model had its attempts.
    GivenUp(Red),
    /// Whoever was asked said what to do instead, and the model has been told.
    Told,
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
    /// `guess`: with no command configured, take one by what is in the folder.
    pub(crate) fn choose(configured: &Configured, root: &Path, guess: bool) -> Option<Self> {
        let settings = &configured.resolved.config.validation;
        if !settings.enabled {
            return None;
        }
        let written = settings.command.as_deref().map(str::trim).filter(|command| !command.is_empty());
        let (command, origin) = match written {
            Some(command) => (command.to_owned(), Origin::User),
            None if guess => (guess_command(root)?.to_owned(), Origin::Model),
            None => return None,
        };
        let (timeout, attempts) = (settings.timeout, settings.max_attempts);
        let pinned = configured.pin(&["validation", "command"], vec![command.clone()]);
        Some(Self { command, origin, timeout, attempts, declined: Arc::default(), pinned })
    }

    /// Whether a command line makes this check and no more: where its errors are printed does not matter.
    pub(crate) fn is(&self, command: &str) -> bool {
        let bare = |line: &str| line.trim().trim_end_matches("2>&1").trim_end().to_owned();
        bare(command) == bare(&self.command)
    }

    /// `failures`: how many checks of this turn went back to the model before. The last repair is checked too, so
    /// that nobody is left to guess whether it helped.
    pub(crate) async fn check(&self, failures: u32, io: &TurnIo) -> Check {
        if self.declined.load(Ordering::Relaxed) {
            return Check::Skipped;
        }
        let id = format!("{CHECK}{}-{}", io.emit.transcript().turns, failures + 1);
        let wanted = Wanted {
            id: id.clone(),
            command: &self.command,
            by: CallOrigin::Check,
            word: self.origin,
            timeout: self.timeout,
        };
        let tell = |result: CheckResult| {
            let (command, attempts) = (self.command.clone(), self.attempts);
            let attempt = failures + u32::from(result == CheckResult::Failed);
            io.emit.emit(Event::Checked(Checked { id, command, result, attempt, attempts }))
        };
        if let Some(pinned) = &self.pinned
            && let Some(why) = pinned.refusal().await
        {
            tell(CheckResult::NotRun { why }).await;
            return Check::Skipped;
        }
        let output = match run_gated(wanted, io).await {
            Ok((output, _)) => output,
            // The model was done: whoever stops at this question declines the check, and breaks nothing off.
            Err(NotRun::Interrupted) => {
                let why = format!("you stopped at its question; !{} runs it", self.command);
                tell(CheckResult::NotRun { why }).await;
                return Check::Skipped;
            }
            Err(NotRun::Rejected(_, word)) => {
                self.declined.store(true, Ordering::Relaxed);
                let why = format!("you said no, and are not asked again here; !{} runs it", self.command);
                tell(CheckResult::NotRun { why }).await;
                let Some(word) = word else { return Check::Skipped };
                let command = &self.command;
                let text = format!(
                    "To check your changes, `{command}` was to be run. The user said no to that, and to you: {word}"
                );
                io.emit.emit(Event::Reminded { text }).await;
                return Check::Told;
            }
            Err(not_run) => {
                tell(CheckResult::NotRun { why: not_run.message() }).await;
                return Check::Skipped;
            }
        };
        match output.end {
            End::Exited(0) => {
                tell(CheckResult::Passed).await;
                Check::Passed
            }
            End::Cancelled => Check::Interrupted,
            // Neither the command nor the program behind it is there: nothing a model should mend.
            End::Exited(126 | 127) => {
                tell(CheckResult::NotRun { why: format!("{} cannot be run here", self.command) }).await;
                Check::Skipped
            }
            End::Exited(_) | End::Signalled(_) | End::TimedOut(_) if failures >= self.attempts => {
                tell(CheckResult::GivenUp).await;
                Check::GivenUp(Red::new(&self.command, &output))
            }
            End::Exited(_) | End::Signalled(_) | End::TimedOut(_) => {
                tell(CheckResult::Failed).await;
                let text = format!(
                    "Your changes were checked and the check failed. Mend what is wrong, then finish.\n{}",
                    both_ends(&report(&self.command, &output), REPORT_LIMIT)
                );
                io.emit.emit(Event::Reminded { text }).await;
                Check::Failed(Red::new(&self.command, &output))
            }
        }
    }
}

/// What proves a project of this kind, quickly and with nothing but its own tools.
fn guess_command(root: &Path) -> Option<&'static str> {
    let has = |name: &str| root.join(name).is_file();
    let says = |name: &str, test: &dyn Fn(&str) -> bool| {
        crate::paths::read_regular(&root.join(name), 1 << 20)
            .is_ok_and(|file| test(&String::from_utf8_lossy(&file.bytes)))
    };
    if has("Cargo.toml") {
        Some("cargo check")
    } else if has("go.mod") {
        Some("go test ./...")
    } else if says("package.json", &|text| text.contains("\"test\":")) {
        Some("npm test")
    } else if has("pyproject.toml") {
        Some("python3 -m pytest -q")
    } else if says("Makefile", &|text| text.lines().any(|line| line.starts_with("test:"))) {
        Some("make test")
    } else {
        None
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
    fn a_folder_tells_how_it_is_checked() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(guess_command(dir.path()), None);
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        write("Makefile", "all:\n\ttrue\n");
        assert_eq!(guess_command(dir.path()), None);
        write("Makefile", "all:\n\tcontest:\n");
        assert_eq!(guess_command(dir.path()), None);
        for makefile in ["all:\n\ntest:\n\ttrue\n", "test:\n\ttrue\n", "test: all\n"] {
            write("Makefile", makefile);
            assert_eq!(guess_command(dir.path()), Some("make test"), "{makefile}");
        }
        write("package.json", "{\"scripts\": {\"test\": \"jest\"}}");
        assert_eq!(guess_command(dir.path()), Some("npm test"));
        write("go.mod", "module x");
        assert_eq!(guess_command(dir.path()), Some("go test ./..."));
        write("Cargo.toml", "[package]");
        assert_eq!(guess_command(dir.path()), Some("cargo check"));
    }

    #[test]
    fn a_long_report_keeps_both_ends() {
        let text = format!("first\n{}last", "x".repeat(100_000));
        let cut = both_ends(&text, REPORT_LIMIT);
        assert!(cut.len() < REPORT_LIMIT + 100);
        assert!(cut.starts_with("first") && cut.ends_with("last") && cut.contains("left out"));
    }
}
