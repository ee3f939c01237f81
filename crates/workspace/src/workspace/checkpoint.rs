//! What is kept of a file before it is changed: the one place where workspace and journal meet.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use zdx_protocol::{FileAccess, Target};

use super::{FileError, Workspace, attributes};
use crate::{CheckpointDraft, ContentBefore, ContentHash, FileBefore, KEPT};

impl Workspace {
    /// To be called before anything of the file, or of the folders it lies in, is touched.
    pub(super) fn draft(&self, target: &Target) -> Option<CheckpointDraft> {
        self.journal.is_on().then(|| {
            let folders = missing_folders(&target.path);
            self.journal.draft(&target.path, self.found(target), folders)
        })
    }

    /// What permissions do not say of who may use a file, to be given to one that takes its place when it is gone.
    pub fn access(&self, target: &Target) -> Option<FileAccess> {
        attributes::access(&self.open_on_disk(target).ok()?)
    }

    /// As far as it can be had.
    fn found(&self, target: &Target) -> Option<FileBefore> {
        match self.open_file(target) {
            Ok(opened) => {
                let mode = opened.file.metadata().map_or(0, |found| found.permissions().mode());
                let content = content_before(opened.file).ok().flatten();
                Some(FileBefore { mode, content, access: self.access(target) })
            }
            Err(FileError::Missing(_)) => None,
            // Whoever may not read a file may still be allowed to replace it.
            Err(_) => {
                let found = std::fs::symlink_metadata(&target.path);
                let before = |mode| FileBefore { mode, content: None, access: None };
                found.ok().map(|found| before(found.permissions().mode()))
            }
        }
    }
}

fn content_before(mut file: File) -> io::Result<Option<ContentBefore>> {
    let mut content = Vec::new();
    (&mut file).take(KEPT + 1).read_to_end(&mut content)?;
    Ok(match content.len() as u64 <= KEPT {
        true => Some(ContentBefore::Whole(content)),
        false => ContentHash::read(content.chain(file))?.map(ContentBefore::Hash),
    })
}

fn missing_folders(path: &Path) -> u32 {
    let missing = path.ancestors().skip(1).take_while(|folder| !folder.exists());
    u32::try_from(missing.count()).unwrap_or_default()
}
