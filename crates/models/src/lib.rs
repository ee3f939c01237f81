//! How to speak to a model. `wire/` is pure (request to bytes, frames to events); `http` carries the bytes;
//! `retry` decides; `catalogue` knows the vendors as data; `demo` is the built-in model that needs nothing.

mod catalogue;
mod error;
mod request;
pub mod wire;

pub use catalogue::{ProviderEntry, Timeouts};
pub use error::{ModelError, TimeoutPhase};
pub use request::{ModelEvent, ModelRequest, StopReason, Thinking};
