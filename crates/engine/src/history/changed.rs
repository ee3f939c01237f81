//! Which files tools changed in a session, and by how many lines. Only looks.

use std::path::Path;
use std::time::{Duration, Instant};

use zdx_protocol::compare::LineDiff;
use zdx_protocol::query::ChangedFile;
use zdx_protocol::{FileChange, FileState, Transcript};

use super::since::files_changed;
use crate::files::{Blobs, read_as};

/// What counting the lines of all files may take.
const PATIENCE: Duration = Duration::from_secs(1);

/// From what each file was before the session, as far back as it can be gone, to what tools left.
pub(crate) fn changed(transcript: &Transcript, blobs: Option<&Blobs>) -> Vec<ChangedFile> {
    let deadline = Instant::now() + PATIENCE;
    let counted = |change: FileChange| {
        let text = |state: &Option<FileState>| match state {
            None => Some(String::new()),
            Some(state) => content(state, &change.path, blobs?),
        };
        let in_time = Instant::now() < deadline;
        let texts = in_time.then(|| text(&change.before).zip(text(&change.after))).flatten();
        let lines = texts.map(|(before, after)| LineDiff::new(&before, &after, Some(deadline)).counts());
        ChangedFile { change, lines, now: None }
    };
    files_changed(transcript).into_iter().map(counted).collect()
}

/// As it was kept, or as it still lies there.
fn content(state: &FileState, path: &Path, blobs: &Blobs) -> Option<String> {
    let hash = state.sha256.as_deref()?;
    let found = blobs.get(hash).or_else(|_| read_as(path, hash));
    String::from_utf8(found.ok()?).ok()
}
