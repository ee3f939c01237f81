//! Writing a file as one step: all of the new content is there, or all of the old.
//! The entry is replaced and never written through, so another name of the same file keeps what it had.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::fs::{fchmod, fstat, fsync, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use zdx_protocol::{EditorFiles, FileState, Target};

use super::open::{MissingFolders, regular};
use super::{FileError, Workspace, attributes, in_place};
use crate::leftover_files::{LeftoverFile, temporary_name};
use crate::path_lock::PathLocks;
use crate::text::{has_replacement, is_plain_text, loses_bytes};
use crate::{ChangeIntent, CheckpointDraft, ContentHash};

/// Lines of longer files are not compared.
const COMPARED: u64 = 32 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    pub created: bool,
}

/// What a file that is written may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePermissions {
    /// As they were; for a new file, the usual.
    Keep,
    /// These bits.
    Like(u32),
    /// As with `Keep`, but runnable by whoever may read it, or by nobody.
    Executable(bool),
}

/// New content beside the file it is for. Gone again unless it is committed.
pub struct StagedFile {
    temporary: TemporaryFile,
    /// After the temporary file, which lies in them.
    new_folders: NewFolders,
    name: OsString,
    path: PathBuf,
    created: bool,
    permissions: FilePermissions,
    mode: u32,
    /// What the journal is told right before and after the content comes into its place.
    change: Option<(CheckpointDraft, ContentHash)>,
    locks: Arc<PathLocks>,
    /// Who puts which text there instead.
    editor: Option<(Arc<dyn EditorFiles>, String)>,
}

impl StagedFile {
    /// Whatever is there now.
    pub fn commit(self) -> Result<WrittenFile, FileError> {
        self.commit_if(|| Ok(true))
    }

    /// Unless `holds` says that what is there now must stay. It is asked last, when the change is already announced: that
    /// waits for the disk, and others may write meanwhile.
    pub fn commit_if(
        mut self,
        holds: impl FnOnce() -> Result<bool, FileError>,
    ) -> Result<WrittenFile, FileError> {
        let mode = self.mode;
        let intent = self.change.take().map(|(draft, hash)| draft.intend_content(hash, mode));
        if !holds()? {
            return Err(FileError::ChangedMeanwhile(self.path));
        }
        match self.editor.and_then(|(editor, text)| editor.write(&self.path, &text)) {
            Some(Ok(())) => {}
            Some(Err(why)) => return Err(FileError::Editor { path: self.path, why }),
            None => match self.temporary.rename_to(&self.name) {
                Ok(()) => {}
                Err(Errno::BUSY) if !self.created => {
                    let mode = (self.permissions != FilePermissions::Keep).then_some(self.mode);
                    in_place::overwrite(&mut self.temporary, &self.name, &self.path, mode, &self.locks)?;
                }
                Err(error) => return Err(FileError::io(&self.path, error)),
            },
        }
        self.new_folders.keep();
        intent.into_iter().for_each(ChangeIntent::happened);
        Ok(WrittenFile { created: self.created })
    }
}

impl Workspace {
    /// Makes missing folders, keeps mode and, where allowed, owner.
    pub fn replace(&self, target: &Target, content: &[u8]) -> Result<WrittenFile, FileError> {
        self.stage_text(target, target, content, FilePermissions::Keep)?.commit()
    }

    /// [`stage_like`](Self::stage_like) for text that somebody made of what was shown of `like`, where bytes that are no text
    /// are U+FFFD. Refuses what would put real U+FFFD in their place.
    pub fn stage_text(
        &self,
        target: &Target,
        like: &Target,
        content: &[u8],
        permissions: FilePermissions,
    ) -> Result<StagedFile, FileError> {
        if has_replacement(content) && self.would_lose_bytes(like, content)? {
            return Err(FileError::LosesBytes(target.path.clone()));
        }
        self.stage_like(target, like, content, permissions)
    }

    /// A file as it was in an earlier state. One that is there keeps its owner and attributes, one that is gone is given what
    /// the state says of them.
    pub fn stage_state(
        &self,
        target: &Target,
        content: &[u8],
        state: &FileState,
    ) -> Result<StagedFile, FileError> {
        let mut staged = self.stage(target, content, FilePermissions::Like(state.mode))?;
        if staged.created {
            let file = &staged.temporary.file;
            let restored = attributes::restore(file, state).and_then(|mode| fsync(file).map(|()| mode));
            staged.mode = restored.map_err(|error| FileError::io(&target.path, error))?;
        }
        Ok(staged)
    }

