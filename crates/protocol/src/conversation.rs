//! What a model is shown: messages made of parts, in no vendor's shape.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::Content;
use crate::packed::Packed;
use crate::tool::{Arguments, Signature, ToolOutput};

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
        Self { role, parts: vec![Part::text(text)] }
    }
}

/// Tool results travel in a message of role `User`, directly after the assistant message that called them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Reasoning(Box<Reasoning>),
    ToolUse {
        id: String,
        name: Box<str>,
        arguments: Packed<Arguments>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<Box<Signature>>,
    },
    ToolResult {
        tool_use_id: String,
        output: Packed<ToolOutput>,
        /// Images that came with the output.
        #[serde(default, skip_serializing_if = "no_content")]
        content: Box<[Content]>,
    },
    #[serde(untagged)]
    Content(Content),
}

fn no_content(content: &[Content]) -> bool {
    content.is_empty()
}

impl Part {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Content(Content::Text(text.into()))
    }

    /// The result of a call that brought nothing but its output.
    pub fn result(tool_use_id: impl Into<String>, output: ToolOutput) -> Self {
        Self::ToolResult { tool_use_id: tool_use_id.into(), output: output.into(), content: Box::default() }
    }

    /// The words of a text, a file or a resource.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Content(content) => content.as_text(),
            Self::Reasoning(_) | Self::ToolUse { .. } | Self::ToolResult { .. } => None,
        }
    }

    /// The content in it, that of a result included.
    pub fn content(&self) -> &[Content] {
        match self {
            Self::Content(content) => std::slice::from_ref(content),
            Self::ToolResult { content, .. } => content,
            Self::Reasoning(_) | Self::ToolUse { .. } => &[],
        }
    }
}

/// A call of a model, with its result where there is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Called<'a> {
    pub id: &'a str,
    pub name: &'a str,
    pub arguments: &'a Packed<Arguments>,
    pub output: Option<&'a Packed<ToolOutput>>,
}

/// The calls made in these messages, in order.
pub fn calls(messages: &[Message]) -> impl Iterator<Item = Called<'_>> {
    messages.iter().enumerate().flat_map(move |(at, message)| {
        let next = messages.get(at + 1).map_or(&[][..], |next| &next.parts);
        message.parts.iter().filter_map(move |part| match part {
            Part::ToolUse { id, name, arguments, .. } => {
                Some(Called { id, name, arguments, output: result_of(id, next) })
            }
            Part::Content(_) | Part::Reasoning(_) | Part::ToolResult { .. } => None,
        })
    })
}

fn result_of<'a>(call: &str, parts: &'a [Part]) -> Option<&'a Packed<ToolOutput>> {
    parts.iter().find_map(|part| match part {
        Part::ToolResult { tool_use_id, output, .. } if tool_use_id == call => Some(output),
        Part::ToolResult { .. } | Part::Content(_) | Part::Reasoning(_) | Part::ToolUse { .. } => None,
    })
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
    /// How long it streamed, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A session of many steps is mostly a list of these.
    #[test]
    fn a_part_is_small() {
        assert!(size_of::<Part>() <= 64, "{}", size_of::<Part>());
    }

    /// A compaction writes the messages it keeps into the session file.
    #[test]
    fn messages_are_saved_as_values_and_read_back() {
        let thought = Reasoning {
            text: "hm".into(),
            wire: "w".into(),
            model: "m".into(),
            opaque: Some(json!("s")),
            took_ms: None,
        };
        let signed = || {
            Some(Box::new(Signature {
                wire: "w".into(),
                model: "m".into(),
                opaque: json!("s"),
                call_id: None,
            }))
        };
        let call = |arguments: &str, signature: Option<Box<Signature>>| Part::ToolUse {
            id: "a".into(),
            name: "read".into(),
            arguments: Arguments::parse(arguments).into(),
            signature,
        };
        let done = |output: ToolOutput| Part::result("a", output);
        let parts = vec![
            Part::text("hello"),
            Part::Reasoning(Box::new(thought)),
            call(r#"{"path":"x","n":1}"#, None),
            call("{broken", signed()),
            done(ToolOutput::Ok(json!({"content": "\"y\""}))),
            done(ToolOutput::error("E".into(), "no")),
        ];
        let message = Message { role: Role::Assistant, parts };
        let saved = concat!(
            r#"{"role":"assistant","parts":[{"text":"hello"},{"reasoning":{"text":"hm","wire":"w","model":"m","opaque":"s"}},"#,
            r#"{"tool_use":{"id":"a","name":"read","arguments":{"path":"x","n":1}}},"#,
            r#"{"tool_use":{"id":"a","name":"read","arguments":"{broken","signature":{"wire":"w","model":"m","opaque":"s"}}},"#,
            r#"{"tool_result":{"tool_use_id":"a","output":{"ok":true,"data":{"content":"\"y\""}}}},"#,
            r#"{"tool_result":{"tool_use_id":"a","output":{"ok":false,"error":{"code":"E","message":"no"}}}}]}"#,
        );
        assert_eq!(serde_json::to_string(&message).unwrap(), saved);
        assert_eq!(serde_json::from_str::<Message>(saved).unwrap(), message);
    }
}
