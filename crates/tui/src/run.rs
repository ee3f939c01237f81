//! The loop: what is typed, what the engine tells, signals and time go into the state; what that wants done is done; and at
//! most sixty times a second the screen is brought up to date. Nothing runs while nothing happens.

mod editor;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};
use zdx_protocol::display::format::count;
use zdx_protocol::{Command, CommandId, EngineHandle, Event, Open};

use crate::app::{Effect, Input, Left, Purpose, Size, State};
use crate::composer::{Composer, History};
use crate::term::{Copied, Environment, Input as Keyboard, Report, Screen, TermInput};
use crate::theme::Theme;
use crate::write::code;

/// Between two frames.
const FRAME: Duration = Duration::from_millis(16);
const SECOND: Duration = Duration::from_secs(1);
/// How long an engine that was told to go may take to stop and save.
const GRACE: Duration = Duration::from_secs(3);
/// Events taken in before the next look at the keyboard.
const BURST: usize = 512;
const NOBODY_TO_WAKE: &str = "there is no shell to come back from: not suspended";

/// Reads the prompts of earlier conversations, oldest first. Blocks on the disk.
pub type HistoryLoader = Box<dyn FnOnce() -> Vec<String> + Send>;

/// What a conversation on a terminal begins with.
pub struct Setup {
    pub open: Open,
    /// Said on the command line.
    pub first: Option<String>,
    pub home: Option<PathBuf>,
    /// None: nothing is kept across restarts.
    pub history: Option<HistoryLoader>,
    pub terminal: Environment,
    /// The user's own, as a shell would run it.
    pub editor: Option<String>,
}

/// How it ended, and what there is to come back to.
#[derive(Debug)]
pub struct Closed<S> {
    pub why: Ended<S>,
    /// A saved session in which something was said.
    pub session: Option<String>,
}

#[derive(Debug)]
pub enum Ended<S> {
    Left(Left),
    /// By a signal.
    Stopped(S),
}

/// A signal that ends the program.
pub trait Stop {
    /// Ctrl-C, which an editor that has the terminal takes for its own.
    fn is_interrupt(&self) -> bool;
}

/// `stops` tells of signals that end the program.
pub async fn run<S: Stop>(
    engine: EngineHandle,
    setup: Setup,
    stops: &mut mpsc::Receiver<S>,
) -> io::Result<Closed<S>> {
    let mut this = Front::open(engine, setup)?;
    let why = this.converse(stops).await;
    this.close(why, stops).await
}

struct Front {
    engine: EngineHandle,
    screen: Screen,
    keyboard: Keyboard,
    typed: mpsc::Receiver<TermInput>,
    state: State,
    /// What is wanted of the commands that are under way.
    sent: HashMap<CommandId, Purpose>,
    /// Commands for which the engine had no room yet.
    unsent: VecDeque<(Purpose, Command)>,
    /// What was in the history is on its way.
    loading: Option<JoinHandle<Vec<String>>>,
    editor: Option<String>,
    /// Something changed since the last frame.
    stale: bool,
    /// When the next frame may be drawn.
    next_frame: Instant,
    tick: Instant,
}

/// What ended a wait.
enum Woken<S> {
    Typed(Option<TermInput>),
    Told(Option<Box<Event>>),
    Stopped(S),
    Remembered(Vec<String>),
    Settle,
    Frame,
    /// The request in view got the focus.
    Focus,
    Tick,
}

impl Front {
    fn open(engine: EngineHandle, setup: Setup) -> io::Result<Self> {
        let screen = Screen::open(&setup.terminal)?;
        let theme = theme(&screen);
        let state = State::new(theme, setup.home, Composer::new(History::default()), setup.first);
        let (keyboard, typed) = Keyboard::start(&screen)?;
        let mut this = Self {
            engine,
            screen,
            keyboard,
            typed,
            state,
            sent: HashMap::new(),
            unsent: VecDeque::new(),
            loading: None,
            editor: setup.editor,
            stale: true,
            next_frame: Instant::now(),
            tick: Instant::now() + SECOND,
        };
        // The composer first: everything else loads behind it.
        this.draw()?;
        this.loading = setup.history.map(tokio::task::spawn_blocking);
        this.unsent.push_back((Purpose::Begin, Command::Open(setup.open)));
        Ok(this)
    }

