//! How a session comes to be: folder, log, model, prompt and tools are put together once, then the engine runs.

mod announcement;
mod opened;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use zdx_guard::{Disk, PolicyContext, RuleError, Rules, locate};
use zdx_models::{Client, ModelError};
use zdx_protocol::redact::Redactor;
use zdx_protocol::{Approval, ErrorKind, Event, NoticeLevel, Transcript, slash};

use crate::acp::{AgentRegistry, Launch};
use crate::added_folders::{self, AddFolderError};
use crate::approvals::Approvals;
use crate::backend::Backend;
use crate::backend::acp::AcpBackend;
use crate::backend::native::{self, Limits, Native, Validation};
use crate::context::{self, PromptError};
use crate::engine::{CarriedChoices, Engine, Loan};
use crate::event_sink::EventSink;
use crate::grants::{GrantStore, Granted};
use crate::guard::{GuardSetup, guard};
use crate::history::file_changes;
use crate::logbook::Logbook;
use crate::models::{Chosen, ModelPicker};
use crate::persona::{self, Persona, PersonaError, Personas};
use crate::secrets::{self, SecretsError};
use crate::session::{Session, SessionSpec, SessionState};
use crate::session_check::SessionCheck;
use crate::session_policy::SessionPolicy;
use crate::setup::Setup;
use crate::subagent::Subagents;
use crate::work_tracker::WorkTracker;
pub(crate) use announcement::Announcement;
use opened::OpenedSession;
use zdx_config::Config;
use zdx_config::EffectiveConfig;
use zdx_config::library::{AgentLibrary, CommandLibrary, LibraryFolders, SkillLibrary};
use zdx_mcp::{ConnectMode, ServerEnvironment, ServerPlan, ServerSet};
use zdx_store::DiskCache;
use zdx_store::{SessionId, SessionLog, SessionOpenError};
use zdx_tools::shell::{Shell, ShellSettings};
use zdx_tools::{TodoList, ToolContext};
use zdx_workspace::ContentStore;
use zdx_workspace::workspace::Workspace;

/// What a session begins with.
pub(crate) struct Beginning {
    pub setup: Arc<Setup>,
    pub target: SessionTarget,
    pub configured: EffectiveConfig,
    pub events: mpsc::Sender<Event>,
    pub approvals: Approvals,
    /// The servers that run already, if any: they stay where the same ones are wanted.
    pub servers: Option<Arc<ServerSet>>,
    /// Who answers instead of a model; tests have one that follows a script.
    pub scripted: Option<Backend>,
}

/// The session to open, and the folder it is opened in.
pub(crate) struct SessionTarget {
    pub root: PathBuf,
    pub choice: SessionChoice,
    /// Set when the new session goes on with what the user chose in the open one.
    pub carried: Option<CarriedChoices>,
    /// What the user should know of the choice.
    pub notices: Vec<(NoticeLevel, String)>,
}

impl SessionTarget {
    pub(crate) fn of(root: PathBuf, choice: SessionChoice) -> Self {
        Self { root, choice, carried: None, notices: Vec::new() }
    }
}

pub(crate) enum SessionChoice {
    New,
    Existing(SessionId),
    Unsaved,
    /// One that was open until now.
    Handed(Box<Handed>),
}

/// A session that changes hands.
pub(crate) struct Handed {
    pub log: SessionLog,
    pub transcript: Transcript,
    /// What is told again of it.
    pub past: Vec<Event>,
    /// Holds its images in memory where it is not saved.
    pub content: Arc<ContentStore>,
}

