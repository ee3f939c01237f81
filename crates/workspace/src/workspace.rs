//! Which file is meant, and is it inside? The only place that resolves a path a model named, and opens it.
//! Decides nothing: whether an outside path may be touched is policy's business.
//!
//! A path is resolved once, every link followed; that is what is judged and shown. It is then opened component by
//! component from a held descriptor with no link followed, so what was judged is what is opened, or nothing is: a link
//! swapped in between ends the walk. This needs no `openat2`, so old kernels are as safe as new ones; where many files of
//! one folder are read, `beneath` uses it as a shortcut.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zdx_guard::{FileEntry, FileView, Step};
use zdx_protocol::{EditorFiles, Target, ToolCode, ToolError, path_text};

use crate::path_lock::{LockScope, PathLockError, PathLockGuard, PathLocks};
use crate::{BlobStore, Checkpoints, FileLedger};

mod attributes;
mod beneath;
mod checkpoint;
mod editor;
mod in_place;
mod open;
mod replace;

pub use open::OpenedFile;
pub use replace::{FilePermissions, SetAsideFile, StagedFile};

/// The folder a session works in.
pub struct Workspace {
    root: PathBuf,
    files: FileReach,
    home: Option<PathBuf>,
    journal: Arc<Checkpoints>,
    editor: Option<Arc<dyn EditorFiles>>,
    ledger: FileLedger,
    locks: Arc<PathLocks>,
}

/// How far what lies there is reached.
enum FileReach {
    /// The root is held by descriptor, and files are opened from there.
    Held(OwnedFd),
    /// Paths are resolved as this view has them, and nothing can be opened.
    Seen(Arc<dyn FileView>),
}

impl FileReach {
    fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Held(descriptor) => Self::Held(descriptor.try_clone()?),
            Self::Seen(view) => Self::Seen(Arc::clone(view)),
        })
    }

    /// Where a link leads; none for what is no link.
    fn link(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        match self {
            Self::Held(_) if !path.symlink_metadata()?.is_symlink() => Ok(None),
            Self::Held(_) => path.read_link().map(Some),
            Self::Seen(view) => match view.entry(path).ok_or(io::ErrorKind::NotFound)? {
                FileEntry::Link(to) => Ok(Some(to)),
                FileEntry::File | FileEntry::Dir | FileEntry::Other => Ok(None),
            },
        }
    }
}

/// Why a file could not be had; each tool gives it the code its contract names.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{0}")]
    BadPath(&'static str),
    #[error("{} does not exist", path_text::encode(.0))]
    Missing(PathBuf),
    #[error("{} is {what}, not a regular file", path_text::encode(.path))]
    NotRegular { path: PathBuf, what: &'static str },
    #[error("{} became a link while it was being opened; nothing was touched", path_text::encode(.0))]
    Escape(PathBuf),
    #[error("{} changed while it was being written: read it again first", path_text::encode(.0))]
    ChangedMeanwhile(PathBuf),
    #[error("{} has {size} bytes; at most {limit} can be handled here", path_text::encode(.path))]
    TooLarge { path: PathBuf, size: u64, limit: u64 },
    #[error(
        "{} has bytes that are not text, which are read as U+FFFD, and this change would put real U+FFFD characters there: \
         nothing was touched", path_text::encode(.0)
    )]
    LosesBytes(PathBuf),
    #[error("could not create the folder {}: {}", path_text::encode(.path), plainly(.source))]
    Folder { path: PathBuf, source: io::Error },
    #[error("{} could not be written ({}), nor put back: what it held is in {}", path_text::encode(.path), plainly(.source), path_text::encode(.kept))]
    Damaged { path: PathBuf, kept: PathBuf, source: io::Error },
    #[error("the editor did not write {}: {why}", path_text::encode(.path))]
    Editor { path: PathBuf, why: String },
    #[error("{}: {}", path_text::encode(.path), plainly(.source))]
    Io { path: PathBuf, source: io::Error },
}

