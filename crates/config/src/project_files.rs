//! What may a project's files change? Nothing but to tighten, until the user trusts their exact content.
//! Reads those files once and says what they want; runs and grants nothing itself.

mod library;

#[cfg(test)]
mod tests;

use std::path::Path;

use zdx_protocol::Want;

use crate::library::LibraryFolders;
use crate::paths::{AppPaths, Environment};
use crate::settings::{ConfigBytes, ConfigError, commands, read_foreign, read_project};
use crate::trust::{ContentHash, TrustedFiles};

/// A project's files as far as trust is concerned: its configuration, what of its commands and agents asks for more than
/// to be read, and the scripts that any of these name. Read once; what was hashed is what is handed on.
#[derive(Debug)]
pub struct ProjectFiles {
    config: Option<ConfigBytes>,
    /// Files of other programs that name MCP servers.
    foreign: Vec<ConfigBytes>,
    /// What is trusted when the user trusts this project as it is.
    files: TrustedFiles,
    wants: Vec<Want>,
    notices: Vec<String>,
}

impl ProjectFiles {
    /// `root` is canonical. A file that a link leads to from outside is left out, with a notice.
    pub fn read(paths: &AppPaths, env: &Environment, root: &Path) -> Result<Self, ConfigError> {
        let mut notices = Vec::new();
        let config = match read_project(paths, root) {
            Err(error @ ConfigError::Outside { .. }) => {
                notices.push(format!("ignored: {error}"));
                None
            }
            config => config?,
        };
        let mut files = TrustedFiles::none_of(root);
        if let Some(config) = &config {
            files.add(&config.file, ContentHash::of(&config.bytes));
        }
        let (foreign, trouble) = read_foreign(root);
        notices.extend(trouble);
        for other in &foreign {
            files.add(&other.file, ContentHash::of(&other.bytes));
        }
        for command in commands(paths, env, root, config.as_ref(), &foreign) {
            files.add_named(&command);
        }
        let mut project = Self { config, foreign, files, wants: Vec::new(), notices };
        library::scan(&mut project, &LibraryFolders::new(root, paths).of_the_project());
        Ok(project)
    }

    /// The configuration file, for `config::resolve`.
    pub fn config(&self) -> Option<&ConfigBytes> {
        self.config.as_ref()
    }

    pub fn foreign(&self) -> &[ConfigBytes] {
        &self.foreign
    }

    /// What commands and agents want; what the configuration wants is known once it is resolved.
    pub fn wants(&self) -> &[Want] {
        &self.wants
    }

    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Over the sorted paths and contents of all files concerned.
    pub fn digest(&self) -> ContentHash {
        self.files.digest()
    }

    /// What is trusted when the user trusts this project as it is.
    pub fn trusted_files(&self) -> TrustedFiles {
        self.files.clone()
    }
}
