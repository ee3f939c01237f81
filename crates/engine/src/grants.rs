//! What a person allowed for good: per project in zdx's own home, keyed by root. What a grant covers is what was shown,
//! as [`zdx_guard::grant_key`] and [`zdx_guard::wider_grant`] spell it, and nothing wider.
//! (The field says remembered approvals, "always allow".)

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use zdx_protocol::{GrantScope, Granting};

use zdx_workspace::own_files::{ensure_dir, lock_beside, read_regular};

/// More than anybody answers questions; a file beyond it is not ours.
const FILE_LIMIT: usize = 4 << 20;

#[derive(Debug, thiserror::Error)]
pub enum GrantError {
    #[error("cannot read {}: {why}; move it away to start anew", path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error("{} cannot be remembered: its name is not valid UTF-8; the grant holds for this session only", root.display())]
    Unnamed { root: PathBuf },
    #[error("cannot write {}: {source}; the grant holds for this session only", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Book {
    /// Root to grants. Roots are kept as text: a grant is for people to read.
    projects: BTreeMap<String, Vec<String>>,
}

/// The file all projects' grants are in.
#[derive(Clone, Debug)]
pub struct GrantStore {
    path: PathBuf,
}

impl GrantStore {
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    pub fn of(&self, root: &Path) -> Result<Vec<String>, GrantError> {
        let mut projects = self.read()?.projects;
        Ok(root.to_str().and_then(|root| projects.remove(root)).unwrap_or_default())
    }

    pub fn all(&self) -> Result<BTreeMap<String, Vec<String>>, GrantError> {
        Ok(self.read()?.projects)
    }

    pub fn add(&self, root: &Path, grant: &str) -> Result<(), GrantError> {
        // Another root might look the same as text.
        let name = root.to_str().ok_or_else(|| GrantError::Unnamed { root: root.to_owned() })?;
        self.change(|book| {
            let grants = book.projects.entry(name.to_owned()).or_default();
            grants.retain(|known| known == grant || !Granting::of(known).is_replaced_by(Granting::of(grant)));
            if !grants.iter().any(|known| known == grant) {
                grants.push(grant.to_owned());
            }
        })
    }

    /// Puts a grant in the place of others.
    pub fn replace(&self, root: &Path, old: impl Fn(&str) -> bool, grant: &str) -> Result<(), GrantError> {
        let name = root.to_str().ok_or_else(|| GrantError::Unnamed { root: root.to_owned() })?;
        self.change(|book| {
            let grants = book.projects.entry(name.to_owned()).or_default();
            grants.retain(|known| !old(known));
            grants.push(grant.to_owned());
        })
    }

    /// Takes back one grant, or with `None` all of a project. Says how many went.
    pub fn revoke(&self, root: &Path, grant: Option<&str>) -> Result<usize, GrantError> {
        let Some(name) = root.to_str().filter(|_| self.path.exists()) else { return Ok(0) };
        self.change(|book| {
            let Some(grants) = book.projects.get_mut(name) else { return 0 };
            let before = grants.len();
            grants.retain(|known| grant.is_some_and(|grant| known != grant));
            let gone = before - grants.len();
            if grants.is_empty() {
                book.projects.remove(name);
            }
            gone
        })
    }

    /// Read, changed and written as one step: two sessions that are answered at once must not undo each other, least of
    /// all what was taken back.
    fn change<T>(&self, change: impl FnOnce(&mut Book) -> T) -> Result<T, GrantError> {
        let failed = |source| GrantError::Unwritable { path: self.path.clone(), source };
        ensure_dir(self.path.parent().unwrap_or(Path::new("."))).map_err(failed)?;
        let _lock = lock_beside(&self.path).map_err(failed)?;
        let mut book = self.read()?;
        let result = change(&mut book);
        self.write(&book).map_err(failed)?;
        Ok(result)
    }

    fn read(&self) -> Result<Book, GrantError> {
        let fail = |why: String| GrantError::Unreadable { path: self.path.clone(), why };
        match read_regular(&self.path, FILE_LIMIT) {
            Ok(file) if file.cut => Err(fail("it is too large".to_owned())),
            Ok(file) => serde_json::from_slice(&file.bytes).map_err(|error| fail(error.to_string())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Book::default()),
            Err(error) => Err(fail(error.to_string())),
        }
    }

    fn write(&self, book: &Book) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        // Made with mode 0600; a reader sees the old file or the new one, never half of it.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&serde_json::to_vec_pretty(book)?)?;
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        Ok(())
    }
}

/// What holds in a running session: shared with the agents that work for it, and never older than the file.
#[derive(Clone, Debug)]
pub(crate) struct Granted {
    session: Arc<Mutex<HashSet<String>>>,
    store: GrantStore,
}

impl Granted {
    pub(crate) fn new(session: &[String], store: GrantStore) -> Self {
        Self { session: Arc::new(Mutex::new(session.iter().cloned().collect())), store }
    }

    /// What was revoked elsewhere meanwhile is gone; a file that cannot be read grants nothing.
    pub(crate) fn now(&self, root: &Path) -> HashSet<String> {
        let mut granted = self.session().clone();
        granted.extend(self.store.of(root).unwrap_or_default());
        granted
    }

    /// What holds for the session alone, and what for every session here, in order.
    pub(crate) fn by_scope(&self, root: &Path) -> (Vec<String>, Vec<String>) {
        let mut session: Vec<String> = self.session().iter().cloned().collect();
        session.sort_unstable();
        (session, self.store.of(root).unwrap_or_default())
    }

