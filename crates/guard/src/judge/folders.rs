//! Folders outside the workspace that the user adds to a session: which may be added, and which one to offer.

use std::path::{Path, PathBuf};

use zdx_protocol::{Action, Granting};

use super::grants::weigh_granted;
use super::{Weigher, holds_outside};
use crate::PolicyContext;
use crate::files::{FileEntry, locate};
use crate::limits::MAX_WIDER_GRANTS;
use crate::protected::encloses_credentials;
use crate::shell::Concern;

impl PolicyContext {
    /// The folders that were added to this session, as far as its grants name any.
    pub(crate) fn added_folders(&self) -> impl Iterator<Item = &Path> {
        self.grants.iter().filter_map(|grant| match Granting::of(grant) {
            Granting::Folder(path) => Some(Path::new(path)),
            Granting::Exactly(_) | Granting::Commands(_) | Granting::Edits => None,
        })
    }

    /// Whether a resolved path lies in a folder that was added.
    pub fn is_added(&self, path: &Path) -> bool {
        self.added_folders().any(|folder| path.starts_with(folder))
    }
}

/// The grant that adds this folder, or why it cannot be added. `folder` is resolved; whether it exists is not looked at.
pub fn folder_grant(folder: &Path, cx: &PolicyContext) -> Result<String, &'static str> {
    let resolved = |path: &Path| locate(cx.files.as_ref(), &cx.root, &cx.root, path).path;
    let home = cx.home.as_deref().map(resolved);
    let touches = |other: &Path| other.starts_with(folder) || folder.starts_with(other);
    if folder.parent().is_none() {
        return Err("it is the whole disk; name a folder in it");
    }
    if home.as_deref() == Some(folder) {
        return Err("it is your home folder, where keys and passwords are; name a folder in it");
    }
    if home.as_deref().is_some_and(|home| home.starts_with(folder)) {
        return Err("your home folder lies in it; name another folder");
    }
    if cx.own.as_deref().is_some_and(touches) {
        return Err("zdx keeps its own files there");
    }
    if ["/proc", "/sys", "/dev"].iter().any(|system| folder.starts_with(system)) {
        return Err("it belongs to the system");
    }
    if encloses_credentials(folder, home.as_deref()) {
        return Err("keys or passwords are kept there; name a folder without any");
    }
    match folder.to_str() {
        Some(name) if !name.chars().any(char::is_control) => Ok(Granting::Folder(name).spelled()),
        Some(_) | None => Err("its name is no plain text"),
    }
}

/// The grant of a folder with which nothing outside would be asked about in this action. What else has to be asked still is.
pub(super) fn offered_folder(action: &Action, cx: &PolicyContext) -> Option<String> {
    let weigher = Weigher::new(cx, false);
    let mut folders: Vec<PathBuf> =
        weigher.outside_paths(action).iter().map(|path| folder_of(path, cx)).collect();
    folders.sort_unstable();
    folders.dedup();
    // The shortest, which may cover all of them, comes first.
    folders
        .iter()
        .take(MAX_WIDER_GRANTS)
        .filter_map(|folder| folder_grant(folder, cx).ok())
        .find(|grant| !holds_outside(&weigh_granted(action, grant, cx).parts))
}

/// The folder itself, or the one that a file lies in.
fn folder_of(path: &Path, cx: &PolicyContext) -> PathBuf {
    match (cx.files.entry(path), path.parent()) {
        (Some(FileEntry::Dir), _) | (_, None) => path.to_owned(),
        (Some(FileEntry::File | FileEntry::Link(_) | FileEntry::Other) | None, Some(parent)) => {
            parent.to_owned()
        }
    }
}

impl Weigher<'_> {
    fn outside_paths(&self, action: &Action) -> Vec<PathBuf> {
        match action {
            Action::Read { targets, .. } | Action::Write { targets, .. } => {
                targets.iter().filter(|target| !target.inside).map(|target| target.path.clone()).collect()
            }
            Action::Command { command, cwd, .. } => {
                let parts = self.inspect(command, cwd).parts;
                let concerns = parts.into_iter().flat_map(|part| part.concerns);
                let outside = |concern| match concern {
                    Concern::Outside { path, .. } => Some(path),
                    Concern::Forbidden { .. }
                    | Concern::Confirm { .. }
                    | Concern::Ask { .. }
                    | Concern::Instructions => None,
                };
                concerns.filter_map(outside).collect()
            }
            Action::Mcp { .. }
            | Action::Fetch { .. }
            | Action::Remote { .. }
            | Action::Skill { .. }
            | Action::Task { .. }
            | Action::Todo => Vec::new(),
        }
    }
}
