//! One answer on its way: chunks become frames, frames become events. Every wait has an end, and what arrived
//! before something broke is always delivered first.

use std::collections::VecDeque;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use serde::de::IgnoredAny;
use tokio::time::{Instant, timeout, timeout_at};
use zdx_net::{Bytes, NetError, Response};

use crate::sniff::{START, Shape, shape_of, words_of};
use crate::wire::problem::page_summary;
use crate::wire::sse::{Framer, MAX_EVENT};
use crate::wire::{Decode, Frame};
use crate::{ModelError, ModelEvent, TimeoutPhase};

/// So many chunks are taken along at most: a fast server must not keep the reader waiting for its text.
const BATCH: usize = 64;
/// Deltas that came together are joined up to this size.
const JOIN: usize = 16 * 1024;
const PAGE: usize = 64 * 1024;

/// No model writes so much: a server that never ends an answer must not fill our memory.
const MOST_TEXT: usize = 32 << 20;

/// How long to wait for what.
pub(crate) struct Waits {
    /// When the first byte of the body must be there. None: the server may read the prompt for as long as it likes.
    pub deadline: Option<Instant>,
    pub first_byte: Option<Duration>,
    pub idle: Duration,
    /// For the last bytes of a complete answer.
    pub drain: Duration,
}

/// One answer as it comes. Dropping it ends the request.
pub struct ModelStream {
    queue: VecDeque<ModelEvent>,
    source: Source,
}

enum Source {
    Server(Box<Incoming>),
    Failed(ModelError),
    Over,
}

struct Incoming {
    response: Response,
    content_type: String,
    decoder: Box<dyn Decode>,
    framer: Framer,
    shape: Shape,
    /// Bytes whose shape is not known yet, or a whole answer as it grows.
    body: Vec<u8>,
    events: Vec<ModelEvent>,
    waits: Waits,
    begun: bool,
    /// An event came, whatever was in it.
    spoke: bool,
    /// Something of the answer came.
    answered: bool,
    /// Bytes of text, thoughts and arguments so far.
    written: usize,
}

/// Why no more chunks come.
enum End {
    Clean,
    Broken(String),
    TimedOut(TimeoutPhase, Duration),
}

pub(crate) async fn begin(
    mut response: Response,
    decoder: Box<dyn Decode>,
    waits: Waits,
) -> Result<ModelStream, ModelError> {
    let content_type = response.header("content-type").unwrap_or_default().to_ascii_lowercase();
    if content_type.starts_with("text/html") {
        let mut page = Vec::new();
        let _ = response.read_into(&mut page, PAGE, waits.idle).await;
        return Err(ModelError::Protocol(page_summary(&String::from_utf8_lossy(&page))));
    }
    let answer = Incoming {
        response,
        content_type,
        decoder,
        framer: Framer::default(),
        shape: Shape::Unknown,
        body: Vec::new(),
        events: Vec::new(),
        waits,
        begun: false,
        spoke: false,
        answered: false,
        written: 0,
    };
    Ok(ModelStream { queue: VecDeque::new(), source: Source::Server(Box::new(answer)) })
}

impl ModelStream {
    /// An answer that is already there.
    pub(crate) fn ready(events: Vec<ModelEvent>) -> Self {
        Self { queue: events.into(), source: Source::Over }
    }

    /// The next event; `None` after the last. Safe to cancel: nothing that arrived is lost.
    pub async fn next(&mut self) -> Result<Option<ModelEvent>, ModelError> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Ok(Some(event));
            }
            let more = match &mut self.source {
                Source::Server(answer) => answer.advance(&mut self.queue).await,
                Source::Failed(_) | Source::Over => Ok(false),
            };
            match more {
                Ok(true) => {}
                Ok(false) => match std::mem::replace(&mut self.source, Source::Over) {
                    Source::Server(answer) => answer.drain(),
                    Source::Failed(error) => return Err(error),
                    Source::Over if self.queue.is_empty() => return Ok(None),
                    Source::Over => {}
                },
                // What came before the failure goes out first.
                Err(error) => self.source = Source::Failed(error),
            }
        }
    }
}

impl Incoming {
    /// Waits for a chunk and takes along what else has arrived by then. False when the answer is complete.
    async fn advance(&mut self, queue: &mut VecDeque<ModelEvent>) -> Result<bool, ModelError> {
        let mut next = self.wait().await;
        for taken in 1.. {
            let more = match next {
                Ok(chunk) => self.feed(&chunk),
                Err(end) => self.end(end).map(|()| false),
            };
            let complete = self.events.iter().any(|event| matches!(event, ModelEvent::Stop(_)));
            self.answered |= !self.events.is_empty();
            self.written += self.events.iter().map(text_len).sum::<usize>();
            enqueue(&mut self.events, queue);
            if self.written > MOST_TEXT {
                let most = MOST_TEXT >> 20;
                return Err(ModelError::Protocol(format!(
                    "the answer is larger than {most} MiB; it was cut there"
                )));
            }
            if !more? || complete {
                return Ok(false);
            }
            if taken == BATCH {
                break;
            }
            // Lets the connection hand over the next chunk if it has one.
            tokio::task::yield_now().await;
            next = match self.poll_chunk().await {
                Poll::Ready(next) => next,
                Poll::Pending => break,
            };
        }
        Ok(true)
    }

