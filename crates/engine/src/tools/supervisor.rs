//! The small process between zdx and a command: it owns the command's whole family and leaves nobody behind.
//! Runs in a re-executed zdx, before arguments are parsed; no async runtime, no configuration, no output of its own.
//!
//! Its standard input is a socket from zdx. Down comes the command (a length, then the bytes), up goes one `Status` when
//! the shell ends. When the way down closes, zdx wants the family gone or is gone itself. That is why no parent-death
//! signal is set: it would follow the *thread* that spawned us, the socket follows the process.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

pub(super) mod tree;

/// The hidden first argument. `main` hands over to `run` when it sees it, before anything else.
pub const ARGUMENT: &str = "__supervise";

pub(super) const SHELL: &str = "/bin/sh";
/// The kernel takes no longer argument; one byte is kept for the guard in `script`.
pub(super) const MAX_COMMAND: usize = 128 * 1024 - 2;

/// What a family that was asked to end gets before it is ended.
const GRACE: Duration = Duration::from_millis(500);

/// The running executable, also after it was replaced or deleted on disk.
pub fn program() -> PathBuf {
    let running = PathBuf::from("/proc/self/exe");
    if running.exists() { running } else { std::env::current_exe().unwrap_or(running) }
}

/// Stays until the shell and everything it started is gone.
pub fn run() -> ExitCode {
    match supervise() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn supervise() -> io::Result<()> {
    // Fails only where the caller made us a group leader already, which serves as well.
    let _ = rustix::process::setsid();
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;

    let signals = Signals::listen()?;
    let mut control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let command = read_command(&mut control)?;
    let shell = match start(command) {
        Ok(shell) => shell,
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or_default();
            return control.write_all(&Status::NotStarted(errno).encode());
        }
    };
    let attended = release_pipes().and_then(|()| attend(shell, &mut control, &signals));
    if attended.is_err() {
        // Nobody could stop it later.
        family(shell).kill();
    }
    attended
}

/// Only the family may hold the pipes: their end is how zdx learns that no more output comes.
fn release_pipes() -> io::Result<()> {
    let nowhere = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nowhere)?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    rustix::stdio::dup2_stderr(&nowhere)?;
    Ok(())
}

fn family(shell: Pid) -> tree::Family {
    tree::Family { supervisor: rustix::process::getpid(), shell: Some(shell) }
}

fn read_command(control: &mut UnixStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    control.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_COMMAND {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut command = vec![0; length];
    control.read_exact(&mut command)?;
    Ok(command)
}

fn start(command: Vec<u8>) -> io::Result<Pid> {
    let child = Command::new(SHELL)
        .arg("-c")
        .arg(script(command))
        .stdin(Stdio::null())
        // A group of its own, so that `kill 0` in a script does not reach its supervisor.
        .process_group(0)
        .spawn()?;
    i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// `sh -c -x` would take the command for an option.
fn script(mut command: Vec<u8>) -> OsString {
    if matches!(command.first(), Some(b'-' | b'+')) {
        command.insert(0, b' ');
    }
    OsString::from_vec(command)
}

/// Waits for the end of the whole family, and brings it about when told to. One thread does it all: a thread more would
/// cost every command its start.
fn attend(shell: Pid, control: &mut UnixStream, signals: &Signals) -> io::Result<()> {
    let mut sweep: Option<Sweep> = None;
    loop {
        if reap(shell, control) {
            return Ok(());
        }
        let mut sources = vec![PollFd::new(&signals.child, PollFlags::IN)];
        let wait = match &mut sweep {
            Some(sweep) => Some(sweep.step()),
            None => {
                sources.push(PollFd::new(&signals.end, PollFlags::IN));
                sources.push(PollFd::new(&*control, PollFlags::IN));
                UNNOTICED
            }
        };
        let wait = wait.and_then(|wait| Timespec::try_from(wait).ok());
        match rustix::event::poll(&mut sources, wait.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let heard = |source: &PollFd<'_>| !source.revents().is_empty();
        // A byte, the end and an error mean the same: stop.
        let stop = sources.iter().skip(1).any(heard);
        signals.drain();
        if stop {
            sweep = Some(Sweep::begin(family(shell)));
        }
    }
}

/// Reports the shell's end when it comes. True when nobody is left.
fn reap(shell: Pid, control: &mut UnixStream) -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == shell => {
                // A zdx that no longer listens has closed its end, which is noticed elsewhere.
                let _ = control.write_all(&Status::of(status, family_lives(shell)).encode());
            }
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return false,
            Err(_) => return !family_lives(shell),
        }
    }
}

