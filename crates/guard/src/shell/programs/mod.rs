//! What each program does with its words: which it runs, which files it reads and writes, what it throws away.
//! `table` knows the programs, `options` tells their words apart, `generic` and `special` make effects of them;
//! `commands` is the way in. To teach zdx a program, add a row.

pub(super) mod builtins;
pub(super) mod commands;
pub(super) mod effects;
pub(super) mod generic;
pub(super) mod options;
pub(crate) mod says;
pub(super) mod special;
pub(super) mod table;
