//! `mcp_call`.

use serde_json::Value;

use super::{Argument, Given, LESS, Label, MCP, Title, ToolFacts, Touches};
use crate::tool::CallKind;
use crate::typeset::visible_line;

pub static MCP_CALL: ToolFacts = ToolFacts {
    name: "mcp_call",
    aliases: &["call_tool", "call_mcp_tool", "use_mcp_tool"],
    listed_as: &[],
    arguments: &[
        Argument::spelt("tool", &["name", "tool_name"]),
        Argument::spelt("arguments", &["input", "args", "params"]),
    ],
    permission: MCP,
    kind: CallKind::Other,
    touches: Touches::Nothing,
    when_cut: LESS,
    label: Label { call, ..Label::PLAIN },
    title: Title {
        subject: |given| given.text("tool").map(|tool| visible_line(&tool)),
        ..Title::of("Calling", "Called", "Call")
    },
};

/// `tool="mcp__db__query" sql="select 1"`: what is called with what.
fn call(given: &Given<'_>) -> Option<String> {
    let tool = given.text("tool")?;
    let shown = |(name, value): (&String, &Value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), |text| format!("\"{text}\""));
        format!(" {}={}", visible_line(name), visible_line(&value))
    };
    let arguments = given.get("arguments").and_then(Value::as_object).into_iter().flatten();
    Some(format!("tool=\"{}\"{}", visible_line(&tool), arguments.map(shown).collect::<String>()))
}
