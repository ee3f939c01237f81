//! The conversation in line mode: read a line, run a turn, again. stdout carries the assistant's text only;
//! the editor draws on the terminal itself and everything else goes to stderr. Knows the engine by its channels alone.

mod ahead;
mod answer;
mod editor;
mod input;
mod keyboard;
mod open;
mod person;
mod pick;
mod slash;
mod tab;
mod trust;
mod tty;

use zdx_protocol::prompt_history::LONGEST;
use zdx_protocol::query::Completions;
use zdx_protocol::slash::{Line, parse, unknown};
use zdx_protocol::{Command, EngineHandle, Event, Open, Query, Reply, SessionPick};

use crate::args::Format;
use crate::exit::{Ending, Failure};
use crate::front::{Closing, Front};
use crate::pump::{Cause, Stage, TurnEnd, unless_signalled};
use crate::settings::Settings;
use crate::signals::{Caught, Signals};
use crate::start::{self, Audience};

use editor::Editor;
use input::{Input, Lines, Typed};
use keyboard::ChatKeyboard;
use open::Opened;
pub use person::Person;
use tab::Asked;

/// `first` is what was said on the command line.
pub async fn chat(settings: &Settings, open: Open, first: Option<String>) -> Result<Ending, Failure> {
    let signals = Signals::listen().map_err(Failure::runtime)?;
    let stage = Stage::new(Front::new(settings)).map_err(Failure::runtime)?;
    let input = open_input(settings).map_err(Failure::runtime)?;
    let audience = match person::is_there(&input) {
        true => Audience::Person,
        false => Audience::Nobody,
    };
    let engine = start::engine(settings, audience);
    let mut chat = Chat {
        settings,
        stage,
        input,
        engine,
        signals,
        session: None,
        last: None,
        caught: None,
        offered: None,
    };
    let left = chat.run(open, first).await;
    let error = match &left {
        Ok(_) => chat.last.as_ref().and_then(TurnEnd::complaint),
        Err(failure) => failure.why(),
    };
    if let Some(error) = &error {
        chat.stage.fail(&error.message);
    }
    chat.say_how_to_resume();
    let closing = Closing {
        summary: chat.last.as_ref().and_then(|end| end.summary.as_ref()),
        interrupted: matches!(&left, Ok(Ending::Signalled(_))),
        error,
    };
    let unwritten = chat.stage.close(&closing, &mut chat.signals).await;
    match (left, unwritten) {
        (Ok(Ending::Completed), Some(error)) => Err(Failure::Output(error)),
        (Ok(ending), _) => Ok(ending),
        // It has been shown already.
        (Err(failure), _) => Ok(failure.ending()),
    }
}

/// The editor where a person can use one, a simpler reader on other terminals, plain reading anywhere else.
fn open_input(settings: &Settings) -> std::io::Result<Input> {
    let terminal = settings.terminal;
    let remembered = || settings.prompt_history().map(|history| history.load()).unwrap_or_default();
    let typed = terminal.stdin && settings.format == Format::Text;
    if typed
        && terminal.smart
        && let Ok(editor) = Editor::start(remembered())
    {
        return Ok(Input::Editor(editor));
    }
    if typed
        && terminal.stderr
        && let Ok(keyboard) = ChatKeyboard::open(false)
    {
        return Ok(Input::Keyboard(keyboard));
    }
    Lines::start().map(Input::Lines)
}

struct Chat<'a> {
    settings: &'a Settings,
    stage: Stage,
    input: Input,
    engine: EngineHandle,
    signals: Signals,
    /// The session to name when leaving: saved, and something was said in it.
    session: Option<Session>,
    last: Option<TurnEnd>,
    /// Zdx is told to go, while it waited for an answer of the engine.
    caught: Option<Caught>,
    /// Sessions that were listed to pick one from, by their number.
    offered: Option<Vec<String>>,
}

struct Session {
    id: String,
    saved: bool,
    turns: usize,
}

/// What a line leads to.
enum Step {
    Stay,
    Leave(Ending),
}

