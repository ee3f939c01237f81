//! `terminal/create`: programs really run, without a shell between, under the supervisor and behind the guard's floors.

use std::ffi::OsString;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::task::JoinHandle;
use zdx_acp::{HostAnswer, Params, RpcError, TerminalExit, TerminalFeed, TerminalOutput, code};
use zdx_engine::agents::TerminalRequest;
use zdx_tools::{ChildProcess, ChildSpec, CommandEnd, RunningProgram, ShellError};
use zdx_workspace::text::unfinished;

use super::{ClientHost, Events, HostEvent};

/// Time that the output of an ended program gets to arrive; what it left running may hold the pipes for ever.
const LINGER: Duration = Duration::from_millis(500);
/// Bytes of a terminal's output that are shown. The agent gets the rest all the same.
const SHOWN_LIMIT: usize = 64 << 10;

pub(super) async fn create(host: &ClientHost, params: &Params) -> HostAnswer {
    let ClientHost { judged, events, .. } = host;
    let wanted = TerminalRequest::read(params)?;
    let cwd = judged.folder(wanted.cwd.as_deref()).map_err(RpcError::invalid_params)?;
    judged.command(&wanted.command(&cwd), cwd.clone()).map_err(|why| {
        events.refused(format!("execute {}: {why}", wanted.shown(&cwd)));
        RpcError::new(code::INVALID_REQUEST, format!("not allowed: {why}"))
    })?;
    if !judged.workspace.is_in_place() {
        return Err(not_started(&ShellError::Moved(judged.root().to_owned())));
    }
    let command = wanted.shown(&cwd);
    let mut argv = wanted.argv(&cwd).into_iter().map(OsString::from);
    let program = argv.next().unwrap_or_default();
    let env = wanted.env.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    let spec = ChildSpec { program, args: argv.collect(), cwd, env };
    let id = format!("term-{}", host.created.fetch_add(1, Ordering::Relaxed) + 1);
    let (shell, tell, name) = (Arc::clone(&host.shell), events.clone(), id.clone());
    let start = |feed| {
        tokio::spawn(async move {
            match shell.spawn(spec).await {
                Ok(child) => {
                    tell.tell(HostEvent::TerminalCreated { id: name.clone(), command });
                    attend(name, child, feed, tell).await;
                }
                Err(error) => feed.started(Err(not_started(&error))),
            }
        })
    };
    host.terminals.create(&id, wanted.limit, None, start).await
}

fn not_started(error: &ShellError) -> RpcError {
    let code = match error {
        ShellError::TooLong(_) | ShellError::Nul => code::INVALID_PARAMS,
        ShellError::Moved(_) | ShellError::NoFolder(_) | ShellError::Start { .. } | ShellError::Lost => {
            code::INTERNAL
        }
    };
    RpcError::new(code, error.to_string())
}

/// Runs to the end of everything that the program started.
async fn attend(id: String, child: RunningProgram, feed: TerminalFeed, events: Events) {
    let RunningProgram { stdin, stdout, stderr, mut process } = child;
    // Nothing is typed into it.
    drop(stdin);
    feed.started(Ok(()));
    let shown =
        Arc::new(Mutex::new(ShownOutput { id: id.clone(), left: SHOWN_LIMIT, events: events.clone() }));
    let streams = [
        tokio::spawn(pump(stdout, feed.output.clone(), Arc::clone(&shown))),
        tokio::spawn(pump(stderr, feed.output.clone(), shown)),
    ];
    let end = tokio::select! {
        end = process.wait() => Some(end),
        () = feed.stop.cancelled() => None,
    };
    let (end, left): (_, Option<ChildProcess>) = match end {
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
    let exit = exit_of(end);
    let TerminalExit { code, signal } = exit.clone();
    events.tell(HostEvent::TerminalExited { id, code, signal });
    feed.exited(exit);
    // Programs that it started may go on and be heard until the terminal is stopped.
    if let Some(process) = left {
        feed.stop.cancelled().await;
        process.stop(Duration::ZERO).await;
    }
    aborts.iter().for_each(tokio::task::AbortHandle::abort);
}

fn exit_of(end: CommandEnd) -> TerminalExit {
    match end {
        CommandEnd::Exited(code) => TerminalExit { code: Some(code.into()), signal: None },
        CommandEnd::Signalled(signal) => TerminalExit { code: None, signal: Some(signal_name(signal)) },
        CommandEnd::TimedOut(_) | CommandEnd::Cancelled => {
            TerminalExit { code: None, signal: Some(signal_name(9)) }
        }
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

/// Shows output up to a limit: whoever shows it may be slower than the program.
struct ShownOutput {
    id: String,
    left: usize,
    events: Events,
}

impl ShownOutput {
    fn show(&mut self, bytes: &[u8]) {
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

async fn pump(mut from: impl AsyncRead + Unpin, output: TerminalOutput, shown: Arc<Mutex<ShownOutput>>) {
    let mut buffer = vec![0; 16 << 10];
    // The beginning of a character whose rest is still to come.
    let mut half: Vec<u8> = Vec::new();
    loop {
        let count = from.read(&mut buffer).await.unwrap_or_default();
        half.extend_from_slice(&buffer[..count]);
        let whole = if count == 0 { half.len() } else { half.len() - unfinished(&half) };
        let rest = half.split_off(whole);
        output.push(&half);
        shown.lock().unwrap_or_else(PoisonError::into_inner).show(&half);
        if count == 0 {
            return;
        }
        half = rest;
    }
}
