//! A model behind an API: where it is, what it is told, how much it may use, and (in `turn`) how it is driven.

mod images;
mod limits;
mod models;
mod turn;

use std::collections::HashSet;
use std::sync::Arc;

use tokio::sync::watch;
use zdx_models::{Client, Endpoint, ModelError, RequestImages, Thinking};
use zdx_protocol::{Event, NoticeLevel, Prompt, ToolCode, ToolError, ToolSpec, Transcript};

use super::{BackendInfo, TurnRequest};
use crate::call::{TurnIo, TurnResult};
use crate::context::budget::{Budget, Frame, Gauge};
use crate::models::{Chosen, ModelPicker};
use crate::persona::Persona;
pub(crate) use limits::Limits;
pub(crate) use models::ModelLister;
pub(crate) use turn::validate::Validation;
use zdx_config::Config;
use zdx_tools::registry::ToolRegistry;

pub(crate) struct Native {
    seed: Seed,
    /// The same bytes in every request until the agent changes: servers cache by prefix.
    system: String,
    tools: Vec<ToolSpec>,
    budget: Budget,
    /// The first request is on its way, or was.
    begun: bool,
    max_steps: Option<u32>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    /// What must hold before a turn that edited code is done.
    validation: Option<Validation>,
    /// The user knows that the server leaves calls in the text: once is enough.
    told_of_text_calls: bool,
    /// Whether files are as they were left was looked at, when the session was gone on with.
    looked_at_files: bool,
    models: ModelLister,
    /// The images of the next request.
    images: RequestImages,
    /// Models with hashes of images that they were not sent, as the user knows.
    told_unsent: HashSet<(String, String)>,
}

/// What models are reached with, and the one in use.
#[derive(Clone)]
pub(crate) struct Seed {
    pub config: Arc<Config>,
    pub client: Client,
    pub picker: Arc<ModelPicker>,
    pub chosen: Chosen,
    /// What is known of models that nobody configured.
    pub limits: Limits,
}

impl Seed {
    /// For an agent that works for another one: with that one's model, unless it has its own.
    pub(crate) fn grow(&self, persona: &Persona, registry: &ToolRegistry) -> Result<Native, ToolError> {
        let mut seed = self.clone();
        if let Some(model) = &persona.model {
            let resolved = self.picker.resolve(model, Some(&self.chosen.endpoint.provider));
            seed.chosen =
                resolved.map_err(|error| ToolError::new(ToolCode::ModelError, error.to_string()))?;
        }
        Ok(Native::new(seed, persona, registry))
    }
}

impl Native {
    pub(crate) fn new(seed: Seed, persona: &Persona, registry: &ToolRegistry) -> Self {
        let Seed { config, chosen, .. } = &seed;
        let mut native = Self {
            budget: Budget::new(config, chosen),
            begun: false,
            system: persona.system.clone(),
            tools: persona.tools(registry),
            max_steps: persona.max_steps.or(config.max_steps),
            temperature: persona.temperature.or(config.temperature),
            top_p: persona.top_p.or(config.top_p),
            validation: None,
            told_of_text_calls: false,
            looked_at_files: false,
            models: ModelLister::new(&seed),
            images: RequestImages::default(),
            told_unsent: HashSet::new(),
            seed,
        };
        native.recall_limit();
        native
    }

    /// The session's own: it checks its work.
    pub(crate) fn with(mut self, validation: Option<Validation>) -> Self {
        self.validation = validation;
        self
    }

    pub(crate) async fn prepare_turn(&mut self, prompt: &Prompt, io: &TurnIo) {
        turn::run::prepare(self, prompt, io).await;
    }

    pub(crate) async fn run_turn(&mut self, request: TurnRequest, io: &TurnIo) -> TurnResult {
        let result = match request {
            TurnRequest::Prompt(_) => turn::run::run(self, io).await,
            TurnRequest::Check => turn::run::run_check(self, io).await,
            TurnRequest::Compact => turn::room::run_compaction(self, io).await,
        };
        self.publish();
        result
    }

    pub(crate) fn seed(&self) -> Seed {
        self.seed.clone()
    }

