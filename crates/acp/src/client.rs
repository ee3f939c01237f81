//! One client of an agent, over two byte streams: asks and waits, passes on what the agent says, has its requests served.
//! Knows how to wait; what is shown, what stops a wait and what an agent may do are decided by the observer and the host.

mod error;
mod requests;
mod session;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

pub use error::AcpError;
pub use session::{AcpSession, PROTOCOL_VERSION, ReopenMethod};

use crate::error::CallError;
use crate::host::Host;
use crate::peer::{Heard, Inbox, Peer};
use crate::shapes::{SessionUpdate, StopReason, Update, Welcome};
use requests::AgentRequests;

/// Time that an agent gets to end a cancelled turn by itself.
const CANCEL_GRACE: Duration = Duration::from_secs(2);
/// Time that a notification may take to reach an agent that does not read.
const NOTIFY_LIMIT: Duration = Duration::from_millis(300);
/// Some agents replay a session only after they said that it is loaded. The replay is over after this much silence.
const REPLAY_SILENCE: Duration = Duration::from_millis(200);
const REPLAY_LIMIT: Duration = Duration::from_secs(3);

/// Tells whether the agent behind the streams still lives. Streams alone do not: programs that it left running may hold them.
pub trait AgentLiveness: Send {
    /// Returns when the agent has ended and its last output had time to arrive. Can be dropped and asked again.
    fn ended(&mut self) -> impl Future<Output = ()> + Send;

    /// Output of the agent is still being read: it has not ended yet.
    fn still_heard(&mut self);
}

/// The side of a client that shows what the agent says, and that knows when to stop waiting.
pub trait AcpObserver: Send {
    /// The reason to stop a wait.
    type Stop: Send;

    /// False while nothing more can be shown: then the agent is not listened to, and no time limit runs.
    fn has_room(&self) -> bool {
        true
    }

    /// Deals with the next thing beside the connection and returns. An error stops the wait. Can be dropped at any time.
    fn attend(&mut self) -> impl Future<Output = Result<(), Self::Stop>> + Send {
        std::future::pending()
    }

    /// Takes an update of the session; a tool call only says what is new of it.
    fn update(&mut self, update: Update) -> impl Future<Output = ()> + Send;

    /// Takes the tool call of a permission request and returns everything that is known of it: it may be named by its id
    /// alone, or never have been mentioned before.
    fn permission_requested(&mut self, call: Value) -> impl Future<Output = Value> + Send;

    /// Takes a line that is no frame.
    fn stray(&mut self, _line: &str) {}

    /// Called at the end of a wait, when everything that came before it was passed on.
    fn catch_up(&mut self) {}
}

/// `O::Stop` is the observer's own reason.
pub type AcpResult<T, O> = Result<T, AcpError<<O as AcpObserver>::Stop>>;

pub struct AcpClient<A, H, O> {
    pub agent: A,
    pub observer: O,
    pub welcome: Welcome,
    pub session: AcpSession,
    /// Time limit of every answer but that of a prompt.
    pub limit: Duration,
    peer: Peer,
    inbox: Option<Inbox>,
    requests: AgentRequests<H>,
}

/// A wait for an answer to `method`.
struct Wait {
    method: &'static str,
    limit: Duration,
    deadline: Option<Instant>,
}

impl Wait {
    fn within(method: &'static str, limit: Duration) -> Self {
        Self { method, limit, deadline: Some(Instant::now() + limit) }
    }
}

/// The value of a wait, or why there is none; nothing while it goes on.
type Woken<T, O> = Option<AcpResult<T, O>>;

impl<A: AgentLiveness, H: Host, O: AcpObserver> AcpClient<A, H, O> {
    pub fn new((agent, peer, inbox): (A, Peer, Inbox), observer: O, limit: Duration) -> Self {
        Self {
            agent,
            observer,
            welcome: Welcome::read(&Value::Null),
            session: AcpSession::default(),
            limit,
            peer,
            inbox: Some(inbox),
            requests: AgentRequests::new(),
        }
    }

