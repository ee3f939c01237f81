//! `zdx acp`: the client of other agents. Here is what it serves them.

// Not reachable from the command line yet.
#![allow(dead_code)]

mod conform;
mod host;
