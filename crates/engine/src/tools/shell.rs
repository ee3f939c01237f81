//! Processes that tools start: groups, time limits, floods, and nothing left behind.
//! Judges no command: what arrives here was allowed to run.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

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
pub enum End {
    Exited(i32),
    /// Killed by this signal.
    Signalled(i32),
    /// Stopped, with everything it started, after this long.
    TimedOut(Duration),
    Cancelled,
}

/// One stream as a model may see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    pub text: String,
    /// All bytes that came, also those not in `text`.
    pub bytes: u64,
    pub truncated: bool,
    pub binary: bool,
    /// The whole stream (up to 64 MiB), when `text` is not or more may still come.
    pub file: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandOutput {
    pub stdout: Captured,
    pub stderr: Captured,
    pub end: End,
    /// Something the command started still runs.
    pub background: bool,
}

/// Something a finished command left running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Background {
    /// The call that started it.
    pub id: String,
    pub command: String,
    /// Of its supervisor, which is also its session.
    pub pid: u32,
}

#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    #[error("the command is {0} bytes long; a shell takes at most {1}: put it in a script file and run that")]
    TooLong(usize, usize),
    #[error("the command holds a NUL character; no shell can run it")]
    Nul,
    #[error("the working folder {0} is gone")]
    NoFolder(PathBuf),
    #[error("could not start {program}: {source}")]
    Start { program: PathBuf, source: std::io::Error },
    #[error("the command's supervisor was killed; its processes were stopped")]
    Lost,
}

pub struct Shell {
    settings: ShellSettings,
}

impl Shell {
    pub fn new(settings: ShellSettings) -> Self {
        Self { settings }
    }

    pub async fn run(&self, _command: &str, _options: RunOptions) -> Result<CommandOutput, ShellError> {
        let _ = &self.settings.supervisor;
        Err(ShellError::Lost)
    }

    /// What finished commands left running.
    pub fn background(&self) -> Vec<Background> {
        Vec::new()
    }

    /// Stops all of it, within two seconds: on interrupt and at the end of the session.
    pub async fn stop_background(&self) {}
}
