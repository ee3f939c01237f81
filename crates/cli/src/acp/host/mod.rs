//! The requests of an agent, served: files in the workspace, terminals, permissions. Nobody can be asked, so the table of
//! the command line decides (`reach`), and whatever it allows passes the guard's floors.
//! Draws nothing: what it did goes out as events.

mod files;
mod judged;
mod permissions;
mod terminals;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::mpsc::UnboundedSender;
use zdx_acp::{Host, HostAnswer, HostRequest, TerminalTable, unless_cancelled};
use zdx_guard::PolicyContext;
use zdx_tools::Shell;
use zdx_workspace::Workspace;

pub use judged::Reach;

use judged::Judged;

/// Something that the host did, for whoever shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostEvent {
    Permission {
        allowed: bool,
        what: String,
    },
    TerminalCreated {
        id: String,
        command: String,
    },
    TerminalOutput {
        id: String,
        text: String,
    },
    TerminalExited {
        id: String,
        code: Option<i64>,
        signal: Option<String>,
    },
    TerminalReleased {
        id: String,
    },
    /// For the user, beside what the agent says.
    Warning(String),
}

/// The host of `zdx acp`.
pub struct ClientHost {
    judged: Arc<Judged>,
    shell: Arc<Shell>,
    terminals: TerminalTable,
    /// Number of terminals that were created.
    created: AtomicU64,
    is_cancelled: AtomicBool,
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
        Ok(Self {
            judged,
            shell: Arc::new(shell),
            terminals: TerminalTable::default(),
            created: AtomicU64::new(0),
            is_cancelled: AtomicBool::new(false),
            events: Events(events),
        })
    }
}

/// Writing is offered also where the table denies it: an agent that may not write through us would do it past us.
impl Host for ClientHost {
    async fn read_text_file(&self, request: HostRequest) -> HostAnswer {
        unless_cancelled(&request.cancel, files::read(&self.judged, &self.events, &request.params)).await
    }

    async fn write_text_file(&self, request: HostRequest) -> HostAnswer {
        unless_cancelled(&request.cancel, files::write(&self.judged, &self.events, request.params)).await
    }

    async fn request_permission(&self, request: HostRequest) -> HostAnswer {
        let is_cancelled = self.is_cancelled.load(Ordering::Relaxed);
        Ok(permissions::answer(&self.judged, &self.events, &request.params, is_cancelled))
    }

    async fn create_terminal(&self, request: HostRequest) -> HostAnswer {
        terminals::create(self, &request.params).await
    }

    fn terminals(&self) -> &TerminalTable {
        &self.terminals
    }

    fn terminal_released(&self, id: &str) {
        self.events.tell(HostEvent::TerminalReleased { id: id.to_owned() });
    }

    fn cancel_turn(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }
}
