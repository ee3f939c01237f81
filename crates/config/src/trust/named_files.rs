//! Finds the files of a project that a command line names, so that trusting the command covers what it runs.
//! Errs on the side of too many: a file that is only data is hashed like a script. Runs nothing and grants nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use globset::GlobBuilder;
use zdx_guard::{NamedWords, named_words};
use zdx_protocol::display::visible_line;

use super::runners::{ENTRY_FILES, manifests, runs_entry_file, runs_folder};
use super::{ContentHash, TrustedFiles};
use zdx_workspace::own_files::{open_regular, read_regular};

/// Bytes that are hashed for one command, in a fraction of a second. A file beyond them never counts as trusted, so it is
/// asked about each time.
const HASHED_BYTES: u64 = 32 << 20;
/// Limits on what is looked up for one command; more than anybody writes. A command beyond them is asked about each time.
const MOST_TOKENS: usize = 2048;
const MOST_FOLDERS: usize = 16;
const LONGEST_MANIFEST: usize = 1 << 20;
/// Entries of folders that are looked at to expand patterns, and for folders that are run.
const MOST_ENTRIES: usize = 1024;

/// A command as far as it names files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandSource {
    /// A line of shell code.
    script: String,
    /// Variables that are set for it.
    variables: BTreeMap<String, String>,
    /// More text that may hold paths.
    others: Vec<String>,
}

impl CommandSource {
    pub fn shell(script: &str) -> Self {
        Self { script: script.to_owned(), ..Self::default() }
    }

    /// A program with its arguments, no shell between.
    pub fn program(words: &[String], variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let quoted: Vec<String> =
            words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
        let script = quoted.join(" ");
        Self { script, variables: variables.into_iter().collect(), others: words.to_vec() }
    }

    /// With the folder that it is to run in.
    pub fn within(mut self, folder: Option<&str>) -> Self {
        self.others.extend(folder.map(str::to_owned));
        self
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        [&self.script].into_iter().chain(self.variables.values()).chain(&self.others).map(String::as_str)
    }
}

/// Returns the files inside `root`, which is canonical, that a command names, by their path from there: by a path, an
/// option or variable that holds one, or shell code that does. A link is followed; one that leads out of the root is listed
/// by its own name with the content it leads to. Where it cannot be told before it runs what a command runs, an entry says
/// so that no other process of zdx takes for trusted.
pub fn named_files(root: &Path, command: &CommandSource) -> BTreeMap<PathBuf, ContentHash> {
    let named = named_words(&command.script, root, &command.variables);
    let mut finder =
        NamedFileFinder { root, left: HASHED_BYTES, entries: MOST_ENTRIES, found: BTreeMap::new() };
    let (mut tokens, mut overflow) = tokens(command, &named, root);
    for pattern in tokens.iter().filter(|token| token.contains(['*', '?', '['])).cloned().collect::<Vec<_>>()
    {
        finder.expand(&pattern);
    }
    let mut folders = vec![root.to_owned()];
    for token in &tokens {
        match folder(root, token) {
            Some(folder) if folders.contains(&folder) => {}
            Some(_) if folders.len() >= MOST_FOLDERS => overflow = true,
            Some(folder) => {
                finder.add_entry_files(&folder);
                folders.push(folder);
            }
            None => {}
        }
        // Any home will do: only files in the root count.
        if let Some(rest) = token.strip_prefix("~/") {
            root.ancestors().for_each(|home| finder.add(&home.join(rest)));
        }
    }
    let run_folders = named.commands.iter().filter(|words| runs_folder(words));
    for named in run_folders.flat_map(|words| words.iter().skip(1)).filter_map(|word| folder(root, word)) {
        finder.add_all(&named);
    }
    // `eslint .` only looks at the root, `node .` runs it.
    let runs_root =
        |words: &Vec<String>| runs_entry_file(words) && words.iter().any(|word| is_root(root, word));
    if named.commands.iter().any(runs_root) {
        finder.add_entry_files(root);
    }
    let manifests: BTreeSet<&str> = tokens.iter().flat_map(|token| manifests(token)).copied().collect();
    tokens.extend(manifests.into_iter().map(str::to_owned));
    for folder in &folders {
        tokens.iter().for_each(|name| finder.add(&folder.join(name)));
    }
    if overflow || finder.entries == 0 {
        finder.found.extend(unresolved(&command.script, "names more files than are looked at"));
    }
    for text in &named.unresolved {
        finder.found.extend(unresolved(text, "runs what is not known beforehand"));
    }
    finder.found
}