    fn would_lose_bytes(&self, target: &Target, content: &[u8]) -> Result<bool, FileError> {
        match self.read_file(target, COMPARED) {
            Ok(old) => Ok(loses_bytes(&old, content)),
            Err(FileError::TooLarge { .. }) => {
                let found = is_plain_text(self.open_file(target)?.file);
                found.map(|is_text| !is_text).map_err(|error| FileError::io(&target.path, error))
            }
            Err(FileError::Missing(_)) => Ok(false),
            // Whoever may not read a file saw nothing of it either.
            Err(FileError::Io { source, .. }) if source.kind() == ErrorKind::PermissionDenied => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Content for a file, with nothing left to do but its last step.
    pub fn stage(
        &self,
        target: &Target,
        content: &[u8],
        permissions: FilePermissions,
    ) -> Result<StagedFile, FileError> {
        self.stage_like(target, target, content, permissions)
    }

    /// [`stage`](Self::stage) for a file that may not be there yet: then it has the owner and the attributes of `like`.
    pub fn stage_like(
        &self,
        target: &Target,
        like: &Target,
        content: &[u8],
        permissions: FilePermissions,
    ) -> Result<StagedFile, FileError> {
        let path = &target.path;
        let draft = self.draft(target);
        let new_folders = NewFolders::of(path);
        if !new_folders.0.is_empty() {
            let count = OsString::from(new_folders.0.len().to_string());
            self.locks.name_temporary(path, &count, LeftoverFile::NewFolders);
        }
        let (folder, name) = self.folder_of(target, MissingFolders::Create)?;
        let before = match statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Some(found),
            Err(Errno::NOENT) => None,
            Err(error) => return Err(FileError::io(path, error)),
        };
        let mut old = None;
        if let Some(found) = &before {
            regular(path, found.st_mode)?;
            old = Some(writable(folder.as_fd(), &name, path)?);
        } else if like.path != target.path {
            old = Some(self.open_on_disk(like)?);
        }
        let failed = |error: std::io::Error| FileError::Io { path: path.clone(), source: error };
        let temporary_name = temporary_name();
        self.locks.name_temporary(path, &temporary_name, LeftoverFile::Staged);
        let private = before.is_some() || matches!(permissions, FilePermissions::Like(_));
        let mut temporary =
            TemporaryFile::create(folder, temporary_name, private).map_err(|error| failed(error.into()))?;
        temporary.file.write_all(content).map_err(failed)?;
        let mode = permit(&temporary.file, old, permissions).map_err(|error| failed(error.into()))?;
        fsync(&temporary.file).map_err(|error| failed(error.into()))?;
        Ok(StagedFile {
            temporary,
            new_folders,
            name,
            path: path.clone(),
            created: before.is_none(),
            permissions,
            mode,
            locks: Arc::clone(&self.locks),
            change: draft.map(|draft| (draft, ContentHash::of(content))),
            editor: self.written_by(target, content, permissions),
        })
    }

    pub(super) fn open_on_disk(&self, target: &Target) -> Result<OwnedFd, FileError> {
        let (folder, name) = self.folder_of(target, MissingFolders::MustExist)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        openat(&folder, &name, flags, Mode::empty()).map_err(|error| FileError::io(&target.path, error))
    }

    /// Takes a file out of its place. It comes back unless it is discarded.
    pub fn set_aside(&self, target: &Target) -> Result<SetAsideFile, FileError> {
        self.set_aside_if(target, || Ok(true))
    }

    /// [`set_aside`](Self::set_aside) unless `holds`, asked last, says that what is there now must stay.
    pub fn set_aside_if(
        &self,
        target: &Target,
        holds: impl FnOnce() -> Result<bool, FileError>,
    ) -> Result<SetAsideFile, FileError> {
        let draft = self.draft(target);
        let (folder, name) = self.folder_of(target, MissingFolders::MustExist)?;
        let failed = |error: Errno| FileError::io(&target.path, error);
        let found = statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
        regular(&target.path, found.st_mode)?;
        let aside = temporary_name();
        self.locks.name_temporary(&target.path, &aside, LeftoverFile::SetAside);
        let intent = draft.map(CheckpointDraft::intend_removal);
        if !holds()? {
            return Err(FileError::ChangedMeanwhile(target.path.clone()));
        }
        renameat(&folder, &name, &folder, &aside).map_err(failed)?;
        Ok(SetAsideFile { folder, name, aside, intent, discarded: false })
    }
}

/// A file out of its place.
pub struct SetAsideFile {
    folder: OwnedFd,
    name: OsString,
    aside: OsString,
    intent: Option<ChangeIntent>,
    discarded: bool,
}

impl SetAsideFile {
    pub fn discard(mut self) {
        self.discarded = true;
        let _ = unlinkat(&self.folder, &self.aside, AtFlags::empty());
        self.intent.take().into_iter().for_each(ChangeIntent::happened);
    }
}

impl Drop for SetAsideFile {
    fn drop(&mut self) {
        if !self.discarded {
            let _ = renameat(&self.folder, &self.aside, &self.folder, &self.name);
        }
    }
}

/// Gives the new file what the old one has, and the mode it is to have; tells which one it has then.
fn permit(file: &File, old: Option<OwnedFd>, permissions: FilePermissions) -> rustix::io::Result<u32> {
    let mut allowed = 0o7777;
    let mut usual = fstat(file)?.st_mode & 0o7777;
    if let Some(old) = &old {
        let found = fstat(old)?;
        allowed = attributes::copy(old, &found, file)?;
        usual = found.st_mode & 0o7777;
    }
    let mode = match permissions {
        FilePermissions::Keep => usual,
        FilePermissions::Like(mode) => mode & 0o7777,
        FilePermissions::Executable(true) => usual | (usual & 0o444) >> 2,
        FilePermissions::Executable(false) => usual & !0o111,
    };
    if old.is_some() || permissions != FilePermissions::Keep {
        fchmod(file, Mode::from_raw_mode(mode & allowed))?;
    }
    Ok(fstat(file)?.st_mode)
}

/// The file, if its owner did not make it read-only: that is not replaced behind their back, though a rename would.
fn writable(folder: BorrowedFd<'_>, name: &OsStr, path: &Path) -> Result<OwnedFd, FileError> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let open = |access| openat(folder, name, flags | access, Mode::empty());
    let opened = open(OFlags::WRONLY).or_else(|error| match error {
        // A running program cannot be written to, but its entry can be replaced.
        Errno::TXTBSY => open(OFlags::RDONLY),
        other => Err(other),
    });
    opened.map_err(|error| match error {
        Errno::LOOP => FileError::Escape(path.to_owned()),
        other => FileError::io(path, other),
    })
}

/// Folders that were not there before a file was staged in them; gone again unless the file came to stay.
struct NewFolders(Vec<PathBuf>);

impl NewFolders {
    fn of(path: &Path) -> Self {
        let missing = path.ancestors().skip(1).take_while(|folder| folder.symlink_metadata().is_err());
        Self(missing.map(Path::to_owned).collect())
    }

