//! Keeps what a file held before a tool changes it, has the session save each change before and after it happens, and
//! remembers it until front ends have heard of it.
//! Apart from the `FileLedger` because these facts must be on the disk before a change happens, and outlive the session.
//! Never stops a tool: content that cannot be kept makes a change that cannot be taken back, and says so once.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use zdx_protocol::{FileAccess, FileChange, FileState};

use super::{BlobStore, ContentHash};

/// What is kept of one file, at most.
pub const KEPT: u64 = 16 << 20;

/// Saves changes of files in the log of a session, in the name of a call. Called from threads that may block.
pub trait ChangeRecorder: Send + Sync {
    /// Saves a change that is about to happen; it is on the disk when this returns.
    fn intend(&self, call: &str, change: &FileChange);

    /// Saves that it happened. False: nothing can be saved here any more.
    fn happened(&self, call: &str, change: &FileChange) -> bool;

    /// Saves that it did not.
    fn dropped(&self, call: &str, change: &FileChange);
}

/// Calls the function when a change is announced, as somebody else may be at work while that waits for the disk.
#[cfg(any(test, feature = "testing"))]
pub struct OnIntent<F>(pub F);

#[cfg(any(test, feature = "testing"))]
impl<F: Fn(&FileChange) + Send + Sync> ChangeRecorder for OnIntent<F> {
    fn intend(&self, _: &str, change: &FileChange) {
        (self.0)(change);
    }

    fn happened(&self, _: &str, _: &FileChange) -> bool {
        true
    }

    fn dropped(&self, _: &str, _: &FileChange) {}
}

/// A change that happened and that front ends have not heard of yet.
#[derive(Debug)]
pub struct MadeChange {
    /// The call that somebody else made it for; none: the call that runs here.
    pub owner: Option<String>,
    pub change: FileChange,
    /// It is in the session's log already.
    pub recorded: bool,
}

#[derive(Default)]
pub struct Checkpoints {
    /// None: nothing is kept or remembered.
    blobs: Option<BlobStore>,
    /// Whatever is changed for this session is changed for that one too, in the name of the call it works for.
    above: Option<(Arc<Checkpoints>, String)>,
    /// Set once the session that this belongs to has a log.
    recorder: OnceLock<Box<dyn ChangeRecorder>>,
    state: Mutex<CheckpointState>,
}

impl std::fmt::Debug for Checkpoints {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Checkpoints").field("blobs", &self.blobs).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct CheckpointState {
    changes: Vec<MadeChange>,
    /// The call that changes files here now.
    call: String,
    trouble: KeepFailure,
}

#[derive(Debug, Default)]
enum KeepFailure {
    #[default]
    None,
    Untold(String),
    Told,
}

/// A file that is about to be changed.
pub struct FileBefore {
    pub mode: u32,
    /// None where it could not be read.
    pub content: Option<ContentBefore>,
    pub access: Option<FileAccess>,
}

/// Content of a file that is about to be changed.
pub enum ContentBefore {
    /// To be kept.
    Whole(Vec<u8>),
    /// Too long to be kept; what lies there later can still be compared with it.
    Hash(ContentHash),
}

/// A change that was prepared for and may not come.
#[derive(Debug)]
pub struct CheckpointDraft {
    journal: Arc<Checkpoints>,
    path: std::path::PathBuf,
    before: Option<FileState>,
    folders: u32,
}

/// A change that was saved as about to happen. Saved as not happened unless it is said to be done.
#[derive(Debug)]
pub struct ChangeIntent {
    journal: Arc<Checkpoints>,
    /// The call that it was intended for.
    call: String,
    change: Option<FileChange>,
}

impl Checkpoints {
    pub fn new(blobs: BlobStore) -> Self {
        Self { blobs: Some(blobs), ..Self::default() }
    }

    /// For a session that works for a call of another one: what it changes can be taken back from either.
    pub fn below(above: Arc<Checkpoints>, call: String, blobs: Option<BlobStore>) -> Self {
        Self { blobs, above: Some((above, call)), ..Self::default() }
    }

    /// Has every change from now on saved there.
    pub fn record_to(&self, recorder: Box<dyn ChangeRecorder>) {
        let _ = self.recorder.set(recorder);
    }

    /// Files are changed for this call from now on.
    pub fn begin_call(&self, call: &str) {
        self.lock().call = call.to_owned();
    }

