//! What a tool did to one file, as far as it can be undone. Plain data: contents lie elsewhere, named by their hash.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize};

use crate::code::{one_of_ours, spelled};
use crate::path_text;

/// One file's way from one state to another; no state means that there is no file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Absolute, without links.
    #[serde(with = "path_text")]
    pub path: PathBuf,
    pub before: Option<FileState>,
    pub after: Option<FileState>,
    /// So many folders, the nearest to the file, came or went along with it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub folders: u32,
}

/// Two states are the same if content and mode are: `access` is only of use where a file that is gone is made anew.
#[derive(Clone, Debug, Eq, Serialize, Deserialize)]
pub struct FileState {
    /// Of the content, in hex. Missing where the content could not be read, or was too long for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The permission bits. With an access list, the group's are its mask.
    pub mode: u32,
    /// Missing for a file of whoever runs zdx, without access list, extended attributes and set-user-ID or set-group-ID bit,
    /// and in sessions of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<FileAccess>,
}

/// Access rights of a file besides its mode, and its extended attributes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileAccess {
    pub uid: u32,
    pub gid: u32,
    /// The POSIX access list as the kernel has it, in hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acl: Option<String>,
    /// Extended attributes by name, values in hex.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
}

impl PartialEq for FileState {
    fn eq(&self, other: &Self) -> bool {
        self.sha256 == other.sha256 && self.mode == other.mode
    }
}

spelled! {
    /// What a change does to a file, as previews and results name it.
    #[derive(Copy)]
    Operation {
        Created = "created",
        Updated = "updated",
        Unchanged = "unchanged",
        Deleted = "deleted",
        Renamed = "renamed",
    }
}

impl<'de> Deserialize<'de> for Operation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        one_of_ours(deserializer, Self::find)
    }
}

impl FileChange {
    /// The way back.
    pub fn inverse(self) -> Self {
        Self { before: self.after, after: self.before, ..self }
    }

    /// The folders that came or went along with the file, the nearest first.
    pub fn own_folders(&self) -> impl Iterator<Item = &Path> {
        self.path.ancestors().skip(1).take(self.folders as usize)
    }
}

impl FileState {
    /// Whether two states hold the same bytes. What nobody could read is like nothing.
    pub fn same_content(one: Option<&Self>, other: Option<&Self>) -> bool {
        match (one, other) {
            (None, None) => true,
            (Some(one), Some(other)) => one.sha256.is_some() && one.sha256 == other.sha256,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }
}

/// What commands may have done to files in turns that were taken back. It stays: nobody kept what was there before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftBehind {
    /// Commands ran in those turns. If none did, nothing but tools of ours touched a file.
    pub commands: bool,
    /// Files that changed since those turns began and that no tool of ours changed, relative to the root: the first of
    /// them. Somebody else may have been at work too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// How many there are besides those.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u32,
    /// The folder was too large to be looked at to the end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}