/// An entry that stands for files nobody can name.
fn unresolved(text: &str, why: &str) -> Option<(PathBuf, ContentHash)> {
    const SHOWN: usize = 60;
    let line: String = visible_line(text).chars().take(SHOWN).collect();
    Some((PathBuf::from(format!("`{line}` {why}")), unresolved_hash()))
}

/// The hash of what cannot be hashed. It holds for this process, so that a yes counts for it, and for no later one.
pub(super) fn unresolved_hash() -> ContentHash {
    static PROCESS: OnceLock<ContentHash> = OnceLock::new();
    *PROCESS.get_or_init(never_trusted)
}

/// Everything in a command that could be a path, and whether there is more than is looked at.
fn tokens(command: &CommandSource, named: &NamedWords, root: &Path) -> (BTreeSet<String>, bool) {
    // A variable may hold code; where nothing runs it, it does not matter what is not known of it.
    let values =
        command.variables.values().flat_map(|value| named_words(value, root, &command.variables).words);
    let words: BTreeSet<String> = named.words.iter().cloned().chain(values).collect();
    let mut tokens = words.clone();
    let mut previous = "";
    for text in command.texts() {
        tokens.insert(text.to_owned());
        for piece in text.split_whitespace() {
            tokens.extend(pieces(piece));
            if previous == "-m" {
                tokens.extend(module_files(piece));
            }
            previous = piece;
        }
    }
    for word in &words {
        tokens.extend(pieces(word));
        // An option or a variable whose value holds blanks.
        tokens.extend(word.split_once('=').map(|(_, value)| value.to_owned()));
    }
    for words in named.commands.iter().flat_map(|words| words.windows(2)).filter(|words| words[0] == "-m") {
        tokens.extend(module_files(&words[1]));
    }
    // Node finds a script without its ending.
    let scripts: Vec<String> = tokens.iter().map(|token| format!("{token}.js")).collect();
    tokens.extend(scripts);
    tokens.retain(|token| !matches!(token.as_str(), "" | ".js"));
    let overflow = tokens.len() > MOST_TOKENS;
    (tokens.into_iter().take(MOST_TOKENS).collect(), overflow)
}

/// The parts of a word that could be a path: between shell syntax, behind an option and its letter.
fn pieces(word: &str) -> Vec<String> {
    let here =
        ["$PWD", "${PWD}", "$(pwd)"].iter().fold(word.to_owned(), |word, here| word.replace(here, "."));
    let split = |c: char| c.is_whitespace() || ";|&()<>{}\"'`=,:$".contains(c);
    let both = |piece: &str| {
        let bare = match piece.strip_prefix('-') {
            Some(option) => option.get(1..).unwrap_or_default(),
            None => piece.trim_start_matches('@'),
        };
        [piece.to_owned(), bare.to_owned()]
    };
    here.split(split).flat_map(both).collect()
}

/// The files of a module of Python: itself, and what is run before it.
fn module_files(module: &str) -> Vec<String> {
    let path = module.replace('.', "/");
    let packages = Path::new(&path).ancestors().filter(|package| !package.as_os_str().is_empty());
    let mut files: Vec<String> =
        packages.map(|package| format!("{}/__init__.py", package.display())).collect();
    files.extend([format!("{path}.py"), path]);
    files
}

/// The folder below the root that a token names.
fn folder(root: &Path, token: &str) -> Option<PathBuf> {
    let real = root.join(token).canonicalize().ok()?;
    (real.starts_with(root) && real != root && real.is_dir()).then_some(real)
}

fn is_root(root: &Path, word: &str) -> bool {
    !word.is_empty() && root.join(word).canonicalize().is_ok_and(|real| real == root)
}

struct NamedFileFinder<'a> {
    root: &'a Path,
    /// Bytes that may still be hashed.
    left: u64,
    /// Entries of folders that may still be looked at.
    entries: usize,
    found: BTreeMap<PathBuf, ContentHash>,
}

