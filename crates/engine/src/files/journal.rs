//! Keeps what a file held before a tool changes it, and remembers the change until the session has saved it.
//! Never stops a tool: content that cannot be kept makes a change that cannot be taken back, and says so once.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use zdx_protocol::{FileChange, FileState};

use super::Blobs;

/// What is kept of one file, at most.
pub(crate) const KEPT: u64 = 16 << 20;

#[derive(Debug, Default)]
pub struct Journal {
    /// None: nothing is kept or remembered.
    blobs: Option<Blobs>,
    /// Whatever is changed for this session is changed for that one too, in the name of the call it works for.
    above: Option<(Arc<Journal>, String)>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// With the call that a change was made for, where somebody else made it for that call.
    changes: Vec<(Option<String>, FileChange)>,
    trouble: Trouble,
}

#[derive(Debug, Default)]
enum Trouble {
    #[default]
    None,
    Untold(String),
    Told,
}

/// A change that was prepared for and may not come.
#[derive(Debug)]
pub struct Draft {
    journal: Arc<Journal>,
    path: std::path::PathBuf,
    before: Option<FileState>,
    folders: u32,
}

impl Journal {
    pub fn new(blobs: Blobs) -> Self {
        Self { blobs: Some(blobs), ..Self::default() }
    }

    /// For a session that works for a call of another one: what it changes can be taken back from either.
    pub fn below(above: Arc<Journal>, call: String, blobs: Option<Blobs>) -> Self {
        Self { blobs, above: Some((above, call)), ..Self::default() }
    }

    pub fn blobs(&self) -> Option<&Blobs> {
        self.blobs.as_ref()
    }

    pub fn is_on(&self) -> bool {
        self.blobs.is_some() || self.above.as_ref().is_some_and(|(above, _)| above.is_on())
    }

    /// `found` is the mode of the file that is there and, where it could be read, its content. The content is safe when
    /// this returns.
    pub fn draft(
        self: &Arc<Self>,
        path: &Path,
        found: Option<(u32, Option<Vec<u8>>)>,
        folders: u32,
    ) -> Draft {
        let before = found.map(|(mode, content)| FileState {
            sha256: content.and_then(|content| self.keep(&content)),
            mode: mode & 0o7777,
        });
        Draft { journal: Arc::clone(self), path: path.to_owned(), before, folders }
    }

    /// Changes since this was last asked, each with the call it was made for where that is not the one that asks, and what
    /// the user should know of them: whoever asks must save and tell.
    pub fn take(&self) -> (Vec<(Option<String>, FileChange)>, Option<String>) {
        let mut state = self.lock();
        let trouble = match std::mem::replace(&mut state.trouble, Trouble::Told) {
            Trouble::Untold(why) => Some(format!(
                "the earlier content of a file could not be kept ({why}); its change cannot be reverted"
            )),
            Trouble::Told => None,
            Trouble::None => {
                state.trouble = Trouble::None;
                None
            }
        };
        (std::mem::take(&mut state.changes), trouble)
    }

    fn keep(&self, content: &[u8]) -> Option<String> {
        let kept = match &self.blobs {
            Some(blobs) => blobs.put(content).map_err(|error| self.complain(&error)).ok(),
            None => Some(Blobs::hash(content)),
        };
        match &self.above {
            Some((above, _)) => above.keep(content).and(kept),
            None => kept,
        }
    }

    fn note(&self, owner: Option<String>, change: FileChange) {
        if let Some((above, call)) = &self.above {
            above.note(Some(call.clone()), change.clone());
        }
        if self.blobs.is_some() {
            self.lock().changes.push((owner, change));
        }
    }

    fn complain(&self, error: &std::io::Error) {
        let mut state = self.lock();
        if matches!(state.trouble, Trouble::None) {
            let text = error.to_string();
            let why = text.split(" (os error").next().unwrap_or_default().to_lowercase();
            state.trouble = Trouble::Untold(why);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Draft {
    pub fn written(self, content_hash: String, mode: u32) {
        self.done(Some(FileState { sha256: Some(content_hash), mode: mode & 0o7777 }));
    }

    pub fn removed(self) {
        self.done(None);
    }

    fn done(self, after: Option<FileState>) {
        let Self { journal, path, before, folders } = self;
        journal.note(None, FileChange { path, before, after, folders });
    }
}
