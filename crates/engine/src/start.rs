//! How a session comes to be: folder, log, model, prompt and tools are put together once, then the engine runs.

mod announcement;
mod opened;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use zdx_models::{Client, ModelError};
use zdx_protocol::redact::Redactor;
use zdx_protocol::{Approval, EngineHandle, Level};

use crate::backend::Backend;
use crate::backend::native::Native;
use crate::cache::Cache;
use crate::config::Config;
use crate::context::{self, PromptError};
use crate::emit::Emitter;
use crate::engine::Engine;
use crate::guard::{GuardSetup, guard};
use crate::library::{Agents, Commands, Places, Skills};
use crate::logbook::Logbook;
use crate::models::{Chosen, ModelPicker};
use crate::paths::{Env, Paths};
use crate::persona::{self, Persona, PersonaError, Personas};
use crate::policy::grants::{GrantStore, Granted};
use crate::policy::trust::TrustedFiles;
use crate::policy::{Disk, PolicyContext, RuleError, Rules};
use crate::session::{OpenError, SessionId, SessionStore};
use crate::subagent::Subagents;
use crate::tools::registry::Registry;
use crate::tools::shell::{Shell, ShellSettings};
use crate::tools::skill::SkillTool;
use crate::tools::task::Task;
use crate::tools::workspace::Workspace;
use crate::tools::{Todos, ToolContext};
use crate::turn::Approvals;
use crate::turn::validate::Validation;
use announcement::Announcement;
use opened::OpenedSession;

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
    let mut opened = OpenedSession::open(&setup)?;
    opened.warn(idle_servers(&setup.config).into_iter().collect());
    let client = Client::new(setup.config.timeouts);
    let picker = Arc::new(ModelPicker::new(Arc::clone(&setup.config), setup.env.clone())?);
    let chosen =
        picker.pick(&client, setup.explicit_model.as_deref(), opened.transcript.model.as_deref()).await?;
    let system = system_prompt(&setup, &root, &mut opened)?;
    let library = Library::load(&setup, &root, &mut opened);
    let tools = tool_context(&setup, workspace, &mut opened);
    let (mut policy, grants) = guarded(&setup, &root, &mut opened)?;
    let rules = Rules::clone(&policy.rules);
    let personas = Arc::new(Personas { agents: library.agents, system, rules });
    let name = setup.agent.as_deref().or(opened.transcript.agent.as_deref()).unwrap_or(persona::DEFAULT);
    let persona = personas.primary(name)?;
    policy.rules = Arc::clone(&persona.rules);
    policy.skills = opened.loaded_skills(&library.skills);

    let (handle, end) = EngineHandle::pair();
    let approvals = Approvals::default();
    let mut registry = Registry::standard();
    let allowed = |skill: &str| policy.rules.named("skill", &[skill]).level != Level::Deny;
    if let Some(skill) = SkillTool::new(&library.skills, allowed, policy.skills.clone()) {
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
        denied: AtomicU32::default(),
    });
    let allowed = |agent: &str| policy.rules.named("task", &[agent]).level != Level::Deny;
    if let Some(task) = Task::new(Arc::clone(&subagents), allowed) {
        registry.add(Arc::new(task));
    }

    let announcement =
        Announcement::new(&mut opened, root.clone(), chosen.endpoint.label(), setup.agent.clone());
    let native = native(&setup, client, chosen, &persona, &registry, &root);
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
        commands_known: library.commands,
        skills: library.skills,
        commands: end.commands,
    };
    tokio::spawn(announcement.then_run(engine));
    Ok(handle)
}

/// Nothing starts MCP servers yet; whoever configured one must not wait for its tools.
fn idle_servers(config: &Config) -> Option<String> {
    let enabled = config.mcp.iter().filter(|(_, server)| server["enabled"] != false);
    let names: Vec<&str> = enabled.map(|(name, _)| name.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!("MCP servers are configured ({}), but this version does not start any", names.join(", "))
    })
}

fn system_prompt(setup: &Setup, root: &Path, opened: &mut OpenedSession) -> Result<String, StartError> {
    let project = context::load_project_context(&setup.paths, root, &setup.config.instructions);
    let system = context::assemble(&setup.config, root, &project)?;
    opened.warn(project.notices);
    for file in &project.loaded {
        opened.tell(format!("loaded {}", file.display()));
    }
    Ok(system)
}

/// What markdown files teach a session.
struct Library {
    agents: Agents,
    skills: Skills,
    commands: Commands,
}

impl Library {
    fn load(setup: &Setup, root: &Path, opened: &mut OpenedSession) -> Self {
        let places = Places::new(root, &setup.paths).trusting(setup.trusted.clone());
        let (agents, told) = Agents::load(&places, &setup.config.agent);
        opened.warn(told);
        let (skills, told) = Skills::load(&places, &setup.config.skills);
        opened.warn(told);
        let (commands, told) = Commands::load(&places, &RESERVED);
        opened.warn(told);
        Self { agents, skills, commands }
    }
}

fn tool_context(setup: &Setup, workspace: Workspace, opened: &mut OpenedSession) -> ToolContext {
    let shell = Shell::new(ShellSettings {
        supervisor: setup.executable.clone(),
        env: setup.env.vars().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        env_pass: setup.config.env.pass.clone(),
        spill_dir: opened.spill_dir.clone(),
        redactor: Arc::clone(&setup.redactor),
    });
    ToolContext {
        workspace: Arc::new(workspace.with_journal(Arc::new(std::mem::take(&mut opened.journal)))),
        shell: Arc::new(shell),
        todos: Arc::new(Todos::new(opened.transcript.todos.clone())),
        timeout: setup.config.tool_timeout,
    }
}

/// What every decision depends on, and what was granted before.
fn guarded(
    setup: &Setup,
    root: &Path,
    opened: &mut OpenedSession,
) -> Result<(PolicyContext, Granted), StartError> {
    let store = GrantStore::new(setup.paths.grants_file());
    let (mut policy, warnings) = guard(GuardSetup {
        config: &setup.config,
        root,
        home: setup.env.home(),
        base: setup.paths.base(),
        grants: &store,
        session_grants: opened.grants(root),
        default_approval: if setup.person { Approval::Balanced } else { Approval::Yolo },
        person: setup.person,
        allow_dangerous: setup.allow_dangerous,
    })?;
    opened.warn(warnings);
    policy.outputs =
        opened.spill_dir.as_deref().map(|folder| crate::policy::locate(&Disk, root, root, folder).path);
    Ok((policy, Granted::new(opened.grants(root), store)))
}

fn native(
    setup: &Setup,
    client: Client,
    chosen: Chosen,
    persona: &Persona,
    registry: &Registry,
    root: &Path,
) -> Native {
    let mut native = Native::new(&setup.config, client, chosen, persona, registry);
    let ttl = Duration::from_secs(u64::from(setup.config.cache.ttl_hours) * 3600);
    native.cache = Some(Cache::new(setup.paths.cache(setup.config.cache.dir.as_deref()), ttl));
    native.validation = Validation::choose(&setup.config, root, setup.person);
    native
}
