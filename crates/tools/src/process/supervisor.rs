//! The small process between zdx and a program it runs (a command's shell, a server): it owns the program's whole family
//! and leaves nobody behind.
//! Runs in a re-executed zdx, before arguments are parsed; no async runtime, no configuration, no output of its own.
//!
//! Its standard input is a socket from zdx. Down come the program's standard input and its arguments, up goes how it fares
//! (`message`). When the way down closes, zdx wants the family gone or is gone itself. That is why no parent-death signal
//! is set: it would follow the *thread* that spawned us, the socket follows the process.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions};

use self::message::SupervisorStatus;

pub(super) mod message;
mod privacy;
mod scrub;
pub(super) mod tree;

pub use privacy::keep_private;
pub use scrub::scrub_environment;

/// The hidden first argument. `main` hands over to `run` when it sees it, before anything else.
pub const ARGUMENT: &str = "__supervise";

/// What a family that was asked to end gets before it is ended.
const GRACE: Duration = Duration::from_millis(500);

/// The running executable, also after it was replaced or deleted on disk.
pub fn program() -> PathBuf {
    let running = PathBuf::from("/proc/self/exe");
    if running.exists() { running } else { std::env::current_exe().unwrap_or(running) }
}

/// Stays until the program and everything it started is gone.
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

    privacy::give_up_looking();
    let signals = SignalPipe::listen()?;
    let mut control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let stdin = message::receive_stdin(&control)?;
    let arguments = message::read_arguments(&control)?;
    let leader = match start(stdin, arguments) {
        Ok(leader) => leader,
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or_default();
            return control.write_all(&SupervisorStatus::NotStarted(errno).encode());
        }
    };
    // A zdx that no longer listens has closed its end, which is noticed elsewhere.
    let _ = control.write_all(&SupervisorStatus::Started.encode());
    let attended = release_pipes().and_then(|()| attend(leader, &mut control, &signals));
    if attended.is_err() {
        // Nobody could stop it later.
        family(leader).kill();
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

fn family(leader: Pid) -> tree::ProcessFamily {
    tree::ProcessFamily { supervisor: rustix::process::getpid(), leader: Some(leader) }
}

fn start(stdin: OwnedFd, mut arguments: Vec<OsString>) -> io::Result<Pid> {
    if arguments.is_empty() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let child = Command::new(arguments.remove(0))
        .args(arguments)
        .stdin(Stdio::from(stdin))
        // A group of its own, so that `kill 0` in a script does not reach its supervisor.
        .process_group(0)
        .spawn()?;
    i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Waits for the end of the whole family, and brings it about when told to. One thread does it all: a thread more would
/// cost every command its start.
fn attend(leader: Pid, control: &mut UnixStream, signals: &SignalPipe) -> io::Result<()> {
    let mut sweep: Option<FamilySweep> = None;
    loop {
        if reap(leader, control) {
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
            sweep = Some(FamilySweep::begin(family(leader)));
        }
    }
}

/// Reports the program's end when it comes. True when nobody is left.
fn reap(leader: Pid, control: &mut UnixStream) -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == leader => {
                // A zdx that no longer listens has closed its end, which is noticed elsewhere.
                let _ = control.write_all(&SupervisorStatus::of(status, family_lives(leader)).encode());
            }
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return false,
            Err(_) => return !family_lives(leader),
        }
    }
}

/// Without subreapers orphans are not ours to wait for: their end has to be looked for.
const UNNOTICED: Option<Duration> =
    if cfg!(target_os = "linux") { None } else { Some(Duration::from_millis(50)) };

#[cfg(target_os = "linux")]
fn family_lives(_leader: Pid) -> bool {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, look), Err(Errno::CHILD))
}

#[cfg(not(target_os = "linux"))]
fn family_lives(leader: Pid) -> bool {
    rustix::process::test_kill_process_group(leader).is_ok()
}

/// Signals as something to wait for. Caught, not blocked: the program would inherit that.
struct SignalPipe {
    /// Readable when a child ended.
    child: UnixStream,
    /// Readable when we were told to end, which is answered by a sweep.
    end: UnixStream,
}

impl SignalPipe {
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
struct FamilySweep {
    family: tree::ProcessFamily,
    kill_at: Instant,
    pause: Duration,
}

impl FamilySweep {
    fn begin(family: tree::ProcessFamily) -> Self {
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
