//! One request: the text and the choices of each of its pages, and the result of a choice.

use std::path::Path;

use ratatui_core::text::Line;
use zdx_protocol::display::approval::{
    Answer, Part, Question, View, choice, preset_question, question, scope_question, wider_question,
    yolo_question,
};
use zdx_protocol::display::text::wrap;
use zdx_protocol::display::{diff, trust};
use zdx_protocol::{
    Action, Approval, ApprovalRequest, Danger, Decision, GrantScope, Origin, Preview, ReasonCode, RequestId,
    TrustRequest,
};

use super::Answered;
use crate::look::Look;
use crate::write::diff::{draw, draw_files};

/// Columns of a page whose text is not shown.
const WIDE: usize = 200;

#[derive(Clone, Debug)]
pub(super) enum Asked {
    Approval(Box<ApprovalRequest>),
    Trust(Box<TrustRequest>),
    /// The way into yolo that a person took himself.
    Yolo,
}

/// Where in a question somebody is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Page {
    First,
    Scope,
    Wider,
    Preset,
    Yolo,
    /// The field for the message that goes with a denial.
    Message,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Answer(Answer),
    Trust,
    NotNow,
    Leave,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) key: char,
    /// For where there is no room.
    pub(super) short: String,
    pub(super) long: String,
    pub(super) act: Act,
}

/// What a choice leads to.
pub(super) enum Step {
    To(Page),
    Answer(Answered),
    /// Taken back: nothing is sent.
    Close,
    Stay,
}

/// What is known beside the question itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scene<'a> {
    pub(super) home: Option<&'a Path>,
    pub(super) root: Option<&'a Path>,
    pub(super) approval: Option<Approval>,
}

impl<'a> Scene<'a> {
    fn view(self, columns: usize) -> View<'a> {
        View { columns, lines: diff::WHOLE, home: self.home, root: self.root, scrolls: true }
    }
}

/// Rows of a question, cleaned and no wider than asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Text {
    pub(super) rows: Vec<(Part, String)>,
}

impl Act {
    /// Whether it leads to more than this one call: a letter only marks it, and Enter confirms.
    pub(super) fn grants_more_than_this(self) -> bool {
        match self {
            Self::Trust => true,
            Self::NotNow | Self::Leave => false,
            Self::Answer(answer) => match answer {
                Answer::Always
                | Answer::Wider
                | Answer::AllEdits
                | Answer::AddFolder
                | Answer::Session
                | Answer::Project
                | Answer::Preset
                | Answer::Switch(_) => true,
                Answer::AllowOnce | Answer::Back | Answer::Deny | Answer::DenyWithWord | Answer::Whole => {
                    false
                }
            },
        }
    }
}

impl Asked {
    pub(super) fn request(&self) -> Option<RequestId> {
        match self {
            Self::Approval(request) => Some(request.request),
            Self::Trust(request) => Some(request.request),
            Self::Yolo => None,
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Approval(_) => "approval",
            Self::Trust(_) => "trust",
            Self::Yolo => "approval mode",
        }
    }

    /// The call of this very session that it is about.
    pub(super) fn call(&self) -> Option<&str> {
        match self {
            Self::Approval(request) => request.agent.is_none().then_some(request.id.as_str()),
            Self::Trust(_) | Self::Yolo => None,
        }
    }

    /// The call whose row it is about: what an agent of a task asks for stands in the task's.
    pub(super) fn row(&self) -> Option<&str> {
        match self {
            Self::Approval(request) => match (&request.agent, request.id.split_once('/')) {
                (Some(_), Some((task, _))) => Some(task),
                (Some(_), None) | (None, _) => Some(request.id.as_str()),
            },
            Self::Trust(_) | Self::Yolo => None,
        }
    }

    pub(super) fn is_about(&self, id: &str) -> bool {
        matches!(self, Self::Approval(request) if request.id == id)
    }

    /// The subagent that asks.
    pub(super) fn agent(&self) -> Option<&str> {
        match self {
            Self::Approval(request) => request.agent.as_deref(),
            Self::Trust(_) | Self::Yolo => None,
        }
    }