    async fn wait(&mut self) -> Result<Bytes, End> {
        let Waits { deadline, first_byte, idle, .. } = self.waits;
        let (deadline, phase, after) = match (deadline, first_byte) {
            (Some(deadline), Some(first_byte)) if !self.begun => {
                (deadline, TimeoutPhase::FirstByte, first_byte)
            }
            // Signs of life are no answer yet, and some servers send none.
            (None, _) | (_, None) if !self.answered => return one_chunk(self.response.chunk().await),
            _ => (Instant::now() + idle, TimeoutPhase::Idle, idle),
        };
        match timeout_at(deadline, self.response.chunk()).await {
            Ok(chunk) => one_chunk(chunk),
            Err(_) => Err(End::TimedOut(phase, after)),
        }
    }

    async fn poll_chunk(&mut self) -> Poll<Result<Bytes, End>> {
        let chunk = pin!(self.response.chunk());
        futures_util::poll!(chunk).map(one_chunk)
    }

    /// Decodes what can be decoded; true if more may come.
    fn feed(&mut self, chunk: &[u8]) -> Result<bool, ModelError> {
        self.begun |= !chunk.is_empty();
        match self.shape {
            Shape::Stream => {
                self.keep_start(chunk);
                self.frames(chunk)?;
            }
            Shape::Whole | Shape::Unknown => {
                if self.body.len() + chunk.len() > MAX_EVENT {
                    return Err(ModelError::Protocol("the answer is larger than 64 MiB".to_owned()));
                }
                self.body.extend_from_slice(chunk);
                if self.shape == Shape::Unknown {
                    self.shape = shape_of(&self.body, &self.content_type)?;
                }
                if self.shape == Shape::Stream {
                    let held = std::mem::take(&mut self.body);
                    self.keep_start(&held);
                    self.frames(&held)?;
                }
            }
        }
        Ok(true)
    }

    /// How a stream began that has brought no event yet: all that can be told of one that never does.
    fn keep_start(&mut self, bytes: &[u8]) {
        let room = START.saturating_sub(self.body.len()).min(bytes.len());
        if !self.spoke {
            self.body.extend_from_slice(&bytes[..room]);
        }
    }

    fn frames(&mut self, bytes: &[u8]) -> Result<(), ModelError> {
        let Self { framer, decoder, events, spoke, .. } = self;
        framer.push(bytes, &mut |frame: &Frame| {
            *spoke = true;
            decoder.frame(frame, events)
        })
    }

    fn end(&mut self, end: End) -> Result<(), ModelError> {
        let Self { framer, decoder, events, body, spoke, .. } = self;
        if matches!(end, End::Clean) {
            match self.shape {
                Shape::Whole => return decoder.whole(body, events),
                Shape::Unknown => return Err(ModelError::Empty("the connection closed".to_owned())),
                // The last event may lack its blank line. If it lacks more than that, `finish` says it better.
                Shape::Stream => framer.finish(&mut |frame: &Frame| {
                    *spoke = true;
                    if is_cut(&frame.data) { Ok(()) } else { decoder.frame(frame, events) }
                })?,
            }
        }
        // An answer that was complete but for its last marker stays one.
        let finished = self.decoder.finish(&mut self.events);
        match (end, finished) {
            (_, Ok(())) => Ok(()),
            (End::Clean, Err(_)) if !self.spoke => {
                let said = words_of(&self.body).unwrap_or_else(|| "the connection closed".to_owned());
                Err(ModelError::Empty(said))
            }
            (End::Clean, Err(error)) => Err(error),
            (End::Broken(why), Err(_)) => Err(ModelError::Cut(why)),
            (End::TimedOut(phase, after), Err(_)) => Err(ModelError::Timeout { phase, after }),
        }
    }

    /// Reads the last bytes of a complete answer aside, so that the connection can be used again.
    fn drain(self) {
        let (mut response, limit) = (self.response, self.waits.drain);
        tokio::spawn(timeout(limit, async move { while let Ok(Some(_)) = response.chunk().await {} }));
    }
}

/// Whether JSON breaks off in the middle.
fn is_cut(data: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(data).is_err_and(|error| error.is_eof())
}

fn one_chunk(chunk: Result<Option<Bytes>, NetError>) -> Result<Bytes, End> {
    match chunk {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(End::Clean),
        Err(error) => Err(End::Broken(error.to_string())),
    }
}

fn text_len(event: &ModelEvent) -> usize {
    match event {
        ModelEvent::Text(text)
        | ModelEvent::ReasoningDelta(text)
        | ModelEvent::ToolCallArguments { more: text, .. } => text.len(),
        ModelEvent::Reasoning(_)
        | ModelEvent::WasThinking
        | ModelEvent::ToolCallStarted { .. }
        | ModelEvent::ToolCall(_)
        | ModelEvent::Usage(_)
        | ModelEvent::Stop(_) => 0,
    }
}

/// Deltas that came in one go are one event: each event costs the reader a wake-up and a write.
fn enqueue(events: &mut Vec<ModelEvent>, queue: &mut VecDeque<ModelEvent>) {
    for event in events.drain(..) {
        match (queue.back_mut(), event) {
            (Some(ModelEvent::Text(last)), ModelEvent::Text(more)) if last.len() < JOIN => {
                last.push_str(&more)
            }
            (Some(ModelEvent::ReasoningDelta(last)), ModelEvent::ReasoningDelta(more))
                if last.len() < JOIN =>
            {
                last.push_str(&more);
            }
            (
                Some(ModelEvent::ToolCallArguments { id, more: last }),
                ModelEvent::ToolCallArguments { id: of, more },
            ) if *id == of && last.len() < JOIN => last.push_str(&more),
            (_, event) => queue.push_back(event),
        }
    }
}
