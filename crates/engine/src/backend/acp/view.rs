//! What can be asked of another agent beside its turn: kept up by the backend, read by others. What it says of itself is known
//! once it has a session; whoever asks before waits a while for that.

use std::time::Duration;

use tokio::sync::watch;
use zdx_acp::shapes::{Choices, CommandInfo, Setting};
use zdx_protocol::ContextUsage;
use zdx_protocol::compaction::Breakdown;
use zdx_protocol::query::{AgentInfo, ModelOffer};

use crate::acp::PREFIX;

/// What an agent that is being started gets before somebody who asks is told that nobody knows.
const STARTING: Duration = Duration::from_secs(10);

#[derive(Clone, Default)]
struct Now {
    label: String,
    /// What somebody chose.
    model: Option<String>,
    mode: Option<String>,
    /// Being started.
    starting: bool,
    choices: Choices,
    commands: Vec<CommandInfo>,
    used: Option<Used>,
}

/// What the agent says of its context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Used {
    pub(super) used: u64,
    pub(super) size: u64,
}

/// The backend's side of it.
pub(super) struct Watched(watch::Sender<Now>);

#[derive(Clone)]
pub(crate) struct View(watch::Receiver<Now>);

impl Watched {
    pub(super) fn new(label: String, model: Option<String>, mode: Option<String>) -> Self {
        Self(watch::Sender::new(Now { label, model, mode, starting: true, ..Now::default() }))
    }

    pub(super) fn view(&self) -> View {
        View(self.0.subscribe())
    }

    pub(super) fn model(&self, model: &str) {
        self.0.send_modify(|now| now.model = Some(model.to_owned()));
    }

    pub(super) fn mode(&self, mode: &str) {
        self.0.send_modify(|now| now.mode = Some(mode.to_owned()));
    }

    pub(super) fn starting(&self, starting: bool) {
        self.0.send_modify(|now| now.starting = starting);
    }

    pub(super) fn knows(&self, choices: &Choices, commands: &[CommandInfo]) {
        self.0.send_modify(|now| {
            now.choices.clone_from(choices);
            now.commands = commands.to_vec();
            now.starting = false;
        });
    }

    pub(super) fn used(&self, used: Option<Used>) {
        if used.is_some() {
            self.0.send_modify(|now| now.used = used);
        }
    }
}

impl View {
    /// `acp:fake`, or `acp:fake/large` where somebody chose a model.
    pub(crate) fn model(&self) -> String {
        let now = self.0.borrow();
        named(&now.label, now.model.as_deref())
    }

    pub(crate) fn agent(&self) -> String {
        let label = &self.0.borrow().label;
        label.strip_prefix(PREFIX).unwrap_or(label).to_owned()
    }

    /// How it works, in its own words; nothing where it has no such.
    pub(crate) fn mode(&self) -> String {
        let now = self.0.borrow();
        now.mode.clone().or_else(|| now.choices.mode()?.current()).unwrap_or_default()
    }

    pub(crate) fn context_limit(&self) -> Option<u64> {
        self.0.borrow().used.map(|used| used.size)
    }

    pub(crate) fn usage(&self) -> Option<ContextUsage> {
        let Used { used, size: limit } = self.0.borrow().used?;
        let percent = used.saturating_mul(100).checked_div(limit).unwrap_or_default();
        Some(ContextUsage { used, limit, percent, assumed: false, breakdown: Breakdown::default() })
    }

    async fn started(&self) -> Now {
        let mut seen = self.0.clone();
        let started = async { seen.wait_for(|now| !now.starting).await.map(|now| now.clone()) };
        let known = tokio::time::timeout(STARTING, started).await;
        known.ok().and_then(Result::ok).unwrap_or_else(|| self.0.borrow().clone())
    }

    pub(crate) async fn models(&self) -> Option<Vec<ModelOffer>> {
        self.started().await.models()
    }

    /// What could answer, as far as that is known now.
    pub(crate) fn known_models(&self) -> Vec<ModelOffer> {
        self.0.borrow().models().unwrap_or_default()
    }

    /// It may still say more of itself.
    pub(crate) fn is_starting(&self) -> bool {
        self.0.borrow().starting
    }

    /// Its modes, where ours are agents.
    pub(crate) async fn modes(&self) -> Vec<AgentInfo> {
        self.started().await.modes()
    }

    pub(crate) fn known_modes(&self) -> Vec<AgentInfo> {
        self.0.borrow().modes()
    }

    pub(crate) fn commands(&self) -> Vec<CommandInfo> {
        self.0.borrow().commands.clone()
    }
}

impl Now {
    fn models(&self) -> Option<Vec<ModelOffer>> {
        let offer = |model: &str| ModelOffer { name: named(&self.label, Some(model)), context_limit: None };
        self.choices.model().map(|models| models.values().into_iter().map(offer).collect())
    }

    fn modes(&self) -> Vec<AgentInfo> {
        let Some(setting) = self.choices.mode() else { return Vec::new() };
        let current = self.mode.clone().or_else(|| setting.current());
        let info = |choice: &zdx_acp::shapes::Choice| AgentInfo {
            name: choice.value.clone(),
            description: choice.description.clone().or_else(|| choice.name.clone()).unwrap_or_default(),
            in_use: current.as_ref() == Some(&choice.value),
            primary: true,
        };
        Setting::choices(setting).iter().map(info).collect()
    }
}

fn named(label: &str, model: Option<&str>) -> String {
    model.map_or_else(|| label.to_owned(), |model| format!("{label}/{model}"))
}
