//! Which files were changed in a session: by tools, with how many lines and what became of them, and by commands. Only looks.

use std::path::Path;
use std::time::{Duration, Instant};

use zdx_protocol::compare::LineDiff;
use zdx_protocol::query::{ChangedFile, FilesChanged};
use zdx_protocol::{FileChange, FileState};

use super::commands::by_commands;
use super::since::since;
use zdx_store::{SessionId, SessionStore};
use zdx_workspace::{BlobStore, Workspace, read_as};

/// What counting the lines of all files may take.
const PATIENCE: Duration = Duration::from_secs(1);

/// What `/files` tells, of changes by tools and what else there is. `saved` is where the session's records are, if it has any.
pub(crate) fn report(
    changes: &[FileChange],
    saved: Option<(&SessionStore, SessionId)>,
    workspace: &Workspace,
) -> FilesChanged {
    let mut files = counted(changes, saved.map(|(store, id)| store.blobs(id)).as_ref());
    for (path, now) in since(changes, workspace) {
        let file = files.iter_mut().find(|file| file.change.path == path);
        file.into_iter().for_each(|file| file.now = Some(now));
    }
    let mut by_command = saved.map(|(store, id)| by_commands(store, id, workspace)).unwrap_or_default();
    by_command.retain(|path| !changes.iter().any(|change| change.path == *path));
    FilesChanged { root: workspace.root().to_owned(), files, by_command }
}

/// With the lines that came and went.
fn counted(changes: &[FileChange], blobs: Option<&BlobStore>) -> Vec<ChangedFile> {
    let deadline = Instant::now() + PATIENCE;
    let counted = |change: &FileChange| {
        let text = |state: &Option<FileState>| match state {
            None => Some(Vec::new()),
            Some(state) => content(state, &change.path, blobs?),
        };
        let in_time = Instant::now() < deadline;
        let texts = in_time.then(|| text(&change.before).zip(text(&change.after))).flatten();
        let lines = texts.map(|(before, after)| LineDiff::new(&before, &after, Some(deadline)).counts());
        ChangedFile { change: change.clone(), lines, now: None }
    };
    changes.iter().map(counted).collect()
}

/// As it was kept, or as it still lies there.
fn content(state: &FileState, path: &Path, blobs: &BlobStore) -> Option<Vec<u8>> {
    let hash = state.sha256.as_deref()?;
    blobs.get(hash).or_else(|_| read_as(path, hash)).ok()
}
