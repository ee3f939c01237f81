//! `list`.

use super::{Argument, HIDDEN, LESS, Label, PATH, PermissionKey, Title, ToolFacts, Touches, words};
use crate::code::Level;
use crate::tool::CallKind;

pub static LIST: ToolFacts = ToolFacts {
    name: "list",
    aliases: &["list_files", "list_dir", "list_directory", "ls", "tree"],
    listed_as: &[],
    arguments: &[PATH, Argument::spelt("depth", &["max_depth", "maxDepth"]), HIDDEN],
    permission: PermissionKey::plain("list", Level::Allow),
    kind: CallKind::Read,
    touches: Touches::Nothing,
    when_cut: LESS,
    label: Label { outcome: |data| words::found(data, "entry", "entries"), ..Label::PLAIN },
    title: Title { subject: words::folder, folds: Some("folder"), ..Title::of("Listing", "Listed", "List") },
};
