//! One session file on the disk: made private, locked, appended to by whole lines.
//! Knows bytes only; what waits when it fails is `log`'s business.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{SessionId, reason};

pub(super) fn file_path(dir: &Path, id: SessionId) -> PathBuf {
    dir.join(format!("{id}.jsonl"))
}

/// Far longer than a look takes.
const LOOK: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(super) struct SessionFileHandle {
    file: File,
    /// Where a half-written record begins that could not be cut off yet.
    torn_at: Option<u64>,
    /// The folder's entry for the file is known to be on the disk.
    entry_synced: bool,
    /// Something may not be on the disk yet. Waiting for a file that did not change costs a flush of the device.
    dirty: bool,
}

impl SessionFileHandle {
    /// Nothing if another process writes to it. One that only looks whether somebody does is gone in a moment.
    pub(super) fn locked(file: File, entry_synced: bool) -> Option<Self> {
        let tried = file.try_lock().or_else(|error| match error {
            TryLockError::WouldBlock => {
                std::thread::sleep(LOOK);
                file.try_lock()
            }
            TryLockError::Error(_) => Err(error),
        });
        match tried {
            // A file system without locks: saving without one beats not saving.
            Ok(()) | Err(TryLockError::Error(_)) => {
                Some(Self { file, torn_at: None, entry_synced, dirty: true })
            }
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Whether some process writes to it.
    pub(super) fn is_in_use(path: &Path) -> bool {
        let Ok(file) = File::open(path) else { return false };
        let looked = file.try_lock_shared();
        let _ = file.unlock();
        matches!(looked, Err(TryLockError::WouldBlock))
    }

    /// For devices, whose lock all tests of a machine would share.
    #[cfg(test)]
    pub(super) fn unlocked(file: File) -> Self {
        Self { file, torn_at: None, entry_synced: true, dirty: true }
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn create(path: &Path) -> io::Result<Self> {
        if let Some(dir) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        }
        let file = OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(path)?;
        Self::locked(file, false).ok_or_else(|| io::Error::other("another process holds it"))
    }

    /// All of the line or, as far as the disk allows, none of it.
    pub(super) fn append(&mut self, line: &[u8]) -> io::Result<()> {
        self.dirty = true;
        if let Some(offset) = self.torn_at {
            self.file.set_len(offset)?;
            self.torn_at = None;
        }
        let mut rest = line;
        while !rest.is_empty() {
            // A full disk first gives a short write; only the next one says why.
            match self.file.write(rest) {
                Ok(0) => return Err(self.cut(line.len() - rest.len(), ErrorKind::WriteZero.into())),
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.cut(line.len() - rest.len(), error)),
            }
        }
        Ok(())
    }

    /// Takes back the `written` bytes at the end, so that the next record does not glue to them.
    fn cut(&mut self, written: usize, error: io::Error) -> io::Error {
        if written > 0 {
            match self.file.metadata() {
                Ok(metadata) => {
                    let start = metadata.len().saturating_sub(written as u64);
                    self.torn_at = self.file.set_len(start).is_err().then_some(start);
                }
                Err(unknown_size) => return unknown_size,
            }
        }
        error
    }

    pub(super) fn sync(&mut self, path: &Path) -> Result<(), String> {
        let in_words = |error: io::Error| format!("{}: {}", path.display(), reason(&error));
        if !self.entry_synced {
            // Waiting for the folder costs a journal commit: it is due when the data is promised, not before.
            if let Some(dir) = path.parent() {
                File::open(dir).and_then(|dir| supported(dir.sync_all())).map_err(in_words)?;
            }
            self.entry_synced = true;
        }
        if self.dirty {
            supported(self.file.sync_data()).map_err(in_words)?;
            self.dirty = false;
        }
        match self.file.metadata() {
            Ok(metadata) if metadata.nlink() == 0 => {
                Err(format!("{} was removed by another program", path.display()))
            }
            Ok(_) => Ok(()),
            Err(error) => Err(in_words(error)),
        }
    }
}

impl Drop for SessionFileHandle {
    /// Closing is not enough: a child that is just being started shares the open file until it runs its own program,
    /// and would keep the lock.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// Some file systems cannot sync a folder or a special file. There is nothing to wait for then.
fn supported(synced: io::Result<()>) -> io::Result<()> {
    match synced {
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        other => other,
    }
}

/// Lets a write beyond `ulimit -f` fail with an error instead of killing the process. To be called once, inside the
/// tokio runtime. A handler that does nothing, rather than an ignored signal: children would inherit the latter.
pub fn ignore_sigxfsz() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    // The handler stays for the life of the process; the listener is of no use.
    signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_written_since_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.jsonl");
        let mut open = SessionFileHandle::create(&path).unwrap();
        assert!(open.dirty, "what an earlier process wrote may not be on the disk");
        open.sync(&path).unwrap();
        assert!(!open.dirty);
        open.append(b"{}\n").unwrap();
        assert!(open.dirty);
        open.sync(&path).unwrap();
        assert!(!open.dirty);
        std::fs::remove_file(&path).unwrap();
        assert!(open.sync(&path).is_err(), "a removed file is noticed all the same");
    }
}
