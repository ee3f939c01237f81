//! What each program does with its words: which it runs, which files it reads and writes, what it throws away.
//! `commands` is the way in; it asks the others by name.

pub mod arguments;
pub mod awk;
pub mod awk_code;
pub mod builtins;
pub mod by_options;
pub mod commands;
pub mod dangers;
pub mod find;
pub mod git;
pub mod names;
pub mod network;
pub mod options;
pub mod runners;
pub mod scripts;
pub mod sed;
pub mod tar;
pub mod unknown;
pub mod wrapper_options;
pub mod wrappers;
