//! Work that takes a turn: begun, waited for, stopped; what is sent meanwhile waits for its end.

use std::borrow::Cow;
use std::time::Instant;

use zdx_protocol::slash::{Line, parse};
use zdx_protocol::{Command, Event, Query};

use super::{Effect, Left, Purpose, State, TWICE_WITHIN, ask};
use crate::composer::Draft;

#[derive(Debug)]
pub(super) struct Turn {
    /// It was told to stop.
    pub stopping: bool,
    /// What it began with, as long as nothing came of it.
    prompt: Option<Draft>,
    /// It was stopped before anything came of it: what it began with is wanted back.
    wanted_back: bool,
    /// Its number, once it began.
    number: Option<u32>,
    /// It came to no good end: what waits may not be wanted after that.
    failed: bool,
}

impl State {
    /// Whether something runs that new work has to wait for.
    pub(super) fn is_busy(&self) -> bool {
        self.turn.is_some() || !self.begun
    }

    /// Whether Ctrl-C has nothing left to stop.
    pub(super) fn is_stopped(&self) -> bool {
        self.turn.as_ref().map_or(self.asking == 0, |turn| turn.stopping)
    }

    /// Whether a turn runs that somebody may want to see to its end.
    pub(super) fn is_working(&self) -> bool {
        let runs = |turn: &Turn| !turn.stopping && (turn.prompt.is_some() || self.status.is_working());
        self.turn.as_ref().is_some_and(runs)
    }

    pub(super) fn start(&mut self, draft: Draft, command: Command) -> Vec<Effect> {
        let prompt = matches!(command, Command::Prompt(_)).then_some(draft);
        self.turn = Some(Turn { stopping: false, prompt, wanted_back: false, number: None, failed: false });
        vec![Effect::Send(Purpose::Turn, command)]
    }

    /// It ends before its time, whoever wanted that.
    pub(super) fn was_stopped(&mut self) {
        if let Some(turn) = &mut self.turn
            && !std::mem::replace(&mut turn.stopping, true)
        {
            self.queue.stop();
        }
    }

