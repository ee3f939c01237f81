//! A request as Chat Completions servers want it, written straight from borrowed messages.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;
use zdx_protocol::{Reasoning, Role, ToolOutput, ToolSpec};

use super::super::history::{self, Block, JsonText, Object};
use super::super::{HttpRequest, Wire};
use crate::{ModelError, ModelRequest};

#[cfg(test)]
mod tests;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum Message<'a> {
    System {
        content: Cow<'a, str>,
    },
    User {
        content: Cow<'a, str>,
    },
    Assistant {
        /// Null beside calls without text: the empty string upsets some servers, a missing field others.
        content: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        reasoning_details: Vec<&'a Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: String,
        content: JsonText<&'a ToolOutput>,
    },
}

#[derive(Serialize)]
struct Call<'a> {
    id: String,
    r#type: &'static str,
    function: CalledFunction<'a>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: Cow<'a, str>,
    arguments: JsonText<Object<'a>>,
}

pub(in crate::wire) fn encode(request: &ModelRequest) -> Result<HttpRequest, ModelError> {
    let mut messages = Vec::new();
    if !request.system.trim().is_empty() {
        messages.push(Message::System { content: Cow::Borrowed(request.system) });
    }
    for turn in history::turns(request.messages, Wire::OpenaiChat, request.model) {
        match turn.role {
            Role::Assistant => messages.push(assistant(turn.blocks)),
            Role::User => user(turn.blocks, &mut messages),
            Role::System => messages.extend(joined(&turn.blocks).map(|content| Message::System { content })),
        }
    }
    let tokens = Some(request.max_tokens);
    let (max_tokens, max_completion_tokens) =
        if wants_completion_tokens(request.model) { (None, tokens) } else { (tokens, None) };
    let body = Body {
        model: request.model,
        messages,
        tools: request.tools.iter().map(tool).collect(),
        max_tokens,
        max_completion_tokens,
        temperature: request.temperature,
        top_p: request.top_p,
        stream: request.stream,
        stream_options: request.stream.then_some(StreamOptions { include_usage: true }),
    };
    let body = serde_json::to_vec(&body)
        .map_err(|e| ModelError::Setup(format!("the request cannot be written as JSON: {e}")))?;
    Ok(HttpRequest { path: "/chat/completions", headers: Wire::OpenaiChat.headers(), body })
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    let function = Function {
        name: spec.name.as_ref(),
        description: spec.description.as_ref(),
        parameters: &spec.schema,
    };
    Tool { r#type: "function", function }
}

/// Results come first, each a message of its own; what the user said besides follows as one.
fn user<'a>(blocks: Vec<Block<'a>>, messages: &mut Vec<Message<'a>>) {
    let said = joined(&blocks);
    for block in blocks {
        if let Block::Result { id, output } = block {
            messages.push(Message::Tool { tool_call_id: id, content: JsonText(output) });
        }
    }
    messages.extend(said.map(|content| Message::User { content }));
}

fn assistant(blocks: Vec<Block<'_>>) -> Message<'_> {
    let content = joined(&blocks);
    let (mut reasoning_details, mut reasoning_content, mut tool_calls) = (Vec::new(), None, Vec::new());
    for block in blocks {
        match block {
            Block::Reasoning(Reasoning { text, opaque, .. }) => match opaque {
                Some(Value::Array(details)) => reasoning_details.extend(details),
                Some(Value::String(field)) if field == "reasoning_content" => {
                    reasoning_content = Some(text.as_str());
                }
                _ => {}
            },
            Block::Call { id, name, arguments } => {
                let function = CalledFunction { name, arguments: JsonText(Object(arguments)) };
                tool_calls.push(Call { id, r#type: "function", function });
            }
            Block::Text(_) | Block::Result { .. } => {}
        }
    }
    // Servers that think between calls (DeepSeek) want it back with the calls, and only there.
    let reasoning_content = reasoning_content.filter(|_| !tool_calls.is_empty());
    Message::Assistant { content, reasoning_details, reasoning_content, tool_calls }
}

/// All text as one string: many chat templates know no other content, and none knows two messages of one role.
fn joined<'a>(blocks: &[Block<'a>]) -> Option<Cow<'a, str>> {
    let text = |block: &Block<'a>| match block {
        Block::Text(text) => Some(*text),
        Block::Reasoning(_) | Block::Call { .. } | Block::Result { .. } => None,
    };
    let mut texts = blocks.iter().filter_map(text);
    let mut all = Cow::Borrowed(texts.next()?);
    for text in texts {
        let all = all.to_mut();
        all.push_str("\n\n");
        all.push_str(text);
    }
    Some(all)
}

/// OpenAI's reasoning models refuse the name that every other server knows.
fn wants_completion_tokens(model: &str) -> bool {
    let numbered = |prefix| {
        model
            .strip_prefix(prefix)
            .and_then(|rest: &str| rest.bytes().next())
            .is_some_and(|b| b.is_ascii_digit())
    };
    numbered("o") || model.starts_with("gpt-5")
}
