//! Every directory and file zdx touches outside the workspace, and the environment they are derived from.
//! Nothing else reads `std::env`; nothing here decides what is written, or when.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

/// The environment as it was when zdx started. An empty variable counts as not set.
#[derive(Clone, Default)]
pub struct Environment {
    vars: HashMap<OsString, OsString>,
}

/// Values may be keys: only the count is ever shown.
impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Env").field("variables", &self.vars.len()).finish()
    }
}

impl Environment {
    pub fn capture() -> Self {
        Self { vars: std::env::vars_os().collect() }
    }

    pub fn from_pairs<K: Into<OsString>, V: Into<OsString>>(pairs: impl IntoIterator<Item = (K, V)>) -> Self {
        Self { vars: pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect() }
    }

    /// The value, if it is set, not empty and text.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.get_os(name).and_then(OsStr::to_str)
    }

    /// The value, if it is set and not empty. For paths, which need not be UTF-8.
    fn get_os(&self, name: &str) -> Option<&OsStr> {
        self.vars.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// The first of these variables that is set, with its name.
    pub fn first_of<'n>(&self, names: &[&'n str]) -> Option<(&'n str, &OsStr)> {
        names.iter().find_map(|name| Some((*name, self.get_os(name)?)))
    }

    /// A text with its variables: `${NAME}` is the variable's value, `${NAME:-else}` something else where there is none.
    /// The name of one that is not set.
    pub fn filled<'t>(&self, text: &'t str) -> Result<String, &'t str> {
        let (mut out, mut rest) = (String::new(), text);
        while let Some(at) = rest.find("${") {
            let inner = &rest[at + 2..];
            let Some(end) = inner.find('}') else { break };
            let (name, fallback) = match inner[..end].split_once(":-") {
                Some((name, fallback)) => (name, Some(fallback)),
                None => (&inner[..end], None),
            };
            out.push_str(&rest[..at]);
            out.push_str(self.get(name).or(fallback).ok_or(name)?);
            rest = &inner[end + 1..];
        }
        out.push_str(rest);
        Ok(out)
    }

    /// Everything, empty values included: what a child process may be given.
    pub fn vars(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.vars.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    pub fn home(&self) -> Option<PathBuf> {
        self.absolute("HOME")
    }

    fn absolute(&self, name: &str) -> Option<PathBuf> {
        self.get_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }
}

#[derive(Debug, thiserror::Error)]
pub enum AppPathsError {
    #[error(
        "there is no folder for zdx's files: HOME is not set; set HOME, or ZDX_HOME to a folder of your choice"
    )]
    NoHome,
    #[error("cannot work out where {path} is: {source}")]
    Unresolvable { path: PathBuf, source: io::Error },
}

