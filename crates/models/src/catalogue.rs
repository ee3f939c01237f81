//! Vendors as data: where they are, which wire they speak, which variable holds the key.
//! Turns a model's name into an endpoint; reads no environment of its own and connects to nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ModelError;
use crate::endpoint::{DEMO, Endpoint, Secret};
use crate::wire::{Auth, Wire};

#[cfg(test)]
mod tests;

const BUILT_IN: &str = include_str!("catalogue.toml");

/// One `[providers.<name>]` table, built in or configured. What a user leaves out comes from the built-in entry.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderEntry {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<Wire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Environment variables that override `base_url`, first one set and not empty wins.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub base_url_env: Vec<String>,
    /// Environment variables that may hold the key, in order. None: no key is needed.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub api_key_env: Vec<String>,
    /// How the key is shown, where the server does not keep to its wire's own way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<Auth>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// A PEM file with further certificate authorities, for intranet servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
}

impl ProviderEntry {
    /// This entry with every field that `over` sets replaced; headers are added up.
    pub fn overlaid(mut self, over: &ProviderEntry) -> ProviderEntry {
        let ProviderEntry { wire, base_url, base_url_env, api_key_env, auth, headers, ca_file } = over;
        self.wire = wire.or(self.wire);
        self.auth = auth.or(self.auth);
        if base_url.as_ref().is_some_and(|url| !url.trim().is_empty()) {
            self.base_url.clone_from(base_url);
        }
        if !base_url_env.is_empty() {
            self.base_url_env.clone_from(base_url_env);
        }
        if !api_key_env.is_empty() {
            self.api_key_env.clone_from(api_key_env);
        }
        self.headers.extend(headers.iter().map(|(name, value)| (name.clone(), value.clone())));
        if ca_file.is_some() {
            self.ca_file.clone_from(ca_file);
        }
        self
    }
}