    pub(crate) fn info(&self) -> &watch::Sender<BackendInfo> {
        self.models.info()
    }

    pub(crate) fn model_lister(&self) -> ModelLister {
        self.models.clone()
    }

    /// Points the next request at another model.
    pub(crate) fn set_model(&mut self, model: &str) -> Result<String, ModelError> {
        let chosen = self.seed.picker.resolve(model, Some(&self.endpoint().provider))?;
        let name = chosen.endpoint.label();
        self.budget = Budget::new(&self.seed.config, &chosen);
        self.seed.chosen = chosen;
        self.recall_limit();
        Ok(name)
    }

    /// How much a model that was just chosen holds, if its server says so soon: how full it is depends on that.
    pub(crate) async fn ask_limit(&mut self) {
        if self.budget.knows_limit() {
            return;
        }
        if let Some(limit) = self.seed.limits.soon(&self.models, &self.seed.chosen.endpoint).await {
            self.set_limit(limit);
            self.publish();
        }
    }

    /// The model that answers where nobody chose one.
    pub(crate) async fn usual_model(&self) -> Result<String, ModelError> {
        let chosen = self.seed.picker.pick(&self.seed.client, None, None).await?;
        Ok(chosen.endpoint.label())
    }

    /// Works as somebody else from the next request on: the prefix that servers have cached ends here.
    pub(crate) fn play(&mut self, persona: &Persona, registry: &ToolRegistry) {
        let fresh = Self::new(self.seed(), persona, registry);
        let Self { system, tools, max_steps, temperature, top_p, .. } = fresh;
        (self.system, self.tools) = (system, tools);
        (self.max_steps, self.temperature, self.top_p) = (max_steps, temperature, top_p);
        self.publish();
    }

    /// What servers bring may have changed since the last request: then the next one begins with other bytes, and that is told.
    async fn renew_tools(&mut self, io: &TurnIo) {
        if !io.registry.has_more() {
            return;
        }
        for remark in io.registry.settle(&io.cancel).await {
            io.session.events.notice(NoticeLevel::Info, remark).await;
        }
        let tools = io.persona.tools(&io.registry);
        if tools == self.tools {
            return;
        }
        let names = |of: &[ToolSpec], without: &[ToolSpec]| -> Vec<String> {
            let fresh = of.iter().filter(|spec| without.iter().all(|other| other.name != spec.name));
            fresh.map(|spec| spec.name.to_string()).collect()
        };
        let (added, removed) = (names(&tools, &self.tools), names(&self.tools, &tools));
        self.tools = tools;
        self.publish();
        if self.begun {
            io.session.events.emit(Event::ToolsChanged { added, removed }).await;
        }
    }

    fn config(&self) -> &Config {
        &self.seed.config
    }

    fn endpoint(&self) -> &Endpoint {
        &self.seed.chosen.endpoint
    }

    fn thinking(&self) -> Option<Thinking> {
        self.config().thinking_budget.map(|budget_tokens| Thinking { budget_tokens })
    }

    fn frame(&self) -> Frame {
        Frame::new(&self.budget, &self.system, &self.tools)
    }

    /// How full the next request is.
    fn gauge(&self, transcript: &Transcript) -> Gauge {
        self.frame().gauge(transcript.size())
    }

    /// What an earlier session learnt of this model.
    fn recall_limit(&mut self) {
        let endpoint = &self.seed.chosen.endpoint;
        if !self.budget.knows_limit() {
            if let Some(limit) = self.seed.limits.known(endpoint) {
                self.set_limit(limit);
            } else if let Some(limit) = self.seed.limits.hint(endpoint) {
                self.budget.assume_limit(limit);
            }
        }
        self.publish();
    }

    /// Agents that are launched from here on know it too.
    fn set_limit(&mut self, limit: u64) {
        self.budget.set_limit(limit);
        self.seed.chosen.context_limit = Some(limit);
        self.seed.chosen.by_name = false;
    }

    /// Whoever asks beside a turn hears of what was learnt in it.
    fn publish(&self) {
        self.models.publish(&self.seed.chosen.endpoint, self.frame());
    }
}
