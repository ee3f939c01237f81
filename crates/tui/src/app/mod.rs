//! What the front end is at this moment, and the one place where that changes: `State::update` takes what happened and
//! says what to do about it. Pure: no terminal, no engine, no clock.

mod calm;
mod ended;
mod keys;
mod overlay;
mod pager;
mod pages;
mod queue;
#[cfg(test)]
mod tests;
mod turn;
mod typed;
mod view;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ratatui_core::text::Line;
use zdx_protocol::{Command, ErrorKind, Event, Outcome, Query, SessionInfo};

use crate::completion::{Generation, Popup};
use crate::composer::{Composer, Draft};
use crate::conversation::{Conversation, NoteKind};
use crate::dialog::Dialogs;
use crate::key::Key;
use crate::look::Look;
use crate::status::Status;
use crate::theme::Theme;

use overlay::Overlays;
use queue::Queue;
use turn::Turn;
pub(crate) use view::Size;

/// How long a first Ctrl-C counts.
const TWICE_WITHIN: Duration = Duration::from_secs(2);
/// How long a hint stands.
const HINTED: Duration = Duration::from_secs(4);

/// What happened.
#[derive(Debug)]
pub(crate) enum Input {
    Key(Key),
    Paste(String),
    /// Something was told that no command of ours ends with.
    Event(Event),
    /// A command of ours is over.
    Ended(Purpose, Event),
    /// A second has passed, while something changes with time.
    Tick,
    /// What came back from the user's editor, or why nothing did.
    Edited(Result<String, String>),
    /// What earlier sessions left in the history, oldest first.
    Remembered(Vec<String>),
    /// What became of something that was to be done, in words.
    Said(String),
    /// The engine said nothing more.
    EngineGone,
}

/// What to do about it.
#[derive(Debug, PartialEq)]
pub(crate) enum Effect {
    Send(Purpose, Command),
    Edit(String),
    Copy(String),
    Suspend,
    /// Draw everything anew, whatever the terminal shows.
    Redraw,
    Bell,
    Leave(Left),
}

/// Why a command was sent, so that its end can be taken for what it is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Purpose {
    /// The first session: without it there is nothing to stay for.
    Begin,
    /// Another session; the one that was open stays if it cannot be had.
    Open,
    /// Work that takes a turn.
    Turn,
    /// Only a failure is worth a word.
    Do,
    /// The answer is shown.
    Tell,
    /// The same, of a question that a model answers.
    Draft,
    /// The answer is one to choose from.
    Choose(Choice),
    Complete(Generation),
    /// Another model, by a name that somebody typed.
    Switch,
    /// Whether the one in use is among those that its server lists.
    Offered,
    /// A typed line for the prompt history; it comes back redacted.
    Remember,
    /// A long output, for the whole conversation.
    Output,
    /// The size of an image whose path was pasted as this text.
    Image {
        pasted: String,
    },
    /// Something that the status row shows.
    Status,
    /// Whether there is a command of this name, to be sent as this text.
    Custom {
        name: String,
        draft: Draft,
    },
    Shutdown,
}

/// What a picker is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Session,
    Model,
    Agent,
}

/// How a person came to leave.
#[derive(Clone, Debug, PartialEq)]
pub enum Left {
    Meant,
    /// Ctrl-C, twice.
    Interrupted,
    /// No session could be opened.
    Refused(ErrorKind, String),
    EngineGone,
}

/// The session that is open.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub id: String,
    pub saved: bool,
    /// Something was said in it, so that there is something to come back to.
    pub used: bool,
}

pub(crate) struct State {
    pub theme: Theme,
    home: Option<PathBuf>,
    conversation: Conversation,
    composer: Composer,
    popup: Popup,
    dialogs: Dialogs,
    overlays: Overlays,
    /// A request closed a page whose search field was being typed in: the keys that follow are not for the request.
    search_interrupted: bool,
    calm: calm::Calm,
    /// It is told when a frame was shown.
    told_when_seen: bool,
    status: Status,
    queue: Queue,
    /// The work that is going on.
    turn: Option<Turn>,
    /// Questions to the engine that may take a model's time, and have no answer yet.
    asking: usize,
    session: Option<Session>,
    /// The first session is there: until then everything waits.
    begun: bool,
    /// Said on the command line, for when the session is there.
    first: Option<String>,
    /// What was said before this session, and its welcome: still to be printed.
    before: Vec<Line<'static>>,
    /// As large as the last frame was.
    width: u16,
    height: u16,
    /// What was asked, by turn: whoever takes one back may want to word it anew.
    prompts: BTreeMap<u32, String>,
    /// When Ctrl-C, or Ctrl-D in a turn, was pressed once, and a second time would leave.
    warned: Option<Instant>,
    /// What was sent once, and sent again stops the turn.
    stops_for: Option<String>,
    /// A word that stands in the status row for a moment.
    hint: Option<(Instant, String)>,
}

impl State {
    pub fn new(theme: Theme, home: Option<PathBuf>, composer: Composer, first: Option<String>) -> Self {
        Self {
            theme,
            conversation: Conversation::default(),
            composer,
            popup: Popup::default(),
            dialogs: Dialogs::new(home.clone()),
            overlays: Overlays::default(),
            search_interrupted: false,
            calm: calm::Calm::default(),
            told_when_seen: false,
            status: Status::new(home.clone()),
            home,
            queue: Queue::default(),
            turn: None,
            asking: 0,
            session: None,
            begun: false,
            first,
            before: Vec::new(),
            width: 80,
            height: 24,
            prompts: BTreeMap::new(),
            warned: None,
            stops_for: None,
            hint: None,
        }
    }

