//! Requests to the user above the composer: approvals, trust, the switch to yolo; and lists to pick from. The wording is
//! `zdx_protocol::display`'s; `focus` decides which keys answer.

mod field;
mod focus;
mod front;
pub(crate) mod items;
mod picker;
mod request;
mod sheet;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Instant;

use zdx_protocol::{Approval, ApprovalRequest, Decision, Event, RequestId, TrustRequest};

use crate::key::{Key, KeyCode};
use crate::look::{Drawn, Look};
use front::Front;
use request::{Asked, Page, Scene, Step};
use sheet::Sheet;

pub(crate) use focus::KeyFocus;
pub(crate) use picker::{Item, Picked, Picker};

/// What a person said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    Decision {
        request: RequestId,
        decision: Decision,
    },
    Trust {
        request: RequestId,
        trust: bool,
    },
    SetApproval(Approval),
    /// No, and the turn is to stop.
    Interrupt,
    /// Zdx is to end.
    Leave,
}

/// The questions that wait, the first one in view. A new one never takes the place of that one.
#[derive(Debug, Default)]
pub(crate) struct Dialogs {
    home: Option<PathBuf>,
    root: Option<PathBuf>,
    approval: Option<Approval>,
    waiting: VecDeque<Asked>,
    /// How the first one stands; nothing as long as it was never shown.
    front: Option<Front>,
    /// Of those that came since nothing waited, how many are answered.
    answered: usize,
    /// The calls that the model asked for together: one is asked about after the other.
    batch: Vec<String>,
    /// Of those one is over: the next that is asked for begins another batch.
    begun: bool,
    /// A call that is judged anew by another preset, and how far it was read.
    read_to: Option<(String, usize)>,
    /// The last key or paste.
    last_key: Option<Instant>,
    /// The last one that the request did not claim.
    last_typed: Option<Instant>,
    unsent_message: Option<String>,
}

impl Dialogs {
    pub(crate) fn new(home: Option<PathBuf>) -> Self {
        Self { home, ..Self::default() }
    }

    /// Takes from the engine's events what concerns questions; all others are passed over.
    pub(crate) fn apply(&mut self, event: &Event) {
        match event {
            Event::SessionStarted(info) => {
                self.root = Some(info.root.clone());
                self.approval = Some(info.approval);
            }
            Event::ApprovalChanged { approval } => self.approval = Some(*approval),
            Event::ToolRequested { id, parent: None, .. } => {
                if std::mem::take(&mut self.begun) {
                    self.batch.clear();
                }
                self.batch.push(id.clone());
            }
            Event::ToolFinished { id, .. } => self.begun |= self.batch.contains(id),
            Event::TurnFinished(_) => self.begun = true,
            Event::ApprovalRequested(request) => self.approval(request.clone()),
            Event::ApprovalWithdrawn { request, .. } | Event::ApprovalResolved { request, .. } => {
                self.withdrawn(*request);
            }
            Event::TrustRequested(request) => self.trust(request.clone()),
            Event::TrustResolved { request, .. } => {
                self.remove(|asked| matches!(asked, Asked::Trust(trust) if trust.request == *request));
            }
            _ => {}
        }
    }

    pub(crate) fn approval(&mut self, request: ApprovalRequest) {
        let asked = Asked::Approval(Box::new(request));
        // In the order of the rows that they are about; but what is in view stays there, and so does what is about no row.
        let first = usize::from(self.front.is_some());
        let before = |other: &Asked| match (self.row_of(other), self.row_of(&asked)) {
            (Some(other), Some(row)) => other <= row,
            (None, _) | (_, None) => true,
        };
        let at = self.waiting.iter().skip(first).rposition(before).map_or(first, |last| first + last + 1);
        self.waiting.insert(at.min(self.waiting.len()), asked);
    }

    /// Where the row of the call stands that it is about, among those that were asked for together.
    fn row_of(&self, asked: &Asked) -> Option<usize> {
        let row = asked.row()?;
        self.batch.iter().position(|call| call == row)
    }

    /// It stands no longer.
    pub(crate) fn withdrawn(&mut self, request: RequestId) {
        self.remove(|asked| matches!(asked, Asked::Approval(_)) && asked.request() == Some(request));
    }

    pub(crate) fn trust(&mut self, request: TrustRequest) {
        self.waiting.push_back(Asked::Trust(Box::new(request)));
    }

