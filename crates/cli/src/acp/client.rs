//! Our side of the connection while something is waited for: what the agent says is shown, what it asks is answered, signals
//! are heard. Knows how one waits, not what a session is.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;
use zdx_acp::shapes::{Calls, Choices, CommandInfo, SessionUpdate, Update};
use zdx_acp::{CallError, Direction, Frame, Heard, Host, HostEvent, Inbox, Peer, RpcError, Tap};
use zdx_engine::agents::AgentProcess;

use super::desk::Desk;
use super::render::Stage;
use crate::signals::{Caught, Signals};

/// What an agent gets to end its turn once it was called off.
const CALLED_OFF: Duration = Duration::from_secs(2);
/// What a reader that takes nothing is given after a signal of a program.
const LAST_WORDS: Duration = Duration::from_secs(3);
/// What a word to an agent that does not read may take.
const A_WORD: Duration = Duration::from_millis(300);

/// Why something has no answer.
#[derive(Debug)]
pub enum Stop {
    Signal(Caught),
    /// stdout cannot be written any more.
    Output(io::Error),
    /// It said no.
    Refused(RpcError),
    /// It will never answer.
    Gone,
    /// It did not answer in time.
    Late(Duration),
}

/// What is known of the session that the connection is about.
#[derive(Default)]
pub struct Known {
    pub session: Option<String>,
    pub choices: Choices,
    /// Once they were told.
    pub commands: Option<Vec<CommandInfo>>,
    pub calls: Calls,
    /// An old conversation is told again: nobody wants to read it.
    pub quiet: bool,
    /// How much of it was.
    pub told_again: usize,
}

pub struct Client<H> {
    pub agent: AgentProcess,
    pub peer: Peer,
    pub desk: Desk<H>,
    pub stage: Stage,
    pub signals: Signals,
    pub known: Known,
    /// Somebody asked twice to leave.
    pub hurried: bool,
    /// A program told us to go, which nobody can be asked to do twice.
    dismissed: bool,
    inbox: Option<Inbox>,
    events: mpsc::UnboundedReceiver<HostEvent>,
    frames: Option<mpsc::UnboundedReceiver<Vec<u8>>>,
}

/// Where a mirror gets its lines from: frames of both ways in the order of the wire.
pub fn tap() -> (Tap, mpsc::UnboundedReceiver<Vec<u8>>) {
    let (lines, frames) = mpsc::unbounded_channel();
    let tap: Tap = Arc::new(move |direction, line| {
        let is_frame = match direction {
            Direction::Sent => true,
            Direction::Received => Frame::read(line).is_ok(),
        };
        if is_frame {
            // Nobody mirrors any more.
            let _ = lines.send(line.to_vec());
        }
    });
    (tap, frames)
}

enum Woke<T> {
    Answer(T),
    Stop(Stop),
    Again,
}

enum News {
    Host(HostEvent),
    Frame(Vec<u8>),
    /// Or that nothing will be heard any more.
    Heard(Option<Heard>),
}

impl<H: Host> Client<H> {
    pub fn new(
        (agent, peer, inbox): (AgentProcess, Peer, Inbox),
        (host, events): (H, mpsc::UnboundedReceiver<HostEvent>),
        stage: Stage,
        signals: Signals,
        frames: Option<mpsc::UnboundedReceiver<Vec<u8>>>,
    ) -> Self {
        Self {
            agent,
            peer,
            desk: Desk::new(host),
            stage,
            signals,
            known: Known::default(),
            hurried: false,
            dismissed: false,
            inbox: Some(inbox),
            events,
            frames,
        }
    }

    pub async fn call(&mut self, method: &str, params: Value, limit: Duration) -> Result<Value, Stop> {
        let peer = self.peer.clone();
        let call = peer.call(method, params);
        self.wait(call, Some(limit)).await?.map_err(Stop::from)
    }

    /// Waits for something else than an answer, as long as it may take, and says whether it came.
    pub async fn wait_until(
        &mut self,
        limit: Duration,
        there: impl Fn(&Known) -> bool,
    ) -> Result<bool, Stop> {
        let mut deadline = Some(Instant::now() + limit);
        loop {
            if there(&self.known) {
                return Ok(true);
            }
            if self.inbox.is_none() {
                return Ok(false);
            }
            match self.step(&mut pin!(std::future::pending::<()>()), &mut deadline, false).await {
                Woke::Answer(()) | Woke::Again => {}
                Woke::Stop(Stop::Late(_)) => return Ok(false),
                Woke::Stop(stop) => return Err(stop),
            }
        }
    }

