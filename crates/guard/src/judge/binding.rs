//! The project files that a grant for a family of commands depends on. Looked at through the file view alone.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::PolicyContext;
use crate::files::FileEntry;

/// Where a family of commands would run, and what its project files hold now.
pub(super) struct ProjectFiles {
    /// From the workspace.
    pub folder: String,
    /// Names of those that are there, with commas between.
    pub names: String,
    pub hash: String,
}

/// Reads the project files in `folder` and those above it, up to the workspace. A file that is not there counts too:
/// once it is, the hash is another one. Nothing where a file cannot be read whole.
pub(super) fn project_files(
    folder: &Path,
    manifests: &[&'static str],
    cx: &PolicyContext,
) -> Option<ProjectFiles> {
    let below = folder.strip_prefix(&cx.root).ok()?.to_str()?;
    let (mut hash, mut names) = (Sha256::new(), Vec::new());
    for at in folder.ancestors().take_while(|at| at.starts_with(&cx.root)) {
        for name in manifests {
            let path = at.join(name);
            let text = match cx.files.entry(&path) {
                None => None,
                // Through a link another file may be meant tomorrow.
                Some(FileEntry::Link(_)) => return None,
                Some(FileEntry::File | FileEntry::Dir | FileEntry::Other) => Some(cx.files.text(&path)?),
            };
            // Lengths keep the end of one file from being read as the beginning of the next.
            hash.update(text.as_ref().map_or(u64::MAX, |text| text.len() as u64).to_le_bytes());
            hash.update(text.as_deref().unwrap_or_default());
            if text.is_some() && !names.contains(name) {
                names.push(*name);
            }
        }
    }
    if names.is_empty() {
        names.extend(manifests.first().copied());
    }
    let folder = if below.is_empty() { "." } else { below }.to_owned();
    Some(ProjectFiles { folder, names: names.join(","), hash: format!("{:x}", hash.finalize()) })
}
