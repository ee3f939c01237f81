//! One conversation: what it is made from, what changes in it, what it may do, and where its events go. A subagent is a
//! child session. A session runs no turn and has no backend: those are the engine's.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;
use zdx_protocol::facts::SKILL;
use zdx_protocol::{Event, Level};

use crate::event_sink::EventSink;
use crate::persona::{Persona, Personas};
use crate::session_check::SessionCheck;
use crate::session_policy::SessionPolicy;
use crate::setup::Setup;
use crate::skill_tool::SkillTool;
use crate::work_tracker::WorkTracker;
use zdx_config::library::{CommandLibrary, SkillLibrary};
use zdx_config::{Config, ResolvedConfig};
use zdx_mcp::ServerSet;
use zdx_store::{SessionId, SessionLog, SessionStore};
use zdx_tools::registry::ToolRegistry;
use zdx_tools::{TodoList, ToolContext};
use zdx_workspace::Workspace;

/// The handles of one conversation. Cheap to clone; clones share one state.
#[derive(Clone)]
pub(crate) struct Session {
    pub spec: Arc<SessionSpec>,
    pub state: SessionState,
    pub policy: SessionPolicy,
    pub events: EventSink,
}

/// Everything decided when a session is opened. Subagents share their parent's.
pub(crate) struct SessionSpec {
    pub setup: Arc<Setup>,
    pub config: Arc<Config>,
    /// The same configuration with the source of every value.
    pub resolved: ResolvedConfig,
    /// The model named on the command line or in the environment.
    pub explicit_model: Option<String>,
    pub personas: Personas,
    pub skills: SkillLibrary,
    pub commands: CommandLibrary,
    pub servers: Arc<ServerSet>,
    pub check: Option<Arc<SessionCheck>>,
}

/// Everything that changes while a session is open, apart from its transcript, which [`EventSink`] folds. The workspace
/// of `tools` holds the root, the checkpoints and the read tracking.
#[derive(Clone)]
pub(crate) struct SessionState {
    id: SessionId,
    is_saved: bool,
    pub tools: ToolContext,
    /// Shared with subagents: what they change is checked with the turn they work for.
    pub work: WorkTracker,
    persona: Arc<Mutex<Arc<Persona>>>,
}

impl SessionState {
    pub(crate) fn new(
        log: &SessionLog,
        tools: ToolContext,
        work: WorkTracker,
        persona: Arc<Persona>,
    ) -> Self {
        let persona = Arc::new(Mutex::new(persona));
        Self { id: log.id(), is_saved: log.path().is_some(), tools, work, persona }
    }
}

impl Session {
    /// Connects the parts of a session that was just put together: changes of files go into its log.
    pub(crate) fn new(
        spec: Arc<SessionSpec>,
        state: SessionState,
        policy: SessionPolicy,
        events: EventSink,
    ) -> Self {
        state.tools.workspace.journal().record_to(events.recorder());
        Self { spec, state, policy, events }
    }

    /// Opens the session of a subagent: a log, files read and todos of its own, under the parent's mode and grants. `call`
    /// is the parent's call that it works for; `events` is read by the parent.
    pub(crate) fn child(
        &self,
        call: &str,
        persona: Arc<Persona>,
        events: mpsc::Sender<Event>,
    ) -> io::Result<Self> {
        let id = SessionId::random();
        let store = self.is_saved().then(|| self.store());
        let blobs = store.as_ref().map(|store| store.blobs(id));
        let content = Arc::new(self.state.tools.content.for_child(blobs.clone()));
        let workspace = Arc::new(self.workspace().for_child(call, blobs)?);
        let log = store.map_or_else(|| SessionLog::disabled(id), |store| store.create(id));
        let todos = Arc::new(TodoList::default());
        let tools = ToolContext { workspace, todos, content, ..self.state.tools.clone() };
        let policy = self.policy.under(Arc::clone(&persona.rules));
        let state = SessionState::new(&log, tools, self.state.work.clone(), persona);
        Ok(Self::new(Arc::clone(&self.spec), state, policy, self.events.child(log, events)))
    }

    pub(crate) fn id(&self) -> SessionId {
        self.state.id
    }

    pub(crate) fn is_saved(&self) -> bool {
        self.state.is_saved
    }

    /// Returns the id under which the session is found on disk; None when it is not saved.
    pub(crate) fn saved_id(&self) -> Option<SessionId> {
        self.is_saved().then_some(self.state.id)
    }

    pub(crate) fn workspace(&self) -> &Arc<Workspace> {
        &self.state.tools.workspace
    }

    /// The folder of the session, canonical.
    pub(crate) fn root(&self) -> &Path {
        self.workspace().root()
    }

    pub(crate) fn store(&self) -> SessionStore {
        SessionStore::new(self.spec.setup.paths.sessions())
    }

    /// The agent at work.
    pub(crate) fn persona(&self) -> Arc<Persona> {
        Arc::clone(&self.state.persona.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts another agent to work, under its rules.
    pub(crate) fn set_persona(&self, persona: Arc<Persona>) {
        self.policy.set_rules(Arc::clone(&persona.rules));
        *self.state.persona.lock().unwrap_or_else(PoisonError::into_inner) = persona;
    }

    /// The tools that an agent is offered in this session: the standard ones, the skills its rules do not deny, and those of
    /// MCP servers.
    pub(crate) fn tools_for(&self, persona: &Persona) -> ToolRegistry {
        let mut registry = ToolRegistry::standard();
        let rules = &persona.rules;
        let allowed = |skill: &str| rules.named(SKILL.permission.key, &[skill]).level != Level::Deny;
        if let Some(skill) = SkillTool::new(&self.spec.skills, allowed, self.policy.lent().clone()) {
            registry.add(Arc::new(skill));
        }
        if !self.spec.servers.list().is_empty() {
            registry.extend(Arc::new(persona.shelf(&self.spec.servers)));
        }
        registry
    }
}