impl FileError {
    /// The code where a tool's contract names no other.
    pub fn code(&self) -> ToolCode {
        match self {
            Self::BadPath(_) => ToolCode::InvalidInput,
            Self::Missing(_) => ToolCode::Enoent,
            Self::NotRegular { .. } => ToolCode::NotRegular,
            Self::Escape(_) => ToolCode::SymlinkEscape,
            Self::ChangedMeanwhile(_) => ToolCode::ChangedSince,
            Self::TooLarge { .. } => ToolCode::TooLarge,
            Self::Folder { .. } => ToolCode::MkdirError,
            Self::Editor { .. } | Self::Damaged { .. } | Self::LosesBytes(_) => ToolCode::WriteError,
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied => ToolCode::Eacces,
                io::ErrorKind::NotADirectory => ToolCode::Enotdir,
                io::ErrorKind::NotFound => ToolCode::Enoent,
                io::ErrorKind::InvalidFilename => ToolCode::Enametoolong,
                _ if source.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => ToolCode::Eloop,
                _ => ToolCode::Eio,
            },
        }
    }

    /// With `code`, unless the fault is one that has the same code in every tool.
    pub fn or_code(self, code: ToolCode) -> ToolError {
        match self {
            Self::Missing(_) | Self::Io { .. } => ToolError::new(code, self.to_string()),
            Self::BadPath(_)
            | Self::NotRegular { .. }
            | Self::Escape(_)
            | Self::ChangedMeanwhile(_)
            | Self::TooLarge { .. }
            | Self::LosesBytes(_)
            | Self::Editor { .. }
            | Self::Damaged { .. }
            | Self::Folder { .. } => self.into(),
        }
    }

    /// As the contracts of the tools that write name it.
    pub fn not_written(self) -> ToolError {
        match &self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::NotADirectory => {
                ToolError::new(ToolCode::MkdirError, self.to_string())
            }
            Self::Io { .. } | Self::Missing(_) => {
                ToolError::new(ToolCode::WriteError, format!("could not write {self}"))
            }
            Self::BadPath(_)
            | Self::NotRegular { .. }
            | Self::Escape(_)
            | Self::ChangedMeanwhile(_)
            | Self::TooLarge { .. }
            | Self::LosesBytes(_)
            | Self::Editor { .. }
            | Self::Damaged { .. }
            | Self::Folder { .. } => self.into(),
        }
    }

    fn io(path: &Path, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        match source.kind() {
            io::ErrorKind::NotFound => Self::Missing(path.to_owned()),
            _ => Self::Io { path: path.to_owned(), source },
        }
    }
}

