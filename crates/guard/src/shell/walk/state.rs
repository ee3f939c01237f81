//! State that the walker carries along, by how long it holds: until a subshell ends, until a group ends, or to the end of the script.

use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use crate::limits::MAX_NAMES;
use crate::shell::syntax::word::Known;
use crate::shell::walk::folders::Folders;

/// The state that a subshell has of its own: where it is, and what its variables hold.
#[derive(Clone)]
pub(crate) struct Scope {
    pub folders: Folders,
    /// A `cd` whose success is not certain happened in this list.
    pub maybe_moved: bool,
    /// Folders we are still in if a `cd` was never reached, or not understood: writes mind these too.
    pub stayed: Vec<PathBuf>,
    /// Names by which we may have come into a folder through a link, in full.
    pub entered: Vec<PathBuf>,
    pub values: BTreeMap<String, Known>,
}

/// Changes that the script made to the disk so far.
#[derive(Default)]
pub(crate) struct Touched {
    /// Folders that this script makes where nothing was.
    pub made: HashSet<PathBuf>,
    /// Files that this script writes.
    pub written: HashSet<PathBuf>,
    /// The files among these whose text this script makes or fetches.
    pub authored: HashSet<PathBuf>,
    pub fetched: HashSet<PathBuf>,
    /// Links that this script makes: where a path through one of them leads is not known.
    pub linked: HashSet<PathBuf>,
}

/// Depth in the script, and the constructs around us.
#[derive(Default)]
pub(crate) struct Nest {
    pub depth: usize,
    pub commands: usize,
    /// Numbers of loops we are in, and of texts that run at another time.
    pub looping: usize,
    pub later: usize,
    /// Commands here run beside others: in a pipe or in the background.
    pub beside: usize,
    /// Number of wrappers of one part that we are in.
    pub wrapped: usize,
    /// Names of the functions whose bodies we are in.
    pub inside: Vec<String>,
    /// The next simple command stands behind `time`.
    pub timed: bool,
}

/// Traces that looking at names and files leaves behind.
pub(crate) struct Looked {
    /// A name like `/dev/stdout` was met: what is open counts.
    pub names_open_files: Cell<bool>,
    /// Number of names of files that may still be looked at.
    pub names_left: Cell<usize>,
}

impl Scope {
    /// At the beginning of a script.
    pub(crate) fn at(folder: &Path) -> Self {
        let folders = Folders(vec![folder.to_path_buf()]);
        Self { folders, maybe_moved: false, stayed: Vec::new(), entered: Vec::new(), values: BTreeMap::new() }
    }
}

impl Default for Looked {
    fn default() -> Self {
        Self { names_open_files: Cell::new(false), names_left: Cell::new(MAX_NAMES) }
    }
}
