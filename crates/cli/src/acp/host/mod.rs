//! What an agent asks of us, served: files in the workspace, terminals, permissions. Nobody can be asked, so the table of
//! the command line decides (`reach`), and whatever it allows passes the guard's floors.
//! Draws nothing: what it did goes out as events.

mod files;
mod judged;
mod permissions;
mod terminal;
mod terminals;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;
use zdx_acp::{Host, HostEvent, Params, RpcError};
use zdx_guard::PolicyContext;
use zdx_tools::Shell;
use zdx_workspace::Workspace;

pub use judged::Reach;

use judged::Judged;
use terminals::Terminals;

/// The host of `zdx acp`.
pub struct ClientHost {
    judged: Arc<Judged>,
    terminals: Terminals,
    cancelled: AtomicBool,
    events: Events,
}

/// Whoever shows them may be gone.
#[derive(Clone)]
struct Events(UnboundedSender<HostEvent>);

impl Events {
    fn tell(&self, event: HostEvent) {
        let _ = self.0.send(event);
    }

    fn refused(&self, what: String) {
        self.tell(HostEvent::Permission { allowed: false, what });
    }
}

impl ClientHost {
    /// Of the policy, rules and what they depend on are taken; how far the agent may go is `reach`, and nobody is asked.
    pub fn new(
        root: &Path,
        locks: PathBuf,
        reach: Reach,
        policy: PolicyContext,
        shell: Shell,
        events: UnboundedSender<HostEvent>,
    ) -> std::io::Result<Self> {
        // A path that an agent gives as `~/x` means the home, wherever it runs.
        let workspace = Workspace::open(root)?.with_home(policy.home.clone()).with_locks_in(locks);
        let judged = Arc::new(Judged::new(workspace, reach, policy));
        let events = Events(events);
        let terminals = Terminals::new(Arc::clone(&judged), shell, events.clone());
        Ok(Self { judged, terminals, cancelled: AtomicBool::new(false), events })
    }
}

impl Host for ClientHost {
    /// Writing is offered also where the table denies it: an agent that may not write through us would do it past us.
    fn capabilities(&self) -> Value {
        json!({"fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true})
    }

    async fn ask(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        let params = Params(params);
        match method {
            "fs/read_text_file" => files::read(&self.judged, &self.events, &params).await,
            "fs/write_text_file" => files::write(&self.judged, &self.events, params).await,
            "session/request_permission" => {
                let cancelled = self.cancelled.load(Ordering::Relaxed);
                Ok(permissions::answer(&self.judged, &self.events, &params, cancelled))
            }
            "terminal/create" => self.terminals.create(&params).await,
            "terminal/output" => self.terminals.output(&params),
            "terminal/wait_for_exit" => self.terminals.wait(&params).await,
            "terminal/kill" => self.terminals.kill(&params).await,
            "terminal/release" => self.terminals.release(&params).await,
            _ => Err(RpcError::method_not_found(method)),
        }
    }

    fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    async fn close(&self) {
        self.terminals.close().await;
    }
}