    pub fn update(&mut self, input: Input, now: Instant) -> Vec<Effect> {
        match input {
            Input::Key(key) => self.key(key, now),
            Input::Paste(text) => self.paste(text, now),
            Input::Event(event) => self.told(&event, now),
            Input::Ended(purpose, event) => self.ended(purpose, event, now),
            Input::Tick => {
                self.forget_warning(now);
                self.hint = self.hint.take().filter(|(since, _)| now.duration_since(*since) < HINTED);
                Vec::new()
            }
            Input::Edited(Ok(text)) => {
                self.popup.clear();
                self.came_back(now);
                self.composer.set(text.trim_end_matches('\n'));
                Vec::new()
            }
            Input::Edited(Err(why)) => {
                self.came_back(now);
                self.complain(&why);
                Vec::new()
            }
            Input::Remembered(lines) => {
                self.composer.loaded(lines);
                Vec::new()
            }
            Input::Said(said) => {
                self.say(&said);
                Vec::new()
            }
            Input::EngineGone => vec![Effect::Leave(Left::EngineGone)],
        }
    }

    /// Whether a second's pulse is wanted.
    pub fn needs_tick(&self) -> bool {
        (self.overlays.page().is_some() && self.overlays.grown)
            || self.warned.is_some()
            || self.hint.is_some()
            || self.status.needs_tick()
            || self.conversation.needs_tick()
    }

    /// The instant at which the request in view gets the focus, if it still has to be drawn with it.
    pub fn focus_due(&self, now: Instant) -> Option<Instant> {
        let due = self.dialogs.focus_due(self.nothing_typed())?;
        (due > now && self.overlays.page().is_none()).then_some(due)
    }

    pub fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// Something else had the terminal: a request that waits has to be read anew, and keys typed meanwhile answer nothing.
    pub fn came_back(&mut self, now: Instant) {
        self.dialogs.covered();
        self.dialogs.note_input(false, now);
    }

    pub fn title(&self) -> String {
        self.status.title()
    }

    fn told(&mut self, event: &Event, now: Instant) -> Vec<Effect> {
        let mut effects = Vec::new();
        let mut output_came = false;
        self.status.apply(event, now);
        self.dialogs.apply(event);
        self.search_interrupted &= self.dialogs.is_open();
        self.keep_unsent_message();
        self.heard(event);
        self.overlays.grown = true;
        match event {
            Event::SessionStarted(info) if info.task.is_none() => {
                self.open(info, now);
                effects.extend(ask(Purpose::Status, Query::GitBranch));
            }
            Event::TurnStarted { turn, prompt } => {
                if let Some(session) = &mut self.session {
                    session.used = true;
                }
                self.numbered(*turn);
                self.asked(*turn, prompt);
            }
            Event::Replayed { event } => {
                if let Event::TurnStarted { turn, prompt } = event.as_ref() {
                    self.asked(*turn, prompt);
                }
            }
            Event::TurnFinished(summary) => match summary.outcome {
                // Also by a session that is opened in its place: what waits was not meant for that one.
                Outcome::Interrupted => self.was_stopped(),
                Outcome::MaxSteps | Outcome::RepeatedCalls | Outcome::CheckFailed | Outcome::Error => {
                    self.has_failed();
                }
                Outcome::Completed => {}
            },
            // How full the context is then.
            Event::Reverted { turn, .. } => {
                self.word_anew(*turn);
                effects.extend(ask(Purpose::Status, Query::Context));
            }
            Event::UsageReported(_) | Event::Redone { .. } | Event::ModelChanged { .. } => {
                effects.extend(ask(Purpose::Status, Query::Context));
            }
            Event::ToolFinished { .. } => output_came = true,
            Event::ApprovalChanged { approval } => {
                let words = format!("approval: {}, {}", approval.name(), approval.meaning());
                // What runs is not covered by it.
                match self.status.is_working() {
                    true => self.say(&words),
                    false => self.hint = Some((now, words)),
                }
            }
            Event::ApprovalRequested(_) | Event::TrustRequested(_) => {
                self.popup.clear();
                // A request must be seen. Keys meant for the page do not answer it: its pause begins now.
                self.search_interrupted |= self.overlays.page().is_some_and(|page| page.is_searching());
                self.overlays.interrupt();
                self.dialogs.covered();
                effects.push(Effect::Bell);
            }
            _ => {}
        }
        let event = self.as_typed(event);
        self.conversation.apply(&event, now);
        if output_came && self.overlays.is_conversation() {
            effects.extend(self.ask_for_outputs());
        }
        effects
    }

    /// Another session: what was said until now is printed first, and stays where it is.
    fn open(&mut self, info: &SessionInfo, now: Instant) {
        let theme = self.theme.clone();
        let look = Look { width: self.width, theme: &theme };
        let again = self.session.as_ref().is_some_and(|open| open.id == info.session && open.used);
        if self.session.is_some() {
            self.before.extend(self.conversation.settled(look));
            self.before.extend(self.conversation.live(look, now, usize::MAX));
            self.before.push(Line::default());
        }
        self.conversation = Conversation::default();
        self.overlays.forget();
        self.prompts.clear();
        self.before.extend(self.status.welcome(look));
        self.before.push(Line::default());
        self.session =
            Some(Session { id: info.session.clone(), saved: info.saved, used: info.resumed || again });
    }

    fn say(&mut self, text: &str) {
        self.conversation.note(vec![text.to_owned()], NoteKind::Quiet);
    }

    /// Something that the user should know before going on.
    fn complain(&mut self, why: &str) {
        self.conversation.note(vec![why.to_owned()], NoteKind::Failed);
    }
}

fn ask(purpose: Purpose, query: Query) -> Vec<Effect> {
    vec![Effect::Send(purpose, Command::Ask(query))]
}
