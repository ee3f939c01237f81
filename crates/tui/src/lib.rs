//! The front end on a terminal: a conversation in the terminal's own scrollback, above a live region with the composer.
//! Speaks to the engine through `zdx-protocol` alone. Events, keys and time go into one pure reducer (`app`); what it
//! makes of them is drawn by the one owner of the terminal (`term`).

#[allow(dead_code)]
mod composer;
pub mod history;
mod bindings;
#[allow(dead_code, unused_imports)]
mod dialog;
mod conversation;
mod key;
mod look;
#[cfg(test)]
mod sample;
#[allow(dead_code)]
mod status;
#[allow(dead_code, unused_imports)]
mod term;
mod theme;
#[allow(dead_code)]
mod write;

pub use key::{Key, KeyCode};
pub use look::{Drawn, Look};
pub use theme::{Depth, Syntax, Theme};
