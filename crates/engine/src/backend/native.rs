//! A model behind an API: where it is, what it is told, and how much it may use.

use std::sync::Arc;

use zdx_models::{Client, Endpoint, Thinking};
use zdx_protocol::ToolSpec;

use crate::config::Config;
use crate::context::budget::Budget;
use crate::models::Chosen;

pub struct Native {
    pub config: Arc<Config>,
    pub client: Client,
    pub endpoint: Endpoint,
    /// The same bytes in every request of a session: servers cache by prefix.
    pub system: String,
    pub tools: Vec<ToolSpec>,
    pub budget: Budget,
}

impl Native {
    pub fn thinking(&self) -> Option<Thinking> {
        self.config.thinking_budget.map(|budget_tokens| Thinking { budget_tokens })
    }

    /// Points the next request at another model.
    pub fn switch(&mut self, chosen: Chosen) {
        self.budget = Budget::new(&self.config, &chosen);
        self.endpoint = chosen.endpoint;
    }
}
