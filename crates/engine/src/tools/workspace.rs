//! Which file is meant, and is it inside? The only place that resolves a path a model named.
//! Decides nothing: whether an outside path may be touched is policy's business.

use std::io;
use std::path::{Path, PathBuf};

use zdx_protocol::{Target, ToolError};

/// The folder a session works in, held by descriptor.
pub struct Workspace {
    root: PathBuf,
    home: Option<PathBuf>,
}

impl Workspace {
    pub fn open(root: &Path) -> io::Result<Self> {
        Ok(Self { root: root.canonicalize()?, home: None })
    }

    /// Where `~` leads; without it a tilde is an ordinary character.
    pub fn with_home(mut self, home: Option<PathBuf>) -> Self {
        self.home = home;
        self
    }

    /// Canonical and absolute.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What a named path really is, every link followed, as the kernel would.
    pub fn resolve(&self, _path: &str) -> Result<Target, ToolError> {
        let _ = &self.home;
        Err(ToolError::new("path_error", "not yet"))
    }
}