    /// Before the preset becomes yolo. Asked once, however often it is wanted.
    pub(crate) fn confirm_yolo(&mut self) {
        if !self.waiting.iter().any(|asked| matches!(asked, Asked::Yolo)) {
            self.waiting.push_back(Asked::Yolo);
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Restarts the pause of the request in view: something else was drawn in its place.
    pub(crate) fn covered(&mut self) {
        if let Some(front) = &mut self.front {
            front.unmark();
            front.first_drawn = None;
        }
    }

    /// The frame drawn last is on the screen.
    pub(crate) fn drawn(&mut self, now: Instant) {
        if let Some(front) = &mut self.front
            && let Some(sheet) = &front.sheet
        {
            front.first_drawn.get_or_insert(now);
            // The pages behind a choice show something else.
            front.read |= sheet.seen && matches!(front.page, Page::First | Page::Message);
        }
    }

    /// Whether the message of a denial is being typed.
    pub(crate) fn takes_text(&self) -> bool {
        self.front.as_ref().is_some_and(|front| front.page == Page::Message)
    }

    /// Inserts a paste into the message of a denial. The caller sends every other paste to the composer.
    pub(crate) fn paste(&mut self, text: &str) {
        if let Some(front) = self.front.as_mut().filter(|front| front.page == Page::Message) {
            front.message.insert(text);
        }
    }

    /// The message of a denial whose request went away before it was sent.
    pub(crate) fn take_unsent_message(&mut self) -> Option<String> {
        self.unsent_message.take()
    }

    /// Handles a key that the request claims.
    pub(crate) fn key(&mut self, key: Key, now: Instant) -> Option<Answered> {
        let has_paused = self.has_paused(now);
        let asked = self.waiting.front()?;
        if key == Key::ctrl('c') {
            let step = match asked {
                Asked::Trust(_) => Step::Answer(Answered::Leave),
                Asked::Approval(_) | Asked::Yolo => asked.escape(),
            };
            return self.take(step);
        }
        if self.leaves_yolo(key) {
            return self.take(Step::Answer(Answered::SetApproval(Approval::Balanced)));
        }
        let step = match &mut self.front {
            Some(front) => {
                front.complaint = None;
                front.step(key, asked, has_paused)
            }
            // It was not drawn yet, and only the way out is open.
            None => asked.escape(),
        };
        self.take(step)
    }

    /// Shift-Tab moves on to the approval mode after yolo, which allows less.
    fn leaves_yolo(&self, key: Key) -> bool {
        key == Key::shift(KeyCode::Tab) && matches!(self.waiting.front(), Some(Asked::Yolo))
    }

    fn take(&mut self, step: Step) -> Option<Answered> {
        let answer = match step {
            Step::Stay => return None,
            Step::To(page) => {
                let scene =
                    Scene { home: self.home.as_deref(), root: self.root.as_deref(), approval: self.approval };
                if let (Some(front), Some(asked)) = (&mut self.front, self.waiting.front()) {
                    front.turn_to(page, asked, scene);
                }
                return None;
            }
            Step::Close => None,
            Step::Answer(answer) => Some(answer),
        };
        match (&answer, self.waiting.front()) {
            // The engine withdraws it and judges anew. Until then it stands, and is put as if for the first time.
            (Some(Answered::SetApproval(_)), Some(Asked::Approval(request))) => {
                let scroll = self.front.take().and_then(|front| front.read_to());
                self.read_to = scroll.map(|scroll| (request.id.clone(), scroll));
            }
            // The turn is over, with all that it asked.
            (Some(Answered::Interrupt), _) => self.remove(|asked| matches!(asked, Asked::Approval(_))),
            _ => {
                self.waiting.pop_front();
                self.next();
            }
        }
        answer
    }

    fn remove(&mut self, gone: impl Fn(&Asked) -> bool) {
        let in_view = self.waiting.front().is_some_and(&gone);
        let before = self.waiting.len();
        self.waiting.retain(|asked| !gone(asked));
        // What goes from behind the one in view makes the queue shorter; it was not answered.
        if in_view && self.waiting.len() < before {
            self.next();
        }
    }

    /// Another one is in view: no key that was meant for the last may answer it.
    fn next(&mut self) {
        let message = self.front.take().map(|front| front.message.text().to_owned());
        self.unsent_message = message.filter(|message| !message.is_empty()).or(self.unsent_message.take());
        self.answered = if self.waiting.is_empty() { 0 } else { self.answered + 1 };
    }

    /// The request in view, in at most `most_rows` rows.
    pub(crate) fn draw(&mut self, look: Look<'_>, most_rows: usize, focus: KeyFocus) -> Drawn {
        let scene = Scene { home: self.home.as_deref(), root: self.root.as_deref(), approval: self.approval };
        let Some(asked) = self.waiting.front() else { return Drawn::default() };
        let read_to = self.read_to.as_ref().filter(|(id, _)| asked.is_about(id)).map(|(_, scroll)| *scroll);
        let front = self.front.get_or_insert_with(|| Front::new(asked, scene, read_to));
        let sheet = match front.sheet.take().filter(|sheet| sheet.fits(look)) {
            Some(sheet) => sheet,
            None => Sheet::new(asked, front.page, look, scene),
        };
        let place = asked.call().and_then(|id| self.batch.iter().position(|call| call == id));
        let number = match (self.answered + 1, self.answered + self.waiting.len(), place) {
            (1, 1, Some(at)) if self.batch.len() > 1 => format!(" · call {} of {}", at + 1, self.batch.len()),
            (1, 1, _) => String::new(),
            (number, of, _) => format!(" {number} of {of}"),
        };
        let (sheet, drawn) = sheet.draw(asked, front, &number, look, most_rows, focus);
        // No further than there are rows.
        front.scroll = front.scroll.map(|_| sheet.scroll);
        front.sheet = Some(sheet);
        drawn
    }
}
