//! Which model answers: what the user named, what the session used before, what answers on loopback, or the demo.

use std::sync::Arc;

use zdx_models::{Catalogue, Client, Endpoint, ModelError, discover};

use crate::config::Config;
use crate::paths::Env;

/// Turns a model's name into a place to send requests to, with the session's config and environment.
pub struct ModelPicker {
    config: Arc<Config>,
    env: Env,
    catalogue: Catalogue,
}

impl ModelPicker {
    pub fn new(config: Arc<Config>, env: Env) -> Result<Self, ModelError> {
        let catalogue = Catalogue::with(config.providers.iter())?;
        Ok(Self { config, env, catalogue })
    }

    /// `name` or `provider/name`.
    pub fn resolve(&self, model: &str) -> Result<Endpoint, ModelError> {
        self.catalogue.resolve(model, self.config.provider.as_deref(), &self.lookup())
    }

    /// The model of a session: an explicit choice, else what the session used last, else the configured one, else
    /// whatever answers on this machine, else the demo.
    pub async fn pick(
        &self,
        client: &Client,
        explicit: Option<&str>,
        recorded: Option<&str>,
    ) -> Result<Endpoint, ModelError> {
        if let Some(model) = explicit {
            return self.resolve(model);
        }
        // A recorded model may be gone from the config, or its key from the environment.
        if let Some(Ok(endpoint)) = recorded.map(|model| self.resolve(model)) {
            return Ok(endpoint);
        }
        if let Some(model) = &self.config.model {
            return self.resolve(model);
        }
        if let Some(provider) = &self.config.provider {
            return self.first_offered(client, provider).await;
        }
        match discover::local_server(client).await {
            Some(endpoint) => Ok(endpoint),
            None => Ok(Endpoint::demo()),
        }
    }

    fn lookup(&self) -> impl Fn(&str) -> Option<String> {
        |name| self.env.get(name).map(str::to_owned)
    }

    /// A provider without a model: a local server usually has just one, so ask it.
    async fn first_offered(&self, client: &Client, provider: &str) -> Result<Endpoint, ModelError> {
        let unnamed = self.catalogue.resolve_provider(provider, &self.lookup())?;
        if !unnamed.is_loopback() {
            return Err(ModelError::Setup(format!(
                "no model named for {provider}; give one with --model {provider}/NAME (`zdx models --provider {provider}` lists them)"
            )));
        }
        let offered = zdx_models::list_models(client, &unnamed).await?;
        let first = offered.into_iter().next();
        let first =
            first.ok_or_else(|| ModelError::Setup(format!("{provider} offers no model; load one there")))?;
        Ok(Endpoint { model: first.id, context_limit: first.context_limit, ..unnamed })
    }
}
