//! The guard's view of the disk: which entry a path names and where it really leads.
//! Only looks; opening anything is the business of the tools.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use crate::limits::MAX_FOLDER_NAMES;

/// One directory entry, not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileEntry {
    File,
    Dir,
    Link(PathBuf),
    /// A device, a socket, a pipe.
    Other,
}

/// The disk as the guard sees it. Tests give a map, the product gives [`Disk`].
pub trait FileView: Send + Sync {
    fn entry(&self, path: &Path) -> Option<FileEntry>;

    /// The whole text of a small file, not through a link; none when it is larger, no text or not to be read.
    fn text(&self, path: &Path) -> Option<String>;

    /// The names in a folder; none when there are too many, or one is no text.
    fn names(&self, folder: &Path) -> Option<Vec<String>>;
}

/// Larger files are not read.
const MAX_TEXT: u64 = 64 * 1024;

/// The real disk.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl FileView for Disk {
    fn entry(&self, path: &Path) -> Option<FileEntry> {
        let meta = std::fs::symlink_metadata(path).ok()?;
        let kind = meta.file_type();
        Some(if kind.is_symlink() {
            // A link that cannot be read leads nowhere we could vouch for.
            FileEntry::Link(std::fs::read_link(path).unwrap_or_else(|_| PathBuf::from("/")))
        } else if kind.is_dir() {
            FileEntry::Dir
        } else if kind.is_file() {
            FileEntry::File
        } else {
            FileEntry::Other
        })
    }

    fn text(&self, path: &Path) -> Option<String> {
        let meta = std::fs::symlink_metadata(path).ok()?;
        if !meta.is_file() || meta.len() > MAX_TEXT {
            return None;
        }
        let mut text = String::new();
        let file = std::fs::File::open(path).ok()?;
        std::io::Read::read_to_string(&mut std::io::Read::take(file, MAX_TEXT + 1), &mut text).ok()?;
        (text.len() as u64 <= MAX_TEXT).then_some(text)
    }

    fn names(&self, folder: &Path) -> Option<Vec<String>> {
        let mut names = Vec::new();
        match std::fs::read_dir(folder) {
            Ok(entries) => {
                for entry in entries {
                    names.push(entry.ok()?.file_name().into_string().ok()?);
                    if names.len() > MAX_FOLDER_NAMES {
                        return None;
                    }
                }
                Some(names)
            }
            // What is no folder has no names in it.
            Err(error) => {
                matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
                    .then_some(names)
            }
        }
    }
}

/// A disk made of a map, for tests and case tables.
#[derive(Clone, Debug, Default)]
pub struct MapView {
    entries: HashMap<PathBuf, FileEntry>,
    texts: HashMap<PathBuf, String>,
}

impl MapView {
    /// Adds an entry and the folders above it.
    pub fn insert(&mut self, path: impl Into<PathBuf>, entry: FileEntry) {
        let path = path.into();
        for parent in path.ancestors().skip(1) {
            self.entries.entry(parent.to_path_buf()).or_insert(FileEntry::Dir);
        }
        self.entries.insert(path, entry);
    }

    /// A file with this text.
    pub fn write(&mut self, path: impl Into<PathBuf>, text: &str) {
        let path = path.into();
        self.insert(path.clone(), FileEntry::File);
        self.texts.insert(path, text.to_owned());
    }
}

impl FileView for MapView {
    fn entry(&self, path: &Path) -> Option<FileEntry> {
        self.entries.get(path).cloned()
    }

    fn text(&self, path: &Path) -> Option<String> {
        self.texts.get(path).cloned()
    }

    fn names(&self, folder: &Path) -> Option<Vec<String>> {
        let inside = self.entries.keys().filter(|path| path.parent() == Some(folder));
        Some(inside.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect())
    }
}

/// Where a path leads once every link on the way was followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    pub path: PathBuf,
    /// Absent when nothing is there yet.
    pub entry: Option<FileEntry>,
}

impl Located {
    pub fn exists(&self) -> bool {
        self.entry.is_some()
    }

    pub fn is_dir(&self) -> bool {
        self.entry == Some(FileEntry::Dir)
    }
}

/// As many as the kernel follows.
const MAX_LINKS: usize = 40;