/// The system's words without its number.
fn plainly(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

impl From<FileError> for ToolError {
    fn from(error: FileError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

impl Workspace {
    pub fn open(root: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        let folder = File::open(&root)?;
        if !folder.metadata()?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self {
            root,
            files: FileReach::Held(folder.into()),
            home: None,
            journal: Arc::default(),
            editor: None,
            ledger: FileLedger::default(),
            locks: Arc::default(),
        })
    }

    /// For whoever wants to know what calls would be: tools prepare here, and can neither read nor write. `root` is
    /// resolved.
    pub fn seen(root: &Path, view: Arc<dyn FileView>) -> Self {
        Self {
            root: root.to_owned(),
            files: FileReach::Seen(view),
            home: None,
            journal: Arc::default(),
            editor: None,
            ledger: FileLedger::default(),
            locks: Arc::default(),
        }
    }

    /// Where `~` leads; without it a tilde is an ordinary character.
    pub fn with_home(mut self, home: Option<PathBuf>) -> Self {
        self.home = home;
        self
    }

    /// Whatever is written or removed from here on is kept there first.
    pub fn with_journal(mut self, journal: Arc<Checkpoints>) -> Self {
        self.journal = journal;
        self
    }

    /// What it has open of this folder is read and written there.
    pub fn with_editor(mut self, editor: Option<Arc<dyn EditorFiles>>) -> Self {
        self.editor = editor;
        self
    }

    /// The folder of zdx's own in which processes keep each other from changing the same file at once.
    pub fn with_locks_in(mut self, dir: PathBuf) -> Self {
        self.locks = PathLocks::in_folder(dir);
        self
    }

    /// Shares the locks of another workspace of the same session.
    pub fn with_locks_of(mut self, other: &Self) -> Self {
        self.locks = Arc::clone(&other.locks);
        self
    }

    /// [`replace`](Self::replace) while nobody else changes the file.
    pub fn replace_locked(&self, target: &Target, content: &[u8]) -> Result<(), FileError> {
        let locked = self.lock_paths([target.path.clone()], &|| false);
        let busy = |_| FileError::Io {
            path: target.path.clone(),
            source: io::Error::new(io::ErrorKind::WouldBlock, "another zdx is changing it; try again"),
        };
        let _guard = locked.map_err(busy)?;
        self.replace(target, content).map(drop)
    }

    /// The same folder for a session that works for this one: what it changes can be taken back from both.
    pub fn for_child(&self, call: &str, blobs: Option<BlobStore>) -> io::Result<Self> {
        Ok(Self {
            root: self.root.clone(),
            files: self.files.try_clone()?,
            home: self.home.clone(),
            journal: Arc::new(Checkpoints::below(Arc::clone(&self.journal), call.to_owned(), blobs)),
            editor: self.editor.clone(),
            ledger: self.ledger.for_subagent(),
            locks: Arc::clone(&self.locks),
        })
    }

    pub fn journal(&self) -> &Checkpoints {
        &self.journal
    }

    /// Locks resolved paths from reading to replacing them. Must not be held while a person is asked.
    pub fn lock_paths(
        &self,
        paths: impl IntoIterator<Item = PathBuf>,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<PathLockGuard, PathLockError> {
        let scope = match &self.editor {
            Some(editor) if editor.writes() => LockScope::ThisProcess,
            Some(_) | None => LockScope::AllProcesses,
        };
        self.locks.lock(scope, paths, interrupted)
    }

    /// Returns, once a session, what the user should know where locks do not keep every other zdx out.
    pub fn take_lock_weakness(&self) -> Option<String> {
        self.locks.take_weakness()
    }

    /// What the model of this session has seen of files, and its tools changed in them.
    pub fn ledger(&self) -> &FileLedger {
        &self.ledger
    }

    /// Whether nothing else lies where the folder was opened: commands begin there by name.
    pub fn is_in_place(&self) -> bool {
        let FileReach::Held(descriptor) = &self.files else { return false };
        let identity = |found: rustix::fs::Stat| (found.st_dev, found.st_ino);
        match (rustix::fs::fstat(descriptor), rustix::fs::stat(&self.root)) {
            (Ok(opened), Ok(named)) => identity(opened) == identity(named),
            // Where nothing is, nothing can begin.
            (Ok(_), Err(rustix::io::Errno::NOENT)) => true,
            (Err(_), _) | (_, Err(_)) => false,
        }
    }

    /// Canonical and absolute.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What a named path really is, every link followed, as the kernel would. Parts that do not exist yet are taken as
    /// they are written.
    pub fn resolve(&self, named: &str) -> Result<Target, FileError> {
        if named.is_empty() {
            return Err(FileError::BadPath("the path is empty"));
        }
        if named.contains('\0') {
            return Err(FileError::BadPath("the path holds a NUL character"));
        }
        if begins_with_variable(named) {
            return Err(FileError::BadPath(
                "the path begins with a variable, which only a shell expands: write it out, or put ./ before a file that is \
                 really called so",
            ));
        }
        let target = self.locate(&self.absolute(named))?;
        let Some(path) = self.unescaped(named).filter(|_| !target.exists) else { return Ok(target) };
        let unescaped = self.locate(&path)?;
        match path_text::is_encoded(named) || self.reach(&unescaped.path) > self.reach(&target.path) {
            true => Ok(unescaped),
            false => Ok(target),
        }
    }

    /// The path whose bytes are not all UTF-8 and that results, and listings, name so.
    fn unescaped(&self, named: &str) -> Option<PathBuf> {
        let path = match path_text::is_encoded(named) {
            true => Some(path_text::decode(named)).filter(|path| path.to_str().is_none()),
            false => path_text::unescape(named),
        };
        let from_home = |path: &Path| Some(self.home.as_ref()?.join(path.strip_prefix("~").ok()?));
        path.map(|path| from_home(&path).unwrap_or_else(|| self.root.join(path)))
    }

    /// The number of leading parts of a path that exist.
    fn reach(&self, path: &Path) -> usize {
        let ancestors: Vec<&Path> = path.ancestors().collect();
        ancestors.iter().rev().take_while(|part| self.files.link(part).is_ok()).count()
    }

    /// The same for a path of our own making, which need not be text.
    pub fn locate(&self, path: &Path) -> Result<Target, FileError> {
        let named = self.root.join(path);
        let (path, exists) = follow(&self.files, &named)?;
        let inside = path.starts_with(&self.root);
        let led_out = !inside && written(&named).is_some_and(|path| path.starts_with(&self.root));
        Ok(Target { path, inside, exists, led_out })
    }

    fn absolute(&self, named: &str) -> PathBuf {
        if let Some(home) = &self.home {
            if named == "~" {
                return home.clone();
            }
            if let Some(below) = named.strip_prefix("~/") {
                return home.join(below.trim_start_matches('/'));
            }
        }
        self.root.join(named)
    }
}

/// `$HOME/x`, `${TMPDIR}`: taken literally it would be a file that nobody meant. Other names may begin with `$`.
fn begins_with_variable(named: &str) -> bool {
    let Some(first) = named.strip_prefix('$').and_then(|rest| rest.split('/').next()) else { return false };
    let name = first.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(first);
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_' || byte.is_ascii_digit())
}

/// Where a path leads by its words alone.
fn written(path: &Path) -> Option<PathBuf> {
    zdx_guard::follow(PathBuf::from("/"), path, |_| Ok::<_, std::convert::Infallible>(None)).ok()?
}

/// The link-free path and whether it exists.
fn follow(files: &FileReach, path: &Path) -> Result<(PathBuf, bool), FileError> {
    let mut exists = true;
    let visit = |step: Step<'_>| match step {
        Step::Up(folder) => {
            exists = files.link(folder).is_ok();
            Ok(None)
        }
        Step::Down(here) => match files.link(here) {
            Ok(led) => Ok(led),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                exists = false;
                Ok(None)
            }
            Err(source) => Err(FileError::Io { path: here.to_owned(), source }),
        },
    };
    let endless = || FileError::Io { path: path.to_owned(), source: rustix::io::Errno::LOOP.into() };
    let resolved = zdx_guard::follow(PathBuf::from("/"), path, visit)?.ok_or_else(endless)?;
    Ok((resolved, exists))
}

/// Names in the folder that look like the one that is not there.
pub fn near_names(missing: &Path) -> Vec<String> {
    /// A folder with more entries is not searched to its end.
    const MOST: usize = 5000;
    let (Some(folder), Some(name)) = (missing.parent(), missing.file_name().and_then(OsStr::to_str)) else {
        return Vec::new();
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().take(MOST).flatten();
    let names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let lower: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
    let candidates: Vec<&str> = lower.iter().map(String::as_str).collect();
    let close = zdx_protocol::compare::nearest(&name.to_lowercase(), &candidates, 3, 0.6);
    let known = |close: &&str| lower.iter().position(|lower| lower == close).map(|at| names[at].clone());
    close.iter().filter_map(known).collect()
}

#[cfg(test)]
mod tests;
