//! What the agent asks of us, under way: each request on a task of its own, so that it may take its time and be taken back.
//! What it comes to is the host's to say.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use zdx_acp::{Asked, Host, Id, RpcError, code};

/// Requests that are under way; more of them are refused.
const MOST: usize = 256;
/// What a host may take to end what it runs.
const CLOSING: Duration = Duration::from_secs(2);

pub struct Desk<H> {
    pub host: Arc<H>,
    /// How each is taken back.
    asked: HashMap<Id, oneshot::Sender<()>>,
    answers: JoinSet<Id>,
}

impl<H: Host> Desk<H> {
    pub fn new(host: H) -> Self {
        Self { host: Arc::new(host), asked: HashMap::new(), answers: JoinSet::new() }
    }

    /// Refusals wait, too, where the agent does not read: then it is not listened to either.
    pub fn has_room(&self) -> bool {
        self.answers.len() < 2 * MOST
    }

    pub fn take(&mut self, mut asked: Asked) {
        let (host, id) = (Arc::clone(&self.host), asked.id.clone());
        let too_many = self.answers.len() >= MOST;
        let (take_back, taken_back) = oneshot::channel();
        self.asked.insert(id.clone(), take_back);
        self.answers.spawn(async move {
            let (method, params) = (asked.method.clone(), asked.params.take());
            let answer = tokio::select! {
                answer = host.ask(&method, params), if !too_many => answer,
                Ok(()) = taken_back, if !too_many => {
                    Err(RpcError::new(code::CANCELLED, "the request was taken back"))
                }
                else => Err(RpcError::new(code::INTERNAL, "too many requests at once")),
            };
            asked.answer(answer).await;
            id
        });
    }

    /// `$/cancel_request`; it may have been answered meanwhile.
    pub fn take_back(&mut self, params: &Value) {
        if let Some(taken_back) = Id::read(&params["requestId"]).and_then(|id| self.asked.remove(&id)) {
            let _ = taken_back.send(());
        }
    }

    /// Forgets the next one that was answered; never returns where none is under way.
    pub async fn tidy(&mut self) {
        match self.answers.join_next().await {
            Some(Ok(id)) => drop(self.asked.remove(&id)),
            // A host that failed has answered by that.
            Some(Err(_)) => {}
            None => std::future::pending().await,
        }
    }

    /// Nothing is answered any more, and nothing of the host's runs on.
    pub async fn close(mut self) {
        self.answers.shutdown().await;
        let _ = tokio::time::timeout(CLOSING, self.host.close()).await;
    }
}
