//! Which model answers: what the user named, what the session used before, what answers on loopback, or the demo.

use std::collections::BTreeMap;
use std::sync::Arc;

use zdx_models::wire::Wire;
use zdx_models::{
    Catalogue, Client, Discovery, Endpoint, LOCAL_SERVERS, ModelError, ProbeLimits, ProviderEntry, discover,
    list_models,
};

use zdx_config::Config;
use zdx_config::Environment;

/// Turns a model's name into a place to send requests to, with the session's config and environment.
pub struct ModelPicker {
    config: Arc<Config>,
    env: Environment,
    catalogue: Catalogue,
}

/// The provider meant by a base URL alone, or by a provider table without a name.
const UNNAMED: &str = "local";

/// Chat Completions is what every server speaks that somebody just names the address of.
fn unnamed_provider(config: &Config, env: &Environment) -> ProviderEntry {
    let is_set = |name: &str| env.get(name).is_some_and(|value| !value.trim().is_empty());
    // A key goes along with the address that is spelled like it, and to no other.
    let dashscope = !is_set("ZDX_BASE_URL") && is_set("AGENT_BASE_URL");
    let keys = ["AGENT_API_KEY"].into_iter().chain(dashscope.then_some("DASHSCOPE_API_KEY"));
    ProviderEntry {
        wire: Some(Wire::OpenaiChat),
        base_url: config.base_url.clone(),
        api_key_env: keys.filter(|name| is_set(name)).map(str::to_owned).collect(),
        ..ProviderEntry::default()
    }
}

/// A model and what is known about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    pub endpoint: Endpoint,
    /// Tokens it can hold, when the server or the catalogue says.
    pub context_limit: Option<u64>,
    /// Only its name says so, and who serves it may know better.
    pub by_name: bool,
}

impl ModelPicker {
    pub fn new(config: Arc<Config>, env: Environment) -> Result<Self, ModelError> {
        let mut configured: BTreeMap<String, ProviderEntry> =
            config.providers.iter().map(|(name, entry)| (name.clone(), entry.clone())).collect();
        let unnamed = configured.remove(UNNAMED).unwrap_or_default();
        configured.insert(UNNAMED.to_owned(), unnamed_provider(&config, &env).overlaid(&unnamed));
        let catalogue = Catalogue::with(&configured)?;
        Ok(Self { config, env, catalogue })
    }

    /// `provider/name`, or a name alone: that means the provider in use, if there is one.
    pub fn resolve(&self, model: &str, in_use: Option<&str>) -> Result<Chosen, ModelError> {
        let bare = self.catalogue.prefix(model.trim()).is_none();
        let in_use = in_use.filter(|name| bare && self.catalogue.provider(name).is_some());
        let provider = self.config.provider.as_deref().or(in_use);
        let resolved = self.catalogue.resolve(model, provider, &self.lookup());
        // A bare URL needs no provider's name: whatever answers there is meant.
        let resolved = match resolved {
            Err(_) if provider.is_none() && self.config.base_url.is_some() => {
                self.catalogue.resolve(model, Some(UNNAMED), &self.lookup())
            }
            resolved => resolved,
        };
        let endpoint = self.redirected(resolved?);
        Ok(self.known_by_name(endpoint))
    }

    /// Whether whoever is configured to serve can be asked at all; his key is not looked for.
    pub fn check(&self) -> Result<(), ModelError> {
        let model = self.config.model.as_deref();
        let named = self.config.provider.as_deref().or_else(|| self.served_by(model?));
        named.map_or(Ok(()), |name| self.catalogue.check(name, &self.lookup()))
    }

    /// Where a provider can be asked what it offers.
    pub fn provider(&self, name: &str) -> Result<Endpoint, ModelError> {
        Ok(self.redirected(self.catalogue.resolve_provider(name, &self.lookup())?))
    }

