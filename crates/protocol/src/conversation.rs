//! What a model is shown: messages made of parts, in no vendor's shape.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tool::{Arguments, ToolOutput};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
    System,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    pub parts: Vec<Part>,
}

impl Message {
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self { role, parts: vec![Part::Text(text.into())] }
    }
}

/// Tool results travel in a message of role `User`, directly after the assistant message that called them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Text(String),
    Reasoning(Reasoning),
    ToolUse { id: String, name: String, arguments: Arguments },
    ToolResult { tool_use_id: String, output: ToolOutput },
}

/// A model's thinking. Some vendors sign it and want it back unchanged; nobody else can use it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reasoning {
    pub text: String,
    /// The wire that made it (`anthropic`, `openai-chat`); only the same wire and model get it back.
    pub wire: String,
    pub model: String,
    /// What must go back unchanged: a signature, redacted data, `reasoning_details`. Meaning is the wire's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Value>,
}

/// Tokens of one model call, or of several added up. Input counts include what the cache served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    #[serde(default)]
    pub cache_read_tokens: u64,
    #[serde(default)]
    pub cache_write_tokens: u64,
    #[serde(default)]
    pub reasoning_tokens: u64,
}

impl Usage {
    pub fn add(&mut self, other: Usage) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cache_read_tokens += other.cache_read_tokens;
        self.cache_write_tokens += other.cache_write_tokens;
        self.reasoning_tokens += other.reasoning_tokens;
    }
}
