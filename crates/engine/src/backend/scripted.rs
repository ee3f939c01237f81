//! A backend that follows a script, for tests of the seam: it does what another agent's process would do, without one.

use futures_util::future::BoxFuture;
use tokio::sync::watch;
use zdx_protocol::Prompt;

use super::BackendInfo;
pub use crate::call::approve::Permission;
use crate::call::{TurnIo, TurnResult};

pub trait Scripted: Send + Sync {
    /// Publishes what the backend offers.
    fn info(&self) -> &watch::Sender<BackendInfo>;

    fn run_turn(&mut self, prompt: Prompt, io: TurnIo) -> BoxFuture<'_, TurnResult>;
}

/// Makes the backend of each session that is opened.
pub type Factory = Box<dyn Fn() -> Box<dyn Scripted> + Send + Sync>;
