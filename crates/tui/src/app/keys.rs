//! Routes a key to the first that takes it: the overlay in front, the request in view, the completion popup, the bindings,
//! the composer.

use std::time::Instant;

use ratatui_core::text::Line;
use zdx_protocol::mentions::dropped_image;
use zdx_protocol::{Approval, Command, Open, Query, SessionPick};

use super::overlay::Overlay;
use super::pager::Turned;
use super::{Choice, Effect, Left, Purpose, State, ask};
use crate::bindings::{Binding, Bindings};
use crate::completion::Chosen;
use crate::composer::{Draft, Typed};
use crate::dialog::{Answered, KeyFocus, Picked};
use crate::key::{Key, KeyCode};
use crate::look::Look;

/// What a key does, wherever the caret is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// The composer's own business; it stands in the table for help.
    Compose,
    Stop,
    Interrupt,
    Leave,
    Preset,
    TakeBack,
    Conversation,
    Editor,
    Suspend,
    Redraw,
    Help,
    Warnings,
}

const ALT_ENTER: Key = Key { alt: true, ..Key::plain(KeyCode::Enter) };

static BINDINGS: Bindings<Act> = Bindings(&[
    bind(&[Key::plain(KeyCode::Enter)], "send; while a turn runs, queue", Act::Compose),
    bind(&[Key::ctrl('j'), ALT_ENTER], "a new line; so does \\ before Enter", Act::Compose),
    bind(&[Key::plain(KeyCode::Esc)], "stop the turn; close what is open", Act::Stop),
    bind(&[Key::ctrl('c')], "stop the turn, or clear what is typed; twice: leave", Act::Interrupt),
    bind(&[Key::ctrl('d')], "leave, when nothing is typed; while a turn runs, twice", Act::Leave),
    bind(&[Key::shift(KeyCode::Tab)], "how much may happen without asking: the next preset", Act::Preset),
    bind(&[Key::plain(KeyCode::Tab)], "complete a file, an agent, a command", Act::Compose),
    bind(
        &[Key::plain(KeyCode::Up)],
        "take back what is queued or was cleared; else earlier prompts",
        Act::TakeBack,
    ),
    bind(&[Key::ctrl('r')], "search earlier prompts", Act::Compose),
    bind(&[Key::ctrl('o')], "the whole conversation, all output unfolded", Act::Conversation),
    bind(&[Key::ctrl('g')], "write in your own editor ($VISUAL, $EDITOR)", Act::Editor),
    bind(&[Key::ctrl('_'), Key::alt('_')], "undo, redo", Act::Compose),
    bind(&[Key::ctrl('z')], "suspend; fg comes back", Act::Suspend),
    bind(&[Key::ctrl('l')], "draw the screen anew", Act::Redraw),
    bind(&[Key::plain(KeyCode::F(1))], "this help", Act::Help),
    bind(&[Key::plain(KeyCode::F(2))], "the warnings so far", Act::Warnings),
]);

const fn bind(keys: &'static [Key], does: &'static str, action: Act) -> Binding<Act> {
    Binding { keys, does, action }
}

const MARKS: [(&str, &str); 3] = [
    ("!COMMAND", "run a command yourself; the model reads along"),
    ("@FILE", "put a file before the prompt"),
    ("@agent:NAME", "ask another agent"),
];

