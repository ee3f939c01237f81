//! What is known of each built-in tool besides what a model is told (tool metadata): its names, the spellings of its
//! arguments, its permission key, what it touches, its kind and how it is labelled. One row a tool, one file a row.
//! Tools of other programs have no row and are taken as they come. Never knows how a tool does its work.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::code::Level;
use crate::tool::CallKind;
use crate::typeset::diff::{Bounds, Line};

mod bash;
mod edit;
mod glob;
mod grep;
mod list;
mod mcp_call;
mod patch;
mod read;
mod skill;
mod task;
mod todo;
mod tool_search;
mod words;
mod write;

pub use bash::{BASH, SO_FAR};
pub use edit::EDIT;
pub use glob::GLOB;
pub use grep::GREP;
pub use list::LIST;
pub use mcp_call::MCP_CALL;
pub use patch::PATCH;
pub use read::READ;
pub use skill::SKILL;
pub use task::TASK;
pub use todo::{TODOREAD, TODOWRITE};
pub use tool_search::TOOL_SEARCH;
pub use words::quote;
pub use write::WRITE;

/// Of two that go by the same name the likelier comes first.
pub static ALL: [&ToolFacts; 14] = [
    &READ,
    &WRITE,
    &EDIT,
    &BASH,
    &PATCH,
    &LIST,
    &GLOB,
    &GREP,
    &TODOWRITE,
    &TODOREAD,
    &SKILL,
    &TASK,
    &TOOL_SEARCH,
    &MCP_CALL,
];

pub struct ToolFacts {
    /// What a model is told, and what records and events say.
    pub name: &'static str,
    /// Other names that models and backends use for it in calls; never advertised.
    pub aliases: &'static [&'static str],
    /// Further names in the tool lists of agents' files: there a name stands for the right to such work, whereas a call
    /// under it would bring other arguments.
    pub listed_as: &'static [&'static str],
    pub arguments: &'static [Argument],
    pub permission: PermissionKey,
    pub kind: CallKind,
    pub touches: Touches,
    /// How to get at the rest of a result that was cut to fit the context.
    pub when_cut: &'static str,
    pub label: Label,
    pub title: Title,
}

/// An argument, and what else models call it. Only names that can mean nothing else: `timeout`, for one, is
/// milliseconds to some.
pub struct Argument {
    pub name: &'static str,
    pub others: &'static [&'static str],
    /// A command line: a list is read as the words of one, which a shell must see quoted.
    pub words: bool,
}

/// What permission rules call a tool; several tools may share one key.
pub struct PermissionKey {
    pub key: &'static str,
    /// Other names for it in a permission table; one name may stand for several keys.
    pub others: &'static [&'static str],
    /// Whether it takes a table of patterns.
    pub patterns: bool,
    /// What holds when nobody wrote anything.
    pub level: Level,
}