    /// What one of the user's own commands stands for is the model's to read: shown is what was typed.
    pub(super) fn as_typed<'a>(&self, event: &'a Event) -> Cow<'a, Event> {
        let Event::TurnStarted { turn, .. } = event else { return Cow::Borrowed(event) };
        let typed = self.turn.as_ref().and_then(|turn| turn.prompt.as_ref()).map(Draft::text);
        let own = |typed: &String| {
            matches!(parse(typed), Line::Custom { .. }) && self.composer.has_sent(typed.trim_end())
        };
        match typed.filter(own) {
            Some(prompt) => Cow::Owned(Event::TurnStarted { turn: *turn, prompt }),
            None => Cow::Borrowed(event),
        }
    }

    /// It began, and has this number.
    pub(super) fn numbered(&mut self, number: u32) {
        if let Some(turn) = &mut self.turn {
            turn.number = Some(number);
        }
    }

    /// It ended in an error, or at a limit.
    pub(super) fn has_failed(&mut self) {
        if let Some(turn) = &mut self.turn {
            turn.failed = true;
        }
    }

    /// From the first thing that comes of it on, a turn is worth more than its prompt.
    pub(super) fn heard(&mut self, event: &Event) {
        let came = matches!(
            event,
            Event::ReasoningDelta { .. }
                | Event::ReasoningFinal(_)
                | Event::AssistantDelta { .. }
                | Event::AssistantFinal { .. }
                | Event::ToolAnnounced { .. }
                | Event::ToolRequested { .. }
        );
        if let Some(turn) = self.turn.as_mut().filter(|_| came) {
            turn.prompt = None;
        }
    }

    pub(super) fn queue_up(&mut self, draft: Draft) {
        match self.turn.as_ref().is_some_and(|turn| turn.stopping) {
            true => self.queue.push_next(draft),
            false => self.queue.push(draft),
        }
        self.status.queued(self.queue.len());
    }

    /// The turn is over: what waits comes next, unless it was stopped or failed. Then it waits for the user, but for what he
    /// sent since he stopped it.
    pub(super) fn turn_over(&mut self) -> Vec<Effect> {
        let turn = self.turn.take();
        if turn.as_ref().is_some_and(|turn| turn.stopping || turn.failed) {
            self.queue.pause();
        }
        self.stops_for = None;
        // A command may have switched to another branch.
        let mut effects = ask(Purpose::Status, Query::GitBranch);
        effects.extend(turn.and_then(|turn| self.put_back(turn)));
        effects.extend(self.next_queued());
        effects
    }

    /// The prompt of a turn that brought nothing stands in the composer again, and the model hears nothing of it.
    fn put_back(&mut self, turn: Turn) -> Option<Effect> {
        let prompt = turn.prompt.filter(|_| turn.wanted_back && self.composer.is_empty())?;
        let taken_back = |turn| {
            let command = Command::Revert { turn: Some(turn), keep_files: true };
            Effect::Send(Purpose::Do, command)
        };
        // What is not kept cannot be taken back: then it has been said, and Up brings its words.
        let saved = self.session.as_ref().is_some_and(|session| session.saved);
        if turn.number.is_some() && !saved {
            return None;
        }
        self.composer.set_draft(prompt);
        self.popup.clear();
        turn.number.map(taken_back)
    }

    pub(super) fn next_queued(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        while !self.is_busy()
            && let Some(draft) = self.queue.next()
        {
            effects.extend(match parse(&draft.text()) {
                // Looked up before it was queued; to ask again would let what comes behind it overtake.
                Line::Custom { text, .. } => self.start(draft, Command::Prompt(text.into())),
                Line::Empty
                | Line::Prompt(_)
                | Line::Shell(_)
                | Line::NoCommand
                | Line::Slash(_)
                | Line::Misused(_) => self.follow(draft),
            });
        }
        self.status.queued(self.queue.len());
        effects
    }

    /// Remembers what a turn was asked, of a few turns.
    pub(super) fn asked(&mut self, turn: u32, prompt: &str) {
        const TURNS: usize = 100;
        const LONGEST: usize = 256 << 10;
        // A longer one is not kept, and neither is what this turn was asked before it was taken back.
        self.prompts.remove(&turn);
        if prompt.len() <= LONGEST {
            self.prompts.insert(turn, prompt.to_owned());
        }
        while self.prompts.len() > TURNS {
            self.prompts.pop_first();
        }
    }

    /// A turn was taken back: what it was asked stands in the composer, unless something is typed there or asked again.
    pub(super) fn word_anew(&mut self, turn: u32) {
        // Kept: the turn may be brought back, and taken back once more.
        let prompt = self.prompts.get(&turn).filter(|_| self.composer.is_empty() && !self.is_busy());
        if let Some(prompt) = prompt {
            self.composer.recall(prompt);
            self.popup.clear();
        }
    }

    /// Enter, where nothing is typed and messages wait behind a turn that was stopped.
    pub(super) fn send_queued(&mut self) -> Vec<Effect> {
        self.queue.go_on();
        self.next_queued()
    }

    /// Whether what was queued last can stand before what is typed: a command is no paragraph of a message.
    pub(super) fn can_take_back(&self) -> bool {
        let said = |text: &str| matches!(parse(text), Line::Prompt(_));
        let fits =
            |last: &Draft| self.composer.is_empty() || said(&last.text()) && said(&self.composer.text());
        self.queue.last().is_some_and(fits)
    }

    /// Takes back what was sent last and still waits, before what is typed; else what was cleared.
    pub(super) fn take_back(&mut self, now: Instant) {
        self.popup.clear();
        if !self.queue.is_empty() && !self.can_take_back() {
            let words = "what waits cannot stand before what is typed: send that, or clear it (Ctrl-C)";
            self.hint = Some((now, words.to_owned()));
            return;
        }
        match self.queue.take_back() {
            Some(draft) => self.composer.put_before(draft),
            None => drop(self.composer.unstash()),
        }
        self.status.queued(self.queue.len());
    }

    /// Stops what runs; nothing if nothing does.
    pub(super) fn stop(&mut self) -> Vec<Effect> {
        if self.turn.is_none() && self.asking == 0 {
            return Vec::new();
        }
        self.was_stopped();
        self.asking = 0;
        vec![Effect::Send(Purpose::Do, Command::Interrupt)]
    }

    /// Esc: the same; of a turn that brought nothing yet the prompt comes back, to be sent in better words.
    pub(super) fn stop_early(&mut self) -> Vec<Effect> {
        if let Some(turn) = &mut self.turn {
            turn.wanted_back = true;
        }
        self.stop()
    }

    /// Ctrl-D: leaves, but work that goes on or waits is not thrown away by one key.
    pub(super) fn leave(&mut self, now: Instant) -> Vec<Effect> {
        // A turn that is told to be over is, although its command has yet to be ticked off.
        let works = self.turn.is_some() && self.status.is_working() || !self.queue.is_empty();
        if works && !self.warned_lately(now) {
            self.warned = Some(now);
            return Vec::new();
        }
        vec![Effect::Leave(Left::Meant)]
    }

    fn warned_lately(&self, now: Instant) -> bool {
        self.warned.is_some_and(|since| now.duration_since(since) < TWICE_WITHIN)
    }

    /// Ctrl-C: stops what runs, else takes back what is typed, else leaves when pressed twice.
    pub(super) fn interrupt(&mut self, now: Instant) -> Vec<Effect> {
        if !self.is_stopped() {
            self.warned = Some(now);
            return self.stop();
        }
        let twice = self.warned_lately(now);
        if !self.composer.is_empty() {
            // Kept, should it have been one key too many.
            self.composer.stash();
            self.popup.clear();
            return Vec::new();
        }
        if twice {
            return vec![Effect::Leave(Left::Interrupted)];
        }
        self.warned = Some(now);
        Vec::new()
    }

    pub(super) fn forget_warning(&mut self, now: Instant) {
        self.warned = self.warned.filter(|since| now.duration_since(*since) < TWICE_WITHIN);
    }
}
