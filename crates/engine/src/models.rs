//! Which model answers: what the user named, what the session used before, what answers on loopback, or the demo.

use std::sync::Arc;

use zdx_models::{Catalogue, Client, Endpoint, LOCAL_SERVERS, ModelError, discover, list_models};

use crate::config::Config;
use crate::paths::Env;

/// Turns a model's name into a place to send requests to, with the session's config and environment.
pub struct ModelPicker {
    config: Arc<Config>,
    env: Env,
    catalogue: Catalogue,
}

/// A model and what is known about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    pub endpoint: Endpoint,
    /// Tokens it can hold, when the server or the catalogue says.
    pub context_limit: Option<u64>,
}

impl ModelPicker {
    pub fn new(config: Arc<Config>, env: Env) -> Result<Self, ModelError> {
        let configured = config.providers.iter().map(|(name, entry)| (name.clone(), entry.clone())).collect();
        let catalogue = Catalogue::with(&configured)?;
        Ok(Self { config, env, catalogue })
    }

    /// `name` or `provider/name`.
    pub fn resolve(&self, model: &str) -> Result<Chosen, ModelError> {
        let endpoint = self.catalogue.resolve(model, self.config.provider.as_deref(), &self.lookup())?;
        Ok(Chosen { context_limit: self.catalogue.context_limit(&endpoint.model), endpoint })
    }

    /// Where a provider can be asked what it offers.
    pub fn provider(&self, name: &str) -> Result<Endpoint, ModelError> {
        self.catalogue.resolve_provider(name, &self.lookup())
    }

    /// The model of a session: an explicit choice, else what the session used last, else the configured one, else
    /// whatever answers on this machine, else the demo.
    pub async fn pick(
        &self,
        client: &Client,
        explicit: Option<&str>,
        recorded: Option<&str>,
    ) -> Result<Chosen, ModelError> {
        if let Some(model) = explicit {
            return self.resolve(model);
        }
        // A recorded model may be gone from the config, or its key from the environment.
        if let Some(Ok(chosen)) = recorded.map(|model| self.resolve(model)) {
            return Ok(chosen);
        }
        if let Some(model) = &self.config.model {
            return self.resolve(model);
        }
        if let Some(provider) = &self.config.provider {
            return self.first_offered(client, provider).await;
        }
        match discover(client, &LOCAL_SERVERS).await {
            Some(found) => Ok(Chosen { endpoint: found.endpoint, context_limit: found.context_limit }),
            None => Ok(Chosen { endpoint: Endpoint::demo(), context_limit: None }),
        }
    }

    /// A provider without a model: a local server usually has just one, so ask it.
    async fn first_offered(&self, client: &Client, provider: &str) -> Result<Chosen, ModelError> {
        let mut endpoint = self.provider(provider)?;
        if endpoint.api_key.is_some() {
            return Err(ModelError::Setup(format!(
                "no model named for {provider}; give one with --model {provider}/NAME (`zdx models --provider {provider}` lists them)"
            )));
        }
        let offered = list_models(client, &endpoint).await?.into_iter().next();
        let Some(first) = offered else {
            return Err(ModelError::Setup(format!("{provider} offers no model; load one there")));
        };
        endpoint.model = first.id;
        Ok(Chosen { endpoint, context_limit: first.context_limit })
    }

    fn lookup(&self) -> impl Fn(&str) -> Option<String> {
        |name| self.env.get(name).map(str::to_owned)
    }
}
