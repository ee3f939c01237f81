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
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

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

    let told_to_end = listen_for_signals()?;
    let mut control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let command = read_command(&mut control)?;
    let shell = match start(command) {
        Ok(shell) => shell,
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or_default();
            return control.write_all(&Status::NotStarted(errno).encode());
        }
    };
    if let Err(error) = watch(shell, &control, told_to_end) {
        // Nobody could stop it later.
        family(shell).kill();
        return Err(error);
    }
    reap(shell, &mut control);
    Ok(())
}

fn watch(shell: Pid, control: &UnixStream, told_to_end: UnixStream) -> io::Result<()> {
    // Only the family may hold the pipes: their end is how zdx learns that no more output comes.
    let nowhere = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nowhere)?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    rustix::stdio::dup2_stderr(&nowhere)?;
    for mut stop in [control.try_clone()?, told_to_end] {
        thread::Builder::new().spawn(move || {
            wait_for_word(&mut stop);
            sweep(shell);
        })?;
    }
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

/// Waits for every member of the family; orphans become our children, as we are their subreaper.
fn reap(shell: Pid, control: &mut UnixStream) {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == shell => {
                // A zdx that no longer listens has closed its end, which is noticed elsewhere.
                let _ = control.write_all(&Status::of(status, family_lives(shell)).encode());
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    // Without subreapers orphans are not ours to wait for.
    #[cfg(not(target_os = "linux"))]
    while family_lives(shell) {
        thread::sleep(Duration::from_millis(50));
    }
}

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

/// Signals that would end us are answered by a sweep. Caught, not blocked: the shell must not inherit it.
fn listen_for_signals() -> io::Result<UnixStream> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let (heard, caught) = UnixStream::pair()?;
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        signal_hook::low_level::pipe::register(signal, caught.try_clone()?)?;
    }
    Ok(heard)
}

/// A byte, the end and an error mean the same: stop.
fn wait_for_word(from: &mut UnixStream) {
    let mut word = [0; 1];
    while matches!(from.read(&mut word), Err(error) if error.kind() == io::ErrorKind::Interrupted) {}
}

/// Ends the family: asked first, then frozen and killed until `reap` finds nobody and the process ends.
fn sweep(shell: Pid) {
    static SWEEPING: AtomicBool = AtomicBool::new(false);
    if SWEEPING.swap(true, Ordering::SeqCst) {
        return;
    }
    let family = family(shell);
    // A stopped process hears of its end only when it goes on.
    family.signal(Signal::TERM);
    family.signal(Signal::CONT);
    thread::sleep(GRACE);
    let mut pause = Duration::from_millis(2);
    loop {
        family.kill();
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(100));
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
