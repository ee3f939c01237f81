//! MCP servers: programs of the user's that bring tools, prompts and resources. Started in the background, looked after,
//! and kept from slowing anyone down: what a server listed in an earlier run is offered at once, and who calls it waits for it.
//! What may be called is the guard's to say; what a server says of its own tools is a hint and nothing more.

mod attend;
mod comments;
mod discover;
pub(crate) mod edit;
pub(crate) mod entry;
mod inspect;
mod link;
mod listing;
mod mentioned;
mod names;
mod relay;
mod result;
mod servers;
mod shelf;
mod tool;
mod words;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use zdx_protocol::redact::Redactor;

use crate::cache::Cache;
use crate::config::{Config, Logs};
use crate::logbook::Rotating;
use crate::paths::{Env, Paths};
use crate::tools::{Shell, ShellSettings};

pub(crate) use attend::{Manner, Server};
pub use edit::{Addition, EditError, add, remove, set_enabled};
pub use inspect::{Described, Inspection, inspect};
pub(crate) use mentioned::{Prompted, read as read_resource};
pub(crate) use servers::{Plan, Servers};
pub(crate) use shelf::Shelf;
pub use words::LastWords;

/// Where servers run, and what is kept of them.
pub(crate) struct Ground {
    pub root: PathBuf,
    /// Their own: they get none of the variables that commands are given beyond the harmless ones.
    pub shell: Shell,
    pub cache: Cache,
    /// Where what they say on stderr is written, unless logs are off.
    pub logs: Option<(PathBuf, Logs)>,
    pub redactor: Arc<Redactor>,
}

impl Ground {
    pub(crate) fn new(
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
        Some(Rotating::new(folder.join(format!("mcp-{server}")), settings))
    }
}
