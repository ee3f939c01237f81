//! Who answers when the engine asks: the person at the terminal, or nobody. Only what is typed after the
//! question was drawn counts as an answer.

use zdx_protocol::{ApprovalRequest, Command, Decision, GrantScope};

use super::editor::Editor;
use super::input::Entry;
use crate::front::{grant, question};
use crate::pump::Stage;
use crate::signals::{Caught, Signals};
use crate::style::Style;

pub enum Person<'a> {
    Nobody,
    Typing { editor: &'a mut Editor, style: Style },
}

impl Person<'_> {
    /// The answer, or the signal that came instead.
    pub async fn answer(
        &mut self,
        request: &ApprovalRequest,
        stage: &mut Stage,
        signals: &mut Signals,
    ) -> Result<Command, Caught> {
        let decision = match self {
            // The engine does not ask when nobody is there; should it ever, silence must not pass for a yes.
            Self::Nobody => Decision::Deny { word: None },
            Self::Typing { editor, style } => {
                stage.ask(&question(request, *style));
                let decision = tokio::select! {
                    caught = signals.next() => Err(caught),
                    decision = decide(editor, request, stage) => decision.ok_or(Caught::Interrupt),
                };
                if decision.is_err() {
                    stage.ask("\n");
                }
                decision?
            }
        };
        Ok(Command::Answer { request: request.request, decision })
    }
}

/// The decision, or nothing when the person would rather stop the turn.
async fn decide(editor: &mut Editor, request: &ApprovalRequest, stage: &mut Stage) -> Option<Decision> {
    loop {
        match key(editor, stage).await? {
            b'y' => {
                stage.ask("yes\n");
                return Some(Decision::AllowOnce);
            }
            b'n' => {
                stage.ask("no\n");
                return Some(Decision::Deny { word: None });
            }
            b'a' if grant(request).is_some() => {
                stage.ask("always\nfor [s] this session or [p] this project: ");
                return scope(editor, stage).await.map(|scope| Decision::AllowAlways { scope });
            }
            b'e' => {
                stage.ask("no\nwhat the model should know:\n");
                stage.settle().await;
                return match editor.line().await {
                    Entry::Line(word) => {
                        Some(Decision::Deny { word: Some(word).filter(|word| !word.trim().is_empty()) })
                    }
                    Entry::Interrupt | Entry::End | Entry::Failed(_) => None,
                };
            }
            _ => {}
        }
    }
}

async fn scope(editor: &mut Editor, stage: &mut Stage) -> Option<GrantScope> {
    loop {
        match key(editor, stage).await? {
            b's' => {
                stage.ask("session\n");
                return Some(GrantScope::Session);
            }
            b'p' => {
                stage.ask("project\n");
                return Some(GrantScope::Project);
            }
            _ => {}
        }
    }
}

async fn key(editor: &Editor, stage: &mut Stage) -> Option<u8> {
    stage.settle().await;
    editor.quiet.forget_typed();
    editor.quiet.key().await.ok().map(|key| key.to_ascii_lowercase())
}
