//! An answer of Anthropic's servers, streamed or whole, as events. Tolerates what is seen in the wild: unknown
//! events and blocks, repeated starts, pings anywhere, servers that leave things out.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use zdx_protocol::{Arguments, Reasoning, ToolCall, Usage};

use super::super::problem::Problem;
use super::super::{Decode, Frame, Ids, Unread, Wire, lenient, unreadable, was_told_to_stop};
use crate::{ModelError, ModelEvent, StopReason};

#[cfg(test)]
mod tests;

pub(in crate::wire) struct Decoder {
    model: String,
    ids: Ids,
    open: BTreeMap<u64, Open>,
    usage: Counts,
    stop: Option<StopReason>,
    called: bool,
    done: bool,
    unread: Unread,
}

/// A content block that has begun and not ended.
enum Open {
    Text,
    Call {
        id: String,
        name: String,
        given: Value,
        streamed: String,
    },
    Thinking {
        text: String,
        signature: String,
    },
    Redacted(String),
    /// Of a kind we do not use: its deltas are skipped.
    Other,
}

/// All cumulative; what a later event leaves out stands.
#[derive(Default, Deserialize)]
struct Counts {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct EventKind {
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Started {
    message: Option<Message>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    content: Value,
    stop_reason: Option<String>,
    usage: Option<Counts>,
}

#[derive(Deserialize)]
struct BlockStarted {
    index: Option<u64>,
    #[serde(default)]
    content_block: Value,
}

#[derive(Deserialize)]
struct BlockDelta {
    index: Option<u64>,
    delta: Option<Delta>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Delta {
    text: Option<String>,
    partial_json: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
}

#[derive(Deserialize)]
struct BlockStopped {
    index: Option<u64>,
}

#[derive(Deserialize)]
struct MessageDelta {
    delta: Option<MessageEnd>,
    usage: Option<Counts>,
}

#[derive(Default, Deserialize)]
struct MessageEnd {
    stop_reason: Option<String>,
}

type Out<'a> = &'a mut Vec<ModelEvent>;

impl Decode for Decoder {
    fn frame(&mut self, frame: &Frame, out: Out) -> Result<(), ModelError> {
        let data = frame.data.trim();
        if self.done || data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        match self.event(frame.event.as_deref(), data, out) {
            Err(error @ ModelError::Protocol(_)) => {
                let in_call = self.open.values().any(|open| matches!(open, Open::Call { .. }));
                self.unread.pass_over(error, data, in_call)
            }
            result => result,
        }
    }

    fn whole(&mut self, body: &[u8], out: Out) -> Result<(), ModelError> {
        let text = String::from_utf8_lossy(body);
        let value: Value = parse(&text)?;
        if let Some(problem) = Problem::in_json(&value) {
            return Err(problem.mid_stream());
        }
        if value.get("choices").is_some() {
            return Err(ModelError::Protocol(
                "a chat-completions answer came back; set wire = \"openai-chat\" for this provider"
                    .to_owned(),
            ));
        }
        if value.get("content").is_none() {
            return Err(ModelError::Protocol(format!(
                "an answer without content: {}",
                super::super::problem::brief(&text)
            )));
        }
        let Message { content, stop_reason, usage } = parse(&text)?;
        let content = match content {
            Value::Array(blocks) => blocks,
            Value::Null => Vec::new(),
            words @ Value::String(_) => vec![json!({ "type": "text", "text": words })],
            block => vec![block],
        };
        for block in &content {
            let open = self.begin(block, out);
            self.open.insert(0, open);
            self.close(0, out);
        }
        if out.is_empty() && !content.is_empty() {
            out.push(ModelEvent::Text(Value::Array(content).to_string()));
        }
        self.counted(usage);
        self.stopped(stop_reason);
        self.complete(out);
        Ok(())
    }

