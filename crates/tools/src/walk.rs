//! Looking through a tree of files: what is ignored stays unseen, several threads walk, and results come in one order.
//! Follows no link and opens no file itself; what a file holds is the tool's business.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::{DirEntry, WalkBuilder, WalkState};
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;
use zdx_protocol::{Target, ToolCode, ToolError, ToolOutput, path_text};

use super::{ToolContext, ToolRunContext};
use zdx_workspace::ignore_files::{IGNORE_FILES, readable_ignore_files};
use zdx_workspace::workspace::{Workspace, near_names};

mod pattern;

pub(super) use pattern::{GlobPatterns, globs, split};

/// More threads than this only wait for the disk.
const MOST_THREADS: usize = 12;

/// A folder to look through.
pub(super) struct FileTree {
    root: PathBuf,
    hidden: bool,
    depth: Option<usize>,
    /// Ignore files of folders above, when no repository says how far up they count.
    above: Vec<Gitignore>,
    in_repository: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FileKind {
    Folder,
    File,
    Link,
    /// A pipe, a socket, a device.
    Other,
}

pub(super) struct FoundFile<'a> {
    pub path: &'a Path,
    /// From the folder that is looked through.
    pub relative: &'a Path,
    pub kind: FileKind,
    pub depth: usize,
}

pub(super) enum WalkStep {
    Continue,
    /// Nothing below this folder is wanted.
    Skip,
}

impl FileTree {
    pub(super) fn new(workspace: &Workspace, target: &Target, hidden: bool) -> Self {
        let root = target.path.clone();
        let in_repository = root.ancestors().any(|folder| folder.join(".git").exists());
        let above = match in_repository || !target.inside {
            true => Vec::new(),
            false => ignored_above(workspace.root(), &root),
        };
        Self { root, hidden, depth: None, above, in_repository }
    }

    pub(super) fn depth(mut self, depth: usize) -> Self {
        self.depth = Some(depth);
        self
    }

    /// Calls a visitor for every entry, from several threads, in no order. Tells how many folders could not be read.
    pub(super) fn walk<V>(self, stop: &CancellationToken, visitor: impl Fn() -> V + Sync) -> u64
    where
        V: FnMut(&FoundFile<'_>) -> WalkStep + Send,
    {
        let unreadable = AtomicU64::new(0);
        if !readable_ignore_files(&self.root) {
            return 1;
        }
        let root = self.root.clone();
        let walker = self.builder().build_parallel();
        walker.run(|| {
            let (mut visit, root, unreadable) = (visitor(), &root, &unreadable);
            Box::new(move |entry| {
                if stop.is_cancelled() {
                    return WalkState::Quit;
                }
                let Ok(entry) = entry else {
                    unreadable.fetch_add(1, Ordering::Relaxed);
                    return WalkState::Continue;
                };
                if entry.depth() == 0 {
                    return WalkState::Continue;
                }
                let relative = entry.path().strip_prefix(root).unwrap_or(entry.path());
                let found =
                    FoundFile { path: entry.path(), relative, kind: kind(&entry), depth: entry.depth() };
                match visit(&found) {
                    WalkStep::Continue => WalkState::Continue,
                    WalkStep::Skip => WalkState::Skip,
                }
            })
        });
        unreadable.into_inner()
    }

    fn builder(self) -> WalkBuilder {
        let threads = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, MOST_THREADS);
        let mut builder = WalkBuilder::new(&self.root);
        builder
            .hidden(!self.hidden)
            .follow_links(false)
            .max_depth(self.depth)
            .threads(threads)
            .current_dir(&self.root)
            // Up to the repository's root and no farther: a home folder may well ignore everything below it.
            .require_git(self.in_repository)
            .parents(self.in_repository);
        let Self { above, hidden, .. } = self;
        builder.filter_entry(move |entry| {
            let folder = kind(entry) == FileKind::Folder;
            let ignored = || above.iter().any(|rules| rules.matched(entry.path(), folder).is_ignore());
            let git = || hidden && entry.file_name() == ".git";
            entry.depth() == 0 || !(git() || ignored()) && (!folder || readable_ignore_files(entry.path()))
        });
        builder
    }
}

fn kind(entry: &DirEntry) -> FileKind {
    match entry.file_type() {
        Some(kind) if kind.is_dir() => FileKind::Folder,
        Some(kind) if kind.is_file() => FileKind::File,
        Some(kind) if kind.is_symlink() => FileKind::Link,
        Some(_) | None => FileKind::Other,
    }
}

/// The rules of folders from `top` down to the parent of `root`. A rule there that is lifted farther down still counts.
fn ignored_above(top: &Path, root: &Path) -> Vec<Gitignore> {
    let folders = root.ancestors().skip(1).take_while(|folder| folder.starts_with(top));
    let rules = |folder: &Path| {
        let mut builder = GitignoreBuilder::new(folder);
        for name in IGNORE_FILES.iter().filter(|_| readable_ignore_files(folder)) {
            // A line that is no pattern, or no file at all: what could be read counts.
            let _ = builder.add(folder.join(name));
        }
        builder.build().ok().filter(|rules| !rules.is_empty())
    };
    folders.filter_map(rules).collect()
}

/// More entries than this are not looked at, and no longer than this.
const MOST_ENTRIES: u64 = 200_000;
const LONGEST_LOOK: Duration = Duration::from_secs(2);

/// What a look at the tree found.
pub struct ChangedFiles {
    /// With when each changed last; in no order.
    pub files: Vec<(PathBuf, Timestamp)>,
    /// It was broken off, or a folder could not be read.
    pub incomplete: bool,
}

