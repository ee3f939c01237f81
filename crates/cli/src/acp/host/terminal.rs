//! One program that an agent had started: its output while it runs, its end, and its family's.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use zdx_acp::HostEvent;
use zdx_engine::agents::Ring;
use zdx_tools::{ChildProcess, CommandEnd, RunningProgram};
use zdx_workspace::text::unfinished;

use super::Events;

/// What a program that ended gets for its output to arrive; what it left running may hold the pipes for ever.
const LINGER: Duration = Duration::from_millis(500);
/// What is told of a terminal's output. The agent gets the rest all the same.
const TOLD: usize = 64 << 10;

pub(super) struct Terminal {
    shared: Arc<Shared>,
    ended: watch::Receiver<Option<Exit>>,
    /// Ends when the whole family is gone.
    task: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    ring: Mutex<Ring>,
    /// The program is to be stopped, with all that it started.
    stop: Notify,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Exit {
    code: Option<i64>,
    signal: Option<String>,
}

impl Exit {
    fn of(end: CommandEnd) -> Self {
        match end {
            CommandEnd::Exited(code) => Self { code: Some(code.into()), signal: None },
            CommandEnd::Signalled(signal) => Self { code: None, signal: Some(signal_name(signal)) },
            CommandEnd::TimedOut(_) | CommandEnd::Cancelled => {
                Self { code: None, signal: Some(signal_name(9)) }
            }
        }
    }

    pub(super) fn to_value(&self) -> Value {
        json!({"exitCode": self.code, "signal": self.signal})
    }
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "HUP",
        2 => "INT",
        3 => "QUIT",
        4 => "ILL",
        6 => "ABRT",
        8 => "FPE",
        9 => "KILL",
        11 => "SEGV",
        13 => "PIPE",
        14 => "ALRM",
        15 => "TERM",
        other => return format!("SIG{other}"),
    };
    format!("SIG{name}")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Terminal {
    pub(super) fn attend(id: String, child: RunningProgram, limit: usize, events: Events) -> Self {
        let RunningProgram { stdin, stdout, stderr, process } = child;
        // Nothing is typed into it.
        drop(stdin);
        let shared = Arc::new(Shared { ring: Mutex::new(Ring::new(limit)), stop: Notify::new() });
        let told = Arc::new(Mutex::new(Told { id: id.clone(), left: TOLD, events: events.clone() }));
        let streams = [
            tokio::spawn(pump(stdout, Arc::clone(&shared), Arc::clone(&told))),
            tokio::spawn(pump(stderr, Arc::clone(&shared), told)),
        ];
        let (ending, ended) = watch::channel(None);
        let tell = move |exit: Exit| {
            let Exit { code, signal } = exit.clone();
            events.tell(HostEvent::TerminalExited { id, code, signal });
            ending.send_replace(Some(exit));
        };
        let task = tokio::spawn(live(process, streams, Arc::clone(&shared), tell));
        Self { shared, ended, task: Mutex::new(Some(task)) }
    }

    pub(super) fn output(&self) -> Value {
        let exit = self.ended.borrow().clone();
        let (output, truncated) = lock(&self.shared.ring).text(exit.is_some());
        let mut answer = json!({"output": output, "truncated": truncated});
        if let Some(exit) = exit {
            answer["exitStatus"] = exit.to_value();
        }
        answer
    }

    /// For any number of those who wait.
    pub(super) fn ended(&self) -> impl Future<Output = Option<Exit>> + Send + use<> {
        let mut ended = self.ended.clone();
        async move { ended.wait_for(Option::is_some).await.ok().and_then(|exit| exit.clone()) }
    }

    /// Returns when it has ended.
    pub(super) async fn kill(&self) {
        self.shared.stop.notify_one();
        let _ = self.ended().await;
    }

    /// Returns when nothing of it is left.
    pub(super) async fn release(&self) {
        self.shared.stop.notify_one();
        let task = lock(&self.task).take();
        if let Some(task) = task {
            let _ = task.await;
        }
    }
}

async fn live(
    mut process: ChildProcess,
    streams: [JoinHandle<()>; 2],
    shared: Arc<Shared>,
    tell: impl FnOnce(Exit),
) {
    let end = tokio::select! {
        end = process.wait() => Some(end),
        () = shared.stop.notified() => None,
    };
    let (end, left) = match end {
        Some(end) => (end, Some(process)),
        None => (process.stop(Duration::ZERO).await, None),
    };
    let aborts = streams.each_ref().map(JoinHandle::abort_handle);
    let _ = tokio::time::timeout(LINGER, async {
        for stream in streams {
            let _ = stream.await;
        }
    })
    .await;
    tell(Exit::of(end));
    // What it started may go on and be heard until somebody wants it gone.
    if let Some(process) = left {
        shared.stop.notified().await;
        process.stop(Duration::ZERO).await;
    }
    aborts.iter().for_each(tokio::task::AbortHandle::abort);
}

/// What of the output is told, to a limit: whoever shows it may be slower than the program.
struct Told {
    id: String,
    left: usize,
    events: Events,
}

impl Told {
    fn tell(&mut self, bytes: &[u8]) {
        if self.left == 0 || bytes.is_empty() {
            return;
        }
        let mut text = String::from_utf8_lossy(bytes).into_owned();
        self.left = self.left.saturating_sub(bytes.len());
        if self.left == 0 {
            text.push_str("\n(what it prints from here on is not shown)\n");
        }
        self.events.tell(HostEvent::TerminalOutput { id: self.id.clone(), text });
    }
}

async fn pump(mut from: impl AsyncRead + Unpin, shared: Arc<Shared>, told: Arc<Mutex<Told>>) {
    let mut buffer = vec![0; 16 << 10];
    // The beginning of a character whose rest is still to come.
    let mut half: Vec<u8> = Vec::new();
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        half.extend_from_slice(&buffer[..count]);
        let rest = half.split_off(half.len() - unfinished(&half));
        lock(&shared.ring).push(&half);
        lock(&told).tell(&half);
        half = rest;
    }
    lock(&shared.ring).push(&half);
    lock(&told).tell(&half);
}
