//! Where skills, agents and commands may lie, in the order in which they win, and the walk that finds them.
//! Bounded in depth, number, bytes and time; never follows a link out of the folder it started from.

use std::collections::{HashSet, VecDeque};
use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::frontmatter::MarkdownDocument;
use crate::paths::AppPaths;
use crate::trust::TrustedFiles;
use zdx_workspace::workspace::Workspace;

/// Ours first, then the others', as they stand in a project and under home.
pub const FOLDERS: [&str; 5] = [".zdx", ".agents", ".claude", ".opencode", ".eidolon"];
const SKIPPED: [&str; 2] = [".git", "node_modules"];
const DEEPEST: usize = 6;
const MOST_DIRS: usize = 2_000;
/// In one folder.
const MOST_ENTRIES: usize = 10_000;
const MOST_FILES: usize = 1_000;
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// For all places together. What hangs longer is left behind.
const PATIENCE: Duration = Duration::from_secs(3);

/// Whose words a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LibraryScope {
    /// Came with the checkout: informs, and grants nothing unless the user trusts these very bytes.
    Project { trusted: bool },
    /// The user's own: under home, or named in configuration.
    User,
    /// Part of zdx.
    BuiltIn,
}

impl LibraryScope {
    pub fn is_project(self) -> bool {
        matches!(self, Self::Project { .. })
    }

    /// Whether it may do more than inform and forbid: run commands, choose a model, allow.
    pub fn may_grant(self) -> bool {
        self != Self::Project { trusted: false }
    }
}

/// One folder that may hold `skills/`, `agents/` and `commands/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryFolder {
    pub dir: PathBuf,
    pub scope: LibraryScope,
    /// No link may lead out of this folder.
    confined_to: PathBuf,
}

/// All places, the one that wins first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryFolders {
    root: PathBuf,
    home: Option<PathBuf>,
    list: Vec<LibraryFolder>,
    trusted: TrustedFiles,
    /// Limit of one search.
    patience: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LibraryKind {
    Skills,
    Agents,
    Commands,
}

impl LibraryKind {
    /// The folder's name in a place; the singular is an older habit of opencode's.
    fn folders(self) -> [&'static str; 2] {
        match self {
            Self::Skills => ["skills", "skill"],
            Self::Agents => ["agents", "agent"],
            Self::Commands => ["commands", "command"],
        }
    }

    fn deepest(self) -> usize {
        match self {
            Self::Skills | Self::Commands => DEEPEST,
            Self::Agents => 0,
        }
    }

    fn wants(self, name: &str) -> bool {
        match self {
            Self::Skills => name == "SKILL.md",
            Self::Agents | Self::Commands => {
                name.ends_with(".md") && name.len() > 3 && !name.starts_with('.') && name != "README.md"
            }
        }
    }
}

/// One file that was found and read.
#[derive(Clone, Debug)]
pub struct LibraryFile {
    pub document: MarkdownDocument,
    pub scope: LibraryScope,
    /// The folder that was searched, `…/skills` say.
    pub base: PathBuf,
    /// No link may lead out of this folder, also not when the file is read again.
    pub confined_to: PathBuf,
}

/// Everything of one kind, in the order in which it wins: by place, then by path.
#[derive(Debug, Default)]
pub struct GatheredFiles {
    pub found: Vec<LibraryFile>,
    pub notices: Vec<String>,
}

impl LibraryFolders {
    /// `root` is the folder the session works in.
    pub fn new(root: &Path, paths: &AppPaths) -> Self {
        let root = real(root);
        let home = paths.home().map(real);
        let mut list = Vec::new();
        // Who works in his home has no project there: it is all his own.
        if home.as_ref() != Some(&root) {
            list.extend(FOLDERS.map(|name| LibraryFolder {
                dir: root.join(name),
                scope: LibraryScope::Project { trusted: false },
                confined_to: root.clone(),
            }));
        }
        let base = real(paths.base());
        let around = home.clone().filter(|home| base.starts_with(home)).unwrap_or_else(|| base.clone());
        list.push(LibraryFolder { dir: base, scope: LibraryScope::User, confined_to: around });
        for (home, name) in home.iter().flat_map(|home| FOLDERS.map(|name| (home, name))) {
            list.push(LibraryFolder {
                dir: home.join(name),
                scope: LibraryScope::User,
                confined_to: home.clone(),
            });
        }
        Self { root, home, list, trusted: TrustedFiles::default(), patience: PATIENCE }
    }

