//! `tool_search`.

use serde_json::Value;

use super::words::found;
use super::{Argument, LESS, Label, MCP, Title, ToolFacts, Touches};
use crate::tool::CallKind;
use crate::typeset::visible_line;

pub static TOOL_SEARCH: ToolFacts = ToolFacts {
    name: "tool_search",
    aliases: &["search_tools", "find_tools"],
    listed_as: &[],
    arguments: &[Argument::spelt("query", &["words", "keywords"])],
    permission: MCP,
    kind: CallKind::Search,
    touches: Touches::Nothing,
    when_cut: LESS,
    label: Label { outcome, ..Label::PLAIN },
    title: Title {
        subject: |given| given.text("query").map(|query| format!("tools for {}", visible_line(&query))),
        ..Title::of("Searching", "Searched", "Search")
    },
};

fn outcome(data: &Value) -> Option<String> {
    found(data, "tool", "tools")
}