    fn finish(&mut self, out: Out) -> Result<(), ModelError> {
        if !self.done {
            self.done = true;
            was_told_to_stop(self.stop.as_ref()).map_err(|missing| self.unread.blame(missing))?;
            self.complete(out);
        }
        Ok(())
    }
}

impl Decoder {
    pub fn new(model: &str, ids: Ids) -> Self {
        Self {
            model: model.to_owned(),
            ids,
            open: BTreeMap::new(),
            usage: Counts::default(),
            stop: None,
            called: false,
            done: false,
            unread: Unread::default(),
        }
    }

    fn event(&mut self, name: Option<&str>, data: &str, out: Out) -> Result<(), ModelError> {
        let EventKind { kind } = parse(data)?;
        match kind.as_deref().or(name).unwrap_or_default() {
            "message_start" => {
                self.counted(parse::<Started>(data)?.message.and_then(|message| message.usage));
            }
            "content_block_start" => {
                let BlockStarted { index, content_block } = parse(data)?;
                let index = index.unwrap_or_else(|| self.newest().map_or(0, |newest| newest + 1));
                // A second block at an open index: a gateway spliced two answers together.
                self.close(index, out);
                let open = self.begin(&content_block, out);
                self.open.insert(index, open);
            }
            "content_block_delta" => {
                let BlockDelta { index, delta } = parse(data)?;
                let index = index.or(self.newest()).unwrap_or_default();
                self.delta(index, delta.unwrap_or_default(), out)?;
            }
            "content_block_stop" => {
                let index = parse::<BlockStopped>(data)?.index.or(self.newest());
                self.close(index.unwrap_or_default(), out);
            }
            "message_delta" => {
                let MessageDelta { delta, usage } = parse(data)?;
                self.counted(usage);
                self.stopped(delta.and_then(|end| end.stop_reason));
            }
            "message_stop" => self.complete(out),
            "error" => failure(data)?,
            // Pings, and whatever comes to be invented.
            _ => {}
        }
        self.unread.forget();
        Ok(())
    }

    /// The block that began last.
    fn newest(&self) -> Option<u64> {
        self.open.keys().next_back().copied()
    }

    fn begin(&mut self, block: &Value, out: Out) -> Open {
        let text = |key: &str| lenient::text(&block[key]).unwrap_or_default();
        match block["type"].as_str().unwrap_or_default() {
            "text" => {
                emit(text("text"), ModelEvent::Text, out);
                Open::Text
            }
            "tool_use" => {
                let (id, name) = (text("id"), text("name"));
                let known = Some(id.clone()).filter(|id| !id.is_empty());
                out.push(ModelEvent::ToolCallStarted { id: known, name: name.clone() });
                Open::Call { id, name, given: block["input"].clone(), streamed: String::new() }
            }
            "thinking" => {
                emit(text("thinking"), ModelEvent::ReasoningDelta, out);
                Open::Thinking { text: text("thinking"), signature: text("signature") }
            }
            "redacted_thinking" => Open::Redacted(text("data")),
            _ => Open::Other,
        }
    }

    fn delta(&mut self, index: u64, delta: Delta, out: Out) -> Result<(), ModelError> {
        let Delta { text, partial_json, thinking, signature } = delta;
        match self.open.get_mut(&index) {
            Some(Open::Text) => emit(text.unwrap_or_default(), ModelEvent::Text, out),
            Some(Open::Call { id, streamed, .. }) => {
                let more = partial_json.unwrap_or_default();
                streamed.push_str(&more);
                if !id.is_empty() {
                    emit(more, |more| ModelEvent::ToolCallArguments { id: id.clone(), more }, out);
                }
            }
            Some(Open::Thinking { text: so_far, signature: signed }) => {
                let more = thinking.unwrap_or_default();
                so_far.push_str(&more);
                emit(more, ModelEvent::ReasoningDelta, out);
                signed.push_str(&signature.unwrap_or_default());
            }
            Some(Open::Redacted(_) | Open::Other) => {}
            None => match (text, partial_json) {
                // A start that got lost is no reason to lose text; arguments without a name are beyond help.
                (Some(text), _) => emit(text, ModelEvent::Text, out),
                (None, Some(_)) => {
                    return Err(ModelError::Cut("arguments came for a call that never began".to_owned()));
                }
                (None, None) => {}
            },
        }
        Ok(())
    }

