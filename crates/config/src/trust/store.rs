//! Which projects the user trusts, and with what content: one private JSON file, replaced as a whole.
//! A damaged file trusts nothing and is never written over.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use zdx_protocol::{Standing, path_text};

use super::{ContentHash, TrustedFiles};
use zdx_workspace::own_files::{ensure_dir, lock_beside, read_regular};

const VERSION: u32 = 1;
const LARGEST_FILE: usize = 8 << 20;

#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error("cannot use {path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path} is damaged ({why}), so no project is trusted; move it away and trust your projects anew")]
    Damaged { path: PathBuf, why: String },
    #[error("another zdx is writing {path}; try again")]
    Busy { path: PathBuf },
    #[error("{root} cannot be remembered: its name is not valid UTF-8; use --trust for single runs")]
    Unnamed { root: PathBuf },
}

/// One trusted project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustEntry {
    pub root: PathBuf,
    pub digest: String,
    pub at: Timestamp,
    /// Every file that is part of it with its hash, by path from the root; empty where that was not kept.
    pub files: BTreeMap<PathBuf, String>,
}

#[derive(Serialize, Deserialize)]
struct StoredTrust {
    version: u32,
    /// By canonical root.
    projects: BTreeMap<String, TrustedProject>,
}

#[derive(Serialize, Deserialize)]
struct TrustedProject {
    digest: String,
    at: Timestamp,
    /// Which files with which content: tells what changed. Only `digest` decides.
    #[serde(default)]
    files: BTreeMap<String, String>,
}

pub struct TrustStore {
    file: PathBuf,
}

impl TrustStore {
    /// `file` is `Paths::trust_file`.
    pub fn new(file: PathBuf) -> Self {
        Self { file }
    }

    pub fn status(&self, root: &Path, digest: &ContentHash) -> Result<Standing, TrustError> {
        let stored = self.read()?;
        let known = root.to_str().and_then(|root| stored.projects.get(root));
        Ok(match known {
            Some(trusted) if trusted.digest == digest.to_string() => Standing::Trusted,
            Some(_) => Standing::Changed,
            None => Standing::Unknown,
        })
    }

    /// Files that are new, gone or other than when the project was trusted; nothing where that is not known.
    pub fn changed(&self, root: &Path, project: &TrustedFiles) -> Result<Vec<PathBuf>, TrustError> {
        let stored = self.read()?;
        let Some(known) = root.to_str().and_then(|root| stored.projects.get(root)) else {
            return Ok(Vec::new());
        };
        if known.files.is_empty() {
            return Ok(Vec::new());
        }
        let now = project.files.iter().map(|(path, digest)| (path, digest.to_string()));
        let name = path_text::encode;
        let mut changed: Vec<PathBuf> = now
            .filter(|(path, digest)| known.files.get(&*name(path)) != Some(digest))
            .map(|(path, _)| path.clone())
            .collect();
        let known = known.files.keys().map(|path| path_text::decode(path));
        changed.extend(known.filter(|path| !project.files.contains_key(path)));
        changed.sort();
        Ok(changed)
    }

    pub fn trust(&self, root: &Path, project: &TrustedFiles) -> Result<(), TrustError> {
        let name = root.to_str().ok_or_else(|| TrustError::Unnamed { root: root.to_owned() })?.to_owned();
        let file = |(path, digest): (&PathBuf, &ContentHash)| {
            (path_text::encode(path).into_owned(), digest.to_string())
        };
        let files = project.files.iter().map(file).collect();
        let at = zdx_protocol::record::now();
        let trusted = TrustedProject { digest: project.digest().to_string(), at, files };
        self.change(|stored| {
            stored.projects.insert(name, trusted);
        })
    }

    /// Whether there was anything to take back.
    pub fn revoke(&self, root: &Path) -> Result<bool, TrustError> {
        let Some(name) = root.to_str().filter(|_| self.file.exists()) else { return Ok(false) };
        self.change(|stored| stored.projects.remove(name).is_some())
    }

    pub fn list(&self) -> Result<Vec<TrustEntry>, TrustError> {
        let entry = |(root, trusted): (String, TrustedProject)| TrustEntry {
            root: root.into(),
            digest: trusted.digest,
            at: trusted.at,
            files: trusted.files.into_iter().map(|(path, hash)| (path_text::decode(&path), hash)).collect(),
        };
        Ok(self.read()?.projects.into_iter().map(entry).collect())
    }

    fn read(&self) -> Result<StoredTrust, TrustError> {
        let read = match read_regular(&self.file, LARGEST_FILE) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(StoredTrust { version: VERSION, projects: BTreeMap::new() });
            }
            Err(source) => return Err(self.failed(source)),
        };
        let damaged = |why: String| TrustError::Damaged { path: self.file.clone(), why };
        if read.cut {
            return Err(damaged("it is larger than 8 MiB".to_owned()));
        }
        let stored: StoredTrust =
            serde_json::from_slice(&read.bytes).map_err(|error| damaged(error.to_string()))?;
        match stored.version {
            VERSION => Ok(stored),
            other => Err(damaged(format!("version {other} is not known"))),
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut StoredTrust) -> T) -> Result<T, TrustError> {
        if let Some(dir) = self.file.parent() {
            ensure_dir(dir).map_err(|source| self.failed(source))?;
        }
        // Released when it is closed.
        let _lock = self.lock()?;
        let mut stored = self.read()?;
        let result = change(&mut stored);
        self.write(&stored).map_err(|source| self.failed(source))?;
        Ok(result)
    }

    fn lock(&self) -> Result<File, TrustError> {
        lock_beside(&self.file).map_err(|source| match source.kind() {
            io::ErrorKind::WouldBlock => TrustError::Busy { path: self.file.clone() },
            _ => self.failed(source),
        })
    }

    fn write(&self, stored: &StoredTrust) -> io::Result<()> {
        let dir = self.file.parent().unwrap_or(Path::new("/"));
        // Made with mode 0600.
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        file.write_all(&serde_json::to_vec_pretty(stored)?)?;
        file.as_file().sync_all()?;
        file.persist(&self.file)?;
        Ok(())
    }

    fn failed(&self, source: io::Error) -> TrustError {
        TrustError::Io { path: self.file.clone(), source }
    }
}
