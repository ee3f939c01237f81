//! The one decision about every action: may it run? Rules, approval modes and floors meet in `judge`; what a command line
//! does is read in `shell`. Pure: a [`FileView`] is its only window, and it knows no tool, no configuration, no session.

#![warn(unreachable_pub)]

mod families;
mod files;
mod judge;
mod limits;
mod pattern;
mod protected;
mod rules;
mod shell;
mod table;

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use zdx_protocol::Approval;

pub use files::{Disk, FileEntry, FileView, Located, MapView, Step, follow, locate};
pub use judge::{
    Explanation, PartFinding, explain, folder_grant, grant_key, is_covered, judge, weigh, wider_grant,
};
pub use rules::{LayerSource, RuleError, Rules, Ruling};
pub use shell::{NamedWords, named_words, selects_helper};
pub use table::{Miss, Report, RowError, run_table};

/// Everything a decision depends on besides the action. Cheap to clone.
#[derive(Clone)]
pub struct PolicyContext {
    /// The workspace, with every link in it resolved.
    pub root: PathBuf,
    /// What `~` and `$HOME` mean to a command.
    pub home: Option<PathBuf>,
    /// The variables that a command would start with.
    pub env: Arc<BTreeMap<String, String>>,
    pub approval: Approval,
    pub rules: Arc<Rules>,
    /// Somebody can be asked.
    pub person: bool,
    /// `--allow-dangerous` on this very command line.
    pub allow_dangerous: bool,
    /// What a person allowed for good, as [`grant_key`] spells it.
    pub grants: Arc<HashSet<String>>,
    pub files: Arc<dyn FileView>,
    /// Folders that may be read wherever they lie, resolved: those of skills that were loaded.
    pub lent: Arc<[PathBuf]>,
    /// Where this session keeps what commands printed, resolved: a model is told of these files to read them.
    pub outputs: Option<PathBuf>,
    /// Where zdx keeps its own configuration, grants and sessions, resolved.
    pub own: Option<PathBuf>,
}

impl PolicyContext {
    /// Built-in rules on the real disk with somebody to ask.
    pub fn new(root: impl Into<PathBuf>, approval: Approval) -> Self {
        Self {
            root: root.into(),
            home: None,
            env: Arc::default(),
            approval,
            rules: Arc::new(Rules::base()),
            person: true,
            allow_dangerous: false,
            grants: Arc::default(),
            files: Arc::new(Disk),
            lent: Arc::default(),
            outputs: None,
            own: None,
        }
    }
}
