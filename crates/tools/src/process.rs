//! Processes that zdx runs, and the supervisor that leaves none of them behind.

pub mod shell;
pub mod supervisor;
