//! Opening what was resolved, and nothing else: no link is followed on the way.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, mkdirat, openat, statat};
use rustix::io::Errno;
use zdx_protocol::Target;

use super::{FileError, FileReach, Workspace};

/// A folder on the way needs to be passed through only.
#[cfg(target_os = "linux")]
const PASS: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const PASS: OFlags = OFlags::RDONLY;

/// An open regular file, and its size when it was opened.
pub struct OpenedFile {
    pub file: File,
    pub size: u64,
}

/// What to do about folders that are not there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MissingFolders {
    MustExist,
    Create,
}

impl Workspace {
    /// For reading. Never waits, whatever the path turns out to be.
    pub fn open_file(&self, target: &Target) -> Result<OpenedFile, FileError> {
        let (folder, name) = self.folder_of(target, MissingFolders::MustExist)?;
        let path = &target.path;
        // Looked at before it is opened, as opening a device can have effects, and after, as it may have changed.
        let found =
            statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW).map_err(|error| FileError::io(path, error))?;
        regular(path, found.st_mode)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = openat(&folder, &name, flags, Mode::empty()).map_err(|error| match error {
            Errno::LOOP => FileError::Escape(path.clone()),
            other => FileError::io(path, other),
        })?;
        let found = fstat(&file).map_err(|error| FileError::io(path, error))?;
        regular(path, found.st_mode)?;
        let opened = OpenedFile { file: file.into(), size: u64::try_from(found.st_size).unwrap_or_default() };
        Ok(self.as_edited(target, opened))
    }

    /// The whole file, if it is no longer than `limit`.
    pub fn read_file(&self, target: &Target, limit: u64) -> Result<Vec<u8>, FileError> {
        let OpenedFile { file, size } = self.open_file(target)?;
        let too_large = |size| FileError::TooLarge { path: target.path.clone(), size, limit };
        if size > limit {
            return Err(too_large(size));
        }
        let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        file.take(limit + 1).read_to_end(&mut content).map_err(|error| FileError::io(&target.path, error))?;
        match content.len() as u64 > limit {
            true => Err(too_large(content.len() as u64)),
            false => Ok(content),
        }
    }

    /// The folder a resolved path lies in, and its last part.
    pub(super) fn folder_of(
        &self,
        target: &Target,
        folders: MissingFolders,
    ) -> Result<(OwnedFd, OsString), FileError> {
        let path = &target.path;
        let mut at = if target.inside { self.root.clone() } else { PathBuf::from("/") };
        let mut folder = self.root_of(target)?;
        let below = path.strip_prefix(&at).unwrap_or(path);
        let Some(name) = below.file_name() else {
            return Err(FileError::NotRegular { path: path.clone(), what: "a folder" });
        };
        for part in below.parent().into_iter().flatten() {
            at.push(part);
            folder = enter(folder.as_fd(), part, &at, folders)?;
        }
        Ok((folder, name.to_owned()))
    }

    /// Where the way to a target begins: the workspace for what is inside, else the root of the system.
    pub(super) fn root_of(&self, target: &Target) -> Result<OwnedFd, FileError> {
        match &self.files {
            FileReach::Held(descriptor) if target.inside => duplicate(descriptor.as_fd(), &target.path),
            FileReach::Held(_) => system_root(&target.path),
            FileReach::Seen(_) => {
                let source = std::io::ErrorKind::Unsupported.into();
                Err(FileError::Io { path: target.path.clone(), source })
            }
        }
    }
}

fn duplicate(fd: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, FileError> {
    fd.try_clone_to_owned().map_err(|error| FileError::io(path, error))
}

fn system_root(path: &Path) -> Result<OwnedFd, FileError> {
    let flags = PASS | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open("/", flags, Mode::empty()).map_err(|error| FileError::io(path, error))
}

/// One step down, through a real folder only; `at` is where it leads.
pub(super) fn enter(
    folder: BorrowedFd<'_>,
    part: &OsStr,
    at: &Path,
    folders: MissingFolders,
) -> Result<OwnedFd, FileError> {
    let flags = PASS | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = || openat(folder, part, flags, Mode::empty());
    let failed = |source: Errno| match folders {
        MissingFolders::MustExist => FileError::io(at, source),
        MissingFolders::Create => FileError::Folder { path: at.to_owned(), source: source.into() },
    };
    match open() {
        Ok(entered) => Ok(entered),
        Err(Errno::NOENT) if folders == MissingFolders::Create => {
            match mkdirat(folder, part, Mode::from_raw_mode(0o777)) {
                // Somebody else may have made it meanwhile; what it is, the second try tells.
                Ok(()) | Err(Errno::EXIST) => {
                    open().map_err(|error| swapped_or(error, folder, part, at, failed(error)))
                }
                Err(error) => Err(failed(error)),
            }
        }
        Err(error) => Err(swapped_or(error, folder, part, at, failed(error))),
    }
}

/// What was resolved as a folder and is none now was swapped, unless it is a plain file; `otherwise` is any other fault.
fn swapped_or(
    error: Errno,
    folder: BorrowedFd<'_>,
    part: &OsStr,
    at: &Path,
    otherwise: FileError,
) -> FileError {
    if !matches!(error, Errno::NOTDIR | Errno::LOOP) {
        return otherwise;
    }
    match statat(folder, part, AtFlags::SYMLINK_NOFOLLOW).map(|found| FileType::from_raw_mode(found.st_mode))
    {
        Ok(FileType::RegularFile) => otherwise,
        // Also a folder: then it was swapped back already.
        Ok(_) | Err(_) => FileError::Escape(at.to_owned()),
    }
}

pub(super) fn regular(path: &Path, mode: rustix::fs::RawMode) -> Result<(), FileError> {
    let what = match FileType::from_raw_mode(mode) {
        FileType::RegularFile => return Ok(()),
        FileType::Symlink => return Err(FileError::Escape(path.to_owned())),
        FileType::Directory => "a folder",
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Unknown => "of an unknown kind",
    };
    Err(FileError::NotRegular { path: path.to_owned(), what })
}
