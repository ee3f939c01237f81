//! Who answers when the engine asks: the person at the terminal, or nobody. Only what is typed after the
//! question was drawn counts as an answer.

use std::path::Path;

use zdx_protocol::display::approval::{Answer, Question, View, question, scope_question};
use zdx_protocol::{ApprovalRequest, Command, Decision, GrantScope};

use super::editor::Editor;
use super::input::Entry;
use super::keys::{MARK_PASTES, Pressed, UNMARK_PASTES};
use crate::front::{dressed, offered};
use crate::pump::Stage;
use crate::settings::Settings;
use crate::signals::{Caught, Signals};
use crate::{style::Style, terminal};

/// A longer preview is looked at in an editor, not in a question.
const PREVIEW_LINES: usize = 40;

pub enum Person<'a> {
    Nobody,
    Typing(Typing<'a>),
}

/// A person, and what the questions need to be drawn.
pub struct Typing<'a> {
    editor: &'a mut Editor,
    style: Style,
    home: Option<&'a Path>,
}

impl<'a> Person<'a> {
    pub fn typing(editor: &'a mut Editor, settings: &'a Settings) -> Self {
        Self::Typing(Typing { editor, style: settings.terminal.style, home: settings.paths.home() })
    }

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
            Self::Typing(typing) => {
                let decision = tokio::select! {
                    caught = signals.next() => Err(caught),
                    decision = typing.decide(request, stage) => decision.ok_or(Caught::Interrupt),
                };
                if decision.is_err() {
                    stage.ask(&format!("{UNMARK_PASTES}\n"));
                }
                decision?
            }
        };
        Ok(Command::Answer { request: request.request, decision })
    }
}

impl Typing<'_> {
    /// The decision, or nothing when the person would rather stop the turn.
    async fn decide(&mut self, request: &ApprovalRequest, stage: &mut Stage) -> Option<Decision> {
        let view = View { columns: terminal::width(), lines: PREVIEW_LINES, home: self.home };
        let first = question(request, view);
        let mut current = first.clone();
        loop {
            match self.put(&current, view.columns, stage).await {
                Answer::AllowOnce => return Some(Decision::AllowOnce),
                Answer::Session => return Some(Decision::AllowAlways { scope: GrantScope::Session }),
                Answer::Project => return Some(Decision::AllowAlways { scope: GrantScope::Project }),
                Answer::Deny => return Some(Decision::Deny { word: None }),
                Answer::DenyWithWord => return self.word(stage).await,
                Answer::Always => current = scope_question(request, view)?,
                Answer::Back => current.clone_from(&first),
            }
        }
    }

    /// Draws the question and waits for a key that answers it. The keys are offered only when what was typed
    /// ahead has been thrown away: from then on everything counts.
    async fn put(&mut self, question: &Question, columns: usize, stage: &mut Stage) -> Answer {
        stage.ask(&dressed(question, self.style));
        stage.settle().await;
        // A terminal that cannot be listened to is gone, and so is the person.
        if self.editor.quiet.silence().await.is_err() {
            return Answer::Deny;
        }
        stage.ask(&format!("{MARK_PASTES}{}", offered(question, columns)));
        stage.settle().await;
        let (answer, echo) = loop {
            match self.editor.quiet.pressed().await {
                Ok(Pressed::Key(key)) => match question.answer(&key.to_string()) {
                    Some(answer) => break (answer, key),
                    None => continue,
                },
                Ok(Pressed::End) | Err(_) => break (Answer::Deny, 'n'),
            }
        };
        stage.ask(&format!("{UNMARK_PASTES}{echo}\n"));
        stage.settle().await;
        answer
    }

    async fn word(&mut self, stage: &mut Stage) -> Option<Decision> {
        stage.ask("what the model should know:\n");
        stage.settle().await;
        match self.editor.line().await {
            Entry::Line(word) => {
                Some(Decision::Deny { word: Some(word).filter(|word| !word.trim().is_empty()) })
            }
            Entry::End | Entry::Failed(_) => Some(Decision::Deny { word: None }),
            Entry::Interrupt => None,
        }
    }
}
