//! What a front end hears of a session before anything else.

use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use zdx_guard::PolicyContext;
use zdx_protocol::display::format;
use zdx_protocol::{Approval, ContextUsage, Event, NoticeLevel, SessionInfo, record};

use super::opened::OpenedSession;
use crate::backend::BackendInfo;
use crate::engine::Engine;
use crate::history::file_changes;
use crate::persona::Persona;

/// Less is no time to speak of.
const LONG: SignedDuration = SignedDuration::from_hours(1);

pub(crate) struct Announcement {
    info: SessionInfo,
    notices: Vec<(NoticeLevel, String)>,
    /// Another model or agent than the session used before.
    model: Option<String>,
    agent: Option<String>,
    /// Folders of this command line that the session did not know.
    folders: Vec<PathBuf>,
    /// The preset that its file knows.
    recorded: Option<Approval>,
    /// When it was left, where it was resumed.
    left: Option<Timestamp>,
    /// What happened before, as far as it is told again.
    past: Vec<Event>,
    /// How full the context of what happened before is.
    usage: Option<ContextUsage>,
}

impl Announcement {
    pub(crate) fn new(
        opened: &mut OpenedSession,
        named: Option<String>,
        persona: &Persona,
        policy: &PolicyContext,
        backend: &BackendInfo,
    ) -> Self {
        let model = backend.model.clone();
        let changed = opened.resumed && opened.transcript.model.as_deref() != Some(model.as_str());
        let info = SessionInfo {
            session: opened.log.id().to_string(),
            root: policy.root.clone(),
            model: model.clone(),
            agent: backend.modes.as_ref().map_or(&persona.name, |modes| &modes.current).clone(),
            approval: policy.approval,
            context_limit: backend.context.limit(),
            resumed: opened.resumed,
            saved: opened.log.path().is_some(),
            parent: opened.transcript.parent.clone(),
            task: opened.transcript.task.clone(),
            one_prompt: opened.one_prompt,
            last: opened.resumed.then(|| opened.transcript.last_turn()).flatten(),
        };
        Self {
            info,
            notices: std::mem::take(&mut opened.notices),
            model: changed.then_some(model),
            agent: named.filter(|agent| opened.transcript.agent.as_ref() != Some(agent)),
            folders: Vec::new(),
            recorded: opened.transcript.approval,
            left: opened.left,
            past: std::mem::take(&mut opened.past),
            usage: opened.resumed.then(|| backend.context.usage(opened.transcript.size())).flatten(),
        }
    }

    pub(crate) fn with_folders(self, folders: Vec<PathBuf>) -> Self {
        Self { folders, ..self }
    }

    pub(crate) async fn announce(self, engine: &Engine) {
        // A session that goes on keeps the preset that was chosen in it.
        let info = SessionInfo { approval: engine.approval(), ..self.info };
        engine.emit().emit(Event::SessionStarted(info)).await;
        for event in self.past {
            engine.emit().emit(Event::Replayed { event: Box::new(event) }).await;
        }
        if let Some(left) = self.left.filter(|_| engine.queries().setup.person) {
            tell_since(left, engine).await;
        }
        if let Some(usage) = self.usage {
            engine.emit().emit(Event::ContextUsage(usage)).await;
        }
        for (level, message) in self.notices {
            engine.emit().notice(level, message).await;
        }
        for path in self.folders {
            engine.emit().emit(Event::FolderAdded { path }).await;
        }
        // One that was chosen in the session before: it is this one's from here on.
        if let Some(approval) = engine.chosen_preset().filter(|chosen| self.recorded != Some(*chosen)) {
            engine.emit().emit(Event::ApprovalChanged { approval }).await;
        }
        if let Some(agent) = self.agent {
            engine.emit().emit(Event::AgentChanged { agent }).await;
        }
        if let Some(model) = self.model {
            engine.emit().emit(Event::ModelChanged { model }).await;
        }
    }
}

/// Who comes back is told how long that was, and which files are no longer as tools left them.
async fn tell_since(left: Timestamp, engine: &Engine) {
    let (now, queries) = (record::now(), engine.queries());
    let long = now.duration_since(left) >= LONG;
    let ago = long.then(|| format::ago(left, now));
    let changed = file_changes::summary(&queries.changed_since().await, &queries.root);
    let parts: Vec<String> = ago.into_iter().chain(changed).collect();
    if !parts.is_empty() {
        engine.emit().notice(NoticeLevel::Info, format!("resumed · {}", parts.join(" · "))).await;
    }
}
