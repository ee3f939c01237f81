//! What a write changes: counted, and shown as a bounded diff.
//! Spends bounded time: on inputs too large to compare it says so.

use std::fmt::Write as _;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use zdx_protocol::compare::{LineDiff, with_bytes_visible};
use zdx_protocol::display::diff::CUT;
use zdx_protocol::redact::MASK;
use zdx_protocol::{Operation, Preview, Target, ToolCode, ToolError};

use zdx_workspace::path_lock::PathLockError;
use zdx_workspace::text::{before_cut, first};
use zdx_workspace::workspace::{FileError, FilePermissions, StagedFile, Workspace};
use zdx_workspace::{ContentHash, ContentVersion, SeenVersions};

/// Files above this are neither compared nor edited.
pub(super) const MOST: u64 = 32 * 1024 * 1024;
/// Sizes together above which lines are not compared.
const DIFF_INPUT: usize = 4 * 1024 * 1024;
const DIFF_TIME: Duration = Duration::from_millis(300);
const DIFF_OUTPUT: usize = 256 * 1024;

/// What a file was when a change was prepared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PreparedFile {
    Version(ContentVersion),
    /// Too large to look into: the hash of its content, or of a file too large for that too, what the system says of it.
    Large(String),
}

/// A file's state and, when it could be read, its content.
pub(super) fn look(
    workspace: &Workspace,
    target: &Target,
) -> Result<(PreparedFile, Option<Vec<u8>>), FileError> {
    match workspace.read_file(target, MOST) {
        Ok(content) => Ok((PreparedFile::Version(ContentHash::of(&content).into()), Some(content))),
        Err(FileError::Missing(_)) => Ok((PreparedFile::Version(ContentVersion::ABSENT), None)),
        Err(FileError::TooLarge { .. }) => Ok((PreparedFile::Large(large(workspace, target)?), None)),
        Err(error) => Err(error),
    }
}

fn large(workspace: &Workspace, target: &Target) -> Result<String, FileError> {
    let failed = |source| FileError::Io { path: target.path.clone(), source };
    let file = workspace.open_file(target)?.file;
    let found = file.metadata().map_err(failed)?;
    let hash = ContentHash::read(file).map_err(failed)?;
    Ok(hash.map(ContentHash::to_hex).unwrap_or_else(|| {
        let changed = (found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec());
        format!("{} {} {changed:?}", found.ino(), found.len())
    }))
}

/// Puts new content in the place of exactly what was looked at. To be called under the lock of the path: others than zdx
/// know no lock, so it is looked at again right before the file is replaced.
pub(super) fn replace(
    workspace: &Workspace,
    target: &Target,
    before: &PreparedFile,
    content: &[u8],
) -> Result<(), ToolError> {
    let staged = workspace.stage_text(target, target, content, FilePermissions::Keep);
    put(workspace, target, before, staged, content)
}

/// [`replace`] with staged content.
pub(super) fn put(
    workspace: &Workspace,
    target: &Target,
    before: &PreparedFile,
    staged: Result<StagedFile, FileError>,
    content: &[u8],
) -> Result<(), ToolError> {
    let holds = || Ok(look(workspace, target)?.0 == *before);
    staged.and_then(|staged| staged.commit_if(holds)).map_err(|error| match error {
        FileError::ChangedMeanwhile(path) => changed_since(&path),
        FileError::LosesBytes(path) => ToolError::new(ToolCode::WriteError, lost_bytes(&path)),
        other => other.not_written(),
    })?;
    if let PreparedFile::Version(before) = before {
        workspace.ledger().note_change(&target.path, *before, ContentHash::of(content).into());
    }
    Ok(())
}

/// For a file that somebody else is changing.
pub(super) fn not_locked(error: PathLockError) -> ToolError {
    match error {
        PathLockError::Busy(path) => {
            let message = format!(
                "another call or another zdx is changing {}: nothing was touched. Try again",
                path.display()
            );
            ToolError::new(ToolCode::WriteError, message)
        }
        PathLockError::Interrupted => {
            ToolError::new(ToolCode::Interrupted, "interrupted before anything was changed")
        }
    }
}

/// Whether more masks stand in a file after a change than before it. A file may well hold the word itself.
pub(super) fn adds_mask(old: &[u8], new: &[u8]) -> bool {
    let masks = |text: &[u8]| memchr::memmem::find_iter(text, MASK).count();
    masks(new) > masks(old)
}

pub(super) fn changed_since(path: &Path) -> ToolError {
    let message = format!("{} changed since this call was prepared: read it again first", path.display());
    ToolError::new(ToolCode::ChangedSince, message)
}

