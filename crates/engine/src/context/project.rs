//! `AGENTS.md` files (`CLAUDE.md` where a folder has none) from the farthest to the closest, and the instruction files that configuration names.
//! A file that cannot be used costs a notice, never the session.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::{fmt, io};

use super::globs;
use zdx_config::AppPaths;
use zdx_config::{FileRef, InstructionSource};
use zdx_workspace::own_files::read_regular;

const FILE_NAME: &str = "AGENTS.md";
/// What other agents' users have instead.
const FOREIGN_NAME: &str = "CLAUDE.md";
const LARGEST_FILE: usize = 64 * 1024;

const HEADING: &str = "# Project Context";
const PRECEDENCE: &str =
    "Guidelines by file, the farthest first: where they disagree, the closer, later one overrides.";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectContext {
    /// Empty when no file had anything to say.
    pub text: String,
    pub loaded: Vec<PathBuf>,
    pub notices: Vec<String>,
}

/// One place to look, and how far a link there may lead.
struct Candidate {
    path: PathBuf,
    /// Folders of a checkout are not the user's own words: a link in them must stay in them, or a cloned
    /// repository could send any file of the user's to a model.
    confined_to: Option<PathBuf>,
    /// Named in configuration, so its absence is worth a word.
    expected: bool,
}

pub fn load_project_context(
    paths: &AppPaths,
    root: &Path,
    instructions: &[InstructionSource],
) -> ProjectContext {
    let mut sections = Sections::default();
    for candidate in agents_files(paths, root) {
        sections.file(candidate);
    }
    for instruction in instructions {
        match instruction {
            InstructionSource::File(FileRef { path, confined_to, .. }) => {
                let (files, notice) = globs::expand(path);
                sections.context.notices.extend(notice);
                for path in files {
                    sections.file(Candidate { path, confined_to: confined_to.clone(), expected: true });
                }
            }
            InstructionSource::Text { text, source } => sections.add(source, text),
        }
    }
    sections.finish()
}

#[derive(Default)]
struct Sections {
    texts: Vec<String>,
    /// One file reached twice is read once.
    seen: HashSet<PathBuf>,
    context: ProjectContext,
}

impl Sections {
    fn file(&mut self, candidate: Candidate) {
        let real = candidate.path.canonicalize().ok();
        if real.as_ref().is_some_and(|real| !self.seen.insert(real.clone())) {
            return;
        }
        let shown = candidate.path.display();
        match read(&candidate, real.as_deref()) {
            Ok(None) => {}
            Ok(Some(Read { text, notice })) => {
                self.context.notices.extend(notice.map(|what| format!("{shown}: {what}")));
                if !text.trim().is_empty() {
                    self.add(&shown, &text);
                    self.context.loaded.push(candidate.path);
                }
            }
            Err(what) => self.context.notices.push(format!("{shown} is left out: {what}")),
        }
    }

    fn add(&mut self, name: &dyn fmt::Display, text: &str) {
        self.texts.push(format!("## {name}\n\n{}", text.trim()));
    }

    fn finish(mut self) -> ProjectContext {
        if !self.texts.is_empty() {
            self.context.text = format!("{HEADING}\n\n{PRECEDENCE}\n\n{}\n", self.texts.join("\n\n"));
        }
        self.context
    }
}

/// Where `AGENTS.md` may lie, the most general first.
fn agents_files(paths: &AppPaths, root: &Path) -> Vec<Candidate> {
    let named = |dir: &Path| {
        let (own, foreign) = (dir.join(FILE_NAME), dir.join(FOREIGN_NAME));
        // A link to nothing is a file that somebody wants told of.
        if own.symlink_metadata().is_err() && foreign.is_file() { foreign } else { own }
    };
    let own = |dir: &Path| Candidate { path: named(dir), confined_to: None, expected: false };
    let foreign = |dir: &Path| Candidate { confined_to: Some(dir.to_owned()), ..own(dir) };
    let mut found = vec![own(paths.base())];
    // Compared as they really are: home is often a link, and so is a temporary folder.
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let home = paths.home().map(|home| home.canonicalize().unwrap_or_else(|_| home.to_owned()));
    let below_home = home.as_deref().and_then(|home| Some((home, root.strip_prefix(home).ok()?)));
    match below_home {
        None => found.push(foreign(&root)),
        Some((home, below)) => {
            found.push(own(home));
            let mut dir = home.to_owned();
            for name in below {
                dir.push(name);
                found.push(foreign(&dir));
            }
        }
    }
    found
}

struct Read {
    text: String,
    notice: Option<String>,
}

/// None: there is no such file, and nobody said there would be.
fn read(candidate: &Candidate, real: Option<&Path>) -> Result<Option<Read>, String> {
    if let (Some(folder), Some(real)) = (&candidate.confined_to, real) {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        if !real.starts_with(folder) {
            return Err("it is a link that leads out of its folder; copy the text instead".to_owned());
        }
    }
    let read = match read_regular(&candidate.path, LARGEST_FILE) {
        Ok(read) => read,
        Err(error) if is_absent(&error) && !candidate.expected => {
            let is_link = candidate.path.symlink_metadata().is_ok();
            return if is_link { Err("it is a link to nothing".to_owned()) } else { Ok(None) };
        }
        Err(error) => return Err(error.to_string()),
    };
    let whole = match std::str::from_utf8(&read.bytes) {
        // A cut in the middle of a character is ours, not the file's.
        Err(error) if read.cut && error.error_len().is_none() => &read.bytes[..error.valid_up_to()],
        Ok(_) | Err(_) => &read.bytes[..],
    };
    let text = String::from_utf8_lossy(whole);
    let mut text = text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned();
    let mut notice = std::str::from_utf8(whole)
        .is_err()
        .then(|| "it is not valid UTF-8; unreadable characters were replaced".to_owned());
    if read.cut {
        text.push_str("\n\n[cut: this file is longer than 64 KiB; read it for the rest]");
        notice = Some("only its first 64 KiB are given to the model; shorten it".to_owned());
    }
    Ok(Some(Read { text, notice }))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
#[path = "tests/project.rs"]
mod tests;