impl Chat<'_> {
    async fn run(&mut self, open: Open, mut first: Option<String>) -> Result<Ending, Failure> {
        match self.open(Command::Open(open)).await? {
            Opened::Yes => {}
            Opened::Refused(kind, why) => return Err(Failure::Refused(kind, why)),
            Opened::Leave(ending) => return Ok(self.leave(ending).await),
        }
        if self.input.is_editor() {
            self.stage.say("/help lists commands · Ctrl-C interrupts · Ctrl-D leaves");
        }
        loop {
            let line = match first.take().or_else(|| self.typed_ahead()) {
                Some(text) => Ok(self.begin(&text).await),
                None => self.next_line().await?,
            };
            let step = match line {
                Ok(line) => self.follow(line).await?,
                Err(ending) => Step::Leave(ending),
            };
            let step = self.caught.take().map_or(step, |caught| Step::Leave(Ending::Signalled(caught)));
            if let Step::Leave(ending) = step {
                return Ok(self.leave(ending).await);
            }
        }
    }

    /// A line that was typed before a question came. Behind a turn that was stopped or went wrong it is perhaps not wanted
    /// any more: then it stands in the next prompt until Enter sends it.
    fn typed_ahead(&mut self) -> Option<String> {
        let went_well = self.last.as_ref().is_none_or(|last| matches!(last.ending(), Ending::Completed));
        if went_well { self.input.typed_ahead() } else { None }
    }

    /// As if it had been typed here.
    async fn begin(&mut self, text: &str) -> Line {
        self.stage.say(&format!("> {}", text.trim_end().replace('\n', "\n> ")));
        self.remember(text).await;
        parse(text)
    }

    async fn leave(&mut self, ending: Ending) -> Ending {
        self.stage.shut_down(&mut self.engine, &mut self.signals).await;
        ending
    }

    /// The next line worth following, or how the conversation ends.
    async fn next_line(&mut self) -> Result<Result<Line, Ending>, Failure> {
        let mut warned = false;
        let mut asked = false;
        loop {
            if !asked && matches!(self.input, Input::Lines(_)) && self.settings.terminal.stdin {
                self.offer_line();
            }
            self.stage.settle().await;
            let entry = match unless_signalled(&mut self.signals, self.input.next(&mut self.stage)).await {
                Ok(entry) => entry,
                Err(Caught::Interrupt) if self.settings.terminal.stdin => Typed::Interrupt,
                Err(caught) => return Ok(Err(Ending::Signalled(caught))),
            };
            asked = matches!(entry, Typed::Complete(_));
            if let Some(caught) = self.caught.take() {
                return Ok(Err(Ending::Signalled(caught)));
            }
            match entry {
                Typed::Complete(asked) => self.complete(asked).await,
                Typed::Line(text) => {
                    self.remember(&text).await;
                    match parse(&text) {
                        Line::Empty => warned = false,
                        line => return Ok(Ok(line)),
                    }
                }
                Typed::Interrupt if warned => return Ok(Err(Ending::Signalled(Caught::Interrupt))),
                Typed::Interrupt => {
                    warned = true;
                    self.stage.say("Ctrl-C again, or Ctrl-D, leaves");
                }
                Typed::End => return Ok(Err(self.ending())),
                Typed::Failed(message) => return Err(Failure::Runtime(message)),
            }
        }
    }

    fn offer_line(&mut self) {
        if self.settings.format == Format::Text {
            self.stage.ask("> ");
        }
    }

    async fn complete(&mut self, asked: Asked) {
        let query = Query::Completions { line: asked.line.clone(), cursor: asked.cursor };
        let found = match self.ask(query).await {
            Some(Reply::Completions(found)) => found,
            _ => Completions::default(),
        };
        asked.answer(found);
    }

    /// Has a line kept in the prompt history. The editor offers it again as the history has it: redacted.
    async fn remember(&mut self, line: &str) {
        if line.trim().is_empty() || line.len() > LONGEST || !self.input.is_editor() {
            return;
        }
        let remembered = self.reply_to(Command::Remember { line: line.to_owned() }).await;
        if let (Some(Reply::Remembered(line)), Input::Editor(editor)) = (remembered, &self.input) {
            editor.remember(line);
        }
    }

    async fn follow(&mut self, line: Line) -> Result<Step, Failure> {
        let line = match self.picked(line) {
            Ok(id) => return self.switch(Command::Open(Open::Resume(SessionPick::Id(id)))).await,
            Err(line) => line,
        };
        match line {
            Line::Empty => Ok(Step::Stay),
            Line::Prompt(text) => Ok(self.turn(Command::Prompt(text.into())).await),
            Line::Shell(typed) => Ok(self.turn(Command::Shell(typed)).await),
            Line::NoCommand => {
                self.stage.say("nothing to run: a command goes behind the !, as in !git status");
                Ok(Step::Stay)
            }
            Line::Misused(why) => {
                self.stage.fail(&why);
                Ok(Step::Stay)
            }
            Line::Slash(action) => self.slash(action).await,
            Line::Custom { name, text } => Ok(self.custom(&name, text).await),
        }
    }

    /// One of the user's own or of this project, if there is one of that name.
    async fn custom(&mut self, name: &str, text: String) -> Step {
        match self.ask(Query::Commands).await {
            Some(Reply::Commands(known)) if known.iter().any(|command| command.name == name) => {
                return self.turn(Command::Prompt(text.into())).await;
            }
            _ => self.stage.say(&unknown(name)),
        }
        Step::Stay
    }

    async fn turn(&mut self, work: Command) -> Step {
        let command = self.engine.send(work).await;
        let mut person = Person::at(&mut self.input, self.settings);
        let end = self.stage.turn(command, &mut self.engine, &mut self.signals, &mut person).await;
        if let Some(session) = &mut self.session {
            session.turns += 1;
        }
        let leaves = match (&end.cause, &end.summary) {
            // Without a summary it could not be begun, and that was said.
            (Cause::Finished, _) | (Cause::Signal(Caught::Interrupt), Some(_)) => None,
            (Cause::Signal(_) | Cause::Output(_) | Cause::EngineGone, _) => Some(end.ending()),
        };
        self.last = Some(end);
        leaves.map_or(Step::Stay, Step::Leave)
    }

    /// Has something done that takes no turn, and shows what comes of it.
    async fn carry_out(&mut self, command: Command) {
        if let Some(event) = self.end_of(command).await {
            self.stage.show(&event);
        }
    }

    /// How a command ended; nothing when it was not waited for to the end.
    async fn end_of(&mut self, command: Command) -> Option<Event> {
        let id = self.engine.send(command).await;
        match self.stage.until_over(id, &mut self.engine, &mut self.signals).await {
            // An engine that is gone shows itself with the next turn.
            Ok(end) => end,
            Err(Caught::Interrupt) => {
                self.engine.send(Command::Interrupt).await;
                self.stage.say("interrupted");
                None
            }
            Err(caught) => {
                self.caught = Some(caught);
                None
            }
        }
    }

    /// The answer to a question; without one the user has been told why.
    async fn ask(&mut self, query: Query) -> Option<Reply> {
        self.reply_to(Command::Ask(query)).await
    }

    async fn reply_to(&mut self, command: Command) -> Option<Reply> {
        match self.end_of(command).await? {
            Event::Reply { answer, .. } => Some(answer),
            event => {
                self.stage.show(&event);
                None
            }
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
