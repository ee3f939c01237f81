//! Going back, going forth, branching off and looking back, in a chat.

use zdx_engine::history::summarize;
use zdx_engine::session::SessionId;
use zdx_protocol::{Command, EngineHandle, Event};

use super::Chat;
use crate::pump::unless_signalled;
use crate::settings::SessionPick;
use crate::signals::Signals;
use crate::start;

impl Chat<'_> {
    /// Sends a revert or a redo and shows what comes of it.
    pub(super) async fn go(&mut self, command: Command, engine: &mut EngineHandle, signals: &mut Signals) {
        // A closed channel shows itself with the next turn.
        let _ = engine.commands.send(command).await;
        while let Ok(Some(event)) = unless_signalled(signals, engine.events.recv()).await {
            self.stage.show(&event);
            if matches!(event, Event::Reverted { .. } | Event::Redone { .. } | Event::Error { .. }) {
                break;
            }
        }
        // The todo list may follow.
        tokio::task::yield_now().await;
        while let Ok(event) = engine.events.try_recv() {
            self.stage.show(&event);
        }
    }

    /// The session to go on with: a copy of this one, or of what was before a turn.
    pub(super) fn fork(&mut self, turn: Option<u32>) -> Option<SessionPick> {
        let id = self.saved_session()?;
        match self.settings.sessions().fork(id, turn) {
            Ok(fork) => Some(SessionPick::Id(fork.to_string())),
            Err(error) => {
                self.stage.fail(&error.to_string());
                None
            }
        }
    }

    pub(super) async fn summarize(&mut self, signals: &mut Signals) {
        let Some(id) = self.saved_session() else { return };
        let account = match start::account(self.settings, id) {
            Ok(account) => account,
            Err(failure) => return self.stage.fail(&failure.message().unwrap_or_default()),
        };
        let Ok(summary) = unless_signalled(signals, summarize(&account.digest, &account.asker)).await else {
            return self.stage.say("interrupted");
        };
        if let Some(why) = summary.fallback {
            self.stage.say(&format!("{why}; this summary is made from the session itself"));
        }
        self.stage.say(&summary.text);
    }

    /// The id of the session, if there is a file of it; else the user is told.
    fn saved_session(&mut self) -> Option<SessionId> {
        let saved = self.session.as_ref().filter(|session| session.saved);
        let Some(id) = saved.and_then(|session| session.id.parse().ok()) else {
            self.stage.fail("this session is not saved");
            return None;
        };
        if self.settings.sessions().find(&SessionId::to_string(&id)).is_err() {
            self.stage.fail("nothing was said yet in this session");
            return None;
        }
        Some(id)
    }
}
