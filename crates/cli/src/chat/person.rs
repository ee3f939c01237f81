//! Who answers when the engine asks: the person at the terminal, or nobody. Only what is typed after the
//! question was drawn counts as an answer.

use std::path::Path;

use zdx_protocol::display::approval::{
    Answer, Question, View, preset_question, question, scope_question, wider_question,
};
use zdx_protocol::display::diff;
use zdx_protocol::{ApprovalRequest, Command, Danger, Decision, GrantScope};

use super::editor::Editor;
use super::input::{Input, Lines, Typed};
use super::keys::{MARK_PASTES, Pressed, UNMARK_PASTES};
use crate::args::Format;
use crate::front::{dressed, offered};
use crate::pump::{Answers, Nobody, Stage};
use crate::settings::Settings;
use crate::signals::{Caught, Signals};
use crate::{style::Style, terminal};

/// Of a preview, before somebody asks to see all of it.
const PREVIEW_LINES: usize = 40;
/// Of what is dangerous more is shown at once.
const DANGEROUS_LINES: usize = 400;

/// How a question is answered, where a line is not what is waited for.
const ONE_KEY: &str = "one key, no Enter:";

pub enum Person<'a> {
    Nobody,
    Typing(Typing<'a>),
}

/// A person, and what the questions need to be drawn.
pub struct Typing<'a> {
    input: &'a mut Input,
    style: Style,
    home: Option<&'a Path>,
    root: &'a Path,
}

/// Whether a person sits there, who sees a question and can answer it.
pub fn is_there(input: &Input, settings: &Settings) -> bool {
    let terminal = settings.terminal;
    input.is_editor() || (terminal.stdin && terminal.stderr && settings.format == Format::Text)
}

impl<'a> Person<'a> {
    pub fn at(input: &'a mut Input, settings: &'a Settings) -> Self {
        if !is_there(input, settings) {
            return Self::Nobody;
        }
        let (style, home) = (settings.terminal.style, settings.home());
        Self::Typing(Typing { input, style, home, root: &settings.root })
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
                    let unmark = if typing.input.is_editor() { UNMARK_PASTES } else { "" };
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
                Answer::AllEdits => break Decision::AllowAlways { scope: GrantScope::Session, wider: true },
                Answer::Deny => break Decision::Deny { word: None },
                Answer::DenyWithWord => break self.word(stage).await?,
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

    /// Draws the question and waits for what answers it. The keys are offered only when what was typed ahead has
    /// been put aside for the next prompt: from then on everything counts.
    async fn put(&mut self, question: &Question, columns: usize, stage: &mut Stage) -> Answer {
        if let Input::Editor(editor) = &mut *self.input {
            editor.set_aside().await;
        }
        stage.ask(&dressed(question, self.style));
        match &mut *self.input {
            Input::Editor(editor) => {
                by_key(editor, question, &offered(question, ONE_KEY, columns), stage).await
            }
            Input::Lines(lines) => by_line(lines, question, &offered(question, "", columns), stage).await,
        }
    }

    /// A no with a reason; nothing when the person would rather stop the turn.
    async fn word(&mut self, stage: &mut Stage) -> Option<Decision> {
        stage.ask("what the model should know:\n");
        let mut empty = false;
        loop {
            stage.settle().await;
            let entry = match &mut *self.input {
                Input::Editor(editor) => editor.line().await,
                Input::Lines(lines) => lines.answer().await,
            };
            match entry {
                // An Enter that belongs to the key before it is no answer; two of them are.
                Typed::Line(word) if word.trim().is_empty() && !empty => {
                    empty = true;
                    stage.ask("what the model should know? Enter once more denies without a word:\n");
                }
                Typed::Line(word) => {
                    return Some(Decision::Deny { word: Some(word).filter(|word| !word.trim().is_empty()) });
                }
                // There is nothing to complete in it: dropped, the question is answered with nothing.
                Typed::Complete(_) => {}
                Typed::End | Typed::Failed(_) => return Some(Decision::Deny { word: None }),
                Typed::Interrupt => return None,
            }
        }
    }
}

async fn by_key(editor: &mut Editor, question: &Question, keys: &str, stage: &mut Stage) -> Answer {
    stage.settle().await;
    // A terminal that cannot be listened to is gone, and so is the person.
    if editor.hush(|key| question.answer(&key.to_string()).is_some()).await.is_err() {
        return Answer::Deny;
    }
    stage.ask(&format!("{MARK_PASTES}{keys}"));
    stage.settle().await;
    let (answer, echo) = loop {
        match editor.quiet.pressed().await {
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

/// On a terminal that knows only lines, a key and Enter.
async fn by_line(lines: &mut Lines, question: &Question, keys: &str, stage: &mut Stage) -> Answer {
    stage.settle().await;
    lines.set_aside().await;
    loop {
        stage.ask(keys);
        stage.settle().await;
        match lines.answer().await {
            Typed::Line(typed) => {
                if let Some(answer) = question.answer(&typed) {
                    return answer;
                }
            }
            Typed::Interrupt | Typed::End | Typed::Failed(_) | Typed::Complete(_) => return Answer::Deny,
        }
    }
}