    /// For the session by the record of the answer; for the project in zdx's own home. What cannot be kept there holds
    /// for the session.
    pub(crate) fn remember(&self, root: &Path, grant: &str, scope: GrantScope) -> Result<(), GrantError> {
        let kept = match scope {
            GrantScope::Session => None,
            GrantScope::Project => Some(self.store.add(root, grant)),
        };
        match kept {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => {
                self.insert(grant);
                Err(error)
            }
            None => {
                self.insert(grant);
                Ok(())
            }
        }
    }

    /// Puts a grant for the project in the place of others. Unlike `remember`, it holds only where it can be kept.
    pub(crate) fn replace(
        &self,
        root: &Path,
        old: impl Fn(&str) -> bool,
        grant: &str,
    ) -> Result<(), GrantError> {
        self.store.replace(root, old, grant)
    }

    fn insert(&self, grant: &str) {
        let mut session = self.session();
        session.retain(|known| !Granting::of(known).is_replaced_by(Granting::of(grant)));
        session.insert(grant.to_owned());
    }

    /// Takes back what is meant, wherever it holds, and says what that was.
    pub(crate) fn revoke(
        &self,
        root: &Path,
        meant: impl Fn(&str) -> bool,
    ) -> Result<Vec<String>, GrantError> {
        let (session, project) = (self.session().clone(), self.store.of(root)?);
        let mut gone: Vec<String> = session.into_iter().chain(project).filter(|grant| meant(grant)).collect();
        gone.sort_unstable();
        gone.dedup();
        for grant in &gone {
            self.session().remove(grant);
            self.store.revoke(root, Some(grant))?;
        }
        Ok(gone)
    }

    fn session(&self) -> MutexGuard<'_, HashSet<String>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_are_kept_by_project_and_taken_back() {
        let dir = tempfile::tempdir().unwrap();
        let store = GrantStore::new(dir.path().join("home/grants.json"));
        let (a, b) = (Path::new("/a"), Path::new("/b"));
        store.add(a, "bash cargo test").unwrap();
        store.add(a, "bash cargo test").unwrap();
        store.add(a, "write /a/x").unwrap();
        store.add(b, "bash make").unwrap();
        assert_eq!(store.of(a).unwrap(), ["bash cargo test", "write /a/x"]);
        assert_eq!(store.revoke(a, Some("write /a/x")).unwrap(), 1);
        assert_eq!(store.revoke(a, Some("write /a/x")).unwrap(), 0);
        assert_eq!(store.of(a).unwrap(), ["bash cargo test"]);
        assert_eq!(store.revoke(b, None).unwrap(), 1);
        assert_eq!(store.all().unwrap().len(), 1);
    }

    #[test]
    fn a_family_that_is_granted_anew_takes_the_place_of_its_older_grant() {
        let dir = tempfile::tempdir().unwrap();
        let store = GrantStore::new(dir.path().join("grants.json"));
        let root = Path::new("/a");
        let (old, elsewhere) = ("every cargo test #1 Cargo.toml .", "every cargo test #1 Cargo.toml web");
        for grant in ["every cargo test", "every cargo check", old, elsewhere] {
            store.add(root, grant).unwrap();
        }
        let new = "every cargo test #2 Cargo.toml .";
        store.add(root, new).unwrap();
        assert_eq!(store.of(root).unwrap(), ["every cargo check", elsewhere, new]);
        let granted = Granted::new(&[old.to_owned()], GrantStore::new(dir.path().join("none.json")));
        granted.remember(root, new, GrantScope::Session).unwrap();
        assert_eq!(granted.by_scope(root).0, [new]);
    }

    #[test]
    fn a_damaged_file_is_an_error_and_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("grants.json");
        std::fs::write(&path, "{ half").unwrap();
        let store = GrantStore::new(path.clone());
        assert!(matches!(store.add(Path::new("/a"), "x"), Err(GrantError::Unreadable { .. })));
        assert_eq!(std::fs::read_to_string(path).unwrap(), "{ half");
    }

    #[test]
    fn writers_at_once_lose_nothing_and_bring_nothing_back() {
        let dir = tempfile::tempdir().unwrap();
        let store = GrantStore::new(dir.path().join("grants.json"));
        let root = Path::new("/a");
        (0..20).for_each(|n| store.add(root, &format!("old {n}")).unwrap());
        std::thread::scope(|scope| {
            for worker in 0..4 {
                let store = store.clone();
                scope.spawn(move || {
                    for n in 0..5 {
                        store.add(root, &format!("new {worker} {n}")).unwrap();
                        assert_eq!(store.revoke(root, Some(&format!("old {}", worker * 5 + n))).unwrap(), 1);
                    }
                });
            }
        });
        let left = store.of(root).unwrap();
        assert!(left.len() == 20 && left.iter().all(|grant| grant.starts_with("new")), "{left:?}");
    }

    #[test]
    fn a_root_that_is_no_text_has_no_grants() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        let dir = tempfile::tempdir().unwrap();
        let store = GrantStore::new(dir.path().join("grants.json"));
        assert!(store.add(Path::new(OsStr::from_bytes(b"/r\xff")), "x").is_err());
        store.add(Path::new("/r\u{fffd}"), "x").unwrap();
        assert!(store.of(Path::new(OsStr::from_bytes(b"/r\xfe"))).unwrap().is_empty());
    }
}
