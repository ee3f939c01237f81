//! A call that is run here, whoever wants it: prepared, judged, asked about, run, and told (`life`). Backends of every kind
//! have their calls run through this; how many run at a time is theirs to decide.

pub(crate) mod approve;
pub(crate) mod command;
mod io;
pub(crate) mod life;
mod run;

pub use io::{TurnIo, TurnResult};
pub(crate) use run::{Moment, Ready, Refused, admit, run, single};

/// What a running call may say before somebody listens; the rest is dropped.
const PROGRESS_QUEUE: usize = 64;
