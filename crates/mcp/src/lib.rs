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

use zdx_config::{Config, Logs};
use zdx_config::{Env, Paths};
use zdx_store::Cache;
use zdx_store::Rotating;
use zdx_tools::{Shell, ShellSettings};

pub use edit::{Addition, EditError, add, remove, set_enabled};
pub use inspect::{Described, Inspection, inspect};
pub use server_task::{Manner, Server};
pub use servers::{Plan, Servers};
pub use stderr_tail::LastWords;
pub use tool_catalog::Shelf;
pub use user_requests::{Prompted, read as read_resource};

/// Where servers run, and what is kept of them.
pub struct Ground {
    pub root: PathBuf,
    /// Their own: they get none of the variables that commands are given beyond the harmless ones.
    pub shell: Shell,
    pub cache: Cache,
    /// Where what they say on stderr is written, unless logs are off.
    pub logs: Option<(PathBuf, Logs)>,
    pub redactor: Arc<Redactor>,
}

impl Ground {
    pub fn new(
        paths: &Paths,
        env: &Env,
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
        let cache = Cache::new(paths.cache(config.cache.dir.as_deref()), ttl);
        let logs = (config.logs.level != "off").then(|| (paths.logs(), config.logs.clone()));
        Self { root: root.to_owned(), shell, cache, logs, redactor }
    }

    fn log(&self, server: &str) -> Option<Rotating> {
        let (folder, settings) = self.logs.as_ref()?;
        let path = folder.join(format!("mcp-{server}"));
        Some(Rotating::new(path, settings.max_bytes, settings.files))
    }
}
