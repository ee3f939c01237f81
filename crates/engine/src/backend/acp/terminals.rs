//! `terminal/*` of another agent: each is a command of ours, judged, asked about, run and told like any other, whose output the
//! agent may look at while it comes. None outlives the turn.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use zdx_acp::{Params, RpcError, code};
use zdx_protocol::ToolOutput;
use zdx_protocol::facts::BASH;

use super::asked::{call, refused};
use crate::acp::{Ring, TerminalRequest};
use crate::call::{Moment, TurnIo};

/// Terminals that were not released.
const AT_ONCE: usize = 64;

/// Those of one turn.
#[derive(Clone, Default)]
pub(super) struct Terminals(Arc<Mutex<HashMap<String, Terminal>>>);

struct Terminal {
    shared: Arc<Shared>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

struct Shared {
    ring: Mutex<Ring>,
    /// What it ended with.
    exit: watch::Sender<Option<Exit>>,
}

#[derive(Clone, Copy)]
struct Exit {
    /// None for one that was stopped.
    code: Option<i64>,
}

impl Exit {
    fn of(output: &ToolOutput) -> Self {
        match output {
            ToolOutput::Ok(data) => Self { code: data["exit_code"].as_i64().filter(|code| *code >= 0) },
            ToolOutput::Err(_) => Self { code: None },
        }
    }

    fn to_value(self) -> Value {
        json!({"exitCode": self.code, "signal": if self.code.is_none() { Some("SIGKILL") } else { None }})
    }
}

impl Terminals {
    fn open(&self) -> MutexGuard<'_, HashMap<String, Terminal>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers once it runs, or will not. `over` ends with the turn, and it with that.
    pub(super) async fn create(
        &self,
        id: String,
        params: &Params,
        io: &TurnIo,
        over: &CancellationToken,
    ) -> Result<Value, RpcError> {
        let request = TerminalRequest::read(params)?;
        let cwd = folder(request.cwd.as_deref(), io)?;
        if self.open().len() >= AT_ONCE {
            let words = format!("{AT_ONCE} terminals are open: release some first");
            return Err(RpcError::new(code::INTERNAL, words));
        }
        let command = request.script(io.session.root(), &cwd);
        let call = call(id.clone(), BASH.name, json!({"command": command}));
        let shared =
            Arc::new(Shared { ring: Mutex::new(Ring::new(request.limit)), exit: watch::Sender::new(None) });
        let stop = over.child_token();
        let io = TurnIo { cancel: stop.clone(), ..io.clone() };
        let (begun, beginning) = oneshot::channel();
        let task = tokio::spawn(run(call, io, Arc::clone(&shared), begun));
        self.open().insert(id.clone(), Terminal { shared, stop, task });
        match beginning.await {
            Ok(Ok(())) => Ok(json!({"terminalId": id})),
            Ok(Err(error)) => {
                self.open().remove(&id);
                Err(error)
            }
            Err(_) => Err(RpcError::new(code::INTERNAL, "the command could not be started")),
        }
    }

    fn find(&self, params: &Params) -> Result<(Arc<Shared>, CancellationToken), RpcError> {
        let id = params.text("terminalId")?;
        let open = self.open();
        let found = open.get(id).map(|terminal| (Arc::clone(&terminal.shared), terminal.stop.clone()));
        found.ok_or_else(|| unknown(id))
    }

    pub(super) fn output(&self, params: &Params) -> Result<Value, RpcError> {
        let (shared, _) = self.find(params)?;
        let exit = *shared.exit.borrow();
        let (output, truncated) = shared.ring().text(exit.is_some());
        let mut answer = json!({"output": output, "truncated": truncated});
        if let Some(exit) = exit {
            answer["exitStatus"] = exit.to_value();
        }
        Ok(answer)
    }

    pub(super) async fn wait(&self, params: &Params, io: &TurnIo) -> Result<Value, RpcError> {
        let (shared, _) = self.find(params)?;
        tokio::select! {
            exit = shared.ended() => Ok(exit.to_value()),
            () = io.cancel.cancelled() => Err(RpcError::new(code::CANCELLED, "the turn was cancelled")),
        }
    }

    /// It may still be looked at.
    pub(super) async fn kill(&self, params: &Params) -> Result<Value, RpcError> {
        let (shared, stop) = self.find(params)?;
        stop.cancel();
        shared.ended().await;
        Ok(json!({}))
    }

    pub(super) async fn release(&self, params: &Params) -> Result<Value, RpcError> {
        let id = params.text("terminalId")?;
        let terminal = self.open().remove(id).ok_or_else(|| unknown(id))?;
        terminal.stop.cancel();
        let _ = terminal.task.await;
        Ok(json!({}))
    }

    /// All of them end within this time; what they came to is told.
    pub(super) async fn close(&self, within: Duration) {
        let all: Vec<Terminal> = self.open().drain().map(|(_, terminal)| terminal).collect();
        let ended = async {
            for terminal in all {
                terminal.stop.cancel();
                let _ = terminal.task.await;
            }
        };
        let _ = tokio::time::timeout(within, ended).await;
    }
}

impl Shared {
    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn ended(&self) -> Exit {
        let mut exit = self.exit.subscribe();
        let ended = exit.wait_for(Option::is_some).await;
        ended.ok().and_then(|exit| *exit).unwrap_or(Exit { code: None })
    }
}

async fn run(
    call: zdx_protocol::ToolCall,
    io: TurnIo,
    shared: Arc<Shared>,
    begun: oneshot::Sender<Result<(), RpcError>>,
) {
    let begun = Mutex::new(Some(begun));
    let tell = |how| {
        if let Some(begun) = begun.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // Whoever asked may have been called off.
            let _ = begun.send(how);
        }
    };
    let watch = |moment: Moment<'_>| match moment {
        Moment::Started => tell(Ok(())),
        Moment::Said(chunk) => shared.ring().push(chunk.as_bytes()),
    };
    let output = io.call_watched(call, &watch).await;
    match &output {
        ToolOutput::Err(error) => tell(Err(refused(error))),
        ToolOutput::Ok(_) => tell(Ok(())),
    }
    shared.exit.send_replace(Some(Exit::of(&output)));
}

/// A folder of the workspace.
fn folder(named: Option<&str>, io: &TurnIo) -> Result<PathBuf, RpcError> {
    let workspace = io.session.workspace();
    let Some(named) = named.filter(|named| !named.is_empty()) else { return Ok(workspace.root().to_owned()) };
    let target = workspace.resolve(named).map_err(|error| RpcError::invalid_params(error.to_string()))?;
    match target.path.is_dir() {
        true => Ok(target.path),
        false => Err(RpcError::invalid_params(format!("{} is no folder", target.path.display()))),
    }
}

fn unknown(id: &str) -> RpcError {
    RpcError::new(code::NOT_FOUND, format!("Resource not found: terminal {id}")).with(json!({"uri": id}))
}
