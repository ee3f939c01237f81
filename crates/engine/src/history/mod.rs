//! What a session can look back on: earlier contents of files, turns taken back, and a short account of it all.
//! Contents are kept while tools work (`journal`), and used when a user goes back (`revert`).

mod ask;
mod digest;
mod handoff;
pub mod revert;
mod summary;

#[cfg(test)]
mod tests;

pub use ask::{Asker, NoAnswer};
pub use digest::Digest;
pub use handoff::{Bundle, Handoff};
pub use summary::{Summary, summarize};