    fn keep(&mut self) {
        self.0.clear();
    }
}

impl Drop for NewFolders {
    fn drop(&mut self) {
        for folder in &self.0 {
            // One that is not empty is somebody's.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// A file that is gone again unless it was renamed.
pub(super) struct TemporaryFile {
    pub file: File,
    pub folder: OwnedFd,
    pub name: OsString,
    stays: bool,
}

impl TemporaryFile {
    /// Content that replaces a private file must not be readable meanwhile; a new file takes its mode from the umask.
    pub(super) fn create(folder: OwnedFd, name: OsString, private: bool) -> rustix::io::Result<Self> {
        let mode = Mode::from_raw_mode(if private { 0o600 } else { 0o666 });
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&folder, &name, flags, mode)?.into();
        Ok(Self { file, folder, name, stays: false })
    }

    fn rename_to(&mut self, name: &OsStr) -> rustix::io::Result<()> {
        renameat(&self.folder, &self.name, &self.folder, name)?;
        self.stays = true;
        Ok(())
    }

    /// It stays under the name that it has.
    pub(super) fn keep(mut self) {
        self.stays = true;
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.stays {
            let _ = unlinkat(&self.folder, &self.name, AtFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_folders_are_named_before_they_are_made() {
        let dir = tempfile::tempdir().unwrap();
        let (root, locks) = (dir.path().join("root"), dir.path().join("locks"));
        std::fs::create_dir(&root).unwrap();
        let workspace = Workspace::open(&root).unwrap().with_locks_in(locks.clone());
        let target = workspace.resolve("a/b/c").unwrap();
        let _guard = workspace.lock_paths([target.path.clone()], &|| false).unwrap();
        let _staged = workspace.stage(&target, b"x", FilePermissions::Keep).unwrap();
        let list = std::fs::read_dir(&locks).unwrap().next().unwrap().unwrap().path();
        let named = std::fs::read_to_string(list).unwrap();
        let fields: Vec<&str> = named.split('\0').collect();
        assert_eq!((fields[0], fields[2], fields[3]), ("folders", "2", "staged"));
    }

    #[test]
    fn a_temporary_file_that_was_not_renamed_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let folder = || OwnedFd::from(File::open(dir.path()).unwrap());
        let entries = || std::fs::read_dir(dir.path()).unwrap().count();
        let temporary = TemporaryFile::create(folder(), temporary_name(), true).unwrap();
        assert_eq!(entries(), 1);
        drop(temporary);
        assert_eq!(entries(), 0);
        let mut temporary = TemporaryFile::create(folder(), temporary_name(), true).unwrap();
        temporary.rename_to(OsStr::new("kept")).unwrap();
        assert!(dir.path().join("kept").exists());
    }
}
