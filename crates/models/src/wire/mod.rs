//! The pure part of speaking to a model: a request becomes bytes, frames become events. No I/O.

use std::hash::{BuildHasher, RandomState};

use serde::Serialize;
use zdx_protocol::transcript::ContextSize;
use zdx_protocol::{Content, ImageCost, ImageRef, Part};

use crate::{ModelError, ModelEvent, ModelRequest, StopReason};

mod anthropic;
mod history;
pub(crate) mod lenient;
mod openai_chat;
mod overflow;
pub(crate) mod problem;
pub mod sse;
mod target;
#[cfg(test)]
mod testing;
mod think;

pub(crate) use openai_chat::wants_completion_tokens;
pub use target::Target;

/// The dialects zdx speaks. A closed set: a vendor is data, a wire is code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
    Anthropic,
    OpenaiChat,
}

/// How a key is shown. Some servers speak a wire but not its way to show keys (vLLM's Anthropic endpoint takes `bearer`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Auth {
    Bearer,
    XApiKey,
}

impl Auth {
    /// The header and its value.
    pub fn header(self, key: &str) -> (&'static str, String) {
        match self {
            Self::Bearer => ("authorization", format!("Bearer {key}")),
            Self::XApiKey => ("x-api-key", key.to_owned()),
        }
    }
}

/// Pixels of the longer side, and bytes of the base64 text.
#[derive(Clone, Copy)]
struct ImageLimit {
    side: u32,
    base64_bytes: usize,
}

/// A request ready for the HTTP driver, which adds the base URL and the vendor's own headers.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpRequest {
    pub target: Target,
    pub headers: &'static [(&'static str, &'static str)],
    pub body: Vec<u8>,
}

/// One frame of a server-sent event stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    pub event: Option<String>,
    pub data: String,
}

/// Turns one answer into events. Made anew for each request.
pub trait Decode: Send {
    /// One frame of a stream.
    fn frame(&mut self, frame: &Frame, out: &mut Vec<ModelEvent>) -> Result<(), ModelError>;
    /// A whole answer that did not come as a stream.
    fn whole(&mut self, body: &[u8], out: &mut Vec<ModelEvent>) -> Result<(), ModelError>;
    /// The connection closed: completes the answer, or says that it was cut.
    fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError>;
}

impl Wire {
    /// As configuration and session records write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenaiChat => "openai-chat",
        }
    }

    pub fn encode(self, request: &ModelRequest) -> Result<HttpRequest, ModelError> {
        match self {
            Self::Anthropic => anthropic::encode(request),
            Self::OpenaiChat => openai_chat::encode(request),
        }
    }

    pub fn decoder(self, model: &str) -> Box<dyn Decode> {
        self.decoder_with(model, Ids::random())
    }

    fn decoder_with(self, model: &str, ids: Ids) -> Box<dyn Decode> {
        let decoder: Box<dyn Decode> = match self {
            Self::Anthropic => Box::new(anthropic::Decoder::new(model, ids)),
            Self::OpenaiChat => Box::new(openai_chat::Decoder::new(model, ids)),
        };
        Box::new(think::ThinkSplit::new(decoder, self, model))
    }

    /// How a key is shown to this wire's servers, unless a provider's entry says otherwise.
    pub fn auth(self) -> Auth {
        match self {
            Self::Anthropic => Auth::XApiKey,
            Self::OpenaiChat => Auth::Bearer,
        }
    }

    /// The rule by which its servers count the tokens of an image.
    pub fn image_cost(self) -> ImageCost {
        match self {
            Self::Anthropic => ImageCost::Area,
            Self::OpenaiChat => ImageCost::Tiles,
        }
    }

    /// The largest image that its servers accept; a request with a larger one is refused as a whole.
    fn image_limit(self) -> ImageLimit {
        match self {
            Self::Anthropic => ImageLimit { side: 8_000, base64_bytes: 5 << 20 },
            Self::OpenaiChat => ImageLimit { side: u32::MAX, base64_bytes: usize::MAX },
        }
    }

    /// Where a server lists its models.
    pub fn models(self) -> Target {
        match self {
            Self::Anthropic => anthropic::MODELS,
            Self::OpenaiChat => openai_chat::MODELS,
        }
    }

    /// What targets hang below, of the path of a base URL: with or without `/v1`, with a trailing slash, even with the
    /// path of some wire's own answers, which is what people copy.
    fn root(self, path: &str) -> &str {
        let path = path.trim_end_matches('/');
        let pasted = anthropic::without_target(path).or_else(|| openai_chat::without_target(path));
        match self {
            Self::Anthropic => anthropic::root(pasted.unwrap_or(path)),
            Self::OpenaiChat => openai_chat::root(pasted.unwrap_or(path)),
        }
    }

    /// Headers of every request, listing included.
    pub fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Anthropic => &[("anthropic-version", "2023-06-01")],
            Self::OpenaiChat => &[],
        }
    }
}

