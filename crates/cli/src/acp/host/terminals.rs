//! `terminal/*`: programs really run, without a shell between, under the supervisor and behind the guard's floors.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use zdx_acp::{HostEvent, Params, RpcError, code};
use zdx_engine::agents::TerminalRequest;
use zdx_tools::{ChildSpec, Shell, ShellError};

use super::Events;
use super::judged::Judged;
use super::terminal::Terminal;

/// Terminals that were not released.
const AT_ONCE: usize = 64;

pub(super) struct Terminals {
    judged: Arc<Judged>,
    shell: Shell,
    events: Events,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    made: u64,
    /// Those that are just being made count, too.
    starting: usize,
    closed: bool,
    terminals: HashMap<String, Arc<Terminal>>,
}

impl Terminals {
    pub(super) fn new(judged: Arc<Judged>, shell: Shell, events: Events) -> Self {
        Self { judged, shell, events, open: Mutex::default() }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn create(&self, params: &Params) -> Result<Value, RpcError> {
        let wanted = TerminalRequest::read(params)?;
        let cwd = self.judged.folder(wanted.cwd.as_deref()).map_err(RpcError::invalid_params)?;
        self.judged.command(&wanted.command(&cwd), cwd.clone()).map_err(|why| {
            self.events.refused(format!("execute {}: {why}", wanted.shown(&cwd)));
            RpcError::new(code::INVALID_REQUEST, format!("not allowed: {why}"))
        })?;
        if !self.judged.workspace.is_in_place() {
            return Err(not_started(&ShellError::Moved(self.judged.root().to_owned())));
        }
        let _starting = self.begin()?;
        let shown = wanted.shown(&cwd);
        let mut argv = wanted.argv(&cwd).into_iter().map(OsString::from);
        let program = argv.next().unwrap_or_default();
        let env = wanted.env.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let spec = ChildSpec { program, args: argv.collect(), cwd, env };
        let child = self.shell.spawn(spec).await.map_err(|error| not_started(&error))?;
        let id = {
            let mut open = self.open();
            if open.closed {
                // Dropped, it is gone with all that it started.
                return Err(RpcError::new(code::INTERNAL, "the client is ending"));
            }
            open.made += 1;
            let id = format!("term-{}", open.made);
            self.events.tell(HostEvent::TerminalCreated { id: id.clone(), command: shown });
            let terminal = Terminal::attend(id.clone(), child, wanted.limit, self.events.clone());
            open.terminals.insert(id.clone(), Arc::new(terminal));
            id
        };
        Ok(json!({"terminalId": id}))
    }

    fn begin(&self) -> Result<Starting<'_>, RpcError> {
        let mut open = self.open();
        if open.terminals.len() + open.starting >= AT_ONCE {
            let words = format!("{AT_ONCE} terminals are open: release some first");
            return Err(RpcError::new(code::INVALID_REQUEST, words));
        }
        open.starting += 1;
        Ok(Starting(self))
    }

    fn find(&self, params: &Params) -> Result<(String, Arc<Terminal>), RpcError> {
        let id = params.text("terminalId")?;
        let found = self.open().terminals.get(id).cloned();
        found.map(|terminal| (id.to_owned(), terminal)).ok_or_else(|| unknown(id))
    }

    pub(super) fn output(&self, params: &Params) -> Result<Value, RpcError> {
        Ok(self.find(params)?.1.output())
    }

    pub(super) async fn wait(&self, params: &Params) -> Result<Value, RpcError> {
        // Not holding it: a release ends the wait.
        let (id, ended) = self.find(params).map(|(id, terminal)| (id, terminal.ended()))?;
        ended.await.map(|exit| exit.to_value()).ok_or_else(|| unknown(&id))
    }

    pub(super) async fn kill(&self, params: &Params) -> Result<Value, RpcError> {
        self.find(params)?.1.kill().await;
        Ok(json!({}))
    }

    pub(super) async fn release(&self, params: &Params) -> Result<Value, RpcError> {
        let id = params.text("terminalId")?;
        let terminal = self.open().terminals.remove(id).ok_or_else(|| unknown(id))?;
        terminal.release().await;
        self.events.tell(HostEvent::TerminalReleased { id: id.to_owned() });
        Ok(json!({}))
    }

    pub(super) async fn close(&self) {
        let all = {
            let mut open = self.open();
            open.closed = true;
            std::mem::take(&mut open.terminals)
        };
        let all: Vec<_> =
            all.into_values().map(|terminal| tokio::spawn(async move { terminal.release().await })).collect();
        for releasing in all {
            let _ = releasing.await;
        }
    }
}

struct Starting<'a>(&'a Terminals);

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        self.0.open().starting -= 1;
    }
}

fn unknown(id: &str) -> RpcError {
    RpcError::new(code::NOT_FOUND, format!("Resource not found: terminal {id}")).with(json!({"uri": id}))
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
