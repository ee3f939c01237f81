//! `mcp_call`: calls a tool that `tool_search` found. Judged, shown and run as the tool itself would be.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use zdx_protocol::facts::{MCP_CALL, TOOL_SEARCH};
use zdx_protocol::{ToolCode, ToolError, ToolSpec};

use super::input::{ToolInput, invalid};
use super::tool_search::SearchableTools;
use super::{PreparedCall, Tool, ToolContext};

pub struct McpCallTool {
    spec: ToolSpec,
    catalogue: Arc<dyn SearchableTools>,
}

impl McpCallTool {
    pub fn new(catalogue: Arc<dyn SearchableTools>) -> Self {
        let description =
            format!("Call a tool that {} found, with arguments that fit its schema.", TOOL_SEARCH.name);
        let schema = json!({
            "type": "object",
            "properties": {
                "tool": {"type": "string", "description": "its name"},
                "arguments": {"type": "object", "description": "as its schema says"}
            },
            "required": ["tool"],
            "additionalProperties": false
        });
        let spec =
            ToolSpec { name: Cow::Borrowed(MCP_CALL.name), description: Cow::Owned(description), schema };
        Self { spec, catalogue }
    }

    /// By its name, or by the end of it where only one has that.
    fn find(&self, name: &str) -> Result<&Arc<dyn Tool>, ToolError> {
        let tools = self.catalogue.tools();
        if let Some(tool) = tools.iter().find(|tool| tool.spec().name == name) {
            return Ok(tool);
        }
        let ends = format!("__{name}");
        let near: Vec<&Arc<dyn Tool>> =
            tools.iter().filter(|tool| tool.spec().name.ends_with(&ends)).collect();
        match near.as_slice() {
            [only] => Ok(only),
            [] => {
                let message = format!("there is no tool named {name:?}; {} finds them", TOOL_SEARCH.name);
                Err(ToolError::new(ToolCode::UnknownTool, message))
            }
            several => {
                let names: Vec<&str> = several.iter().map(|tool| &*tool.spec().name).collect();
                Err(ToolError::new(ToolCode::UnknownTool, format!("which one: {}?", names.join(", "))))
            }
        }
    }
}

impl Tool for McpCallTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, mut input: Map<String, Value>, cx: &ToolContext) -> Result<PreparedCall, ToolError> {
        let arguments = match MCP_CALL.take(&mut input, "arguments") {
            None => Map::new(),
            Some(Value::Object(arguments)) => arguments,
            // Some models write the object as a text.
            Some(Value::String(text)) => serde_json::from_str(&text)
                .map_err(|error| invalid(format!("`arguments` is no object: {error}")))?,
            Some(_) => return Err(invalid("`arguments` is no object")),
        };
        let name = ToolInput::new(&MCP_CALL, input).text("tool")?;
        self.find(name.trim())?.prepare(arguments, cx)
    }
}
