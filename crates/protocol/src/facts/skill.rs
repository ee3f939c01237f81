//! `skill`.

use serde_json::Value;

use super::{Argument, Given, LESS, Label, PermissionKey, Title, ToolFacts, Touches};
use crate::code::Level;
use crate::tool::CallKind;
use crate::typeset::visible_line;

pub static SKILL: ToolFacts = ToolFacts {
    name: "skill",
    aliases: &["load_skill", "use_skill", "activate_skill"],
    listed_as: &[],
    arguments: &[Argument::spelt("name", &["skill", "skill_name", "skillName"])],
    permission: PermissionKey::of_names("skill", Level::Ask),
    kind: CallKind::Read,
    touches: Touches::Nothing,
    when_cut: LESS,
    label: Label { outcome, ..Label::PLAIN },
    title: Title {
        subject,
        ended: |_| Some(String::new()),
        ..Title::of("Loading skill", "Loaded skill", "Load skill")
    },
};

fn outcome(data: &Value) -> Option<String> {
    data.get("name").and_then(Value::as_str).map(|name| format!("loaded {name}"))
}

fn subject(given: &Given<'_>) -> Option<String> {
    given.text("name").map(|name| visible_line(&name))
}
