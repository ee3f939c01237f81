//! A call that is run here, whoever wants it: prepared, judged, asked about, run, and told (`life`). Backends of every kind
//! have their calls run through this; how many run at a time is theirs to decide.

mod approvals;
pub(crate) mod approve;
pub(crate) mod command;
mod io;
pub(crate) mod life;
mod run;
mod work;

use std::sync::Arc;

use crate::grants::Granted;
use zdx_tools::ToolContext;
use zdx_tools::registry::ToolRegistry;

pub(crate) use approvals::{Approvals, Clock};
pub use io::{TurnIo, TurnResult};
pub(crate) use run::{Moment, Ready, Refused, admit, run, single};
pub(crate) use work::{CheckDue, WorkTracker};

/// What a running call may say before somebody listens; the rest is dropped.
const PROGRESS_QUEUE: usize = 64;

/// What calls of one session share. Cheap to clone.
#[derive(Clone)]
pub struct CallContext {
    pub registry: Arc<ToolRegistry>,
    pub tools: ToolContext,
    pub grants: Granted,
    pub approvals: Approvals,
    /// Shared with the session's tasks: what they change is checked with the turn they work for.
    pub work: WorkTracker,
}
