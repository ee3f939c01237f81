//! What can be told of a whole script before any of it runs: its names, its descriptors, its literals.

use std::collections::{BTreeMap, BTreeSet};

/// What a script says about names before any of it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Alias name to its text; none when the text is not known.
    pub aliases: BTreeMap<String, Option<String>>,
    pub functions: BTreeSet<String>,
    /// Somewhere the folder changes, and somewhere that happens inside a function.
    pub changes_folder: bool,
    pub function_changes_folder: bool,
    pub assigned: BTreeSet<String>,
    pub assigned_in_loops: BTreeSet<String>,
    /// In a function or a trap, which may run at any time.
    pub assigned_later: BTreeSet<String>,
    /// It reads a file of commands, which may set anything.
    pub sources: bool,
    /// Descriptors that files are opened on, and which descriptor becomes a copy of which.
    pub opened: BTreeSet<i32>,
    pub copies: BTreeSet<(i32, i32)>,
    /// `exec <file`: from then on commands read that.
    pub input_replaced: bool,
    /// The environment is printed, to be seen or to be passed on.
    pub environment: bool,
    /// Every literal that the script puts where an expansion may take it from.
    pub literals: BTreeSet<String>,
    /// Which function calls which.
    pub calls: BTreeSet<(String, String)>,
}
