//! Configuration through its one door, `resolve`, on real files.

use std::fs;
use std::path::{Path, PathBuf};

use zdx_protocol::Standing;

use super::value::ModelEntry;
use super::*;
use crate::paths::{AppPaths, Environment};
use crate::trust;

mod files;
mod layers;
mod secrets;
mod show;
mod untrusted;

/// A home for zdx and a project, both empty.
struct World {
    _dir: tempfile::TempDir,
    home: PathBuf,
    base: PathBuf,
    root: PathBuf,
    vars: Vec<(String, String)>,
    flags: ConfigFlags,
    trusted: bool,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap();
        let (home, base, root) = (real.join("home"), real.join("zdx"), real.join("project"));
        for dir in [&home, &base, &root.join(".zdx")] {
            fs::create_dir_all(dir).unwrap();
        }
        Self { _dir: dir, home, base, root, vars: Vec::new(), flags: ConfigFlags::default(), trusted: false }
    }

    fn global(self, name: &str, text: &str) -> Self {
        fs::write(self.base.join(name), text).unwrap();
        self
    }

    fn project(self, name: &str, text: &str) -> Self {
        fs::write(self.root.join(".zdx").join(name), text).unwrap();
        self
    }

    fn var(mut self, name: &str, value: impl AsRef<Path>) -> Self {
        self.vars.push((name.to_owned(), value.as_ref().to_str().unwrap().to_owned()));
        self
    }

    fn flags(mut self, flags: ConfigFlags) -> Self {
        self.flags = flags;
        self
    }

    fn trusted(mut self) -> Self {
        self.trusted = true;
        self
    }

    fn resolve(&self) -> Result<ResolvedConfig, ConfigError> {
        let own = [("HOME", &self.home), ("ZDX_HOME", &self.base)]
            .map(|(name, path)| (name.to_owned(), path.to_str().unwrap().to_owned()));
        let env = Environment::from_pairs(own.into_iter().chain(self.vars.iter().cloned()));
        let paths = AppPaths::from_env(&env).unwrap();
        let project = read_project(&paths, &self.root)?;
        resolve(&ResolveInput {
            paths: &paths,
            root: &self.root,
            env: &env,
            flags: &self.flags,
            project: project.as_ref(),
            foreign: &[],
            trusted: self.trusted,
        })
    }

    fn config(&self) -> Config {
        self.resolve().unwrap().config
    }

    /// What a user reads: the file's notices, then the one about trust.
    fn notices(&self) -> Vec<String> {
        let ResolvedConfig { mut notices, wants, .. } = self.resolve().unwrap();
        notices.extend(trust::notice(&wants, Standing::Unknown));
        notices
    }

    fn wants(&self) -> Vec<String> {
        self.resolve().unwrap().wants.iter().map(ToString::to_string).collect()
    }

    fn error(&self) -> String {
        self.resolve().unwrap_err().to_string()
    }

    fn global_file(&self, name: &str) -> String {
        self.base.join(name).display().to_string()
    }

    fn project_file(&self, name: &str) -> String {
        self.root.join(".zdx").join(name).display().to_string()
    }
}

fn source_of(resolved: &ResolvedConfig, key: &str) -> String {
    let setting = describe(resolved).into_iter().find(|setting| setting.key == key);
    setting.unwrap_or_else(|| panic!("no {key}")).source.to_string()
}

fn instruction_files(config: &Config) -> Vec<PathBuf> {
    config
        .instructions
        .iter()
        .filter_map(|instruction| match instruction {
            InstructionSource::File(file) => Some(file.path.clone()),
            InstructionSource::Text { .. } => None,
        })
        .collect()
}
