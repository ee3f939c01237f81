//! What the guard may know of the disk: which entry a path names and where it really leads.
//! Only looks; opening anything is the business of the tools.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

/// One directory entry, not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    File,
    Dir,
    Link(PathBuf),
    /// A device, a socket, a pipe.
    Other,
}

/// The disk as the guard sees it. Tests give a map, the product gives [`Disk`].
pub trait FileView: Send + Sync {
    fn entry(&self, path: &Path) -> Option<Entry>;
}

/// The real disk.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl FileView for Disk {
    fn entry(&self, path: &Path) -> Option<Entry> {
        let meta = std::fs::symlink_metadata(path).ok()?;
        let kind = meta.file_type();
        Some(if kind.is_symlink() {
            // A link that cannot be read leads nowhere we could vouch for.
            Entry::Link(std::fs::read_link(path).unwrap_or_else(|_| PathBuf::from("/")))
        } else if kind.is_dir() {
            Entry::Dir
        } else if kind.is_file() {
            Entry::File
        } else {
            Entry::Other
        })
    }
}

/// A disk made of a map, for tests and case tables.
#[derive(Clone, Debug, Default)]
pub struct MapView(HashMap<PathBuf, Entry>);

impl MapView {
    /// Adds an entry and the folders above it.
    pub fn insert(&mut self, path: impl Into<PathBuf>, entry: Entry) {
        let path = path.into();
        for parent in path.ancestors().skip(1) {
            self.0.entry(parent.to_path_buf()).or_insert(Entry::Dir);
        }
        self.0.insert(path, entry);
    }
}

impl FileView for MapView {
    fn entry(&self, path: &Path) -> Option<Entry> {
        self.0.get(path).cloned()
    }
}

/// Where a path leads once every link on the way was followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    pub path: PathBuf,
    /// Absent when nothing is there yet.
    pub entry: Option<Entry>,
}

impl Located {
    pub fn exists(&self) -> bool {
        self.entry.is_some()
    }

    pub fn is_dir(&self) -> bool {
        self.entry == Some(Entry::Dir)
    }
}

const MAX_LINKS: usize = 40;

/// Follows `path` (made absolute by `cwd`) the way the kernel does: `..` leaves the folder a link led to.
/// Folders above `trusted`, the resolved root, are not looked at again.
pub fn locate(view: &dyn FileView, trusted: &Path, cwd: &Path, path: &Path) -> Located {
    let mut links = 0;
    let mut todo: Vec<PathBuf> = Vec::new();
    let mut at;
    if path.is_absolute() {
        match path.strip_prefix(trusted) {
            Ok(rest) => {
                at = trusted.to_path_buf();
                push_components(&mut todo, rest);
            }
            Err(_) => {
                at = PathBuf::from("/");
                push_components(&mut todo, path);
            }
        }
    } else {
        at = cwd.to_path_buf();
        push_components(&mut todo, path);
    }
    let mut entry = Some(Entry::Dir);
    while let Some(part) = todo.pop() {
        if part.as_os_str() == ".." {
            at.pop();
            entry = Some(Entry::Dir);
            continue;
        }
        let next = at.join(&part);
        // Below something that is not there, nothing is.
        entry = if entry.is_none() { None } else { view.entry(&next) };
        if let Some(Entry::Link(target)) = &entry {
            // What is open in zdx says nothing about what will be open in a command.
            if at.starts_with("/proc") && at.ends_with("fd") {
                entry = Some(Entry::Other);
                at = next;
                continue;
            }
            links += 1;
            if links > MAX_LINKS {
                return Located { path: PathBuf::from("/"), entry: Some(Entry::Other) };
            }
            if target.is_absolute() {
                at = PathBuf::from("/");
            }
            let target = target.clone();
            push_components(&mut todo, &target);
            entry = Some(Entry::Dir);
            continue;
        }
        at = next;
    }
    Located { path: at, entry }
}

fn push_components(todo: &mut Vec<PathBuf>, path: &Path) {
    let start = todo.len();
    for component in path.components() {
        match component {
            Component::Normal(part) => todo.push(PathBuf::from(part)),
            Component::ParentDir => todo.push(PathBuf::from("..")),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    if let Some(added) = todo.get_mut(start..) {
        added.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(entries: &[(&str, Entry)]) -> MapView {
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
            ("/w/a/b", Entry::Dir),
            ("/w/out", Entry::Link("/etc/passwd".into())),
            ("/w/sub", Entry::Link("a/b".into())),
            ("/w/loop", Entry::Link("loop".into())),
            ("/w/a/up", Entry::Link("../../x".into())),
            ("/proc/7/fd/0", Entry::Link("/dev/null".into())),
            ("/proc/self", Entry::Link("7".into())),
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
