//! The files that say what of a tree is not worth seeing. Tells only whether they may be read.

use std::path::Path;

pub const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];
/// A longer list of patterns is no ignore file.
const LONGEST_IGNORE_FILE: u64 = 4 * 1024 * 1024;

/// A pipe or a device by that name would be read for ever.
pub fn readable_ignore_files(folder: &Path) -> bool {
    IGNORE_FILES.iter().all(|name| match folder.join(name).metadata() {
        Ok(found) => found.is_dir() || found.is_file() && found.len() <= LONGEST_IGNORE_FILE,
        Err(_) => true,
    })
}