    /// One turn. Called off by a signal, it may end by itself for a while; a second signal ends that.
    pub async fn turn(&mut self, session: &str, params: Value) -> Result<Value, Stop> {
        let peer = self.peer.clone();
        let mut call = pin!(peer.call("session/prompt", params));
        let (mut why, mut deadline) = (None, None);
        loop {
            let stop = match self.step(&mut call, &mut deadline, why.is_some()).await {
                Woke::Again => continue,
                Woke::Answer(answer) => {
                    self.drain();
                    return match why {
                        Some(why) => Err(why),
                        None => answer.map_err(Stop::from),
                    };
                }
                Woke::Stop(stop) => stop,
            };
            if matches!(stop, Stop::Gone) {
                return Err(why.unwrap_or(stop));
            }
            if let Some(why) = why {
                self.hurried = matches!(stop, Stop::Signal(_));
                return Err(why);
            }
            why = Some(stop);
            deadline = Some(Instant::now() + CALLED_OFF);
            self.desk.host.cancel();
            let cancel = self.peer.notify("session/cancel", json!({"sessionId": session}));
            let _ = tokio::time::timeout(A_WORD, cancel).await;
        }
    }

    pub async fn wait<T>(
        &mut self,
        work: impl Future<Output = T>,
        limit: Option<Duration>,
    ) -> Result<T, Stop> {
        let mut work = pin!(work);
        let mut deadline = limit.map(|limit| Instant::now() + limit);
        loop {
            match self.step(&mut work, &mut deadline, false).await {
                Woke::Again => {}
                Woke::Answer(value) => {
                    self.drain();
                    return Ok(value);
                }
                Woke::Stop(Stop::Late(_)) => return Err(Stop::Late(limit.unwrap_or_default())),
                Woke::Stop(stop) => return Err(stop),
            }
        }
    }

    /// Until something happens. Who is being called off is not kept waiting by a reader that may never read on. While
    /// nothing is taken in, because of such a reader, the agent is neither late nor over.
    async fn step<F: Future>(
        &mut self,
        work: &mut Pin<&mut F>,
        deadline: &mut Option<Instant>,
        hurried: bool,
    ) -> Woke<F::Output> {
        let (room, began) = (hurried || self.stage.has_room(), Instant::now());
        let woke = self.wake(work, deadline.filter(|_| room), room).await;
        if !room {
            *deadline = deadline.map(|deadline| deadline + began.elapsed());
            self.agent.still_heard();
        }
        if let Woke::Stop(Stop::Signal(Caught::Terminate | Caught::HangUp)) = woke {
            self.dismissed = true;
        }
        woke
    }

