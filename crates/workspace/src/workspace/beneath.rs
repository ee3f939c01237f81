//! Files below an open folder, for tools that look at many: no link is followed, whatever is swapped in meanwhile.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;
use zdx_protocol::Target;

use super::open::{MissingFolders, enter};
use super::{FileError, Workspace};

/// A folder held by descriptor.
pub struct FolderHandle {
    descriptor: OwnedFd,
    path: PathBuf,
}

impl Workspace {
    pub fn open_folder(&self, target: &Target) -> Result<FolderHandle, FileError> {
        let path = target.path.clone();
        let descriptor = match self.folder_of(target, MissingFolders::MustExist) {
            Ok((parent, name)) => enter(parent.as_fd(), &name, &path, MissingFolders::MustExist)?,
            // A root has no parent here.
            Err(FileError::NotRegular { .. }) => self.root_of(target)?,
            Err(error) => return Err(error),
        };
        Ok(FolderHandle { descriptor, path })
    }
}

impl FolderHandle {
    /// A regular file below; `relative` has no `..` in it.
    pub fn open_file(&self, relative: &Path) -> Result<File, FileError> {
        let failed = |error: Errno| FileError::io(&self.path.join(relative), error);
        let file = self.open(relative).map_err(failed)?;
        let found = fstat(&file).map_err(failed)?;
        match FileType::from_raw_mode(found.st_mode) {
            FileType::RegularFile => Ok(File::from(file)),
            _ => Err(FileError::NotRegular { path: self.path.join(relative), what: "something else" }),
        }
    }

    #[cfg(target_os = "linux")]
    fn open(&self, relative: &Path) -> rustix::io::Result<OwnedFd> {
        use rustix::fs::{ResolveFlags, openat2};
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match openat2(&self.descriptor, relative, FILE, Mode::empty(), resolve) {
            // An old kernel, or a sandbox that does not know the call.
            Err(Errno::NOSYS | Errno::PERM) => self.open_step_by_step(relative),
            opened => opened,
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn open(&self, relative: &Path) -> rustix::io::Result<OwnedFd> {
        self.open_step_by_step(relative)
    }

    fn open_step_by_step(&self, relative: &Path) -> rustix::io::Result<OwnedFd> {
        const STEP: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
        let name = relative.file_name().ok_or(Errno::INVAL)?;
        let mut folder = None;
        for part in relative.parent().into_iter().flatten() {
            let below = folder.as_ref().unwrap_or(&self.descriptor);
            folder = Some(openat(below, part, OFlags::RDONLY | STEP, Mode::empty())?);
        }
        openat(folder.as_ref().unwrap_or(&self.descriptor), name, FILE, Mode::empty())
    }
}

/// Opening never waits, and makes no terminal ours.
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_below_are_opened_and_links_are_not() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("root/a/b")).unwrap();
        fs::write(dir.path().join("secret"), "secret").unwrap();
        fs::write(dir.path().join("root/a/b/file"), "content").unwrap();
        symlink("../..", dir.path().join("root/a/up")).unwrap();
        symlink("b", dir.path().join("root/a/link")).unwrap();
        let workspace = Workspace::open(&dir.path().join("root")).unwrap();
        for named in [".", "a"] {
            let folder = workspace.open_folder(&workspace.resolve(named).unwrap()).unwrap();
            let below = |path: &str| match named {
                "." => PathBuf::from("a").join(path),
                _ => PathBuf::from(path),
            };
            for open in [FolderHandle::open, FolderHandle::open_step_by_step] {
                let mut text = String::new();
                File::from(open(&folder, &below("b/file")).unwrap()).read_to_string(&mut text).unwrap();
                assert_eq!(text, "content");
                assert!(open(&folder, &below("up/secret")).is_err());
                assert!(open(&folder, &below("link/file")).is_err());
                assert!(open(&folder, &below("link")).is_err());
            }
            assert!(folder.open_file(&below("b")).is_err());
        }
        let file = workspace.resolve("a/b/file").unwrap();
        assert!(workspace.open_folder(&file).is_err());
        let outside = workspace.resolve("/").unwrap();
        assert!(workspace.open_folder(&outside).unwrap().open_file(Path::new("etc/passwd")).is_ok());
    }
}
