//! A model behind an API: where it is, what it is told, and how much it may use.

use std::sync::Arc;

use zdx_models::{Client, Endpoint, Thinking};
use zdx_protocol::ToolSpec;

use crate::cache::Cache;
use crate::config::Config;
use crate::context::budget::Budget;
use crate::models::Chosen;
use crate::persona::Persona;
use crate::tools::registry::Registry;
use crate::turn::validate::Validation;

pub struct Native {
    pub config: Arc<Config>,
    pub client: Client,
    pub endpoint: Endpoint,
    context_limit: Option<u64>,
    /// The same bytes in every request until the agent changes: servers cache by prefix.
    pub system: String,
    pub tools: Vec<ToolSpec>,
    pub budget: Budget,
    pub max_steps: Option<u32>,
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    /// What must hold before a turn that edited code is done.
    pub validation: Option<Validation>,
    /// Where what servers said of themselves is kept for a while.
    pub cache: Option<Cache>,
}

impl Native {
    pub fn new(
        config: &Arc<Config>,
        client: Client,
        chosen: Chosen,
        persona: &Persona,
        registry: &Registry,
    ) -> Self {
        Self {
            budget: Budget::new(config, &chosen),
            client,
            endpoint: chosen.endpoint,
            context_limit: chosen.context_limit,
            system: persona.system.clone(),
            tools: persona.tools(registry),
            max_steps: persona.max_steps.or(config.max_steps),
            temperature: persona.temperature.or(config.temperature),
            top_p: persona.top_p.or(config.top_p),
            validation: None,
            cache: None,
            config: Arc::clone(config),
        }
    }

    pub fn thinking(&self) -> Option<Thinking> {
        self.config.thinking_budget.map(|budget_tokens| Thinking { budget_tokens })
    }

    /// The model in use.
    pub fn chosen(&self) -> Chosen {
        Chosen { endpoint: self.endpoint.clone(), context_limit: self.context_limit }
    }

    /// Tokens the model can hold, when somebody knows.
    pub fn context_limit(&self) -> Option<u64> {
        self.budget.limit()
    }

    /// Points the next request at another model.
    pub fn switch(&mut self, chosen: Chosen) {
        self.budget = Budget::new(&self.config, &chosen);
        self.context_limit = chosen.context_limit;
        self.endpoint = chosen.endpoint;
    }

    /// Works as somebody else from the next request on: the prefix that servers have cached ends here.
    pub fn play(&mut self, persona: &Persona, registry: &Registry) {
        let Self { config, client, .. } = self;
        let (validation, cache) = (self.validation.take(), self.cache.take());
        *self = Self {
            validation,
            cache,
            ..Self::new(&Arc::clone(config), client.clone(), self.chosen(), persona, registry)
        };
    }
}
