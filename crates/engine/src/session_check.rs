//! The command that checks a session's edits: configured, or guessed from the folder and offered. Remembers for the folder
//! what the user answered to the offer; runs nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use zdx_protocol::{CheckChoice, CheckGrant, CheckStanding, CheckState};

use crate::grants::Granted;
use zdx_config::EffectiveConfig;
use zdx_config::trust::{CommandSource, ContentHash, PinnedCommand, named_files};
use zdx_workspace::Workspace;

pub(crate) struct SessionCheck {
    command: String,
    source: CheckSource,
    workspace: Arc<Workspace>,
    grants: Granted,
    /// Set once the check was offered: a session offers it a single time.
    offered: AtomicBool,
}

#[derive(Debug)]
enum CheckSource {
    Configured {
        /// Set for a project's own command: it is run only as it was trusted.
        pinned: Option<PinnedCommand>,
    },
    Guessed,
}

/// The decision about the check at the end of a turn that changed code.
#[derive(Debug)]
pub(crate) enum CheckDecision {
    Run,
    Offer(CheckState),
    Leave,
}

impl SessionCheck {
    /// Returns the configured command, or with `guess` one that suits the files of the folder.
    pub(crate) fn choose(
        configured: &EffectiveConfig,
        workspace: &Arc<Workspace>,
        grants: &Granted,
        guess: bool,
    ) -> Option<Arc<Self>> {
        let settings = &configured.resolved.config.validation;
        if !settings.enabled {
            return None;
        }
        let written = settings.command.as_deref().map(str::trim).filter(|command| !command.is_empty());
        let (command, source) = match written {
            Some(command) => {
                let pinned = configured.pin(&["validation", "command"], CommandSource::shell(command));
                (command, CheckSource::Configured { pinned })
            }
            None if guess => (guess_command(workspace.root())?, CheckSource::Guessed),
            None => return None,
        };
        Some(Arc::new(Self {
            command: command.to_owned(),
            source,
            workspace: Arc::clone(workspace),
            grants: grants.clone(),
            offered: AtomicBool::new(false),
        }))
    }

    pub(crate) fn command(&self) -> &str {
        &self.command
    }

    /// Decides for a turn that changed code, by the files as they are now.
    pub(crate) async fn decide(self: &Arc<Self>) -> CheckDecision {
        match &self.source {
            CheckSource::Configured { .. } => CheckDecision::Run,
            CheckSource::Guessed => {
                let check = Arc::clone(self);
                match tokio::task::spawn_blocking(move || check.state()).await {
                    Ok(CheckState { standing: CheckStanding::Always, .. }) => CheckDecision::Run,
                    Ok(CheckState { standing: CheckStanding::Never, .. }) | Err(_) => CheckDecision::Leave,
                    Ok(state) => self.offer(state),
                }
            }
        }
    }

    /// A check that the user believes to run always is offered each time that changed files keep it from running.
    fn offer(&self, state: CheckState) -> CheckDecision {
        match self.offered.swap(true, Ordering::Relaxed) && state.changed.is_empty() {
            true => CheckDecision::Leave,
            false => CheckDecision::Offer(state),
        }
    }

    /// The next turn that edits code offers it again.
    pub(crate) fn offer_again(&self) {
        self.offered.store(false, Ordering::Relaxed);
    }

    /// Returns why a project's own command must not run.
    pub(crate) async fn refusal(&self) -> Option<String> {
        match &self.source {
            CheckSource::Configured { pinned: Some(pinned) } => pinned.refusal().await,
            CheckSource::Configured { pinned: None } | CheckSource::Guessed => None,
        }
    }

    /// Reads files, which can hang: call it on a blocking thread.
    pub(crate) fn state(&self) -> CheckState {
        let state = |standing, changed| CheckState { command: self.command.clone(), standing, changed };
        if matches!(self.source, CheckSource::Configured { .. }) {
            return state(CheckStanding::Configured, Vec::new());
        }
        let (_, granted) = self.grants.by_scope(self.workspace.root());
        let mut answers = granted.iter().filter_map(|grant| CheckGrant::of(grant));
        match answers.find(|answer| answer.command() == self.command) {
            Some(CheckGrant::Never { .. }) => state(CheckStanding::Never, Vec::new()),
            Some(CheckGrant::Always { files, .. }) => match changed(&files, &self.files()) {
                none if none.is_empty() => state(CheckStanding::Always, none),
                changed => state(CheckStanding::Offered, changed),
            },
            None => state(CheckStanding::Offered, Vec::new()),
        }
    }

    /// Remembers an answer to the offer for this folder. Reads files, like `state`.
    pub(crate) fn answer(&self, choice: CheckChoice) -> Result<CheckState, String> {
        if matches!(self.source, CheckSource::Configured { .. }) {
            return Err(format!(
                "`{}` is configured: validation.command sets it, validation.enabled = false switches it off",
                self.command
            ));
        }
        let files = self.files();
        let named = |(path, hash): (&PathBuf, &ContentHash)| {
            let path = path.to_str().filter(|path| !path.contains('\n'))?;
            Some((path.to_owned(), hash.to_string()))
        };
        let files: Option<Vec<(String, String)>> = files.iter().map(named).collect();
        let files = files.ok_or("a file that it runs has a name that cannot be remembered")?;
        let command = self.command.as_str();
        let grant = match choice {
            CheckChoice::Run => return Ok(self.state()),
            CheckChoice::Always => {
                let files = files.iter().map(|(path, hash)| (path.as_str(), hash.as_str())).collect();
                CheckGrant::Always { command, files }
            }
            CheckChoice::Never => CheckGrant::Never { command },
        };
        let before = |grant: &str| CheckGrant::of(grant).is_some_and(|grant| grant.command() == command);
        self.grants
            .replace(self.workspace.root(), before, &grant.spelled())
            .map_err(|error| error.to_string())?;
        Ok(self.state())
    }

