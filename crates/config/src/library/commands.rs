//! Custom slash commands: `commands/**/*.md`, and what one becomes when it is called with arguments.
//! Runs nothing and reads no mentioned file: shell spans and mentions come back as data, with whose words they are.

use std::path::{Component, Path};

use super::frontmatter::first_paragraph;
use super::places::{GatheredFiles, LibraryFile, LibraryFolders, LibraryKind, LibraryScope};
use super::skills::{clash, one_line, shortened};

mod expand;

pub use expand::{ExpandError, ExpandedCommand};

const LONGEST_NAME: usize = 128;
const LONGEST_DESCRIPTION: usize = 200;
/// Of `` !`cmd` `` in one command.
const MOST_SHELLS: usize = 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomCommand {
    /// Without the slash: `a:b` for `a/b.md`.
    pub name: String,
    pub description: String,
    /// `argument-hint`: what to type after the name.
    pub hint: Option<String>,
    pub agent: Option<String>,
    pub model: Option<String>,
    pub template: String,
    pub scope: LibraryScope,
    pub source: std::path::PathBuf,
}

/// All custom commands, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLibrary {
    list: Vec<CustomCommand>,
}

impl CommandLibrary {
    /// `reserved`: names of built-in commands, which no file takes over.
    pub fn load(places: &LibraryFolders, reserved: &[&str]) -> (Self, Vec<String>) {
        let GatheredFiles { found, mut notices } = places.gather(LibraryKind::Commands, &[]);
        let mut taken: Vec<(CustomCommand, std::path::PathBuf)> = Vec::new();
        for found in found {
            let shown = found.document.path.display();
            let command = match CustomCommand::read(&found) {
                Ok(command) => command,
                Err(why) => {
                    notices.push(format!("{shown} {why}"));
                    continue;
                }
            };
            let name = &command.name;
            if reserved.contains(&name.as_str()) {
                notices.push(format!("{shown} is not used: /{name} is one of zdx's own; rename the file"));
                continue;
            }
            if let Some(fault) = &found.document.fault {
                notices.push(format!("{fault}; the command is used as far as it can be read"));
            }
            if let Some((winner, base)) = taken.iter().find(|(other, _)| other.name == *name) {
                let (path, same_tree) = (&found.document.path, *base == found.base);
                notices.push(clash("command", &format!("/{name}"), path, &winner.source, same_tree));
                continue;
            }
            taken.push((command, found.base));
        }
        let mut list: Vec<CustomCommand> = taken.into_iter().map(|(command, _)| command).collect();
        list.sort_by(|a, b| a.name.cmp(&b.name));
        (Self { list }, notices)
    }

    pub fn get(&self, name: &str) -> Option<&CustomCommand> {
        self.list.iter().find(|command| command.name == name)
    }

    pub fn iter(&self) -> impl Iterator<Item = &CustomCommand> {
        self.list.iter()
    }
}

impl CustomCommand {
    /// What a file says, or why it is no command.
    pub fn read(found: &LibraryFile) -> Result<Self, String> {
        let document = &found.document;
        let Some(name) = name(document.path.strip_prefix(&found.base).unwrap_or(&document.path)) else {
            return Err("is no command: its name must be of letters, digits, `.`, `_` and `-`".to_owned());
        };
        if expand::shells(&document.body).count() > MOST_SHELLS {
            return Err(format!("is not used: it runs more than {MOST_SHELLS} commands"));
        }
        let fields = &document.fields;
        let described = fields.text(&["description"]).or_else(|| first_paragraph(&document.body));
        let short = |text: String| shortened(&one_line(&text), LONGEST_DESCRIPTION);
        Ok(Self {
            name,
            description: described.map(short).unwrap_or_default(),
            hint: fields.text(&["argument-hint"]).map(short),
            agent: fields.text(&["agent"]),
            model: fields.text(&["model"]).filter(|model| model != "inherit"),
            template: document.body.clone(),
            scope: found.scope,
            source: document.path.clone(),
        })
    }

    /// The commands in the template, each with where it begins.
    pub fn shells(&self) -> impl Iterator<Item = (usize, &str)> {
        expand::shells(&self.template)
    }

    /// `arguments` is what the user typed after the name, as it was typed. Of an untrusted project's command the text
    /// counts, and nothing else: it runs nothing, chooses no model and mentions nothing outside.
    pub fn expand(&self, arguments: &str) -> Result<ExpandedCommand, ExpandError> {
        expand::expand(self, arguments)
    }
}

/// `a/b.md` is `a:b`; a folder named `commands` on the way says nothing.
fn name(below: &Path) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    for component in below.with_extension("").components() {
        match component {
            Component::Normal(part) => parts.push(part.to_str()?.to_owned()),
            Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
                return None;
            }
        }
    }
    let last = parts.len().checked_sub(1)?;
    let mut at = 0;
    parts.retain(|part| {
        at += 1;
        at > last || part != "commands"
    });
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
    let fits = parts.iter().all(|part| !part.is_empty() && part.chars().all(plain));
    let name = parts.join(":");
    (fits && name.len() <= LONGEST_NAME).then_some(name)
}

#[cfg(test)]
mod tests;
