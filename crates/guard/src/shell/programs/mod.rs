//! What each program does with its words: which it runs, which files it reads and writes, what it throws away.
//! `commands` is the way in; it asks the others by name.

pub(super) mod arguments;
pub(super) mod awk;
pub(super) mod awk_code;
pub(super) mod builtins;
pub(super) mod by_options;
pub(super) mod commands;
pub(super) mod dangers;
pub(super) mod find;
pub(super) mod git;
pub(super) mod names;
pub(super) mod network;
pub(super) mod options;
pub(super) mod runners;
pub(super) mod scripts;
pub(super) mod sed;
pub(super) mod tar;
pub(super) mod unknown;
pub(super) mod wrapper_options;
pub(super) mod wrappers;
