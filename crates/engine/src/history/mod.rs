//! What a session can look back on: earlier contents of files and turns taken back, with summaries and handoffs of it.
//! Contents are kept while tools work (`zdx_workspace::Checkpoints`), and used when a user goes back (`revert`).

mod ask;
pub(crate) mod file_changes;
mod handoff;
pub(crate) mod revert;
mod settle;
mod summary;

#[cfg(test)]
mod tests;

pub use ask::Asker;
pub use file_changes::left_behind;
pub use handoff::Handoff;
pub use revert::{RevertPlan, Way};
pub use settle::{SettledIntents, settle_intents};
pub use summary::summarize;
