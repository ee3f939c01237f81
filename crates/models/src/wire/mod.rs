//! The pure part of speaking to a model: a request becomes bytes, frames become events. No I/O.

use zdx_protocol::ToolSpec;

use crate::{ModelError, ModelEvent, ModelRequest};

/// The dialects zdx speaks. A closed set: a vendor is data, a wire is code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
    Anthropic,
    OpenaiChat,
}

/// A request ready for the HTTP driver, which adds the base URL and the vendor's own headers.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpRequest {
    /// Appended to the base URL.
    pub path: &'static str,
    pub headers: Vec<(&'static str, String)>,
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
    pub fn encode(self, request: &ModelRequest) -> Result<HttpRequest, ModelError> {
        let _ = request;
        Err(ModelError::Setup("not built".to_owned()))
    }

    pub fn decoder(self, model: &str, tools: &[ToolSpec]) -> Box<dyn Decode> {
        let _ = (model, tools);
        unreachable!("replaced by the wires")
    }
}