    /// Files of the project's whose content is among these may grant.
    pub fn trusting(self, trusted: TrustedFiles) -> Self {
        Self { trusted, ..self }
    }

    /// With another limit for a search: tests must not depend on a busy machine.
    #[cfg(test)]
    pub(super) fn waiting_for(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Only what came with the checkout.
    pub fn of_the_project(mut self) -> Self {
        self.list.retain(|place| place.scope.is_project());
        self
    }

    pub fn iter(&self) -> impl Iterator<Item = &LibraryFolder> {
        self.list.iter()
    }

    /// A folder that configuration names: absolute, below `~`, or relative to the session's root.
    pub fn named(&self, path: &str) -> PathBuf {
        match (&self.home, path.strip_prefix("~/")) {
            (Some(home), Some(below)) => home.join(below.trim_start_matches('/')),
            _ if path == "~" => self.home.clone().unwrap_or_else(|| self.root.clone()),
            _ => self.root.join(path),
        }
    }

    /// A folder so wide that a file in it must not open all of it.
    pub fn is_wide(&self, dir: &Path) -> bool {
        self.root.starts_with(dir) || self.home.as_ref().is_some_and(|home| home.starts_with(dir))
    }

    /// Every file of a kind, and of further folders (`extra`, the user's own, weakest). Runs on a thread of its own,
    /// since a folder may hang: what was found by then counts, and a notice says that it is not all.
    pub fn gather(&self, kind: LibraryKind, extra: &[PathBuf]) -> GatheredFiles {
        let mut searches: Vec<LibrarySearch> = Vec::new();
        for place in &self.list {
            for name in kind.folders() {
                let base = place.dir.join(name);
                // Most places are not there: that must not cost the start of a session a thread.
                let absent = std::fs::symlink_metadata(&base).err().map(|error| error.kind());
                if absent == Some(std::io::ErrorKind::NotFound) {
                    continue;
                }
                searches.push(LibrarySearch {
                    base,
                    scope: place.scope,
                    confined_to: place.confined_to.clone(),
                    expected: false,
                });
            }
        }
        searches.extend(extra.iter().map(|dir| LibrarySearch {
            base: dir.clone(),
            scope: LibraryScope::User,
            confined_to: real(dir),
            expected: true,
        }));
        if searches.is_empty() {
            return GatheredFiles::default();
        }
        gather(searches, kind, self.trusted.clone(), self.patience)
    }
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

struct LibrarySearch {
    base: PathBuf,
    scope: LibraryScope,
    confined_to: PathBuf,
    /// Named by the user, so its absence is worth a word.
    expected: bool,
}

enum SearchMessage {
    Found(Box<LibraryFile>),
    Notice(String),
}

fn gather(
    searches: Vec<LibrarySearch>,
    kind: LibraryKind,
    trusted: TrustedFiles,
    patience: Duration,
) -> GatheredFiles {
    let (sender, receiver) = mpsc::sync_channel(64);
    let walk = move || {
        let mut walk = FolderWalk { kind, trusted, seen: HashSet::new(), files: 0, bytes: 0, sender };
        // An error means that nobody listens any more.
        let _ = searches.iter().try_for_each(|search| walk.search(search));
    };
    if std::thread::Builder::new().name("library".to_owned()).spawn(walk).is_err() {
        let notice = format!("no {} were looked for: no thread could be started", kind.folders()[0]);
        return GatheredFiles { found: Vec::new(), notices: vec![notice] };
    }
    collect(&receiver, kind, patience)
}

fn collect(receiver: &mpsc::Receiver<SearchMessage>, kind: LibraryKind, patience: Duration) -> GatheredFiles {
    let until = Instant::now() + patience;
    let mut gathered = GatheredFiles::default();
    loop {
        match receiver.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(SearchMessage::Found(found)) => gathered.found.push(*found),
            Ok(SearchMessage::Notice(notice)) => gathered.notices.push(notice),
            Err(mpsc::RecvTimeoutError::Disconnected) => return gathered,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                let (what, secs) = (kind.folders()[0], patience.as_secs_f64());
                let notice = format!("looking for {what} took longer than {secs} s; some may be missing");
                gathered.notices.push(notice);
                return gathered;
            }
        }
    }
}

/// The receiver has gone, or a limit was reached.
struct SearchStop;

struct FolderWalk {
    kind: LibraryKind,
    trusted: TrustedFiles,
    /// Real paths: one file or folder reached twice counts once, and a loop ends.
    seen: HashSet<PathBuf>,
    files: usize,
    bytes: usize,
    sender: mpsc::SyncSender<SearchMessage>,
}

