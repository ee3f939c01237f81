//! One connection to the agent: asked with limits, its own requests served by the host, all it says recorded.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use zdx_acp::shapes::{AuthKind, Welcome};
use zdx_acp::{
    CallError, Frame, Heard, Host, HostRequest, Id, Inbox, Params, Peer, RpcError, client_capabilities, code,
    serve_request,
};

use super::record::Record;
use super::report::Outcome;
use super::{Dial, Ground};

pub(super) struct Line<'a, A> {
    pub(super) peer: Peer,
    pub(super) record: Arc<Record>,
    pub(super) ground: &'a Ground,
    agent: A,
    /// Serves what the agent asks; goes with the line.
    helpers: JoinSet<()>,
}

/// What came of a call.
pub(super) struct Answer {
    pub(super) result: Result<Value, Fault>,
    /// The answer as it came, and where it stands in the record.
    pub(super) frame: Option<String>,
    pub(super) at: usize,
}

#[derive(Debug)]
pub(super) enum Fault {
    Refused(RpcError),
    Gone,
    Late(Duration),
}

impl Fault {
    pub(super) fn words(&self) -> String {
        match self {
            Self::Refused(error) => format!("it refuses: {error}"),
            Self::Gone => "it ended".to_owned(),
            Self::Late(limit) => format!("no answer within {} s", limit.as_secs()),
        }
    }
}

impl Answer {
    /// That it was no good, for this reason.
    pub(super) fn wrong(&self, why: impl Into<String>) -> Outcome {
        Outcome::Fail { why: why.into(), frame: self.frame.clone() }
    }

    /// The result, or the outcome of an item that needs one.
    pub(super) fn good(&self) -> Result<&Value, Outcome> {
        self.result.as_ref().map_err(|fault| self.wrong(fault.words()))
    }

    /// For what has to be refused, by a method that is there.
    pub(super) fn refused(&self, what: &str) -> Outcome {
        match &self.result {
            Err(Fault::Refused(error)) if error.code == code::METHOD_NOT_FOUND => {
                self.wrong("it has no such method")
            }
            Err(Fault::Refused(_)) => Outcome::Pass,
            Err(fault @ (Fault::Gone | Fault::Late(_))) => self.wrong(fault.words()),
            Ok(_) => self.wrong(format!("{what} is no error to it")),
        }
    }
}

impl<'a, A> Line<'a, A> {
    /// Connected, not greeted yet.
    pub(super) async fn open<D: Dial<Agent = A>>(
        dial: &D,
        host: &Arc<impl Host>,
        ground: &'a Ground,
    ) -> Result<Self, String> {
        let record = Arc::<Record>::default();
        let (agent, peer, inbox) = dial.dial(record.tap()).await?;
        let mut helpers = JoinSet::new();
        helpers.spawn(serve(inbox, Arc::clone(host)));
        Ok(Self { peer, record, ground, agent, helpers })
    }

    /// Connected, greeted and logged in, for what needs a new process; or why not.
    pub(super) async fn greeted<D: Dial<Agent = A>>(
        dial: &D,
        host: &Arc<impl Host>,
        ground: &'a Ground,
    ) -> Result<Self, Outcome> {
        let line = Self::open(dial, host, ground).await.map_err(Outcome::fail)?;
        let greeted = line.ask("initialize", line.greeting(1)).await;
        match greeted.good() {
            Ok(welcome) => line.log_in(&Welcome::read(welcome)).await,
            Err(outcome) => {
                line.hang_up(dial).await;
                return Err(outcome);
            }
        };
        Ok(line)
    }

    pub(super) fn greeting(&self, version: u64) -> Value {
        let own = json!({"name": "zdx", "version": env!("CARGO_PKG_VERSION")});
        json!({"protocolVersion": version, "clientCapabilities": client_capabilities(), "clientInfo": own})
    }

    /// If it is to be; what comes of it shows when a session is wanted.
    pub(super) async fn log_in(&self, welcome: &Welcome) -> Option<Outcome> {
        let wanted = self.ground.auth.as_ref()?;
        let method = welcome.auth_methods.iter().find(|method| method.id == *wanted);
        if let Some(AuthKind::Terminal { .. }) = method.map(|method| &method.kind) {
            let why = format!("{wanted} is done by running the agent in a terminal yourself");
            return Some(Outcome::Skipped(why));
        }
        let (id, params) = (self.peer.next_id(), json!({"methodId": wanted}));
        let answer = self.ask_as(&id, "authenticate", params, self.ground.turn_limit).await;
        Some(answer.good().map_or_else(|outcome| outcome, |_| Outcome::Pass))
    }

    pub(super) async fn ask(&self, method: &str, params: Value) -> Answer {
        self.ask_as(&self.peer.next_id(), method, params, self.ground.limit).await
    }

    pub(super) async fn ask_as(&self, id: &Id, method: &str, params: Value, limit: Duration) -> Answer {
        let from = self.record.here();
        let called = tokio::time::timeout(limit, self.peer.call_as(id, method, params)).await;
        let result = match called {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(CallError::Refused(error))) => Err(Fault::Refused(error)),
            Ok(Err(CallError::Gone)) => Err(Fault::Gone),
            Err(_) => Err(Fault::Late(limit)),
        };
        let found = self.record.answer(id, from);
        let at = found.as_ref().map_or_else(|| self.record.here(), |(at, _)| *at);
        Answer { result, frame: found.map(|(_, frame)| frame), at }
    }

    /// Ends the connection. Returns what the agent wrote that is no frame.
    pub(super) async fn hang_up<D: Dial<Agent = A>>(self, dial: &D) -> Vec<String> {
        let Self { peer, record, agent, mut helpers, .. } = self;
        helpers.shutdown().await;
        drop(peer);
        dial.hang_up(agent).await;
        let lines = record.since(0);
        lines.into_iter().filter(|line| Frame::read(line.as_bytes()).is_err()).collect()
    }
}

async fn serve(mut inbox: Inbox, host: Arc<impl Host>) {
    let mut serving = JoinSet::new();
    loop {
        tokio::select! {
            heard = inbox.recv() => match heard {
                Some(Heard::Request(mut asked)) => {
                    let host = Arc::clone(&host);
                    serving.spawn(async move {
                        let (params, cancel) = (Params(asked.params.take()), host.request_token());
                        let request = HostRequest { params, number: 0, cancel };
                        let answer = serve_request(&*host, &asked.method, request).await;
                        asked.answer(answer).await;
                    });
                }
                Some(Heard::Notification { .. } | Heard::Stray { .. }) => {}
                None => return,
            },
            Some(_) = serving.join_next(), if !serving.is_empty() => {}
        }
    }
}
