//! Typography: text as lines that fit a width (word wrap, markdown, code, diffs). Pure; knows nothing of the conversation.
//! Whatever is foreign is cleaned here before it becomes a line.

pub(crate) mod code;
pub(crate) mod diff;
pub(crate) mod markdown;
#[cfg(test)]
mod sample;
pub(crate) mod wrap;
