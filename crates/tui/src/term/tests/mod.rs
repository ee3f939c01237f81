//! The renderer against a terminal in memory, and the whole against a real one.

mod demo;
mod frames;
mod live;
mod races;
pub(crate) mod streams;
mod tmux;
