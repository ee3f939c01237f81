//! How to speak to a model. `wire/` is pure (request to bytes, frames to events); `http` carries the bytes;
//! `retry` decides; `catalogue` knows the vendors as data; `demo` is the built-in model that needs nothing.

mod catalogue;
mod endpoint;
mod error;
mod http;
mod request;
pub mod wire;

pub use catalogue::{Catalogue, ProviderEntry, Timeouts};
pub use endpoint::{DEMO, Endpoint, Secret};
pub use error::{ModelError, TimeoutPhase};
pub use http::{Client, ModelStream};
pub use request::{ModelEvent, ModelRequest, StopReason, Thinking};