    /// The change that is asked about, whole and in colours.
    pub(super) fn change(&self, look: Look<'_>) -> Option<Vec<Line<'static>>> {
        let Self::Approval(request) = self else { return None };
        let text = request.action.diff(&request.preview)?;
        Some(match &request.preview {
            // Of several files, each below a line that names it.
            Preview::Text { .. } => draw_files(text, look, None),
            Preview::Change { .. } | Preview::Command { .. } | Preview::None => draw(text, look, None),
        })
    }

    /// Whether its end must have been on the screen before it can be allowed. An ordinary change of files is exempt:
    /// a long diff is read in part by choice, while the end of a long command can hide what it does.
    pub(super) fn must_be_read(&self) -> bool {
        match self {
            Self::Approval(request) => {
                request.danger == Danger::Confirm || !matches!(request.action, Action::Write { .. })
            }
            Self::Trust(_) => true,
            Self::Yolo => false,
        }
    }

    /// A change of one file in the workspace that is asked about because edits are: the change says it all.
    pub(super) fn is_everyday_edit(&self) -> bool {
        let Self::Approval(request) = self else { return false };
        let Action::Write { targets, .. } = &request.action else { return false };
        let inside = targets.iter().all(|target| target.inside);
        let everyday = |rule: &str| rule.ends_with("(built-in)");
        matches!(request.preview, Preview::Change { .. })
            && (request.danger, request.reason.code) == (Danger::Ask, ReasonCode::ApprovalRequired)
            && request.reason.rule.as_deref().is_none_or(everyday)
            && inside
            && request.agent.is_none()
    }

    pub(super) fn is_dangerous(&self) -> bool {
        match self {
            Self::Approval(request) => request.danger == Danger::Confirm,
            Self::Yolo => true,
            Self::Trust(_) => false,
        }
    }

    /// Whether a choice can let it happen: only after it was read.
    pub(super) fn allows(&self, act: Act) -> bool {
        match act {
            Act::Trust => true,
            Act::NotNow | Act::Leave => false,
            Act::Answer(answer) => match answer {
                Answer::AllowOnce
                | Answer::Always
                | Answer::Wider
                | Answer::AllEdits
                | Answer::AddFolder
                | Answer::Session
                | Answer::Project => true,
                Answer::Switch(mode) => self.may_run_in(mode),
                Answer::Preset | Answer::Back | Answer::Deny | Answer::DenyWithWord | Answer::Whole => false,
            },
        }
    }

    /// Whether it could run unasked in this approval mode, which is more permissive than the one it was asked in.
    fn may_run_in(&self, mode: Approval) -> bool {
        match (self, mode) {
            (Self::Trust(_) | Self::Yolo, _) | (Self::Approval(_), Approval::Paranoid) => false,
            (Self::Approval(_), Approval::Yolo) => true,
            (Self::Approval(request), Approval::Balanced) => request.approval != Some(Approval::Yolo),
        }
    }

    /// What Esc does on the first page.
    pub(super) fn way_out(&self) -> &'static str {
        match self {
            Self::Approval(request) => match &request.action {
                Action::Command { origin: Origin::User, .. } => "Esc: do not run it",
                _ => "Esc: no, and stop the turn",
            },
            Self::Trust(_) => "Esc: not now",
            Self::Yolo => "Esc: leave it as it is",
        }
    }

    pub(super) fn escape(&self) -> Step {
        match self {
            Self::Approval(_) => Step::Answer(Answered::Interrupt),
            Self::Trust(request) => Step::Answer(Answered::Trust { request: request.request, trust: false }),
            Self::Yolo => Step::Close,
        }
    }

    fn asked(&self, page: Page, view: View<'_>, scene: Scene<'_>) -> Option<Question> {
        match (self, page) {
            (Self::Yolo, _) | (_, Page::Yolo) => Some(yolo_question(scene.approval, view)),
            (Self::Approval(request), Page::First | Page::Message) => Some(question(request, view)),
            (Self::Approval(request), Page::Scope) => scope_question(request, view),
            (Self::Approval(request), Page::Wider) => wider_question(request, view),
            (Self::Approval(request), Page::Preset) => Some(preset_question(request, view)),
            (Self::Trust(_), _) => None,
        }
    }

    pub(super) fn text(&self, page: Page, columns: usize, scene: Scene<'_>) -> Text {
        if let Self::Trust(request) = self {
            return trust_text(request, columns, scene.home);
        }
        let Some(asked) = self.asked(page, scene.view(columns), scene) else { return Text::default() };
        // The choices say what they allow; on the page where one is confirmed it stands in full. The presets are choices too.
        let left_out = match (self, page) {
            (Self::Yolo, _) | (_, Page::Scope | Page::Wider | Page::Yolo) => None,
            (_, Page::First | Page::Message) => Some(Part::Grant),
            (_, Page::Preset) => Some(Part::Text),
        };
        let kept = asked.lines.into_iter().filter(|line| Some(line.part) != left_out);
        Text { rows: kept.map(|line| (line.part, line.text)).collect() }
    }

