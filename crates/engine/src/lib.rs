//! A session's life: who answers a turn, which tools run, what is allowed, what is remembered.
//! Prints nothing and reads no terminal: commands come in, events go out.

mod backend;
mod cache;
pub mod config;
pub mod context;
mod emit;
mod engine;
mod guard;
pub mod history;
mod intake;
pub mod library;
mod logbook;
mod models;
pub mod paths;
mod persona;
pub mod policy;
pub mod secrets;
pub mod session;
mod start;
mod subagent;
pub mod tools;
mod turn;

pub use guard::{GuardSetup, guard, guard_as};
pub use models::ModelPicker;
pub use start::{RESERVED, SessionChoice, Setup, StartError, start};