    /// Has requests of the agent served by this host from now on. Without one they are refused.
    pub fn serve_by(&mut self, host: Arc<H>) {
        self.requests.serve_by(host);
    }

    /// Ends what the host does for the agent and lets go of it.
    pub async fn end_requests(&mut self, grace: Duration) {
        self.requests.end(grace).await;
    }

    /// The agent cannot be written to any more.
    pub fn is_closed(&self) -> bool {
        self.peer.is_closed()
    }

    /// Closes the streams to the agent. End the requests first.
    pub fn hang_up(self) -> (A, O) {
        (self.agent, self.observer)
    }

    pub async fn call(&mut self, method: &'static str, params: Value) -> AcpResult<Value, O> {
        self.call_within(method, params, self.limit).await
    }

    pub async fn call_within(
        &mut self,
        method: &'static str,
        params: Value,
        limit: Duration,
    ) -> AcpResult<Value, O> {
        let peer = self.peer.clone();
        let answered = self.wait_for(method, peer.call(method, params), limit).await?;
        answered.map_err(|error| self.failed(method, error))
    }

    /// Waits for something else than the agent; meanwhile it is listened to. `method` is what an error names.
    pub async fn wait_for<T>(
        &mut self,
        method: &'static str,
        work: impl Future<Output = T>,
        limit: Duration,
    ) -> AcpResult<T, O> {
        self.run(&mut pin!(work), Wait::within(method, limit)).await
    }

    /// Waits for `there` to become true, and says whether it did in time. `method` is what an error names.
    pub async fn wait_until(
        &mut self,
        method: &'static str,
        limit: Duration,
        there: impl Fn(&AcpSession) -> bool,
    ) -> AcpResult<bool, O> {
        let mut wait = Wait::within(method, limit);
        loop {
            if there(&self.session) {
                return Ok(true);
            }
            if self.inbox.is_none() {
                return Ok(false);
            }
            let mut never = pin!(std::future::pending::<()>());
            match self.step(&mut never, &mut wait).await {
                Some(Err(AcpError::Late { .. })) => return Ok(false),
                Some(Err(error)) => return Err(error),
                Some(Ok(())) | None => {}
            }
        }
    }

    /// Waits until the agent has stopped replaying the session.
    pub async fn hear_replay(&mut self) -> AcpResult<(), O> {
        let end = Instant::now() + REPLAY_LIMIT;
        while Instant::now() < end {
            let heard = self.session.updates;
            let more = |session: &AcpSession| session.updates != heard;
            if !self.wait_until("session/load", REPLAY_SILENCE, more).await? {
                break;
            }
        }
        Ok(())
    }

    /// Takes in the next thing that the agent says; never returns once it closed its stream. Can be dropped at any time.
    pub async fn listen(&mut self) {
        match next_heard(&mut self.inbox).await {
            Some(heard) => self.hear(heard).await,
            None => {
                self.inbox = None;
                std::future::pending().await
            }
        }
    }

    /// One turn. When the observer stops it, the agent is told and gets a grace to end it; a second stop ends that.
    pub async fn prompt(&mut self, blocks: Vec<Value>) -> AcpResult<StopReason, O> {
        const METHOD: &str = "session/prompt";
        let peer = self.peer.clone();
        let params = json!({"sessionId": self.session.id, "prompt": blocks});
        let mut call = pin!(peer.call(METHOD, params));
        let wait = Wait { method: METHOD, limit: Duration::MAX, deadline: None };
        let why = match self.run(&mut call, wait).await {
            Ok(answer) => {
                let answer = answer.map_err(|error| self.failed(METHOD, error))?;
                return Ok(StopReason::read(&answer));
            }
            Err(AcpError::Stopped { why, .. }) => why,
            Err(error) => return Err(error),
        };
        let wait = Wait::within(METHOD, CANCEL_GRACE);
        self.requests.cancel_turn();
        let cancel = self.peer.notify("session/cancel", json!({"sessionId": self.session.id}));
        let _ = tokio::time::timeout(NOTIFY_LIMIT, cancel).await;
        let ended = self.run(&mut call, wait).await;
        Err(AcpError::Stopped { why, is_settled: matches!(ended, Ok(Ok(_))) })
    }

