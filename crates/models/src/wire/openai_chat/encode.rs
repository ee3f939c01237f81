//! A request as Chat Completions servers want it, written straight from borrowed messages.

use std::borrow::Cow;

use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use zdx_protocol::{Reasoning, Role, ToolSpec};

use super::super::history::{self, Block, SentImage, Turn, object_text, output_text};
use super::super::{HttpRequest, Wire, write_body};
use super::reasoning::{REASONING, REASONING_CONTENT};
use crate::{ModelError, ModelRequest, ThinkingSwitch};

#[cfg(test)]
mod tests;

/// Said before the images of tool results, which follow the results in a message of the user.
const RESULT_IMAGES: &str = "Images from the tool results above:";

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Messages<'a>,
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
    #[serde(flatten)]
    thinking_off: Option<Map<String, Value>>,
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

/// Made one by one as they are written: all of them together would be as large as the history again.
struct Messages<'a> {
    system: Option<&'a str>,
    request: &'a ModelRequest<'a>,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum Message<'a> {
    System {
        content: Cow<'a, str>,
    },
    User {
        content: UserContent<'a>,
    },
    Assistant {
        /// Null beside calls without text: the empty string upsets some servers, a missing field others.
        content: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        reasoning_details: Vec<&'a Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: Cow<'a, str>,
    },
}

/// Parts are for images alone: many chat templates know only the string.
#[derive(Serialize)]
#[serde(untagged)]
enum UserContent<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<UserPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum UserPart<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl<'a> },
}

#[derive(Serialize)]
struct ImageUrl<'a> {
    url: DataUrl<'a>,
}

/// Written without a copy of the image in between.
struct DataUrl<'a>(&'a SentImage<'a>);

impl Serialize for DataUrl<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("data:{};base64,{}", self.0.media_type, self.0.base64))
    }
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: CalledFunction<'a>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: &'a str,
    /// JSON inside a JSON string.
    arguments: &'a str,
}

pub(in crate::wire) fn encode(request: &ModelRequest) -> Result<HttpRequest, ModelError> {
    let messages =
        Messages { system: Some(request.system).filter(|system| !system.trim().is_empty()), request };
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
        thinking_off: request.thinking_off.map(thinking_off),
    };
    let body = write_body(&body, request)?;
    Ok(HttpRequest { target: super::CHAT, headers: Wire::OpenaiChat.headers(), body })
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    let function = Function {
        name: spec.name.as_ref(),
        description: spec.description.as_ref(),
        parameters: &spec.schema,
    };
    Tool { r#type: "function", function }
}

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut all = serializer.serialize_seq(None)?;
        if let Some(system) = self.system {
            all.serialize_element(&Message::System { content: Cow::Borrowed(system) })?;
        }
        for Turn { role, blocks } in history::turns(self.request, Wire::OpenaiChat) {
            // Results come first, each a message of its own; what was said besides follows as one.
            for block in &blocks {
                if let Block::Result { id, output, content } = block {
                    let content = output_text(output, content);
                    all.serialize_element(&Message::Tool { tool_call_id: id, content })?;
                }
            }
            let rest = match role {
                Role::Assistant => Some(assistant(&blocks)),
                Role::User | Role::System => user_content(&blocks).map(|content| Message::User { content }),
            };
            if let Some(rest) = rest {
                all.serialize_element(&rest)?;
            }
        }
        all.end()
    }
}

fn assistant<'a>(blocks: &'a [Block<'a>]) -> Message<'a> {
    let content = joined(blocks);
    let (mut reasoning_details, mut tool_calls) = (Vec::new(), Vec::new());
    let (mut reasoning, mut reasoning_content) = (None, None);
    for block in blocks {
        match block {
            Block::Reasoning(Reasoning { text, opaque, .. }) => match opaque {
                Some(Value::Array(details)) => reasoning_details.extend(details),
                Some(Value::String(field)) if field == REASONING => reasoning = Some(text.as_str()),
                Some(Value::String(field)) if field == REASONING_CONTENT => {
                    reasoning_content = Some(text.as_str());
                }
                _ => {}
            },
            Block::Call { id, name, arguments, .. } => {
                let function = CalledFunction { name, arguments: object_text(arguments) };
                tool_calls.push(Call { id, r#type: "function", function });
            }
            Block::Text(_) | Block::Image(_) | Block::Result { .. } => {}
        }
    }
    // Servers that think between calls (DeepSeek, vLLM) want it back with the calls, and only there.
    let reasoning = reasoning.filter(|_| !tool_calls.is_empty());
    let reasoning_content = reasoning_content.filter(|_| !tool_calls.is_empty());
    Message::Assistant { content, reasoning_details, reasoning, reasoning_content, tool_calls }
}

/// Images of results come first: a tool's own message may hold text only.
fn user_content<'a>(blocks: &'a [Block<'a>]) -> Option<UserContent<'a>> {
    let of_results = blocks.iter().flat_map(|block| match block {
        Block::Result { content, .. } => content.iter().filter_map(image).collect(),
        _ => Vec::new(),
    });
    let mut parts: Vec<UserPart> = of_results.collect();
    if !parts.is_empty() {
        parts.insert(0, UserPart::Text { text: RESULT_IMAGES });
    }
    parts.extend(blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(UserPart::Text { text }),
        other => image(other),
    }));
    match parts.iter().any(|part| matches!(part, UserPart::ImageUrl { .. })) {
        true => Some(UserContent::Parts(parts)),
        false => joined(blocks).map(UserContent::Text),
    }
}

fn image<'a>(block: &'a Block<'a>) -> Option<UserPart<'a>> {
    match block {
        Block::Image(image) => Some(UserPart::ImageUrl { image_url: ImageUrl { url: DataUrl(image) } }),
        _ => None,
    }
}

/// All text as one string: many chat templates know no other content, and none knows two messages of one role.
fn joined<'a>(blocks: &'a [Block<'a>]) -> Option<Cow<'a, str>> {
    let text = |block: &'a Block<'a>| match block {
        Block::Text(text) => Some(text),
        Block::Image(_) | Block::Reasoning(_) | Block::Call { .. } | Block::Result { .. } => None,
    };
    let mut texts = blocks.iter().filter_map(text);
    let mut all = Cow::Borrowed(&**texts.next()?);
    for text in texts {
        let all = all.to_mut();
        all.push_str("\n\n");
        all.push_str(text);
    }
    Some(all)
}

fn thinking_off(switch: ThinkingSwitch) -> Map<String, Value> {
    let (name, value) = match switch {
        // Templates have one name for it or the other.
        ThinkingSwitch::Template => {
            ("chat_template_kwargs", json!({ "enable_thinking": false, "thinking": false }))
        }
        ThinkingSwitch::Effort => ("reasoning_effort", json!("low")),
        ThinkingSwitch::Reasoning => ("reasoning", json!({ "enabled": false })),
        ThinkingSwitch::EnableThinking => ("enable_thinking", json!(false)),
        ThinkingSwitch::ThinkingType => ("thinking", json!({ "type": "disabled" })),
    };
    Map::from_iter([(name.to_owned(), value)])
}

/// OpenAI's reasoning models refuse the name that every other server knows.
pub(crate) fn wants_completion_tokens(model: &str) -> bool {
    let numbered = |prefix| {
        model
            .strip_prefix(prefix)
            .and_then(|rest: &str| rest.bytes().next())
            .is_some_and(|b| b.is_ascii_digit())
    };
    numbered("o") || model.starts_with("gpt-5")
}
