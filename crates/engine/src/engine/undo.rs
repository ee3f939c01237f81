//! Taking turns back, and taking that back: files first, then the conversation.

use std::sync::Arc;

use zdx_protocol::{Event, NoticeLevel, Prompt};

use super::{Engine, RepeatableTurn};
use crate::history::left_behind;
use crate::history::revert::{RevertError, RevertPlan, Way};
use zdx_workspace::{ContentVersion, Workspace};

impl Engine {
    pub(super) async fn undo(&self, way: Way) -> Result<(), RevertError> {
        let event = self.go(way).await?;
        self.note_seen(&event);
        if let Event::Reverted { files, .. } | Event::Redone { files, .. } = &event
            && !files.is_empty()
        {
            self.session.state.work.note_possible_change();
        }
        self.session.events.emit(event).await;
        self.session.events.sync().await;
        let remote_agent = self.backend.info().remote_agent.clone();
        if let Some(agent) = remote_agent {
            let message = format!("{agent} still knows what was taken back: only zdx forgets it");
            self.session.events.notice(NoticeLevel::Warning, message).await;
        }
        let todos = self.session.events.transcript().todos.clone();
        if self.session.state.tools.todos.items() != todos {
            self.session.state.tools.todos.reset(todos.clone());
            self.session.events.emit(Event::TodosChanged { items: todos, draft: false }).await;
        }
        Ok(())
    }

    /// Makes the last turn undone and gives what began it. Where it cannot be undone, the same is asked once more.
    pub(super) async fn take_back_last(&self) -> Result<RepeatableTurn, RevertError> {
        let (turns, last, checked) = {
            let transcript = self.session.events.transcript();
            (transcript.turns, transcript.last_turn(), transcript.last_turn_began_with_check())
        };
        let known = self.repeatable.as_ref().filter(|(turn, _)| *turn == turns).map(|(_, turn)| turn.clone());
        let recorded = last.map(|last| match checked {
            true => RepeatableTurn::Check,
            // The prompt of another run may have come through a pipe, so nothing in it triggers a command.
            false => RepeatableTurn::Prompt(Prompt { text: last.prompt, ..Prompt::default() }),
        });
        let turn = known.or(recorded).ok_or(if turns == 0 {
            RevertError::NoTurn
        } else {
            RevertError::FoldedAway(turns)
        })?;
        match self.undo(Way::Back(None)).await {
            Ok(()) => {}
            Err(error @ (RevertError::NotSaved | RevertError::FoldedAway(_))) => {
                let message = format!("asked again as a new turn: {error}");
                self.session.events.notice(NoticeLevel::Info, message).await;
            }
            Err(error) => return Err(error),
        }
        Ok(turn)
    }

    /// Content that zdx put there did not come unseen.
    fn note_seen(&self, event: &Event) {
        let (Event::Reverted { files, .. } | Event::Redone { files, .. }) = event else { return };
        for file in files {
            let after = ContentVersion::of_state(file.after.as_ref());
            self.session.workspace().ledger().note_seen(&file.path, after);
        }
    }

    async fn go(&self, way: Way) -> Result<Event, RevertError> {
        let plan = RevertPlan::new(&self.session.events.transcript(), way)?;
        let saved = self.session.saved_id().map(|id| (self.session.store(), id));
        let blobs = self.session.workspace().journal().blobs().ok_or(RevertError::NotSaved)?.clone();
        let tools = Arc::clone(self.session.workspace());
        let root = tools.root().to_owned();
        // A workspace of its own: going back is no change that a tool made.
        let work = tokio::task::spawn_blocking(move || {
            let workspace = Workspace::open(&root)
                .map(|workspace| workspace.with_locks_of(&tools))
                .map_err(|error| RevertError::Failed { path: root.clone(), why: error.to_string() })?;
            let left = saved
                .zip(plan.turn())
                .and_then(|((store, id), turn)| left_behind(&store, id, turn, &workspace));
            plan.leaving(left).carry_out(&workspace, &blobs)
        });
        match work.await {
            Ok(done) => done,
            Err(_) => Err(RevertError::Failed {
                path: self.session.root().to_owned(),
                why: "the work broke down; this is a defect of zdx".to_owned(),
            }),
        }
    }
}
