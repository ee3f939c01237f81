//! Named behaviours of a model, on either wire, each a pure function of the request: how far a conversation has
//! come is read from the conversation itself, so one server plays for any number of clients.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::{Value, json};

use crate::{Reply, Request, Step};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// Says hello.
    Hello,
    /// Thinks, then says hello.
    Thinking,
    /// Calls `read`, then `bash`, then says it is done.
    ToolLoop,
    /// An answer of this many text deltas.
    Deltas(usize),
    /// The same, with so many milliseconds before each.
    Trickle { count: usize, pause_ms: u64 },
    /// An answer of this many lines.
    Lines(usize),
    /// Runs `true` this often with `bash`, so many calls an answer, then says it is done.
    ToolSteps { calls: usize, per_answer: usize },
    /// Makes this one call, then says it is done.
    Call { name: String, input: Value },
    /// Refuses with this status.
    Status(u16),
    /// Accepts the request and never answers.
    Stall,
}

pub const USAGE: &str = "hello | thinking | tool-loop | deltas N | trickle N MS | lines N | tool-steps N [PER_ANSWER] | call TOOL INPUT | status CODE | stall";

#[derive(Clone, Copy)]
enum Wire {
    Chat,
    Anthropic,
}

/// How a client wants to be answered.
#[derive(Clone, Copy)]
struct Manner {
    wire: Wire,
    stream: bool,
}

type ScriptedCall = (String, Cow<'static, str>, Value);

/// One answer in no wire's shape.
#[derive(Default)]
struct Answer {
    thinking: Option<&'static str>,
    text: Vec<String>,
    calls: Vec<ScriptedCall>,
}

impl Scenario {
    /// Reads a name and its numbers, as on a command line.
    pub fn parse<S: AsRef<str>>(words: &[S]) -> Result<Self, String> {
        let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
        let number = |text: &str| text.parse().map_err(|_| format!("{text:?} is no number; known: {USAGE}"));
        Ok(match words.as_slice() {
            ["hello"] => Self::Hello,
            ["thinking"] => Self::Thinking,
            ["tool-loop"] => Self::ToolLoop,
            ["deltas", count] => Self::Deltas(number(count)?),
            ["trickle", count, ms] => Self::Trickle { count: number(count)?, pause_ms: number(ms)? as u64 },
            ["lines", count] => Self::Lines(number(count)?),
            ["tool-steps", calls] => Self::ToolSteps { calls: number(calls)?, per_answer: 1 },
            ["tool-steps", calls, per] => {
                Self::ToolSteps { calls: number(calls)?, per_answer: number(per)?.max(1) }
            }
            ["call", name, input] => {
                let input = serde_json::from_str(input).map_err(|error| format!("{input:?}: {error}"))?;
                Self::Call { name: (*name).to_owned(), input }
            }
            ["status", code] => {
                Self::Status(u16::try_from(number(code)?).map_err(|_| format!("{code} is no status"))?)
            }
            ["stall"] => Self::Stall,
            _ => return Err(format!("unknown scenario {:?}; known: {USAGE}", words.join(" "))),
        })
    }

    /// The path says which wire it is, `stream` whether to stream, and the tool results how far we are.
    pub fn reply(&self, request: &Request) -> Reply {
        let wire = match request.path.split('?').next() {
            Some(path) if path.ends_with("/chat/completions") => Wire::Chat,
            Some(path) if path.ends_with("/messages") => Wire::Anthropic,
            _ => {
                let message = format!("no wire at {}", request.path);
                return Reply::status(404)
                    .json(json!({"error": {"type": "not_found_error", "message": message}}));
            }
        };
        let done = results(wire, &request.body);
        let manner = Manner { wire, stream: request.body["stream"] == true };
        match self {
            Self::Hello => text("hello").reply(manner),
            Self::Thinking => {
                Answer { thinking: Some("a greeting wants one back"), ..text("hello") }.reply(manner)
            }
            Self::ToolLoop => match done {
                0 => Answer { calls: vec![call(0, "read", json!({"path": "a.txt"}))], ..text("reading") }
                    .reply(manner),
                1 => calls([call(1, "bash", json!({"command": "echo from the shell"}))]).reply(manner),
                _ => text("all done").reply(manner),
            },
            Self::Deltas(count) => words(*count).reply(manner),
            Self::Trickle { count, pause_ms } => {
                words(*count).reply(manner).paced(Duration::from_millis(*pause_ms))
            }
            Self::Lines(count) => {
                let lines = (0..*count).map(|n| format!("line {n} of a long answer\n\n"));
                Answer { text: lines.collect(), ..Answer::default() }.reply(manner)
            }
            Self::ToolSteps { calls: all, .. } if done >= *all => text("all done").reply(manner),
            // The argument makes each call another one: a client may end a loop of identical calls.
            Self::ToolSteps { calls: all, per_answer } => {
                let next = done..(done + per_answer).min(*all);
                calls(next.map(|n| call(n, "bash", json!({"command": format!("true {n}")})))).reply(manner)
            }
            Self::Call { name, input } => match done {
                0 => calls([call(0, name.clone(), input.clone())]).reply(manner),
                _ => text("all done").reply(manner),
            },
            Self::Status(code) => {
                let error = json!({"type": "scripted", "message": "the scenario refuses"});
                Reply::status(*code).json(json!({"type": "error", "error": error}))
            }
            Self::Stall => Reply::raw([Step::Stall]),
        }
    }
}

impl Answer {
    fn reply(self, manner: Manner) -> Reply {
        match manner.wire {
            Wire::Chat => {
                let mut reply = Reply::chat();
                if let Some(text) = self.thinking {
                    reply = reply.reasoning(text);
                }
                if !self.text.is_empty() {
                    reply = reply.text_deltas(self.text);
                }
                for (id, name, input) in self.calls {
                    reply = reply.tool_call(&id, &name, input);
                }
                if manner.stream { reply.done() } else { reply.whole() }
            }
            Wire::Anthropic => {
                let mut reply = Reply::anthropic();
                if let Some(text) = self.thinking {
                    reply = reply.thinking(text, "c2lnbmVk");
                }
                if !self.text.is_empty() {
                    reply = reply.text_deltas(self.text);
                }
                for (id, name, input) in self.calls {
                    reply = reply.tool_use(&id, &name, input);
                }
                if manner.stream { reply.done() } else { reply.whole() }
            }
        }
    }
}

fn words(count: usize) -> Answer {
    Answer { text: (0..count).map(|n| format!("word{n} ")).collect(), ..Answer::default() }
}

fn text(text: &str) -> Answer {
    let (left, right) = text.split_at(text.len() / 2);
    Answer { text: vec![left.to_owned(), right.to_owned()], ..Answer::default() }
}

fn calls(calls: impl IntoIterator<Item = ScriptedCall>) -> Answer {
    Answer { calls: calls.into_iter().collect(), ..Answer::default() }
}

fn call(number: usize, name: impl Into<Cow<'static, str>>, input: Value) -> ScriptedCall {
    (format!("call_{number}"), name.into(), input)
}

/// Tool results the client has sent so far.
fn results(wire: Wire, body: &Value) -> usize {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    match wire {
        Wire::Chat => messages.iter().filter(|message| message["role"] == "tool").count(),
        Wire::Anthropic => messages
            .iter()
            .filter_map(|message| message["content"].as_array())
            .flatten()
            .filter(|block| block["type"] == "tool_result")
            .count(),
    }
}
