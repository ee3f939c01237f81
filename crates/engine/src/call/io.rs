//! What a backend may do while it answers a turn: tell what happens, have a call run here, ask the person. Shared: it may be
//! cloned into as many tasks as a backend has, so that an agent's process can call back while its answer streams.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
#[cfg(feature = "testing")]
use zdx_protocol::Event;
use zdx_protocol::{CutShort, Decision, Outcome, ToolCall, ToolOutput, Usage};

use super::Moment;
use super::approve::{self, Permission};
use crate::persona::Persona;
use crate::session::Session;
use zdx_tools::registry::ToolRegistry;

/// The answer to a turn, by whoever gave it; the rest of a `TurnSummary` is the same for all.
#[derive(Debug)]
pub struct TurnResult {
    pub outcome: Outcome,
    /// The last assistant message.
    pub text: String,
    /// The sum of all requests.
    pub usage: Usage,
    /// Usage of the last request that reported one.
    pub last_request: Option<Usage>,
    /// Calls that were refused.
    pub denied: u32,
    pub cut_short: Option<CutShort>,
}

impl From<Outcome> for TurnResult {
    fn from(outcome: Outcome) -> Self {
        Self {
            outcome,
            text: String::new(),
            usage: Usage::default(),
            last_request: None,
            denied: 0,
            cut_short: None,
        }
    }
}

#[derive(Clone)]
pub struct TurnIo {
    pub(crate) session: Session,
    pub(crate) registry: Arc<ToolRegistry>,
    /// The agent at work: it may not use every tool there is.
    pub(crate) persona: Arc<Persona>,
    /// The user wants it stopped.
    pub cancel: CancellationToken,
}

// Whoever drives a model itself runs calls in waves; these are for backends that are other agents.
impl TurnIo {
    #[cfg(feature = "testing")]
    pub async fn emit(&self, event: Event) {
        self.session.events.emit(event).await;
    }

    /// Has one call run here, by our tools and under our rules: its whole life is told, and its result comes back.
    pub async fn call(&self, call: ToolCall) -> ToolOutput {
        super::single(call, self, &|_| ()).await
    }

    /// The same, for somebody who wants to see it run.
    pub(crate) async fn call_watched(
        &self,
        call: ToolCall,
        watch: &(dyn Fn(Moment<'_>) + Send + Sync),
    ) -> ToolOutput {
        super::single(call, self, watch).await
    }

    /// What the person says to something that another agent will do itself. Nothing: the turn was interrupted.
    pub async fn ask(&self, permission: Permission) -> Option<Decision> {
        approve::permit(self, permission).await
    }
}

impl TurnIo {
    /// The turn's way into its session, for the agent that is at work there now.
    pub(crate) fn new(session: Session, registry: Arc<ToolRegistry>, cancel: CancellationToken) -> Self {
        Self { persona: session.persona(), session, registry, cancel }
    }

    /// Our own name for a tool that a model begins to call.
    pub fn tool_name(&self, name: String) -> String {
        self.registry.find(&name).map_or(name, |tool| tool.spec().name.to_string())
    }

    /// Our own name for the tool that a call means.
    pub fn called_name(&self, call: &ToolCall) -> String {
        let tool = self.registry.called(&call.name, call.arguments.object());
        tool.map_or_else(|| call.name.clone(), |tool| tool.spec().name.to_string())
    }
}
