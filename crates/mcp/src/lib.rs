//! MCP servers: programs of the user's that bring tools, prompts and resources. Started in the background, looked after,
//! and kept from slowing anyone down: what a server listed in an earlier run is offered at once, and who calls it waits for it.
//! What may be called is the guard's to say; what a server says of its own tools is a hint and nothing more.

mod comments;
mod discover;
pub mod edit;
pub mod entry;
mod inspect;
mod link;
mod listing;
mod names;
mod relay;
mod result;
mod server_task;
mod servers;
mod stderr_tail;
mod tool;
mod tool_catalog;
mod user_requests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use zdx_protocol::redact::Redactor;

use zdx_config::{AppPaths, Environment};
use zdx_config::{Config, LogSettings};
use zdx_store::DiskCache;
use zdx_store::RotatingFile;
use zdx_tools::{Shell, ShellSettings};

pub use edit::{ServerAddition, ServerEditError, add, remove, set_enabled};
pub use inspect::{DescribedTool, ServerInspection, inspect};
pub use server_task::{ConnectMode, ServerTask};
pub use servers::{ServerPlan, ServerSet};
pub use stderr_tail::StderrTail;
pub use tool_catalog::McpToolCatalog;
pub use user_requests::{RequestedPrompt, read as read_resource};

/// Where servers run, and what is kept of them.
pub struct ServerEnvironment {
    pub root: PathBuf,
    /// Their own: they get none of the variables that commands are given beyond the harmless ones.
    pub shell: Shell,
    pub cache: DiskCache,
    /// Where what they say on stderr is written, unless logs are off.
    pub logs: Option<(PathBuf, LogSettings)>,
    pub redactor: Arc<Redactor>,
}

impl ServerEnvironment {
    pub fn new(
        paths: &AppPaths,
        env: &Environment,
        config: &Config,
        root: &Path,
        executable: PathBuf,
        redactor: Arc<Redactor>,
    ) -> Self {
        let shell = Shell::new(ShellSettings {
            supervisor: executable,
            env: env.vars().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            env_pass: Vec::new(),
            spill_dir: None,
            redactor: Arc::clone(&redactor),
        });
        let ttl = Duration::from_secs(u64::from(config.cache.ttl_hours) * 3600);
        let cache = DiskCache::new(paths.cache(config.cache.dir.as_deref()), ttl);
        let logs = (config.logs.level != "off").then(|| (paths.logs(), config.logs.clone()));
        Self { root: root.to_owned(), shell, cache, logs, redactor }
    }

    fn log(&self, server: &str) -> Option<RotatingFile> {
        let (folder, settings) = self.logs.as_ref()?;
        let path = folder.join(format!("mcp-{server}"));
        Some(RotatingFile::new(path, settings.max_bytes, settings.files))
    }
}
