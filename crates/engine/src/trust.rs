//! What may a project's files change? Nothing but to tighten, until the user trusts their exact content.
//! Reads those files once, says what they want, and remembers what was trusted; runs and grants nothing itself.

mod library;
mod store;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::config::{ConfigBytes, ConfigError, read_project};
use crate::library::Places;
use crate::paths::Paths;

pub use store::{Entry, TrustError, TrustStore};
pub use zdx_protocol::{Standing, Want};

/// One line for somebody who was not asked.
pub fn notice(wants: &[Want], standing: Standing) -> Option<String> {
    const NAMED: usize = 6;
    if wants.is_empty() {
        return None;
    }
    let named: Vec<String> = wants
        .iter()
        .take(NAMED)
        .map(|want| format!("{} ({}:{})", want.key, want.file.display(), want.line))
        .collect();
    let more = match wants.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let why = match standing {
        Standing::Changed => "because these files changed since you trusted them",
        Standing::Unknown | Standing::Trusted => "because you have not trusted this project",
    };
    Some(format!("ignored, {why}: {}{more}; run zdx trust to see and decide", named.join(", ")))
}

/// The hash of one file, or of all that a project wants trusted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Digest([u8; 32]);

impl Digest {
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A project's files as far as trust is concerned: its configuration, and what of its commands and agents asks for
/// more than to be read. Read once; what was hashed is what is handed on.
#[derive(Debug)]
pub struct Project {
    root: PathBuf,
    config: Option<ConfigBytes>,
    /// By path relative to the root.
    files: BTreeMap<PathBuf, Digest>,
    wants: Vec<Want>,
    notices: Vec<String>,
}

impl Project {
    /// `root` is canonical. A file that a link leads to from outside is left out, with a notice.
    pub fn read(paths: &Paths, root: &Path) -> Result<Self, ConfigError> {
        let mut notices = Vec::new();
        let config = match read_project(paths, root) {
            Err(error @ ConfigError::Outside { .. }) => {
                notices.push(format!("ignored: {error}"));
                None
            }
            config => config?,
        };
        let mut files = BTreeMap::new();
        if let Some(config) = &config {
            files.insert(relative(root, &config.file), Digest::of(&config.bytes));
        }
        let mut project = Self { root: root.to_owned(), config, files, wants: Vec::new(), notices };
        library::scan(&mut project, &Places::new(root, paths).of_the_project());
        Ok(project)
    }

    /// The configuration file, for `config::resolve`.
    pub fn config(&self) -> Option<&ConfigBytes> {
        self.config.as_ref()
    }

    /// What commands and agents want; what the configuration wants is known once it is resolved.
    pub fn wants(&self) -> &[Want] {
        &self.wants
    }

    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Over the sorted paths and contents of all files concerned.
    pub fn digest(&self) -> Digest {
        digest_of(&self.files)
    }

    /// What is trusted when the user trusts this project as it is.
    pub fn trusted_files(&self) -> TrustedFiles {
        TrustedFiles { root: self.root.clone(), files: self.files.clone() }
    }
}

fn digest_of(files: &BTreeMap<PathBuf, Digest>) -> Digest {
    let mut hash = Sha256::new();
    for (path, digest) in files {
        let path = path.as_os_str().as_encoded_bytes();
        // The length keeps a path from running into what follows it.
        hash.update((path.len() as u64).to_le_bytes());
        hash.update(path);
        hash.update(digest.0);
    }
    Digest(hash.finalize().into())
}

fn relative(root: &Path, path: &Path) -> PathBuf {
    path.strip_prefix(root).unwrap_or(path).to_owned()
}

/// Which contents the user trusts. Empty where nothing is trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedFiles {
    root: PathBuf,
    files: BTreeMap<PathBuf, Digest>,
}

impl TrustedFiles {
    /// Of all of them together.
    pub fn digest(&self) -> Digest {
        digest_of(&self.files)
    }

    /// Whether this exact content of this file is trusted. To be asked about the very bytes that will be used: the file
    /// may have changed since the user was asked.
    pub fn covers(&self, path: &Path, content: &Digest) -> bool {
        self.files.get(&relative(&self.root, path)) == Some(content)
    }
}
