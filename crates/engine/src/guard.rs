//! From configuration to the context of every decision: the rules of all layers and what was granted before.
//! A session and the commands that explain the guard share it, so that what is explained is what holds.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zdx_protocol::Approval;

use crate::config::Config;
use crate::policy::grants::GrantStore;
use crate::policy::{LayerSource, PolicyContext, RuleError, Rules};

/// Where decisions are made, and for whom.
pub struct GuardSetup<'a> {
    pub config: &'a Config,
    /// Canonical.
    pub root: &'a Path,
    pub home: Option<PathBuf>,
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
    for layer in &config.permission {
        warnings.extend(rules.add(&LayerSource {
            origin: layer.source.to_string(),
            trusted: layer.trusted,
            permission: Some(&layer.value),
            ..LayerSource::default()
        })?);
    }
    rules.add(&LayerSource {
        origin: "config".to_owned(),
        trusted: true,
        permission: None,
        whitelist: &config.whitelist,
        blacklist_patterns: &config.blacklist_patterns,
        dangerous_patterns: &config.dangerous_patterns,
    })?;
    let mut granted: HashSet<String> = setup.session_grants.iter().cloned().collect();
    match setup.grants.of(root) {
        Ok(project) => granted.extend(project),
        Err(error) => warnings.push(error.to_string()),
    }
    let context = PolicyContext {
        home: setup.home,
        rules: Arc::new(rules),
        person: setup.person,
        allow_dangerous: setup.allow_dangerous,
        grants: Arc::new(granted),
        ..PolicyContext::new(root, config.approval.unwrap_or(setup.default_approval))
    };
    Ok((context, warnings))
}
