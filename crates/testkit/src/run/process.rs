//! A child process with pipes: its output as it comes, signals, and an end that is waited for with a deadline.

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use serde_json::Value;

use super::ending::{pid, wait_for_end};
use super::{Stdin, read_records, session_files};

/// A background process of the child may hold its pipes open: output is not waited for longer than this.
const AFTER_EXIT: Duration = Duration::from_secs(2);

#[derive(Clone, Debug)]
pub struct Output {
    pub stdout: String,
    pub stderr: String,
    /// None when a signal ended the process.
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// The session file changed last, line by line; empty without one.
    pub records: Vec<Value>,
    pub duration: Duration,
}

impl Output {
    /// Fails with everything the run said unless it exited with this code.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "signal {:?}\n{}", self.signal, self.said());
        self
    }

    #[track_caller]
    pub fn success(self) -> Self {
        self.expect_code(0)
    }

    /// Each line of stdout as JSON, for `--format json`.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<Value> {
        let parse = |line: &str| match serde_json::from_str(line) {
            Ok(value) => value,
            Err(error) => panic!("no JSON on stdout: {error}: {line}\n{}", self.said()),
        };
        self.stdout.lines().map(parse).collect()
    }

    /// The records of one type, such as `message`.
    pub fn records_of(&self, kind: &str) -> Vec<&Value> {
        self.records.iter().filter(|record| record["type"] == kind).collect()
    }

    fn said(&self) -> String {
        format!("--- stdout\n{}\n--- stderr\n{}", self.stdout, self.stderr)
    }
}

#[derive(Default)]
struct Captured {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    open: usize,
}

#[derive(Clone, Copy)]
enum Channel {
    Stdout,
    Stderr,
}

#[derive(Default)]
struct Capture {
    captured: Mutex<Captured>,
    changed: Condvar,
}

impl Capture {
    fn lock(&self) -> MutexGuard<'_, Captured> {
        self.captured.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_until(&self, timeout: Duration, done: impl Fn(&Captured) -> bool) -> bool {
        let captured = self.lock();
        let (captured, _) = self
            .changed
            .wait_timeout_while(captured, timeout, |captured| !done(captured))
            .unwrap_or_else(PoisonError::into_inner);
        done(&captured)
    }

    fn read(self: &Arc<Self>, channel: Channel, mut pipe: impl Read + Send + 'static) {
        self.lock().open += 1;
        let capture = Arc::clone(self);
        std::thread::spawn(move || {
            let mut piece = [0; 64 << 10];
            while let Ok(count @ 1..) = pipe.read(&mut piece) {
                let mut captured = capture.lock();
                match channel {
                    Channel::Stdout => captured.stdout.extend_from_slice(&piece[..count]),
                    Channel::Stderr => captured.stderr.extend_from_slice(&piece[..count]),
                }
                drop(captured);
                capture.changed.notify_all();
            }
            capture.lock().open -= 1;
            capture.changed.notify_all();
        });
    }
}

/// A run that goes on while the test does something else. Killed when dropped.
pub struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    capture: Arc<Capture>,
    storage: PathBuf,
    started: Instant,
    status: Option<ExitStatus>,
}

impl Running {
    pub(super) fn start(mut command: Command, stdin: Stdin, storage: PathBuf) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.stdin(match stdin {
            Stdin::Null => Stdio::null(),
            Stdin::Bytes(_) | Stdin::Open => Stdio::piped(),
        });
        let started = Instant::now();
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("cannot run {}: {error}", command.get_program().display()));
        let capture = Arc::new(Capture::default());
        if let Some(pipe) = child.stdout.take() {
            capture.read(Channel::Stdout, pipe);
        }
        if let Some(pipe) = child.stderr.take() {
            capture.read(Channel::Stderr, pipe);
        }
        let mut pipe = child.stdin.take();
        if let Stdin::Bytes(bytes) = stdin
            && let Some(mut pipe) = pipe.take()
        {
            // On a thread of its own: the child may not read before we read what it says. It may also not
            // read at all, which is its right.
            std::thread::spawn(move || drop(pipe.write_all(&bytes)));
        }
        Self { child, stdin: pipe, capture, storage, started, status: None }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes to a pipe made by `stdin_open`.
    #[track_caller]
    pub fn write(&mut self, text: impl AsRef<[u8]>) {
        let pipe = self.stdin.as_mut().expect("stdin_open and not closed yet");
        pipe.write_all(text.as_ref()).expect("the child reads its stdin");
    }

    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Sends a signal to the process, not to its group.
    pub fn signal(&mut self, signal: Signal) {
        // Once reaped, the id may belong to somebody else.
        if self.poll_exit().is_none() {
            kill_process(pid(self.pid()), signal).expect("signalling our own child");
        }
    }

    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.capture.lock().stdout).into_owned()
    }

    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.capture.lock().stderr).into_owned()
    }

    /// Waits until stdout contains this.
    #[track_caller]
    pub fn wait_for_stdout(&self, text: &str, timeout: Duration) {
        let found = self.capture.wait_until(timeout, |captured| contains(&captured.stdout, text.as_bytes()));
        assert!(found, "{text:?} did not come on stdout within {timeout:?}\n{}", self.said());
    }

    /// Waits until stderr contains this.
    #[track_caller]
    pub fn wait_for_stderr(&self, text: &str, timeout: Duration) {
        let found = self.capture.wait_until(timeout, |captured| contains(&captured.stderr, text.as_bytes()));
        assert!(found, "{text:?} did not come on stderr within {timeout:?}\n{}", self.said());
    }

    pub fn is_running(&mut self) -> bool {
        self.poll_exit().is_none()
    }

    /// Waits for the end. A process that is still there at the deadline is killed and fails the test.
    #[track_caller]
    pub fn finish(mut self, timeout: Duration) -> Output {
        if self.is_running() {
            wait_for_end(pid(self.pid()), timeout);
        }
        let Some(status) = self.poll_exit() else {
            panic!("still running after {timeout:?}\n{}", self.said())
        };
        let duration = self.started.elapsed();
        self.capture.wait_until(AFTER_EXIT, |captured| captured.open == 0);
        let records = session_files(&self.storage).last().map(|path| read_records(path)).unwrap_or_default();
        Output {
            stdout: self.stdout(),
            stderr: self.stderr(),
            code: status.code(),
            signal: status.signal(),
            records,
            duration,
        }
    }

    fn poll_exit(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = self.child.try_wait().expect("waiting for our own child");
        }
        self.status
    }

    fn said(&self) -> String {
        format!("--- stdout\n{}\n--- stderr\n{}", self.stdout(), self.stderr())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.status.is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len().max(1)).any(|window| window == needle)
}
