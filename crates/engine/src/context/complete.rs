//! What Tab offers: agents after `@agent:`, files after `@` and `@file:`, commands after `/`, all by prefix.
//! Never waits longer than its patience: a folder is read on a thread that is left behind when it hangs.

use std::io;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use zdx_protocol::Approval;
use zdx_protocol::query::Completions;
use zdx_protocol::slash::{self, Argument};

use super::mentions::may_start;

/// The longest a person is kept waiting.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);
const MOST: usize = 100;
/// Entries of a folder that are looked at.
const MOST_READ: usize = 50_000;
/// Folders that may hang at a time; after that Tab offers none until one answers.
const MOST_HANGING: usize = 4;

/// Where folders' entries come from.
pub(crate) trait Lister: Send + Sync + 'static {
    /// Entries whose name starts with `prefix`. May block.
    fn list(&self, folder: &Path, prefix: &str) -> io::Result<Vec<NameInFolder>>;
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NameInFolder {
    pub name: String,
    pub is_dir: bool,
}

/// The file system. Hidden names only when the prefix is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Disk;

impl Lister for Disk {
    fn list(&self, folder: &Path, prefix: &str) -> io::Result<Vec<NameInFolder>> {
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(folder)?.take(MOST_READ).flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let shown = name.starts_with(prefix) && (!name.starts_with('.') || prefix.starts_with('.'));
            if shown && !name.contains(char::is_control) {
                let is_dir = match entry.file_type() {
                    Ok(kind) if kind.is_symlink() => entry.path().is_dir(),
                    Ok(kind) => kind.is_dir(),
                    Err(_) => false,
                };
                entries.push(NameInFolder { name, is_dir });
            }
        }
        Ok(entries)
    }
}

/// What can be completed besides files.
pub(crate) struct Names<'a> {
    pub agents: Vec<String>,
    /// Built-in and custom ones, without the slash.
    pub commands: Vec<String>,
    pub models: Vec<String>,
    /// Ids; looked up only where one may stand.
    pub sessions: &'a dyn Fn() -> Vec<String>,
}

pub(crate) struct Completer {
    root: PathBuf,
    home: Option<PathBuf>,
    lister: Arc<dyn Lister>,
    patience: Duration,
    hanging: Arc<AtomicUsize>,
}

impl Completer {
    pub(crate) fn new(root: PathBuf, home: Option<PathBuf>) -> Self {
        Self::with(root, home, Arc::new(Disk), PATIENCE)
    }

    /// With another source of names, and never more patience than [`PATIENCE`].
    pub(crate) fn with(
        root: PathBuf,
        home: Option<PathBuf>,
        lister: Arc<dyn Lister>,
        patience: Duration,
    ) -> Self {
        Self { root, home, lister, patience: patience.min(PATIENCE), hanging: Arc::default() }
    }

    /// `cursor` in bytes; what is right of it stays.
    pub(crate) fn complete(&self, line: &str, cursor: usize, names: &Names<'_>) -> Completions {
        let Some(before) = line.get(..cursor) else { return Completions::default() };
        let indent = before.len() - before.trim_start().len();
        let word = &before[indent..];
        if let Some(prefix) = word.strip_prefix('/')
            && !prefix.contains(|c: char| c.is_whitespace() || c == '/')
        {
            let candidates = starting(&names.commands, prefix).map(|name| format!("/{name}"));
            return finished(indent..cursor, candidates.collect());
        }
        if let Some(completions) = self.argument(word, indent..cursor, names) {
            return completions;
        }
        let Some(start) = token(before) else { return Completions::default() };
        let typed = &before[start + 1..];
        if let Some(prefix) = typed.strip_prefix("agent:") {
            let candidates = starting(&names.agents, prefix).map(|name| format!("@agent:{name}"));
            return finished(start..cursor, candidates.collect());
        }
        let mut completions = self.paths(typed);
        let triggers = ["agent:", "file:"].iter().filter(|trigger| trigger.starts_with(typed));
        completions.candidates.extend(triggers.map(|trigger| format!("@{trigger}")));
        Completions { timed_out: completions.timed_out, ..finished(start..cursor, completions.candidates) }
    }

    /// What may stand behind one of our own commands; none when it is no such line.
    fn argument(&self, word: &str, place: Range<usize>, names: &Names<'_>) -> Option<Completions> {
        let (name, rest) = word.strip_prefix('/')?.split_once(char::is_whitespace)?;
        let typed = rest.trim_start();
        let replace = place.end - typed.len()..place.end;
        let presets = || Approval::NAMES.map(str::to_owned).to_vec();
        let known = match slash::find(name)?.argument {
            Argument::Agent => names.agents.clone(),
            Argument::Model => names.models.clone(),
            Argument::Preset => presets(),
            Argument::Session => (names.sessions)(),
            Argument::File => return Some(self.files(typed, replace)),
            Argument::None | Argument::Turn | Argument::Text(_) => Vec::new(),
        };
        Some(finished(replace, starting(&known, typed).cloned().collect()))
    }

