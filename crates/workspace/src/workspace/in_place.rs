//! Writing into a file whose entry cannot be replaced, as it is a mount of its own: containers share single files so.
//! Not one step, therefore what was there is copied aside first, and put back when writing fails.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Seek};
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags, fchmod, fstat, openat};

use super::FileError;
use super::open::regular;
use super::replace::TemporaryFile;
use crate::leftover_files::{LeftoverFile, temporary_name};
use crate::path_lock::PathLocks;

/// Gives the file the content of `new`, and its mode where that is to change.
pub(super) fn overwrite(
    new: &mut TemporaryFile,
    name: &OsStr,
    path: &Path,
    mode: Option<u32>,
    locks: &PathLocks,
) -> Result<(), FileError> {
    let failed = |source: io::Error| FileError::Io { path: path.to_owned(), source };
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = openat(&new.folder, name, flags, Mode::empty()).map_err(|error| failed(error.into()))?;
    regular(path, fstat(&opened).map_err(|error| failed(error.into()))?.st_mode)?;
    let mut file = File::from(opened);
    let folder = new.folder.as_fd().try_clone_to_owned().map_err(failed)?;
    let backup = temporary_name();
    locks.name_temporary(path, &backup, LeftoverFile::Backup);
    let mut before =
        TemporaryFile::create(folder, backup.clone(), true).map_err(|error| failed(error.into()))?;
    copy(&mut file, &mut before.file).map_err(failed)?;
    locks.name_temporary(path, &backup, LeftoverFile::Overwritten);
    let written = copy(&mut new.file, &mut file).and_then(|()| match mode {
        Some(mode) => Ok(fchmod(&file, Mode::from_raw_mode(mode))?),
        None => Ok(()),
    });
    written.map_err(|source| match copy(&mut before.file, &mut file) {
        Ok(()) => failed(source),
        Err(_) => {
            let kept = path.with_file_name(&before.name);
            before.keep();
            FileError::Damaged { path: path.to_owned(), kept, source }
        }
    })
}

/// Makes the one file hold what the other does, on the disk.
fn copy(from: &mut File, to: &mut File) -> io::Result<()> {
    from.rewind()?;
    to.rewind()?;
    let length = io::copy(from, to)?;
    to.set_len(length)?;
    to.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leftover_files::clear_named;
    use crate::path_lock::LockScope;

    #[test]
    fn the_copy_of_what_was_there_is_named_before_the_file_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let (path, folder) = (dir.path().join("a"), dir.path().join("locks"));
        let locks = PathLocks::in_folder(folder.clone());
        let guard = locks.lock(LockScope::AllProcesses, [path.clone()], &|| false).unwrap();
        std::fs::write(&path, "old").unwrap();
        let mut new =
            TemporaryFile::create(File::open(dir.path()).unwrap().into(), temporary_name(), true).unwrap();
        io::Write::write_all(&mut new.file, b"new").unwrap();
        overwrite(&mut new, OsStr::new("a"), &path, None, &locks).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        let list = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
        let named = std::fs::read_to_string(&list).unwrap();
        let tags: Vec<&str> = named.split('\0').step_by(3).collect();
        assert_eq!(tags, ["backup", "overwritten", ""]);
        // What is named is gone: nothing is left to do.
        clear_named(&File::options().read(true).write(true).open(list).unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        drop(guard);
    }
}
