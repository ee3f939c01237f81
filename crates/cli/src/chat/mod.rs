//! The conversation in line mode: read a line, run a turn, again. stdout carries the assistant's text only;
//! the editor draws on the terminal itself and everything else goes to stderr.

mod editor;
mod input;
mod person;
mod slash;
mod tty;

use jiff::Timestamp;
use zdx_protocol::{Command, EngineHandle, Event, NoticeLevel};

use crate::args::Format;
use crate::commands::sessions::table;
use crate::exit::{Ending, Failure};
use crate::front::{Closing, Front};
use crate::pump::{Cause, Stage, TurnEnd, unless_signalled};
use crate::settings::{SessionPick, Settings};
use crate::signals::{Caught, Signals};
use crate::start::{self, Audience, Started};
use crate::terminal;

use editor::Editor;
use input::{Entry, Input, Lines};
pub use person::Person;
use slash::Line;

const LISTED_SESSIONS: usize = 20;

pub async fn chat(settings: &Settings, pick: SessionPick) -> Result<Ending, Failure> {
    let mut signals = Signals::listen().map_err(Failure::runtime)?;
    let stage = Stage::new(Front::new(settings)).map_err(Failure::runtime)?;
    let input = open_input(settings).map_err(Failure::runtime)?;
    let mut chat = Chat { settings, stage, input, session: None, last: None };
    let left = chat.run(&pick, &mut signals).await;
    let message = match &left {
        Ok(_) => chat.last.as_ref().and_then(TurnEnd::complaint),
        Err(failure) => failure.message(),
    };
    if let Some(message) = &message {
        chat.stage.fail(message);
    }
    chat.say_how_to_resume();
    let closing = Closing {
        summary: chat.last.as_ref().and_then(|end| end.summary.as_ref()),
        interrupted: matches!(&left, Ok(Ending::Signalled(_))),
        error: message.as_deref(),
    };
    let unwritten = chat.stage.close(&closing, &mut signals).await;
    match (left, unwritten) {
        (Ok(Ending::Completed), Some(error)) => Err(Failure::Output(error)),
        (Ok(ending), _) => Ok(ending),
        // It has been shown already.
        (Err(failure), _) => Ok(failure.ending()),
    }
}

/// The editor where a person can use one, plain reading anywhere else.
fn open_input(settings: &Settings) -> std::io::Result<Input> {
    let terminal = settings.terminal;
    if terminal.stdin && terminal.smart && settings.format == Format::Text {
        let history = (settings.session != SessionPick::Unsaved).then(|| settings.paths.history_file());
        if let Some(folder) = history.as_deref().and_then(std::path::Path::parent) {
            // Without the folder there is no history; the session itself will say what is wrong with it.
            let _ = zdx_engine::paths::ensure_dir(folder);
        }
        if let Ok(editor) = Editor::start(history) {
            return Ok(Input::Editor(editor));
        }
    }
    Lines::start().map(Input::Lines)
}

struct Chat<'a> {
    settings: &'a Settings,
    stage: Stage,
    input: Input,
    /// The session to name when leaving: saved, and something was said in it.
    session: Option<Session>,
    last: Option<TurnEnd>,
}

struct Session {
    id: String,
    saved: bool,
    turns: usize,
}

/// What a line leads to.
enum Step {
    Stay,
    Restart,
    Leave(Ending),
}

