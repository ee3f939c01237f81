//! Which of a project's commands and agents ask for more than to be read: shell spans, a model, files of the user's,
//! allow rules. A file in which nothing is found stays untrusted for good, so an oversight here grants nothing.

use crate::library::places::FOLDERS;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::{Digest, Project, Want, relative};
use crate::tools::workspace::Workspace;

const DEEPEST: usize = 6;
const MOST_ENTRIES: usize = 4_000;
const LARGEST_FILE: u64 = 256 * 1024;
const MOST_BYTES: usize = 16 << 20;

#[derive(Clone, Copy)]
enum Kind {
    Command,
    Agent,
}

const PLACES: [(&str, Kind); 4] = [
    ("commands", Kind::Command),
    ("command", Kind::Command),
    ("agents", Kind::Agent),
    ("agent", Kind::Agent),
];

pub fn scan(project: &mut Project) {
    // A root that cannot be opened is reported by whoever works in it.
    let Ok(workspace) = Workspace::open(&project.root) else { return };
    let mut scan = Scan { workspace, project, seen: HashSet::new(), entries: 0, bytes: 0 };
    for folder in FOLDERS {
        for (name, kind) in PLACES {
            let dir = scan.project.root.join(folder).join(name);
            if dir.symlink_metadata().is_ok() {
                scan.folder(&dir, kind, 0);
            }
        }
    }
    if scan.entries > MOST_ENTRIES || scan.bytes > MOST_BYTES {
        let message =
            "this project has more commands and agents than zdx looks through; the rest stays untrusted";
        scan.project.notices.push(message.to_owned());
    }
}

struct Scan<'a> {
    workspace: Workspace,
    project: &'a mut Project,
    /// Real paths: a loop of links ends.
    seen: HashSet<PathBuf>,
    entries: usize,
    bytes: usize,
}

impl Scan<'_> {
    fn folder(&mut self, dir: &Path, kind: Kind, depth: usize) {
        if !self.is_new_and_inside(dir) {
            return;
        }
        let Ok(listed) = std::fs::read_dir(dir) else { return };
        let mut paths: Vec<PathBuf> = Vec::new();
        for entry in listed.flatten() {
            self.entries += 1;
            if self.entries > MOST_ENTRIES {
                break;
            }
            paths.push(entry.path());
        }
        paths.sort();
        for path in paths {
            if self.bytes > MOST_BYTES {
                return;
            }
            if path.is_dir() {
                let deeper = matches!(kind, Kind::Command) && depth < DEEPEST;
                if deeper {
                    self.folder(&path, kind, depth + 1);
                }
            } else if path.extension().is_some_and(|extension| extension == "md") {
                self.file(&path, kind);
            }
        }
    }

    fn is_new_and_inside(&mut self, path: &Path) -> bool {
        match self.workspace.locate(path) {
            Ok(target) if target.inside => self.seen.insert(target.path),
            Ok(target) if target.exists => {
                let path = path.display();
                self.project.notices.push(format!("ignored: {path} is a link that leads out of the project"));
                false
            }
            Ok(_) | Err(_) => false,
        }
    }

    /// What cannot be read cannot be trusted; whoever loads it says why.
    fn file(&mut self, path: &Path, kind: Kind) {
        if !self.is_new_and_inside(path) {
            return;
        }
        let read =
            self.workspace.locate(path).and_then(|target| self.workspace.read_file(&target, LARGEST_FILE));
        let Ok(bytes) = read else { return };
        self.bytes += bytes.len();
        let Ok(text) = std::str::from_utf8(&bytes) else { return };
        let file = relative(&self.project.root, path);
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let found = match kind {
            Kind::Command => command_wants(text),
            Kind::Agent => agent_wants(text),
        };
        if found.is_empty() {
            return;
        }
        let key = match kind {
            Kind::Command => format!("/{name}"),
            Kind::Agent => format!("agent {name}"),
        };
        let wants = found.into_iter().map(|(line, what)| Want {
            file: file.clone(),
            line,
            key: key.clone(),
            what: format!("{key}: {what}"),
        });
        self.project.wants.extend(wants);
        self.project.files.insert(file, Digest::of(&bytes));
    }
}

type Found = Vec<(usize, String)>;

fn command_wants(text: &str) -> Found {
    let mut found = model_choice(text);
    for (number, line) in text.lines().enumerate() {
        found.extend(shell_spans(line).map(|command| (number + 1, format!("run {command}"))));
        let outside = |word: &&str| {
            let named = word.trim_start_matches(['(', '"', '\'', '`']).strip_prefix('@').unwrap_or_default();
            let named = named.strip_prefix("file:").unwrap_or(named).trim_start_matches('"');
            named.starts_with(['/', '~']) || named.starts_with("../") || named.contains("/../")
        };
        found.extend(
            line.split_whitespace()
                .filter(outside)
                .map(|word| (number + 1, format!("send the model {word}"))),
        );
    }
    found
}

/// `` !`cmd` `` on one line.
fn shell_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split("!`")
        .skip(1)
        .filter_map(|rest| rest.split_once('`'))
        .map(|(command, _)| command.trim())
        .filter(|command| !command.is_empty())
}

fn agent_wants(text: &str) -> Found {
    let mut found = model_choice(text);
    let mut in_rules = false;
    for (line, text) in front_matter(text) {
        if let Some(key) = key_of(text) {
            in_rules = key == "permission";
        }
        // Words, so that `disallow` is none of them.
        let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
        if in_rules && words.any(|word| word.eq_ignore_ascii_case("allow")) {
            found.push((line, format!("allow without asking: {}", text.trim())));
        }
    }
    found
}

fn model_choice(text: &str) -> Found {
    let chosen = front_matter(text).filter(|(_, text)| key_of(text) == Some("model"));
    chosen
        .filter_map(|(line, text)| {
            let model = text.split_once(':')?.1.trim();
            let none = model.is_empty() || model == "inherit";
            (!none).then(|| (line, format!("have the model {model} answer")))
        })
        .collect()
}

/// The lines between the two `---`, with their numbers.
fn front_matter(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut lines = text.trim_start_matches('\u{feff}').lines().enumerate().map(|(n, line)| (n + 1, line));
    let opens = lines.next().is_some_and(|(_, first)| first.trim_end() == "---");
    lines.take_while(move |(_, line)| opens && line.trim_end() != "---")
}

/// The name of a top-level entry, quoted or not.
fn key_of(line: &str) -> Option<&str> {
    if line.starts_with([' ', '\t', '#', '-']) {
        return None;
    }
    line.split_once(':').map(|(key, _)| key.trim().trim_matches(['"', '\'']))
}