/// Whether a file that is to be replaced holds what the model has not seen.
pub(super) fn is_unseen(known: &SeenVersions, before: &PreparedFile) -> bool {
    match before {
        PreparedFile::Version(now) => known.is_overtaken_by(*now),
        PreparedFile::Large(_) => known.is_any(),
    }
}

/// For what would lose that.
pub(super) fn unseen(path: &Path) -> ToolError {
    let message = format!(
        "{} changed since you last read or wrote it, and not by you: nothing was touched. Read it again, and keep what \
         came meanwhile",
        path.display()
    );
    ToolError::new(ToolCode::ChangedSince, message)
}

/// For what loses nothing, but was thought out without it.
pub(super) const UNSEEN: &str =
    "this file changed since you last read or wrote it: read it again before you rely on the rest of it";

/// For a change that would put U+FFFD in the place of bytes that are no text.
pub(super) fn lost_bytes(path: &Path) -> String {
    format!(
        "{}. Change the other parts with edit, which keeps those bytes, and leave U+FFFD out of `old` and `new`",
        FileError::LosesBytes(path.to_owned())
    )
}

/// For a file that neither edit nor patch can change.
pub(super) fn is_utf16(path: &Path) -> String {
    format!(
        "{} is UTF-16 text: convert it with bash (iconv -f UTF-16 -t UTF-8), change the copy, and convert that back",
        path.display()
    )
}

/// Lines that come and go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LineChange {
    pub additions: usize,
    pub deletions: usize,
    pub diff: String,
}

impl LineChange {
    pub(super) fn between(old: &[u8], new: &[u8]) -> Self {
        if old == new {
            return Self::default();
        }
        if old.contains(&0) {
            return Self::uncompared(old, new, "(what is there is binary and not shown)");
        }
        if old.len() + new.len() > DIFF_INPUT {
            return Self::uncompared(old, new, "(too large to compare line by line)");
        }
        let diff = LineDiff::new(old, new, Some(Instant::now() + DIFF_TIME));
        let (additions, deletions) = diff.counts();
        let mut text = String::new();
        // A NUL in new content is shown like any other character: it must not hide what stands around it.
        for hunk in diff.hunks(3) {
            if text.len() > DIFF_OUTPUT {
                break;
            }
            text.push_str(&hunk);
        }
        if text.len() > DIFF_OUTPUT {
            text.truncate(first(&text, DIFF_OUTPUT).len());
            let _ = writeln!(text, "\n{CUT}");
        }
        Self { additions, deletions, diff: text }
    }

    /// Every line counts as replaced but those that are equal at both ends. What comes is shown all the same.
    fn uncompared(old: &[u8], new: &[u8], why: &str) -> Self {
        let common = |(a, b): &(&u8, &u8)| a == b;
        let start = old.iter().zip(new).take_while(common).count();
        let end = old[start..].iter().rev().zip(new[start..].iter().rev()).take_while(common).count();
        let lines = |text: &[u8]| {
            let middle = &text[start..text.len() - end];
            middle.iter().filter(|&&byte| byte == b'\n').count()
                + usize::from(middle.last().is_some_and(|&byte| byte != b'\n'))
        };
        let additions = lines(new);
        let mut diff = why.to_owned();
        let from = new[..start].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let comes = with_bytes_visible(before_cut(&new[from..new.len() - end]));
        let shown = first(&comes, DIFF_OUTPUT);
        if !shown.is_empty() {
            let _ = write!(diff, "\n@@ -0,0 +1,{} @@", shown.lines().count());
            shown.lines().for_each(|line| _ = write!(diff, "\n+{line}"));
        }
        if shown.len() < comes.len() {
            let _ = write!(diff, "\n{CUT}");
        }
        Self { additions, deletions: lines(old), diff }
    }

    /// The lines that come and go, without those around them and where they are. None where not all of them are shown.
    pub(super) fn shown_lines(&self) -> Option<Vec<&str>> {
        let is_whole = !self.diff.trim_end().ends_with(CUT);
        is_whole.then(|| self.diff.lines().filter(|line| line.starts_with(['-', '+'])).collect())
    }

    /// Whether this is the change that was shown, of a file that tools of this session changed elsewhere meanwhile.
    pub(super) fn is_as_shown(&self, shown: Option<&[String]>) -> bool {
        let now = self.shown_lines();
        now.zip(shown).is_some_and(|(now, shown)| now.iter().eq(shown.iter()))
    }

