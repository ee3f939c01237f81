//! The request in view: its open page, how far it was read, and since when it is on the screen.

use std::time::Instant;

use zdx_protocol::Decision;
use zdx_protocol::display::approval::Answer;

use super::Answered;
use super::field::Field;
use super::request::{self, Act, Asked, Choice, Page, Scene, Step};
use super::sheet::Sheet;
use crate::key::{Key, KeyCode};

/// The request in view.
#[derive(Debug)]
pub(super) struct Front {
    pub(super) page: Page,
    pub(super) choices: Vec<Choice>,
    pub(super) focus: usize,
    /// Nothing as long as nobody scrolled.
    pub(super) scroll: Option<usize>,
    /// The same of the first page, while another one is looked at.
    pub(super) left_at: Option<usize>,
    pub(super) sheet: Option<Sheet>,
    /// The last row of what is to be judged was on the screen once.
    pub(super) read: bool,
    pub(super) message: Field,
    /// The reason why the last key did nothing.
    pub(super) complaint: Option<Complaint>,
    pub(super) first_drawn: Option<Instant>,
    /// Tab moved the focus here.
    pub(super) focused_by_tab: bool,
    /// The choice that is marked when the open page comes up.
    initial: usize,
    /// The letters that marked a choice that Enter has to confirm. They may be the beginning of a text.
    marked_by: String,
}

/// A key that would answer, and did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Complaint {
    /// The end was not in view.
    Unread,
    /// It came right behind another key.
    TooQuick,
}

impl Front {
    pub(super) fn new(asked: &Asked, scene: Scene<'_>, scroll: Option<usize>) -> Self {
        let choices = asked.choices(Page::First, scene);
        let initial = asked.initial_choice(Page::First, &choices, scene);
        Self {
            page: Page::First,
            focus: initial,
            choices,
            scroll,
            left_at: None,
            sheet: None,
            read: false,
            message: Field::default(),
            complaint: None,
            first_drawn: None,
            focused_by_tab: false,
            initial,
            marked_by: String::new(),
        }
    }

    /// Whether `c` is the key of a choice on the open page.
    pub(super) fn has_choice(&self, c: char) -> bool {
        self.choices.iter().any(|choice| choice.key == c.to_ascii_lowercase())
    }

    pub(super) fn turn_to(&mut self, page: Page, asked: &Asked, scene: Scene<'_>) {
        let shown = self.sheet.as_ref().map(|sheet| sheet.scroll);
        if self.page == Page::First {
            self.left_at = self.scroll;
        }
        self.scroll = match page {
            Page::First => self.left_at,
            // It shows the same, and nothing of it can be scrolled.
            Page::Message => shown,
            Page::Scope | Page::Wider | Page::Preset | Page::Yolo => None,
        };
        self.page = page;
        self.choices = asked.choices(page, scene);
        self.initial = asked.initial_choice(page, &self.choices, scene);
        self.focus = self.initial;
        self.marked_by.clear();
        self.sheet = None;
    }

    /// Whether a letter marked the choice that Enter would confirm.
    pub(super) fn is_marked(&self) -> bool {
        !self.marked_by.is_empty()
    }

    /// Takes the focus away. Returns the letters that marked a choice.
    pub(super) fn unmark(&mut self) -> String {
        self.focused_by_tab = false;
        self.focus = self.initial;
        std::mem::take(&mut self.marked_by)
    }

    /// How far what is asked about was scrolled.
    pub(super) fn read_to(&self) -> Option<usize> {
        if self.page == Page::First { self.scroll } else { self.left_at }
    }

    /// `has_paused`: whether this key came long enough after the one before it to answer.
    pub(super) fn step(&mut self, key: Key, asked: &Asked, has_paused: bool) -> Step {
        if key.ctrl || key.alt {
            if self.page == Page::Message {
                self.message.key(key);
            }
            return Step::Stay;
        }
        if self.page == Page::Message {
            return self.type_message(key, asked);
        }
        let page = self.sheet.as_ref().map_or(1, |sheet| sheet.window.saturating_sub(1).max(1));
        let at = self.sheet.as_ref().map_or(0, |sheet| sheet.scroll);
        let last = self.choices.len().saturating_sub(1);
        match key.code {
            // A blank in a text, should it be one.
            KeyCode::Char(' ') if self.is_marked() => self.marked_by.push(' '),
            KeyCode::Char(_) => {}
            _ => self.marked_by.clear(),
        }
        match key.code {
            // At the ends of the choices the arrows move what is read.
            KeyCode::Up if self.focus == 0 => self.scroll = Some(at.saturating_sub(1)),
            KeyCode::Up => self.focus -= 1,
            KeyCode::Down if self.focus >= last => self.scroll = Some(at + 1),
            KeyCode::Down => self.focus += 1,
            KeyCode::PageUp => self.scroll = Some(at.saturating_sub(page)),
            KeyCode::PageDown | KeyCode::Char(' ') => self.scroll = Some(at + page),
            KeyCode::Home => self.scroll = Some(0),
            KeyCode::End => self.scroll = Some(usize::MAX / 2),
            KeyCode::Esc if self.page != Page::First => return Step::To(request::before(self.page)),
            KeyCode::Esc => return asked.escape(),
            KeyCode::Enter if !has_paused => self.complaint = Some(Complaint::TooQuick),
            KeyCode::Enter => return self.choose(self.focus, asked),
            // The key for the approval mode everywhere else.
            KeyCode::Tab if key.shift => return self.choose_act(Act::Answer(Answer::Preset), asked),
            KeyCode::Char(c) => {
                let pressed = c.to_ascii_lowercase();
                match self.choices.iter().position(|choice| choice.key == pressed) {
                    // It may be the first letter of a sentence.
                    Some(at) if self.choices[at].act.grants_more_than_this() => {
                        self.focus = at;
                        self.marked_by.push(c);
                    }
                    Some(at) => return self.choose(at, asked),
                    None => {}
                }
            }
            KeyCode::Tab
            | KeyCode::Backspace
            | KeyCode::Delete
            | KeyCode::Left
            | KeyCode::Right
            | KeyCode::Insert
            | KeyCode::F(_) => {}
        }
        Step::Stay
    }

    fn choose_act(&mut self, act: Act, asked: &Asked) -> Step {
        match self.choices.iter().position(|choice| choice.act == act) {
            Some(at) => self.choose(at, asked),
            None => Step::Stay,
        }
    }

    fn choose(&mut self, at: usize, asked: &Asked) -> Step {
        let Some(choice) = self.choices.get(at) else { return Step::Stay };
        self.focus = at;
        if asked.allows(choice.act) && asked.must_be_read() && !self.read {
            self.complaint = Some(Complaint::Unread);
            return if self.page == Page::First { Step::Stay } else { Step::To(Page::First) };
        }
        asked.chosen(self.page, choice.act)
    }

    fn type_message(&mut self, key: Key, asked: &Asked) -> Step {
        match (key.code, asked) {
            // The text stays in the field. Somebody who goes on typing must not answer by it.
            (KeyCode::Esc, _) => {
                self.focused_by_tab = false;
                Step::To(Page::First)
            }
            (KeyCode::Enter, Asked::Approval(request)) => {
                let word = Some(std::mem::take(&mut self.message).text().trim().to_owned())
                    .filter(|word| !word.is_empty());
                let decision = Decision::Deny { word };
                Step::Answer(Answered::Decision { request: request.request, decision })
            }
            _ => {
                self.message.key(key);
                Step::Stay
            }
        }
    }
}