/// How long to wait for a server, phase by phase: a local prefill is slow, a dead peer should not be waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    pub connect: Duration,
    /// None where nobody set it: then servers of a private network have all the time they need to read a prompt.
    pub first_byte: Option<Duration>,
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), first_byte: None, idle: Duration::from_secs(90) }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BuiltIn {
    providers: BTreeMap<String, ProviderEntry>,
    models: BTreeMap<String, KnownModel>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownModel {
    provider: Option<String>,
    context: Option<u64>,
    #[serde(default)]
    images: bool,
}

/// Every provider that can be asked for by name: the built-in ones, under what the user configured.
#[derive(Clone, Debug)]
pub struct Catalogue {
    providers: BTreeMap<String, ProviderEntry>,
    models: BTreeMap<String, KnownModel>,
    /// Where vendors are who want a key, as they are built in.
    vendors: BTreeSet<String>,
}

impl Catalogue {
    pub fn with(configured: &BTreeMap<String, ProviderEntry>) -> Result<Self, ModelError> {
        let BuiltIn { mut providers, models } = toml::from_str(BUILT_IN)
            .map_err(|e| ModelError::Setup(format!("the built-in provider list is damaged: {e}")))?;
        let wants_key = providers.values().filter(|entry| !entry.api_key_env.is_empty());
        let vendors = wants_key.filter_map(|entry| entry.base_url.clone()).collect();
        for (name, entry) in configured {
            if name == DEMO {
                return Err(ModelError::Setup(format!(
                    "`{DEMO}` is the built-in model; give [providers.{DEMO}] another name"
                )));
            }
            let base = providers.remove(name).unwrap_or_default();
            providers.insert(name.clone(), base.overlaid(entry));
        }
        Ok(Self { providers, models, vendors })
    }

    pub fn providers(&self) -> impl Iterator<Item = (&str, &ProviderEntry)> {
        self.providers.iter().map(|(name, entry)| (name.as_str(), entry))
    }

    pub fn provider(&self, name: &str) -> Option<&ProviderEntry> {
        self.providers.get(name)
    }

    /// The provider that a name begins with, if it begins with one.
    pub fn prefix<'a>(&self, model: &'a str) -> Option<&'a str> {
        if model == DEMO {
            return Some(model);
        }
        let (first, _) = model.split_once('/')?;
        (first == DEMO || self.providers.contains_key(first)).then_some(first)
    }

    /// Who is known to serve a model that is written without a provider.
    pub fn vendor(&self, model: &str) -> Option<&str> {
        let known = self.known(model).filter(|_| !model.contains('/'));
        known.and_then(|known| known.provider.as_deref())
    }

    /// What is known of a model's context window by its name alone.
    pub fn context_limit(&self, model: &str) -> Option<u64> {
        self.known(model)?.context
    }

    /// Whether a model takes images, by its name alone.
    pub fn takes_images(&self, model: &str) -> bool {
        self.known(model).is_some_and(|known| known.images)
    }

    /// Whether that is so of who serves it here: a vendor's models hold what their names say, one's own server what it was
    /// started with.
    pub fn is_vendor(&self, endpoint: &Endpoint) -> bool {
        self.vendors.contains(&endpoint.base_url)
    }

    /// `model` is `name` or `provider/name`. A first segment that is no known provider belongs to the name, and so
    /// does every segment when the provider is given (`qwen/qwen3-coder` at openrouter).
    pub fn resolve(
        &self,
        model: &str,
        provider: Option<&str>,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Endpoint, ModelError> {
        let (provider, name) = self.split(model.trim(), provider)?;
        if provider == DEMO {
            return Ok(Endpoint::demo());
        }
        if name.is_empty() {
            return Err(ModelError::Setup(format!("no model is named; write one as {provider}/<model>")));
        }
        let endpoint = self.endpoint(provider, name, env)?;
        // A base URL that cannot be read is better refused now than at the first request.
        endpoint.base()?;
        Ok(endpoint)
    }

    /// The endpoint of a provider for asking what it offers: no model is named yet.
    pub fn resolve_provider(
        &self,
        provider: &str,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Endpoint, ModelError> {
        if provider == DEMO { Ok(Endpoint::demo()) } else { self.endpoint(provider, "", env) }
    }

    fn split<'a>(
        &'a self,
        model: &'a str,
        provider: Option<&'a str>,
    ) -> Result<(&'a str, &'a str), ModelError> {
        let rest = |prefix: &str| {
            model.strip_prefix(prefix).map_or(model, |rest| rest.strip_prefix('/').unwrap_or(rest))
        };
        if let Some(provider) = provider {
            let named = model.split_once('/').is_some_and(|(first, _)| first == provider);
            return Ok((provider, if named { rest(provider) } else { model }));
        }
        if let Some(prefix) = self.prefix(model) {
            return Ok((prefix, rest(prefix)));
        }
        match self.vendor(model) {
            Some(provider) => Ok((provider, model)),
            None => Err(ModelError::Setup(format!(
                "who serves `{model}`? write it as provider/{model} or set `provider`; known: {}",
                self.names()
            ))),
        }
    }

    /// Whether a provider is there and whole; whether its key is, is another question.
    pub fn check(&self, provider: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<(), ModelError> {
        if provider == DEMO { Ok(()) } else { self.address(provider, env).map(drop) }
    }

    fn address(
        &self,
        provider: &str,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(&ProviderEntry, Wire, String), ModelError> {
        let Some(entry) = self.providers.get(provider) else {
            return Err(ModelError::Setup(format!(
                "unknown provider `{provider}`; known: {}. add it as [providers.{provider}] with wire and base_url",
                self.names()
            )));
        };
        let wire = entry.wire.ok_or_else(|| {
            ModelError::Setup(format!(
                "[providers.{provider}] names no wire; set wire = \"openai-chat\" or \"anthropic\""
            ))
        })?;
        let base_url = entry
            .base_url_env
            .iter()
            .find_map(|name| set(env, name))
            .or_else(|| entry.base_url.clone())
            .ok_or_else(|| {
                ModelError::Setup(format!(
                    "[providers.{provider}] names no base_url; set it, like \"http://127.0.0.1:8000/v1\""
                ))
            })?;
        Ok((entry, wire, base_url))
    }

    fn endpoint(
        &self,
        provider: &str,
        model: &str,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Endpoint, ModelError> {
        let (entry, wire, base_url) = self.address(provider, env)?;
        let api_key = match entry.api_key_env.iter().find_map(|name| Some((name, set(env, name)?))) {
            Some((name, key)) => {
                Some(Secret::new(&key).map_err(|e| ModelError::Setup(format!("{name}: {e}")))?)
            }
            None if entry.api_key_env.is_empty() => None,
            None => return Err(missing_key(provider, &entry.api_key_env)),
        };
        Ok(Endpoint {
            provider: provider.to_owned(),
            wire,
            base_url: base_url.trim().to_owned(),
            api_key,
            auth: entry.auth.unwrap_or(wire.auth()),
            headers: entry.headers.clone(),
            ca_file: entry.ca_file.clone(),
            model: model.to_owned(),
        })
    }

    /// The entry of the longest name that `model` begins with; vendors' prefixes (`qwen/…`) do not count.
    fn known(&self, model: &str) -> Option<&KnownModel> {
        let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
        let matching = self.models.iter().filter(|(prefix, _)| name.starts_with(prefix.as_str()));
        matching.max_by_key(|(prefix, _)| prefix.len()).map(|(_, known)| known)
    }

    fn names(&self) -> String {
        self.providers.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
    }
}

/// An empty variable is one that is not set.
fn set(env: &dyn Fn(&str) -> Option<String>, name: &str) -> Option<String> {
    env(name).filter(|value| !value.trim().is_empty())
}

fn missing_key(provider: &str, variables: &[String]) -> ModelError {
    ModelError::Setup(format!(
        "{provider} wants a key: set {}\nor use a local server without one: start vLLM, llama.cpp, Ollama or LM Studio \
         and choose it with --model ollama/<name>",
        variables.join(" or ")
    ))
}

fn one_or_many<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        One(String),
        Many(Vec<String>),
    }
    Ok(match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(one) => vec![one],
        OneOrMany::Many(many) => many,
    })
}
