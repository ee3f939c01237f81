//! What a session can look back on: earlier contents of files and turns taken back, with summaries and handoffs of it.
//! Contents are kept while tools work (`journal`), and used when a user goes back (`revert`).

mod ask;
mod changed;
mod commands;
mod handoff;
mod left;
pub(crate) mod revert;
mod settle;
pub(crate) mod since;
mod summary;

#[cfg(test)]
mod tests;

pub use ask::Asker;
pub(crate) use changed::report;
pub use handoff::Handoff;
pub use left::left_behind;
pub use revert::{RevertPlan, Way};
pub use settle::{SettledIntents, settle_intents};
pub use summary::summarize;
