//! The question in view: on which of its pages somebody is, how far it was read, and since when it can be answered.

use std::time::Instant;

use zdx_protocol::Decision;
use zdx_protocol::display::approval::Answer;

use super::asked::{self, Act, Asked, Choice, Page, Scene, Step};
use super::field::Field;
use super::sheet::Sheet;
use super::{ARMED_AFTER, ARMED_AT_LAST, Answered, Hint, PAUSE};
use crate::key::{Key, KeyCode};

/// The question in view.
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
    pub(super) word: Field,
    pub(super) hint: Option<Hint>,
    pub(super) first_drawn: Option<Instant>,
    /// The same of its present page.
    pub(super) page_drawn: Option<Instant>,
    pub(super) swallowed: Option<Instant>,
}

impl Front {
    pub(super) fn new(asked: &Asked, scene: Scene<'_>, scroll: Option<usize>) -> Self {
        let choices = asked.choices(Page::First, scene);
        Self {
            page: Page::First,
            focus: asked::safe(&choices),
            choices,
            scroll,
            left_at: None,
            sheet: None,
            read: false,
            word: Field::default(),
            hint: None,
            first_drawn: None,
            page_drawn: None,
            swallowed: None,
        }
    }

    pub(super) fn is_armed(&self, now: Instant) -> bool {
        let Some(first) = self.first_drawn else { return false };
        let stood = now.saturating_duration_since(first);
        let paused = self.swallowed.is_none_or(|then| now.saturating_duration_since(then) >= PAUSE);
        stood >= ARMED_AFTER && (paused || stood >= ARMED_AT_LAST)
    }

    /// Where Enter says yes, what it says yes to must have been in sight for as long as a question has to be.
    pub(super) fn can_be_confirmed(&self, now: Instant) -> bool {
        let stood = self.page_drawn.is_some_and(|first| now.saturating_duration_since(first) >= ARMED_AFTER);
        let allows = self.choices.get(self.focus).is_some_and(|choice| choice.act.allows());
        stood || !self.page.asks_how_long() || !allows
    }

    pub(super) fn turn_to(&mut self, page: Page, asked: &Asked, scene: Scene<'_>) {
        let shown = self.sheet.as_ref().map(|sheet| sheet.scroll);
        if self.page == Page::First {
            self.left_at = self.scroll;
        }
        self.scroll = match page {
            Page::First => self.left_at,
            // It shows the same, and nothing of it can be scrolled.
            Page::Word => shown,
            Page::Scope | Page::Wider | Page::Preset | Page::Yolo => None,
        };
        self.page = page;
        self.choices = asked.choices(page, scene);
        self.focus = asked::focus(page, &self.choices);
        (self.sheet, self.page_drawn) = (None, None);
    }

    /// How far what is asked about was scrolled.
    pub(super) fn read_to(&self) -> Option<usize> {
        if self.page == Page::First { self.scroll } else { self.left_at }
    }

    pub(super) fn step(&mut self, key: Key, asked: &Asked) -> Step {
        if key.ctrl || key.alt {
            if self.page == Page::Word {
                self.word.key(key);
            }
            return Step::Stay;
        }
        if self.page == Page::Word {
            return self.type_word(key, asked);
        }
        let page = self.sheet.as_ref().map_or(1, |sheet| sheet.window.saturating_sub(1).max(1));
        let at = self.sheet.as_ref().map_or(0, |sheet| sheet.scroll);
        let last = self.choices.len().saturating_sub(1);
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
            KeyCode::Esc if self.page != Page::First => return Step::To(asked::before(self.page)),
            KeyCode::Esc => return asked.escape(),
            KeyCode::Enter => return self.choose(self.focus, asked),
            // The key for presets everywhere else.
            KeyCode::Tab if key.shift => return self.choose_act(Act::Answer(Answer::Preset), asked),
            KeyCode::Char(c) => {
                let pressed = c.to_ascii_lowercase();
                if let Some(at) = self.choices.iter().position(|choice| choice.key == pressed) {
                    return self.choose(at, asked);
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
        if choice.act.allows() && asked.must_be_read() && !self.read {
            self.hint = Some(Hint::ReadFirst);
            return Step::Stay;
        }
        asked.chosen(self.page, choice.act)
    }

    fn type_word(&mut self, key: Key, asked: &Asked) -> Step {
        match (key.code, asked) {
            // What is typed stays, should it be wanted all the same.
            (KeyCode::Esc, _) => Step::To(Page::First),
            (KeyCode::Enter, Asked::Approval(request)) => {
                let word = Some(self.word.text().trim().to_owned()).filter(|word| !word.is_empty());
                let decision = Decision::Deny { word };
                Step::Answer(Answered::Decision { request: request.request, decision })
            }
            _ => {
                self.word.key(key);
                Step::Stay
            }
        }
    }
}