/// Makes ids for calls that came without one. They must differ from those of every other answer of the
/// session, so the seed is random; a test gives its own.
pub(crate) struct Ids {
    seed: u64,
    next: u32,
}

impl Ids {
    fn random() -> Self {
        Self { seed: RandomState::new().hash_one(0), next: 0 }
    }

    fn make(&mut self) -> String {
        self.next += 1;
        format!("call_{:012x}{:02}", self.seed & 0xffff_ffff_ffff, self.next)
    }
}

/// Everything in a request that is not its messages is smaller than this, but for the system text.
const BESIDE_MESSAGES: usize = 16 << 10;
/// What a wire writes around a part beyond its weight.
const AROUND_PART: usize = 64;

/// The body in one buffer that was large enough from the start: one that doubles while the history is written into it
/// leaves holes in the heap, each as large as the history was earlier.
fn write_body(body: &impl Serialize, request: &ModelRequest) -> Result<Vec<u8>, ModelError> {
    let parts = request.messages.iter().flat_map(|message| &message.parts);
    // Text inside text is escaped; what is guessed too large is never touched and costs nothing.
    let size = ContextSize::default();
    let sent_length = |image: &ImageRef| request.images.find(image).map_or(0, str::len);
    let image_bytes =
        |part: &Part| part.content().iter().filter_map(Content::image).map(sent_length).sum::<usize>();
    let messages: usize =
        parts.map(|part| size.weight(part) as usize * 3 / 2 + AROUND_PART + image_bytes(part)).sum();
    let mut bytes = Vec::with_capacity(BESIDE_MESSAGES + request.system.len() + messages);
    serde_json::to_writer(&mut bytes, body)
        .map_err(|e| ModelError::Setup(format!("the request cannot be written as JSON: {e}")))?;
    Ok(bytes)
}

/// Closing the connection ends an answer only if the server had said why it stops.
fn was_told_to_stop(reason: Option<&StopReason>) -> Result<(), ModelError> {
    let cut = || ModelError::Cut("the connection closed before the end of the answer".to_owned());
    reason.map(drop).ok_or_else(cut)
}

/// An event that could not be read. It is passed over, unless the answer turns out to have no end without it.
#[derive(Default)]
struct Unread {
    last: Option<ModelError>,
}

impl Unread {
    /// `in_call`: arguments of a call are on their way, and the event may have held a piece of them. A call is never run
    /// with a hole in it, so the answer has to be asked for again.
    fn pass_over(&mut self, error: ModelError, data: &str, in_call: bool) -> Result<(), ModelError> {
        if in_call && data.starts_with('{') {
            return Err(ModelError::Cut("an event in the middle of a call could not be read".to_owned()));
        }
        self.last = Some(error);
        Ok(())
    }

    /// Something readable came.
    fn forget(&mut self) {
        self.last = None;
    }

    /// Why there is no end, if an event that was passed over was the last to come.
    fn blame(&mut self, missing: ModelError) -> ModelError {
        self.last.take().unwrap_or(missing)
    }
}

/// A frame or body that is no JSON, named without quoting all of it.
fn unreadable(what: &str, data: &str, error: &serde_json::Error) -> ModelError {
    let start: String = data.chars().take(80).collect();
    ModelError::Protocol(format!("{what} is no readable JSON ({error}): {}", problem::brief(&start)))
}
