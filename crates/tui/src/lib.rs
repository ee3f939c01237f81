//! The front end on a terminal: a conversation in the terminal's own scrollback, above a live region with the composer.
//! Speaks to the engine through `zdx-protocol` alone. Events, keys and time go into one pure reducer (`app`); what it
//! makes of them is drawn by the one owner of the terminal (`term`).

mod app;
mod bindings;
mod completion;
mod composer;
mod conversation;
mod dialog;
mod key;
mod look;
pub mod plain;
mod run;
#[cfg(test)]
mod sample;
mod status;
mod term;
mod theme;
mod write;

pub use app::Left;
pub use key::{Key, KeyCode};
pub use look::{Drawn, Look};
pub use run::{Closed, Ended, HistoryLoader, Setup, Stop, run};
pub use term::Environment;
pub use theme::{Depth, Syntax, Theme};