impl FolderWalk {
    fn search(&mut self, search: &LibrarySearch) -> Result<(), SearchStop> {
        let mut files = Vec::new();
        let mut dirs = 0;
        let mut ahead: VecDeque<(PathBuf, usize)> = VecDeque::new();
        if search.expected && !search.base.is_dir() {
            self.notice(format!(
                "{}: there is no such folder to take {} from",
                search.base.display(),
                self.kind.folders()[0]
            ))?;
        }
        self.visit_later(&search.base, 0, search, &mut ahead)?;
        while let Some((dir, depth)) = ahead.pop_front() {
            dirs += 1;
            if dirs > MOST_DIRS {
                self.notice(format!(
                    "{}: it has more than {MOST_DIRS} folders; the rest was not searched",
                    search.base.display()
                ))?;
                break;
            }
            for (path, is_dir) in self.entries(&dir)? {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                if is_dir {
                    if depth < self.kind.deepest() && !SKIPPED.contains(&&*name) {
                        self.visit_later(&path, depth + 1, search, &mut ahead)?;
                    }
                } else if self.kind.wants(&name) && self.is_new_and_inside(&path, search)? {
                    files.push(path);
                }
            }
        }
        files.sort();
        let Ok(folder) = Workspace::open(&search.confined_to) else { return Ok(()) };
        files.into_iter().try_for_each(|path| self.read(&path, &folder, search))
    }

    fn visit_later(
        &mut self,
        dir: &Path,
        depth: usize,
        search: &LibrarySearch,
        ahead: &mut VecDeque<(PathBuf, usize)>,
    ) -> Result<(), SearchStop> {
        if self.is_new_and_inside(dir, search)? {
            ahead.push_back((dir.to_owned(), depth));
        }
        Ok(())
    }

    fn is_new_and_inside(&mut self, path: &Path, search: &LibrarySearch) -> Result<bool, SearchStop> {
        let Ok(target) = path.canonicalize() else { return Ok(false) };
        if !target.starts_with(&search.confined_to) {
            let outside = search.confined_to.display();
            self.notice(format!("{} is left out: it is a link that leads out of {outside}", path.display()))?;
            return Ok(false);
        }
        Ok(self.seen.insert(target))
    }

    /// Sorted, folders told from files, links followed for that.
    fn entries(&self, dir: &Path) -> Result<Vec<(PathBuf, bool)>, SearchStop> {
        let Ok(reading) = std::fs::read_dir(dir) else { return Ok(Vec::new()) };
        let is_dir = |entry: &DirEntry| match entry.file_type() {
            Ok(kind) if kind.is_symlink() => entry.path().is_dir(),
            Ok(kind) => kind.is_dir(),
            Err(_) => false,
        };
        let listed = reading.take(MOST_ENTRIES + 1).flatten().map(|entry| (entry.path(), is_dir(&entry)));
        let mut entries: Vec<(PathBuf, bool)> = listed.collect();
        if entries.len() > MOST_ENTRIES {
            entries.pop();
            self.notice(format!(
                "{}: it has more than {MOST_ENTRIES} entries; some were not looked at",
                dir.display()
            ))?;
        }
        entries.sort();
        Ok(entries)
    }

    fn read(&mut self, path: &Path, folder: &Workspace, search: &LibrarySearch) -> Result<(), SearchStop> {
        if self.files == MOST_FILES || self.bytes > MOST_BYTES {
            let what = self.kind.folders()[0];
            self.notice(format!(
                "{} and what follows is left out: there are too many {what}",
                path.display()
            ))?;
            return Err(SearchStop);
        }
        self.files += 1;
        match MarkdownDocument::read(folder, path) {
            Ok(document) => {
                self.bytes += document.body.len();
                let scope = match search.scope {
                    LibraryScope::Project { .. } => {
                        LibraryScope::Project { trusted: self.trusted.covers(path, &document.digest) }
                    }
                    own @ (LibraryScope::User | LibraryScope::BuiltIn) => own,
                };
                let (base, confined_to) = (search.base.clone(), search.confined_to.clone());
                let found = LibraryFile { document, scope, base, confined_to };
                self.sender.send(SearchMessage::Found(Box::new(found))).map_err(|_| SearchStop)
            }
            Err(error) => self.notice(format!("{error}; it is left out")),
        }
    }

    fn notice(&self, text: String) -> Result<(), SearchStop> {
        self.sender.send(SearchMessage::Notice(text)).map_err(|_| SearchStop)
    }
}

#[cfg(test)]
mod tests;
