//! The terminals that a host runs for an agent: their output while it comes, how they end, and the requests about them.
//! Starts no program: the host does, and feeds the terminal.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::error::{HostAnswer, RpcError, code};
use crate::output_tail::OutputTail;
use crate::params::Params;

/// Terminals that were not released.
const MAX_OPEN: usize = 64;

#[derive(Debug, Default)]
pub struct TerminalTable(Mutex<TableState>);

#[derive(Debug, Default)]
struct TableState {
    closed: bool,
    open: HashMap<String, TerminalEntry>,
}

#[derive(Debug)]
struct TerminalEntry {
    output: TerminalOutput,
    exit: watch::Receiver<Option<TerminalExit>>,
    stop: CancellationToken,
    /// Ends when nothing of the program is left.
    task: JoinHandle<()>,
}

/// The end of a program: an exit code or a signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalExit {
    pub code: Option<i64>,
    pub signal: Option<String>,
}

impl TerminalExit {
    fn to_value(&self) -> Value {
        json!({"exitCode": self.code, "signal": self.signal})
    }
}

#[derive(Clone, Debug)]
pub struct TerminalOutput(Arc<Mutex<OutputTail>>);

impl TerminalOutput {
    pub fn push(&self, bytes: &[u8]) {
        lock(&self.0).push(bytes);
    }
}

/// The host's end of a terminal, for the task that runs the program.
#[derive(Debug)]
pub struct TerminalFeed {
    pub output: TerminalOutput,
    /// The program is to be stopped, with everything that it started.
    pub stop: CancellationToken,
    exit: watch::Sender<Option<TerminalExit>>,
    started: Mutex<Option<oneshot::Sender<Result<(), RpcError>>>>,
}

impl TerminalFeed {
    /// Says that the program runs, or why it will not. Only the first call counts.
    pub fn started(&self, started: Result<(), RpcError>) {
        if let Some(tell) = lock(&self.started).take() {
            // The request may have been dropped.
            let _ = tell.send(started);
        }
    }

    pub fn exited(&self, exit: TerminalExit) {
        self.exit.send_replace(Some(exit));
    }
}

impl TerminalTable {
    /// Creates a terminal that keeps `limit` bytes of output and is stopped with the `scope`, if it has one. `start` spawns
    /// the task that runs the program. Answers once it runs.
    pub async fn create(
        &self,
        id: &str,
        limit: usize,
        scope: Option<&CancellationToken>,
        start: impl FnOnce(TerminalFeed) -> JoinHandle<()>,
    ) -> HostAnswer {
        let (tell, started) = oneshot::channel();
        {
            let mut table = lock(&self.0);
            if table.closed {
                return Err(RpcError::new(code::INTERNAL, "the client is ending"));
            }
            if table.open.len() >= MAX_OPEN {
                let words = format!("{MAX_OPEN} terminals are open: release some first");
                return Err(RpcError::new(code::INTERNAL, words));
            }
            let (exit, exited) = watch::channel(None);
            let output = TerminalOutput(Arc::new(Mutex::new(OutputTail::new(limit))));
            let stop = scope.map_or_else(CancellationToken::new, CancellationToken::child_token);
            let (feed_output, feed_stop, tell) = (output.clone(), stop.clone(), Mutex::new(Some(tell)));
            let task = start(TerminalFeed { output: feed_output, stop: feed_stop, exit, started: tell });
            table.open.insert(id.to_owned(), TerminalEntry { output, exit: exited, stop, task });
        }
        match started.await {
            Ok(Ok(())) => Ok(json!({"terminalId": id})),
            Ok(Err(error)) => {
                lock(&self.0).open.remove(id);
                Err(error)
            }
            Err(_) => Err(RpcError::new(code::INTERNAL, "the program could not be started")),
        }
    }

    fn with<T>(&self, params: &Params, look: impl FnOnce(&TerminalEntry) -> T) -> Result<T, RpcError> {
        let id = params.text("terminalId")?;
        lock(&self.0).open.get(id).map(look).ok_or_else(|| unknown(id))
    }

    pub(crate) fn output(&self, params: &Params) -> HostAnswer {
        self.with(params, |terminal| {
            let exit = terminal.exit.borrow().clone();
            let (output, truncated) = lock(&terminal.output.0).text(exit.is_some());
            let mut answer = json!({"output": output, "truncated": truncated});
            if let Some(exit) = exit {
                answer["exitStatus"] = exit.to_value();
            }
            answer
        })
    }

    /// A release ends the wait.
    pub(crate) async fn wait(&self, params: &Params) -> HostAnswer {
        let mut exit = self.with(params, |terminal| terminal.exit.clone())?;
        let exited = exit.wait_for(Option::is_some).await.ok().and_then(|exit| exit.clone());
        exited
            .map(|exit| exit.to_value())
            .ok_or_else(|| unknown(params.text("terminalId").unwrap_or_default()))
    }

    /// The output of a killed program may still be asked for.
    pub(crate) async fn kill(&self, params: &Params) -> HostAnswer {
        let mut exit = self.with(params, |terminal| {
            terminal.stop.cancel();
            terminal.exit.clone()
        })?;
        let _ = exit.wait_for(Option::is_some).await;
        Ok(json!({}))
    }

    pub(crate) async fn release(&self, params: &Params) -> HostAnswer {
        let id = params.text("terminalId")?;
        let terminal = lock(&self.0).open.remove(id).ok_or_else(|| unknown(id))?;
        terminal.stop.cancel();
        let _ = terminal.task.await;
        Ok(json!({}))
    }

    /// Stops all programs and waits for their ends. No terminal is opened afterwards.
    pub async fn close(&self) {
        let all = {
            let mut table = lock(&self.0);
            table.closed = true;
            std::mem::take(&mut table.open)
        };
        all.values().for_each(|terminal| terminal.stop.cancel());
        for terminal in all.into_values() {
            let _ = terminal.task.await;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unknown(id: &str) -> RpcError {
    RpcError::new(code::NOT_FOUND, format!("Resource not found: terminal {id}")).with(json!({"uri": id}))
}