    pub(super) fn choices(&self, page: Page, scene: Scene<'_>) -> Vec<Choice> {
        if let Self::Trust(_) = self {
            return trust_choices();
        }
        // Without lines of a preview: only the keys are wanted.
        let view = View { lines: 0, ..scene.view(WIDE) };
        let keys = self.asked(page, view, scene).map(|asked| asked.keys).unwrap_or_default();
        let long = |answer: Answer, short: &str| match (self, page) {
            (
                Self::Approval(request),
                Page::First | Page::Scope | Page::Wider | Page::Preset | Page::Message,
            ) => choice(request, answer),
            (Self::Approval(_), Page::Yolo) | (Self::Yolo | Self::Trust(_), _) => match answer {
                Answer::Switch(_) => "yes, yolo from now on".to_owned(),
                _ => format!("no, {short}"),
            },
        };
        keys.into_iter()
            .filter(|key| key.answer != Answer::Whole)
            .map(|key| Choice {
                key: key.key,
                short: key.label.to_owned(),
                long: long(key.answer, key.label),
                act: Act::Answer(key.answer),
            })
            .collect()
    }

    /// The position of the choice that Enter takes when a page opens.
    pub(super) fn initial_choice(&self, page: Page, choices: &[Choice], scene: Scene<'_>) -> usize {
        let view = View { lines: 0, ..scene.view(WIDE) };
        let default = self.asked(page, view, scene).map_or(Act::NotNow, |asked| Act::Answer(asked.default));
        choices.iter().position(|choice| choice.act == default).unwrap_or_default()
    }

    pub(super) fn chosen(&self, page: Page, act: Act) -> Step {
        match (self, act) {
            (Self::Trust(request), Act::Trust) => trusted(request, true),
            (Self::Trust(request), Act::NotNow) => trusted(request, false),
            (_, Act::Leave) => Step::Answer(Answered::Leave),
            (Self::Approval(request), Act::Answer(answer)) => answered(request.request, page, answer),
            (Self::Yolo, Act::Answer(Answer::Switch(preset))) => Step::Answer(Answered::SetApproval(preset)),
            (Self::Yolo, Act::Answer(_)) => Step::Close,
            (Self::Trust(_), Act::Answer(_)) | (Self::Approval(_) | Self::Yolo, Act::Trust | Act::NotNow) => {
                Step::Stay
            }
        }
    }
}

fn trusted(request: &TrustRequest, trust: bool) -> Step {
    Step::Answer(Answered::Trust { request: request.request, trust })
}

fn answered(request: RequestId, page: Page, answer: Answer) -> Step {
    let wider = page == Page::Wider || matches!(answer, Answer::AllEdits | Answer::AddFolder);
    let always = |scope| Decision::AllowAlways { scope, wider };
    let decision = match answer {
        Answer::AllowOnce => Decision::AllowOnce,
        Answer::AllEdits | Answer::AddFolder | Answer::Session => always(GrantScope::Session),
        Answer::Project => always(GrantScope::Project),
        Answer::Deny => Decision::Deny { word: None },
        Answer::Always => return Step::To(Page::Scope),
        Answer::Wider => return Step::To(Page::Wider),
        Answer::Preset => return Step::To(Page::Preset),
        Answer::DenyWithWord => return Step::To(Page::Message),
        Answer::Switch(Approval::Yolo) if page != Page::Yolo => return Step::To(Page::Yolo),
        Answer::Switch(preset) => return Step::Answer(Answered::SetApproval(preset)),
        Answer::Back => return Step::To(before(page)),
        Answer::Whole => return Step::Stay,
    };
    Step::Answer(Answered::Decision { request, decision })
}

/// Where the way back leads.
pub(super) fn before(page: Page) -> Page {
    match page {
        Page::Yolo => Page::Preset,
        Page::First | Page::Scope | Page::Wider | Page::Preset | Page::Message => Page::First,
    }
}

fn trust_text(request: &TrustRequest, columns: usize, home: Option<&Path>) -> Text {
    const INDENT: usize = 2;
    let state = &request.state;
    let mut rows: Vec<(Part, String)> = Vec::new();
    rows.extend(wrap(&trust::title(state, home), columns).into_iter().map(|row| (Part::Title, row)));
    for want in trust::listed(&state.wants).lines() {
        let pieces = wrap(want.trim_start(), columns.saturating_sub(2 * INDENT));
        for (at, piece) in pieces.into_iter().enumerate() {
            let indent = if at == 0 { INDENT } else { 2 * INDENT };
            rows.push((Part::Text, format!("{:indent$}{piece}", "")));
        }
    }
    rows.extend(wrap(trust::UNTIL_THEN, columns).into_iter().map(|row| (Part::Note, row)));
    Text { rows }
}

fn trust_choices() -> Vec<Choice> {
    let choice = |key, short: &str, long: &str, act| Choice {
        key,
        short: short.to_owned(),
        long: long.to_owned(),
        act,
    };
    vec![
        choice('t', "trust", "trust these files as they are", Act::Trust),
        choice('n', "not now", "not now", Act::NotNow),
        choice('q', "leave", "leave zdx", Act::Leave),
    ]
}
