//! Locks on paths, held from reading a file to replacing it: within this process by a table, between zdx processes by locked
//! files in zdx's own folder, or, where that cannot be, by the folders of the files. A lock must never be held while a person
//! is asked.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use super::leftover_files::{self, LeftoverFile};

/// The longest wait for somebody else's change of the same file.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time between two looks at a lock, and at whether the call was interrupted.
const STEP: Duration = Duration::from_millis(5);

/// The table is process-wide because files are: one process may serve several sessions.
static HELD: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
static RELEASED: Condvar = Condvar::new();

/// Who is kept from changing a locked file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockScope {
    /// Other calls of this process. For files that an editor writes for us: it may be a zdx that locks them itself.
    ThisProcess,
    /// Other zdx processes too.
    AllProcesses,
}

/// Shared by all workspaces of a session: where processes lock.
#[derive(Debug, Default)]
pub struct PathLocks {
    /// The folder of the lock files; none: only this process is locked out.
    dir: Option<PathBuf>,
    /// Names of the lock files that are held through this.
    held: Arc<Mutex<BTreeSet<String>>>,
    /// For temporary files of paths whose lock file is not held here.
    own_list: OnceLock<Option<OwnList>>,
    /// The first time that no lock file could be locked, in words for the user.
    weakness: OnceLock<String>,
    weakness_told: AtomicBool,
}

/// Why paths could not be locked. Nothing was touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathLockError {
    Busy(PathBuf),
    Interrupted,
}

/// Keeps everyone else from changing these paths until it is dropped.
#[derive(Debug)]
pub struct PathLockGuard {
    paths: BTreeSet<PathBuf>,
    files: Vec<(String, File)>,
    /// Held in place of lock files.
    folders: Vec<File>,
    held: Arc<Mutex<BTreeSet<String>>>,
}

/// A locked list of temporary files, there as long as its session is open.
#[derive(Debug)]
struct OwnList {
    path: PathBuf,
    _file: File,
}

impl OwnList {
    fn create(dir: &Path) -> Option<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(dir).ok()?;
        let path = dir.join(format!("{}.lock", crate::random_id().simple()));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).ok()?;
        if file.try_lock().is_ok() {
            return Some(Self { path, _file: file });
        }
        let _ = std::fs::remove_file(&path);
        None
    }
}

impl Drop for OwnList {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl PathLocks {
    /// Clears up after processes that were killed while they held locks there.
    pub fn in_folder(dir: PathBuf) -> Arc<Self> {
        leftover_files::clear_all(&dir);
        Arc::new(Self { dir: Some(dir), ..Self::default() })
    }

