//! What could be meant by what was typed (autocomplete): agents after `@agent:`, files after `@` and `@file:`, commands after `/`
//! and what goes behind them. Never waits longer than its patience: a folder is read on a thread that is left behind when it hangs.

mod index;
mod names;
mod rank;

use std::io;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use zdx_protocol::facts::quote;
use zdx_protocol::query::{Candidate, Completions, Then};
use zdx_protocol::slash::{self, Argument};
use zdx_protocol::{Approval, CheckChoice};

use index::FileIndex;
pub(crate) use names::{Name, Names};
use names::{letters, named};
use rank::{Fit, Ranker};
use zdx_protocol::mentions::may_start;

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

pub(crate) struct Completer {
    home: Option<PathBuf>,
    lister: Arc<dyn Lister>,
    index: FileIndex,
    patience: Duration,
    listings: Arc<Listings>,
    /// The number of the last question: what was asked before is not worth looking for any more.
    asked: AtomicU64,
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
        let index = FileIndex::new(root);
        let (listings, asked) = (Arc::default(), AtomicU64::default());
        Self { home, lister, index, patience: patience.min(PATIENCE), listings, asked }
    }

    /// Counts a question, in the order of asking: they are answered on threads of which any may be the first.
    pub(crate) fn ask(&self) -> u64 {
        self.asked.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// `cursor` in bytes; what is right of it stays. An answer that a newer question overtakes is empty.
    pub(crate) fn complete(
        &self,
        question: u64,
        line: &str,
        cursor: usize,
        names: &Names<'_>,
    ) -> Completions {
        self.index.wake();
        let Some(before) = line.get(..cursor) else { return Completions::default() };
        let indent = before.len() - before.trim_start().len();
        let word = &before[indent..];
        if let Some(typed) = word.strip_prefix('/')
            && !typed.contains(|c: char| c.is_whitespace() || c == '/')
        {
            return finished(indent..cursor, named("/", &names.commands, typed));
        }
        if let Some(completions) = self.argument(word, indent..cursor, names) {
            return completions;
        }
        if let Some(command) = word.strip_prefix('!').or_else(|| word.strip_prefix("@!")) {
            let (at, typed) = shell_word(command);
            if !typed.starts_with('@') {
                return self.shell_files(&typed, cursor - command.len() + at..cursor, question);
            }
        }
        let Some(start) = token(before) else { return Completions::default() };
        let typed = &before[start + 1..];
        if let Some(typed) = typed.strip_prefix("agent:") {
            return finished(start..cursor, named("@agent:", &names.agents, typed));
        }
        if let Some((server, _)) = typed.split_once(':')
            && names.servers().any(|name| name == server)
        {
            return finished(start..cursor, named("@", &names.resources, typed));
        }
        let mut found = self.mentioned(typed, question);
        found.candidates.truncate(MOST - TRIGGERS.len());
        let servers = names.servers().map(|name| (format!("{name}:"), "what an MCP server has"));
        let triggers = TRIGGERS.iter().map(|(kind, detail)| ((*kind).to_owned(), *detail)).chain(servers);
        for (kind, detail) in triggers.filter(|(kind, _)| kind.starts_with(typed)) {
            let trigger = trigger(&kind, detail, typed);
            // A letter or two mean a file rather.
            let place = if typed.len() >= SURE { 0 } else { found.candidates.len() };
            found.candidates.insert(place, trigger);
        }
        Completions { timed_out: found.timed_out, ..finished(start..cursor, found.candidates) }
    }

    /// What may stand behind one of our own commands; none when it is no such line.
    fn argument(&self, word: &str, place: Range<usize>, names: &Names<'_>) -> Option<Completions> {
        let (name, rest) = word.strip_prefix('/')?.split_once(char::is_whitespace)?;
        let typed = rest.trim_start();
        let replace = place.end - typed.len()..place.end;
        let preset = |name: &&str| Approval::named(name).map(|preset| Name::new(*name, preset.meaning()));
        let known = match slash::find(name)?.argument {
            Argument::Agent => names.agents.clone(),
            Argument::Model => names.models.clone(),
            // The boldest last: it is not to be chosen by a hasty key.
            Argument::Preset => Approval::NAMES.iter().rev().filter_map(preset).collect(),
            Argument::Check => {
                CheckChoice::ALL.map(|choice| Name::new(choice.name(), choice.meaning())).into()
            }
            Argument::Session => (names.sessions)(),
            Argument::Grant => (names.grants)(),
            Argument::File => return Some(self.files(typed, replace)),
            Argument::Folder => return Some(self.folders(typed, replace)),
            Argument::Turn => (names.turns)(),
            Argument::Clip => {
                vec![Name::new("code", "its last block of code; a number behind it counts back")]
            }
            Argument::None | Argument::Text(_) => Vec::new(),
        };
        let mut candidates = named("", &known, typed);
        candidates.iter_mut().for_each(|candidate| candidate.then = Then::Line);
        Some(finished(replace, candidates))
    }

    /// Plain paths, as a command takes them.
    fn files(&self, typed: &str, replace: Range<usize>) -> Completions {
        self.paths(typed, replace, self.entries(typed))
    }

    /// Folders anywhere: what is named here is meant to lie outside.
    fn folders(&self, typed: &str, replace: Range<usize>) -> Completions {
        let (folder, prefix) = typed.rfind('/').map_or(("", typed), |at| typed.split_at(at + 1));
        let place = self.folder(folder).unwrap_or_else(|| self.index.root().join(folder));
        let mut entries = self.listed(place, folder, prefix);
        if let Some(entries) = &mut entries {
            entries.retain(|path| path.ends_with('/'));
        }
        self.paths(typed, replace, entries)
    }

    fn paths(&self, typed: &str, replace: Range<usize>, entries: Option<Vec<String>>) -> Completions {
        let Some(entries) = entries else {
            return Completions { timed_out: true, ..Completions::default() };
        };
        let candidates = entries.iter().map(|path| Candidate {
            text: path.clone(),
            matched: letters(0, typed.len()),
            then: if path.ends_with('/') { Then::Part } else { Then::Line },
            shown: path.clone(),
            detail: String::new(),
        });
        finished(replace, candidates.collect())
    }

    /// Paths as a shell reads them.
    fn shell_files(&self, typed: &str, replace: Range<usize>, question: u64) -> Completions {
        let (found, timed_out) = self.found(typed, question);
        let mut ranker = Ranker::new(typed);
        let candidates = found.into_iter().map(|path| Candidate {
            text: shell_path(&path),
            then: if path.ends_with('/') { Then::Part } else { Then::Word },
            matched: ranker.letters(&path).unwrap_or_default(),
            shown: path,
            detail: String::new(),
        });
        Completions { timed_out, ..finished(replace, candidates.collect()) }
    }

    /// The files that a path could mean, and whether there may be more.
    fn found(&self, path: &str, question: u64) -> (Vec<String>, bool) {
        match path.starts_with(['/', '~']) {
            true => self.entries(path).map_or((Vec::new(), true), |found| (found, false)),
            false => self.relative(path, question),
        }
    }

    /// `typed` is what follows the `@`.
    fn mentioned(&self, typed: &str, question: u64) -> Completions {
        let (trigger, path) = match typed.strip_prefix("file:") {
            Some(path) => ("@file:", path),
            None => ("@", typed),
        };
        let path = match path.strip_prefix('"') {
            Some(quoted) => quoted.replace("\\\"", "\"").replace("\\\\", "\\"),
            None => path.to_owned(),
        };
        if path == "~" {
            let home = Candidate {
                text: format!("{trigger}~/"),
                shown: "~/".into(),
                then: Then::Part,
                ..Candidate::default()
            };
            return Completions { candidates: vec![home], ..Completions::default() };
        }
        let (found, timed_out) = self.found(&path, question);
        let mut ranker = Ranker::new(&path);
        let candidates = found.into_iter().map(|found| Candidate {
            text: written(trigger, &found),
            then: if found.ends_with('/') { Then::Part } else { Then::Word },
            matched: ranker.letters(&found).unwrap_or_default(),
            shown: found,
            detail: String::new(),
        });
        Completions { candidates: candidates.collect(), timed_out, replace: 0..0 }
    }

    /// Those of the index that fit, the best first; what is ignored or hidden only when it is named.
    fn relative(&self, typed: &str, question: u64) -> (Vec<String>, bool) {
        let stale = || self.asked.load(Ordering::Acquire) != question;
        let name = typed.rsplit_once('/').map_or(typed, |(_, name)| name);
        let Some(mut entries) = self.entries(typed) else { return (Vec::new(), true) };
        if name.starts_with('.') {
            return (entries, false);
        }
        // Without a folder before it only the very name is as good as asking for it.
        entries.retain(|path| typed.contains('/') || path.trim_end_matches('/') == typed);
        let known = self.index.known(self.patience, &stale);
        let mut ranker = Ranker::new(typed);
        let mut fits: Vec<(Fit, &str)> = Vec::new();
        for chunk in &known.chunks {
            if stale() {
                return (Vec::new(), true);
            }
            fits.extend(chunk.iter().filter_map(|path| ranker.path(path).map(|fit| (fit, path))));
            // Never more than a few are worth keeping.
            if fits.len() > 20 * MOST {
                fits.select_nth_unstable(MOST);
                fits.truncate(MOST);
            }
        }
        fits.extend(entries.iter().filter_map(|path| ranker.path(path).map(|fit| (fit, path.as_str()))));
        fits.sort_unstable();
        fits.dedup_by(|one, other| one.1 == other.1);
        (fits.into_iter().take(MOST).map(|(_, path)| path.to_owned()).collect(), !known.whole)
    }

    /// What a folder holds that begins like the last part of the path, sorted; none when it hangs.
    fn entries(&self, typed: &str) -> Option<Vec<String>> {
        let (folder, prefix) = typed.rfind('/').map_or(("", typed), |at| typed.split_at(at + 1));
        match self.folder(folder) {
            Some(place) => self.listed(place, folder, prefix),
            None => Some(Vec::new()),
        }
    }

    /// The same of the folder that `folder` names.
    fn listed(&self, place: PathBuf, folder: &str, prefix: &str) -> Option<Vec<String>> {
        let shown = |entry: &NameInFolder| {
            let end = if entry.is_dir { "/" } else { "" };
            format!("{folder}{}{end}", entry.name)
        };
        let mut entries: Vec<String> = self.list(place, prefix)?.iter().map(shown).collect();
        entries.sort();
        Some(entries)
    }

    /// A relative mention that leaves the root would be refused, so it is not offered either.
    fn folder(&self, folder: &str) -> Option<PathBuf> {
        if let Some(below) = folder.strip_prefix("~/") {
            return Some(self.home.as_ref()?.join(below.trim_start_matches('/')));
        }
        let folder = Path::new(folder);
        let climbs = folder.components().any(|part| matches!(part, Component::ParentDir));
        (folder.is_absolute() || !climbs).then(|| self.index.root().join(folder))
    }

    /// None when the folder hangs. One that cannot be read has nothing to offer.
    fn list(&self, folder: PathBuf, prefix: &str) -> Option<Vec<NameInFolder>> {
        let began = Instant::now();
        // An answer at once would only have whoever asked ask again, as often as he may, before anything can have changed.
        if !self.listings.begin(self.patience) {
            return None;
        }
        let (sender, receiver) = mpsc::sync_channel(1);
        let (lister, prefix, listings) =
            (Arc::clone(&self.lister), prefix.to_owned(), Arc::clone(&self.listings));
        let work = move || {
            let listed = lister.list(&folder, &prefix).unwrap_or_default();
            listings.end();
            let _ = sender.send(listed);
        };
        if std::thread::Builder::new().name("complete".to_owned()).spawn(work).is_err() {
            self.listings.end();
            return Some(Vec::new());
        }
        receiver.recv_timeout(self.patience.saturating_sub(began.elapsed())).ok()
    }
}

