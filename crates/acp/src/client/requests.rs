//! Requests of the agent that are under way, each on a task of its own, so that it may take its time and be cancelled.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::error::{RpcError, code};
use crate::frame::Id;
use crate::host::{Host, HostRequest, serve_request};
use crate::params::Params;
use crate::peer::Asked;

/// Requests under way at once; more are refused.
const MAX_RUNNING: usize = 256;

pub(super) struct AgentRequests<H> {
    host: Option<Arc<H>>,
    number: u64,
    running: HashMap<Id, CancellationToken>,
    answers: JoinSet<Id>,
}

impl<H: Host> AgentRequests<H> {
    pub(super) fn new() -> Self {
        Self { host: None, number: 0, running: HashMap::new(), answers: JoinSet::new() }
    }

    pub(super) fn serve_by(&mut self, host: Arc<H>) {
        self.host = Some(host);
    }

    /// Refusals count, too: the agent may not read them, and then it is not listened to either.
    pub(super) fn has_room(&self) -> bool {
        self.answers.len() < 2 * MAX_RUNNING
    }

    /// Without a host, the request is dropped and answered by that.
    pub(super) fn take(&mut self, mut asked: Asked) {
        let Some(host) = self.host.clone() else { return };
        let id = asked.id.clone();
        if self.answers.len() >= MAX_RUNNING {
            self.answers.spawn(async move {
                asked.answer(Err(RpcError::new(code::INTERNAL, "too many requests at once"))).await;
                id
            });
            return;
        }
        self.number += 1;
        let (number, cancel) = (self.number, host.request_token());
        self.running.insert(id.clone(), cancel.clone());
        self.answers.spawn(async move {
            let request = HostRequest { params: Params(asked.params.take()), number, cancel };
            let answer = serve_request(&*host, &asked.method, request).await;
            asked.answer(answer).await;
            id
        });
    }

    /// Cancels the request that a `$/cancel_request` names; it may have been answered meanwhile.
    pub(super) fn take_back(&mut self, params: &Value) {
        let named = Id::read(&params["requestId"]);
        if let Some(cancel) = named.and_then(|id| self.running.remove(&id)) {
            cancel.cancel();
        }
    }

    pub(super) fn cancel_turn(&self) {
        if let Some(host) = &self.host {
            host.cancel_turn();
        }
    }

    /// Forgets the next request that was answered; never returns where none is under way.
    pub(super) async fn tidy(&mut self) {
        match self.answers.join_next().await {
            Some(Ok(id)) => drop(self.running.remove(&id)),
            // A host that failed has answered by that.
            Some(Err(_)) => {}
            None => std::future::pending().await,
        }
    }

    /// Cancels everything under way, ends the host's terminals and lets go of the host. Requests and terminals get this
    /// long, one after the other.
    pub(super) async fn end(&mut self, grace: Duration) {
        self.running.drain().for_each(|(_, cancel)| cancel.cancel());
        let answered = async { while self.answers.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(grace, answered).await;
        self.answers.shutdown().await;
        if let Some(host) = self.host.take() {
            let _ = tokio::time::timeout(grace, host.terminals().close()).await;
        }
    }
}