    /// Plain paths, as a command takes them.
    fn files(&self, typed: &str, replace: Range<usize>) -> Completions {
        let (folder, prefix) = typed.rfind('/').map_or(("", typed), |at| typed.split_at(at + 1));
        let entries = self.folder(folder).map(|place| self.list(place, prefix));
        let timed_out = matches!(entries, Some(None));
        let shown = |entry: NameInFolder| {
            let end = if entry.is_dir { "/" } else { "" };
            format!("{folder}{}{end}", entry.name)
        };
        let candidates = entries.flatten().unwrap_or_default().into_iter().map(shown).collect();
        Completions { timed_out, ..finished(replace, candidates) }
    }

    /// `typed` is what follows the `@`.
    fn paths(&self, typed: &str) -> Completions {
        let (trigger, path) = match typed.strip_prefix("file:") {
            Some(path) => ("@file:", path),
            None => ("@", typed),
        };
        let path = match path.strip_prefix('"') {
            Some(quoted) => quoted.replace("\\\"", "\"").replace("\\\\", "\\"),
            None => path.to_owned(),
        };
        if path == "~" {
            return Completions { candidates: vec![format!("{trigger}~/")], ..Completions::default() };
        }
        let (folder, prefix) = path
            .rsplit_once('/')
            .map_or(("", path.as_str()), |(folder, prefix)| (&path[..=folder.len()], prefix));
        let Some(place) = self.folder(folder) else { return Completions::default() };
        let Some(entries) = self.list(place, prefix) else {
            return Completions { timed_out: true, ..Completions::default() };
        };
        let shown = |entry: &NameInFolder| written(trigger, folder, entry);
        Completions { candidates: entries.iter().map(shown).collect(), ..Completions::default() }
    }

    /// A relative mention that leaves the root would be refused, so it is not offered either.
    fn folder(&self, folder: &str) -> Option<PathBuf> {
        if let Some(below) = folder.strip_prefix("~/") {
            return Some(self.home.as_ref()?.join(below.trim_start_matches('/')));
        }
        let folder = Path::new(folder);
        let climbs = folder.components().any(|part| matches!(part, Component::ParentDir));
        (folder.is_absolute() || !climbs).then(|| self.root.join(folder))
    }

    /// None when the folder hangs. One that cannot be read has nothing to offer.
    fn list(&self, folder: PathBuf, prefix: &str) -> Option<Vec<NameInFolder>> {
        if self.hanging.fetch_add(1, Ordering::AcqRel) >= MOST_HANGING {
            self.hanging.fetch_sub(1, Ordering::AcqRel);
            return None;
        }
        let (sender, receiver) = mpsc::sync_channel(1);
        let (lister, prefix, hanging) =
            (Arc::clone(&self.lister), prefix.to_owned(), Arc::clone(&self.hanging));
        let work = move || {
            let _ = sender.send(lister.list(&folder, &prefix).unwrap_or_default());
            hanging.fetch_sub(1, Ordering::AcqRel);
        };
        if std::thread::Builder::new().name("complete".to_owned()).spawn(work).is_err() {
            self.hanging.fetch_sub(1, Ordering::AcqRel);
            return Some(Vec::new());
        }
        receiver.recv_timeout(self.patience).ok()
    }
}

fn starting<'a>(names: &'a [String], prefix: &'a str) -> impl Iterator<Item = &'a String> {
    names.iter().filter(move |name| name.starts_with(prefix))
}

fn finished(replace: Range<usize>, mut candidates: Vec<String>) -> Completions {
    candidates.sort();
    candidates.dedup();
    candidates.truncate(MOST);
    Completions { replace, candidates, timed_out: false }
}

/// Where the mention begins that the cursor is in.
fn token(before: &str) -> Option<usize> {
    let starts = before.char_indices().rev().filter(|(at, c)| *c == '@' && may_start(&before[..*at]));
    for (at, _) in starts {
        let typed = &before[at + 1..];
        match typed.strip_prefix("file:").unwrap_or(typed).strip_prefix('"') {
            // Still open: a quote that is closed ends the mention.
            Some(quoted) if !closed(quoted) => return Some(at),
            Some(_) => {}
            None if !typed.contains(char::is_whitespace) => return Some(at),
            None => {}
        }
    }
    None
}

fn closed(quoted: &str) -> bool {
    let mut escaped = false;
    quoted.chars().any(|c| {
        let quote = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        quote || c == '\n'
    })
}

fn written(trigger: &str, folder: &str, entry: &NameInFolder) -> String {
    let path = format!("{folder}{}", entry.name);
    let special = |c: char| c.is_whitespace() || matches!(c, '"' | '\\' | '`');
    match (path.contains(special), entry.is_dir) {
        (false, true) => format!("{trigger}{path}/"),
        (false, false) => format!("{trigger}{path}"),
        (true, is_dir) => {
            let escaped = path.replace('\\', "\\\\").replace('"', "\\\"");
            format!("{trigger}\"{escaped}{}", if is_dir { "/" } else { "\"" })
        }
    }
}

#[cfg(test)]
mod tests;
