//! Where a command runs when a `cd` before it may not have taken place.
//! Only writes mind it: a reader in the wrong folder finds nothing.

use std::path::{Path, PathBuf};

use zdx_protocol::ReasonCode;

use crate::files::{FileEntry, locate};
use crate::limits::{LOOK, MAX_STAYED};
use crate::shell::Part;
use crate::shell::syntax::word::Arg;
use crate::shell::walk::Walker;
use crate::shell::walk::files::{FileEffect, flatten};

/// The folders a command may run in; empty when that is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Folders(pub Vec<PathBuf>);

impl Folders {
    pub(crate) fn unknown() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn is_unknown(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn or(&self, other: &Self) -> Self {
        if self.is_unknown() || other.is_unknown() {
            return Self::unknown();
        }
        let mut all = self.0.clone();
        all.extend(other.0.iter().filter(|path| !self.0.contains(path)).cloned());
        if all.len() > MAX_STAYED { Self::unknown() } else { Self(all) }
    }
}

impl Walker<'_> {
    /// A change of folder that is not certain to happen: from now on these are possible as well.
    pub(crate) fn may_have_stayed(&mut self, before: &Folders) {
        for folder in &before.0 {
            if !self.scope.stayed.contains(folder) && self.scope.stayed.len() < MAX_STAYED {
                self.scope.stayed.push(folder.clone());
            }
        }
    }

    /// A later change of folder starts from wherever we are.
    pub(crate) fn move_stayed(&mut self, target: &Arg) {
        let Some(path) = target.known().map(Path::new) else { return };
        if path.is_absolute() {
            self.scope.stayed.clear();
            return;
        }
        let moved: Vec<_> = self.scope.stayed.iter().map(|folder| flatten(&folder.join(path))).collect();
        self.may_have_stayed(&Folders(moved));
    }

    /// What a write would do if the folder had not been changed.
    pub(crate) fn changes_where_stayed(&mut self, arg: &Arg, change: FileEffect, part: &mut Part) {
        let Some(path) = arg.known().map(Path::new).filter(|path| !path.is_absolute()) else { return };
        for folder in self.scope.stayed.clone() {
            if !self.budget.spend(LOOK * (1 + path.components().count())) {
                return;
            }
            let located = locate(self.around.files, self.around.root, &folder, path);
            let shown = located.path.strip_prefix(self.around.root).unwrap_or(&located.path).display();
            let there = located.entry.as_ref().is_some_and(|entry| *entry != FileEntry::Dir)
                || self.touched.written.contains(&located.path);
            if !located.path.starts_with(self.around.root) {
                part.confirm(
                    ReasonCode::Opaque,
                    format!("it writes {shown} if the folder was not changed before"),
                );
            } else if self.is_protected(&located.path) {
                part.confirm(ReasonCode::ProtectedPath, format!("{shown} is a protected path"));
            } else if there && matches!(change, FileEffect::Redirect | FileEffect::Overwrite) {
                part.confirm(
                    ReasonCode::Overwrite,
                    format!("it overwrites {shown} if the folder was not changed before"),
                );
            }
        }
    }
}
