//! A backend that follows a script, for tests of the seam: it does what another agent's process would do, without one.

use futures_util::future::BoxFuture;
use zdx_protocol::{Prompt, TurnSummary};

use crate::call::TurnIo;
pub use crate::call::approve::Permission;

pub trait Scripted: Send + Sync {
    fn run_turn(&mut self, prompt: Prompt, io: TurnIo) -> BoxFuture<'_, TurnSummary>;
}

/// Makes the backend of each session that is opened.
pub type Factory = Box<dyn Fn() -> Box<dyn Scripted> + Send + Sync>;
