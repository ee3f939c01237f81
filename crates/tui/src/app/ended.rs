//! What the end of a command leads to.

use std::time::Instant;

use jiff::Timestamp;
use zdx_protocol::compare::nearest;
use zdx_protocol::display::listing::{self, Place};
use zdx_protocol::slash::unknown;
use zdx_protocol::{Command, ErrorKind, Event, Query, Reply};

use super::{Choice, Effect, Left, Purpose, State, ask};
use crate::composer::Draft;
use crate::conversation::NoteKind;
use crate::dialog::{Picker, items};

impl State {
    pub(super) fn ended(&mut self, purpose: Purpose, event: Event, now: Instant) -> Vec<Effect> {
        if purpose == Purpose::Draft {
            self.asking = self.asking.saturating_sub(1);
        }
        match (purpose, event) {
            (Purpose::Begin, Event::Error { kind, message, .. }) => {
                vec![Effect::Leave(Left::Refused(kind, message))]
            }
            (Purpose::Begin, event) => {
                self.conversation.apply(&event, now);
                self.begun()
            }
            // Its end is also the end of what is told again of a session.
            (Purpose::Open, event) => {
                self.conversation.apply(&event, now);
                Vec::new()
            }
            (Purpose::Switch, Event::Done { .. }) => ask(Purpose::Offered, Query::Models),
            (Purpose::Offered, Event::Reply { answer: Reply::Models(found), .. }) => {
                let names: Vec<&str> = found.iter().map(|model| model.name.as_str()).collect();
                self.doubt_model(&names);
                Vec::new()
            }
            (Purpose::Turn, event) => {
                match &event {
                    Event::Error { kind: ErrorKind::Interrupted, .. } => self.was_stopped(),
                    Event::Error { .. } => self.has_failed(),
                    _ => {}
                }
                self.shown_if_failed(&event, now);
                self.turn_over()
            }
            (Purpose::Complete(generation), Event::Reply { answer: Reply::Completions(found), .. }) => {
                let answered = self.popup.answer(generation, found);
                let mut effects = answered.chosen.map(|chosen| self.complete(chosen)).unwrap_or_default();
                let again =
                    answered.again.map(|(generation, query)| ask(Purpose::Complete(generation), query));
                effects.extend(again.into_iter().flatten());
                effects
            }
            (Purpose::Remember, Event::Reply { answer: Reply::Remembered(line), .. }) => {
                self.composer.remember(line);
                Vec::new()
            }
            (Purpose::Output, Event::Reply { answer: Reply::SpilledOutput(read), .. }) => {
                self.show_output(read);
                Vec::new()
            }
            (Purpose::Image { pasted }, Event::Reply { answer: Reply::Image(Some(image)), .. }) => {
                self.composer.show_image(&pasted, image);
                Vec::new()
            }
            (Purpose::Status, event) => {
                self.status.apply(&event, now);
                Vec::new()
            }
            (purpose @ (Purpose::Tell | Purpose::Draft), event @ Event::Reply { .. }) => {
                self.status.apply(&event, now);
                if let Event::Reply { answer, .. } = &event {
                    // What a model wrote is part of the conversation, however long it is.
                    if purpose == Purpose::Draft { self.drafted(answer) } else { self.show_answer(answer) }
                }
                Vec::new()
            }
            (Purpose::Choose(choice), Event::Reply { answer, .. }) => {
                self.choose(choice, answer);
                Vec::new()
            }
            (Purpose::Custom { name, draft }, Event::Reply { answer: Reply::Commands(known), .. }) => {
                self.custom(&name, draft, known.iter().any(|command| command.name == name))
            }
            // What cannot be completed, kept or named is no news.
            (
                Purpose::Complete(_)
                | Purpose::Offered
                | Purpose::Remember
                | Purpose::Output
                | Purpose::Image { .. }
                | Purpose::Shutdown,
                _,
            ) => Vec::new(),
            (
                Purpose::Do
                | Purpose::Switch
                | Purpose::Tell
                | Purpose::Draft
                | Purpose::Choose(_)
                | Purpose::Custom { .. },
                event,
            ) => {
                self.shown_if_failed(&event, now);
                Vec::new()
            }
        }
    }