impl NamedFileFinder<'_> {
    fn add(&mut self, path: &Path) {
        // A file that is missing or out of reach cannot be run either.
        let Ok(real) = path.canonicalize() else { return };
        let inside = |path: &Path| path.strip_prefix(self.root).ok().map(Path::to_owned);
        let plain = !path.components().any(|part| part == Component::ParentDir);
        let Some(name) = inside(&real).or_else(|| inside(path).filter(|_| plain)) else { return };
        if self.found.contains_key(&name) || !real.is_file() {
            return;
        }
        // A program that can be run and not read is one whose content nobody can vouch for.
        let hash = hash_file(&real, &mut self.left).unwrap_or_else(|_| never_trusted());
        self.found.insert(name, hash);
    }

    /// Adds what an interpreter runs when it is given a folder.
    fn add_entry_files(&mut self, folder: &Path) {
        ENTRY_FILES.iter().for_each(|name| self.add(&folder.join(name)));
        let manifest = folder.join("package.json");
        let Ok(read) = read_regular(&manifest, LONGEST_MANIFEST) else { return };
        if read.cut {
            return self.found.extend(unresolved(&manifest.display().to_string(), "is too long to be read"));
        }
        // Node reads no other kind of JSON either.
        let manifest: serde_json::Value = serde_json::from_slice(&read.bytes).unwrap_or_default();
        if let Some(main) = manifest["main"].as_str() {
            for ending in ["", ".js", ".json", ".node", "/index.js", "/index.json", "/index.node"] {
                self.add(&folder.join(format!("{main}{ending}")));
            }
        }
    }

    /// Adds every file below a folder, links aside.
    fn add_all(&mut self, folder: &Path) {
        for path in self.entries_of(folder) {
            match path.is_dir() {
                true if path.is_symlink() => {}
                true => self.add_all(&path),
                false => self.add(&path),
            }
        }
    }

    /// Adds what a pattern of a shell finds in the root.
    fn expand(&mut self, pattern: &str) {
        let path = Path::new(pattern);
        let relative = path.strip_prefix(self.root).unwrap_or(path);
        let mut places = vec![self.root.to_owned()];
        for part in relative.components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => return,
                Component::Normal(name) => {
                    let name = name.to_string_lossy();
                    places = places.iter().flat_map(|place| self.matches(place, &name)).collect();
                }
            }
        }
        let root = self.root;
        for place in places.iter().filter(|place| *place != root) {
            self.add(place);
        }
    }

    /// The entries of a folder that one part of a pattern finds; of one that no one can read, all.
    fn matches(&mut self, folder: &Path, part: &str) -> Vec<PathBuf> {
        if !part.contains(['*', '?', '[']) {
            return vec![folder.join(part)];
        }
        let matcher = GlobBuilder::new(part).build().map(|glob| glob.compile_matcher());
        let fits = |path: &PathBuf| {
            let name = path.file_name().map(Path::new);
            matcher.as_ref().map_or(true, |matcher| name.is_some_and(|name| matcher.is_match(name)))
        };
        self.entries_of(folder).into_iter().filter(fits).collect()
    }

    fn entries_of(&mut self, folder: &Path) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
        let taken: Vec<PathBuf> =
            entries.filter_map(Result::ok).map(|entry| entry.path()).take(self.entries).collect();
        self.entries -= taken.len();
        taken
    }
}

fn hash_file(path: &Path, left: &mut u64) -> io::Result<ContentHash> {
    let file: File = open_regular(path)?;
    if file.metadata()?.len() > *left {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut bounded = file.take(*left + 1);
    let hash = ContentHash::read(&mut bounded)?;
    *left = bounded.limit().checked_sub(1).ok_or(io::ErrorKind::FileTooLarge)?;
    hash.ok_or_else(|| io::ErrorKind::FileTooLarge.into())
}

/// A hash that no file has and that is another one each time.
fn never_trusted() -> ContentHash {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
    let (process, made) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
    ContentHash::of(format!("zdx: never trusted {process} {now} {made}").as_bytes())
}

/// A command of a project's configuration, bound to the files that the user trusts. To be asked right before the command is
/// run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedCommand {
    trusted: TrustedFiles,
    command: CommandSource,
}

impl PinnedCommand {
    /// Reads no file: it is made on threads that must not block.
    pub(super) fn new(trusted: TrustedFiles, command: CommandSource) -> Self {
        Self { trusted, command }
    }

    /// Returns why it must not be run, if one of the files that it names is not as it was trusted.
    pub async fn refusal(&self) -> Option<String> {
        let pinned = self.clone();
        let changed = tokio::task::spawn_blocking(move || pinned.changed()).await;
        let names = match changed {
            Ok(changed) if changed.is_empty() => return None,
            Ok(changed) => {
                changed.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
            }
            Err(_) => "a file it names".to_owned(),
        };
        Some(format!("{names} changed since you trusted this project; `zdx trust` asks again"))
    }

    fn changed(&self) -> Vec<PathBuf> {
        let mut now = named_files(&self.trusted.root, &self.command);
        now.retain(|path, content| !self.trusted.covers(path, content));
        now.into_keys().collect()
    }
}

#[cfg(test)]
#[path = "named_files/tests.rs"]
mod tests;
