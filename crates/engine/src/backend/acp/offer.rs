//! Maps the capabilities, modes and models that a remote agent reports to the published backend info.

use tokio::sync::watch;
use zdx_acp::shapes::{Choice, CommandInfo, Setting};
use zdx_protocol::ContextUsage;
use zdx_protocol::compaction::Breakdown;
use zdx_protocol::query::AgentInfo;

use super::connection::AgentConnection;
use super::{AcpBackend, label};
use crate::backend::{BackendCapabilities, BackendCommand, BackendInfo, SessionModes};

/// The info of an agent that has not said anything yet.
pub(super) fn unknown(agent: &str, model: Option<&str>, mode: Option<&str>) -> watch::Sender<BackendInfo> {
    watch::Sender::new(BackendInfo {
        model: model_name(agent, model),
        remote_agent: Some(agent.to_owned()),
        is_starting: true,
        modes: Some(SessionModes::new(mode.unwrap_or_default().to_owned(), Vec::new())),
        capabilities: BackendCapabilities { manages_own_context: true, plays_agent_profiles: false },
        ..BackendInfo::default()
    })
}

impl AcpBackend {
    /// Publishes what the agent offers now.
    pub(super) fn publish_offer(&self, connection: &AgentConnection) {
        let (agent, session) = (&self.command.name, &connection.client.session);
        let choices = &session.choices;
        let names = |models: &Setting| {
            models.values().into_iter().map(|model| model_name(agent, Some(model))).collect()
        };
        let current = self.mode.clone().or_else(|| choices.mode()?.current());
        let offered = choices.mode().map(Setting::choices).unwrap_or_default();
        let modes = SessionModes::new(current.unwrap_or_default(), offered.iter().map(mode).collect());
        self.info.send_modify(|info| {
            info.is_starting = false;
            info.models = choices.model().map(names);
            info.modes = Some(modes);
            info.commands = session.commands.iter().flatten().cloned().map(command).collect();
        });
    }

    /// Publishes the mode it works in from here on.
    pub(super) fn publish_mode(&self, mode: &str) {
        self.info.send_modify(|info| {
            let offered = info.modes.take().unwrap_or_default().offered;
            info.modes = Some(SessionModes::new(mode.to_owned(), offered));
        });
    }
}

/// `acp:fake`, or `acp:fake/large` where somebody chose a model.
pub(super) fn model_name(agent: &str, model: Option<&str>) -> String {
    let label = label(agent);
    model.map_or_else(|| label.clone(), |model| format!("{label}/{model}"))
}

/// Tokens as the agent counts them.
pub(super) fn usage(used: u64, limit: u64) -> ContextUsage {
    let percent = used.saturating_mul(100).checked_div(limit).unwrap_or_default();
    ContextUsage { used, limit, percent, assumed: false, breakdown: Breakdown::default() }
}

fn mode(choice: &Choice) -> AgentInfo {
    AgentInfo {
        name: choice.value.clone(),
        description: choice.description.clone().or_else(|| choice.name.clone()).unwrap_or_default(),
        in_use: false,
        primary: true,
    }
}

fn command(CommandInfo { name, description, hint }: CommandInfo) -> BackendCommand {
    BackendCommand { name, description: description.unwrap_or_default(), hint }
}
