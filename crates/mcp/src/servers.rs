//! All servers of a configuration: which there are, which are started, and what they have together.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use zdx_protocol::{McpServer, McpState};

use super::entry::{self, ReadEntry, ServerEntry};
use super::server_task::{ConnectMode, ServerTask};
use super::{ServerEnvironment, names};
use zdx_config::EffectiveConfig;
use zdx_config::Environment;

/// What may wait to be told of servers; a state that was overtaken need not be told.
const BELLS: usize = 64;

/// What a configuration comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerPlan {
    /// To be started, each with what it is called.
    pub entries: Vec<(String, ServerEntry)>,
    /// Not to be started, and why.
    pub others: Vec<McpServer>,
    pub room: ToolBudget,
    first_wait: Duration,
    root: std::path::PathBuf,
}

/// How much of a request tools of servers may take, before they are only found by searching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolBudget {
    pub tools: usize,
    pub bytes: usize,
    pub total_tools: usize,
    pub total_bytes: usize,
}

impl ServerPlan {
    /// Also what deserves a warning.
    pub fn new(configured: &EffectiveConfig, env: &Environment, root: &Path) -> (Self, Vec<String>) {
        let config = &configured.resolved.config.mcp;
        let (mut entries, mut others, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
        let mut taken = HashSet::new();
        for (name, value) in &config.servers {
            let (read, told) = entry::read(name, value, env);
            warnings.extend(told);
            match read {
                ReadEntry::Server(entry) => {
                    let pinned = configured.pin(&["mcp", name], entry.source());
                    entries.push((names::server(name, &mut taken), ServerEntry { pinned, ..*entry }));
                }
                ReadEntry::Disabled => others.push(McpServer::new(name, McpState::Disabled)),
                ReadEntry::Refused(why) => {
                    let refused = McpServer { error: Some(why), ..McpServer::new(name, McpState::Refused) };
                    warnings.push(refused.fault());
                    others.push(refused);
                }
            }
        }
        let untrusted = configured.wants.iter().filter_map(|want| want.key.strip_prefix("mcp."));
        let untrusted = untrusted.filter(|name| !entry::SETTINGS.contains(name));
        others.extend(untrusted.map(|name| McpServer::new(name.trim_matches('"'), McpState::Untrusted)));
        let room = ToolBudget {
            tools: config.max_tools,
            bytes: config.max_schema_bytes,
            total_tools: config.total_tools,
            total_bytes: config.total_schema_bytes,
        };
        let first_wait = Duration::from_millis(config.first_wait_ms);
        (Self { entries, others, room, first_wait, root: root.to_owned() }, warnings)
    }
}

pub struct ServerSet {
    plan: ServerPlan,
    list: Vec<Arc<ServerTask>>,
    bells: tokio::sync::Mutex<mpsc::Receiver<usize>>,
    /// What the first request waits for servers that nobody knows; taken by the first that does.
    patience: Mutex<Option<Duration>>,
    stop: CancellationToken,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

impl ServerSet {
    /// Starts them all, and waits for none. `one_prompt`: the first request is to wait a moment; in a conversation tools join
    /// when they are there.
    pub fn start(
        plan: ServerPlan,
        ground: ServerEnvironment,
        manner: ConnectMode,
        one_prompt: bool,
    ) -> Arc<Self> {
        let (bell, bells) = mpsc::channel(BELLS);
        let (ground, stop) = (Arc::new(ground), CancellationToken::new());
        let server = |(id, entry): &(String, ServerEntry)| {
            Arc::new(ServerTask::new(id.clone(), entry.clone(), &ground, manner))
        };
        let list: Vec<Arc<ServerTask>> = plan.entries.iter().map(server).collect();
        let attend = |(at, server): (usize, &Arc<ServerTask>)| {
            let server = Arc::clone(server);
            tokio::spawn(server.attend(at, Arc::clone(&ground), manner, bell.clone(), stop.clone()))
        };
        let tasks = list.iter().enumerate().map(attend).collect();
        Arc::new(Self {
            patience: Mutex::new(one_prompt.then_some(plan.first_wait)),
            plan,
            list,
            bells: tokio::sync::Mutex::new(bells),
            stop,
            tasks: Mutex::new(tasks),
        })
    }

    pub fn plan(&self) -> &ServerPlan {
        &self.plan
    }

    pub fn list(&self) -> &[Arc<ServerTask>] {
        &self.list
    }

    pub fn named(&self, id: &str) -> Option<&Arc<ServerTask>> {
        self.list.iter().find(|server| server.id == id)
    }

    /// The next server that has changed. Never returns where nothing does.
    pub async fn changed(&self) -> &Arc<ServerTask> {
        loop {
            let rung = self.bells.lock().await.recv().await;
            match rung.map(|at| &self.list[at]) {
                Some(server) => return server,
                None => std::future::pending().await,
            }
        }
    }

    /// Before the first request: whom nobody knows yet is waited for, once and not for long. What is to be said of it.
    pub async fn first_wait(&self, cancel: &CancellationToken) -> Option<String> {
        let patience = self.patience.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let unknown: Vec<&Arc<ServerTask>> = self.list.iter().filter(|server| server.is_unknown()).collect();
        if unknown.is_empty() {
            return None;
        }
        tokio::select! {
            _ = join_all(unknown.iter().map(|server| server.settled())) => {}
            () = tokio::time::sleep(patience) => {}
            () = cancel.cancelled() => return None,
        }
        let late: Vec<&str> =
            unknown.iter().filter(|server| server.is_unknown()).map(|server| server.id.as_str()).collect();
        (!late.is_empty()).then(|| {
            let (names, limit) = (late.join(", "), patience.as_millis());
            format!(
                "not up after {limit} ms, going on without its tools: MCP server {names} (mcp.first_wait_ms)"
            )
        })
    }

    /// Closes their stdin, makes them end if they do not, and leaves none behind.
    pub async fn close(&self) {
        self.stop.cancel();
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        join_all(tasks).await;
    }
}

impl Drop for ServerSet {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
