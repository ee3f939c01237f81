//! What the model sees besides the conversation: the system prompt and the project's own rules.
//! Read once when a session starts, so that every request of it begins with the same bytes.

pub(crate) mod budget;
pub(crate) mod cap;
pub(crate) mod compact;
pub mod complete;
mod globs;
pub(crate) mod mentions;
mod project;
mod prompt;
pub(crate) mod prune;
mod refusal;

pub use project::{ProjectContext, load_project_context};
pub use prompt::{PromptError, assemble, built_in};
