//! Writing a file as one step: all of the new content is there, or all of the old.
//! The entry is replaced and never written through, so another name of the same file keeps what it had.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Stat, Uid};
use rustix::fs::{fchmod, fchown, fstat, fsync, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use zdx_protocol::{EditorFiles, Target};

use super::open::{Folders, regular};
use super::{FileError, Workspace};
use crate::files::{Blobs, Draft};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    pub created: bool,
}

/// What a file that is written may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permissions {
    /// As they were; for a new file, the usual.
    Keep,
    /// These bits.
    Like(u32),
    /// As with `Keep`, but runnable by whoever may read it, or by nobody.
    Executable(bool),
}

/// New content beside the file it is for. Gone again unless it is committed.
pub struct Staged {
    temporary: Temporary,
    name: OsString,
    path: PathBuf,
    created: bool,
    /// What the journal is told once the content is in its place.
    change: Option<(Draft, String, u32)>,
    /// Who puts which text there instead.
    editor: Option<(Arc<dyn EditorFiles>, String)>,
}

impl Staged {
    pub fn commit(self) -> Result<Written, FileError> {
        match self.editor.and_then(|(editor, text)| editor.write(&self.path, &text)) {
            Some(Ok(())) => {}
            Some(Err(why)) => return Err(FileError::Editor { path: self.path, why }),
            None => {
                self.temporary.rename_to(&self.name).map_err(|error| FileError::io(&self.path, error))?;
            }
        }
        if let Some((draft, hash, mode)) = self.change {
            draft.written(hash, mode);
        }
        Ok(Written { created: self.created })
    }
}

impl Workspace {
    /// Makes missing folders, keeps mode and, where allowed, owner.
    pub fn replace(&self, target: &Target, content: &[u8]) -> Result<Written, FileError> {
        self.stage(target, content, Permissions::Keep)?.commit()
    }

    /// All of [`replace`](Self::replace) but its last step.
    pub fn stage(
        &self,
        target: &Target,
        content: &[u8],
        permissions: Permissions,
    ) -> Result<Staged, FileError> {
        let path = &target.path;
        let draft = self.draft(target);
        let (folder, name) = self.folder_of(target, Folders::Create)?;
        let before = match statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Some(found),
            Err(Errno::NOENT) => None,
            Err(error) => return Err(FileError::io(path, error)),
        };
        if let Some(found) = &before {
            regular(path, found.st_mode)?;
            writable(folder.as_fd(), &name, path)?;
        }
        let failed = |error: std::io::Error| FileError::Io { path: path.clone(), source: error };
        let (mut file, temporary) =
            Temporary::create(folder, before.is_some() || matches!(permissions, Permissions::Like(_)))
                .map_err(|error| failed(error.into()))?;
        file.write_all(content).map_err(failed)?;
        if let Some(before) = &before {
            keep(&file, before).map_err(|error| failed(error.into()))?;
        }
        permit(&file, permissions).map_err(|error| failed(error.into()))?;
        fsync(&file).map_err(|error| failed(error.into()))?;
        let editor = self.written_by(target, content, permissions);
        let change = match draft {
            Some(draft) => {
                let mode = fstat(&file).map_err(|error| failed(error.into()))?.st_mode;
                Some((draft, Blobs::hash(content), mode))
            }
            None => None,
        };
        Ok(Staged { temporary, name, path: path.clone(), created: before.is_none(), change, editor })
    }

    /// Takes a file out of its place. It comes back unless it is discarded.
    pub fn set_aside(&self, target: &Target) -> Result<Aside, FileError> {
        let change = self.draft(target);
        let (folder, name) = self.folder_of(target, Folders::MustExist)?;
        let failed = |error: Errno| FileError::io(&target.path, error);
        let found = statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
        regular(&target.path, found.st_mode)?;
        let aside = temporary_name();
        renameat(&folder, &name, &folder, &aside).map_err(failed)?;
        Ok(Aside { folder, name, aside, change, discarded: false })
    }
}

/// A file out of its place.
pub struct Aside {
    folder: OwnedFd,
    name: OsString,
    aside: OsString,
    change: Option<Draft>,
    discarded: bool,
}

impl Aside {
    pub fn discard(mut self) {
        self.discarded = true;
        let _ = unlinkat(&self.folder, &self.aside, AtFlags::empty());
        if let Some(draft) = self.change.take() {
            draft.removed();
        }
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        if !self.discarded {
            let _ = renameat(&self.folder, &self.aside, &self.folder, &self.name);
        }
    }
}

fn permit(file: &File, permissions: Permissions) -> rustix::io::Result<()> {
    let now = fstat(file)?.st_mode & 0o7777;
    let mode = match permissions {
        Permissions::Keep => return Ok(()),
        Permissions::Like(mode) => mode & 0o7777,
        Permissions::Executable(true) => now | (now & 0o444) >> 2,
        Permissions::Executable(false) => now & !0o111,
    };
    fchmod(file, Mode::from_raw_mode(mode))
}

/// A file its owner made read-only is not replaced behind their back, though a rename would.
fn writable(folder: BorrowedFd<'_>, name: &OsStr, path: &Path) -> Result<(), FileError> {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    match openat(folder, name, flags, Mode::empty()) {
        // A running program cannot be written to, but its entry can be replaced.
        Ok(_) | Err(Errno::TXTBSY) => Ok(()),
        Err(Errno::LOOP) => Err(FileError::Escape(path.to_owned())),
        Err(error) => Err(FileError::io(path, error)),
    }
}

/// Mode and owner of the file before. An owner that cannot be kept is no reason not to write.
fn keep(file: &File, before: &Stat) -> rustix::io::Result<()> {
    let _ = fchown(file, Some(Uid::from_raw(before.st_uid)), Some(Gid::from_raw(before.st_gid)));
    fchmod(file, Mode::from_raw_mode(before.st_mode & 0o7777))
}

/// A file that is gone again unless it was renamed.
struct Temporary {
    folder: OwnedFd,
    name: OsString,
    renamed: bool,
}

fn temporary_name() -> OsString {
    OsString::from(format!(".zdx-{}.tmp", uuid::Uuid::new_v4().simple()))
}

impl Temporary {
    /// Content that replaces a private file must not be readable meanwhile; a new file takes its mode from the umask.
    fn create(folder: OwnedFd, private: bool) -> rustix::io::Result<(File, Self)> {
        let mode = Mode::from_raw_mode(if private { 0o600 } else { 0o666 });
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let name = temporary_name();
        let file = openat(&folder, &name, flags, mode)?;
        Ok((file.into(), Self { folder, name, renamed: false }))
    }

    fn rename_to(mut self, name: &OsStr) -> rustix::io::Result<()> {
        renameat(&self.folder, &self.name, &self.folder, name)?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            let _ = unlinkat(&self.folder, &self.name, AtFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_file_that_was_not_renamed_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let folder = || OwnedFd::from(File::open(dir.path()).unwrap());
        let entries = || std::fs::read_dir(dir.path()).unwrap().count();
        let (_, temporary) = Temporary::create(folder(), true).unwrap();
        assert_eq!(entries(), 1);
        drop(temporary);
        assert_eq!(entries(), 0);
        let (_, temporary) = Temporary::create(folder(), true).unwrap();
        temporary.rename_to(OsStr::new("kept")).unwrap();
        assert!(dir.path().join("kept").exists());
    }
}
