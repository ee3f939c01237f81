//! Temporary files of zdx beside the files they are for, and how those of a killed process are found again: each is named in
//! the lock file of its path before it exists, and whoever next gets that lock, or starts, clears up what is named there.
//! A lock that somebody holds is never looked into: its temporary files are in use.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, RenameFlags, renameat_with};
use rustix::io::Errno;

/// A lock file names a handful of files; more than this is no list of ours.
const LONGEST_LIST: u64 = 1 << 20;

/// Use of a temporary file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftoverFile {
    /// New content that has not come into its place.
    Staged,
    /// A file that was taken out of its place and was not deleted yet.
    SetAside,
    /// A copy, not complete yet, of a file that is to be written in place.
    Backup,
    /// The same copy, complete: the file is being written.
    Overwritten,
    /// Folders made for a file; what is named is how many, the nearest first.
    NewFolders,
}

pub fn temporary_name() -> OsString {
    OsString::from(format!(".zdx-{}.tmp", crate::random_id().simple()))
}

fn is_temporary_name(name: &OsStr) -> bool {
    let id = name.to_str().and_then(|name| name.strip_prefix(".zdx-")?.strip_suffix(".tmp"));
    id.is_some_and(|id| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

impl LeftoverFile {
    fn tag(self) -> &'static [u8] {
        match self {
            Self::Staged => b"staged",
            Self::SetAside => b"aside",
            Self::Backup => b"backup",
            Self::Overwritten => b"overwritten",
            Self::NewFolders => b"folders",
        }
    }

    fn of_tag(tag: &[u8]) -> Option<Self> {
        let all = [Self::Staged, Self::SetAside, Self::Backup, Self::Overwritten, Self::NewFolders];
        all.into_iter().find(|kind| kind.tag() == tag)
    }

    /// Names a temporary file in a lock file that this process holds. No reason to fail: it is needed after a crash only.
    pub fn note(self, lock_file: &Path, path: &Path, temporary: &OsStr) {
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

/// An entry of a list.
struct NamedLeftover<'a> {
    kind: LeftoverFile,
    path: &'a Path,
    temporary: &'a OsStr,
}

impl NamedLeftover<'_> {
    fn file(&self) -> Option<PathBuf> {
        let file = self.path.parent().filter(|_| is_temporary_name(self.temporary))?.join(self.temporary);
        file.symlink_metadata().is_ok_and(|found| found.is_file()).then_some(file)
    }

    /// Gives a file that was being written in place what it held before. One that is written to its end, or that somebody
    /// else has changed since, stays as it is. `staged` is the content it was being given.
    fn undo_overwrite(&self, staged: Option<PathBuf>) {
        let (Some(backup), Some(staged)) = (self.file(), staged) else { return };
        let read = |path: &Path| {
            let file = open_in_place(path, OFlags::RDONLY)?;
            let mut content = Vec::new();
            (&file).read_to_end(&mut content).map(|_| content)
        };
        let (Ok(old), Ok(new), Ok(now)) = (read(&backup), read(&staged), read(self.path)) else { return };
        let written = now.iter().zip(&new).take_while(|(now, new)| now == new).count();
        let is_unfinished = now != new && now[written..] == old[written.min(old.len())..];
        if is_unfinished {
            let put_back = open_in_place(self.path, OFlags::WRONLY).and_then(|mut file| {
                file.write_all(&old)?;
                file.set_len(old.len() as u64)?;
                file.sync_all()
            });
            if put_back.is_err() {
                // The copy is all there is now.
                return;
            }
        }
        let _ = std::fs::remove_file(backup);
    }

    fn remove_folders(&self) {
        let count = self.temporary.to_str().and_then(|count| count.parse().ok());
        remove_empty_folders(self.path.ancestors().skip(1).take(count.unwrap_or_default()));
    }
}

fn open_in_place(path: &Path, access: OFlags) -> io::Result<File> {
    let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(ErrorKind::InvalidInput.into()),
    }
}

