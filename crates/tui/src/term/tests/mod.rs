//! The renderer against a terminal in memory, and the whole against a real one.

mod demo;
mod frames;
mod live;
pub(crate) mod streams;
mod tmux;
