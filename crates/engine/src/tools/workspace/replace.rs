//! Writing a file as one step: all of the new content is there, or all of the old.
//! The entry is replaced and never written through, so another name of the same file keeps what it had.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Stat, Uid};
use rustix::fs::{fchmod, fchown, fsync, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use zdx_protocol::Target;

use super::open::{Folders, regular};
use super::{FileError, Workspace};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    pub created: bool,
}

impl Workspace {
    /// Makes missing folders, keeps mode and, where allowed, owner.
    pub fn replace(&self, target: &Target, content: &[u8]) -> Result<Written, FileError> {
        let path = &target.path;
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
            Temporary::create(folder.as_fd(), before.is_some()).map_err(|error| failed(error.into()))?;
        file.write_all(content).map_err(failed)?;
        if let Some(before) = &before {
            keep(&file, before).map_err(|error| failed(error.into()))?;
        }
        fsync(&file).map_err(|error| failed(error.into()))?;
        temporary.rename_to(&name).map_err(|error| failed(error.into()))?;
        Ok(Written { created: before.is_none() })
    }
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
struct Temporary<'a> {
    folder: BorrowedFd<'a>,
    name: OsString,
    renamed: bool,
}

impl<'a> Temporary<'a> {
    /// Content that replaces a private file must not be readable meanwhile; a new file takes its mode from the umask.
    fn create(folder: BorrowedFd<'a>, private: bool) -> rustix::io::Result<(File, Self)> {
        let mode = Mode::from_raw_mode(if private { 0o600 } else { 0o666 });
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let name = OsString::from(format!(".zdx-{}.tmp", uuid::Uuid::new_v4().simple()));
        let file = openat(folder, &name, flags, mode)?;
        Ok((file.into(), Self { folder, name, renamed: false }))
    }

    fn rename_to(mut self, name: &OsStr) -> rustix::io::Result<()> {
        renameat(self.folder, &self.name, self.folder, name)?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.renamed {
            let _ = unlinkat(self.folder, &self.name, AtFlags::empty());
        }
    }
}