    /// Locks all of these resolved paths, or none. Everyone locks in the same order, so nobody waits for each other.
    pub fn lock(
        &self,
        scope: LockScope,
        paths: impl IntoIterator<Item = PathBuf>,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<PathLockGuard, PathLockError> {
        self.lock_within(PATIENCE, scope, paths, interrupted)
    }

    fn lock_within(
        &self,
        patience: Duration,
        scope: LockScope,
        paths: impl IntoIterator<Item = PathBuf>,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<PathLockGuard, PathLockError> {
        let until = Instant::now() + patience;
        let paths: BTreeSet<PathBuf> = paths.into_iter().collect();
        let mut held = table();
        while let Some(busy) = paths.iter().find(|path| held.contains(*path)) {
            give_up(busy, until, interrupted)?;
            held = RELEASED.wait_timeout(held, STEP).unwrap_or_else(PoisonError::into_inner).0;
        }
        held.extend(paths.iter().cloned());
        drop(held);
        let held = Arc::clone(&self.held);
        let mut guard = PathLockGuard { paths, files: Vec::new(), folders: Vec::new(), held };
        let (LockScope::AllProcesses, Some(dir)) = (scope, &self.dir) else { return Ok(guard) };
        if let Err(why) = guard.lock_files(dir, until, interrupted)? {
            guard.release_files();
            let folders = guard.lock_folders(until, interrupted)?;
            self.weakness.get_or_init(|| weakness(dir, &why, folders.err().as_ref()));
        }
        Ok(guard)
    }

    /// Returns, once, what the user should know where locks keep fewer processes out than they should.
    pub fn take_weakness(&self) -> Option<String> {
        let text = self.weakness.get()?;
        (!self.weakness_told.swap(true, Ordering::Relaxed)).then(|| text.clone())
    }

    /// Names a temporary file that is about to be made beside a path that this process has locked.
    pub fn name_temporary(&self, path: &Path, temporary: &OsStr, kind: LeftoverFile) {
        let Some(dir) = &self.dir else { return };
        let name = lock_name(path);
        if self.held.lock().unwrap_or_else(PoisonError::into_inner).contains(&name) {
            return kind.note(&dir.join(name), path, temporary);
        }
        // Whoever gets that lock would take the temporary file for one of a killed process.
        if let Some(own) = self.own_list.get_or_init(|| OwnList::create(dir)) {
            kind.note(&own.path, path, temporary);
        }
    }
}

impl PathLockGuard {
    /// The inner error says why lock files cannot be used here.
    fn lock_files(
        &mut self,
        dir: &Path,
        until: Instant,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<io::Result<()>, PathLockError> {
        if let Err(error) = DirBuilder::new().recursive(true).mode(0o700).create(dir) {
            return Ok(Err(error));
        }
        // Two paths may share a file, which one open file must lock once.
        let by_name: BTreeMap<String, PathBuf> =
            self.paths.iter().map(|path| (lock_name(path), path.clone())).collect();
        for (name, path) in by_name {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false).mode(0o600);
            let file = match options.open(dir.join(&name)) {
                Ok(file) => file,
                Err(error) => return Ok(Err(error)),
            };
            if let Err(error) = wait_for(&file, &path, until, interrupted)? {
                return Ok(Err(error));
            }
            leftover_files::clear_named(&file);
            self.held.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone());
            self.files.push((name, file));
        }
        Ok(Ok(()))
    }

    /// Locks the folders that the paths lie in, which needs no leave to write anywhere.
    fn lock_folders(
        &mut self,
        until: Instant,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<io::Result<()>, PathLockError> {
        loop {
            let folders = self.existing_folders();
            let mut locked = BTreeSet::new();
            for (folder, path) in &folders {
                let opened = File::open(folder).and_then(|file| Ok((file.metadata()?, file)));
                let (found, file) = match opened {
                    Ok(opened) => opened,
                    Err(error) => return Ok(Err(error)),
                };
                // One folder may be mounted in two places.
                if !locked.insert((found.dev(), found.ino())) {
                    continue;
                }
                if let Err(error) = wait_for(&file, path, until, interrupted)? {
                    return Ok(Err(error));
                }
                self.folders.push(file);
            }
            // The holder of one may have made the folder that counts now.
            if folders == self.existing_folders() {
                return Ok(Ok(()));
            }
            self.release_files();
        }
    }

    /// The nearest folder that exists of each path, with one of its paths.
    fn existing_folders(&self) -> BTreeMap<PathBuf, PathBuf> {
        let nearest = |path: &PathBuf| {
            let folder = path.ancestors().skip(1).find(|folder| folder.is_dir())?;
            Some((folder.to_owned(), path.clone()))
        };
        self.paths.iter().filter_map(nearest).collect()
    }

    fn release_files(&mut self) {
        for (name, file) in self.files.drain(..) {
            self.held.lock().unwrap_or_else(PoisonError::into_inner).remove(&name);
            leftover_files::forget_named(&file);
            // Closing is not enough: a child that is being started shares the open file until it runs its program.
            let _ = file.unlock();
        }
        for folder in self.folders.drain(..) {
            let _ = folder.unlock();
        }
    }
}

impl Drop for PathLockGuard {
    fn drop(&mut self) {
        self.release_files();
        let mut held = table();
        held.retain(|path| !self.paths.contains(path));
        RELEASED.notify_all();
    }
}

fn table() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

fn give_up(path: &Path, until: Instant, interrupted: &dyn Fn() -> bool) -> Result<(), PathLockError> {
    match (interrupted(), Instant::now() >= until) {
        (true, _) => Err(PathLockError::Interrupted),
        (false, true) => Err(PathLockError::Busy(path.to_owned())),
        (false, false) => Ok(()),
    }
}

/// The inner error is that of a file system that has no locks.
fn wait_for(
    file: &File,
    path: &Path,
    until: Instant,
    interrupted: &dyn Fn() -> bool,
) -> Result<io::Result<()>, PathLockError> {
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Ok(())),
            Err(TryLockError::Error(error)) => return Ok(Err(error)),
            Err(TryLockError::WouldBlock) => {
                give_up(path, until, interrupted)?;
                std::thread::sleep(STEP);
            }
        }
    }
}

fn weakness(dir: &Path, why: &io::Error, folders: Option<&io::Error>) -> String {
    let dir = dir.display();
    match folders {
        None => format!(
            "files cannot be locked in {dir} ({why}): the folder of each file is locked instead. If a zdx that can lock \
             there changes the same file at the same moment, an edit may be lost"
        ),
        Some(error) => format!(
            "files cannot be locked, neither in {dir} ({why}) nor by their folder ({error}): if another zdx changes the same \
             file at the same moment, an edit may be lost"
        ),
    }
}

