//! What the scripted server answers: a head, a framing, and steps that say exactly which bytes go out when.

mod anthropic;
mod chat;
mod parts;
pub mod quirks;
mod refusal;

use std::time::Duration;

use serde_json::Value;

use crate::server::Gate;
pub use anthropic::AnthropicReply;
pub use chat::ChatReply;

#[derive(Clone, Debug)]
pub enum Step {
    /// One write, unless a split is in force; with chunked framing each write is a chunk of its own, so that a
    /// client sees the same pieces even when the kernel joins them.
    Bytes(Vec<u8>),
    /// From here on no write is longer than this; 0 ends it.
    SplitEvery(usize),
    Pause(Duration),
    /// Sends nothing more until the client goes away (at most a minute).
    Stall,
    WaitFor(Gate),
    /// Ends the connection with RST.
    Reset,
    /// Ends the connection with FIN, whatever the framing still promised.
    Close,
}

impl Step {
    pub fn bytes(bytes: impl AsRef<[u8]>) -> Self {
        Self::Bytes(bytes.as_ref().to_vec())
    }
}

/// How the end of the body is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    Chunked,
    Length,
    /// The body ends where the connection does.
    Close,
}

#[derive(Clone, Debug)]
struct Head {
    status: u16,
    headers: Vec<(String, String)>,
    framing: Framing,
}

#[derive(Clone, Debug)]
pub struct Reply {
    /// None: the steps carry the head too.
    head: Option<Head>,
    pub(crate) steps: Vec<Step>,
}

/// One server-sent event, with its name if it has one.
pub fn sse(event: Option<&str>, data: &Value) -> Vec<u8> {
    let name = event.map(|name| format!("event: {name}\n")).unwrap_or_default();
    format!("{name}data: {data}\n\n").into_bytes()
}

impl Reply {
    /// A stream of the OpenAI Chat Completions wire.
    pub fn chat() -> ChatReply {
        ChatReply::default()
    }

    /// A stream of the Anthropic Messages wire.
    pub fn anthropic() -> AnthropicReply {
        AnthropicReply::default()
    }

    /// A status with an empty body; see [`Self::json`] and [`Self::body`].
    pub fn status(status: u16) -> Self {
        let head = Head { status, headers: Vec::new(), framing: Framing::Length };
        Self { head: Some(head), steps: Vec::new() }
    }

    /// 200, `text/event-stream`, chunked, and then these steps as the body.
    pub fn stream(steps: impl IntoIterator<Item = Step>) -> Self {
        let head = Head { status: 200, headers: Vec::new(), framing: Framing::Chunked };
        Self { head: Some(head), steps: steps.into_iter().collect() }
            .header("content-type", "text/event-stream")
    }

    /// Exactly these bytes on the socket, the head included; the connection closes after the last step.
    pub fn raw(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { head: None, steps: steps.into_iter().collect() }
    }