/// Without subreapers orphans are not ours to wait for: their end has to be looked for.
const UNNOTICED: Option<Duration> =
    if cfg!(target_os = "linux") { None } else { Some(Duration::from_millis(50)) };

#[cfg(target_os = "linux")]
fn family_lives(_shell: Pid) -> bool {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, look), Err(Errno::CHILD))
}

#[cfg(not(target_os = "linux"))]
fn family_lives(shell: Pid) -> bool {
    rustix::process::test_kill_process_group(shell).is_ok()
}

/// Signals as something to wait for. Caught, not blocked: the shell would inherit that.
struct Signals {
    /// Readable when a child ended.
    child: UnixStream,
    /// Readable when we were told to end, which is answered by a sweep.
    end: UnixStream,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
        let listen = |signals: &[i32]| {
            let (heard, caught) = UnixStream::pair()?;
            for &signal in signals {
                signal_hook::low_level::pipe::register(signal, caught.try_clone()?)?;
            }
            heard.set_nonblocking(true)?;
            io::Result::Ok(heard)
        };
        Ok(Self { child: listen(&[SIGCHLD])?, end: listen(&[SIGTERM, SIGINT, SIGHUP])? })
    }

    /// Makes room for the next word about children.
    fn drain(&self) {
        let mut words = [0; 64];
        while matches!((&self.child).read(&mut words), Ok(1..)) {}
    }
}

/// The end of a family: asked first, then frozen and killed until nobody is left.
struct Sweep {
    family: tree::Family,
    kill_at: Instant,
    pause: Duration,
}

impl Sweep {
    fn begin(family: tree::Family) -> Self {
        family.signal(Signal::TERM);
        // A stopped process hears of its end only when it goes on.
        family.signal(Signal::CONT);
        Self { family, kill_at: Instant::now() + GRACE, pause: Duration::from_millis(2) }
    }

    /// Does what is due, and says when to come again.
    fn step(&mut self) -> Duration {
        let grace = self.kill_at.saturating_duration_since(Instant::now());
        if grace > Duration::ZERO {
            return grace;
        }
        self.family.kill();
        self.pause = (self.pause * 2).min(Duration::from_millis(100));
        self.pause
    }
}

/// How a shell ended, as told over the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Exited {
        code: i32,
        more: bool,
    },
    Signalled {
        signal: i32,
        more: bool,
    },
    /// With the system's error number.
    NotStarted(i32),
}

impl Status {
    pub(super) const SIZE: usize = 6;

    fn of(status: WaitStatus, more: bool) -> Self {
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Self::Exited { code, more },
            (None, Some(signal)) => Self::Signalled { signal, more },
            (None, None) => Self::Exited { code: status.as_raw(), more },
        }
    }

    fn encode(self) -> [u8; Self::SIZE] {
        let (kind, number, more) = match self {
            Self::Exited { code, more } => (b'x', code, more),
            Self::Signalled { signal, more } => (b's', signal, more),
            Self::NotStarted(errno) => (b'e', errno, false),
        };
        let [a, b, c, d] = number.to_le_bytes();
        [kind, u8::from(more), a, b, c, d]
    }

    pub(super) fn decode([kind, more, number @ ..]: [u8; Self::SIZE]) -> Option<Self> {
        let (number, more) = (i32::from_le_bytes(number), more != 0);
        match kind {
            b'x' => Some(Self::Exited { code: number, more }),
            b's' => Some(Self::Signalled { signal: number, more }),
            b'e' => Some(Self::NotStarted(number)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_survives_the_socket() {
        for status in [
            Status::Exited { code: 0, more: false },
            Status::Exited { code: 255, more: true },
            Status::Signalled { signal: 9, more: true },
            Status::NotStarted(2),
        ] {
            assert_eq!(Status::decode(status.encode()), Some(status));
        }
        assert_eq!(Status::decode([b'?'; Status::SIZE]), None);
    }

    #[test]
    fn a_command_is_never_an_option_of_the_shell() {
        assert_eq!(script(b"-x".to_vec()), " -x");
        assert_eq!(script(b"+x".to_vec()), " +x");
        assert_eq!(script(b"ls -x".to_vec()), "ls -x");
    }
}
