//! Configuration as it holds in a folder, together with how that folder's own files stand.
//! Asks nobody: whether untrusted files get what they want is decided elsewhere, and remembered in the trust store.

use std::path::Path;

use zdx_protocol::{Standing, TrustState, Want};

use crate::paths::{AppPaths, Environment};
use crate::project_files::ProjectFiles;
use crate::settings::{
    ConfigError, ConfigFlags, ConfigLayer, ResolveInput, ResolvedConfig, ValueSource, resolve,
};
use crate::trust::{self, CommandSource, PinnedCommand, TrustStore, TrustedFiles};

/// Where configuration is looked for, and what stands above it.
#[derive(Clone, Copy)]
pub struct ConfigLocation<'a> {
    pub paths: &'a AppPaths,
    pub env: &'a Environment,
    /// Canonical.
    pub root: &'a Path,
    pub flags: &'a ConfigFlags,
    /// The folder's own files are trusted for this run, whatever was said of them.
    pub trust: bool,
}

pub struct EffectiveConfig {
    pub resolved: ResolvedConfig,
    pub standing: Standing,
    /// What those files want and do not get; empty once they are trusted.
    pub wants: Vec<Want>,
    /// The files that were read, and so what the wants were taken from: what is trusted when the user says so.
    pub files: TrustedFiles,
}

impl EffectiveConfig {
    pub fn read(place: ConfigLocation<'_>) -> Result<Self, ConfigError> {
        let project = ProjectFiles::read(place.paths, place.env, place.root)?;
        let store = TrustStore::new(place.paths.trust_file());
        let (standing, trouble) = match store.status(place.root, &project.digest()) {
            _ if place.trust => (Standing::Trusted, None),
            Ok(standing) => (standing, None),
            Err(error) => (Standing::Unknown, Some(error.to_string())),
        };
        let mut configured = Self::standing(place, &project, standing)?;
        configured.resolved.notices.extend(trouble);
        Ok(configured)
    }

    /// As it is without trust, whatever was trusted: for showing what trust would change.
    pub fn untrusted(place: ConfigLocation<'_>) -> Result<Self, ConfigError> {
        Self::standing(place, &ProjectFiles::read(place.paths, place.env, place.root)?, Standing::Unknown)
    }

    fn standing(
        place: ConfigLocation<'_>,
        project: &ProjectFiles,
        standing: Standing,
    ) -> Result<Self, ConfigError> {
        let ConfigLocation { paths, env, root, flags, .. } = place;
        let trusted = standing == Standing::Trusted;
        let (config, foreign) = (project.config(), project.foreign());
        let mut resolved =
            resolve(&ResolveInput { paths, root, env, flags, project: config, foreign, trusted })?;
        resolved.notices.extend(project.notices().iter().cloned());
        let mut wants = std::mem::take(&mut resolved.wants);
        if !trusted {
            wants.extend(project.wants().iter().cloned());
        }
        Ok(Self { resolved, standing, wants, files: project.trusted_files() })
    }

    /// What the project's files may do: nothing, before the user trusts them.
    pub fn trusted(&self) -> TrustedFiles {
        match self.standing {
            Standing::Trusted => self.files.clone(),
            Standing::Changed | Standing::Unknown => TrustedFiles::default(),
        }
    }

    /// Binds a command of the configuration to the files that it names, if the project's own files ask for it. A command
    /// of the user's own configuration is bound to nothing.
    pub fn pin(&self, key: &[&str], command: CommandSource) -> Option<PinnedCommand> {
        let key: Vec<String> = key.iter().map(|&part| part.to_owned()).collect();
        let layer = self.resolved.origins.get(&key)?.source.layer();
        (layer == ConfigLayer::Project).then(|| self.trusted().pin(command))
    }

    /// One line about what is left out, for somebody who is not asked.
    pub fn notice(&self) -> Option<String> {
        trust::notice(&self.wants, self.standing)
    }

    /// How the files stand, for a person to judge.
    pub fn state(&self, place: ConfigLocation<'_>) -> TrustState {
        let store = TrustStore::new(place.paths.trust_file());
        let changed = match self.standing {
            // Should the store be unreadable by now, the question stands without the names.
            Standing::Changed => store.changed(place.root, &self.files).unwrap_or_default(),
            Standing::Trusted | Standing::Unknown => Vec::new(),
        };
        let (root, standing, wants) = (place.root.to_owned(), self.standing, self.wants.clone());
        TrustState { root, standing, changed, wants }
    }

    /// The model that this very command line or its environment asks for, as opposed to a file.
    pub fn explicit_model(&self) -> Option<String> {
        match self.resolved.origins.get(&["model".to_owned()])?.source {
            ValueSource::Env(_) | ValueSource::Flag(_) => self.resolved.config.model.clone(),
            ValueSource::Default | ValueSource::File { .. } => None,
        }
    }
}
