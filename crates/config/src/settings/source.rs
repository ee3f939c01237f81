//! Where a value came from, and files that a value names.

use std::fmt;
use std::path::{Path, PathBuf};

/// Layers in the order in which they win: a later one beats an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigLayer {
    Default,
    Global,
    Project,
    Environment,
    Flag,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueSource {
    Default,
    File { layer: ConfigLayer, path: PathBuf, line: usize },
    Env(&'static str),
    Flag(&'static str),
}

impl ValueSource {
    pub fn layer(&self) -> ConfigLayer {
        match self {
            Self::Default => ConfigLayer::Default,
            Self::File { layer, .. } => *layer,
            Self::Env(_) => ConfigLayer::Environment,
            Self::Flag(_) => ConfigLayer::Flag,
        }
    }
}

impl fmt::Display for ValueSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line, .. } => write!(f, "{}:{line}", path.display()),
            Self::Env(name) => write!(f, "environment {name}"),
            Self::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// What configuration adds to the project's context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstructionSource {
    File(FileRef),
    Text { text: String, source: ValueSource },
}

/// A file that configuration names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRef {
    /// Absolute; may be a link.
    pub path: PathBuf,
    /// Set when an untrusted project wrote it: what the path leads to must lie in this folder.
    pub confined_to: Option<PathBuf>,
    pub source: ValueSource,
}

impl FileRef {
    /// Whether following the path leads out of the folder it is confined to. A missing file leads nowhere.
    pub fn escapes(&self) -> bool {
        let Some(folder) = &self.confined_to else { return false };
        match self.path.canonicalize() {
            Ok(target) => !lies_in(&target, folder),
            Err(_) => !lies_in(&normalise(&self.path), folder),
        }
    }
}

fn lies_in(path: &Path, folder: &Path) -> bool {
    path.starts_with(folder) || folder.canonicalize().is_ok_and(|real| path.starts_with(real))
}

/// `..` and `.` resolved by name alone, for paths that do not exist.
fn normalise(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => out.push(part),
        }
    }
    out
}
