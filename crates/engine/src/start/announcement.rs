//! What a front end hears of a session before anything else.

use std::path::PathBuf;

use zdx_protocol::{Event, NoticeLevel, SessionInfo};

use super::opened::OpenedSession;
use crate::engine::Engine;

pub struct Announcement {
    info: SessionInfo,
    notices: Vec<(NoticeLevel, String)>,
    /// Another model or agent than the session used before.
    model: Option<String>,
    agent: Option<String>,
}

impl Announcement {
    pub fn new(opened: &mut OpenedSession, root: PathBuf, model: String, agent: Option<String>) -> Self {
        let changed = opened.resumed && opened.transcript.model.as_deref() != Some(model.as_str());
        let info = SessionInfo {
            session: opened.log.id().to_string(),
            root,
            model: model.clone(),
            resumed: opened.resumed,
            saved: opened.log.path().is_some(),
            parent: opened.transcript.parent.clone(),
            last: opened.resumed.then(|| opened.transcript.last_turn()).flatten(),
        };
        Self {
            info,
            notices: std::mem::take(&mut opened.notices),
            model: changed.then_some(model),
            agent: agent.filter(|agent| opened.transcript.agent.as_ref() != Some(agent)),
        }
    }

    pub async fn then_run(self, mut engine: Engine) {
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