    async fn converse<S: Stop>(&mut self, stops: &mut mpsc::Receiver<S>) -> io::Result<Ended<S>> {
        loop {
            self.send_waiting();
            let effects = match self.wait(stops).await {
                // The terminal is gone, and so is the person.
                Woken::Typed(None | Some(TermInput::Gone)) => return Ok(Ended::Left(Left::Meant)),
                Woken::Typed(Some(input)) => self.take_key(input)?,
                Woken::Told(Some(event)) => self.told(*event),
                Woken::Told(None) => self.update(Input::EngineGone),
                Woken::Stopped(stop) => return Ok(Ended::Stopped(stop)),
                Woken::Remembered(lines) => {
                    self.loading = None;
                    self.update(Input::Remembered(lines))
                }
                Woken::Settle => {
                    self.screen.settle(std::time::Instant::now())?;
                    self.stale = true;
                    Vec::new()
                }
                Woken::Frame => {
                    self.draw()?;
                    Vec::new()
                }
                Woken::Focus => {
                    self.stale = true;
                    Vec::new()
                }
                Woken::Tick => {
                    self.tick = Instant::now() + SECOND;
                    self.update(Input::Tick)
                }
            };
            if let Some(ended) = self.carry_out(effects, stops).await? {
                return Ok(ended);
            }
        }
    }

    async fn wait<S>(&mut self, stops: &mut mpsc::Receiver<S>) -> Woken<S> {
        let loading = async {
            match &mut self.loading {
                // A history that cannot be read is an empty one.
                Some(loading) => loading.await.unwrap_or_default(),
                None => std::future::pending().await,
            }
        };
        let focus_due = self.state.focus_due(std::time::Instant::now()).map(Instant::from_std);
        tokio::select! {
            biased;
            Some(stop) = stops.recv() => Woken::Stopped(stop),
            input = self.typed.recv() => Woken::Typed(input),
            () = self.screen.settles() => Woken::Settle,
            () = sleep_until(self.next_frame), if self.stale => Woken::Frame,
            event = self.engine.events.recv() => Woken::Told(event.map(Box::new)),
            lines = loading => Woken::Remembered(lines),
            () = sleep_until(focus_due.unwrap_or(self.tick)), if focus_due.is_some() => Woken::Focus,
            () = sleep_until(self.tick), if self.state.needs_tick() => Woken::Tick,
        }
    }

    fn update(&mut self, input: Input) -> Vec<Effect> {
        self.stale = true;
        self.state.update(input, std::time::Instant::now())
    }

    /// What is typed is drawn at once: nobody waits for a frame to see a letter.
    fn take_key(&mut self, input: TermInput) -> io::Result<Vec<Effect>> {
        let effects = match input {
            TermInput::Key(key) => self.update(Input::Key(key)),
            TermInput::Paste(text) => self.update(Input::Paste(text)),
            TermInput::Resize => {
                self.screen.resized(std::time::Instant::now());
                self.stale = true;
                return Ok(Vec::new());
            }
            TermInput::Report(report) => {
                self.learn(&report)?;
                return Ok(Vec::new());
            }
            TermInput::Stop => {
                self.screen.suspend(&mut self.keyboard)?;
                self.came_back();
                return Ok(Vec::new());
            }
            TermInput::Continue => {
                self.screen.resume()?;
                self.came_back();
                return Ok(Vec::new());
            }
            TermInput::Focus(_) | TermInput::Gone => return Ok(Vec::new()),
        };
        self.draw()?;
        Ok(effects)
    }

    /// The shell was here meanwhile: what was typed for it answers no question.
    fn came_back(&mut self) {
        self.state.came_back(std::time::Instant::now());
        self.stale = true;
    }

    fn learn(&mut self, report: &Report) -> io::Result<()> {
        if self.screen.reported(report)? {
            self.state.theme = theme(&self.screen);
            self.stale = true;
        }
        self.see();
        Ok(())
    }

    /// Takes in what has come, up to a measure: the keyboard must not wait for a talkative engine.
    fn told(&mut self, event: Event) -> Vec<Effect> {
        let mut effects = self.take_in(event);
        for _ in 1..BURST {
            match self.engine.events.try_recv() {
                Ok(event) => effects.extend(self.take_in(event)),
                Err(_) => break,
            }
        }
        effects
    }

    fn take_in(&mut self, event: Event) -> Vec<Effect> {
        let input = match event.ends() {
            Some(id) => match self.sent.remove(&id) {
                Some(purpose) => Input::Ended(purpose, event),
                None => return Vec::new(),
            },
            None => Input::Event(event),
        };
        self.update(input)
    }

    fn send_waiting(&mut self) {
        while let Some((purpose, command)) = self.unsent.pop_front() {
            match self.engine.try_send(command.clone()) {
                Some(id) => {
                    self.sent.insert(id, purpose);
                }
                None => {
                    self.unsent.push_front((purpose, command));
                    return;
                }
            }
        }
    }

