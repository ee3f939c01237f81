//! Skills: folders with a `SKILL.md`, known by name and description, read in full only when asked for.
//! A skill is text. Whatever its front matter asks for (`allowed-tools`), it is granted nothing.

use std::collections::VecDeque;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::frontmatter::{LibraryError, MarkdownDocument, first_paragraph};
use super::places::{GatheredFiles, LibraryFile, LibraryFolders, LibraryKind, LibraryScope};
use zdx_workspace::text::{LIMIT, first};
use zdx_workspace::workspace::Workspace;

const LONGEST_NAME: usize = 64;
const LONGEST_DESCRIPTION: usize = 1024;
const MOST_RESOURCES: usize = 100;
const MOST_RESOURCE_DIRS: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    /// One line, never empty, at most 1,024 bytes.
    pub description: String,
    pub file: PathBuf,
    /// The skill's folder, every link followed.
    pub dir: PathBuf,
    pub scope: LibraryScope,
    confined_to: PathBuf,
    /// `disable-model-invocation`: the user may load it, a model is not told of it.
    pub hidden: bool,
    /// Reading its folder may be allowed along with it; false when that folder is home, say.
    pub dir_is_its_own: bool,
}

/// All skills of a session, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillLibrary {
    list: Vec<Skill>,
}

impl SkillLibrary {
    /// From all places, then from `skills.paths` of configuration. Of one name the first counts; notices tell the rest.
    pub fn load(places: &LibraryFolders, config: &Map<String, Value>) -> (Self, Vec<String>) {
        let (extra, mut notices) = extra_paths(places, config);
        let GatheredFiles { found, notices: more } = places.gather(LibraryKind::Skills, &extra);
        notices.extend(more);
        let mut taken: Vec<(Skill, PathBuf)> = Vec::new();
        for found in found {
            let (skill, hints) = skill(&found, places);
            notices.extend(hints);
            match taken.iter().find(|(other, _)| other.name == skill.name) {
                Some((other, base)) => {
                    notices.push(clash("skill", &skill.name, &skill.file, &other.file, *base == found.base))
                }
                None => taken.push((skill, found.base)),
            }
        }
        let mut list: Vec<Skill> = taken.into_iter().map(|(skill, _)| skill).collect();
        list.sort_by(|a, b| a.name.cmp(&b.name));
        (Self { list }, notices)
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Skill> {
        self.list.iter()
    }

    pub fn get(&self, name: &str) -> Option<&Skill> {
        self.list.iter().find(|skill| skill.name == name)
    }

    /// What a model may know of: neither hidden by its author nor refused by `allowed` (`permission.skill`).
    pub fn for_model(&self, allowed: impl Fn(&str) -> bool) -> Self {
        let visible = |skill: &&Skill| !skill.hidden && allowed(&skill.name);
        Self { list: self.list.iter().filter(visible).cloned().collect() }
    }

    /// Names near to one that is not there.
    pub fn near(&self, name: &str) -> Vec<&str> {
        let names: Vec<&str> = self.list.iter().map(|skill| skill.name.as_str()).collect();
        zdx_protocol::compare::nearest(name, &names, 3, 0.5)
    }

    /// Name and description of each, a line a skill, in no more than `limit` bytes: descriptions get shorter before
    /// skills are left out, and then the text says how many.
    pub fn catalogue(&self, limit: usize) -> String {
        let with = |longest: usize| {
            let mut text = String::new();
            for skill in &self.list {
                let _ = match longest {
                    0 => writeln!(text, "- {}", skill.name),
                    _ => writeln!(text, "- {}: {}", skill.name, shortened(&skill.description, longest)),
                };
            }
            text
        };
        let fitting = [LONGEST_DESCRIPTION, 400, 200, 100, 50, 0]
            .into_iter()
            .map(with)
            .find(|text| text.len() <= limit);
        fitting.unwrap_or_else(|| {
            let text = with(0);
            let kept = first(&text, limit.saturating_sub(80)).rsplit_once('\n').map_or("", |(kept, _)| kept);
            let left = self.list.len() - kept.lines().count();
            format!("{kept}\n… and {left} more: call this tool without a name to see all\n")
        })
    }
}

impl Skill {
    /// What a model gets when it asks for the skill: the text, where its files are, and their names.
    pub fn content(&self) -> Result<String, LibraryError> {
        let refused = |error: std::io::Error| LibraryError {
            place: self.file.display().to_string(),
            message: error.to_string(),
        };
        let folder = Workspace::open(&self.confined_to).map_err(refused)?;
        let body = MarkdownDocument::read(&folder, &self.file)?.body;
        let shown = first(&body, LIMIT);
        let mut text = format!("<skill_content name=\"{}\">\n", self.name);
        // The text must not be able to end its own frame.
        text.push_str(&shown.replace("</skill_", "<\\/skill_"));
        if shown.len() < body.len() {
            let _ = write!(text, "\n[cut after {LIMIT} bytes: read {} for the rest]", self.file.display());
        }
        let _ = write!(
            text,
            "\n\nSkill directory: {}\nRelative paths in this skill start there.\n",
            self.dir.display()
        );
        // A folder that has become a link since is another folder.
        let same = self.dir.canonicalize().is_ok_and(|dir| dir == self.dir);
        let (resources, all) = if same { resources(&self.dir) } else { (Vec::new(), true) };
        if !resources.is_empty() {
            text.push_str("<skill_resources>\n");
            for file in &resources {
                let _ = writeln!(text, "<file>{file}</file>");
            }
            if !all {
                text.push_str("(and more)\n");
            }
            text.push_str("</skill_resources>\n");
        }
        text.push_str("</skill_content>");
        Ok(text)
    }

