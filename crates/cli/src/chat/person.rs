//! Who answers when the engine asks: the person at the terminal, or nobody. Only what is typed after the
//! question was drawn counts as an answer.

use std::path::Path;

use zdx_protocol::display::approval::{Answer, Question, View, question, scope_question};
use zdx_protocol::{ApprovalRequest, Command, Decision, GrantScope};

use super::editor::Editor;
use super::input::Entry;
use crate::front::dressed;
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
                    stage.ask("\n");
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
            match self.put(&current, view.columns, stage).await? {
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

    /// Draws the question and waits for a key that answers it.
    async fn put(&mut self, question: &Question, columns: usize, stage: &mut Stage) -> Option<Answer> {
        stage.ask(&dressed(question, columns, self.style));
        stage.settle().await;
        self.editor.quiet.forget_typed();
        loop {
            let key = self.editor.quiet.key().await.ok()?;
            let typed = char::from(key).to_string();
            if let Some(answer) = question.answer(&typed) {
                stage.ask(&format!("{typed}\n"));
                stage.settle().await;
                return Some(answer);
            }
        }
    }

    async fn word(&mut self, stage: &mut Stage) -> Option<Decision> {
        stage.ask("what the model should know:\n");
        stage.settle().await;
        match self.editor.line().await {
            Entry::Line(word) => {
                Some(Decision::Deny { word: Some(word).filter(|word| !word.trim().is_empty()) })
            }
            Entry::Interrupt | Entry::End | Entry::Failed(_) => None,
        }
    }
}