/// A session that nobody has heard of yet.
pub(crate) struct Started {
    pub engine: Engine,
    pub announcement: Announcement,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error("cannot work in {}: {source}; give another folder with --root", path.display())]
    Root { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Rules(#[from] RuleError),
    #[error(transparent)]
    Agent(#[from] PersonaError),
    #[error("{0}; `--agent NAME` goes on with this session as another agent")]
    RecordedAgent(PersonaError),
    #[error(transparent)]
    Session(#[from] SessionOpenError),
    #[error(transparent)]
    Prompt(#[from] PromptError),
    #[error(transparent)]
    Secrets(#[from] SecretsError),
    #[error(transparent)]
    Folder(#[from] AddFolderError),
    #[error("{0}")]
    Backend(String),
}

impl StartError {
    pub(crate) fn kind(&self) -> ErrorKind {
        match self {
            Self::Model(_) => ErrorKind::Provider,
            Self::Session(_) => ErrorKind::Session,
            Self::Root { .. }
            | Self::Rules(_)
            | Self::Agent(_)
            | Self::RecordedAgent(_)
            | Self::Prompt(_)
            | Self::Secrets(_)
            | Self::Folder(_)
            | Self::Backend(_) => ErrorKind::Config,
        }
    }
}

/// Puts a session together. It does nothing before it is run.
pub(crate) async fn start(beginning: Beginning) -> Result<Started, StartError> {
    let Beginning { setup, target, mut configured, events, approvals, servers, scripted } = beginning;
    let SessionTarget { root, choice, carried, notices } = target;
    let workspace = Workspace::open(&root)
        .map(|workspace| workspace.with_home(setup.env.home()).with_locks_in(setup.paths.locks()))
        .map_err(|source| StartError::Root { path: root.clone(), source })?;
    let root = workspace.root().to_owned();
    let mut opened = OpenedSession::open(&setup, choice, &workspace)?;
    opened.notices.extend(notices);
    opened.warn(std::mem::take(&mut configured.resolved.notices));
    opened.warn(configured.notice().into_iter().collect());
    let config = Arc::new(configured.resolved.config.clone());
    let redactor = Arc::new(secrets::redactor(&config, &setup.env, &root)?);
    let (plan, warnings) = ServerPlan::new(&configured, &setup.env, &root);
    opened.warn(warnings);
    let client = Client::new(config.timeouts);
    let picker = Arc::new(ModelPicker::new(Arc::clone(&config), setup.env.clone())?);
    let system = system_prompt(&setup, &config, &root, &mut opened)?;
    let library = Library::load(&setup, &configured, &root, &mut opened);
    let tools = tool_context(&setup, &config, &redactor, workspace, &mut opened);
    let (mut policy, grants) = guarded(&setup, &config, &root, &mut opened)?;
    let preset = match setup.flags.approval {
        Some(_) => None,
        None => opened.preset(policy.approval),
    };
    if setup.person && !opened.handed && carried.is_none() {
        opened.warn_of_place(&root, setup.paths.home());
        opened.tell_allowed(&policy, &grants);
    }
    let added = added_folders::add_all(&setup.add_dirs, &tools.workspace, &policy, &grants)?;
    let rules = Rules::clone(&policy.rules);
    let personas = Personas { agents: library.agents, system, rules };
    let named = carried.as_ref().map(|carried| carried.agent.as_str()).or(setup.agent.as_deref());
    let remote = remote(&setup, &configured, &mut opened, carried.as_ref(), &root, &redactor)?;
    // Another agent has modes of its own under these names.
    let (named, recorded) = match &remote {
        Some(_) => (None, None),
        None => (named, opened.transcript.agent.as_deref()),
    };
    let persona = match (named, recorded) {
        (Some(name), _) => personas.primary(name)?,
        (None, Some(name)) => personas.primary(name).map_err(StartError::RecordedAgent)?,
        (None, None) => personas.primary(persona::DEFAULT)?,
    };
    policy.rules = Arc::clone(&persona.rules);
    let explicit_model = configured.explicit_model();
    let answers = match (scripted, remote) {
        (Some(scripted), _) => Answers::Other(scripted),
        (None, Some(remote)) => Answers::Other(remote),
        (None, None) => {
            let explicit = explicit_model.as_deref();
            let (chosen, loan) =
                choose_model(&picker, &client, &persona, &setup, &opened, explicit, carried.as_ref()).await?;
            Answers::Model(Box::new(chosen), loan)
        }
    };
    let lent = opened.lent(&library.skills);
    let servers = kept(servers, plan, &setup, &config, &root, &redactor);
    let check = match &answers {
        Answers::Other(_) => None,
        Answers::Model(..) => SessionCheck::choose(&configured, &tools.workspace, &grants, setup.person),
    };
    let work = WorkTracker::recall(&opened.transcript.checks, check.as_ref().map(|check| check.command()));
    let named = named.map(str::to_owned).filter(|name| carried.is_none() || name != persona::DEFAULT);
    let agent = named.filter(|agent| opened.transcript.agent.as_ref() != Some(agent));
    let spec = SessionSpec {
        config: Arc::clone(&config),
        resolved: configured.resolved,
        explicit_model,
        personas,
        skills: library.skills,
        commands: library.commands,
        servers,
        check: check.clone(),
        setup: Arc::clone(&setup),
    };
    let logbook = Logbook::beside(opened.spill_dir.as_deref(), &config.logs);
    let OpenedSession { log, transcript, notices, resumed, one_prompt, left, past, .. } = opened;
    let state = SessionState::new(&log, tools, work, Arc::new(persona.clone()));
    let policy = SessionPolicy::new(policy, lent, grants, approvals);
    preset.into_iter().for_each(|preset| policy.set_approval(preset));
    let events = EventSink::new(log, transcript, redactor, events, logbook);
    let session = Session::new(Arc::new(spec), state, policy, events);
    let subagents = Arc::new(Subagents::new(session.clone()));
    let registry = subagents.offered(&persona);
    let (backend, loan) = match answers {
        Answers::Other(backend) => (backend, None),
        Answers::Model(chosen, loan) => {
            let limits = limits(&setup, &config);
            let seed = native::Seed { config: Arc::clone(&config), client, picker, chosen: *chosen, limits };
            let validation =
                check.map(|check| Validation::new(check, &config, setup.paths.base().to_owned()));
            (Backend::Native(Box::new(Native::new(seed, &persona, &registry).with(validation))), loan)
        }
    };
    let announcement = Announcement { notices, resumed, one_prompt, left, past, agent, folders: added };
    let engine = Engine::new(session, backend, registry, subagents, loan);
    Ok(Started { engine, announcement })
}

/// Who is to answer, before there is anything to answer with.
enum Answers {
    Model(Box<Chosen>, Option<Loan>),
    Other(Backend),
}

/// Another agent in place of a model: the one that is asked for, else the one that this session was had with.
fn remote(
    setup: &Setup,
    configured: &EffectiveConfig,
    opened: &mut OpenedSession,
    carried: Option<&CarriedChoices>,
    root: &Path,
    redactor: &Arc<Redactor>,
) -> Result<Option<Backend>, StartError> {
    let before = &opened.transcript;
    let recorded = before.remote.as_ref().map(|remote| &remote.agent);
    let carried_on = carried.and_then(|carried| carried.remote.as_ref());
    let Some(name) = carried_on.or(setup.remote.as_ref()).or(recorded) else { return Ok(None) };
    let registry = AgentRegistry::read(configured, &setup.env, setup.paths.base());
    let agent = registry.and_then(|registry| registry.select(Some(name))).map_err(StartError::Backend)?;
    let launch = Launch {
        env: setup.env.clone(),
        root: root.to_owned(),
        supervisor: setup.executable.clone(),
        redactor: Arc::clone(redactor),
    };
    let model = carried.map(|carried| &carried.model).or(setup.flags.model.as_ref());
    let mode = carried.map(|carried| &carried.agent).or(setup.agent.as_ref()).filter(|mode| !mode.is_empty());
    let (model, mode) = (model.map(String::as_str), mode.map(String::as_str));
    let backend = AcpBackend::new(agent.command, launch, before, model, mode);
    opened.warn(agent.warnings);
    Ok(Some(Backend::Acp(Box::new(backend))))
}

/// The model, and whether it is the agent's own. An agent that is new to the session brings its model along, unless this
/// very command line names another; one that was at work before goes on with what was used then.
async fn choose_model(
    picker: &ModelPicker,
    client: &Client,
    persona: &Persona,
    setup: &Setup,
    opened: &OpenedSession,
    explicit: Option<&str>,
    carried: Option<&CarriedChoices>,
) -> Result<(Chosen, Option<Loan>), StartError> {
    let own = persona.model.as_deref().filter(|_| setup.flags.model.is_none());
    let before = opened.transcript.agent.as_deref().unwrap_or(persona::DEFAULT);
    let is_new = !opened.resumed || before != persona.name;
    let (explicit, recorded) = match carried {
        // Chosen later than what the command line says.
        Some(carried) => (None, Some(carried.model.as_str())),
        None => (own.filter(|_| is_new).or(explicit), opened.transcript.model.as_deref()),
    };
    let chosen = picker.pick(client, explicit, recorded).await?;
    if let Some(carried) = carried {
        // What came with the agent still leaves with it, if it could be had again.
        let is_same = picker.resolve(&carried.model, None).is_ok_and(|same| same == chosen);
        return Ok((chosen, carried.loan.clone().filter(|_| is_same)));
    }
    let in_use = Some(chosen.endpoint.provider.as_str());
    let is_own = own.and_then(|own| picker.resolve(own, in_use).ok()).is_some_and(|own| own == chosen);
    Ok((chosen, is_own.then_some(Loan { before: None })))
}

/// Servers outlive a session: whoever starts afresh need not wait for them again. Others than before are other servers.
fn kept(
    before: Option<Arc<ServerSet>>,
    plan: ServerPlan,
    setup: &Setup,
    config: &Config,
    root: &Path,
    redactor: &Arc<Redactor>,
) -> Arc<ServerSet> {
    if let Some(servers) = before.filter(|servers| *servers.plan() == plan) {
        return servers;
    }
    let executable = setup.executable.clone();
    let ground =
        ServerEnvironment::new(&setup.paths, &setup.env, config, root, executable, Arc::clone(redactor));
    ServerSet::start(plan, ground, ConnectMode::SESSION, setup.one_prompt)
}

fn system_prompt(
    setup: &Setup,
    config: &Config,
    root: &Path,
    opened: &mut OpenedSession,
) -> Result<String, StartError> {
    let project = context::load_project_context(&setup.paths, root, &config.instructions);
    let system = context::assemble(config, root, &project)?;
    opened.warn(project.notices);
    for file in &project.loaded {
        opened.tell(format!("loaded {}", file.display()));
    }
    Ok(system)
}

/// What markdown files teach a session.
struct Library {
    agents: AgentLibrary,
    skills: SkillLibrary,
    commands: CommandLibrary,
}

impl Library {
    fn load(setup: &Setup, configured: &EffectiveConfig, root: &Path, opened: &mut OpenedSession) -> Self {
        let config = &configured.resolved.config;
        let places = LibraryFolders::new(root, &setup.paths).trusting(configured.trusted());
        let (agents, told) = AgentLibrary::load(&places, &config.agent);
        opened.warn(told);
        let (skills, told) = SkillLibrary::load(&places, &config.skills);
        opened.warn(told);
        let (commands, told) = CommandLibrary::load(&places, &slash::names().collect::<Vec<_>>());
        opened.warn(told);
        Self { agents, skills, commands }
    }
}

fn tool_context(
    setup: &Setup,
    config: &Config,
    redactor: &Arc<Redactor>,
    workspace: Workspace,
    opened: &mut OpenedSession,
) -> ToolContext {
    let shell = Shell::new(ShellSettings {
        supervisor: setup.executable.clone(),
        env: setup.env.vars().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        env_pass: config.env.pass.clone(),
        spill_dir: opened.spill_dir.clone(),
        redactor: Arc::clone(redactor),
    });
    file_changes::recall(&opened.transcript, &workspace);
    let blobs = opened.journal.blobs().cloned();
    let content = opened.content.take();
    let content = content.unwrap_or_else(|| Arc::new(ContentStore::new(blobs, config.max_image_bytes)));
    ToolContext {
        workspace: Arc::new(
            workspace
                .with_journal(Arc::new(std::mem::take(&mut opened.journal)))
                .with_editor(setup.editor.clone()),
        ),
        shell: Arc::new(shell),
        todos: Arc::new(TodoList::new(opened.transcript.todos.clone())),
        content,
        timeout: config.tool_timeout,
    }
}

/// What every decision depends on, and what was granted before.
fn guarded(
    setup: &Setup,
    config: &Config,
    root: &Path,
    opened: &mut OpenedSession,
) -> Result<(PolicyContext, Granted), StartError> {
    let store = GrantStore::new(setup.paths.grants_file());
    let (mut policy, warnings) = guard(GuardSetup {
        config,
        root,
        env: &setup.env,
        base: setup.paths.base(),
        grants: &store,
        session_grants: opened.grants(root),
        default_approval: if setup.person { Approval::Balanced } else { Approval::Yolo },
        person: setup.person,
        allow_dangerous: setup.allow_dangerous,
    })?;
    opened.warn(warnings);
    policy.outputs = opened.spill_dir.as_deref().map(|folder| locate(&Disk, root, root, folder).path);
    Ok((policy, Granted::new(opened.grants(root), store)))
}

/// What servers said of their models, for a while.
fn limits(setup: &Setup, config: &Config) -> Limits {
    let ttl = Duration::from_secs(u64::from(config.cache.ttl_hours) * 3600);
    Limits::new(DiskCache::new(setup.paths.cache(config.cache.dir.as_deref()), ttl))
}