/// Counts the threads that list a folder.
#[derive(Default)]
struct Listings {
    running: Mutex<usize>,
    ended: Condvar,
}

impl Listings {
    fn running(&self) -> MutexGuard<'_, usize> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until one more may run. False when all hang longer than that.
    fn begin(&self, patience: Duration) -> bool {
        let full = |running: &mut usize| *running >= MOST_HANGING;
        let waited = self.ended.wait_timeout_while(self.running(), patience, full);
        let (mut running, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            return false;
        }
        *running += 1;
        true
    }

    fn end(&self) {
        *self.running() -= 1;
        self.ended.notify_one();
    }
}

/// Mentions that are no plain path, and what they are.
const TRIGGERS: [(&str, &str); 2] = [("agent:", "work as another agent"), ("file:", "a file or folder")];
/// So many letters of one mean it.
const SURE: usize = 3;

fn trigger(kind: &str, detail: &str, typed: &str) -> Candidate {
    let text = format!("@{kind}");
    let (shown, matched) = (text.clone(), letters(1, 1 + typed.len()));
    Candidate { text, shown, detail: detail.to_owned(), matched, then: Then::Part }
}

fn finished(replace: Range<usize>, mut candidates: Vec<Candidate>) -> Completions {
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

/// A path as a mention; a folder's ends with `/`.
fn written(trigger: &str, path: &str) -> String {
    let special = |c: char| c.is_whitespace() || matches!(c, '"' | '\\' | '`');
    if !path.contains(special) {
        return format!("{trigger}{path}");
    }
    let escaped = path.replace('\\', "\\\\").replace('"', "\\\"");
    // A folder goes on inside of its quotes.
    format!("{trigger}\"{escaped}{}", if path.ends_with('/') { "" } else { "\"" })
}

/// The word of a command line that its end stands in: where it begins, and what it says without quotes.
fn shell_word(line: &str) -> (usize, String) {
    let (mut start, mut word) = (0, String::new());
    let (mut quote, mut escaped) = (None, false);
    for (at, c) in line.char_indices() {
        match (quote, c) {
            _ if escaped => {
                word.push(c);
                escaped = false;
            }
            (None | Some('"'), '\\') => escaped = true,
            (Some(open), _) if open == c => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, _) if c.is_whitespace() || "|&;<>()=".contains(c) => {
                start = at + c.len_utf8();
                word.clear();
            }
            (None | Some(_), _) => word.push(c),
        }
    }
    (start, word)
}

/// A path that a shell reads as itself; a folder goes on inside of its quotes.
fn shell_path(path: &str) -> String {
    let (home, rest) = path.strip_prefix("~/").map_or(("", path), |rest| ("~/", rest));
    let quoted = if rest.is_empty() { String::new() } else { quote(rest) };
    match quoted.strip_suffix('\'') {
        Some(open) if path.ends_with('/') => format!("{home}{open}"),
        Some(_) | None => format!("{home}{quoted}"),
    }
}

#[cfg(test)]
mod tests;
