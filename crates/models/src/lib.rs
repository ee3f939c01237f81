//! How to speak to a model. `wire/` is pure (request to bytes, frames to events); `http` and `stream` carry the
//! bytes, on the way that `zdx-net` makes; `retry` decides; `catalogue` knows the vendors as data; `demo` is the
//! built-in model that needs nothing.

mod catalogue;
mod demo;
mod discover;
mod endpoint;
mod error;
mod http;
mod images;
mod listing;
mod request;
pub mod retry;
mod sniff;
mod stream;
pub mod wire;

pub use catalogue::{Catalogue, ProviderEntry, Timeouts};
pub use discover::{Discovered, Discovery, LOCAL_SERVERS, ProbeLimits, discover};
pub use endpoint::{DEMO, Endpoint, Secret};
pub use error::{ModelError, TimeoutPhase};
pub use http::{Client, Outgoing};
pub use images::RequestImages;
pub use listing::{ModelInfo, list_models};
pub use request::{ModelEvent, ModelRequest, StopReason, Thinking, ThinkingSwitch};
pub use stream::ModelStream;
