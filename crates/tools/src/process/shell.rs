//! Processes that tools start: groups, time limits, floods, and nothing left behind.
//! Judges no command: what arrives here was allowed to run.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use zdx_protocol::redact::{RedactStream, Redactor};

use self::capture::{SpillSink, StreamCapture};
use self::order::{OutputStream, StreamOrder};
use self::supervised::SupervisedFamily;
use zdx_workspace::spill::SpillFolder;

mod capture;
mod child;
pub(super) mod environment;
mod order;
mod supervised;

pub use capture::CapturedStream;
pub use child::{ChildProcess, ChildSpec, RunningProgram};
pub use environment::child_variables;

const SHELL: &str = "/bin/sh";
/// The kernel takes no longer argument; one byte is kept for the guard in `script`.
const MAX_COMMAND: usize = 128 * 1024 - 2;

/// How long a finished command's pipes may stay open before its result goes out without their end.
const LINGER: Duration = Duration::from_millis(500);
/// What a child that is just ending gets before it counts as left in the background.
const ENDING: Duration = Duration::from_millis(50);

/// How this session's commands run.
pub struct ShellSettings {
    /// The executable that understands `supervisor::ARGUMENT`; `supervisor::program()` for zdx itself.
    pub supervisor: PathBuf,
    /// The environment zdx was started with; children get the allowed part of it.
    pub env: Vec<(OsString, OsString)>,
    /// Variables passed on beyond the allowed ones (`NAME` or `PREFIX_*`), secrets included.
    pub env_pass: Vec<String>,
    /// Where output that is too long for a model is kept whole; none keeps it nowhere.
    pub spill_dir: Option<PathBuf>,
    /// Masks secrets in what commands print.
    pub redactor: Arc<Redactor>,
}

pub struct RunOptions {
    /// Names the spill files.
    pub id: String,
    pub cwd: PathBuf,
    pub timeout: Option<Duration>,
    pub cancel: CancellationToken,
    pub progress: Option<mpsc::Sender<String>>,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    Exited(i32),
    /// Killed by this signal.
    Signalled(i32),
    /// Stopped, with everything it started, after this long.
    TimedOut(Duration),
    Cancelled,
}

impl fmt::Display for CommandEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit code {code}"),
            Self::Signalled(signal) => write!(f, "signal {signal}"),
            Self::TimedOut(_) | Self::Cancelled => f.write_str("stopped"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandOutput {
    pub stdout: CapturedStream,
    pub stderr: CapturedStream,
    pub end: CommandEnd,
    /// Something the command started still runs.
    pub background: bool,
    /// Lines of each stream that ended, as they came.
    runs: Vec<u32>,
}

impl CommandOutput {
    /// In which order the lines of both streams came. Empty where only one has any, or where text was left out.
    pub fn order(&self) -> Vec<u32> {
        let (out, err) = (&self.stdout, &self.stderr);
        if out.text.is_empty() || err.text.is_empty() || out.truncated || err.truncated {
            return Vec::new();
        }
        self.runs.clone()
    }
}

/// Something a finished command left running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackgroundChild {
    /// The call that started it.
    pub id: String,
    pub command: String,
    /// Of its supervisor, which is also its session.
    pub pid: u32,
}

#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    #[error("the command is {0} bytes long, a shell takes at most {max}: write it to a file and run that", max = MAX_COMMAND)]
    TooLong(usize),
    #[error("the command holds a NUL character, which no program can be given")]
    Nul,
    #[error("the working folder {0} was moved away, and something else may lie there now: start zdx anew")]
    Moved(PathBuf),
    #[error("the working folder {0} is gone")]
    NoFolder(PathBuf),
    #[error("could not start {program}: {source}")]
    Start { program: PathBuf, source: io::Error },
    #[error("the process that watched over the command was killed, so the command was stopped")]
    Lost,
}

impl ShellError {
    /// Why a program that the configuration names does not run, and what to look at.
    pub fn not_started(&self) -> String {
        let text = self.to_string();
        let text = text.split(" (os error").next().unwrap_or_default();
        format!("{text}; is it installed, and on the PATH?")
    }
}

pub struct Shell {
    supervisor: PathBuf,
    env: Vec<(OsString, OsString)>,
    spill: Option<SpillFolder>,
    redactor: Arc<Redactor>,
    left: Mutex<Vec<LeftRunning>>,
}

/// A family that outlived its call, and the task that waits for its end.
struct LeftRunning {
    background: BackgroundChild,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Shell {
    pub fn new(settings: ShellSettings) -> Self {
        let ShellSettings { supervisor, env, env_pass, spill_dir, redactor } = settings;
        let env = environment::allowed(env, &env_pass);
        let spill = spill_dir.map(SpillFolder::new);
        Self { supervisor, env, spill, redactor, left: Mutex::default() }
    }

    /// For programs that the user named himself (ACP agents): they get the environment whole and as it is.
    pub fn trusting(supervisor: PathBuf, env: Vec<(OsString, OsString)>, redactor: Arc<Redactor>) -> Self {
        Self { supervisor, env, spill: None, redactor, left: Mutex::default() }
    }

    /// Where what is too long for a model is kept whole.
    pub fn spill(&self) -> Option<&SpillFolder> {
        self.spill.as_ref()
    }

    /// A text as it may be written to a file beside the session.
    pub fn masked<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.redactor.redact(text)
    }

