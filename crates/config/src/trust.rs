//! Which contents of a project's files the user trusts: their hashes, the file that remembers them, and the words for
//! what is left out meanwhile. Reads no project's file and grants nothing itself.

mod named_files;
mod runners;
mod store;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use zdx_protocol::{Standing, Want};

pub use named_files::PinnedCommand;
pub use named_files::{CommandSource, named_files};
pub use store::TrustError;
pub use store::{TrustEntry, TrustStore};
pub use zdx_workspace::ContentHash;

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

/// Which contents the user trusts. Empty where nothing is trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedFiles {
    root: PathBuf,
    /// By path relative to the root.
    files: BTreeMap<PathBuf, ContentHash>,
}

impl TrustedFiles {
    pub fn none_of(root: &Path) -> Self {
        Self { root: root.to_owned(), files: BTreeMap::new() }
    }

    /// The file's path from the root.
    pub fn add(&mut self, path: &Path, content: ContentHash) -> PathBuf {
        let relative = self.relative(path).to_owned();
        self.files.insert(relative.clone(), content);
        relative
    }

    /// Adds the files that a command names; of a file that is part of it already, the bytes that were read count.
    pub fn add_named(&mut self, command: &CommandSource) {
        for (path, content) in named_files(&self.root, command) {
            self.files.entry(path).or_insert(content);
        }
    }

    /// Binds a command to the trusted content of the files that it names.
    pub fn pin(&self, command: CommandSource) -> PinnedCommand {
        PinnedCommand::new(self.clone(), command)
    }

    /// Returns what keeps a yes from being remembered: commands of which nobody can tell which files they run.
    pub fn unresolved(&self) -> impl Iterator<Item = &Path> {
        let hash = named_files::unresolved_hash();
        self.files.iter().filter(move |(_, content)| **content == hash).map(|(path, _)| path.as_path())
    }

    /// Over the sorted paths and contents of all of them.
    pub fn digest(&self) -> ContentHash {
        let mut listed = Vec::new();
        for (path, digest) in &self.files {
            let path = path.as_os_str().as_encoded_bytes();
            // The length keeps a path from running into what follows it.
            listed.extend((path.len() as u64).to_le_bytes());
            listed.extend(path);
            listed.extend(digest.as_bytes());
        }
        ContentHash::of(&listed)
    }

    /// Whether this exact content of this file is trusted. To be asked about the very bytes that will be used: the file
    /// may have changed since the user was asked.
    pub fn covers(&self, path: &Path, content: &ContentHash) -> bool {
        self.files.get(self.relative(path)) == Some(content)
    }

    fn relative<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.root).unwrap_or(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notice_is_one_line_and_bounded() {
        assert_eq!(notice(&[], Standing::Unknown), None);
        let want = |n: usize| Want { file: "f".into(), line: n, key: format!("k{n}"), what: "w".into() };
        let wants: Vec<Want> = (0..100).map(want).collect();
        let text = notice(&wants, Standing::Changed).unwrap();
        assert!(
            text.contains("k0 (f:0)") && text.contains("and 94 more") && text.contains("zdx trust"),
            "{text}"
        );
        assert!(text.contains("changed") && !text.contains('\n'), "{text}");
    }
}
