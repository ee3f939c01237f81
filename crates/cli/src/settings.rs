//! The command line and the environment, resolved once into values that everything else is handed.
//! Reads no configuration file: commands that need one ask `start` for it.

use std::path::{Path, PathBuf};

use zdx_engine::config::Flags;
use zdx_engine::paths::{Env, Paths};
use zdx_engine::policy::trust::TrustStore;
use zdx_engine::session::SessionStore;
use zdx_protocol::Approval;

use crate::args::{ApprovalArg, Format, Options};
use crate::exit::{Failure, reason};
use crate::terminal::Terminal;

pub struct Settings {
    pub env: Env,
    pub paths: Paths,
    /// Absolute, links followed.
    pub root: PathBuf,
    pub flags: Flags,
    pub format: Format,
    pub session: SessionPick,
    pub allow_dangerous: bool,
    pub agent: Option<String>,
    /// The folder's own files are trusted for this run.
    pub trust: bool,
    pub terminal: Terminal,
}

/// Which session the command line asks for; not looked up yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionPick {
    New,
    Unsaved,
    Id(String),
    LatestHere,
    Latest,
}

impl Settings {
    pub fn resolve(options: Options, env: Env, terminal: Terminal) -> Result<Self, Failure> {
        let paths = Paths::from_env(&env).map_err(Failure::runtime)?;
        let root = resolve_root(options.root.as_deref())?;
        let session = pick_session(&options)?;
        let approval = pick_approval(&options)?;
        Ok(Self {
            env,
            paths,
            root,
            format: options.format.unwrap_or(Format::Text),
            session,
            allow_dangerous: options.allow_dangerous,
            agent: options.agent.clone(),
            trust: options.trust,
            terminal,
            flags: Flags {
                model: options.model,
                provider: options.provider,
                system_prompt: options.system_prompt,
                temperature: options.temperature,
                max_tokens: options.max_tokens,
                max_steps: options.max_steps,
                approval,
                ..Flags::default()
            },
        })
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

fn pick_session(options: &Options) -> Result<SessionPick, Failure> {
    match (&options.session, options.continue_last, options.no_save) {
        (Some(_), true, _) => Err(Failure::usage("--session and --continue each name a session; give one")),
        (Some(_), _, true) | (_, true, true) => {
            Err(Failure::usage("--no-save cannot go on with a saved session; leave one of them out"))
        }
        (Some(id), false, false) => Ok(SessionPick::Id(id.clone())),
        (None, true, false) => Ok(SessionPick::LatestHere),
        (None, false, true) => Ok(SessionPick::Unsaved),
        (None, false, false) => Ok(SessionPick::New),
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