    /// The folder that is the skill's alone, if it has one.
    pub fn own_folder(&self) -> Option<&Path> {
        self.dir_is_its_own.then_some(&self.dir)
    }
}

/// Says which of two things of one name is used. `same_tree`: both lie in one place, so the path decided.
pub(super) fn clash(what: &str, name: &str, loser: &Path, winner: &Path, same_tree: bool) -> String {
    let why = if same_tree { "there are two of that name in one place" } else { "it is shadowed" };
    format!("{what} `{name}` of {} is not used: {why}; {} is", loser.display(), winner.display())
}

fn extra_paths(places: &LibraryFolders, config: &Map<String, Value>) -> (Vec<PathBuf>, Vec<String>) {
    let listed = match config.get("paths") {
        None | Some(Value::Null) => return Default::default(),
        Some(Value::String(one)) => vec![one.as_str()],
        Some(Value::Array(items)) if items.iter().all(Value::is_string) => {
            items.iter().filter_map(Value::as_str).collect()
        }
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            return (Vec::new(), vec!["skills.paths must be a list of folders; it is ignored".to_owned()]);
        }
    };
    (listed.into_iter().map(|path| places.named(path)).collect(), Vec::new())
}

fn skill(found: &LibraryFile, places: &LibraryFolders) -> (Skill, Vec<String>) {
    let LibraryFile { document, scope, confined_to, .. } = found;
    let mut hints: Vec<String> = Vec::new();
    hints.extend(
        document.fault.as_ref().map(|fault| format!("{fault}; the skill is used as far as it can be read")),
    );
    let file = document.path.clone();
    let parent = file.parent().unwrap_or(Path::new("/"));
    let dir = parent.canonicalize().unwrap_or_else(|_| parent.to_owned());
    let folder = parent.file_name().map_or_else(|| "skill".into(), |name| one_word(&name.to_string_lossy()));
    let name = match document.fields.text(&["name"]) {
        None => folder,
        Some(name) => {
            let word = one_word(&name);
            if word != name || name.chars().count() > LONGEST_NAME {
                hints.push(format!("{}: its name is not one word of at most {LONGEST_NAME} characters; it is called `{word}` here", file.display()));
            } else if word != folder {
                hints.push(format!(
                    "{}: its name, `{word}`, is not its folder's; `{word}` counts",
                    file.display()
                ));
            }
            word
        }
    };
    let described = document.fields.text(&["description"]).or_else(|| first_paragraph(&document.body));
    let description = described.map(|text| shortened(&one_line(&text), LONGEST_DESCRIPTION));
    // Unreadable counts as yes: hiding is the safe side.
    let hidden = document.fields.flag(&["disable-model-invocation"]).unwrap_or_else(|error| {
        hints.push(format!("{error}; the skill is hidden from models"));
        true
    });
    let skill = Skill {
        description: description
            .filter(|text| !text.is_empty())
            .unwrap_or_else(|| format!("the skill {name}")),
        name,
        scope: *scope,
        confined_to: confined_to.clone(),
        hidden,
        dir_is_its_own: !places.is_wide(&dir),
        file,
        dir,
    };
    (skill, hints)
}

/// Fit for a list, a schema and a prompt: what is no letter, digit, `.`, `_`, `:` or `-` becomes `-`.
fn one_word(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '.' | '_' | ':' | '-') { c } else { '-' };
    let word: String = name.trim().chars().map(plain).take(LONGEST_NAME).collect();
    if word.is_empty() { "skill".to_owned() } else { word }
}

pub(super) fn one_line(text: &str) -> String {
    let clean = text.replace(char::is_control, " ");
    clean.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// At most `limit` bytes, cut between words where that costs little.
pub(super) fn shortened(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let cut = first(text, limit.saturating_sub('…'.len_utf8()));
    let word = cut.rfind(' ').filter(|at| *at > cut.len() / 2).map_or(cut, |at| &cut[..at]);
    format!("{}…", word.trim_end())
}

/// Files beside `SKILL.md`, relative, sorted; false when there are more. Follows no link.
fn resources(dir: &Path) -> (Vec<String>, bool) {
    let mut files = Vec::new();
    let mut ahead = VecDeque::from([(dir.to_owned(), 0)]);
    let mut dirs = 0;
    while let Some((at, depth)) = ahead.pop_front() {
        dirs += 1;
        let mut entries: Vec<_> =
            std::fs::read_dir(&at).into_iter().flatten().take(1_000).flatten().collect();
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name();
            let hidden = name.to_string_lossy().starts_with('.') || name == "node_modules";
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && !hidden && depth < 3 => {
                    ahead.push_back((entry.path(), depth + 1))
                }
                Ok(kind) if kind.is_file() && !hidden && (depth > 0 || name != "SKILL.md") => {
                    let path = entry.path();
                    let below = path.strip_prefix(dir).unwrap_or(&path);
                    files.push(one_line(&below.to_string_lossy()));
                }
                Ok(_) | Err(_) => {}
            }
            if files.len() > MOST_RESOURCES || dirs > MOST_RESOURCE_DIRS {
                files.truncate(MOST_RESOURCES);
                files.sort();
                return (files, false);
            }
        }
    }
    files.sort();
    (files, true)
}

#[cfg(test)]
mod tests;
