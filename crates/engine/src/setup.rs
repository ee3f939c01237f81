//! What a front end decides once, before there is a session.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use zdx_protocol::EditorFiles;

use zdx_config::ConfigFlags;
use zdx_config::ConfigLocation;
use zdx_config::{AppPaths, Environment};

/// Everything a front end decides once.
pub struct Setup {
    pub paths: AppPaths,
    pub env: Environment,
    /// Canonical. `Open::Root` leaves it for another.
    pub root: PathBuf,
    pub flags: ConfigFlags,
    /// `--agent`.
    pub agent: Option<String>,
    /// `--backend acp:NAME`: another agent answers in place of a model.
    pub remote: Option<String>,
    /// The folder's own files are trusted for this run.
    pub trust: bool,
    /// False: sessions are kept in memory alone.
    pub save: bool,
    /// Somebody can answer questions.
    pub person: bool,
    /// One prompt and no more: tools of servers that are not up for it come too late, so it waits for them a moment.
    pub one_prompt: bool,
    pub allow_dangerous: bool,
    /// `--add-dir`: folders outside the workspace that every session counts like it. Absolute.
    pub add_dirs: Vec<PathBuf>,
    /// So many of the last turns of a resumed session are told again.
    pub replay: usize,
    /// The editor that the session works in: what it has open is what is read and written.
    pub editor: Option<Arc<dyn EditorFiles>>,
    /// This program, re-executed to supervise commands.
    pub executable: PathBuf,
}

impl Setup {
    pub fn place<'a>(&'a self, root: &'a Path) -> ConfigLocation<'a> {
        ConfigLocation { paths: &self.paths, env: &self.env, root, flags: &self.flags, trust: self.trust }
    }
}
