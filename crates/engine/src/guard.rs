//! From configuration to the context of every decision: the rules of all layers and what was granted before.
//! A session and the commands that explain the guard share it, so that what is explained is what holds.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use zdx_guard::{Disk, LayerSource, PolicyContext, RuleError, Rules, locate};
use zdx_protocol::Approval;

use crate::grants::GrantStore;
use crate::persona::{PersonaError, Personas};
use zdx_config::Environment;
use zdx_config::library::AgentLibrary;
use zdx_config::{Config, ConfigLayer};
use zdx_tools::child_variables;

/// Where decisions are made, and for whom.
pub struct GuardSetup<'a> {
    pub config: &'a Config,
    /// Canonical.
    pub root: &'a Path,
    pub env: &'a Environment,
    /// zdx's own folder.
    pub base: &'a Path,
    pub grants: &'a GrantStore,
    /// Granted for the session alone.
    pub session_grants: &'a [String],
    /// Holds when the configuration names no preset.
    pub default_approval: Approval,
    pub person: bool,
    pub allow_dangerous: bool,
}

/// The context, and what deserves a warning.
pub fn guard(setup: GuardSetup<'_>) -> Result<(PolicyContext, Vec<String>), RuleError> {
    let GuardSetup { config, root, .. } = setup;
    let mut warnings = Vec::new();
    let mut rules = Rules::base();
    // Layer by layer, so that a later one has the last word. In a layer, what a list allows is the more explicit word.
    for which in [ConfigLayer::Global, ConfigLayer::Project] {
        for layer in config.permission.iter().filter(|layer| layer.source.layer() == which) {
            warnings.extend(rules.add(&LayerSource {
                origin: layer.source.to_string(),
                trusted: layer.trusted,
                permission: Some(&layer.value),
                ..LayerSource::default()
            })?);
        }
        for list in config.lists.iter().filter(|list| list.source.layer() == which) {
            let texts = |key| if list.key == key { list.texts.as_slice() } else { &[] };
            rules.add(&LayerSource {
                origin: list.source.to_string(),
                // An untrusted project's `whitelist` never gets here, and the others only tighten.
                trusted: true,
                permission: None,
                whitelist: texts("whitelist"),
                blacklist_patterns: texts("blacklist_patterns"),
                dangerous_patterns: texts("dangerous_patterns"),
            })?;
        }
    }
    let mut granted: HashSet<String> = setup.session_grants.iter().cloned().collect();
    match setup.grants.of(root) {
        Ok(project) => granted.extend(project),
        Err(error) => warnings.push(error.to_string()),
    }
    let variables = setup.env.vars().map(|(name, value)| (name.to_owned(), value.to_owned()));
    let context = PolicyContext {
        home: setup.env.home(),
        env: Arc::new(child_variables(variables.collect(), &config.env.pass)),
        own: Some(locate(&Disk, root, root, setup.base).path),
        rules: Arc::new(rules),
        person: setup.person,
        allow_dangerous: setup.allow_dangerous,
        grants: Arc::new(granted),
        ..PolicyContext::new(root, config.approval.unwrap_or(setup.default_approval))
    };
    Ok((context, warnings))
}

/// The same context for somebody who works as this agent.
pub fn guard_as(
    context: PolicyContext,
    agent: &str,
    agents: AgentLibrary,
) -> Result<PolicyContext, PersonaError> {
    let rules = Rules::clone(&context.rules);
    let persona = Personas { agents, system: String::new(), rules }.primary(agent)?;
    Ok(PolicyContext { rules: persona.rules, ..context })
}
