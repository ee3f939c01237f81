//! zdx's end of a supervisor: start it, hand it a command, hear how it ended, stop it.
//! Keeps the promise of two seconds even when the supervisor itself was stopped or killed.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

use super::super::supervisor::tree::Family;
use super::super::supervisor::{ARGUMENT, Status};

/// The supervisor's own grace is 500 ms; what it has not done by then zdx does itself.
const PATIENCE: Duration = Duration::from_millis(1400);
/// What a process that was killed needs to be gone.
const LAST_BREATH: Duration = Duration::from_millis(100);
/// Rounds, 10 ms apart, in which zdx looks for the family of a supervisor that did not answer.
const ROUNDS: usize = 30;

pub struct Supervised {
    control: UnixStream,
    /// Not waited for before it was stopped, so that until then its process id is its own.
    child: Child,
    pid: u32,
}

impl Supervised {
    pub fn start(
        program: &Path,
        env: &[(OsString, OsString)],
        cwd: &Path,
    ) -> io::Result<(Self, ChildStdout, ChildStderr)> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
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
        Ok((Self { control: UnixStream::from_std(ours)?, child, pid }, stdout, stderr))
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Once only: a call that was given up halfway can only be stopped.
    pub async fn run(&mut self, command: &str) -> io::Result<Status> {
        let length = u32::try_from(command.len()).map_err(io::Error::other)?;
        let mut message = length.to_le_bytes().to_vec();
        message.extend_from_slice(command.as_bytes());
        self.control.write_all(&message).await?;
        let mut status = [0; Status::SIZE];
        self.control.read_exact(&mut status).await?;
        Status::decode(status).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Returns when the supervisor is, and so the family.
    pub async fn gone(&mut self) {
        let mut rest = [0; 16];
        while matches!(self.control.read(&mut rest).await, Ok(1..)) {}
    }

    /// Ends the whole family, whatever it takes.
    pub async fn stop(&mut self) {
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

    pub async fn reap(mut self) {
        self.gone().await;
        let _ = self.child.wait().await;
    }

    fn supervisor(&self) -> Option<Pid> {
        i32::try_from(self.pid).ok().and_then(Pid::from_raw)
    }
}

/// For supervisors that cannot do it themselves any more.
fn put_down(supervisor: Pid) {
    let family = Family { supervisor, shell: None };
    for _ in 0..ROUNDS {
        if family.kill() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = kill_process(supervisor, Signal::KILL);
}
