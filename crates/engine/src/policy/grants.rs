//! What a person allowed for good: per project in zdx's own home, keyed by root. A grant covers exactly the
//! normalised command or path that was shown, as [`grant_key`](super::grant_key) spells it, and nothing wider.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::paths::{ensure_dir, read_regular};

/// More than anybody answers questions; a file beyond it is not ours.
const FILE_LIMIT: usize = 4 << 20;

#[derive(Debug, thiserror::Error)]
pub enum GrantError {
    #[error("cannot read {}: {why}; move it away to start anew", path.display())]
    Unreadable { path: PathBuf, why: String },
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
        Ok(self.read()?.projects.remove(&name(root)).unwrap_or_default())
    }

    pub fn all(&self) -> Result<BTreeMap<String, Vec<String>>, GrantError> {
        Ok(self.read()?.projects)
    }

    pub fn add(&self, root: &Path, grant: &str) -> Result<(), GrantError> {
        let mut book = self.read()?;
        let grants = book.projects.entry(name(root)).or_default();
        if grants.iter().any(|known| known == grant) {
            return Ok(());
        }
        grants.push(grant.to_owned());
        self.write(&book)
    }

    /// Takes back one grant, or with `None` all of a project. Says how many went.
    pub fn revoke(&self, root: &Path, grant: Option<&str>) -> Result<usize, GrantError> {
        let mut book = self.read()?;
        let Some(grants) = book.projects.get_mut(&name(root)) else { return Ok(0) };
        let before = grants.len();
        grants.retain(|known| grant.is_some_and(|grant| known != grant));
        let gone = before - grants.len();
        if grants.is_empty() {
            book.projects.remove(&name(root));
        }
        if gone > 0 {
            self.write(&book)?;
        }
        Ok(gone)
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

    fn write(&self, book: &Book) -> Result<(), GrantError> {
        self.replace(book).map_err(|source| GrantError::Unwritable { path: self.path.clone(), source })
    }

    fn replace(&self, book: &Book) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        ensure_dir(folder)?;
        // Made with mode 0600; a reader sees the old file or the new one, never half of it.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&serde_json::to_vec_pretty(book)?)?;
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        Ok(())
    }
}

fn name(root: &Path) -> String {
    root.to_string_lossy().into_owned()
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
    fn a_damaged_file_is_an_error_and_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("grants.json");
        std::fs::write(&path, "{ half").unwrap();
        let store = GrantStore::new(path.clone());
        assert!(matches!(store.add(Path::new("/a"), "x"), Err(GrantError::Unreadable { .. })));
        assert_eq!(std::fs::read_to_string(path).unwrap(), "{ half");
    }
}
