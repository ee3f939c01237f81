//! A session's life: who answers a turn, which tools run, what is allowed, what is remembered.
//! Prints nothing and reads no terminal: commands come in, events go out.

pub mod config;
pub mod context;
pub mod paths;
pub mod policy;
pub mod session;
pub mod tools;
