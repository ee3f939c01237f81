//! The facts a backend publishes about itself as one value: what it offers and how it is set. Readers subscribe to it; nothing
//! queries the backend.

use std::time::Duration;

use tokio::sync::watch;
use zdx_protocol::ContextUsage;
use zdx_protocol::query::AgentInfo;
use zdx_protocol::transcript::ContextSize;

use crate::context::budget::Frame;

/// Time that a starting backend gets before its info is taken as it is.
const STARTING: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, Default)]
pub struct BackendInfo {
    /// The model in use by the name it is chosen by: `provider/name`, `acp:agent` or `acp:agent/name`.
    pub model: String,
    /// The agent that answers in place of a model.
    pub remote_agent: Option<String>,
    /// Still starting: what it offers is not known yet.
    pub is_starting: bool,
    pub context: ContextBudget,
    /// Names of the models it can switch to, as far as known. None if it does not say.
    pub models: Option<Vec<String>>,
    /// None if it has no session modes of its own.
    pub modes: Option<SessionModes>,
    /// Commands that it takes as prompts.
    pub commands: Vec<BackendCommand>,
    pub capabilities: BackendCapabilities,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct BackendCapabilities {
    /// The transcript is not its context: nothing here counts or compacts what it keeps of a conversation.
    pub manages_own_context: bool,
    /// Works as one of our agent profiles.
    pub plays_agent_profiles: bool,
}

/// The session modes of a remote agent.
#[derive(Clone, Debug, Default)]
pub struct SessionModes {
    /// Empty if the agent names none.
    pub current: String,
    pub offered: Vec<AgentInfo>,
}

impl SessionModes {
    pub(super) fn new(current: String, mut offered: Vec<AgentInfo>) -> Self {
        offered.iter_mut().for_each(|mode| mode.in_use = mode.name == current);
        Self { current, offered }
    }
}

#[derive(Clone, Debug)]
pub struct BackendCommand {
    pub name: String,
    pub description: String,
    /// Shown in place of its argument.
    pub hint: Option<String>,
}

/// The size and use of a backend's context window.
#[derive(Clone, Debug, Default)]
pub enum ContextBudget {
    #[default]
    Unknown,
    /// Follows from the size of the conversation.
    Computed(Frame),
    /// By the backend's own count after its last turn.
    Reported(ContextUsage),
}

impl ContextBudget {
    /// Returns the number of tokens the model can hold, if known.
    pub fn limit(&self) -> Option<u64> {
        match self {
            Self::Unknown => None,
            Self::Computed(frame) => frame.limit(),
            Self::Reported(usage) => Some(usage.limit),
        }
    }

    /// Returns the context usage with a conversation of this size.
    pub fn usage(&self, size: ContextSize) -> Option<ContextUsage> {
        match self {
            Self::Unknown => None,
            Self::Computed(frame) => Some(frame.gauge(size).usage()),
            Self::Reported(usage) => Some(*usage),
        }
    }

    /// Returns the bytes that the input of the next turn may have beside a conversation of this size.
    pub fn input_bytes(&self, size: ContextSize) -> Option<usize> {
        match self {
            Self::Unknown | Self::Reported(_) => None,
            Self::Computed(frame) => {
                let gauge = frame.gauge(size);
                Some(gauge.input_bytes().max(gauge.spare_bytes()))
            }
        }
    }
}

/// Waits until the backend has started and returns its info; gives up waiting after [`STARTING`].
pub(crate) async fn started(info: &watch::Receiver<BackendInfo>) -> BackendInfo {
    let mut receiver = info.clone();
    let started = async { receiver.wait_for(|info| !info.is_starting).await.map(|info| info.clone()) };
    let known = tokio::time::timeout(STARTING, started).await;
    known.ok().and_then(Result::ok).unwrap_or_else(|| info.borrow().clone())
}
