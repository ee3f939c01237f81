//! Finds the files of a project that a command line names, so that trusting the command covers what it runs.
//! Errs on the side of too many: a file that is only data is hashed like a script. Runs nothing and grants nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};

use super::{ContentHash, TrustedFiles};
use crate::paths::open_regular;

/// Bytes that are hashed for one command. A file beyond them never counts as trusted, so it is asked about each time.
const HASHED_BYTES: u64 = 256 << 20;
/// Limits on what is looked up for one command; more than anybody writes.
const MOST_TOKENS: usize = 4096;
const MOST_FOLDERS: usize = 16;

/// Programs that run what a file of the folder says, and the names of that file.
const RUNNERS: [(&str, &[&str]); 9] = [
    ("npm pnpm yarn bun npx pnpx bunx", &["package.json"]),
    ("make gmake bmake", &["GNUmakefile", "makefile", "Makefile"]),
    ("just", &["justfile", "Justfile", ".justfile"]),
    ("task go-task", &["Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml"]),
    ("rake", &["Rakefile", "rakefile"]),
    ("composer", &["composer.json"]),
    ("deno", &["deno.json", "deno.jsonc"]),
    ("tox nox", &["tox.ini", "noxfile.py"]),
    ("poe pdm hatch poetry", &["pyproject.toml"]),
];

/// Files that an interpreter runs when it is given their folder.
const ENTRY_FILES: [&str; 3] = ["package.json", "index.js", "__main__.py"];

/// Returns the files inside `root`, which is canonical, that these words name, by their path from there. Each word is a
/// path, an option that holds one, or shell code that does. A link is followed; one that leads out of the root is listed
/// by its own name with the content it leads to.
pub(crate) fn named_files<'w>(
    root: &Path,
    words: impl IntoIterator<Item = &'w str>,
) -> BTreeMap<PathBuf, ContentHash> {
    let tokens = tokens(words);
    let mut finder = Finder { root, left: HASHED_BYTES, found: BTreeMap::new() };
    let mut folders = vec![root.to_owned()];
    for token in &tokens {
        match folder(root, token) {
            Some(folder) if folders.len() < MOST_FOLDERS && !folders.contains(&folder) => {
                ENTRY_FILES.iter().for_each(|name| finder.add(&folder.join(name)));
                folders.push(folder);
            }
            Some(_) | None => {}
        }
        // Whose home it is does not matter: only what lies in the root counts.
        if let Some(rest) = token.strip_prefix("~/") {
            root.ancestors().for_each(|home| finder.add(&home.join(rest)));
        }
    }
    let manifests: BTreeSet<&str> = tokens.iter().flat_map(|token| manifests(token)).copied().collect();
    for folder in &folders {
        for name in tokens.iter().map(String::as_str).chain(manifests.iter().copied()) {
            finder.add(&folder.join(name));
        }
    }
    finder.found
}

/// Everything in the words that could be a path.
fn tokens<'w>(words: impl IntoIterator<Item = &'w str>) -> BTreeSet<String> {
    let mut tokens = BTreeSet::new();
    let mut previous = "";
    for word in words {
        tokens.insert(word.to_owned());
        // What stands behind `-m` is a module of Python.
        let here = ["$PWD", "${PWD}", "$(pwd)"].iter().fold(word.to_owned(), |w, here| w.replace(here, "."));
        for piece in here.split(|c: char| c.is_whitespace() || ";|&()<>{}\"'`=,:$".contains(c)) {
            let bare = match piece.strip_prefix('-') {
                Some(option) => option.get(1..).unwrap_or_default(),
                None => piece.trim_start_matches('@'),
            };
            tokens.extend([piece, bare].map(str::to_owned));
        }
        for piece in word.split_whitespace() {
            if previous == "-m" {
                let module = piece.replace('.', "/");
                tokens.extend([format!("{module}.py"), module]);
            }
            previous = piece;
        }
    }
    // Node finds a script without its ending.
    let scripts: Vec<String> = tokens.iter().map(|token| format!("{token}.js")).collect();
    tokens.extend(scripts);
    tokens.into_iter().filter(|token| !matches!(token.as_str(), "" | ".js")).take(MOST_TOKENS).collect()
}

fn manifests(token: &str) -> &'static [&'static str] {
    let program = token.rsplit('/').next().unwrap_or(token);
    let runner = RUNNERS.iter().find(|(programs, _)| programs.split(' ').any(|name| name == program));
    runner.map_or(&[], |(_, manifests)| manifests)
}

/// The folder below the root that a token names.
fn folder(root: &Path, token: &str) -> Option<PathBuf> {
    let real = root.join(token).canonicalize().ok()?;
    (real.starts_with(root) && real != root && real.is_dir()).then_some(real)
}

struct Finder<'a> {
    root: &'a Path,
    /// Bytes that may still be hashed.
    left: u64,
    found: BTreeMap<PathBuf, ContentHash>,
}

impl Finder<'_> {
    fn add(&mut self, path: &Path) {
        // What is not there, or not to be reached, cannot be run either.
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
}

fn hash_file(path: &Path, left: &mut u64) -> io::Result<ContentHash> {
    let mut file: File = open_regular(path)?;
    if file.metadata()?.len() > *left {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 64 << 10]);
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(ContentHash(hash.finalize().into()));
        }
        hash.update(&buffer[..read]);
        *left = left.checked_sub(read as u64).ok_or(io::ErrorKind::FileTooLarge)?;
    }
}

/// A hash that no file has and that is another one each time.
fn never_trusted() -> ContentHash {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
    let (process, made) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
    ContentHash::of(format!("zdx: never trusted {process} {now} {made}").as_bytes())
}

/// A command of a project's configuration, bound to the files that it named when the project was trusted. To be asked
/// right before the command is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedCommand {
    root: PathBuf,
    words: Vec<String>,
    files: BTreeMap<PathBuf, ContentHash>,
}

impl PinnedCommand {
    pub(super) fn new(trusted: &TrustedFiles, words: Vec<String>) -> Self {
        let mut files = named_files(&trusted.root, words.iter().map(String::as_str));
        files.retain(|path, content| trusted.covers(path, content));
        Self { root: trusted.root.clone(), words, files }
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
        let mut now = named_files(&self.root, self.words.iter().map(String::as_str));
        now.retain(|path, content| self.files.get(path) != Some(content));
        now.into_keys().collect()
    }
}

#[cfg(test)]
#[path = "named_files/tests.rs"]
mod tests;
