//! Temporary files of zdx beside the files they are for, and how those of a killed process are found again: each is named in
//! the lock file of its path before it exists, and whoever next gets that lock, or starts, clears up what is named there.
//! A lock that somebody holds is never looked into: its temporary files are in use.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

/// A lock file names a handful of files; more than this is no list of ours.
const LONGEST_LIST: u64 = 1 << 20;

/// Use of a temporary file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leftover {
    /// New content that has not come into its place.
    Staged,
    /// A file that was taken out of its place and was not deleted yet.
    SetAside,
}

pub(crate) fn temporary_name() -> OsString {
    OsString::from(format!(".zdx-{}.tmp", uuid::Uuid::new_v4().simple()))
}

fn is_temporary_name(name: &OsStr) -> bool {
    let id = name.to_str().and_then(|name| name.strip_prefix(".zdx-")?.strip_suffix(".tmp"));
    id.is_some_and(|id| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

impl Leftover {
    fn tag(self) -> &'static [u8] {
        match self {
            Self::Staged => b"staged",
            Self::SetAside => b"aside",
        }
    }

    fn of_tag(tag: &[u8]) -> Option<Self> {
        [Self::Staged, Self::SetAside].into_iter().find(|kind| kind.tag() == tag)
    }

    /// Names a temporary file in a lock file that this process holds. No reason to fail: it is needed after a crash only.
    pub(crate) fn note(self, lock_file: &Path, path: &Path, temporary: &OsStr) {
        let mut line = Vec::new();
        for field in [self.tag(), path.as_os_str().as_bytes(), temporary.as_bytes()] {
            line.extend_from_slice(field);
            line.push(0);
        }
        if let Ok(mut file) = OpenOptions::new().append(true).open(lock_file) {
            let _ = file.write_all(&line);
        }
    }

    /// Takes away new content that was never used, and puts back what was not deleted in the end.
    fn clear(self, path: &Path, temporary: &OsStr) {
        let Some(folder) = path.parent().filter(|_| is_temporary_name(temporary)) else { return };
        let temporary = folder.join(temporary);
        if !temporary.symlink_metadata().is_ok_and(|found| found.is_file()) {
            return;
        }
        let is_missing = || path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound);
        if self == Self::SetAside && is_missing() {
            put_back(&temporary, path);
        } else {
            let _ = std::fs::remove_file(&temporary);
        }
    }
}

/// Never over a file that came meanwhile, where the file system can promise that.
fn put_back(temporary: &Path, path: &Path) {
    let renamed = renameat_with(CWD, temporary, CWD, path, RenameFlags::NOREPLACE);
    if matches!(renamed, Err(Errno::INVAL | Errno::NOSYS)) {
        let _ = std::fs::rename(temporary, path);
    }
}

/// Clears up what a lock file names, which this process holds, and empties it. Every writer empties its own list, so
/// anything in it is of a process that was killed.
pub(crate) fn clear_named(lock_file: &File) {
    if lock_file.metadata().is_ok_and(|found| found.len() == 0) {
        return;
    }
    let mut list = Vec::new();
    if lock_file.take(LONGEST_LIST).read_to_end(&mut list).is_err() {
        return;
    }
    let fields: Vec<&[u8]> = list.split(|byte| *byte == 0).collect();
    // What is behind the last separator was cut off while it was written: that file was never made.
    for entry in fields[..fields.len() - 1].chunks_exact(3) {
        if let (Some(kind), [_, path, temporary]) = (Leftover::of_tag(entry[0]), entry) {
            kind.clear(Path::new(OsStr::from_bytes(path)), OsStr::from_bytes(temporary));
        }
    }
    forget_named(lock_file);
}

/// Empties the list of a lock file.
pub(crate) fn forget_named(lock_file: &File) {
    if lock_file.metadata().is_ok_and(|found| found.len() > 0) {
        let _ = lock_file.set_len(0);
    }
}

/// Clears up after all processes that were killed, of which the folder's lock files tell.
pub(crate) fn clear_all(locks: &Path) {
    for entry in std::fs::read_dir(locks).into_iter().flatten().flatten() {
        let is_list = entry.path().extension() == Some(OsStr::new("lock"))
            && entry.metadata().is_ok_and(|found| found.is_file() && found.len() > 0);
        let file = OpenOptions::new().read(true).write(true).open(entry.path());
        if let (true, Ok(file)) = (is_list, file)
            && file.try_lock().is_ok()
        {
            clear_named(&file);
            let _ = file.unlock();
            // The list of a session that was killed; lock files of paths have short names and stay.
            if entry.file_name().len() > "ff.lock".len() {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct Place {
        dir: tempfile::TempDir,
    }

    impl Place {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            fs::create_dir(dir.path().join("locks")).unwrap();
            fs::write(dir.path().join("locks/00.lock"), "").unwrap();
            Self { dir }
        }

        /// Leaves a temporary file of this use for `a`, as a killed process does.
        fn leave(&self, kind: Leftover, content: &str) {
            let name = temporary_name();
            kind.note(&self.lock(), &self.dir.path().join("a"), &name);
            fs::write(self.dir.path().join(name), content).unwrap();
        }

        fn lock(&self) -> std::path::PathBuf {
            self.dir.path().join("locks/00.lock")
        }

        fn files(&self) -> Vec<(String, String)> {
            let entries = fs::read_dir(self.dir.path()).unwrap().map(|entry| entry.unwrap().path());
            let files = entries.filter(|path| path.is_file());
            files
                .map(|path| {
                    let name = path.file_name().unwrap().to_string_lossy().into_owned();
                    (name, fs::read_to_string(path).unwrap())
                })
                .collect()
        }
    }

    #[test]
    fn what_a_killed_process_left_is_cleared_and_a_deletion_that_was_not_finished_is_undone() {
        let place = Place::new();
        place.leave(Leftover::SetAside, "old");
        place.leave(Leftover::Staged, "new");
        clear_all(&place.dir.path().join("locks"));
        assert_eq!(place.files(), [("a".to_owned(), "old".to_owned())]);
        place.leave(Leftover::SetAside, "older");
        clear_all(&place.dir.path().join("locks"));
        assert_eq!(place.files(), [("a".to_owned(), "old".to_owned())], "what came meanwhile stays");
        assert_eq!(fs::metadata(place.lock()).unwrap().len(), 0);
    }

    #[test]
    fn files_of_a_process_that_lives_are_left_alone() {
        let place = Place::new();
        place.leave(Leftover::Staged, "new");
        let held = File::open(place.lock()).unwrap();
        held.try_lock().unwrap();
        clear_all(&place.dir.path().join("locks"));
        assert_eq!(place.files().len(), 1);
        drop(held);
        clear_all(&place.dir.path().join("locks"));
        assert_eq!(place.files().len(), 0);
    }

    #[test]
    fn a_list_that_was_cut_anywhere_names_nothing_else() {
        let place = Place::new();
        place.leave(Leftover::Staged, "new");
        fs::write(place.dir.path().join("b"), "mine").unwrap();
        Leftover::Staged.note(&place.lock(), &place.dir.path().join("a"), OsStr::new("b"));
        let list = fs::read(place.lock()).unwrap();
        for cut in 0..=list.len() {
            fs::write(place.lock(), &list[..cut]).unwrap();
            clear_all(&place.dir.path().join("locks"));
            assert!(place.files().contains(&("b".to_owned(), "mine".to_owned())), "{cut}");
        }
        assert_eq!(place.files().len(), 1);
    }
}
