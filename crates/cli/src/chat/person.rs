//! Answers approval requests of the engine: the person at the terminal, or nobody.

use std::path::Path;

use zdx_protocol::display::approval::{
    Answer, Question, View, preset_question, question, scope_question, wider_question,
};
use zdx_protocol::display::diff;
use zdx_protocol::{ApprovalRequest, Command, Danger, Decision, GrantScope};

use super::answer::{InputEnded, read_choice, read_line};
use super::input::Input;
use super::keyboard::ChatKeyboard;
use super::tty::UNMARK_PASTES;
use crate::front::{dressed, offered};
use crate::pump::{Answers, Nobody, Stage};
use crate::settings::Settings;
use crate::signals::{Caught, Signals};
use crate::{style::Style, terminal};

/// Of a preview, before somebody asks to see all of it.
const PREVIEW_LINES: usize = 40;
/// Of what is dangerous more is shown at once.
const DANGEROUS_LINES: usize = 400;

pub enum Person<'a> {
    Nobody,
    Typing(Typing<'a>),
}

/// A person, and what the questions need to be drawn.
pub struct Typing<'a> {
    keyboard: &'a mut ChatKeyboard,
    style: Style,
    home: Option<&'a Path>,
    root: &'a Path,
}

/// Whether a person sits there, who sees a question and can answer it.
pub fn is_there(input: &Input) -> bool {
    matches!(input, Input::Editor(_) | Input::Keyboard(_))
}

impl<'a> Person<'a> {
    pub fn at(input: &'a mut Input, settings: &'a Settings) -> Self {
        let Some(keyboard) = input.keyboard() else { return Self::Nobody };
        let (style, home) = (settings.terminal.style, settings.home());
        Self::Typing(Typing { keyboard, style, home, root: &settings.root })
    }
}

impl Answers for Person<'_> {
    async fn answer(
        &mut self,
        request: &ApprovalRequest,
        stage: &mut Stage,
        signals: &mut Signals,
    ) -> Result<Command, Caught> {
        match self {
            Self::Nobody => Nobody.answer(request, stage, signals).await,
            Self::Typing(typing) => {
                let command = tokio::select! {
                    caught = signals.next() => Err(caught),
                    command = typing.decide(request, stage) => command.ok_or(Caught::Interrupt),
                };
                if command.is_err() {
                    let unmark = if typing.keyboard.quiet.is_smart() { UNMARK_PASTES } else { "" };
                    stage.ask(&format!("{unmark}\n"));
                }
                command
            }
        }
    }
}

impl Typing<'_> {
    /// What was answered, or nothing when the person would rather stop the turn.
    async fn decide(&mut self, request: &ApprovalRequest, stage: &mut Stage) -> Option<Command> {
        let (home, root) = (self.home, Some(self.root));
        let lines = match request.danger {
            Danger::Ask => PREVIEW_LINES,
            Danger::Confirm => DANGEROUS_LINES,
        };
        let view = View { columns: terminal::width(), lines, home, root, scrolls: false };
        let mut first = question(request, view);
        let mut current = first.clone();
        let mut wider = false;
        let decision = loop {
            match self.put(&current, view.columns, stage).await {
                Answer::AllowOnce => break Decision::AllowOnce,
                Answer::Session => break Decision::AllowAlways { scope: GrantScope::Session, wider },
                Answer::Project => break Decision::AllowAlways { scope: GrantScope::Project, wider },
                Answer::AllEdits | Answer::AddFolder => {
                    break Decision::AllowAlways { scope: GrantScope::Session, wider: true };
                }
                Answer::Deny => break Decision::Deny { word: None },
                Answer::DenyWithWord => break self.denial(stage).await,
                // The engine withdraws the question and judges anew: no answer is needed.
                Answer::Switch(preset) => return Some(Command::SetApproval(preset)),
                Answer::Always => (current, wider) = (scope_question(request, view)?, false),
                Answer::Wider => (current, wider) = (wider_question(request, view)?, true),
                Answer::Preset => current = preset_question(request, view),
                Answer::Back => current.clone_from(&first),
                Answer::Whole => {
                    first = question(request, View { lines: diff::WHOLE, ..view });
                    current.clone_from(&first);
                }
            }
        };
        Some(Command::Answer { request: request.request, decision })
    }

    /// Prints the request and reads the answer.
    async fn put(&mut self, question: &Question, columns: usize, stage: &mut Stage) -> Answer {
        self.keyboard.set_aside().await;
        stage.ask(&dressed(question, self.style));
        let parse = |line: &str| question.answer(line);
        let answer = read_choice(self.keyboard, &offered(question, columns), parse, stage).await;
        answer.unwrap_or(Answer::Deny)
    }

    /// A denial with a reason.
    async fn denial(&mut self, stage: &mut Stage) -> Decision {
        stage.ask("Reason for the model (optional, Enter to skip):\n");
        let word = match read_line(self.keyboard, "> ", "", stage).await {
            Ok(line) => {
                self.keyboard.ahead.keep(&line.rest);
                Some(line.text)
            }
            Err(InputEnded) => None,
        };
        Decision::Deny { word: word.filter(|word| !word.trim().is_empty()) }
    }
}