    /// Runs `sh -c command` and returns when it ended, ran out of time or was cancelled, with all it started stopped in
    /// the last two cases. A future that is dropped midway takes the command with it.
    pub async fn run(&self, command: &str, options: RunOptions) -> Result<CommandOutput, ShellError> {
        let RunOptions { id, cwd, timeout, cancel, progress } = options;
        if command.len() > MAX_COMMAND {
            return Err(ShellError::TooLong(command.len()));
        }
        if command.contains('\0') {
            return Err(ShellError::Nul);
        }
        let nothing = File::open("/dev/null").map_err(|source| self.not_started(source))?;
        let (mut supervised, stdout, stderr) = self.supervise(&self.env, &cwd, nothing.into())?;
        let script = script(command);
        let arguments = [OsStr::new(SHELL), OsStr::new("-c"), OsStr::new(&*script)];
        let spill = |stream| SpillSink::new(self.spill.as_ref(), &id, stream);
        let mask = || RedactStream::new(Arc::clone(&self.redactor));
        let order = StreamOrder::default();
        let mut stdout = StreamCapture::pump(
            stdout,
            spill("stdout"),
            mask(),
            progress.clone(),
            (order.clone(), OutputStream::Out),
        );
        let mut stderr = StreamCapture::pump(
            stderr,
            spill("stderr"),
            mask(),
            progress,
            (order.clone(), OutputStream::Err),
        );

        let ran = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(CommandEnd::Cancelled),
            () = crate::expired(timeout) => Err(CommandEnd::TimedOut(timeout.unwrap_or_default())),
            ended = async { supervised.begin(&arguments).await?; supervised.ended().await } => Ok(ended),
        };
        let (end, more) = match ran {
            Ok(Ok(ended)) => ended,
            Ok(Err(error)) => {
                supervised.stop().await;
                return Err(error);
            }
            Err(stopped) => {
                supervised.stop().await;
                (stopped, false)
            }
        };
        let closed = tokio::time::timeout(LINGER, async {
            stdout.closed().await;
            stderr.closed().await;
        });
        let closed = closed.await.is_ok();
        let alive = more && tokio::time::timeout(ENDING, supervised.gone()).await.is_err();
        if alive {
            self.leave(supervised, id, command);
        } else {
            // Nobody is left but the supervisor on its way out; not worth waiting for.
            tokio::spawn(supervised.reap());
        }
        let background = alive || !closed;
        let (stdout, stderr) = (stdout.finish(), stderr.finish());
        // The last line of each may never have been ended; a word about the time limit comes behind.
        let open = |text: &str| usize::from(!text.is_empty() && !text.ends_with('\n'));
        order.add(OutputStream::Out, open(&stdout.text));
        order
            .add(OutputStream::Err, open(&stderr.text) + usize::from(matches!(end, CommandEnd::TimedOut(_))));
        Ok(CommandOutput { stdout, stderr, end, background, runs: order.runs() })
    }

    fn supervise(
        &self,
        env: &[(OsString, OsString)],
        cwd: &Path,
        stdin: OwnedFd,
    ) -> Result<(SupervisedFamily, ChildStdout, ChildStderr), ShellError> {
        SupervisedFamily::start(&self.supervisor, env, cwd, stdin).map_err(|source| match cwd.is_dir() {
            true => self.not_started(source),
            false => ShellError::NoFolder(cwd.to_owned()),
        })
    }

    fn not_started(&self, source: io::Error) -> ShellError {
        ShellError::Start { program: self.supervisor.clone(), source }
    }

    fn leave(&self, supervised: SupervisedFamily, id: String, command: &str) {
        let background = BackgroundChild { id, command: command.to_owned(), pid: supervised.pid() };
        let stop = CancellationToken::new();
        let task = tokio::spawn(supervised.stay(stop.clone()));
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.retain(|left| !left.task.is_finished());
        left.push(LeftRunning { background, stop, task });
    }

    /// What finished commands left running.
    pub fn background(&self) -> Vec<BackgroundChild> {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.iter().filter(|left| !left.task.is_finished()).map(|left| left.background.clone()).collect()
    }

    /// Stops all of it but what is to be kept, within two seconds: on interrupt and at the end of the session.
    pub async fn stop_background(&self, keep: &[BackgroundChild]) {
        let all = std::mem::take(&mut *self.left.lock().unwrap_or_else(PoisonError::into_inner));
        let (kept, left): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|left| keep.contains(&left.background));
        self.left.lock().unwrap_or_else(PoisonError::into_inner).extend(kept);
        for left in &left {
            left.stop.cancel();
        }
        for left in left {
            let _ = left.task.await;
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let left = self.left.get_mut().unwrap_or_else(PoisonError::into_inner);
        for left in left {
            left.stop.cancel();
        }
    }
}

/// `sh -c -x` would take the command for an option.
fn script(command: &str) -> Cow<'_, str> {
    match command.starts_with(['-', '+']) {
        true => format!(" {command}").into(),
        false => command.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_never_an_option_of_the_shell() {
        assert_eq!(script("-x"), " -x");
        assert_eq!(script("+x"), " +x");
        assert_eq!(script("ls -x"), "ls -x");
    }
}