    /// A base URL given for this run holds for the provider in use, above everything else.
    fn redirected(&self, mut endpoint: Endpoint) -> Endpoint {
        if let Some(base_url) = &self.config.base_url
            && !endpoint.is_demo()
        {
            endpoint.base_url.clone_from(base_url);
        }
        endpoint
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
            return self.named(client, model, recorded).await;
        }
        // A recorded model may be gone from the config, or its key from the environment.
        if let Some(Ok(chosen)) = recorded.map(|model| self.resolve(model, None)) {
            return Ok(chosen);
        }
        if let Some(model) = &self.config.model {
            return self.named(client, model, None).await;
        }
        let unnamed = self.config.base_url.is_some().then_some(UNNAMED);
        if let Some(provider) = self.config.provider.as_deref().or(unnamed) {
            return self.first_offered(client, provider).await;
        }
        discovered(discover(client, &LOCAL_SERVERS, ProbeLimits::QUICK).await)
    }

    /// A model by its name. Whose it is when it does not say so: of who served the session, of who serves the model that
    /// is named otherwise, of its vendor, of what answers on this machine.
    async fn named(
        &self,
        client: &Client,
        model: &str,
        recorded: Option<&str>,
    ) -> Result<Chosen, ModelError> {
        let elsewhere = self.config.base_url.is_some();
        let weaker = self.config.weaker_models.iter().rev().map(String::as_str);
        let others = recorded.into_iter().chain(weaker).filter(|other| !elsewhere && *other != model);
        let in_use = others.into_iter().find_map(|other| self.served_by(other));
        let resolved = self.resolve(model, in_use);
        let is_served = in_use.or_else(|| self.served_by(model)).is_some();
        if resolved.is_ok() || is_served || elsewhere || self.config.provider.is_some() {
            return resolved;
        }
        match discover(client, &LOCAL_SERVERS, ProbeLimits::QUICK).await {
            Discovery::Found(found) => {
                let endpoint = Endpoint { model: model.trim().to_owned(), ..found.endpoint };
                Ok(self.known_by_name(endpoint))
            }
            locked @ Discovery::WantsKey { .. } => discovered(locked),
            Discovery::Nobody => resolved,
        }
    }

    /// The provider that a name alone leads to; the demo is none.
    fn served_by<'a>(&'a self, model: &'a str) -> Option<&'a str> {
        let named = self.catalogue.prefix(model).or_else(|| self.catalogue.vendor(model));
        named.filter(|name| self.catalogue.provider(name).is_some())
    }

    /// A provider without a model: a local server usually has just one, so ask it.
    async fn first_offered(&self, client: &Client, provider: &str) -> Result<Chosen, ModelError> {
        let mut endpoint = self.provider(provider)?;
        if provider != UNNAMED && endpoint.api_key.is_some() {
            return Err(ModelError::Setup(format!(
                "no model named for {provider}; give one with --model {provider}/NAME (`zdx models --provider {provider}` lists them)"
            )));
        }
        let offered = list_models(client, &endpoint).await?.into_iter().next();
        let Some(first) = offered else {
            return Err(ModelError::Setup(format!("{provider} offers no model; load one there")));
        };
        endpoint.model = first.id;
        Ok(Chosen { endpoint, context_limit: first.context_limit, by_name: false })
    }

    /// Whether a model takes images: by the configuration, else by its name.
    pub fn takes_images(&self, endpoint: &Endpoint) -> bool {
        let configured = self.config.model_entry(&endpoint.provider, &endpoint.model).images;
        configured.unwrap_or_else(|| self.catalogue.takes_images(&endpoint.model))
    }

    fn known_by_name(&self, endpoint: Endpoint) -> Chosen {
        let context_limit = self.catalogue.context_limit(&endpoint.model);
        let by_name = context_limit.is_some() && !self.catalogue.is_vendor(&endpoint);
        Chosen { endpoint, context_limit, by_name }
    }

    fn lookup(&self) -> impl Fn(&str) -> Option<String> {
        |name| self.env.get(name).map(str::to_owned)
    }
}

/// A server that wants a key was most likely meant: the demo in its place would only puzzle.
fn discovered(discovery: Discovery) -> Result<Chosen, ModelError> {
    match discovery {
        Discovery::Found(found) => {
            Ok(Chosen { endpoint: found.endpoint, context_limit: found.context_limit, by_name: false })
        }
        Discovery::WantsKey { provider, port } => Err(ModelError::Setup(format!(
            "the server on 127.0.0.1:{port} wants a key: name the variable that holds it as api_key_env under \
             [providers.{provider}] and choose a model with --model {provider}/NAME; --model {} works without any",
            zdx_models::DEMO
        ))),
        Discovery::Nobody => Ok(Chosen { endpoint: Endpoint::demo(), context_limit: None, by_name: false }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_wants_a_key_is_named_and_not_passed_over_for_the_demo() {
        let locked = Discovery::WantsKey { provider: "llamacpp".to_owned(), port: 8080 };
        let error = discovered(locked).unwrap_err().to_string();
        for words in ["127.0.0.1:8080", "[providers.llamacpp]", "api_key_env", "--model demo"] {
            assert!(error.contains(words), "{words}: {error}");
        }
        assert!(discovered(Discovery::Nobody).unwrap().endpoint.is_demo());
    }
}
