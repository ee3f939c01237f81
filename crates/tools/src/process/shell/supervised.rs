//! zdx's end of a supervisor: start it, hand it a program to run, hear how that ended, stop it.
//! Keeps the promise of two seconds even when the supervisor itself was stopped or killed.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio_util::sync::CancellationToken;

use super::super::supervisor::ARGUMENT;
use super::super::supervisor::message::{self, SupervisorStatus};
use super::super::supervisor::tree::ProcessFamily;
use super::{CommandEnd, ShellError};

/// The supervisor's own grace is 500 ms; what it has not done by then zdx does itself.
const PATIENCE: Duration = Duration::from_millis(1400);
/// What a process that was killed needs to be gone.
const LAST_BREATH: Duration = Duration::from_millis(100);
/// Rounds, 10 ms apart, in which zdx looks for the family of a supervisor that did not answer.
const ROUNDS: usize = 30;

pub(super) struct SupervisedFamily {
    control: UnixStream,
    /// Came over the socket and was not asked for yet.
    heard: Vec<u8>,
    /// Not waited for before it was stopped, so that until then its process id is its own.
    child: Child,
    pid: u32,
}

impl SupervisedFamily {
    /// The program that it will `begin` gets this standard input.
    pub(super) fn start(
        program: &Path,
        env: &[(OsString, OsString)],
        cwd: &Path,
        stdin: OwnedFd,
    ) -> io::Result<(Self, ChildStdout, ChildStderr)> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        message::send_stdin(&ours, stdin.as_fd())?;
        drop(stdin);
        ours.set_nonblocking(true)?;
        let mut child = Command::new(program)
            .arg0("zdx")
            .arg(ARGUMENT)
            .env_clear()
            .envs(env.iter().map(|(name, value)| (name, value)))
            .current_dir(cwd)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (Some(stdout), Some(stderr), Some(pid)) = (child.stdout.take(), child.stderr.take(), child.id())
        else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let control = UnixStream::from_std(ours)?;
        Ok((Self { control, heard: Vec::new(), child, pid }, stdout, stderr))
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns when the program runs. Once only: a call that was given up halfway can only be stopped.
    pub(super) async fn begin(&mut self, arguments: &[impl AsRef<OsStr>]) -> Result<(), ShellError> {
        let answer = async {
            self.control.write_all(&message::arguments(arguments)?).await?;
            self.status().await
        };
        match answer.await {
            Ok(SupervisorStatus::Started) => Ok(()),
            Ok(SupervisorStatus::NotStarted(errno)) => {
                let program = arguments.first().map(|program| program.as_ref().into()).unwrap_or_default();
                Err(ShellError::Start { program, source: io::Error::from_raw_os_error(errno) })
            }
            Ok(SupervisorStatus::Exited { .. } | SupervisorStatus::Signalled { .. }) | Err(_) => {
                Err(ShellError::Lost)
            }
        }
    }

    /// How the program ended, and whether something it started still runs.
    pub(super) async fn ended(&mut self) -> Result<(CommandEnd, bool), ShellError> {
        let status = self.status().await.ok();
        status.and_then(end).ok_or(ShellError::Lost)
    }

    /// As `ended`, if that was told already.
    pub(super) fn told(&mut self) -> Option<(CommandEnd, bool)> {
        self.next().and_then(end)
    }

    async fn status(&mut self) -> io::Result<SupervisorStatus> {
        loop {
            if let Some(status) = self.next() {
                return Ok(status);
            }
            if self.hear().await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    fn next(&mut self) -> Option<SupervisorStatus> {
        let status = *self.heard.first_chunk()?;
        self.heard.drain(..status.len());
        SupervisorStatus::decode(status)
    }

    /// May be given up at any time: what came is kept.
    async fn hear(&mut self) -> io::Result<usize> {
        let mut words = [0; 16];
        let count = self.control.read(&mut words).await?;
        self.heard.extend_from_slice(&words[..count]);
        Ok(count)
    }

    /// Returns when the supervisor is, and so the family.
    pub(super) async fn gone(&mut self) {
        while matches!(self.hear().await, Ok(1..)) {}
    }

    /// Lets what is left of the family run until it ends or is to be stopped.
    pub(super) async fn stay(mut self, stop: CancellationToken) {
        tokio::select! {
            () = self.gone() => {}
            () = stop.cancelled() => self.stop().await,
        }
        self.reap().await;
    }

    /// Ends the whole family, whatever it takes.
    pub(super) async fn stop(&mut self) {
        if let Some(pid) = self.supervisor() {
            // A child may have stopped its own supervisor.
            let _ = kill_process(pid, Signal::CONT);
        }
        let _ = self.control.shutdown().await;
        let _ = tokio::time::timeout(PATIENCE, self.gone()).await;
        if let Some(supervisor) = self.supervisor() {
            // The usual case finds nobody, in one look. Off the runtime's thread, as looking may take milliseconds.
            let _ = tokio::task::spawn_blocking(move || put_down(supervisor)).await;
        }
        let _ = tokio::time::timeout(LAST_BREATH, self.child.wait()).await;
    }

    pub(super) async fn reap(mut self) {
        self.gone().await;
        let _ = self.child.wait().await;
    }

    fn supervisor(&self) -> Option<Pid> {
        i32::try_from(self.pid).ok().and_then(Pid::from_raw)
    }
}

fn end(status: SupervisorStatus) -> Option<(CommandEnd, bool)> {
    match status {
        SupervisorStatus::Exited { code, more } => Some((CommandEnd::Exited(code), more)),
        SupervisorStatus::Signalled { signal, more } => Some((CommandEnd::Signalled(signal), more)),
        SupervisorStatus::Started | SupervisorStatus::NotStarted(_) => None,
    }
}

/// For supervisors that cannot do it themselves any more.
fn put_down(supervisor: Pid) {
    let family = ProcessFamily { supervisor, leader: None };
    for _ in 0..ROUNDS {
        if family.kill() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = kill_process(supervisor, Signal::KILL);
}