    /// Sets a header; one that was set before is replaced.
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        if let Some(head) = &mut self.head {
            head.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            head.headers.push((name.to_owned(), value.into()));
        }
        self
    }

    pub fn json(self, body: Value) -> Self {
        self.body("application/json", body.to_string())
    }

    pub fn body(mut self, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        self.steps.push(Step::Bytes(body.into()));
        self.header("content-type", content_type)
    }

    pub fn framed(mut self, framing: Framing) -> Self {
        if let Some(head) = &mut self.head {
            head.framing = framing;
        }
        self
    }

    /// Adds a step at the end.
    pub fn then(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Waits so long before every piece.
    #[must_use]
    pub fn paced(mut self, pause: Duration) -> Self {
        let steps = std::mem::take(&mut self.steps).into_iter();
        self.steps = steps.flat_map(|step| [Step::Pause(pause), step]).collect();
        self
    }

    /// No write of the body is longer than this.
    pub fn split_every(mut self, size: usize) -> Self {
        self.steps.insert(0, Step::SplitEvery(size));
        self
    }

    /// The body in one piece, cut at these offsets only.
    pub fn split_at(self, offsets: &[usize]) -> Self {
        let mut reply = self.joined();
        for offset in offsets {
            reply.open_at(*offset);
        }
        reply
    }

    /// Does `step` between the byte before `offset` of the body and the byte at it.
    pub fn insert_at(mut self, offset: usize, step: Step) -> Self {
        let at = self.open_at(offset);
        self.steps.insert(at, step);
        self
    }

    /// Sends `offset` bytes of the body, then does `step` and no more.
    pub fn cut_at(mut self, offset: usize, step: Step) -> Self {
        let at = self.open_at(offset);
        self.steps.truncate(at);
        self.then(step)
    }

    /// Does `step` after the first `count` events of a stream.
    pub fn after_events(self, count: usize, step: Step) -> Self {
        let offset = self.offset_of_event(count);
        self.insert_at(offset, step)
    }

    /// Sends the first `count` events of a stream, then does `step` and no more.
    pub fn cut_after_events(self, count: usize, step: Step) -> Self {
        let offset = self.offset_of_event(count);
        self.cut_at(offset, step)
    }

    /// Neighbouring pieces of the body become one write.
    pub fn joined(mut self) -> Self {
        let mut joined: Vec<Step> = Vec::new();
        for step in self.steps {
            match (joined.last_mut(), step) {
                (Some(Step::Bytes(last)), Step::Bytes(next)) => last.extend(next),
                (_, step) => joined.push(step),
            }
        }
        self.steps = joined;
        self
    }

    /// Rewrites the body, which then goes out in one piece.
    pub fn map_body(mut self, change: impl FnOnce(Vec<u8>) -> Vec<u8>) -> Self {
        let body = self.body_bytes();
        self.steps.retain(|step| !matches!(step, Step::Bytes(_)));
        self.steps.insert(0, Step::Bytes(change(body)));
        self
    }

    /// The bytes of the body, without any framing: what a decoder gets to see.
    pub fn body_bytes(&self) -> Vec<u8> {
        self.steps.iter().filter_map(bytes_of).flatten().copied().collect()
    }

    /// Makes `offset` a border between two steps and returns the index of the later one.
    fn open_at(&mut self, offset: usize) -> usize {
        let mut start = 0;
        for at in 0..self.steps.len() {
            if start == offset {
                return at;
            }
            let Step::Bytes(bytes) = &mut self.steps[at] else { continue };
            if start + bytes.len() > offset {
                let rest = bytes.split_off(offset - start);
                self.steps.insert(at + 1, Step::Bytes(rest));
                return at + 1;
            }
            start += bytes.len();
        }
        self.steps.len()
    }

    fn offset_of_event(&self, count: usize) -> usize {
        let body = self.body_bytes();
        let ends = body.windows(2).enumerate().filter(|(_, pair)| *pair == b"\n\n");
        match count.checked_sub(1) {
            None => 0,
            Some(last) => ends.map(|(at, _)| at + 2).nth(last).unwrap_or(body.len()),
        }
    }

    pub(crate) fn framing(&self) -> Option<Framing> {
        self.head.as_ref().map(|head| head.framing)
    }

    /// Says `connection: close`.
    pub(crate) fn closes(&self) -> bool {
        self.head.as_ref().is_some_and(|head| {
            head.headers
                .iter()
                .any(|(name, value)| name.eq_ignore_ascii_case("connection") && value == "close")
        })
    }

    pub(crate) fn head_bytes(&self) -> Option<Vec<u8>> {
        let head = self.head.as_ref()?;
        let mut text = format!("HTTP/1.1 {} {}\r\n", head.status, reason(head.status));
        let has = |name: &str| head.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        for (name, value) in &head.headers {
            text += &format!("{name}: {value}\r\n");
        }
        match head.framing {
            Framing::Chunked => text += "transfer-encoding: chunked\r\n",
            // A test may declare a length that is not true.
            Framing::Length if has("content-length") => {}
            Framing::Length => {
                let length: usize = self.steps.iter().filter_map(bytes_of).map(Vec::len).sum();
                text += &format!("content-length: {length}\r\n");
            }
            Framing::Close if has("connection") => {}
            Framing::Close => text += "connection: close\r\n",
        }
        text += "\r\n";
        Some(text.into_bytes())
    }
}

fn bytes_of(step: &Step) -> Option<&Vec<u8>> {
    match step {
        Step::Bytes(bytes) => Some(bytes),
        Step::SplitEvery(_) | Step::Pause(_) | Step::Stall | Step::WaitFor(_) | Step::Reset | Step::Close => {
            None
        }
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        408 => "Request Timeout",
        413 => "Content Too Large",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Status",
    }
}
