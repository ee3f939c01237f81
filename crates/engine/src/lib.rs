//! A session's life: who answers a turn, which tools run, what is allowed, what is remembered.
//! Prints nothing and reads no terminal: commands come in, events go out.

mod backend;
mod cache;
mod call;
pub mod check;
pub mod config;
mod configured;
pub mod context;
mod emit;
mod engine;
pub mod files;
mod git;
pub mod grants;
mod guard;
pub mod history;
mod host;
mod in_force;
pub mod library;
mod logbook;
mod models;
pub mod paths;
mod persona;
pub mod project;
mod queries;
pub mod secrets;
pub mod session;
mod setup;
mod start;
mod subagent;
pub mod tools;
pub mod trust;

pub use configured::{Configured, Place};
pub use guard::{GuardSetup, guard, guard_as};
pub use host::spawn;
pub use models::ModelPicker;
pub use setup::Setup;

/// A backend that follows a script: what every backend relies on is tested with it.
#[cfg(feature = "testing")]
pub mod testing {
    pub use crate::backend::scripted::{Factory, Permission, Scripted};
    pub use crate::call::TurnIo;
    pub use crate::host::spawn_scripted;
}
