//! What the model sees besides the conversation: the system prompt and the project's own rules.
//! Read once when a session starts, so that every request of it begins with the same bytes.

pub(crate) mod budget;
pub(crate) mod cap;
pub(crate) mod compact;
pub(crate) mod complete;
mod globs;
pub(crate) mod input;
pub(crate) mod mentions;
mod project;
mod prompt;
pub(crate) mod prune;
mod refusal;

pub use mentions::{Linked, Links, links};
pub use project::load_project_context;
pub(crate) use prompt::PromptError;
pub use prompt::assemble;