impl Chat<'_> {
    async fn run(&mut self, pick: &SessionPick, signals: &mut Signals) -> Result<Ending, Failure> {
        let mut engine = match self.begin(pick, signals).await? {
            Ok(engine) => engine,
            Err(caught) => return Ok(Ending::Signalled(caught)),
        };
        if self.input.is_editor() {
            self.stage.say("/help lists commands · Ctrl-C interrupts · Ctrl-D leaves");
        }
        loop {
            let step = match self.next_line(signals).await? {
                Ok(line) => self.follow(line, &mut engine, signals).await?,
                Err(ending) => Step::Leave(ending),
            };
            match step {
                Step::Stay => {}
                Step::Leave(ending) => {
                    self.stage.shut_down(engine, signals).await;
                    return Ok(ending);
                }
                Step::Restart => {
                    self.stage.shut_down(engine, signals).await;
                    let fresh = match self.settings.session {
                        SessionPick::Unsaved => SessionPick::Unsaved,
                        _ => SessionPick::New,
                    };
                    engine = match self.begin(&fresh, signals).await? {
                        Ok(engine) => engine,
                        Err(caught) => return Ok(Ending::Signalled(caught)),
                    };
                }
            }
        }
    }

    async fn begin(
        &mut self,
        pick: &SessionPick,
        signals: &mut Signals,
    ) -> Result<Result<EngineHandle, Caught>, Failure> {
        let audience = if self.input.is_editor() { Audience::Person } else { Audience::Nobody };
        let starting = start::engine(self.settings, pick, audience);
        let Started { mut engine, notices } = match unless_signalled(signals, starting).await {
            Ok(started) => started?,
            Err(caught) => return Ok(Err(caught)),
        };
        match unless_signalled(signals, engine.events.recv()).await {
            Ok(Some(event)) => {
                self.stage.show(&event);
                if let Event::SessionStarted(info) = event {
                    self.session = Some(Session { id: info.session, saved: info.saved, turns: 0 });
                }
            }
            Ok(None) => {
                return Err(Failure::runtime("the engine stopped without a word; this is a bug in zdx"));
            }
            Err(caught) => return Ok(Err(caught)),
        }
        for message in notices {
            self.stage.show(&Event::Notice { level: NoticeLevel::Warning, message });
        }
        // What the session has to say about its start belongs before the first prompt.
        tokio::task::yield_now().await;
        while let Ok(event) = engine.events.try_recv() {
            self.stage.show(&event);
        }
        Ok(Ok(engine))
    }

    /// The next line worth following, or how the conversation ends.
    async fn next_line(&mut self, signals: &mut Signals) -> Result<Result<Line, Ending>, Failure> {
        let mut warned = false;
        loop {
            if !self.input.is_editor() && self.settings.terminal.stdin && self.settings.format == Format::Text
            {
                self.stage.ask("> ");
            }
            self.stage.settle().await;
            let entry = match unless_signalled(signals, self.input.next()).await {
                Ok(entry) => entry,
                Err(Caught::Interrupt) if self.settings.terminal.stdin => Entry::Interrupt,
                Err(caught) => return Ok(Err(Ending::Signalled(caught))),
            };
            match entry {
                Entry::Line(text) => match slash::parse(&text) {
                    Line::Empty => warned = false,
                    line => return Ok(Ok(line)),
                },
                Entry::Interrupt if warned => return Ok(Err(Ending::Signalled(Caught::Interrupt))),
                Entry::Interrupt => {
                    warned = true;
                    self.stage.say("Ctrl-C again, or Ctrl-D, leaves");
                }
                Entry::End => return Ok(Err(self.ending())),
                Entry::Failed(message) => return Err(Failure::Runtime(message)),
            }
        }
    }

    async fn follow(
        &mut self,
        line: Line,
        engine: &mut EngineHandle,
        signals: &mut Signals,
    ) -> Result<Step, Failure> {
        match line {
            Line::Empty => {}
            Line::Prompt(text) => return Ok(self.turn(Command::Prompt(text.into()), engine, signals).await),
            Line::Compact => return Ok(self.turn(Command::Compact, engine, signals).await),
            Line::Context => self.show_context(engine, signals).await,
            Line::Help => self.stage.say(slash::HELP),
            Line::New => return Ok(Step::Restart),
            Line::Model(Some(name)) => {
                // A closed channel shows itself with the next turn.
                let _ = engine.commands.send(Command::SetModel(name)).await;
                self.show_answer(engine, signals).await;
            }
            Line::Model(None) => self.list_models(signals).await,
            Line::Sessions => self.list_sessions(),
            Line::Exit => return Ok(Step::Leave(self.ending())),
            Line::Unknown(name) => {
                self.stage.say(&format!("there is no command /{name}; these are there:\n{}", slash::HELP));
            }
        }
        Ok(Step::Stay)
    }

    async fn turn(&mut self, command: Command, engine: &mut EngineHandle, signals: &mut Signals) -> Step {
        // A closed channel shows itself as the end of the events.
        let _ = engine.commands.send(command).await;
        let mut person = match &mut self.input {
            Input::Editor(editor) => Person::typing(editor, self.settings),
            Input::Lines(_) => Person::Nobody,
        };
        let end = self.stage.turn(engine, signals, &mut person).await;
        if let Some(session) = &mut self.session {
            session.turns += 1;
        }
        let leaves = match (&end.cause, &end.summary) {
            (Cause::Finished | Cause::Signal(Caught::Interrupt), Some(_)) => None,
            (Cause::Finished | Cause::Signal(_) | Cause::Output(_) | Cause::EngineGone, _) => {
                Some(end.ending())
            }
        };
        self.last = Some(end);
        leaves.map_or(Step::Stay, Step::Leave)
    }

    /// What the engine says to a change of the model.
    async fn show_answer(&mut self, engine: &mut EngineHandle, signals: &mut Signals) {
        while let Ok(Some(event)) = unless_signalled(signals, engine.events.recv()).await {
            self.stage.show(&event);
            if matches!(event, Event::ModelChanged { .. } | Event::Error { .. }) {
                return;
            }
        }
    }

    async fn show_context(&mut self, engine: &mut EngineHandle, signals: &mut Signals) {
        // A closed channel shows itself with the next turn.
        let _ = engine.commands.send(Command::Context).await;
        while let Ok(Some(event)) = unless_signalled(signals, engine.events.recv()).await {
            self.stage.show(&event);
            if let Event::ContextUsage(usage) = event {
                self.stage.say(&zdx_protocol::display::context::usage(&usage));
                return;
            }
        }
    }

    async fn list_models(&mut self, signals: &mut Signals) {
        match unless_signalled(signals, start::models(self.settings)).await {
            Ok(Ok((offered, _))) if offered.is_empty() => self.stage.say("the provider names no models"),
            Ok(Ok((offered, _))) => {
                let names: Vec<String> = offered.into_iter().map(|model| model.name).collect();
                self.stage.say(&names.join("\n"));
            }
            Ok(Err(failure)) => self.stage.fail(&failure.message().unwrap_or_default()),
            Err(_) => {}
        }
    }

    fn list_sessions(&mut self) {
        match self.settings.sessions().list(Some(LISTED_SESSIONS)) {
            Ok(found) if found.is_empty() => self.stage.say("there is no saved session yet"),
            Ok(found) => {
                let home = self.settings.paths.home();
                let text = table(&found, Timestamp::now(), home, Some(terminal::width()));
                self.stage.say(text.trim_end());
            }
            Err(error) => self.stage.fail(&error.to_string()),
        }
    }

    /// How it ends when the user has nothing more to say: a script wants to know of a failure, a person saw it.
    fn ending(&self) -> Ending {
        match &self.last {
            Some(last) if !self.input.is_editor() => last.ending(),
            Some(_) | None => Ending::Completed,
        }
    }

    fn say_how_to_resume(&mut self) {
        if let Some(Session { id, saved: true, turns: 1.. }) = &self.session {
            self.stage.say(&format!("resume with: zdx sessions resume {id}"));
        }
    }
}
