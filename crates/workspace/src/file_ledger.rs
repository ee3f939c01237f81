//! Facts about contents of files while a session is open: which versions its model has seen, and which changes tools made.
//! Answers whether a change would lose what the model has not seen, and whether anybody else changed a file. Reads no
//! file and decides nothing.
//!
//! Lost when the session is closed, so two things lie elsewhere. A session's log has every change on the disk before it
//! happens (`Checkpoints`), which a killed process leaves behind and a later one reads; the engine fills the ledger from
//! there. Earlier contents are files of their own (`BlobStore`), because a ledger of hashes is small and they are not.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::ContentVersion;

/// Files remembered as seen.
const MOST: usize = 10_000;
/// Changes remembered per file.
const LINKS: usize = 256;

/// Versions before and after each change of a file, the earliest first.
type ChangeChain = Vec<(ContentVersion, ContentVersion)>;

#[derive(Debug, Default)]
pub struct FileLedger {
    /// Seen last by the model of this session; more than one where it is not known which of them was the last.
    seen: Mutex<HashMap<PathBuf, Vec<ContentVersion>>>,
    /// By tools of this session and of its subagents.
    changes: Arc<Mutex<HashMap<PathBuf, ChangeChain>>>,
}

impl FileLedger {
    /// Returns the ledger of a subagent: its model has seen nothing yet, and its tools count as this session's.
    pub fn for_subagent(&self) -> Self {
        Self { seen: Mutex::default(), changes: Arc::clone(&self.changes) }
    }

    /// Notes the version that the model saw last, or left there itself; None: it is not known any more.
    pub fn note_seen(&self, path: &Path, version: Option<ContentVersion>) {
        let mut seen = lock(&self.seen);
        match version {
            Some(version) if seen.len() < MOST || seen.contains_key(path) => {
                seen.insert(path.to_owned(), vec![version]);
            }
            Some(_) | None => drop(seen.remove(path)),
        }
    }

    /// Notes a version that the model may have seen last, besides those noted already.
    pub fn note_possibly_seen(&self, path: PathBuf, version: ContentVersion) {
        let mut seen = lock(&self.seen);
        if seen.len() < MOST || seen.contains_key(&path) {
            seen.entry(path).or_default().push(version);
        }
    }

    pub fn seen(&self, path: &Path) -> SeenVersions {
        SeenVersions(lock(&self.seen).get(path).cloned().unwrap_or_default())
    }

    /// Notes that a tool changed a file. Called under the lock of the path.
    pub fn note_change(&self, path: &Path, before: ContentVersion, after: ContentVersion) {
        let mut changes = lock(&self.changes);
        let chain = changes.entry(path.to_owned()).or_default();
        if chain.len() >= LINKS {
            chain.remove(0);
        }
        chain.push((before, after));
    }

    /// Whether nothing but tools of this session led from one version to the other.
    pub fn leads(&self, path: &Path, from: ContentVersion, to: ContentVersion) -> bool {
        let changes = lock(&self.changes);
        let chain = changes.get(path).map(Vec::as_slice).unwrap_or_default();
        let last = chain.iter().fold(from, |version, (before, after)| match version == *before {
            true => *after,
            false => version,
        });
        last == to
    }
}

/// Versions of a file that its model may have seen last; none if it never looked.
#[derive(Clone, Debug)]
pub struct SeenVersions(Vec<ContentVersion>);

impl SeenVersions {
    /// Whether the file holds something that the model has not seen. False for a file that it never looked at, and for
    /// one that is gone: nothing of that can be lost.
    pub fn is_overtaken_by(&self, now: ContentVersion) -> bool {
        now != ContentVersion::ABSENT && self.is_any() && !self.0.contains(&now)
    }

    /// The same for a file that is too large to look into.
    pub fn is_any(&self) -> bool {
        !self.0.is_empty()
    }
}

fn lock<T>(facts: &Mutex<T>) -> MutexGuard<'_, T> {
    facts.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_is_known_and_all_else_has_overtaken_it() {
        let (ledger, path) = (FileLedger::default(), Path::new("/a"));
        let [seen, theirs, other] =
            [&b"seen"[..], b"theirs", b"other"].map(|content| ContentVersion::of(Some(content)));
        assert!(!ledger.seen(path).is_overtaken_by(other), "never looked at");
        ledger.note_seen(path, Some(seen));
        assert!(!ledger.seen(path).is_overtaken_by(seen));
        assert!(ledger.seen(path).is_overtaken_by(theirs));
        assert!(!ledger.seen(path).is_overtaken_by(ContentVersion::ABSENT), "what is gone");
        ledger.note_possibly_seen(path.to_owned(), theirs);
        assert!(!ledger.seen(path).is_overtaken_by(theirs));
        ledger.note_seen(path, Some(ContentVersion::ABSENT));
        assert!(ledger.seen(path).is_overtaken_by(other), "made again");
        ledger.note_seen(path, None);
        assert!(!ledger.seen(path).is_any());
    }

    #[test]
    fn only_changes_of_the_session_lead_from_one_version_to_another() {
        let (ledger, path) = (FileLedger::default(), Path::new("/a"));
        let [a, b, c] = [b"a", b"b", b"c"].map(|content| ContentVersion::of(Some(content)));
        assert!(!ledger.leads(path, a, b));
        ledger.note_change(path, a, b);
        ledger.for_subagent().note_change(path, b, c);
        assert!(ledger.leads(path, a, c) && ledger.leads(path, b, c));
        assert!(!ledger.leads(path, a, b), "it went on from there");
        assert!(!ledger.leads(path, ContentVersion::ABSENT, c));
    }
}
