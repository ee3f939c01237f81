//! `glob`.

use super::{HIDDEN, LESS, LIMIT, Label, PATH, PATTERN, PermissionKey, Title, ToolFacts, Touches, words};
use crate::code::Level;
use crate::tool::CallKind;

pub static GLOB: ToolFacts = ToolFacts {
    name: "glob",
    aliases: &["find_files", "glob_files", "file_search", "find"],
    listed_as: &[],
    arguments: &[PATTERN, PATH, HIDDEN, LIMIT],
    permission: PermissionKey::plain("glob", Level::Allow),
    kind: CallKind::Search,
    touches: Touches::Nothing,
    when_cut: LESS,
    label: Label { outcome: |data| words::found(data, "path", "paths"), ..Label::PLAIN },
    title: Title {
        subject: words::sought,
        folds: Some("pattern"),
        ..Title::of("Searching", "Searched", "Search")
    },
};