    fn failed(&self, method: &'static str, error: CallError) -> AcpError<O::Stop> {
        match error {
            CallError::Refused(error) => self.refused(method, error),
            CallError::Gone => AcpError::Gone { method },
        }
    }

    /// Waits for the work. Everything that came before its end has been passed on when this returns.
    async fn run<F: Future>(&mut self, work: &mut Pin<&mut F>, mut wait: Wait) -> AcpResult<F::Output, O> {
        let ended = loop {
            if let Some(ended) = self.step(work, &mut wait).await {
                break ended;
            }
        };
        while let Some(heard) = self.inbox.as_mut().and_then(|inbox| inbox.try_recv().ok()) {
            self.hear(heard).await;
        }
        self.observer.catch_up();
        ended
    }

    /// Waits until something happens. While nothing can be taken in, the agent is neither late nor over.
    async fn step<F: Future>(&mut self, work: &mut Pin<&mut F>, wait: &mut Wait) -> Woken<F::Output, O> {
        let (room, began) = (self.observer.has_room(), Instant::now());
        let woken = self.wake(work, wait, room).await;
        if !room {
            wait.deadline = wait.deadline.map(|deadline| deadline + began.elapsed());
            self.agent.still_heard();
        }
        woken
    }

    async fn wake<F: Future>(
        &mut self,
        work: &mut Pin<&mut F>,
        wait: &Wait,
        room: bool,
    ) -> Woken<F::Output, O> {
        let &Wait { method, limit, deadline } = wait;
        let deadline = deadline.filter(|_| room);
        let Self { agent, observer, inbox, requests, .. } = self;
        let heard = tokio::select! {
            biased;
            () = tokio::time::sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                return Some(Err(AcpError::Late { method, limit }));
            }
            attended = observer.attend() => {
                return attended.err().map(|why| Err(AcpError::Stopped { why, is_settled: false }));
            }
            () = requests.tidy() => return None,
            heard = next_heard(inbox), if room && requests.has_room() => heard,
            value = work => return Some(Ok(value)),
            () = agent.ended(), if room => return Some(Err(AcpError::Gone { method })),
        };
        match heard {
            Some(heard) => self.hear(heard).await,
            None => self.inbox = None,
        }
        while self.observer.has_room() && self.requests.has_room() {
            let Some(heard) = self.inbox.as_mut().and_then(|inbox| inbox.try_recv().ok()) else { break };
            self.hear(heard).await;
        }
        None
    }

    async fn hear(&mut self, heard: Heard) {
        if !matches!(heard, Heard::Stray { .. }) {
            self.agent.still_heard();
        }
        match heard {
            Heard::Request(mut asked) => {
                if asked.method == "session/request_permission" && asked.params["toolCall"].is_object() {
                    let call = asked.params["toolCall"].take();
                    asked.params["toolCall"] = self.observer.permission_requested(call).await;
                }
                self.requests.take(asked);
            }
            Heard::Notification { method, params } if method == "session/update" => {
                let told = SessionUpdate::read(params);
                if self.session.concerns(told.session.as_deref()) {
                    self.session.note(&told.update);
                    self.observer.update(told.update).await;
                }
            }
            Heard::Notification { method, params } if method == "$/cancel_request" => {
                self.requests.take_back(&params);
            }
            // Unknown notifications are to be ignored.
            Heard::Notification { .. } => {}
            Heard::Stray { line, .. } => self.observer.stray(&line),
        }
    }
}

async fn next_heard(inbox: &mut Option<Inbox>) -> Option<Heard> {
    match inbox {
        Some(inbox) => inbox.recv().await,
        None => std::future::pending().await,
    }
}