/// Files below the root that changed at or after a time: by content, mode or name, whatever was done to their times. What
/// is ignored stays unseen.
pub fn changed_since(workspace: &Workspace, since: Timestamp) -> ChangedFiles {
    let whole = Target { path: workspace.root().to_owned(), inside: true, exists: true, led_out: false };
    let (stop, seen, files) = (CancellationToken::new(), AtomicU64::new(0), Mutex::new(Vec::new()));
    let until = Instant::now() + LONGEST_LOOK;
    let unreadable = FileTree::new(workspace, &whole, true).walk(&stop, || {
        |found: &FoundFile<'_>| {
            if seen.fetch_add(1, Ordering::Relaxed) >= MOST_ENTRIES || Instant::now() > until {
                stop.cancel();
            }
            let is_file = matches!(found.kind, FileKind::File | FileKind::Link);
            if is_file && let Some(when) = last_change(found.path).filter(|when| *when >= since) {
                files.lock().unwrap_or_else(PoisonError::into_inner).push((found.path.to_owned(), when));
            }
            WalkStep::Continue
        }
    });
    let files = files.into_inner().unwrap_or_else(PoisonError::into_inner);
    ChangedFiles { files, incomplete: unreadable > 0 || stop.is_cancelled() }
}

fn last_change(path: &Path) -> Option<Timestamp> {
    let found = path.symlink_metadata().ok()?;
    Timestamp::new(found.ctime(), i32::try_from(found.ctime_nsec()).unwrap_or_default()).ok()
}

/// Sorts as a tree is listed: a folder's entries stand together, right after it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SortKey(Vec<u8>);

impl SortKey {
    /// A separator sorts before every other byte, and no name holds a NUL.
    pub(super) fn new(path: &Path) -> Self {
        Self(path.as_os_str().as_bytes().iter().map(|&byte| if byte == b'/' { 0 } else { byte }).collect())
    }

    pub(super) fn path(&self) -> PathBuf {
        let bytes = self.0.iter().map(|&byte| if byte == 0 { b'/' } else { byte }).collect();
        std::ffi::OsString::from_vec(bytes).into()
    }
}

/// The first so many of what came in any order, and how many came.
pub(super) struct FirstEntries<T> {
    kept: Vec<T>,
    most: usize,
    total: usize,
}

impl<T: Ord> FirstEntries<T> {
    pub(super) fn new(most: usize) -> Self {
        Self { kept: Vec::new(), most, total: 0 }
    }

    pub(super) fn add(&mut self, item: T) {
        self.total += 1;
        self.kept.push(item);
        if self.kept.len() >= self.most * 2 {
            self.settle();
        }
    }

    fn settle(&mut self) {
        self.kept.sort_unstable();
        self.kept.truncate(self.most);
    }

    /// In order, with the number of all.
    pub(super) fn finish(mut self) -> (Vec<T>, usize) {
        self.settle();
        (self.kept, self.total)
    }
}

/// How results name a path: as a model may use it again. Control characters are spelled out, as one name is one line.
pub(super) fn shown(workspace: &Workspace, path: &Path) -> String {
    let path = path.strip_prefix(workspace.root()).unwrap_or(path);
    match path.as_os_str().is_empty() {
        true => ".".to_owned(),
        false => shown_name(path.as_os_str()),
    }
}

pub(super) fn shown_name(name: &OsStr) -> String {
    let name = path_text::shown(Path::new(name));
    match name.chars().any(char::is_control) {
        false => name.into_owned(),
        true => name.chars().fold(String::new(), |mut text, c| {
            match c.is_control() {
                true => text.extend(c.escape_default()),
                false => text.push(c),
            }
            text
        }),
    }
}

/// The folder that is to be looked through.
pub(super) fn folder(target: &Target) -> Result<(), ToolError> {
    let path = target.path.display();
    match target.path.symlink_metadata() {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(ToolError::new(
            ToolCode::Enotdir,
            format!("{path} is no folder: use read, or name its folder"),
        )),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(missing(target)),
        Err(error) => Err(ToolError::new(ToolCode::Eio, format!("{path}: {error}"))),
    }
}

pub(super) fn missing(target: &Target) -> ToolError {
    let near = near_names(&target.path);
    let hint =
        if near.is_empty() { String::new() } else { format!("; near names here: {}", near.join(", ")) };
    ToolError::new(ToolCode::Enoent, format!("{} does not exist{hint}", target.path.display()))
}

/// Runs a search on a thread of its own. It is told to stop when the call is cancelled or takes too long, and is not
/// waited for: a file system may hang.
pub(super) async fn search(
    cx: ToolContext,
    run: ToolRunContext,
    work: impl FnOnce(&Workspace, &CancellationToken) -> Result<serde_json::Value, ToolError> + Send + 'static,
) -> ToolOutput {
    let timeout = cx.timeout;
    let stop = run.cancel.child_token();
    let _stops_the_thread = stop.clone().drop_guard();
    let searching = tokio::task::spawn_blocking(move || work(&cx.workspace, &stop));
    tokio::select! {
        biased;
        () = run.cancel.cancelled() => ToolOutput::error(ToolCode::Interrupted, "the search was interrupted"),
        done = searching => match done {
            Ok(result) => result.into(),
            Err(_) => ToolOutput::error(ToolCode::Internal, "the search broke down; this is a defect of zdx"),
        },
        () = super::expired(timeout) => {
            let seconds = timeout.unwrap_or_default().as_secs_f64();
            let message = format!("the search took longer than {seconds} s: name a smaller folder");
            ToolOutput::error(ToolCode::Timeout, message)
        }
    }
}
