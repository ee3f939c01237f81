//! Answers in the shape of the OpenAI Chat Completions wire, streamed or whole.

use serde_json::{Value, json};

use super::parts::{Part, deltas};
use super::{Reply, Step, sse};

/// Built part by part, in order; goes wherever a [`Reply`] goes.
#[derive(Clone, Debug)]
pub struct ChatReply {
    parts: Vec<Part>,
    reasoning_field: &'static str,
    finish: Option<String>,
    usage: Option<Value>,
    end_marker: bool,
}

impl Default for ChatReply {
    fn default() -> Self {
        Self {
            parts: Vec::new(),
            reasoning_field: "reasoning",
            finish: None,
            usage: Some(usage(10, 5)),
            end_marker: true,
        }
    }
}

impl ChatReply {
    /// Text, cut into deltas of a few characters.
    pub fn text(self, text: &str) -> Self {
        self.text_deltas(deltas(text))
    }

    /// Text in exactly these deltas.
    pub fn text_deltas<S: Into<String>>(mut self, pieces: impl IntoIterator<Item = S>) -> Self {
        self.parts.push(Part::text(pieces));
        self
    }

    /// Thinking, in `delta.reasoning` unless [`Self::reasoning_field`] says otherwise.
    pub fn reasoning(mut self, text: &str) -> Self {
        self.parts.push(Part::Reasoning(deltas(text), String::new()));
        self
    }

    /// `reasoning_content`, for servers of that kind.
    pub fn reasoning_field(mut self, name: &'static str) -> Self {
        self.reasoning_field = name;
        self
    }

    pub fn tool_call(self, id: &str, name: &str, arguments: Value) -> Self {
        self.tool_call_deltas(id, name, deltas(&arguments.to_string()))
    }

    /// A call whose arguments arrive in exactly these pieces, JSON or not.
    pub fn tool_call_deltas<S: Into<String>>(
        mut self,
        id: &str,
        name: &str,
        pieces: impl IntoIterator<Item = S>,
    ) -> Self {
        self.parts.push(Part::call(id, name, pieces));
        self
    }

    /// A chunk with this `delta`.
    pub fn delta(self, delta: Value) -> Self {
        self.chunk(json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}))
    }

    /// Any `data:` line, such as an error in mid-stream.
    pub fn chunk(mut self, chunk: Value) -> Self {
        self.parts.push(Part::Event(None, chunk));
        self
    }

    /// Bytes between two events: a comment, a BOM, rubbish.
    pub fn bytes(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.parts.push(Part::Bytes(bytes.as_ref().to_vec()));
        self
    }

    /// The `finish_reason`; else `tool_calls` after a call and `stop` without.
    pub fn finish(mut self, reason: &str) -> Self {
        self.finish = Some(reason.to_owned());
        self
    }

    pub fn usage(mut self, prompt_tokens: u64, completion_tokens: u64) -> Self {
        self.usage = Some(usage(prompt_tokens, completion_tokens));
        self
    }

    pub fn no_usage(mut self) -> Self {
        self.usage = None;
        self
    }

    /// Leaves out the finish chunk, the usage and `[DONE]`: a stream that was cut between two events.
    pub fn unfinished(mut self) -> Self {
        self.end_marker = false;
        self
    }

    /// The answer as a stream: each event is one write.
    pub fn done(self) -> Reply {
        let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), None)];
        let mut calls = 0;
        for part in &self.parts {
            self.stream_part(part, calls, &mut events);
            calls += usize::from(part.is_call());
        }
        if self.end_marker {
            events.push(chunk(json!({}), Some(self.finish_reason())));
            events.extend(self.usage.map(|usage| {
                let mut last = envelope("chat.completion.chunk", json!([]));
                last["usage"] = usage;
                sse(None, &last)
            }));
            events.push(b"data: [DONE]\n\n".to_vec());
        }
        Reply::stream(events.into_iter().map(Step::Bytes))
    }

    /// The answer as one JSON body, as for `"stream": false`.
    pub fn whole(self) -> Reply {
        let mut message = json!({"role": "assistant", "content": null});
        let mut calls = Vec::new();
        for part in &self.parts {
            match part {
                Part::Text(pieces) => append(&mut message["content"], pieces),
                Part::Reasoning(pieces, _) => append(&mut message[self.reasoning_field], pieces),
                Part::ToolCall { id, name, arguments } => {
                    let function = json!({"name": name, "arguments": arguments.concat()});
                    calls.push(json!({"id": id, "type": "function", "function": function}));
                }
                Part::Redacted(_) | Part::Event(..) | Part::Bytes(_) => {}
            }
        }
        if !calls.is_empty() {
            message["tool_calls"] = Value::Array(calls);
        }
        let choice = json!({"index": 0, "message": message, "finish_reason": self.finish_reason()});
        let mut body = envelope("chat.completion", json!([choice]));
        body["usage"] = self.usage.unwrap_or(Value::Null);
        Reply::status(200).json(body)
    }

    fn stream_part(&self, part: &Part, call: usize, events: &mut Vec<Vec<u8>>) {
        match part {
            Part::Text(pieces) => {
                events.extend(pieces.iter().map(|piece| chunk(json!({"content": piece}), None)));
            }
            Part::Reasoning(pieces, _) => {
                let field = self.reasoning_field;
                events.extend(pieces.iter().map(|piece| chunk(json!({field: piece}), None)));
            }
            Part::ToolCall { id, name, arguments } => {
                let function = json!({"name": name, "arguments": ""});
                let first = json!({"index": call, "id": id, "type": "function", "function": function});
                events.push(chunk(json!({"tool_calls": [first]}), None));
                events.extend(arguments.iter().map(|piece| {
                    let next = json!({"index": call, "function": {"arguments": piece}});
                    chunk(json!({"tool_calls": [next]}), None)
                }));
            }
            Part::Event(_, data) => events.push(sse(None, data)),
            Part::Bytes(bytes) => events.push(bytes.clone()),
            Part::Redacted(_) => {}
        }
    }

    fn finish_reason(&self) -> &str {
        let called = self.parts.iter().any(Part::is_call);
        self.finish.as_deref().unwrap_or(if called { "tool_calls" } else { "stop" })
    }
}

impl From<ChatReply> for Reply {
    fn from(reply: ChatReply) -> Self {
        reply.done()
    }
}

fn usage(prompt_tokens: u64, completion_tokens: u64) -> Value {
    json!({
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    })
}

fn envelope(object: &str, choices: Value) -> Value {
    json!({"id": "chatcmpl-1", "object": object, "created": 1_760_000_000, "model": "scripted", "choices": choices})
}

fn chunk(delta: Value, finish: Option<&str>) -> Vec<u8> {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    sse(None, &envelope("chat.completion.chunk", json!([choice])))
}

fn append(field: &mut Value, pieces: &[String]) {
    let before = field.as_str().unwrap_or_default().to_owned();
    *field = Value::String(before + &pieces.concat());
}