    async fn wake<F: Future>(
        &mut self,
        work: &mut Pin<&mut F>,
        deadline: Option<Instant>,
        room: bool,
    ) -> Woke<F::Output> {
        let Self { stage: Stage { page, output, .. }, signals, inbox, events, frames, desk, agent, .. } =
            self;
        let news = tokio::select! {
            biased;
            caught = signals.next() => return Woke::Stop(Stop::Signal(caught)),
            error = output.failures.next() => return Woke::Stop(Stop::Output(error)),
            () = tokio::time::sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                return Woke::Stop(Stop::Late(Duration::ZERO));
            }
            slot = output.pages.ready(), if !page.is_empty() => {
                slot.send(page);
                return Woke::Again;
            }
            () = desk.tidy() => return Woke::Again,
            Some(event) = events.recv(), if room => News::Host(event),
            Some(line) = lines(frames), if room => News::Frame(line),
            heard = said(inbox), if room && desk.has_room() => News::Heard(heard),
            value = work => return Woke::Answer(value),
            () = agent.over(), if room => return Woke::Stop(Stop::Gone),
        };
        self.take(news);
        Woke::Again
    }

    fn take(&mut self, news: News) {
        match news {
            News::Host(event) => self.stage.host(&event),
            News::Frame(line) => {
                self.stage.frame(&line);
                self.drain_some();
            }
            News::Heard(Some(heard)) => {
                self.hear(heard);
                self.drain_some();
            }
            News::Heard(None) => self.inbox = None,
        }
    }

    /// All that has arrived. What came before an answer is in here before the answer is given.
    fn drain(&mut self) {
        while let Some(heard) = self.inbox.as_mut().and_then(|inbox| inbox.try_recv().ok()) {
            self.hear(heard);
        }
        while let Ok(event) = self.events.try_recv() {
            self.stage.host(&event);
        }
        while let Some(line) = self.frames.as_mut().and_then(|frames| frames.try_recv().ok()) {
            self.stage.frame(&line);
        }
    }

    /// As much of it as goes on a page, and on the desk.
    fn drain_some(&mut self) {
        while self.stage.has_room() {
            let Some(line) = self.frames.as_mut().and_then(|frames| frames.try_recv().ok()) else { break };
            self.stage.frame(&line);
        }
        while self.stage.has_room() && self.desk.has_room() {
            let Some(heard) = self.inbox.as_mut().and_then(|inbox| inbox.try_recv().ok()) else { return };
            self.hear(heard);
        }
    }

    fn hear(&mut self, heard: Heard) {
        if !matches!(heard, Heard::Stray { .. }) {
            self.agent.still_heard();
        }
        match heard {
            Heard::Request(mut asked) => {
                if asked.method == "session/request_permission" {
                    self.about_call(&mut asked.params);
                }
                self.desk.take(asked);
            }
            Heard::Notification { method, params } if method == "session/update" => {
                self.update(SessionUpdate::read(params));
            }
            Heard::Notification { method, params } if method == "$/cancel_request" => {
                self.desk.take_back(&params);
            }
            // Of no use to a client that only prints; unknown ones are to be ignored.
            Heard::Notification { .. } => {}
            Heard::Stray { line, .. } => self.stage.stray(&line),
        }
    }

    fn update(&mut self, told: SessionUpdate) {
        let ours = match (&told.session, &self.known.session) {
            (Some(theirs), Some(ours)) => theirs == ours,
            (None, _) | (_, None) => true,
        };
        if !ours {
            return;
        }
        let mut update = told.update;
        match &mut update {
            Update::Call(call) => *call = self.known.calls.fold(call),
            Update::Commands(commands) => self.known.commands = Some(commands.clone()),
            Update::Mode(mode) => self.known.choices.set_mode(mode.clone()),
            Update::Options(options) => self.known.choices.replace(options.clone()),
            Update::User(_)
            | Update::Message(_)
            | Update::Thought(_)
            | Update::Plan(_)
            | Update::Notice { .. }
            | Update::Unknown(_) => {}
        }
        match self.known.quiet {
            true => self.known.told_again += 1,
            false => self.stage.update(update),
        }
    }

    /// A permission may name its call by id alone, or be the first word of it.
    fn about_call(&mut self, params: &mut Value) {
        if params["toolCall"].is_object() {
            let call = self.known.calls.fold(&params["toolCall"]);
            if !self.known.quiet {
                self.stage.update(Update::Call(call.clone()));
            }
            params["toolCall"] = call;
        }
    }

    /// Everything said so far stands on the screen; a signal means that the reader is not worth waiting for.
    pub async fn settle(&mut self) -> Option<io::Error> {
        self.drain();
        let patience = self.patience();
        self.hurried |= settle(&mut self.stage, &mut self.signals, patience).await;
        self.stage.output.failures.take()
    }

    /// What a reader that takes nothing is given; without a signal, or after one that can be given again, all the time.
    fn patience(&self) -> Option<Duration> {
        match (self.hurried, self.dismissed) {
            (true, _) => Some(A_WORD),
            (false, true) => Some(LAST_WORDS),
            (false, false) => None,
        }
    }

    /// Hangs up: nothing is asked or answered any more, and the agent's stdin closes. What is left can still show what
    /// arrives.
    pub async fn hang_up(self) -> Rest {
        let patience = self.patience();
        let Self { agent, peer, desk, stage, signals, frames, inbox, .. } = self;
        desk.close().await;
        drop((peer, inbox));
        Rest { agent, stage, signals, frames, patience }
    }
}

/// What remains of a client that has hung up.
pub struct Rest {
    agent: AgentProcess,
    stage: Stage,
    signals: Signals,
    frames: Option<mpsc::UnboundedReceiver<Vec<u8>>>,
    patience: Option<Duration>,
}

impl Rest {
    /// Shows the last frames while the agent is stopped. A signal ends the wait: the supervisor goes on without us.
    pub async fn see_off(self) -> Option<io::Error> {
        let Self { agent, mut stage, mut signals, mut frames, patience } = self;
        tokio::select! {
            () = agent.stop() => {}
            _ = signals.next() => return None,
        }
        while let Some(line) = frames.as_mut().and_then(|frames| frames.try_recv().ok()) {
            stage.frame(&line);
        }
        settle(&mut stage, &mut signals, patience).await;
        stage.output.failures.take()
    }
}

/// Whether a signal ended the wait.
pub async fn settle(stage: &mut Stage, signals: &mut Signals, patience: Option<Duration>) -> bool {
    tokio::select! {
        () = stage.settle() => false,
        _ = signals.next() => true,
        () = tokio::time::sleep(patience.unwrap_or_default()), if patience.is_some() => false,
    }
}

async fn said(inbox: &mut Option<Inbox>) -> Option<Heard> {
    match inbox {
        Some(inbox) => inbox.recv().await,
        None => std::future::pending().await,
    }
}

async fn lines(frames: &mut Option<mpsc::UnboundedReceiver<Vec<u8>>>) -> Option<Vec<u8>> {
    match frames {
        Some(frames) => frames.recv().await,
        None => std::future::pending().await,
    }
}

impl From<CallError> for Stop {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Refused(error) => Self::Refused(error),
            CallError::Gone => Self::Gone,
        }
    }
}
