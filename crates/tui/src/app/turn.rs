//! Work that takes a turn: begun, waited for, stopped; what is sent meanwhile waits for its end.

use std::time::Instant;

use zdx_protocol::{Command, Query};

use super::{Effect, Left, Purpose, State, TWICE_WITHIN, ask};
use crate::composer::Draft;

#[derive(Debug)]
pub(super) struct Turn {
    /// It was told to stop.
    pub stopping: bool,
}

impl State {
    /// Whether something runs that new work has to wait for.
    pub(super) fn is_busy(&self) -> bool {
        self.turn.is_some() || !self.begun
    }

    /// Whether Ctrl-C has nothing left to stop.
    pub(super) fn is_stopped(&self) -> bool {
        self.turn.as_ref().is_none_or(|turn| turn.stopping)
    }

    pub(super) fn start(&mut self, command: Command) -> Vec<Effect> {
        self.turn = Some(Turn { stopping: false });
        if let Some(session) = &mut self.session {
            session.used = true;
        }
        vec![Effect::Send(Purpose::Turn, command)]
    }

    pub(super) fn queue_up(&mut self, draft: Draft) {
        self.queue.push(draft);
        self.status.queued(self.queue.len());
    }

    /// The turn is over: what waits comes next, unless it was stopped. Then it is the user's again.
    pub(super) fn turn_over(&mut self) -> Vec<Effect> {
        let stopped = self.turn.take().is_some_and(|turn| turn.stopping);
        if stopped {
            self.give_back_queued();
        }
        // A command may have switched to another branch.
        let mut effects = ask(Purpose::Branch, Query::GitBranch);
        effects.extend(self.next_queued());
        effects
    }

    pub(super) fn next_queued(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        while !self.is_busy()
            && let Some(draft) = self.queue.next()
        {
            effects.extend(self.follow(draft));
        }
        self.status.queued(self.queue.len());
        effects
    }

    fn give_back_queued(&mut self) {
        let Some(queued) = self.queue.take_all() else { return };
        let draft = self.composer.text();
        let text = if draft.trim().is_empty() { queued } else { format!("{queued}\n\n{draft}") };
        self.composer.set(&text);
    }

    /// Takes back what was sent last and still waits, before what is typed; else what was cleared.
    pub(super) fn take_back(&mut self) {
        match self.queue.take_back() {
            Some(draft) => self.composer.put_before(draft),
            None => drop(self.composer.unstash()),
        }
        self.status.queued(self.queue.len());
    }

    /// Stops what runs; nothing if nothing does.
    pub(super) fn stop(&mut self) -> Vec<Effect> {
        let Some(turn) = &mut self.turn else { return Vec::new() };
        turn.stopping = true;
        vec![Effect::Send(Purpose::Do, Command::Interrupt)]
    }

    /// Ctrl-C: stops what runs, else takes back what is typed, else leaves when pressed twice.
    pub(super) fn interrupt(&mut self, now: Instant) -> Vec<Effect> {
        if !self.is_stopped() {
            self.warned = Some(now);
            return self.stop();
        }
        let twice = self.warned.is_some_and(|since| now.duration_since(since) < TWICE_WITHIN);
        if !self.composer.is_empty() && !twice {
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