    pub(super) fn preview(&self, path: &Path, operation: Operation) -> Preview {
        Preview::Change {
            path: path.to_owned(),
            operation,
            additions: self.additions,
            deletions: self.deletions,
            diff: self.diff.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::sync::Arc;

    use zdx_protocol::FileChange;

    use super::*;
    use zdx_workspace::{BlobStore, Checkpoints, OnIntent};

    #[test]
    fn lines_are_counted_and_shown() {
        let change = LineChange::between(b"a\nb\nc\n", b"a\nB\nc\nd\n");
        assert_eq!((change.additions, change.deletions), (2, 1));
        assert_eq!(change.diff, "@@ -1,3 +1,4 @@\n a\n-b\n+B\n c\n+d\n");
        assert_eq!(LineChange::between(b"same", b"same"), LineChange::default());
    }

    #[test]
    fn huge_and_binary_inputs_cost_no_time() {
        let old: Vec<u8> = (0..800_000).flat_map(|n| format!("{n}\n").into_bytes()).collect();
        let new: Vec<u8> = (0..800_000).rev().flat_map(|n| format!("{n}\n").into_bytes()).collect();
        let started = std::time::Instant::now();
        let change = LineChange::between(&old, &new);
        assert!(started.elapsed() < Duration::from_secs(30));
        assert_eq!((change.additions, change.deletions), (800_000, 800_000));
        assert_eq!(LineChange::between(b"a\0\n", b"a\0\nb\n").additions, 1);
    }

    #[test]
    fn changed_bytes_are_never_hidden() {
        let change = LineChange::between(b"a\xe9\n", "a\u{fffd}\n".as_bytes());
        assert_eq!((change.additions, change.deletions), (1, 1));
        assert_eq!(change.diff, "@@ -1 +1 @@\n-a\\xE9\n+a\u{fffd}\n");
    }

    #[test]
    fn what_comes_is_shown_whatever_was_there_and_whatever_it_holds() {
        let change = LineChange::between(b"\0\x01", b"one\ntwo\n");
        assert_eq!(change.diff, "(what is there is binary and not shown)\n@@ -0,0 +1,2 @@\n+one\n+two");
        assert_eq!(
            LineChange::between(b"", b"evil\n\0").diff,
            "@@ -0,0 +1,2 @@\n+evil\n+\0\n\\ No newline at end of file\n"
        );
        let large: Vec<u8> = b"word\n".repeat(1 << 20);
        let change = LineChange::between(b"", &large);
        assert!(
            change.diff.starts_with("(too large to compare line by line)\n@@ ") && change.diff.ends_with(CUT)
        );
    }

    #[test]
    fn a_file_that_others_change_while_the_change_is_announced_keeps_their_lines() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let journal = Arc::new(Checkpoints::new(BlobStore::new(dir.path().join("blobs"))));
        journal.record_to(Box::new(OnIntent(|change: &FileChange| {
            let mut file = std::fs::OpenOptions::new().append(true).create(true).open(&change.path).unwrap();
            file.write_all(b"theirs\n").unwrap();
        })));
        let workspace = Workspace::open(dir.path()).unwrap().with_journal(Arc::clone(&journal));
        for was_there in [true, false] {
            let _ = std::fs::remove_file(&path);
            was_there.then(|| std::fs::write(&path, "ours\n").unwrap());
            let target = workspace.resolve("a").unwrap();
            let (before, old) = look(&workspace, &target).unwrap();
            let error = replace(&workspace, &target, &before, b"new\n").unwrap_err();
            assert_eq!(error, changed_since(&target.path));
            let kept = [old.unwrap_or_default(), b"theirs\n".to_vec()].concat();
            assert_eq!(std::fs::read(&path).unwrap(), kept);
            assert!(journal.take().0.is_empty(), "nothing happened");
        }
    }

    #[test]
    fn a_large_file_that_others_change_is_kept_though_its_size_is_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let size = usize::try_from(MOST).unwrap() + 1;
        std::fs::write(&path, vec![b'x'; size]).unwrap();
        let workspace = Workspace::open(dir.path()).unwrap();
        let target = workspace.resolve("a").unwrap();
        let before = look(&workspace, &target).unwrap().0;
        std::fs::write(&path, vec![b'y'; size]).unwrap();
        assert_eq!(replace(&workspace, &target, &before, b"new").unwrap_err(), changed_since(&target.path));
        let before = look(&workspace, &target).unwrap().0;
        replace(&workspace, &target, &before, b"new").unwrap();
    }

    #[test]
    fn a_long_diff_is_cut() {
        let new = "line\n".repeat(50_000);
        let change = LineChange::between(b"", new.as_bytes());
        assert_eq!(change.additions, 50_000);
        assert!(change.diff.len() < DIFF_OUTPUT + 100);
        assert!(change.diff.ends_with("(the rest of the diff is not shown)\n"));
    }
}
