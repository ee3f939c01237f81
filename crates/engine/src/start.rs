//! How a session comes to be: folder, log, model, prompt and tools are put together once, then the engine runs.

use std::path::PathBuf;
use std::sync::Arc;

use zdx_models::{Client, ModelError};
use zdx_protocol::{Approval, EngineHandle, Event, NoticeLevel, SessionInfo, Transcript};

use crate::backend::Backend;
use crate::backend::native::Native;
use crate::config::Config;
use crate::context::budget::Budget;
use crate::context::{self, PromptError};
use crate::emit::Emitter;
use crate::engine::Engine;
use crate::history::Journal;
use crate::models::ModelPicker;
use crate::paths::{Env, Paths};
use crate::policy::PolicyContext;
use crate::session::{OpenError, SessionId, SessionLog, SessionStore};
use crate::tools::registry::Registry;
use crate::tools::shell::{Shell, ShellSettings};
use crate::tools::workspace::Workspace;
use crate::tools::{Todos, ToolContext};

/// Everything a front end decides before a session starts.
pub struct Setup {
    pub config: Arc<Config>,
    pub paths: Paths,
    pub env: Env,
    pub root: PathBuf,
    pub session: SessionChoice,
    /// Named on the command line or in the environment: wins over what a resumed session used.
    pub explicit_model: Option<String>,
    /// Somebody can answer approvals.
    pub person: bool,
    pub allow_dangerous: bool,
    /// This program, re-executed to supervise commands.
    pub executable: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionChoice {
    New,
    Existing(SessionId),
    Unsaved,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot work in {}: {source}; give another folder with --root", path.display())]
    Root { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Session(#[from] OpenError),
    #[error(transparent)]
    Prompt(#[from] PromptError),
}

/// Starts a session. Its first event is `SessionStarted`; notices of the start follow.
pub async fn start(setup: Setup) -> Result<EngineHandle, StartError> {
    let workspace = Workspace::open(&setup.root)
        .map(|workspace| workspace.with_home(setup.env.home()))
        .map_err(|source| StartError::Root { path: setup.root.clone(), source })?;
    let root = workspace.root().to_owned();
    let mut opened = open_session(&setup)?;
    let workspace = workspace.with_journal(Arc::new(opened.journal));
    let client = Client::new(setup.config.timeouts);
    let picker = ModelPicker::new(Arc::clone(&setup.config), setup.env.clone())?;
    let chosen =
        picker.pick(&client, setup.explicit_model.as_deref(), opened.transcript.model.as_deref()).await?;
    let project = context::load_project_context(&setup.paths, &root, &setup.config.instructions);
    let system = context::assemble(&setup.config, &root, &project)?;
    opened.notices.extend(project.notices.into_iter().map(|text| (NoticeLevel::Warning, text)));
    for file in &project.loaded {
        opened.notices.push((NoticeLevel::Info, format!("loaded {}", file.display())));
    }

    let registry = Registry::standard();
    let shell = Shell::new(ShellSettings {
        supervisor: setup.executable.clone(),
        env: setup.env.vars().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        env_pass: setup.config.env.pass.clone(),
        spill_dir: opened.spill_dir,
    });
    let model = chosen.endpoint.label();
    let changed = opened.resumed && opened.transcript.model.as_deref() != Some(model.as_str());
    let info = SessionInfo {
        session: opened.log.id().to_string(),
        root: root.clone(),
        model: model.clone(),
        resumed: opened.resumed,
        saved: opened.log.path().is_some(),
        parent: None,
    };
    let native = Native {
        budget: Budget::new(&setup.config, &chosen),
        config: Arc::clone(&setup.config),
        client,
        endpoint: chosen.endpoint,
        system,
        tools: registry.specs(),
    };
    let todos = Arc::new(Todos::new(opened.transcript.todos.clone()));
    let (handle, end) = EngineHandle::pair();
    let approval =
        setup.config.approval.unwrap_or(if setup.person { Approval::Balanced } else { Approval::Yolo });
    let engine = Engine {
        emit: Emitter::new(opened.log, opened.transcript, end.events),
        backend: Backend::Native(Box::new(native)),
        registry,
        tools: ToolContext {
            workspace: Arc::new(workspace),
            shell: Arc::new(shell),
            todos,
            timeout: setup.config.tool_timeout,
        },
        policy: PolicyContext::new(approval),
        picker,
        commands: end.commands,
    };
    tokio::spawn(announce_and_run(engine, info, opened.notices, changed.then_some(model)));
    Ok(handle)
}

async fn announce_and_run(
    mut engine: Engine,
    info: SessionInfo,
    notices: Vec<(NoticeLevel, String)>,
    model_change: Option<String>,
) {
    engine.emit.emit(Event::SessionStarted(info)).await;
    for (level, message) in notices {
        engine.emit.notice(level, message).await;
    }
    if let Some(model) = model_change {
        engine.emit.emit(Event::ModelChanged { model }).await;
    }
    engine.run().await;
}

struct OpenedSession {
    log: SessionLog,
    transcript: Transcript,
    notices: Vec<(NoticeLevel, String)>,
    spill_dir: Option<PathBuf>,
    journal: Journal,
    resumed: bool,
}

fn open_session(setup: &Setup) -> Result<OpenedSession, StartError> {
    let store = SessionStore::new(setup.paths.sessions());
    let fresh = |log: SessionLog| OpenedSession {
        spill_dir: log.path().is_some().then(|| store.companion_dir(log.id())),
        journal: log.path().map_or_else(Journal::default, |_| Journal::new(store.blobs(log.id()))),
        log,
        transcript: Transcript::default(),
        notices: Vec::new(),
        resumed: false,
    };
    match &setup.session {
        SessionChoice::New => Ok(fresh(store.create(SessionId::random()))),
        SessionChoice::Unsaved => Ok(fresh(SessionLog::disabled(SessionId::random()))),
        SessionChoice::Existing(id) => {
            let opened = store.open(*id)?;
            Ok(OpenedSession {
                spill_dir: Some(store.companion_dir(*id)),
                journal: Journal::new(store.blobs(*id)),
                log: opened.log,
                transcript: opened.transcript,
                notices: opened.notices.into_iter().map(|text| (NoticeLevel::Warning, text)).collect(),
                resumed: true,
            })
        }
    }
}
