//! Answers in the shape of the Anthropic Messages wire, streamed or whole.

use serde_json::{Value, json};

use super::parts::{Part, deltas, parse};
use super::{Reply, Step, sse};

/// Built block by block, in order; goes wherever a [`Reply`] goes.
#[derive(Clone, Debug)]
pub struct AnthropicReply {
    parts: Vec<Part>,
    stop: Option<String>,
    input_usage: Value,
    output_tokens: u64,
    end_marker: bool,
}

impl Default for AnthropicReply {
    fn default() -> Self {
        Self {
            parts: Vec::new(),
            stop: None,
            input_usage: input_usage(10, 0, 0),
            output_tokens: 5,
            end_marker: true,
        }
    }
}

impl AnthropicReply {
    /// A text block, cut into deltas of a few characters.
    pub fn text(self, text: &str) -> Self {
        self.text_deltas(deltas(text))
    }

    /// A text block in exactly these deltas.
    pub fn text_deltas<S: Into<String>>(mut self, pieces: impl IntoIterator<Item = S>) -> Self {
        self.parts.push(Part::text(pieces));
        self
    }

    /// A signed thinking block.
    pub fn thinking(mut self, text: &str, signature: &str) -> Self {
        self.parts.push(Part::Reasoning(deltas(text), signature.to_owned()));
        self
    }

    pub fn redacted_thinking(mut self, data: &str) -> Self {
        self.parts.push(Part::Redacted(data.to_owned()));
        self
    }

    pub fn tool_use(self, id: &str, name: &str, input: Value) -> Self {
        // The first delta of a real stream is often empty.
        let pieces = std::iter::once(String::new()).chain(deltas(&input.to_string()));
        self.tool_use_deltas(id, name, pieces)
    }

    /// A call whose input arrives in exactly these pieces, JSON or not.
    pub fn tool_use_deltas<S: Into<String>>(
        mut self,
        id: &str,
        name: &str,
        pieces: impl IntoIterator<Item = S>,
    ) -> Self {
        self.parts.push(Part::call(id, name, pieces));
        self
    }

    pub fn ping(self) -> Self {
        self.event("ping", json!({"type": "ping"}))
    }

    /// An error in mid-stream, such as `overloaded_error`.
    pub fn error(self, kind: &str, message: &str) -> Self {
        self.event("error", json!({"type": "error", "error": {"type": kind, "message": message}}))
    }

    /// Any event between two blocks.
    pub fn event(mut self, name: &str, data: Value) -> Self {
        self.parts.push(Part::Event(Some(name.to_owned()), data));
        self
    }

    /// Bytes between two blocks: a comment, a BOM, rubbish.
    pub fn bytes(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.parts.push(Part::Bytes(bytes.as_ref().to_vec()));
        self
    }

    /// The `stop_reason`; else `tool_use` after a call and `end_turn` without.
    pub fn stop(mut self, reason: &str) -> Self {
        self.stop = Some(reason.to_owned());
        self
    }

    pub fn usage(mut self, input_tokens: u64, output_tokens: u64) -> Self {
        self.input_usage["input_tokens"] = json!(input_tokens);
        self.output_tokens = output_tokens;
        self
    }

    pub fn cache_usage(mut self, read: u64, written: u64) -> Self {
        self.input_usage["cache_read_input_tokens"] = json!(read);
        self.input_usage["cache_creation_input_tokens"] = json!(written);
        self
    }

    /// Leaves out `message_delta` and `message_stop`: a stream that was cut between two events.
    pub fn unfinished(mut self) -> Self {
        self.end_marker = false;
        self
    }

