//! How a session comes to be: folder, log, model, prompt and tools are put together once, then the engine runs.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use zdx_models::{Client, ModelError};
use zdx_protocol::redact::Redactor;
use zdx_protocol::{
    Approval, Arguments, EngineHandle, Event, Level, NoticeLevel, Part, SessionInfo, Transcript,
};

use crate::backend::Backend;
use crate::backend::native::Native;
use crate::cache::Cache;
use crate::config::Config;
use crate::context::{self, PromptError};
use crate::emit::Emitter;
use crate::engine::Engine;
use crate::guard::{GuardSetup, guard};
use crate::history::Journal;
use crate::library::{Agents, Commands, Places, Skills};
use crate::logbook::Logbook;
use crate::models::ModelPicker;
use crate::paths::{Env, Paths};
use crate::persona::{self, PersonaError, Personas};
use crate::policy::grants::{GrantStore, Granted};
use crate::policy::trust::TrustedFiles;
use crate::policy::{Disk, RuleError, Rules};
use crate::session::{OpenError, SessionId, SessionLog, SessionStore};
use crate::subagent::Subagents;
use crate::tools::registry::Registry;
use crate::tools::shell::{Shell, ShellSettings};
use crate::tools::skill::{LoadedSkills, SkillTool};
use crate::tools::task::Task;
use crate::tools::workspace::Workspace;
use crate::tools::{Todos, ToolContext};
use crate::turn::Approvals;
use crate::turn::validate::Validation;

