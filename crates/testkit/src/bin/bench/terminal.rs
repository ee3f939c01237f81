//! A terminal for the measured program: counts what it writes, types, and says what the process cost meanwhile.
//! It draws nothing, so that it takes no time of its own.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::num::NonZero;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

pub const ROWS: u16 = 30;
pub const COLUMNS: u16 = 100;

/// Nothing that is waited for takes this long.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Default)]
struct Written {
    bytes: Vec<u8>,
    over: bool,
}

pub struct Terminal {
    written: Arc<(Mutex<Written>, Condvar)>,
    keyboard: Arc<Mutex<Box<dyn Write + Send>>>,
    child: Box<dyn Child + Send + Sync>,
    pid: u32,
    pub started: Instant,
    /// Its end is the terminal's.
    _master: Box<dyn MasterPty + Send>,
}

/// What a process used so far.
#[derive(Clone, Debug, Default)]
pub struct Used {
    /// By thread: one that ends takes its time along.
    threads: BTreeMap<String, Duration>,
    pub cpu: Duration,
    pub wakeups: u64,
    pub written: usize,
}

impl Used {
    /// What it used since then.
    pub fn since(&self, before: &Self) -> Self {
        let earlier = |name: &String| before.threads.get(name).copied().unwrap_or_default();
        let threads = self.threads.iter().map(|(name, cpu)| cpu.saturating_sub(earlier(name)));
        Self {
            threads: BTreeMap::new(),
            cpu: threads.sum(),
            wakeups: self.wakeups.saturating_sub(before.wakeups),
            written: self.written - before.written,
        }
    }
}

impl Terminal {
    pub fn start(mut command: CommandBuilder) -> Result<Self, String> {
        let size = PtySize { rows: ROWS, cols: COLUMNS, pixel_width: 0, pixel_height: 0 };
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let pair = native_pty_system().openpty(size).map_err(|error| text(&error))?;
        command.env("TERM", "xterm-256color");
        let started = Instant::now();
        let child = pair.slave.spawn_command(command).map_err(|error| text(&error))?;
        drop(pair.slave);
        let writer = pair.master.take_writer().map_err(|error| text(&error))?;
        let mut reader = pair.master.try_clone_reader().map_err(|error| text(&error))?;
        let keyboard = Arc::new(Mutex::new(writer));
        let written = Arc::new((Mutex::new(Written::default()), Condvar::new()));
        std::thread::spawn({
            let (written, keyboard) = (Arc::clone(&written), Arc::clone(&keyboard));
            move || {
                let mut piece = vec![0; 64 << 10];
                while let Ok(count @ 1..) = reader.read(&mut piece) {
                    let new = &piece[..count];
                    // What kind of terminal it is; every one answers that.
                    if new.windows(3).any(|bytes| bytes == b"\x1b[c") {
                        let _ = lock(&keyboard).write_all(b"\x1b[?62;22c");
                    }
                    lock(&written.0).bytes.extend_from_slice(new);
                    written.1.notify_all();
                }
                lock(&written.0).over = true;
                written.1.notify_all();
            }
        });
        let pid = child.process_id().ok_or("the process has no id")?;
        Ok(Self { written, keyboard, child, pid, started, _master: pair.master })
    }

    pub fn send(&self, keys: &str) -> Result<(), String> {
        let mut keyboard = lock(&self.keyboard);
        keyboard.write_all(keys.as_bytes()).and_then(|()| keyboard.flush()).map_err(|error| error.to_string())
    }

    pub fn written(&self) -> usize {
        lock(&self.written.0).bytes.len()
    }

    /// Waits until this is written behind so many bytes; says when that was.
    pub fn wait_for(&self, wanted: &str, behind: usize) -> Result<Instant, String> {
        let found = |written: &Written| {
            let new = written.bytes.get(behind..).unwrap_or_default();
            new.windows(wanted.len()).any(|bytes| bytes == wanted.as_bytes())
        };
        let guard = lock(&self.written.0);
        let waited =
            self.written.1.wait_timeout_while(guard, PATIENCE, |written| !written.over && !found(written));
        let (guard, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if found(&guard) {
            return Ok(Instant::now());
        }
        let end = guard.bytes.len().saturating_sub(200);
        let tail = String::from_utf8_lossy(&guard.bytes[end..]).escape_debug().to_string();
        Err(format!("{wanted:?} was not written; the last was: {tail}"))
    }

    /// Waits until nothing was written for that long.
    pub fn settle(&self, quiet: Duration) {
        let mut before = usize::MAX;
        while self.written() != before {
            before = self.written();
            std::thread::sleep(quiet);
        }
    }

    /// The rows that were printed, from the last that begins like this: those that scrolled away and those that stand there.
    pub fn rows_since(&self, start: &str) -> usize {
        let size = |n: u16| NonZero::new(n).unwrap_or(NonZero::<u16>::MIN);
        let mut parser = vt100::Parser::new(size(ROWS), size(COLUMNS), 20_000);
        parser.process(&lock(&self.written.0).bytes);
        let screen = parser.screen_mut();
        screen.set_scrollback(usize::MAX);
        let above = screen.scrollback();
        let mut rows = Vec::new();
        for back in (0..=above).rev() {
            screen.set_scrollback(back);
            let shown: Vec<String> = screen.rows(0, COLUMNS).collect();
            rows.extend(shown.into_iter().take(if back == 0 { usize::from(ROWS) } else { 1 }));
        }
        let first = rows.iter().rposition(|row| row.starts_with(start)).unwrap_or(0);
        let last = rows.iter().rposition(|row| !row.trim().is_empty()).unwrap_or(0);
        (last + 1).saturating_sub(first)
    }

    pub fn used(&self) -> Result<Used, String> {
        let mut used = Used { written: self.written(), ..Used::default() };
        let tasks =
            std::fs::read_dir(format!("/proc/{}/task", self.pid)).map_err(|error| error.to_string())?;
        for task in tasks.flatten() {
            let read = |name: &str| std::fs::read_to_string(task.path().join(name)).unwrap_or_default();
            let nanos = read("schedstat").split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0);
            let name = task.file_name().to_string_lossy().into_owned();
            used.threads.insert(name, Duration::from_nanos(nanos));
            used.cpu += Duration::from_nanos(nanos);
            used.wakeups += figure(&read("status"), "voluntary_ctxt_switches:");
        }
        Ok(used)
    }

    /// Bytes in memory now.
    pub fn resident(&self) -> Result<u64, String> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid))
            .map_err(|error| error.to_string())?;
        Ok(figure(&status, "VmRSS:") * 1024)
    }
}

fn figure(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
