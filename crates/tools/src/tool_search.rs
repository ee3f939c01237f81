//! `tool_search`: finds tools of MCP servers by words, where there are too many to tell a model of all. Together with
//! `mcp_call` it is all that stands in a request for them, however many there are.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::{Map, Value, json};
use zdx_protocol::facts::{LIST, MCP_CALL, TOOL_SEARCH};
use zdx_protocol::{Action, ToolError, ToolSpec};

use super::input::ToolInput;
use super::{PreparedCall, Tool, ToolContext, ToolRunContext};

/// Of those that fit, the best.
const SHOWN: usize = 8;
/// Of what is shown of them; the first is shown whatever it takes.
const SHOWN_BYTES: usize = 16 << 10;
/// Without words, names alone.
const NAMES: usize = 400;

/// All tools that can be called, those that a model is told of too.
pub trait SearchableTools: Send + Sync {
    fn tools(&self) -> &[Arc<dyn Tool>];
}

pub struct ToolSearchTool {
    spec: ToolSpec,
    catalogue: Arc<dyn SearchableTools>,
}

impl ToolSearchTool {
    /// `servers` are those that are found in no other way. Nothing else is said of them here: what they list may change, and
    /// a request must not begin with other bytes for that.
    pub fn new(servers: &[String], catalogue: Arc<dyn SearchableTools>) -> Self {
        let description = format!(
            "Find tools of the MCP servers {} by words of their names and descriptions. Gives name, description and \
             schema of each; call them with {}. Without words, lists all names.",
            servers.join(", "),
            MCP_CALL.name
        );
        let schema = json!({
            "type": "object",
            "properties": {"query": {"type": "string", "description": "words, as in: create issue"}},
            "additionalProperties": false
        });
        let spec =
            ToolSpec { name: Cow::Borrowed(TOOL_SEARCH.name), description: Cow::Owned(description), schema };
        Self { spec, catalogue }
    }
}

impl Tool for ToolSearchTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, input: Map<String, Value>, _: &ToolContext) -> Result<PreparedCall, ToolError> {
        let query = ToolInput::new(&TOOL_SEARCH, input).optional_text("query")?.unwrap_or_default();
        let catalogue = Arc::clone(&self.catalogue);
        // What servers list is no secret and runs nothing: a look.
        let action = Action::Read { tool: LIST.permission.key.to_owned(), targets: Vec::new() };
        let run = move |_: ToolRunContext| {
            let data = found(catalogue.tools(), &query);
            async move { Ok(data).into() }.boxed()
        };
        Ok(PreparedCall::looking(action, Box::new(run)))
    }
}

fn found(tools: &[Arc<dyn Tool>], query: &str) -> Value {
    let words: Vec<String> = words(query);
    if words.is_empty() {
        let names: Vec<&str> = tools.iter().take(NAMES).map(|tool| &*tool.spec().name).collect();
        return json!({"total": tools.len(), "truncated": tools.len() > NAMES, "names": names});
    }
    let scored = tools.iter().map(|tool| (score(tool.spec(), &words), tool.spec()));
    let mut fitting: Vec<(usize, &ToolSpec)> = scored.filter(|(score, _)| *score > 0).collect();
    fitting.sort_by_key(|(score, _)| Reverse(*score));
    let (mut shown, mut bytes) = (Vec::new(), 0);
    for (_, spec) in fitting.iter().take(SHOWN) {
        let tool = json!({"name": spec.name, "description": spec.description, "schema": spec.schema});
        bytes += tool.to_string().len();
        if bytes > SHOWN_BYTES && !shown.is_empty() {
            break;
        }
        shown.push(tool);
    }
    json!({"total": fitting.len(), "truncated": shown.len() < fitting.len(), "tools": shown})
}

fn words(text: &str) -> Vec<String> {
    let split = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    split.map(str::to_lowercase).collect()
}

/// A word in the name says more than one in the description, and a whole one more than a part of another; all words
/// together more than one often.
fn score(spec: &ToolSpec, wanted: &[String]) -> usize {
    let (name, about) = (spec.name.to_lowercase(), spec.description.to_lowercase());
    let parts = words(&name);
    let of = |word: &String| match (name.contains(word.as_str()), about.contains(word.as_str())) {
        (true, _) if parts.contains(word) => 5,
        (true, _) => 4,
        (false, true) => 1,
        (false, false) => 0,
    };
    let hits: Vec<usize> = wanted.iter().map(of).collect();
    let all = if hits.iter().all(|hit| *hit > 0) { 10 } else { 0 };
    match hits.iter().sum::<usize>() {
        0 => 0,
        sum => sum + all,
    }
}
