//! The command line and the environment, resolved once into values that everything else is handed.
//! Reads no configuration file: commands that need one ask `start` for it.

use std::path::{Path, PathBuf};

use zdx_config::trust::TrustStore;
use zdx_config::{AppPaths, ConfigFlags, Environment};
use zdx_engine::PromptHistory;
use zdx_protocol::{Approval, ErrorKind, Open, SessionPick};
use zdx_store::SessionStore;

use crate::args::{ApprovalArg, Format, Options};
use crate::exit::{Failure, reason};
use crate::terminal::Terminal;

#[derive(Clone)]
pub struct Settings {
    pub env: Environment,
    pub paths: AppPaths,
    /// Absolute, links followed.
    pub root: PathBuf,
    pub flags: ConfigFlags,
    pub format: Format,
    /// Lines, also where there is a terminal to draw on.
    pub plain: bool,
    /// The session to begin with.
    pub open: Open,
    /// Sessions are kept; `--no-save` says otherwise.
    pub save: bool,
    pub allow_dangerous: bool,
    /// Folders outside the workspace that the session counts like it. Absolute, links followed.
    pub add_dirs: Vec<PathBuf>,
    pub agent: Option<String>,
    /// The agent that answers in place of a model, by its name.
    pub remote: Option<String>,
    /// The folder's own files are trusted for this run.
    pub trust: bool,
    pub terminal: Terminal,
}

impl Settings {
    pub fn resolve(options: Options, env: Environment, terminal: Terminal) -> Result<Self, Failure> {
        let paths = AppPaths::from_env(&env)
            .map_err(|error| Failure::Refused(ErrorKind::Config, error.to_string()))?;
        let root = resolve_root(options.root.as_deref())?;
        let open = pick_session(&options)?;
        let approval = pick_approval(&options)?;
        Ok(Self {
            env,
            paths,
            root,
            format: options.format.unwrap_or(Format::Text),
            plain: options.plain,
            open,
            save: !options.no_save,
            allow_dangerous: options.allow_dangerous,
            add_dirs: options.add_dir.iter().map(|path| resolve_added(path)).collect::<Result<_, _>>()?,
            agent: options.agent.clone(),
            remote: pick_backend(options.backend.as_deref())?,
            trust: options.trust,
            terminal,
            flags: ConfigFlags {
                model: options.model,
                provider: options.provider,
                system_prompt: options.system_prompt,
                temperature: options.temperature,
                max_tokens: options.max_tokens,
                max_steps: options.max_steps,
                approval,
                ..ConfigFlags::default()
            },
        })
    }

    pub fn home(&self) -> Option<&Path> {
        self.paths.home()
    }

    /// The lines typed in earlier chats; None where nothing is saved.
    pub fn prompt_history(&self) -> Option<PromptHistory> {
        self.save.then(|| PromptHistory::new(self.paths.history_file()))
    }

    pub fn sessions(&self) -> SessionStore {
        SessionStore::new(self.paths.sessions())
    }

    pub fn trust_store(&self) -> TrustStore {
        TrustStore::new(self.paths.trust_file())
    }
}

fn resolve_root(given: Option<&Path>) -> Result<PathBuf, Failure> {
    let path = given.unwrap_or(Path::new("."));
    let shown = || match given {
        Some(path) => format!("--root {}", path.display()),
        None => "the current folder".to_owned(),
    };
    let root = std::fs::canonicalize(path)
        .map_err(|error| Failure::usage(format!("cannot work in {}: {}", shown(), reason(&error))))?;
    if !root.is_dir() {
        return Err(Failure::usage(format!("cannot work in {}: it is not a folder", shown())));
    }
    Ok(root)
}

fn resolve_added(given: &Path) -> Result<PathBuf, Failure> {
    let failed = |why: &str| Failure::usage(format!("cannot add --add-dir {}: {why}", given.display()));
    let folder = std::fs::canonicalize(given).map_err(|error| failed(&reason(&error)))?;
    if folder.is_dir() { Ok(folder) } else { Err(failed("it is not a folder")) }
}

fn pick_backend(backend: Option<&str>) -> Result<Option<String>, Failure> {
    let Some(backend) = backend else { return Ok(None) };
    match backend.strip_prefix("acp:") {
        Some(name) if !name.is_empty() => Ok(Some(name.to_owned())),
        Some(_) | None => Err(Failure::usage(format!(
            "--backend {backend}: write it as acp:NAME, an agent of acp.json or [acp.agents]; without it a model answers"
        ))),
    }
}

fn pick_session(options: &Options) -> Result<Open, Failure> {
    match (&options.session, options.continue_last, options.no_save) {
        (Some(_), true, _) => Err(Failure::usage("--session and --continue each name a session; give one")),
        (Some(_), _, true) | (_, true, true) => {
            Err(Failure::usage("--no-save cannot go on with a saved session; leave one of them out"))
        }
        (Some(id), false, false) => Ok(Open::Resume(SessionPick::Id(id.clone()))),
        (None, true, false) => Ok(Open::Resume(SessionPick::LatestHere)),
        (None, false, _) => Ok(Open::New),
    }
}

fn pick_approval(options: &Options) -> Result<Option<Approval>, Failure> {
    let named = options.approval.map(|preset| match preset {
        ApprovalArg::Yolo => Approval::Yolo,
        ApprovalArg::Balanced => Approval::Balanced,
        ApprovalArg::Paranoid => Approval::Paranoid,
    });
    match (named, options.yolo) {
        (Some(Approval::Balanced | Approval::Paranoid), true) => {
            Err(Failure::usage("--yolo contradicts --approval; give one"))
        }
        (named, false) => Ok(named),
        (Some(Approval::Yolo) | None, true) => Ok(Some(Approval::Yolo)),
    }
}