/// The nearest first, up to one that something lies in.
pub fn remove_empty_folders<'a>(folders: impl Iterator<Item = &'a Path>) {
    for folder in folders {
        match std::fs::remove_dir(folder) {
            Ok(()) => {}
            // It was never made; the one around it may have been.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(_) => return,
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
pub fn clear_named(lock_file: &File) {
    if lock_file.metadata().is_ok_and(|found| found.len() == 0) {
        return;
    }
    let mut list = Vec::new();
    if lock_file.take(LONGEST_LIST).read_to_end(&mut list).is_err() {
        return;
    }
    clear_entries(&entries_of(&list));
    forget_named(lock_file);
}

fn entries_of(list: &[u8]) -> Vec<NamedLeftover<'_>> {
    let fields: Vec<&[u8]> = list.split(|byte| *byte == 0).collect();
    // What is behind the last separator was cut off while it was written: that file was never made.
    let entries = fields[..fields.len() - 1].chunks_exact(3);
    entries
        .filter_map(|fields| {
            Some(NamedLeftover {
                kind: LeftoverFile::of_tag(fields[0])?,
                path: Path::new(OsStr::from_bytes(fields[1])),
                temporary: OsStr::from_bytes(fields[2]),
            })
        })
        .collect()
}

fn clear_entries(entries: &[NamedLeftover<'_>]) {
    let of_kind = |kind| entries.iter().filter(move |entry| entry.kind == kind);
    // While the new content is still there.
    for entry in of_kind(LeftoverFile::Overwritten) {
        let staged = of_kind(LeftoverFile::Staged).filter(|staged| staged.path == entry.path);
        entry.undo_overwrite(staged.filter_map(NamedLeftover::file).next_back());
    }
    for entry in entries {
        let is_complete =
            || of_kind(LeftoverFile::Overwritten).any(|complete| complete.temporary == entry.temporary);
        match entry.kind {
            LeftoverFile::Staged | LeftoverFile::SetAside => entry.kind.clear(entry.path, entry.temporary),
            LeftoverFile::Backup if !is_complete() => entry.kind.clear(entry.path, entry.temporary),
            LeftoverFile::Backup | LeftoverFile::Overwritten | LeftoverFile::NewFolders => {}
        }
    }
    // When nothing of ours is in them any more.
    of_kind(LeftoverFile::NewFolders).for_each(NamedLeftover::remove_folders);
}

/// Empties the list of a lock file.
pub fn forget_named(lock_file: &File) {
    if lock_file.metadata().is_ok_and(|found| found.len() > 0) {
        let _ = lock_file.set_len(0);
    }
}

/// Clears up after all processes that were killed, of which the folder's lock files tell.
pub fn clear_all(locks: &Path) {
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
        fn leave(&self, kind: LeftoverFile, content: &str) {
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
        place.leave(LeftoverFile::SetAside, "old");
        place.leave(LeftoverFile::Staged, "new");
        clear_all(&place.dir.path().join("locks"));
        assert_eq!(place.files(), [("a".to_owned(), "old".to_owned())]);
        place.leave(LeftoverFile::SetAside, "older");
        clear_all(&place.dir.path().join("locks"));
        assert_eq!(place.files(), [("a".to_owned(), "old".to_owned())], "what came meanwhile stays");
        assert_eq!(fs::metadata(place.lock()).unwrap().len(), 0);
    }

    #[test]
    fn a_file_that_was_half_written_in_place_has_again_what_it_held() {
        let (old, new) = ("the old text", "NEW TEXT");
        for (there, complete, left) in [
            (old, false, old),
            (old, true, old),
            ("NEW old text", true, old),
            ("NEW TEXTtext", true, old),
            (new, true, new),
            ("by hand", true, "by hand"),
        ] {
            let place = Place::new();
            fs::write(place.dir.path().join("a"), there).unwrap();
            place.leave(LeftoverFile::Staged, new);
            let backup = temporary_name();
            LeftoverFile::Backup.note(&place.lock(), &place.dir.path().join("a"), &backup);
            fs::write(place.dir.path().join(&backup), if complete { old } else { "the o" }).unwrap();
            if complete {
                LeftoverFile::Overwritten.note(&place.lock(), &place.dir.path().join("a"), &backup);
            }
            clear_all(&place.dir.path().join("locks"));
            assert_eq!(place.files(), [("a".to_owned(), left.to_owned())], "{there}");
        }
    }

    #[test]
    fn folders_made_for_a_file_that_did_not_come_are_removed_where_they_are_empty() {
        let place = Place::new();
        let path = place.dir.path().join("kept/b/c/d/file");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let name = temporary_name();
        LeftoverFile::NewFolders.note(&place.lock(), &path, OsStr::new("3"));
        LeftoverFile::Staged.note(&place.lock(), &path, &name);
        fs::write(path.with_file_name(&name), "new").unwrap();
        clear_all(&place.dir.path().join("locks"));
        assert_eq!(fs::read_dir(place.dir.path().join("kept")).unwrap().count(), 0);
        fs::create_dir_all(place.dir.path().join("kept/b/c")).unwrap();
        fs::write(place.dir.path().join("kept/b/other"), "").unwrap();
        LeftoverFile::NewFolders.note(&place.lock(), &path, OsStr::new("3"));
        clear_all(&place.dir.path().join("locks"));
        assert!(
            place.dir.path().join("kept/b/other").exists() && !place.dir.path().join("kept/b/c").exists()
        );
    }

    #[test]
    fn files_of_a_process_that_lives_are_left_alone() {
        let place = Place::new();
        place.leave(LeftoverFile::Staged, "new");
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
        place.leave(LeftoverFile::Staged, "new");
        fs::write(place.dir.path().join("b"), "mine").unwrap();
        LeftoverFile::Staged.note(&place.lock(), &place.dir.path().join("a"), OsStr::new("b"));
        let list = fs::read(place.lock()).unwrap();
        for cut in 0..=list.len() {
            fs::write(place.lock(), &list[..cut]).unwrap();
            clear_all(&place.dir.path().join("locks"));
            assert!(place.files().contains(&("b".to_owned(), "mine".to_owned())), "{cut}");
        }
        assert_eq!(place.files().len(), 1);
    }
}