    fn files(&self) -> BTreeMap<PathBuf, ContentHash> {
        named_files(self.workspace.root(), &CommandSource::shell(&self.command))
    }
}

/// Returns the files that were added, removed or changed since the user said always.
fn changed(before: &[(&str, &str)], now: &BTreeMap<PathBuf, ContentHash>) -> Vec<String> {
    let hash = |path: &str| now.get(Path::new(path)).map(ToString::to_string);
    let gone = before.iter().filter(|(path, known)| hash(path).as_deref() != Some(*known));
    let mut changed: Vec<String> = gone.map(|(path, _)| (*path).to_owned()).collect();
    let known = |path: &Path| before.iter().any(|(known, _)| Path::new(known) == path);
    changed.extend(now.keys().filter(|path| !known(path)).map(|path| path.display().to_string()));
    changed
}

/// Returns the command that checks a project of this kind quickly and with its own tools alone.
fn guess_command(root: &Path) -> Option<&'static str> {
    let has = |name: &str| root.join(name).is_file();
    let says = |name: &str, test: &dyn Fn(&str) -> bool| {
        zdx_workspace::own_files::read_regular(&root.join(name), 1 << 20)
            .is_ok_and(|file| test(&String::from_utf8_lossy(&file.bytes)))
    };
    if has("Cargo.toml") {
        Some("cargo check")
    } else if has("go.mod") {
        Some("go test ./...")
    } else if says("package.json", &|text| text.contains("\"test\":")) {
        Some("npm test")
    } else if has("pyproject.toml") {
        Some("python3 -m pytest -q")
    } else if says("Makefile", &|text| text.lines().any(|line| line.starts_with("test:"))) {
        Some("make test")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grants::GrantStore;

    fn check(root: &Path, command: &str) -> Arc<SessionCheck> {
        let store = GrantStore::new(root.with_extension("grants.json"));
        Arc::new(SessionCheck {
            command: command.to_owned(),
            source: CheckSource::Guessed,
            workspace: Arc::new(Workspace::open(root).unwrap()),
            grants: Granted::new(&[], store),
            offered: AtomicBool::new(false),
        })
    }

    #[test]
    fn an_answer_holds_for_the_command_and_the_files_it_runs() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("p");
        std::fs::create_dir(&root).unwrap();
        let write = |name: &str, text: &str| std::fs::write(root.join(name), text).unwrap();
        write("package.json", "{}");
        let npm = check(&root, "npm test");
        assert_eq!(npm.state().standing, CheckStanding::Offered);
        assert_eq!(npm.answer(CheckChoice::Always).unwrap().standing, CheckStanding::Always);
        assert_eq!(check(&root, "cargo check").state().standing, CheckStanding::Offered);

        write("package.json", "{\"scripts\": {\"test\": \"evil\"}}");
        let CheckState { standing, changed, .. } = npm.state();
        assert_eq!((standing, changed), (CheckStanding::Offered, vec!["package.json".to_owned()]));
        assert_eq!(npm.answer(CheckChoice::Always).unwrap().standing, CheckStanding::Always);

        assert_eq!(npm.answer(CheckChoice::Never).unwrap().standing, CheckStanding::Never);
        write("package.json", "{}");
        assert_eq!(npm.state().standing, CheckStanding::Never, "whatever the files hold");
        assert_eq!(npm.grants.by_scope(&root).1, ["nocheck npm test"], "one answer takes the other's place");
    }

    #[tokio::test]
    async fn it_is_offered_once_but_told_of_each_time_when_always_does_not_hold() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("p");
        std::fs::create_dir(&root).unwrap();
        let make = check(&root, "make test");
        assert!(matches!(make.decide().await, CheckDecision::Offer(_)));
        assert!(matches!(make.decide().await, CheckDecision::Leave));
        make.answer(CheckChoice::Always).unwrap();
        assert!(matches!(make.decide().await, CheckDecision::Run));
        std::fs::write(root.join("Makefile"), "test:\n").unwrap();
        for _ in 0..2 {
            assert!(
                matches!(make.decide().await, CheckDecision::Offer(state) if state.changed == ["Makefile"])
            );
        }
    }

    #[test]
    fn a_folder_tells_how_it_is_checked() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(guess_command(dir.path()), None);
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        write("Makefile", "all:\n\ttrue\n");
        assert_eq!(guess_command(dir.path()), None);
        write("Makefile", "all:\n\tcontest:\n");
        assert_eq!(guess_command(dir.path()), None);
        for makefile in ["all:\n\ntest:\n\ttrue\n", "test:\n\ttrue\n", "test: all\n"] {
            write("Makefile", makefile);
            assert_eq!(guess_command(dir.path()), Some("make test"), "{makefile}");
        }
        write("package.json", "{\"scripts\": {\"test\": \"jest\"}}");
        assert_eq!(guess_command(dir.path()), Some("npm test"));
        write("go.mod", "module x");
        assert_eq!(guess_command(dir.path()), Some("go test ./..."));
        write("Cargo.toml", "[package]");
        assert_eq!(guess_command(dir.path()), Some("cargo check"));
    }
}