/// What a call is about; each names the argument that says which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touches {
    Nothing,
    /// Reads this file.
    Reads(&'static str),
    /// Changes this file.
    Changes(&'static str),
    /// Changes the files that this patch names.
    Patches(&'static str),
    /// Runs this command line, which may touch anything.
    Runs(&'static str),
}

/// How calls and results are worded; where a function says nothing, the plain fields are shown.
pub struct Label {
    pub call: fn(&Given<'_>) -> Option<String>,
    /// What `call` says is shown whole, however long it is.
    pub whole: bool,
    pub outcome: fn(&Value) -> Option<String>,
    /// What a result changed, in lines.
    pub summary: fn(&Given<'_>, &Value, Bounds) -> Vec<Line>,
}

impl Label {
    const PLAIN: Self =
        Self { call: |_| None, whole: false, outcome: |_| None, summary: |_, _, _| Vec::new() };
}

/// How a call is told to a person, in a line: a verb, what it is about, how it ended.
pub struct Title {
    pub verb: Verb,
    /// What it is about; where nothing is said, the plain fields.
    pub subject: fn(&Given<'_>) -> Option<String>,
    /// How it ended well; where nothing is said, as the label's outcome says.
    pub ended: fn(&Value) -> Option<String>,
    /// Several in a row are told as one: what they are counted in.
    pub folds: Option<&'static str>,
}

/// `Running`, `Ran`, and `Run` of what was not done.
pub struct Verb {
    pub doing: &'static str,
    pub done: &'static str,
    pub plain: &'static str,
}

impl Title {
    const fn of(doing: &'static str, done: &'static str, plain: &'static str) -> Self {
        Self { verb: Verb { doing, done, plain }, subject: |_| None, ended: |_| None, folds: None }
    }
}

/// How to get at the rest where nothing better is known.
pub const LESS: &str = "; ask for less at a time";

/// A file or folder.
const PATH: Argument = Argument::spelt(
    "path",
    &[
        "file_path",
        "filePath",
        "filepath",
        "filename",
        "file_name",
        "file",
        "absolute_path",
        "directory",
        "dir",
        "dir_path",
        "folder",
        "target_directory",
    ],
);
const PATTERN: Argument = Argument::spelt("pattern", &["query", "regex", "regexp", "search", "glob_pattern"]);
const LIMIT: Argument = Argument::spelt(
    "limit",
    &["max_lines", "maxLines", "num_lines", "line_count", "max_results", "maxResults", "head_limit"],
);
/// Every tool of other programs, and what leads to them.
pub(crate) const MCP: PermissionKey = PermissionKey::of_names("mcp", Level::Ask);
const HIDDEN: Argument = Argument::spelt("hidden", &["include_hidden", "includeHidden", "show_hidden"]);

impl Argument {
    const fn plain(name: &'static str) -> Self {
        Self::spelt(name, &[])
    }

    const fn spelt(name: &'static str, others: &'static [&'static str]) -> Self {
        Self { name, others, words: false }
    }

    /// Its own name first.
    fn spellings(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.others.iter().copied())
    }
}

impl PermissionKey {
    const fn plain(key: &'static str, level: Level) -> Self {
        Self { key, others: &[], patterns: false, level }
    }

    const fn of_names(key: &'static str, level: Level) -> Self {
        Self { patterns: true, ..Self::plain(key, level) }
    }
}

impl ToolFacts {
    /// Whether its work is to change files that its arguments name.
    pub fn changes_files(&self) -> bool {
        match self.touches {
            Touches::Changes(_) | Touches::Patches(_) => true,
            Touches::Nothing | Touches::Reads(_) | Touches::Runs(_) => false,
        }
    }

    /// Whether an argument of this name says which file is changed.
    pub fn names_changed(&self, argument: &str) -> bool {
        let Touches::Changes(which) = self.touches else { return false };
        let named = |known: &&Argument| known.name == which;
        self.arguments.iter().find(named).is_some_and(|known| known.spellings().any(|name| name == argument))
    }
}

/// What is known of the tool that goes by this name; nothing of other programs' tools.
pub fn facts(name: &str) -> Option<&'static ToolFacts> {
    named(name).next()
}

/// The same of a call: of two tools that go by its name, the one whose arguments it brings.
pub fn called(name: &str, input: Option<&Map<String, Value>>) -> Option<&'static ToolFacts> {
    let missing = |facts: &&ToolFacts| {
        let given = Given { arguments: facts.arguments, input };
        let brought = facts.arguments.iter().filter(|argument| given.get(argument.name).is_some()).count();
        (std::cmp::Reverse(brought), facts.arguments.len())
    };
    named(name).min_by_key(missing)
}

/// By name, then by alias, then either without regard to case.
fn named(name: &str) -> impl Iterator<Item = &'static ToolFacts> {
    let name = name.trim();
    let by = |fits: &dyn Fn(&ToolFacts) -> bool| {
        let found: Vec<_> = ALL.into_iter().filter(|facts| fits(facts)).collect();
        (!found.is_empty()).then_some(found)
    };
    by(&|facts| facts.name == name)
        .or_else(|| by(&|facts| facts.aliases.contains(&name)))
        .or_else(|| by(&|facts| facts.name.eq_ignore_ascii_case(name)))
        .or_else(|| by(&|facts| facts.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))))
        .unwrap_or_default()
        .into_iter()
}

/// The tool that an agent's file lists, in the spelling of any agent: case, `_` and `-` aside.
pub fn listed(name: &str) -> Option<&'static ToolFacts> {
    let plain = |name: &str| name.trim().to_ascii_lowercase().replace(['_', '-'], "");
    let wanted = plain(name);
    let by = |names: &dyn Fn(&ToolFacts) -> Vec<&'static str>| {
        ALL.into_iter().find(|facts| names(facts).into_iter().any(|name| plain(name) == wanted))
    };
    by(&|facts| vec![facts.name]).or_else(|| by(&|facts| [facts.aliases, facts.listed_as].concat()))
}

