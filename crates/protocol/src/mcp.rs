//! MCP servers as everybody sees them: what each is called, how it is, and what it brings. Plain data.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum McpState {
    /// Switched off in the configuration.
    Disabled,
    /// What is written about it cannot be used.
    Refused,
    /// A project wants it, and nobody trusts that project.
    Untrusted,
    Starting,
    Ready,
    /// It ended or did not answer; it is tried again.
    Restarting,
    /// It is not tried again.
    Failed,
}

impl McpState {
    pub fn name(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Refused => "refused",
            Self::Untrusted => "untrusted",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Restarting => "restarting",
            Self::Failed => "failed",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct McpServer {
    pub name: String,
    pub state: McpState,
    /// What it calls itself, with its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Tools that a model is told of.
    pub tools: usize,
    /// Tools that a model finds by `tool_search`, because all of them would take too much room.
    pub searched: usize,
    /// Tools that need something of a client that zdx has not, or that the configuration leaves out.
    pub left_out: usize,
    /// Of the names, descriptions and schemas of its tools.
    pub schema_bytes: usize,
    pub prompts: usize,
    pub resources: usize,
    /// From its start to its list of tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_ms: Option<u64>,
    /// The list is from an earlier run; the server has yet to answer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl McpServer {
    pub fn new(name: &str, state: McpState) -> Self {
        Self {
            name: name.to_owned(),
            state,
            version: None,
            tools: 0,
            searched: 0,
            left_out: 0,
            schema_bytes: 0,
            prompts: 0,
            resources: 0,
            start_ms: None,
            cached: false,
            error: None,
        }
    }

    /// What is wrong with it, in a sentence that names it.
    pub fn fault(&self) -> String {
        let why = self.error.as_deref().unwrap_or("it is well");
        format!("MCP server {}: {why}", self.name)
    }
}