/// Everything a front end decides before a session starts.
pub struct Setup {
    pub config: Arc<Config>,
    pub paths: Paths,
    pub env: Env,
    pub root: PathBuf,
    pub session: SessionChoice,
    /// Named on the command line or in the environment: wins over what a resumed session used.
    pub explicit_model: Option<String>,
    /// `--agent`.
    pub agent: Option<String>,
    /// Which of the project's own files may do more than inform, with what content.
    pub trusted: TrustedFiles,
    /// Somebody can answer approvals.
    pub person: bool,
    pub allow_dangerous: bool,
    /// Knows what must not be written; see `secrets::redactor`.
    pub redactor: Arc<Redactor>,
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
    Rules(#[from] RuleError),
    #[error(transparent)]
    Agent(#[from] PersonaError),
    #[error(transparent)]
    Session(#[from] OpenError),
    #[error(transparent)]
    Prompt(#[from] PromptError),
}

/// Names of commands that front ends answer themselves.
pub const RESERVED: [&str; 24] = [
    "help",
    "new",
    "model",
    "models",
    "agent",
    "agents",
    "approval",
    "compact",
    "context",
    "todo",
    "fork",
    "revert",
    "redo",
    "summarize",
    "sessions",
    "skills",
    "commands",
    "export",
    "exit",
    "quit",
    "trust",
    "policy",
    "config",
    "handoff",
];

/// Starts a session. Its first event is `SessionStarted`; notices of the start follow.
pub async fn start(setup: Setup) -> Result<EngineHandle, StartError> {
    let workspace = Workspace::open(&setup.root)
        .map(|workspace| workspace.with_home(setup.env.home()))
        .map_err(|source| StartError::Root { path: setup.root.clone(), source })?;
    let root = workspace.root().to_owned();
    let mut opened = open_session(&setup)?;
    let workspace = workspace.with_journal(Arc::new(opened.journal));
    let client = Client::new(setup.config.timeouts);
    let picker = Arc::new(ModelPicker::new(Arc::clone(&setup.config), setup.env.clone())?);
    let chosen =
        picker.pick(&client, setup.explicit_model.as_deref(), opened.transcript.model.as_deref()).await?;
    let project = context::load_project_context(&setup.paths, &root, &setup.config.instructions);
    let system = context::assemble(&setup.config, &root, &project)?;
    opened.notices.extend(project.notices.into_iter().map(|text| (NoticeLevel::Warning, text)));
    for file in &project.loaded {
        opened.notices.push((NoticeLevel::Info, format!("loaded {}", file.display())));
    }

    let places = Places::new(&root, &setup.paths).trusting(setup.trusted);
    let (agents, told) = Agents::load(&places, &setup.config.agent);
    opened.notices.extend(told.into_iter().map(|text| (NoticeLevel::Warning, text)));
    let (skills, told) = Skills::load(&places, &setup.config.skills);
    opened.notices.extend(told.into_iter().map(|text| (NoticeLevel::Warning, text)));
    let (commands_known, told) = Commands::load(&places, &RESERVED);
    opened.notices.extend(told.into_iter().map(|text| (NoticeLevel::Warning, text)));

    let shell = Shell::new(ShellSettings {
        supervisor: setup.executable.clone(),
        env: setup.env.vars().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        env_pass: setup.config.env.pass.clone(),
        spill_dir: opened.spill_dir.clone(),
        redactor: Arc::clone(&setup.redactor),
    });
    let tools = ToolContext {
        workspace: Arc::new(workspace),
        shell: Arc::new(shell),
        todos: Arc::new(Todos::new(opened.transcript.todos.clone())),
        timeout: setup.config.tool_timeout,
    };
    let store = GrantStore::new(setup.paths.grants_file());
    let (mut policy, warnings) = guard(GuardSetup {
        config: &setup.config,
        root: &root,
        home: setup.env.home(),
        grants: &store,
        session_grants: session_grants(&opened.transcript, &root),
        default_approval: if setup.person { Approval::Balanced } else { Approval::Yolo },
        person: setup.person,
        allow_dangerous: setup.allow_dangerous,
    })?;
    opened.notices.extend(warnings.into_iter().map(|text| (NoticeLevel::Warning, text)));
    let grants = Granted::new(session_grants(&opened.transcript, &root), store);
    let rules = Rules::clone(&policy.rules);
    let personas = Arc::new(Personas { agents, system, rules });
    let name = setup.agent.as_deref().or(opened.transcript.agent.as_deref()).unwrap_or(persona::DEFAULT);
    let persona = personas.primary(name)?;
    policy.rules = Arc::clone(&persona.rules);

    let (handle, end) = EngineHandle::pair();
    let approvals = Approvals::default();
    let mut registry = Registry::standard();
    policy.outputs =
        opened.spill_dir.as_deref().map(|folder| crate::policy::locate(&Disk, &root, &root, folder).path);
    let loaded = loaded_before(&opened.transcript, &skills);
    policy.skills = loaded.clone();
    let allowed = |skill: &str| policy.rules.named("skill", &[skill]).level != Level::Deny;
    if let Some(skill) = SkillTool::new(&skills, allowed, loaded.clone()) {
        registry.add(Arc::new(skill));
    }
    let subagents = Arc::new(Subagents {
        config: Arc::clone(&setup.config),
        client: client.clone(),
        picker: Arc::clone(&picker),
        personas: Arc::clone(&personas),
        store: opened.log.path().is_some().then(|| SessionStore::new(setup.paths.sessions())),
        grants: grants.clone(),
        approvals: approvals.clone(),
        redactor: Arc::clone(&setup.redactor),
        events: end.events.clone(),
        parent: opened.log.id(),
        registry: registry.clone(),
        tools: tools.clone(),
        now: Mutex::default(),
    });
    let allowed = |agent: &str| policy.rules.named("task", &[agent]).level != Level::Deny;
    if let Some(task) = Task::new(Arc::clone(&subagents), allowed) {
        registry.add(Arc::new(task));
    }

    let model = chosen.endpoint.label();
    let changed = opened.resumed && opened.transcript.model.as_deref() != Some(model.as_str());
    let info = SessionInfo {
        session: opened.log.id().to_string(),
        root: root.clone(),
        model: model.clone(),
        resumed: opened.resumed,
        saved: opened.log.path().is_some(),
        parent: opened.transcript.parent.clone(),
    };
    let mut native = Native::new(&setup.config, client, chosen, &persona, &registry);
    let ttl = Duration::from_secs(u64::from(setup.config.cache.ttl_hours) * 3600);
    native.cache = Some(Cache::new(setup.paths.cache(setup.config.cache.dir.as_deref()), ttl));
    native.validation = Validation::choose(&setup.config, &root, setup.person);
    let announce = Announcement {
        info,
        notices: opened.notices,
        model: changed.then_some(model),
        agent: setup.agent.filter(|agent| opened.transcript.agent.as_deref() != Some(agent)),
    };
    let engine = Engine {
        emit: Emitter::new(opened.log, opened.transcript, setup.redactor, end.events)
            .with_logbook(Logbook::beside(opened.spill_dir.as_deref(), &setup.config.logs)),
        backend: Backend::Native(Box::new(native)),
        registry,
        tools,
        policy,
        grants,
        approvals,
        picker,
        personas,
        persona,
        subagents,
        commands_known,
        skills,
        commands: end.commands,
    };
    tokio::spawn(announce.then_run(engine));
    Ok(handle)
}

/// The skills that a resumed session has in its context.
fn loaded_before(transcript: &Transcript, skills: &Skills) -> LoadedSkills {
    let loaded = LoadedSkills::default();
    let parts = transcript.messages().iter().flat_map(|message| &message.parts);
    for part in parts {
        if let Part::ToolUse { name, arguments, .. } = part
            && name == "skill"
            && let Arguments::Object(input) = arguments.unpack()
            && let Some(skill) =
                input.get("name").and_then(|name| name.as_str()).and_then(|name| skills.get(name))
        {
            loaded.add(skill);
        }
    }
    loaded
}

/// What a front end hears before anything else.
struct Announcement {
    info: SessionInfo,
    notices: Vec<(NoticeLevel, String)>,
    /// Another model or agent than the session used before.
    model: Option<String>,
    agent: Option<String>,
}

impl Announcement {
    async fn then_run(self, mut engine: Engine) {
        engine.emit.emit(Event::SessionStarted(self.info)).await;
        for (level, message) in self.notices {
            engine.emit.notice(level, message).await;
        }
        if let Some(agent) = self.agent {
            engine.emit.emit(Event::AgentChanged { agent }).await;
        }
        if let Some(model) = self.model {
            engine.emit.emit(Event::ModelChanged { model }).await;
        }
        engine.run().await;
    }
}

struct OpenedSession {
    log: SessionLog,
    transcript: Transcript,
    notices: Vec<(NoticeLevel, String)>,
    spill_dir: Option<PathBuf>,
    journal: Journal,
    resumed: bool,
}

/// What was allowed in one folder is not allowed in another one that the session is taken to.
fn session_grants<'a>(transcript: &'a Transcript, root: &Path) -> &'a [String] {
    if transcript.root.as_deref() == Some(root) { &transcript.grants } else { &[] }
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
