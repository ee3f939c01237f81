//! Would a session start with this configuration? Asks the parts that a session is put together from, and begins nothing.

use std::sync::Arc;

use zdx_protocol::Approval;

use crate::context;
use crate::grants::GrantStore;
use crate::guard::{GuardSetup, guard, guard_as};
use crate::models::ModelPicker;
use crate::{persona, secrets};
use zdx_config::library::{AgentLibrary, LibraryFolders, SkillLibrary};
use zdx_config::{ConfigLocation, EffectiveConfig};

/// Why none would.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unusable(String);

/// What a session would warn of beyond what was noticed while reading, or why it would not start. `agent` is who works in it.
pub fn validate(
    configured: &EffectiveConfig,
    place: ConfigLocation<'_>,
    agent: Option<&str>,
) -> Result<Vec<String>, Unusable> {
    let ConfigLocation { paths, env, root, .. } = place;
    let config = &configured.resolved.config;
    let picker = ModelPicker::new(Arc::new(config.clone()), env.clone()).map_err(unusable)?;
    picker.check().map_err(unusable)?;
    secrets::redactor(config, env, root).map_err(unusable)?;
    let project = context::load_project_context(paths, root, &config.instructions);
    context::assemble(config, root, &project).map_err(unusable)?;
    let mut warnings = project.notices;

    let places = LibraryFolders::new(root, paths).trusting(configured.trusted());
    let (agents, told) = AgentLibrary::load(&places, &config.agent);
    warnings.extend(told);
    warnings.extend(SkillLibrary::load(&places, &config.skills).1);
    let (context, told) = guard(GuardSetup {
        config,
        root,
        env,
        base: paths.base(),
        grants: &GrantStore::new(paths.grants_file()),
        session_grants: &[],
        default_approval: Approval::Balanced,
        person: true,
        allow_dangerous: false,
    })
    .map_err(unusable)?;
    warnings.extend(told);
    guard_as(context, agent.unwrap_or(persona::DEFAULT), agents).map_err(unusable)?;
    Ok(warnings)
}

fn unusable(error: impl std::error::Error) -> Unusable {
    Unusable(error.to_string())
}
