//! What a session can look back on: earlier contents of files, turns taken back, and a short account of it all.
//! Contents are kept while tools work (`journal`), and used when a user goes back (`revert`).

mod ask;
mod blobs;
mod digest;
mod handoff;
mod journal;
pub mod revert;
mod summary;

#[cfg(test)]
mod tests;

pub use ask::{Asker, NoAnswer};
pub use blobs::Blobs;
pub use digest::Digest;
pub use handoff::{Bundle, Handoff};
pub use journal::{Draft, Journal, KEPT};
pub use summary::{Summary, summarize};
