//! Mentions of a prompt made into attachments, or into references for another agent.

mod attach;
mod links;

pub(crate) use attach::{Attached, Attachment, attach};
pub use links::{Linked, Links, links};

#[cfg(test)]
mod tests;
