//! `edit`.

use serde_json::Value;

use super::{Argument, Given, LESS, Label, PATH, Title, ToolFacts, Touches, words, write};
use crate::tool::CallKind;
use crate::typeset::diff::{self, Bounds, Line};
use crate::typeset::format::count;

pub static EDIT: ToolFacts = ToolFacts {
    name: "edit",
    aliases: &["edit_file", "edit_text", "replace_text", "replace", "str_replace", "str_replace_editor"],
    listed_as: &["multi_edit", "notebook_edit"],
    arguments: &[
        PATH,
        Argument::spelt("old", &["old_string", "old_str", "oldString", "oldText", "old_text"]),
        Argument::spelt("new", &["new_string", "new_str", "newString", "newText", "new_text"]),
        Argument::spelt("expected_replacements", &["expectedReplacements"]),
    ],
    permission: write::PERMISSION,
    kind: CallKind::Edit,
    touches: Touches::Changes("path"),
    when_cut: LESS,
    label: Label { call: words::path, whole: false, outcome, summary },
    title: Title { subject: words::place, ended: words::changed, ..Title::of("Editing", "Edited", "Edit") },
};

fn outcome(data: &Value) -> Option<String> {
    let replacements = count(data.get("replacements")?.as_u64()? as usize, "replacement");
    Some(format!("{replacements} {}", words::signs(data).unwrap_or_default()).trim_end().to_owned())
}

fn summary(given: &Given<'_>, _: &Value, bounds: Bounds) -> Vec<Line> {
    match (given.text("old"), given.text("new")) {
        (Some(old), Some(new)) => diff::between(&old, &new, bounds),
        (Some(_) | None, _) => Vec::new(),
    }
}