/// The keys of permission rules, each once, in the order of the tools.
pub fn permission_keys() -> impl Iterator<Item = &'static PermissionKey> {
    let first = |at: usize, key: &str| ALL[..at].iter().all(|facts| facts.permission.key != key);
    let keys = ALL.into_iter().map(|facts| &facts.permission).enumerate();
    keys.filter(move |(at, permission)| first(*at, permission.key)).map(|(_, permission)| permission)
}

/// What kind of call a permission key stands for.
pub(crate) fn kind_of_key(key: &str) -> Option<CallKind> {
    ALL.into_iter().find(|facts| facts.permission.key == key).map(|facts| facts.kind)
}

impl ToolFacts {
    /// Whether a call of this name means this tool.
    pub fn is(&self, name: &str) -> bool {
        named(name).any(|facts| facts.name == self.name)
    }

    /// What a call brings, under our own names.
    pub fn given<'a>(&self, input: &'a Value) -> Given<'a> {
        Given { arguments: self.arguments, input: input.as_object() }
    }

    /// Takes an argument out of a call's input, however it is spelt; null is as good as absent.
    pub fn take(&self, input: &mut Map<String, Value>, field: &str) -> Option<Value> {
        let Some(argument) = self.arguments.iter().find(|argument| argument.name == field) else {
            return input.shift_remove(field).filter(|value| !value.is_null());
        };
        let taken = argument.spellings().filter_map(|name| input.shift_remove(name));
        let value = taken.into_iter().find(|value| !value.is_null())?;
        match argument.words.then(|| words::command_line(&value)).flatten() {
            Some(line) => Some(Value::String(line)),
            None => Some(value),
        }
    }
}

/// A call's input, read under our own names for its arguments.
pub struct Given<'a> {
    arguments: &'static [Argument],
    input: Option<&'a Map<String, Value>>,
}

impl<'a> Given<'a> {
    /// Nothing is known of the tool: its arguments are what they are called.
    pub fn unknown(input: &'a Value) -> Self {
        Self { arguments: &[], input: input.as_object() }
    }

    pub fn get(&self, field: &str) -> Option<&'a Value> {
        let present = |name: &str| self.input?.get(name).filter(|value| !value.is_null());
        match self.arguments.iter().find(|argument| argument.name == field) {
            Some(argument) => argument.spellings().find_map(present),
            None => present(field),
        }
    }

    pub fn text(&self, field: &str) -> Option<Cow<'a, str>> {
        let value = self.get(field)?;
        let words = self.arguments.iter().any(|argument| argument.name == field && argument.words);
        match value {
            Value::String(text) => Some(Cow::Borrowed(text)),
            Value::Array(_) if words => words::command_line(value).map(Cow::Owned),
            Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
        }
    }

    /// All that was given, in the order it came; what counts for nothing because the same stands there twice is left out.
    pub fn fields(&self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        self.input.into_iter().flatten().filter_map(|(name, value)| {
            let meant =
                self.arguments.iter().find(|argument| argument.spellings().any(|spelt| spelt == name));
            let name = meant.map_or(name.as_str(), |argument| argument.name);
            self.get(name).filter(|counts| std::ptr::eq(*counts, value)).map(|value| (name, value))
        })
    }
}

#[cfg(test)]
mod tests;
