//! The conversation in line mode: read a line, run a turn, again. stdout carries the assistant's text only;
//! the editor draws on the terminal itself and everything else goes to stderr.

mod editor;
mod history;
mod input;
mod keys;
mod person;
mod slash;
mod tab;
mod trust;
mod tty;

use jiff::Timestamp;
use zdx_engine::RESERVED;
use zdx_engine::library::{Commands, Places};
use zdx_engine::policy::trust::Digest;
use zdx_protocol::{Approval, Command, EngineHandle, Event, Listing, NoticeLevel};

use crate::args::Format;
use crate::commands::sessions::table;
use crate::exit::{Ending, Failure};
use crate::front::{Closing, Front};
use crate::pump::{Cause, Stage, TurnEnd, unless_signalled};
use crate::settings::{SessionPick, Settings};
use crate::signals::{Caught, Signals};
use crate::start::{self, Audience, Started};
use crate::{terminal, words};

use editor::Editor;
use input::{Entry, Input, Lines};
pub use person::Person;
use slash::Line;
use tab::Tab;

const LISTED_SESSIONS: usize = 20;

pub async fn chat(settings: &Settings, pick: SessionPick) -> Result<Ending, Failure> {
    let mut signals = Signals::listen().map_err(Failure::runtime)?;
    let stage = Stage::new(Front::new(settings)).map_err(Failure::runtime)?;
    let input = open_input(settings).map_err(Failure::runtime)?;
    let mut chat = Chat { settings, stage, input, session: None, last: None, declined: None };
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
        if let Ok(editor) = Editor::start(history, Tab::new(settings.paths.clone(), settings.root.clone())) {
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
    /// What the person was asked to trust and would not: not asked about again.
    declined: Option<Digest>,
}

struct Session {
    id: String,
    saved: bool,
    turns: usize,
}

/// What a line leads to.
enum Step {
    Stay,
    /// Goes on with another session.
    Restart(SessionPick),
    Leave(Ending),
}

impl Chat<'_> {
    async fn run(&mut self, pick: &SessionPick, signals: &mut Signals) -> Result<Ending, Failure> {
        let mut engine = match self.begin(pick, signals).await? {
            Ok(engine) => engine,
            Err(ending) => return Ok(ending),
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
                Step::Restart(pick) => {
                    self.stage.shut_down(engine, signals).await;
                    engine = match self.begin(&pick, signals).await? {
                        Ok(engine) => engine,
                        Err(ending) => return Ok(ending),
                    };
                }
            }
        }
    }

    async fn begin(
        &mut self,
        pick: &SessionPick,
        signals: &mut Signals,
    ) -> Result<Result<EngineHandle, Ending>, Failure> {
        if let Some(ending) = self.settle_trust(signals).await? {
            return Ok(Err(ending));
        }
        let audience = match person::is_there(&self.input, self.settings) {
            true => Audience::Person,
            false => Audience::Nobody,
        };
        let starting = start::engine(self.settings, pick, audience);
        let Started { mut engine, notices, redactor } = match unless_signalled(signals, starting).await {
            Ok(started) => started?,
            Err(caught) => return Ok(Err(Ending::Signalled(caught))),
        };
        if let Input::Editor(editor) = &mut self.input {
            editor.redactor = Some(redactor);
        }
        match unless_signalled(signals, engine.events.recv()).await {
            Ok(Some(event)) => {
                self.stage.show(&event);
                if let Event::SessionStarted(info) = event {
                    if let Some(last) = info.last.as_ref().filter(|_| audience == Audience::Person) {
                        words::left_at(last).iter().for_each(|line| self.stage.say(line));
                    }
                    self.session = Some(Session { id: info.session, saved: info.saved, turns: 0 });
                }
            }
            Ok(None) => {
                return Err(Failure::runtime("the engine stopped without a word; this is a bug in zdx"));
            }
            Err(caught) => return Ok(Err(Ending::Signalled(caught))),
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

    /// Asks about a folder whose files want more than they get, before anything of them is used. Gives an ending when
    /// the person would rather not be here.
    async fn settle_trust(&mut self, signals: &mut Signals) -> Result<Option<Ending>, Failure> {
        let Input::Editor(editor) = &mut self.input else { return Ok(None) };
        let configured = start::configured(self.settings)?;
        if configured.wants.is_empty() || self.declined == Some(configured.files.digest()) {
            return Ok(None);
        }
        match trust::ask(&configured, self.settings, editor, &mut self.stage, signals).await {
            Ok(trust::Answer::Trust) => {
                let remembered = self.settings.trust_store().trust(&self.settings.root, &configured.files);
                remembered.map_err(Failure::runtime)?;
            }
            Ok(trust::Answer::NotNow) => self.declined = Some(configured.files.digest()),
            Ok(trust::Answer::Leave) => return Ok(Some(Ending::Completed)),
            Err(caught) => return Ok(Some(Ending::Signalled(caught))),
        }
        Ok(None)
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
            Line::Prompt(text) => {
                return Ok(self.turn(Command::Prompt(text.into()), engine, signals).await);
            }
            Line::Shell(typed) => return Ok(self.turn(Command::Shell(typed), engine, signals).await),
            Line::NoCommand => {
                self.stage.say("nothing to run: a command goes behind the !, as in !git status")
            }
            Line::Compact => return Ok(self.turn(Command::Compact, engine, signals).await),
            Line::Context => self.show_context(engine, signals).await,
            Line::Help => self.stage.say(slash::HELP),
            Line::New => {
                return Ok(Step::Restart(match self.settings.session {
                    SessionPick::Unsaved => SessionPick::Unsaved,
                    _ => SessionPick::New,
                }));
            }
            Line::Fork(turn) => {
                if let Some(pick) = self.fork(turn) {
                    return Ok(Step::Restart(pick));
                }
            }
            Line::Revert(turn) => self.go(Command::Revert { turn }, engine, signals).await,
            Line::Redo => self.go(Command::Redo, engine, signals).await,
            Line::Summarize => self.summarize(signals).await,
            Line::Misused(why) => self.stage.fail(&why),
            Line::Model(Some(name)) => {
                // A closed channel shows itself with the next turn.
                let _ = engine.commands.send(Command::SetModel(name)).await;
                self.show_answer(engine, signals).await;
            }
            Line::Model(None) => self.list_models(signals).await,
            Line::Sessions => self.list_sessions(),
            Line::Exit => return Ok(Step::Leave(self.ending())),
            Line::Agent(Some(name)) => {
                let _ = engine.commands.send(Command::SetAgent(name)).await;
                self.show_answer(engine, signals).await;
            }
            Line::Agent(None) => self.list(Listing::Agents, engine, signals).await,
            Line::List(what) => self.list(what, engine, signals).await,
            Line::Approval(preset) => match approval(&preset) {
                Some(approval) => {
                    let _ = engine.commands.send(Command::SetApproval(approval)).await;
                    self.stage.say(&format!("approval: {preset}"));
                }
                None => self.stage.fail("one of yolo, balanced, paranoid goes behind /approval"),
            },
            Line::Export(path) => self.export(path),
            Line::Custom { name, text } if self.has_command(&name) => {
                return Ok(self.turn(Command::Prompt(text.into()), engine, signals).await);
            }
            Line::Custom { name, .. } => {
                self.stage.say(&format!("there is no command /{name}; these are there:\n{}", slash::HELP));
            }
        }
        Ok(Step::Stay)
    }

    /// One of the user's own or of this project, as it is on the disk now.
    fn has_command(&self, name: &str) -> bool {
        let places = Places::new(&self.settings.root, &self.settings.paths);
        Commands::load(&places, &RESERVED).0.get(name).is_some()
    }

    async fn list(&mut self, what: Listing, engine: &mut EngineHandle, signals: &mut Signals) {
        let _ = engine.commands.send(Command::List(what)).await;
        self.show_answer(engine, signals).await;
    }

    /// Never over a file that is there.
    fn export(&mut self, path: Option<String>) {
        let Some(session) = self.session.as_ref().filter(|session| session.saved && session.turns > 0) else {
            self.stage.fail("nothing is saved yet to write down");
            return;
        };
        let name = path.unwrap_or_else(|| format!("zdx-{}.txt", session.id.get(..8).unwrap_or(&session.id)));
        let path = self.settings.root.join(&name);
        match crate::commands::sessions::export(self.settings, &session.id, &path) {
            Ok(()) => self.stage.say(&format!("written to {}", path.display())),
            Err(failure) => {
                self.stage.fail(&failure.message().unwrap_or_else(|| "it could not be written".to_owned()));
            }
        }
    }

    async fn turn(&mut self, work: Command, engine: &mut EngineHandle, signals: &mut Signals) -> Step {
        // A closed channel shows itself as the end of the events.
        let _ = engine.commands.send(work).await;
        let mut person = Person::at(&mut self.input, self.settings);
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
            let answers = [
                matches!(event, Event::ModelChanged { .. } | Event::AgentChanged { .. }),
                matches!(event, Event::Listed { .. } | Event::Error { .. }),
            ];
            if answers.contains(&true) {
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

fn approval(preset: &str) -> Option<Approval> {
    match preset {
        "yolo" | "god_mode" => Some(Approval::Yolo),
        "balanced" => Some(Approval::Balanced),
        "paranoid" => Some(Approval::Paranoid),
        _ => None,
    }
}