/// A step of a path that is being followed.
pub enum Step<'a> {
    /// To the folder above.
    Up(&'a Path),
    /// To this entry of the folder before it.
    Down(&'a Path),
}

/// Follows `path` from the link-free folder `at` (an absolute path from the root) the way the kernel does: `..` leaves the
/// folder that a link led to, not the one in which the link lies. Each step is told to `visit`, which answers with where a
/// link leads. None when there is no end of links.
pub fn follow<E>(
    at: PathBuf,
    path: &Path,
    mut visit: impl FnMut(Step<'_>) -> Result<Option<PathBuf>, E>,
) -> Result<Option<PathBuf>, E> {
    let mut at = if path.is_absolute() { PathBuf::from("/") } else { at };
    let mut ahead = Vec::new();
    push_components(&mut ahead, path);
    let mut links = 0;
    while let Some(part) = ahead.pop() {
        if part.as_os_str() == ".." {
            at.pop();
            visit(Step::Up(&at))?;
            continue;
        }
        let next = at.join(part);
        match visit(Step::Down(&next))? {
            None => at = next,
            Some(_) if links == MAX_LINKS => return Ok(None),
            Some(target) => {
                links += 1;
                if target.is_absolute() {
                    at = PathBuf::from("/");
                }
                push_components(&mut ahead, &target);
            }
        }
    }
    Ok(Some(at))
}

/// The next part last.
fn push_components(ahead: &mut Vec<PathBuf>, path: &Path) {
    let parts = path.components().rev().filter_map(|component| match component {
        Component::Normal(part) => Some(PathBuf::from(part)),
        Component::ParentDir => Some(PathBuf::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    ahead.extend(parts);
}

/// Where `path` (made absolute by `cwd`) leads. Folders above `trusted`, the resolved root, are not looked at again.
pub fn locate(view: &dyn FileView, trusted: &Path, cwd: &Path, path: &Path) -> Located {
    let (from, path) = match path.strip_prefix(trusted) {
        Ok(below) => (trusted, below),
        Err(_) => (cwd, path),
    };
    let mut entry = Some(FileEntry::Dir);
    let visit = |step: Step<'_>| {
        let Step::Down(next) = step else {
            entry = Some(FileEntry::Dir);
            return Ok::<_, std::convert::Infallible>(None);
        };
        // Below something that is not there, nothing is.
        entry = entry.as_ref().and_then(|_| view.entry(next));
        let Some(FileEntry::Link(target)) = entry.clone() else { return Ok(None) };
        // What is open in zdx says nothing about what will be open in a command.
        if next.parent().is_some_and(|folder| folder.starts_with("/proc") && folder.ends_with("fd")) {
            entry = Some(FileEntry::Other);
            return Ok(None);
        }
        entry = Some(FileEntry::Dir);
        Ok(Some(target))
    };
    let Ok(led) = follow(from.to_path_buf(), path, visit);
    match led {
        Some(path) => Located { path, entry },
        None => Located { path: PathBuf::from("/"), entry: Some(FileEntry::Other) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(entries: &[(&str, FileEntry)]) -> MapView {
        let mut view = MapView::default();
        for (path, entry) in entries {
            view.insert(*path, entry.clone());
        }
        view
    }

    #[test]
    fn links_are_followed_like_the_kernel_does() {
        let root = Path::new("/w");
        let view = view(&[
            ("/w/a/b", FileEntry::Dir),
            ("/w/out", FileEntry::Link("/etc/passwd".into())),
            ("/w/sub", FileEntry::Link("a/b".into())),
            ("/w/loop", FileEntry::Link("loop".into())),
            ("/w/a/up", FileEntry::Link("../../x".into())),
            ("/proc/7/fd/0", FileEntry::Link("/dev/null".into())),
            ("/proc/self", FileEntry::Link("7".into())),
        ]);
        let at = |path: &str| locate(&view, root, root, Path::new(path)).path;
        assert_eq!(at("out"), Path::new("/etc/passwd"));
        assert_eq!(at("sub/../c"), Path::new("/w/a/c"));
        assert_eq!(at("a/up"), Path::new("/x"));
        assert_eq!(at("loop"), Path::new("/"));
        assert_eq!(at("missing/../../y"), Path::new("/y"));
        assert_eq!(at("/w/a/./b"), Path::new("/w/a/b"));
        assert_eq!(at("/proc/self/fd/0"), Path::new("/proc/7/fd/0"), "open files are not followed");
    }
}
