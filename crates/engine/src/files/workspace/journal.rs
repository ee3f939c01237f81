//! What is kept of a file before it is changed: the one place where workspace and journal meet.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use zdx_protocol::Target;

use super::{FileError, Workspace};
use crate::files::{Blobs, ContentBefore, Draft, KEPT};

impl Workspace {
    /// To be called before anything of the file, or of the folders it lies in, is touched.
    pub(super) fn draft(&self, target: &Target) -> Option<Draft> {
        self.journal.is_on().then(|| {
            let folders = missing_folders(&target.path);
            self.journal.draft(&target.path, self.found(target), folders)
        })
    }

    /// Mode and content, as far as they can be had.
    fn found(&self, target: &Target) -> Option<(u32, Option<ContentBefore>)> {
        match self.open_file(target) {
            Ok(opened) => {
                let mode = opened.file.metadata().map_or(0, |found| found.permissions().mode());
                Some((mode, content_before(opened.file).ok().flatten()))
            }
            Err(FileError::Missing(_)) => None,
            // Whoever may not read a file may still be allowed to replace it.
            Err(_) => {
                let found = std::fs::symlink_metadata(&target.path);
                found.ok().map(|found| (found.permissions().mode(), None))
            }
        }
    }
}

fn content_before(mut file: File) -> io::Result<Option<ContentBefore>> {
    let mut content = Vec::new();
    (&mut file).take(KEPT + 1).read_to_end(&mut content)?;
    Ok(match content.len() as u64 <= KEPT {
        true => Some(ContentBefore::Whole(content)),
        false => Blobs::hash_all(content.chain(file))?.map(ContentBefore::Hash),
    })
}

fn missing_folders(path: &Path) -> u32 {
    let missing = path.ancestors().skip(1).take_while(|folder| !folder.exists());
    u32::try_from(missing.count()).unwrap_or_default()
}