    fn close(&mut self, index: u64, out: Out) {
        match self.open.remove(&index) {
            Some(Open::Call { id, name, given, streamed }) => {
                let arguments = match given {
                    // Compatible servers may send the whole input at once.
                    Value::Object(map) if streamed.trim().is_empty() => Arguments::Object(map),
                    _ => lenient::arguments(&streamed),
                };
                let id = if id.is_empty() { self.ids.make() } else { id };
                self.called = true;
                out.push(ModelEvent::ToolCall(ToolCall { id, name, arguments, signature: None }));
            }
            Some(Open::Thinking { text, signature }) => {
                let opaque = (!signature.is_empty()).then(|| json!({ "signature": signature }));
                if opaque.is_some() || !text.is_empty() {
                    out.push(self.thought(text, opaque));
                }
            }
            Some(Open::Redacted(data)) => {
                out.push(self.thought(String::new(), Some(json!({ "redacted": data }))));
            }
            Some(Open::Text | Open::Other) | None => {}
        }
    }

    fn thought(&self, text: String, opaque: Option<Value>) -> ModelEvent {
        let wire = Wire::Anthropic.name().to_owned();
        ModelEvent::Reasoning(Reasoning { text, wire, model: self.model.clone(), opaque, took_ms: None })
    }

    fn counted(&mut self, counts: Option<Counts>) {
        let Some(new) = counts else { return };
        let old = &mut self.usage;
        old.input_tokens = new.input_tokens.or(old.input_tokens);
        old.output_tokens = new.output_tokens.or(old.output_tokens);
        old.cache_read_input_tokens = new.cache_read_input_tokens.or(old.cache_read_input_tokens);
        old.cache_creation_input_tokens = new.cache_creation_input_tokens.or(old.cache_creation_input_tokens);
    }

    fn stopped(&mut self, reason: Option<String>) {
        let Some(reason) = reason else { return };
        self.stop = Some(match reason.as_str() {
            "end_turn" | "stop_sequence" => StopReason::EndTurn,
            "tool_use" => StopReason::ToolUse,
            "max_tokens" => StopReason::Length,
            "refusal" => StopReason::Refusal,
            "model_context_window_exceeded" => StopReason::ContextExceeded,
            _ => StopReason::Other(reason),
        });
    }

    fn complete(&mut self, out: Out) {
        while let Some(&index) = self.open.keys().next() {
            self.close(index, out);
        }
        let Counts { input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens } =
            self.usage;
        if input_tokens.is_some() || output_tokens.is_some() {
            let cache_read_tokens = cache_read_input_tokens.unwrap_or_default();
            let cache_write_tokens = cache_creation_input_tokens.unwrap_or_default();
            out.push(ModelEvent::Usage(Usage {
                // The vendor counts what the cache served apart; we count all that the model read.
                input_tokens: input_tokens.unwrap_or_default() + cache_read_tokens + cache_write_tokens,
                output_tokens: output_tokens.unwrap_or_default(),
                cache_read_tokens,
                cache_write_tokens,
                reasoning_tokens: 0,
            }));
        }
        let reason = match self.stop.take() {
            None | Some(StopReason::EndTurn) if self.called => StopReason::ToolUse,
            None => StopReason::EndTurn,
            Some(StopReason::ToolUse) if !self.called => StopReason::EndTurn,
            Some(reason) => reason,
        };
        out.push(ModelEvent::Stop(reason));
        self.done = true;
    }
}

fn emit(text: String, event: impl FnOnce(String) -> ModelEvent, out: Out) {
    if !text.is_empty() {
        out.push(event(text));
    }
}

fn parse<T: DeserializeOwned>(data: &str) -> Result<T, ModelError> {
    lenient::parse(data).map_err(|error| unreadable("an event", data, &error))
}

fn failure(data: &str) -> Result<(), ModelError> {
    let value: Value = parse(data)?;
    Err(Problem::in_json(&value)
        .map_or_else(|| ModelError::Api { kind: None, message: value.to_string() }, Problem::mid_stream))
}