/// One of 256 names, so that the folder does not grow with every file that was ever changed.
fn lock_name(path: &Path) -> String {
    let hash = Sha256::digest(path.as_os_str().as_bytes());
    format!("{:02x}.lock", hash[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(30);

    fn never() -> bool {
        false
    }

    #[test]
    fn a_locked_path_is_busy_until_it_is_released() {
        let dir = tempfile::tempdir().unwrap();
        let locks = PathLocks::default();
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        let guard = locks.lock(LockScope::AllProcesses, [b.clone(), a.clone(), a.clone()], &never).unwrap();
        let busy = locks.lock_within(SOON, LockScope::AllProcesses, [a.clone()], &never).unwrap_err();
        assert_eq!(busy, PathLockError::Busy(a.clone()));
        assert_eq!(
            locks.lock(LockScope::AllProcesses, [a.clone()], &|| true).unwrap_err(),
            PathLockError::Interrupted
        );
        assert!(locks.lock_within(SOON, LockScope::AllProcesses, [dir.path().join("c")], &never).is_ok());
        drop(guard);
        assert!(locks.lock_within(SOON, LockScope::AllProcesses, [a, b], &never).is_ok());
    }

    /// Another process is somebody who holds the file and is not in the table.
    #[test]
    fn what_another_process_locked_is_busy() {
        let dir = tempfile::tempdir().unwrap();
        let locks = PathLocks::in_folder(dir.path().join("locks"));
        let path = dir.path().join("a");
        drop(locks.lock(LockScope::AllProcesses, [path.clone()], &never).unwrap());
        let theirs = File::open(dir.path().join("locks").join(lock_name(&path))).unwrap();
        theirs.try_lock().unwrap();
        let busy = locks.lock_within(SOON, LockScope::AllProcesses, [path.clone()], &never).unwrap_err();
        assert_eq!(busy, PathLockError::Busy(path.clone()));
        drop(theirs);
        let ours = locks.lock_within(SOON, LockScope::AllProcesses, [path.clone()], &never).unwrap();
        let theirs = File::open(dir.path().join("locks").join(lock_name(&path))).unwrap();
        assert!(theirs.try_lock().is_err(), "ours keeps others out");
        drop(ours);
        theirs.try_lock().unwrap();
        assert!(locks.lock_within(SOON, LockScope::ThisProcess, [path], &never).is_ok());
    }

    #[test]
    fn where_no_lock_file_can_be_made_the_folder_is_locked_and_the_user_is_told_once() {
        let dir = tempfile::tempdir().unwrap();
        // A folder cannot be made below a file, whoever asks.
        std::fs::write(dir.path().join("home"), "").unwrap();
        let locks = PathLocks::in_folder(dir.path().join("home/locks"));
        let paths = [dir.path().join("a"), dir.path().join("new/b")];
        assert_eq!(locks.take_weakness(), None);
        let guard = locks.lock(LockScope::AllProcesses, paths.clone(), &never).unwrap();
        assert!(File::open(dir.path()).unwrap().try_lock().is_err(), "ours keeps others out");
        drop(guard);
        let theirs = File::open(dir.path()).unwrap();
        theirs.try_lock().unwrap();
        let busy = locks.lock_within(SOON, LockScope::AllProcesses, paths, &never).unwrap_err();
        assert_eq!(busy, PathLockError::Busy(dir.path().join("new/b")));
        assert!(locks.take_weakness().unwrap().contains("the folder of each file is locked instead"));
        assert_eq!(locks.take_weakness(), None);
    }

    /// The process that made the missing folder held the one above it.
    #[test]
    fn a_folder_that_came_while_its_parent_was_locked_is_the_one_that_is_locked() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("home"), "").unwrap();
        let locks = PathLocks::in_folder(dir.path().join("home/locks"));
        let path = dir.path().join("new/b");
        let theirs = File::open(dir.path()).unwrap();
        theirs.try_lock().unwrap();
        let folder = dir.path().join("new");
        let release = || {
            // Asked while it waits.
            std::fs::create_dir_all(&folder).unwrap();
            theirs.unlock().unwrap();
            false
        };
        let guard = locks.lock(LockScope::AllProcesses, [path], &release).unwrap();
        assert!(File::open(&folder).unwrap().try_lock().is_err());
        assert!(File::open(dir.path()).unwrap().try_lock().is_ok());
        drop(guard);
    }

    #[test]
    fn a_temporary_file_is_never_taken_for_that_of_a_killed_process_while_its_maker_lives() {
        let dir = tempfile::tempdir().unwrap();
        let (path, folder) = (dir.path().join("a"), dir.path().join("locks"));
        let locks = PathLocks::in_folder(folder.clone());
        let stage = || {
            let name = leftover_files::temporary_name();
            locks.name_temporary(&path, &name, LeftoverFile::Staged);
            let staged = dir.path().join(name);
            std::fs::write(&staged, "new").unwrap();
            staged
        };
        // Without the lock of its path it is in nobody's way: another process locks that meanwhile.
        let unlocked = stage();
        drop(
            PathLocks::in_folder(folder.clone())
                .lock(LockScope::AllProcesses, [path.clone()], &never)
                .unwrap(),
        );
        assert!(unlocked.exists());
        let guard = locks.lock(LockScope::AllProcesses, [path.clone()], &never).unwrap();
        let locked = stage();
        leftover_files::clear_all(&folder);
        assert!(locked.exists() && unlocked.exists());
        drop(guard);
        drop(locks);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "its own list goes with it");
    }
}