/// The names a configuration file may have in its folder; at most one of them.
const CONFIG_NAMES: [&str; 3] = ["config.toml", "config.json", "config.jsonc"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppPaths {
    base: PathBuf,
    home: Option<PathBuf>,
    /// The global configuration file when a variable names it, with that variable.
    named_config: Option<(&'static str, PathBuf)>,
    default_cache: PathBuf,
}

impl AppPaths {
    pub fn from_env(env: &Environment) -> Result<Self, AppPathsError> {
        let home = env.home();
        let own = env.get_os("ZDX_HOME").map(|path| absolute(Path::new(path))).transpose()?;
        let under_home = |name: &str| home.as_ref().map(|home| home.join(name));
        let base = match &own {
            Some(own) => own.clone(),
            None => env
                .absolute("XDG_CONFIG_HOME")
                .or_else(|| under_home(".config"))
                .ok_or(AppPathsError::NoHome)?
                .join("zdx"),
        };
        // With a home of its own, zdx leaves nothing anywhere else.
        let default_cache = match own {
            Some(own) => own.join("cache"),
            None => env
                .absolute("XDG_CACHE_HOME")
                .or_else(|| under_home(".cache"))
                .map_or_else(|| base.join("cache"), |dir| dir.join("zdx")),
        };
        let named_config = env
            .first_of(&["ZDX_CONFIG", "AGENT_CONFIG"])
            .map(|(name, path)| absolute(Path::new(path)).map(|path| (name, path)))
            .transpose()?;
        Ok(Self { base, home, named_config, default_cache })
    }

    pub fn base(&self) -> &Path {
        &self.base
    }

    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    pub fn sessions(&self) -> PathBuf {
        self.base.join("sessions")
    }

    /// Locks that keep two zdx processes from changing the same file at once.
    pub fn locks(&self) -> PathBuf {
        self.base.join("locks")
    }

    /// What is written down of a session without a name for it.
    pub fn exports(&self) -> PathBuf {
        self.base.join("exports")
    }

    pub fn history_file(&self) -> PathBuf {
        self.base.join("history")
    }

    pub fn logs(&self) -> PathBuf {
        self.base.join("logs")
    }

    /// `configured` is `Config::cache.dir`, in which the environment has already had its say.
    pub fn cache(&self, configured: Option<&Path>) -> PathBuf {
        configured.map_or_else(|| self.default_cache.clone(), Path::to_owned)
    }

    /// What was always allowed, by project.
    pub fn grants_file(&self) -> PathBuf {
        self.base.join("grants.json")
    }

    /// Which project files were trusted, by content.
    pub fn trust_file(&self) -> PathBuf {
        self.base.join("trust.json")
    }

    /// Where `config init` writes when there is no file yet.
    pub fn default_config_file(&self) -> PathBuf {
        self.named_config.as_ref().map_or_else(|| self.base.join(CONFIG_NAMES[0]), |(_, path)| path.clone())
    }

    /// The variable that names the global configuration file, and the file.
    pub fn named_config(&self) -> Option<(&'static str, &Path)> {
        self.named_config.as_ref().map(|(name, path)| (*name, path.as_path()))
    }

    /// A project's own folder of zdx files.
    pub fn project_dir(root: &Path) -> PathBuf {
        root.join(".zdx")
    }

    pub fn config_candidates(dir: &Path) -> impl Iterator<Item = PathBuf> {
        CONFIG_NAMES.iter().map(|name| dir.join(name))
    }
}

fn absolute(path: &Path) -> Result<PathBuf, AppPathsError> {
    std::path::absolute(path).map_err(|source| AppPathsError::Unresolvable { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    fn paths(pairs: &[(&str, &str)]) -> AppPaths {
        AppPaths::from_env(&Environment::from_pairs(pairs.iter().copied())).unwrap()
    }

    #[test]
    fn the_base_folder_is_zdx_home_then_xdg_then_home() {
        let all = [("ZDX_HOME", "/z"), ("XDG_CONFIG_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(paths(&all).base(), Path::new("/z"));
        assert_eq!(paths(&all[1..]).base(), Path::new("/x/zdx"));
        assert_eq!(paths(&all[2..]).base(), Path::new("/h/.config/zdx"));
        // Empty means unset, and the XDG rules say to ignore a relative path.
        assert_eq!(
            paths(&[("ZDX_HOME", ""), ("XDG_CONFIG_HOME", "rel"), ("HOME", "/h")]).base(),
            Path::new("/h/.config/zdx")
        );
    }

    #[test]
    fn without_any_home_the_error_names_the_variable_to_set() {
        let error = AppPaths::from_env(&Environment::from_pairs([("HOME", "")])).unwrap_err();
        assert!(matches!(error, AppPathsError::NoHome));
        assert!(error.to_string().contains("ZDX_HOME"), "{error}");
    }

    #[test]
    fn a_relative_zdx_home_becomes_absolute() {
        let base = paths(&[("ZDX_HOME", "some/where")]).base().to_owned();
        assert_eq!(base, std::env::current_dir().unwrap().join("some/where"));
    }

    #[test]
    fn the_cache_stays_in_an_own_home_and_configuration_moves_it() {
        assert_eq!(paths(&[("ZDX_HOME", "/z"), ("XDG_CACHE_HOME", "/c")]).cache(None), Path::new("/z/cache"));
        assert_eq!(paths(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/c")]).cache(None), Path::new("/c/zdx"));
        assert_eq!(paths(&[("HOME", "/h")]).cache(None), Path::new("/h/.cache/zdx"));
        assert_eq!(paths(&[("HOME", "/h")]).cache(Some(Path::new("/else"))), Path::new("/else"));
    }

    #[test]
    fn zdx_config_is_asked_before_agent_config() {
        let named = paths(&[("HOME", "/h"), ("AGENT_CONFIG", "/a.json"), ("ZDX_CONFIG", "/z.toml")]);
        assert_eq!(named.named_config(), Some(("ZDX_CONFIG", Path::new("/z.toml"))));
        let named = paths(&[("HOME", "/h"), ("AGENT_CONFIG", "/a.json"), ("ZDX_CONFIG", "")]);
        assert_eq!(named.named_config(), Some(("AGENT_CONFIG", Path::new("/a.json"))));
        assert_eq!(named.default_config_file(), Path::new("/a.json"));
    }

    #[test]
    fn variables_that_are_no_text_are_kept_for_paths_and_hidden_from_debug() {
        let strange = OsString::from_vec(vec![b'/', 0xff]);
        let env = Environment::from_pairs([
            (OsString::from("HOME"), strange.clone()),
            ("K".into(), "s3cret".into()),
        ]);
        assert_eq!(env.get("HOME"), None);
        assert_eq!(env.home(), Some(PathBuf::from(strange)));
        assert!(!format!("{env:?}").contains("s3cret"));
    }
}
