//! What the model sees besides the conversation: the system prompt and the project's own rules.

pub mod budget;
