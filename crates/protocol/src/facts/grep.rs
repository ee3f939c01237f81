//! `grep`.

use serde_json::Value;

use super::{
    Argument, HIDDEN, LESS, LIMIT, Label, PATH, PATTERN, PermissionKey, Title, ToolFacts, Touches, words,
};
use crate::code::Level;
use crate::tool::CallKind;
use crate::typeset::format::count;

pub static GREP: ToolFacts = ToolFacts {
    name: "grep",
    aliases: &["search_text", "search", "grep_search", "search_files", "ripgrep", "rg"],
    listed_as: &[],
    arguments: &[
        PATTERN,
        PATH,
        Argument::spelt("glob", &["include", "include_pattern", "file_pattern", "file_glob", "globs"]),
        Argument::spelt("literal", &["fixed_strings", "fixedStrings", "is_literal"]),
        Argument::spelt("ignore_case", &["ignoreCase", "case_insensitive", "caseInsensitive", "-i"]),
        Argument::spelt("context", &["context_lines", "contextLines", "-C"]),
        LIMIT,
        HIDDEN,
    ],
    permission: PermissionKey::plain("grep", Level::Allow),
    kind: CallKind::Search,
    touches: Touches::Nothing,
    when_cut: LESS,
    label: Label { outcome, ..Label::PLAIN },
    title: Title {
        subject: words::sought,
        folds: Some("pattern"),
        ..Title::of("Searching", "Searched", "Search")
    },
};

fn outcome(data: &Value) -> Option<String> {
    let number = |key: &str| Some(data.get(key)?.as_u64()? as usize);
    let (matches, files) = (number("matches")?, number("files")?);
    let found = match matches {
        1 => "1 match".to_owned(),
        _ => format!("{matches} matches"),
    };
    Some(format!("{found} in {}{}", count(files, "file"), words::cut_note(data)))
}