/// Bindings, marks and commands.
pub(super) fn help(look: Look<'_>) -> Vec<Line<'static>> {
    BINDINGS.help(&MARKS, look)
}

impl State {
    pub(super) fn key(&mut self, key: Key, now: Instant) -> Vec<Effect> {
        let mut claimed = false;
        let effects = match self.overlays.in_front(self.dialogs.is_open()) {
            Some(Overlay::Page(pager)) => {
                if key == Key::ctrl('z') {
                    return vec![Effect::Suspend];
                }
                if pager.key(key) == Turned::Leave {
                    self.overlays.close_page();
                    self.conversation.forget_outputs();
                    self.dialogs.covered();
                }
                self.dialogs.note_input(false, now);
                return Vec::new();
            }
            Some(Overlay::Picker(choice, picker)) => {
                let (choice, picked) = (*choice, picker.key(key));
                picked.map(|picked| self.picked(choice, picked)).unwrap_or_default()
            }
            None => {
                claimed = self.request_claims(key, now);
                if claimed { self.dialog_key(key, now) } else { self.unclaimed_key(key, now) }
            }
        };
        self.dialogs.note_key(key, claimed, now);
        self.keep_unsent_message();
        effects
    }

    /// Whether the request in view takes the key. Completion and history search keep the keys that they use.
    fn request_claims(&self, key: Key, now: Instant) -> bool {
        let composing = self.popup.is_open() || self.composer.is_searching();
        self.dialogs.is_open()
            && !(composing && key != Key::ctrl('c'))
            && self.dialogs.claims(key, self.nothing_typed(), now)
    }

    /// Whether no text waits anywhere to be sent or to be searched for: keys may belong to what is typed otherwise.
    pub(super) fn nothing_typed(&self) -> bool {
        self.composer.is_empty()
            && !self.composer.is_searching()
            && !self.popup.is_open()
            && !self.overlays.has_picker()
            && !self.search_interrupted
    }

    pub(super) fn key_focus(&self, now: Instant) -> KeyFocus {
        match self.dialogs.focus(self.nothing_typed(), now) {
            KeyFocus::ComposerUntilTab if self.tab_completes() => KeyFocus::Composer,
            focus => focus,
        }
    }

    /// Whether Tab has something to do in the line that is typed: it does not move the focus then.
    fn tab_completes(&self) -> bool {
        let (line, cursor) = self.composer.line_and_cursor();
        self.composer.is_searching() || self.composer.is_shell() || self.popup.may_complete(&line, cursor)
    }

    fn unclaimed_key(&mut self, key: Key, now: Instant) -> Vec<Effect> {
        if self.dialogs.is_open() {
            if key == Key::plain(KeyCode::Tab) && !self.tab_completes() {
                self.search_interrupted = false;
                self.dialogs.toggle_focus(now);
                return Vec::new();
            }
            self.return_focus(key);
            // It came too early to be an answer, and there is nothing to send.
            if key.code == KeyCode::Enter && self.composer.is_empty() && !self.composer.is_searching() {
                return Vec::new();
            }
        }
        if let Some(effects) = self.popup_key(key) {
            return effects;
        }
        if let Some(act) = BINDINGS.find(key).filter(|act| self.may(*act)) {
            return self.act(act, now);
        }
        if key.code == KeyCode::Enter && self.composer.is_empty() && self.queue.is_paused() && !self.is_busy()
        {
            return self.send_queued();
        }
        match self.composer.key(key) {
            Typed::Submit => self.submit(),
            Typed::Edited => {
                (self.warned, self.stops_for) = (None, None);
                self.offer()
            }
            Typed::Nothing => self.offer(),
            Typed::Unused => Vec::new(),
        }
    }

    /// The key is the composer's: so are the letters before it that marked a choice, unless it takes them back.
    fn return_focus(&mut self, key: Key) {
        let letters = self.dialogs.return_focus();
        if key.code != KeyCode::Backspace {
            for c in letters.chars() {
                self.composer.key(Key::char(c));
            }
        }
    }

    /// Whether a binding holds now, or its key is the composer's.
    fn may(&self, act: Act) -> bool {
        let searching = self.composer.is_searching();
        match act {
            Act::Compose => false,
            Act::Stop | Act::Interrupt | Act::Editor => !searching,
            Act::Leave => self.composer.is_empty() && !searching,
            Act::TakeBack => {
                let queued = !self.queue.is_empty() && self.composer.is_at_top();
                queued || self.composer.is_empty() && self.composer.has_stash()
            }
            Act::Preset | Act::Conversation | Act::Suspend | Act::Redraw | Act::Help | Act::Warnings => true,
        }
    }

    fn act(&mut self, act: Act, now: Instant) -> Vec<Effect> {
        match act {
            Act::Compose => {}
            Act::Stop => return self.stop_early(),
            Act::Interrupt => return self.interrupt(now),
            Act::Leave => return self.leave(now),
            Act::Preset => return self.next_preset(),
            Act::TakeBack => self.take_back(now),
            Act::Conversation => return self.show_conversation(),
            Act::Editor => return vec![Effect::Edit(self.composer.text())],
            Act::Suspend => return vec![Effect::Suspend],
            Act::Redraw => return vec![Effect::Redraw],
            Act::Help => self.show_help(),
            Act::Warnings => self.show_warnings(),
        }
        Vec::new()
    }

    pub(super) fn paste(&mut self, text: String, now: Instant) -> Vec<Effect> {
        // A paste answers no request and turns no page.
        if self.overlays.page().is_some() {
            return Vec::new();
        }
        self.dialogs.note_input(false, now);
        if self.dialogs.takes_text() {
            self.dialogs.paste(&text);
            return Vec::new();
        }
        let marked_by = self.dialogs.return_focus();
        let text = marked_by + &text;
        let image = dropped_image(&text);
        let pasted = text.trim().to_owned();
        if let Some(Overlay::Picker(_, picker)) = self.overlays.in_front(self.dialogs.is_open()) {
            picker.paste(&text);
        } else if self.composer.paste(text) {
            self.popup.clear();
            return image.map_or_else(Vec::new, |path| ask(Purpose::Image { pasted }, Query::Image { path }));
        } else {
            self.complain("that is too much for a message; put it into a file and mention the file with @");
        }
        Vec::new()
    }

    /// Asks what could stand where the caret is.
    fn offer(&mut self) -> Vec<Effect> {
        // What was recalled is walked on from by Up and Down: nothing may take those.
        if self.composer.is_searching() || self.composer.is_recalled() {
            self.popup.clear();
            return Vec::new();
        }
        let (line, cursor) = self.composer.line_and_cursor();
        let asked = self.popup.ask(&line, cursor);
        asked.map(|(generation, query)| ask(Purpose::Complete(generation), query)).unwrap_or_default()
    }

    fn popup_key(&mut self, key: Key) -> Option<Vec<Effect>> {
        if key == Key::plain(KeyCode::Tab) && !self.composer.is_searching() && !self.popup.is_open() {
            let (line, cursor) = self.composer.line_and_cursor();
            let asked = match self.composer.is_shell() {
                true => self.popup.ask_shell(&line, cursor),
                // What was offered went when a request came up.
                false if self.popup.is_unasked() => self.popup.ask(&line, cursor),
                false => None,
            };
            if let Some((generation, query)) = asked {
                // Completes as soon as the answer comes.
                self.popup.key(key);
                return Some(ask(Purpose::Complete(generation), query));
            }
        }
        self.popup.key(key).map(|chosen| self.complete(chosen))
    }

    pub(super) fn complete(&mut self, chosen: Chosen) -> Vec<Effect> {
        match chosen {
            Chosen::Nothing => Vec::new(),
            Chosen::Text { replace, text } => {
                self.composer.replace(replace, &text);
                self.offer()
            }
            Chosen::Send { replace, text } => {
                self.composer.replace(replace, &text);
                self.submit()
            }
        }
    }

    /// Closes the list and does what was chosen in it.
    fn picked(&mut self, choice: Choice, picked: Picked<String>) -> Vec<Effect> {
        self.overlays.close_picker();
        match (picked, choice) {
            (Picked::Cancelled, _) => Vec::new(),
            (Picked::Chosen(id), Choice::Session) => {
                let line = format!("/resume {id}");
                self.leave_session(line, Command::Open(Open::Resume(SessionPick::Id(id))))
            }
            (Picked::Chosen(name), Choice::Model) => {
                let line = Draft::from(format!("/model {name}").as_str());
                self.between_turns(line, Purpose::Do, Command::SetModel(name))
            }
            (Picked::Chosen(name), Choice::Agent) => {
                let line = Draft::from(format!("/agent {name}").as_str());
                self.between_turns(line, Purpose::Do, Command::SetAgent(name))
            }
        }
    }

    fn dialog_key(&mut self, key: Key, now: Instant) -> Vec<Effect> {
        match BINDINGS.find(key) {
            // Neither answers anything.
            Some(Act::Suspend) => return vec![Effect::Suspend],
            Some(Act::Conversation) => return self.show_conversation(),
            _ => {}
        }
        match self.dialogs.key(key, now) {
            None => Vec::new(),
            Some(Answered::Decision { request, decision }) => {
                vec![Effect::Send(Purpose::Do, Command::Answer { request, decision })]
            }
            Some(Answered::Trust { request, trust }) => {
                vec![Effect::Send(Purpose::Do, Command::AnswerTrust { request, trust })]
            }
            Some(Answered::SetApproval(approval)) => {
                vec![Effect::Send(Purpose::Do, Command::SetApproval(approval))]
            }
            Some(Answered::Interrupt) => self.stop(),
            Some(Answered::Leave) => vec![Effect::Leave(Left::Meant)],
        }
    }

    /// Moves the message of a denial into the composer when its request went away.
    pub(super) fn keep_unsent_message(&mut self) {
        if let Some(text) = self.dialogs.take_unsent_message() {
            self.composer.paste(text);
        }
    }

    fn next_preset(&mut self) -> Vec<Effect> {
        match self.status.approval() {
            Some(Approval::Balanced) => self.wish_for(Approval::Paranoid),
            Some(Approval::Paranoid) => self.wish_for(Approval::Yolo),
            Some(Approval::Yolo) => self.wish_for(Approval::Balanced),
            None => Vec::new(),
        }
    }

    /// Into `yolo` nobody slips by one key.
    pub(super) fn wish_for(&mut self, approval: Approval) -> Vec<Effect> {
        if approval == Approval::Yolo {
            self.dialogs.confirm_yolo();
            return Vec::new();
        }
        vec![Effect::Send(Purpose::Do, Command::SetApproval(approval))]
    }
}
