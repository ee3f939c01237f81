//! `skill`.

use serde_json::Value;

use super::{Argument, LESS, Label, PermissionKey, ToolFacts, Touches};
use crate::code::Level;
use crate::tool::CallKind;

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
};

fn outcome(data: &Value) -> Option<String> {
    data.get("name").and_then(Value::as_str).map(|name| format!("loaded {name}"))
}