    /// The answer as a stream: each event is one write.
    pub fn done(self) -> Reply {
        let mut usage = self.input_usage.clone();
        usage["output_tokens"] = json!(1);
        let start = message(json!([]), Value::Null, usage);
        let mut events = vec![event("message_start", json!({"message": start}))];
        let mut index = 0;
        for part in &self.parts {
            match part {
                Part::Event(name, data) => events.push(sse(name.as_deref(), data)),
                Part::Bytes(bytes) => events.push(bytes.clone()),
                Part::Text(_) | Part::Reasoning(..) | Part::Redacted(_) | Part::ToolCall { .. } => {
                    stream_block(part, index, &mut events);
                    index += 1;
                }
            }
        }
        if self.end_marker {
            let delta = json!({"stop_reason": self.stop_reason(), "stop_sequence": null});
            let usage = json!({"output_tokens": self.output_tokens});
            events.push(event("message_delta", json!({"delta": delta, "usage": usage})));
            events.push(event("message_stop", json!({})));
        }
        Reply::stream(events.into_iter().map(Step::Bytes))
    }

    /// The answer as one JSON body, as for `"stream": false`.
    pub fn whole(self) -> Reply {
        let blocks: Vec<Value> = self.parts.iter().filter_map(whole_block).collect();
        let mut usage = self.input_usage.clone();
        usage["output_tokens"] = json!(self.output_tokens);
        Reply::status(200).json(message(json!(blocks), json!(self.stop_reason()), usage))
    }

    fn stop_reason(&self) -> &str {
        let called = self.parts.iter().any(Part::is_call);
        self.stop.as_deref().unwrap_or(if called { "tool_use" } else { "end_turn" })
    }
}

impl From<AnthropicReply> for Reply {
    fn from(reply: AnthropicReply) -> Self {
        reply.done()
    }
}

fn input_usage(input: u64, read: u64, written: u64) -> Value {
    json!({
        "input_tokens": input,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
    })
}

fn message(content: Value, stop_reason: Value, usage: Value) -> Value {
    json!({
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": null,
        "usage": usage,
    })
}

/// An event whose data begins with its own name, as this wire has it.
fn event(name: &str, fields: Value) -> Vec<u8> {
    let mut data = json!({"type": name});
    if let (Value::Object(data), Value::Object(fields)) = (&mut data, fields) {
        data.extend(fields);
    }
    sse(Some(name), &data)
}

fn stream_block(part: &Part, index: usize, events: &mut Vec<Vec<u8>>) {
    let (empty, deltas) = match part {
        Part::Text(pieces) => {
            let deltas = pieces.iter().map(|piece| json!({"type": "text_delta", "text": piece})).collect();
            (json!({"type": "text", "text": ""}), deltas)
        }
        Part::Reasoning(pieces, signature) => {
            let thinking = pieces.iter().map(|piece| json!({"type": "thinking_delta", "thinking": piece}));
            let signed = json!({"type": "signature_delta", "signature": signature});
            let empty = json!({"type": "thinking", "thinking": "", "signature": ""});
            (empty, thinking.chain([signed]).collect())
        }
        Part::Redacted(data) => (json!({"type": "redacted_thinking", "data": data}), Vec::new()),
        Part::ToolCall { id, name, arguments } => {
            let deltas =
                arguments.iter().map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
            (json!({"type": "tool_use", "id": id, "name": name, "input": {}}), deltas.collect())
        }
        Part::Event(..) | Part::Bytes(_) => return,
    };
    events.push(event("content_block_start", json!({"index": index, "content_block": empty})));
    let deltas: Vec<Value> = deltas;
    events.extend(
        deltas.into_iter().map(|delta| event("content_block_delta", json!({"index": index, "delta": delta}))),
    );
    events.push(event("content_block_stop", json!({"index": index})));
}

fn whole_block(part: &Part) -> Option<Value> {
    Some(match part {
        Part::Text(pieces) => json!({"type": "text", "text": pieces.concat()}),
        Part::Reasoning(pieces, signature) => {
            json!({"type": "thinking", "thinking": pieces.concat(), "signature": signature})
        }
        Part::Redacted(data) => json!({"type": "redacted_thinking", "data": data}),
        Part::ToolCall { id, name, arguments } => {
            json!({"type": "tool_use", "id": id, "name": name, "input": parse(arguments)})
        }
        Part::Event(..) | Part::Bytes(_) => return None,
    })
}