    /// Comes back with the reason when the person leaves.
    async fn carry_out<S: Stop>(
        &mut self,
        effects: Vec<Effect>,
        stops: &mut mpsc::Receiver<S>,
    ) -> io::Result<Option<Ended<S>>> {
        let mut effects = VecDeque::from(effects);
        while let Some(effect) = effects.pop_front() {
            match effect {
                Effect::Send(purpose, command) => {
                    if purpose == Purpose::Turn {
                        // Code is to be expected: the languages load while the model thinks.
                        drop(tokio::task::spawn_blocking(code::warm));
                    }
                    self.unsent.push_back((purpose, command));
                }
                Effect::Copy(text) => {
                    let said = copied(self.screen.copy(&text)?, &text);
                    effects.extend(self.update(Input::Said(said)));
                }
                Effect::Bell => self.screen.bell()?,
                Effect::Redraw => {
                    self.screen.hand_over(&mut self.keyboard)?;
                    self.screen.take_back(&mut self.keyboard)?;
                    self.stale = true;
                }
                Effect::Suspend => {
                    // Without anybody to wake us up we would be gone for good.
                    if !self.screen.ask_to_stop() {
                        effects.extend(self.update(Input::Said(NOBODY_TO_WAKE.to_owned())));
                    }
                }
                Effect::Edit(text) => {
                    self.screen.hand_over(&mut self.keyboard)?;
                    let edited = match self.edited(&text, stops).await {
                        Ok(edited) => edited,
                        Err(stop) => return Ok(Some(Ended::Stopped(stop))),
                    };
                    self.screen.take_back(&mut self.keyboard)?;
                    effects.extend(self.update(Input::Edited(edited)));
                }
                Effect::Leave(left) => return Ok(Some(Ended::Left(left))),
            }
        }
        Ok(None)
    }

    fn draw(&mut self) -> io::Result<()> {
        let (size, now) = (self.size(), std::time::Instant::now());
        let page = self.state.page(size, now);
        self.screen.page(page.as_ref())?;
        if page.is_none() {
            self.state.tells_what_is_seen(self.screen.acknowledges());
            let frame = self.state.frame(size, now);
            self.screen.draw(&frame)?;
            self.screen.title(&self.state.title())?;
            self.see();
        }
        self.stale = false;
        self.next_frame = Instant::now() + FRAME;
        Ok(())
    }

    /// A question can be answered only once it was shown.
    fn see(&mut self) {
        let now = std::time::Instant::now();
        if self.screen.is_caught_up(now) {
            self.state.seen(now);
        }
    }

    fn size(&self) -> Size {
        let (columns, rows) = self.screen.size();
        Size { columns, rows }
    }

    /// Lets the engine stop and save, shows what it still says, and leaves the terminal as it was found.
    async fn close<S>(
        mut self,
        why: io::Result<Ended<S>>,
        stops: &mut mpsc::Receiver<S>,
    ) -> io::Result<Closed<S>> {
        self.unsent.push_back((Purpose::Shutdown, Command::Shutdown));
        let drained = async {
            loop {
                self.send_waiting();
                match self.engine.events.recv().await {
                    Some(event) => drop(self.take_in(event)),
                    None => return,
                }
            }
        };
        // A terminal that is closed is followed by its signal: only what comes after that is impatience.
        let mut caught = None;
        let hurried = async {
            if !matches!(why, Ok(Ended::Stopped(_))) {
                caught = stops.recv().await;
            }
            stops.recv().await
        };
        tokio::select! {
            _ = timeout(GRACE, drained) => {}
            Some(_) = hurried => {}
        }
        let why = match (why, caught) {
            (Ok(Ended::Left(Left::Meant)) | Err(_), Some(stop)) => Ok(Ended::Stopped(stop)),
            (why, _) => why,
        };
        let session = self.state.session().filter(|open| open.saved && open.used).map(|open| open.id.clone());
        // A terminal that is gone cannot be drawn on, and need not be.
        let _ = self.last_frame();
        // Two that read the last answers of a terminal would take them from each other, and wait for ever.
        self.keyboard.pause();
        self.screen.close();
        Ok(Closed { why: why?, session })
    }

    /// The conversation as it stands, without a composer below it.
    fn last_frame(&mut self) -> io::Result<()> {
        self.screen.page(None)?;
        let frame = self.state.last_frame(self.size(), std::time::Instant::now());
        self.screen.draw(&frame)
    }
}

fn theme(screen: &Screen) -> Theme {
    let known = screen.capabilities();
    Theme::new(known.depth, known.light)
}

fn copied(became: Copied, text: &str) -> String {
    let lines = count(text.lines().count(), "line");
    match became {
        Copied::Clipboard => format!("copied {lines}"),
        Copied::TmuxBuffer => format!("copied {lines} to tmux's buffer (prefix ] pastes it)"),
        Copied::TooLong => format!("{lines} are too much for a terminal's clipboard; /export writes a file"),
    }
}