    pub fn blobs(&self) -> Option<&BlobStore> {
        self.blobs.as_ref()
    }

    pub fn is_on(&self) -> bool {
        self.blobs.is_some() || self.above.as_ref().is_some_and(|(above, _)| above.is_on())
    }

    /// `found` is the file that is there. Its content is safe when this returns.
    pub fn draft(self: &Arc<Self>, path: &Path, found: Option<FileBefore>, folders: u32) -> CheckpointDraft {
        let before = found.map(|FileBefore { mode, content, access }| FileState {
            sha256: content.map(|content| match content {
                ContentBefore::Whole(content) => self.keep(&content),
                ContentBefore::Hash(hash) => hash.to_hex(),
            }),
            mode: mode & 0o7777,
            access,
        });
        CheckpointDraft { journal: Arc::clone(self), path: path.to_owned(), before, folders }
    }

    /// Changes since this was last asked, and what the user should know of them: whoever asks must tell, and save what is
    /// not recorded.
    pub fn take(&self) -> (Vec<MadeChange>, Option<String>) {
        let mut state = self.lock();
        let trouble = match std::mem::replace(&mut state.trouble, KeepFailure::Told) {
            KeepFailure::Untold(why) => Some(format!(
                "the earlier content of a file could not be kept ({why}); its change cannot be reverted"
            )),
            KeepFailure::Told => None,
            KeepFailure::None => {
                state.trouble = KeepFailure::None;
                None
            }
        };
        (std::mem::take(&mut state.changes), trouble)
    }

    /// Returns the hash, whether or not the content could be kept.
    fn keep(&self, content: &[u8]) -> String {
        if let Some((above, _)) = &self.above {
            above.keep(content);
        }
        let kept = self.blobs.as_ref().map(|blobs| blobs.put(content));
        match kept {
            Some(Ok(hash)) => return hash,
            Some(Err(error)) => self.complain(&error),
            None => {}
        }
        ContentHash::of(content).to_hex()
    }

    /// Calls `each` with every recorder that is to hear of a change for `call`: this session's, and those above it.
    fn recorders(&self, call: &str, each: &mut dyn FnMut(&dyn ChangeRecorder, &str)) {
        if let Some(recorder) = self.recorder.get() {
            each(&**recorder, call);
        }
        if let Some((above, call)) = &self.above {
            above.recorders(call, each);
        }
    }

    fn note(&self, owner: Option<String>, call: &str, change: &FileChange) {
        let recorded = self.recorder.get().is_some_and(|recorder| recorder.happened(call, change));
        if let Some((above, call)) = &self.above {
            above.note(Some(call.clone()), call, change);
        }
        if self.blobs.is_some() {
            self.lock().changes.push(MadeChange { owner, change: change.clone(), recorded });
        }
    }

    fn complain(&self, error: &std::io::Error) {
        let mut state = self.lock();
        if matches!(state.trouble, KeepFailure::None) {
            let text = error.to_string();
            let why = text.split(" (os error").next().unwrap_or_default().to_lowercase();
            state.trouble = KeepFailure::Untold(why);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, CheckpointState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CheckpointDraft {
    /// Announces new content; to be called right before it takes its place.
    pub fn intend_content(self, content: ContentHash, mode: u32) -> ChangeIntent {
        self.intend(Some(FileState { sha256: Some(content.to_hex()), mode: mode & 0o7777, access: None }))
    }

    /// Announces a removal; to be called right before the file leaves its place.
    pub fn intend_removal(self) -> ChangeIntent {
        self.intend(None)
    }

    fn intend(self, after: Option<FileState>) -> ChangeIntent {
        let Self { journal, path, before, folders } = self;
        let call = journal.lock().call.clone();
        let change = FileChange { path, before, after, folders };
        journal.recorders(&call, &mut |recorder, call| recorder.intend(call, &change));
        ChangeIntent { journal, call, change: Some(change) }
    }
}

impl ChangeIntent {
    /// It is so now.
    pub fn happened(mut self) {
        if let Some(change) = self.change.take() {
            self.journal.note(None, &self.call, &change);
        }
    }
}

impl Drop for ChangeIntent {
    fn drop(&mut self) {
        if let Some(change) = self.change.take() {
            self.journal.recorders(&self.call, &mut |recorder, call| recorder.dropped(call, &change));
        }
    }
}
