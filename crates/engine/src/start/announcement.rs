//! What a front end hears of a session before anything else.

use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use zdx_protocol::display::format;
use zdx_protocol::{Approval, ContextUsage, Event, NoticeLevel, SessionInfo, record};

use crate::engine::Engine;
use crate::history::file_changes;
use crate::session::Session;

/// Less is no time to speak of.
const LONG: SignedDuration = SignedDuration::from_hours(1);

pub(crate) struct Announcement {
    pub(super) notices: Vec<(NoticeLevel, String)>,
    /// The agent that was asked for, if the session used another one before.
    pub(super) agent: Option<String>,
    /// Folders of this command line that the session did not know.
    pub(super) folders: Vec<PathBuf>,
    pub(super) resumed: bool,
    pub(super) one_prompt: bool,
    /// When it was left, where it was resumed.
    pub(super) left: Option<Timestamp>,
    /// What happened before, as far as it is told again.
    pub(super) past: Vec<Event>,
}

/// Where a session stands before its first event.
struct StartingPoint {
    info: SessionInfo,
    /// Set when the model is another one than the session used before.
    model: Option<String>,
    /// The approval mode that its file knows.
    recorded: Option<Approval>,
    /// How full the context of what happened before is.
    usage: Option<ContextUsage>,
}

impl Announcement {
    pub(crate) async fn announce(self, engine: &Engine) {
        let session = engine.session();
        let StartingPoint { info, model, recorded, usage } = self.starting_point(engine);
        session.events.emit(Event::SessionStarted(info)).await;
        for event in self.past {
            session.events.emit(Event::Replayed { event: Box::new(event) }).await;
        }
        if let Some(left) = self.left.filter(|_| session.spec.setup.person) {
            tell_since(left, session).await;
        }
        if let Some(usage) = usage {
            session.events.emit(Event::ContextUsage(usage)).await;
        }
        for (level, message) in self.notices {
            session.events.notice(level, message).await;
        }
        for path in self.folders {
            session.events.emit(Event::FolderAdded { path }).await;
        }
        // One that was chosen in the session before: it is this one's from here on.
        if let Some(approval) = session.policy.chosen().filter(|chosen| recorded != Some(*chosen)) {
            session.events.emit(Event::ApprovalChanged { approval }).await;
        }
        if let Some(agent) = self.agent {
            session.events.emit(Event::AgentChanged { agent }).await;
        }
        if let Some(model) = model {
            session.events.emit(Event::ModelChanged { model }).await;
        }
    }

    fn starting_point(&self, engine: &Engine) -> StartingPoint {
        let (session, backend) = (engine.session(), engine.backend().info());
        let persona = session.persona();
        let transcript = session.events.transcript();
        let model = backend.model.clone();
        let changed = self.resumed && transcript.model.as_deref() != Some(model.as_str());
        let info = SessionInfo {
            session: session.id().to_string(),
            root: session.root().to_owned(),
            model: model.clone(),
            agent: backend.modes.as_ref().map_or(&persona.name, |modes| &modes.current).clone(),
            approval: session.policy.approval(),
            context_limit: backend.context.limit(),
            resumed: self.resumed,
            saved: session.is_saved(),
            parent: transcript.parent.clone(),
            task: transcript.task.clone(),
            one_prompt: self.one_prompt,
            last: self.resumed.then(|| transcript.last_turn()).flatten(),
        };
        StartingPoint {
            info,
            model: changed.then_some(model),
            recorded: transcript.approval,
            usage: self.resumed.then(|| backend.context.usage(transcript.size())).flatten(),
        }
    }
}

/// Who comes back is told how long that was, and which files are no longer as tools left them.
async fn tell_since(left: Timestamp, session: &Session) {
    let now = record::now();
    let long = now.duration_since(left) >= LONG;
    let ago = long.then(|| format::ago(left, now));
    let changed = file_changes::summary(&session.changed_since().await, session.root());
    let parts: Vec<String> = ago.into_iter().chain(changed).collect();
    if !parts.is_empty() {
        session.events.notice(NoticeLevel::Info, format!("resumed · {}", parts.join(" · "))).await;
    }
}
