//! A request as Anthropic wants it, written straight from borrowed messages.
//! Only the `cache_control` marks move between one request of a conversation and the next.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;
use zdx_protocol::{Packed, Role, ToolOutput, ToolSpec};

use super::super::history::{self, Object};
use super::super::{HttpRequest, Wire, write_body};
use crate::{ModelError, ModelRequest};

#[cfg(test)]
mod tests;

/// The vendor's lower bound for a thinking budget.
const MIN_THINKING: u32 = 1024;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<[Block<'a>; 1]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    stream: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Mark>,
}

#[derive(Serialize)]
struct Thinking {
    r#type: &'static str,
    budget_tokens: u32,
}

#[derive(Serialize)]
struct Message<'a> {
    role: Role,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
struct Block<'a> {
    #[serde(flatten)]
    kind: BlockKind<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Mark>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BlockKind<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Image {
        source: ImageSource<'a>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: Object<'a>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        content: ResultContent<'a>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

/// The string is what every server knows; parts are for images alone.
#[derive(Serialize)]
#[serde(untagged)]
enum ResultContent<'a> {
    Text(Cow<'a, str>),
    Blocks(Vec<BlockKind<'a>>),
}

#[derive(Serialize)]
struct ImageSource<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: &'a str,
}

/// "Cache everything up to here." At most four are allowed.
#[derive(Clone, Copy, Serialize)]
struct Mark {
    r#type: &'static str,
}

const MARK: Mark = Mark { r#type: "ephemeral" };

impl<'a> BlockKind<'a> {
    fn text(text: &'a str) -> Self {
        Self::Text { text: Cow::Borrowed(text) }
    }
}

impl<'a> From<BlockKind<'a>> for Block<'a> {
    fn from(kind: BlockKind<'a>) -> Self {
        Self { kind, cache_control: None }
    }
}

pub(in crate::wire) fn encode(request: &ModelRequest) -> Result<HttpRequest, ModelError> {
    let mut messages = messages(request);
    mark_ends(&mut messages);
    let thinking = thinking(request, &messages);
    // The vendor refuses other sampling while thinking is on.
    let sampling = thinking.is_none();
    let system = (!request.system.trim().is_empty())
        .then(|| [Block { kind: BlockKind::text(request.system), cache_control: Some(MARK) }]);
    let body = Body {
        model: request.model,
        max_tokens: request.max_tokens,
        system,
        tools: tools(request.tools),
        messages,
        temperature: request.temperature.filter(|_| sampling),
        top_p: request.top_p.filter(|_| sampling),
        thinking,
        stream: request.stream,
    };
    let body = write_body(&body, request)?;
    Ok(HttpRequest { target: super::MESSAGES, headers: Wire::Anthropic.headers(), body })
}

fn tools(specs: &[ToolSpec]) -> Vec<Tool<'_>> {
    let mut tools: Vec<Tool> = specs
        .iter()
        .map(|spec| Tool {
            name: spec.name.as_ref(),
            description: spec.description.as_ref(),
            input_schema: &spec.schema,
            cache_control: None,
        })
        .collect();
    if let Some(last) = tools.last_mut() {
        last.cache_control = Some(MARK);
    }
    tools
}

fn messages<'a>(request: &ModelRequest<'a>) -> Vec<Message<'a>> {
    let mut messages: Vec<Message<'a>> = Vec::new();
    for turn in history::turns(request, Wire::Anthropic) {
        let role = turn.role;
        if messages.is_empty() && role == Role::Assistant {
            let opening = Block::from(BlockKind::text("(the conversation continues)"));
            messages.push(Message { role: Role::User, content: vec![opening] });
        }
        let blocks = turn.blocks.into_iter().filter_map(block);
        match messages.last_mut() {
            Some(last) if last.role == role => last.content.extend(blocks),
            _ => messages.push(Message { role, content: blocks.collect() }),
        }
    }
    // Trailing white space in an answer to be continued is refused.
    if let Some(Message { role: Role::Assistant, content }) = messages.last_mut()
        && let Some(Block { kind: BlockKind::Text { text }, .. }) = content.last_mut()
    {
        let kept = text.trim_end().len();
        match text {
            Cow::Borrowed(whole) => *whole = &whole[..kept],
            Cow::Owned(whole) => whole.truncate(kept),
        }
    }
    messages
}

fn block(block: history::Block<'_>) -> Option<Block<'_>> {
    let kind = match block {
        history::Block::Text(text) => BlockKind::Text { text },
        history::Block::Image(image) => image_block(&image),
        history::Block::Reasoning(thought) => {
            let opaque = thought.opaque.as_ref()?;
            match (opaque["signature"].as_str(), opaque["redacted"].as_str()) {
                (Some(signature), _) => BlockKind::Thinking { thinking: &thought.text, signature },
                (None, Some(data)) => BlockKind::RedactedThinking { data },
                (None, None) => return None,
            }
        }
        history::Block::Call { id, name, arguments, .. } => {
            BlockKind::ToolUse { id, name, input: Object(arguments) }
        }
        history::Block::Result { id, output, content } => BlockKind::ToolResult {
            tool_use_id: id,
            content: result_content(output, &content),
            is_error: !output.is_ok(),
        },
    };
    Some(kind.into())
}

fn image_block<'a>(image: &history::SentImage<'a>) -> BlockKind<'a> {
    let history::SentImage { media_type, base64 } = *image;
    BlockKind::Image { source: ImageSource { r#type: "base64", media_type, data: base64 } }
}

fn result_content<'a>(output: &'a Packed<ToolOutput>, content: &[history::Block<'a>]) -> ResultContent<'a> {
    let text = history::output_text(output, content);
    let image = |block: &history::Block<'a>| match block {
        history::Block::Image(image) => Some(image_block(image)),
        _ => None,
    };
    let images: Vec<BlockKind> = content.iter().filter_map(image).collect();
    if images.is_empty() {
        return ResultContent::Text(text);
    }
    ResultContent::Blocks([BlockKind::Text { text }].into_iter().chain(images).collect())
}

/// Marks the end of the conversation, and the end of the user message before: there the last request put its
/// mark, and the cache looks back only twenty blocks from a mark.
fn mark_ends(messages: &mut [Message]) {
    let ends = messages.iter_mut().rev().filter(|message| message.role == Role::User).take(2);
    for message in ends {
        if let Some(last) = message.content.last_mut() {
            last.cache_control = Some(MARK);
        }
    }
}

fn thinking(request: &ModelRequest, messages: &[Message]) -> Option<Thinking> {
    let budget_tokens = request.thinking?.budget_tokens.min(request.max_tokens.saturating_sub(1));
    if budget_tokens < MIN_THINKING {
        return None;
    }
    // With thinking on, an answer whose calls were just run must begin with its thinking. One that has none
    // (made by another model, or before thinking was switched on) would be refused.
    let answer = messages.iter().rev().find(|message| message.role == Role::Assistant);
    let calls =
        |message: &&Message| message.content.iter().any(|b| matches!(b.kind, BlockKind::ToolUse { .. }));
    let results = messages.last().is_some_and(|message| {
        message.content.first().is_some_and(|block| matches!(block.kind, BlockKind::ToolResult { .. }))
    });
    let begun = |message: &Message| {
        matches!(
            message.content.first().map(|b| &b.kind),
            Some(BlockKind::Thinking { .. } | BlockKind::RedactedThinking { .. })
        )
    };
    if results && answer.filter(calls).is_some_and(|message| !begun(message)) {
        return None;
    }
    Some(Thinking { r#type: "enabled", budget_tokens })
}
