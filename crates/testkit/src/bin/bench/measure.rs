//! Runs one process and says what it cost: wall time, CPU time, peak memory.
//! The only unsafe code of the testkit: no safe wrapper of `wait4` gives the usage of a single child.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// No measured process takes this long; one that does has failed.
const DEADLINE: Duration = Duration::from_secs(480);

#[derive(Clone, Copy, Debug)]
pub struct Cost {
    pub started: Micros,
    pub wall: Duration,
    pub cpu: Duration,
    /// Bytes. A process that was spawned shares its memory with this harness until `exec`, and the kernel counts that
    /// too, at its highest: what is measured is never less than what this harness ever held.
    pub peak_rss: u64,
}

/// Since 1970: comparable with the log of the scripted server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Micros(pub u64);

impl Micros {
    fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
    }

    pub fn until(self, later: Micros) -> Duration {
        Duration::from_micros(later.0.saturating_sub(self.0))
    }
}

/// Runs with nothing on stdin and both outputs thrown away; any end but exit code 0 is an error.
pub fn run(command: Command) -> Result<Cost, String> {
    run_with(command, Stdio::null())
}

/// The same, with a file on stdin.
pub fn run_reading(command: Command, path: &Path) -> Result<Cost, String> {
    run_with(command, open(path)?)
}

/// How many lines it has to say to a file on stdin. They are not kept: see [`Cost::peak_rss`].
pub fn count_lines(mut command: Command, path: &Path) -> Result<usize, String> {
    let text = |error: std::io::Error| error.to_string();
    let mut child = command.stdin(open(path)?).stdout(Stdio::piped()).spawn().map_err(text)?;
    let stdout = child.stdout.take().ok_or("the process has no stdout")?;
    let lines = BufReader::new(stdout).split(b'\n').map_while(Result::ok).count();
    child.wait().map_err(text)?;
    Ok(lines)
}

/// The same, while somebody talks to it on its stdin and stdout and brings something back from there.
pub fn run_talking<T>(
    mut command: Command,
    talk: impl FnOnce(ChildStdin, ChildStdout) -> Result<T, String>,
) -> Result<(Cost, T), String> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    measured(command, |child| match (child.stdin.take(), child.stdout.take()) {
        (Some(stdin), Some(stdout)) => talk(stdin, stdout),
        _ => Err("the process has no stdin or stdout".to_owned()),
    })
}

fn open(path: &Path) -> Result<Stdio, String> {
    File::open(path).map(Stdio::from).map_err(|error| format!("{}: {error}", path.display()))
}

fn run_with(mut command: Command, stdin: Stdio) -> Result<Cost, String> {
    command.stdin(stdin).stdout(Stdio::null()).stderr(Stdio::null());
    measured(command, |_| Ok(())).map(|(cost, ())| cost)
}

fn measured<T>(
    mut command: Command,
    meanwhile: impl FnOnce(&mut Child) -> Result<T, String>,
) -> Result<(Cost, T), String> {
    let name = format!("{} {}", command.get_program().display(), arguments(&command));
    let (started, clock) = (Micros::now(), Instant::now());
    let mut child = command.spawn().map_err(|error| format!("cannot run {name}: {error}"))?;
    let pid = libc::pid_t::try_from(child.id()).map_err(|error| error.to_string())?;
    let (brought, (status, usage)) = guarded(pid, || {
        let brought = meanwhile(&mut child);
        wait(pid).map(|ended| (brought, ended))
    })?;
    let wall = clock.elapsed();
    if !(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0) {
        return Err(format!("{name}: ended with status {status:#x}"));
    }
    let cpu = time(usage.ru_utime) + time(usage.ru_stime);
    Ok((Cost { started, wall, cpu, peak_rss: rss_bytes(&usage) }, brought?))
}

fn arguments(command: &Command) -> String {
    command.get_args().map(|arg| arg.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Kills the process if waiting for it takes too long.
fn guarded<T>(pid: libc::pid_t, wait: impl FnOnce() -> T) -> T {
    let (done, finished) = channel::<()>();
    let watchdog = std::thread::spawn(move || {
        if let Err(RecvTimeoutError::Timeout) = finished.recv_timeout(DEADLINE) {
            // SAFETY: no memory is involved; the child has not been reaped, so the id is still its own.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    });
    let result = wait();
    drop(done);
    let _ = watchdog.join();
    result
}

fn wait(pid: libc::pid_t) -> Result<(libc::c_int, libc::rusage), String> {
    let mut status = 0;
    // SAFETY: `rusage` is plain numbers, for which all zeroes is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live locals of the right type, and wait4 keeps neither.
    match unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) } {
        -1 => Err(format!("wait4: {}", std::io::Error::last_os_error())),
        _ => Ok((status, usage)),
    }
}

fn time(value: libc::timeval) -> Duration {
    let seconds = Duration::from_secs(u64::try_from(value.tv_sec).unwrap_or_default());
    seconds + Duration::from_micros(u64::try_from(value.tv_usec).unwrap_or_default())
}

fn rss_bytes(usage: &libc::rusage) -> u64 {
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    u64::try_from(usage.ru_maxrss).unwrap_or_default() * unit
}

/// The middle value; of an even number, the lower of the two in the middle.
pub fn median<T: Ord + Copy>(values: impl IntoIterator<Item = T>) -> Result<T, String> {
    let mut values: Vec<T> = values.into_iter().collect();
    values.sort_unstable();
    let middle = values.len().saturating_sub(1) / 2;
    values.get(middle).copied().ok_or_else(|| "nothing was measured".to_owned())
}