    /// A name that nobody lists may still work; most likely it is a slip.
    fn doubt_model(&mut self, offered: &[&str]) {
        const LEAST: f32 = 0.6;
        let Some(model) = self.status.model().filter(|model| !offered.contains(model)) else { return };
        let same_server = |name: &&&str| name.split('/').next() == model.split('/').next();
        let offered: Vec<&str> = offered.iter().filter(same_server).copied().collect();
        if offered.is_empty() {
            return;
        }
        let meant = nearest(model, &offered, 1, LEAST).first().map(|name| format!("; did you mean {name}?"));
        let rest = meant.unwrap_or_else(|| "; /model lists them".to_owned());
        let why = format!("{model} is not among the models that its server lists{rest}");
        self.conversation.note(vec![why], NoteKind::Warning);
    }

    fn begun(&mut self) -> Vec<Effect> {
        self.begun = true;
        let mut effects = Vec::new();
        if let Some(first) = self.first.take() {
            let draft = self.composer.take_draft();
            self.composer.set(&first);
            effects = self.submit();
            // What was typed meanwhile is no part of it.
            self.composer.set_draft(draft);
        }
        effects.extend(self.next_queued());
        effects
    }

    fn shown_if_failed(&mut self, event: &Event, now: Instant) {
        if matches!(event, Event::Error { .. }) {
            self.conversation.apply(event, now);
        }
    }

    fn drafted(&mut self, reply: &Reply) {
        let (Reply::Handoff(drafted) | Reply::Summary(drafted)) = reply else { return self.tell(reply) };
        drafted.note.iter().for_each(|note| self.say(note));
        self.conversation.note(vec![drafted.text.clone()], NoteKind::Drafted);
    }

    fn tell(&mut self, reply: &Reply) {
        let lines = self.listed(reply);
        self.conversation.note(lines, NoteKind::Said);
    }

    pub(super) fn listed(&self, reply: &Reply) -> Vec<String> {
        let place =
            Place { columns: usize::from(self.width), home: self.home.as_deref(), now: Timestamp::now() };
        listing::lines(reply, place)
    }

    /// One of the user's own or of this project, if there is one of that name.
    fn custom(&mut self, name: &str, draft: Draft, known: bool) -> Vec<Effect> {
        if known {
            let command = Command::Prompt(draft.text().into());
            return self.work(draft, command);
        }
        self.complain(&unknown(name));
        Vec::new()
    }

    fn choose(&mut self, choice: Choice, reply: Reply) {
        let open = self.session.as_ref().map(|session| session.id.as_str());
        let (items, now) = match reply {
            Reply::Sessions(found) => {
                let here = items::Here {
                    open,
                    root: self.status.root(),
                    home: self.home.as_deref(),
                    now: Timestamp::now(),
                };
                (items::sessions(&found, here), None)
            }
            Reply::Models(found) => {
                let now = found.iter().position(|model| Some(model.name.as_str()) == self.status.model());
                (items::models(&found, self.status.model()), now)
            }
            Reply::Agents(found) => {
                let now = found.iter().filter(|agent| agent.primary).position(|agent| agent.in_use);
                (items::agents(&found), now)
            }
            other => return self.tell(&other),
        };
        // Whoever types on meanwhile would choose with a key that was meant for his text.
        if !self.composer.is_empty() {
            return self.complain("the list came while you were typing; ask for it again");
        }
        if items.is_empty() {
            return self.complain(match choice {
                Choice::Session => "there is no other saved session to go on with",
                Choice::Model => "the provider names no models; /model NAME switches to one",
                Choice::Agent => "there is no agent to choose",
            });
        }
        let title = match choice {
            Choice::Session => "Go on with",
            Choice::Model => "Switch to",
            Choice::Agent => "Work as",
        };
        self.overlays.offer(choice, Picker::new(title, items).at(now));
    }
}
