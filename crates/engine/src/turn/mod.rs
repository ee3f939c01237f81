//! A native turn: the model speaks (`stream`), its calls run (`call`), until it has nothing left to ask for (`run`).

mod approve;
mod call;
pub mod command;
mod fault;
mod remind;
mod repeat;
pub mod room;
pub mod run;
mod stream;
pub mod validate;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use zdx_protocol::{Decision, RequestId};

use crate::emit::Emitter;
use crate::persona::Persona;
use crate::policy::PolicyContext;
use crate::policy::grants::Granted;
use crate::tools::ToolContext;
use crate::tools::registry::Registry;

/// What a turn may touch: the way out, the tools, the rules, and the word to stop.
pub struct TurnIo<'a> {
    pub emit: &'a mut Emitter,
    pub registry: &'a Registry,
    /// Who is at work: it may not use every tool there is.
    pub persona: &'a Persona,
    pub tools: &'a ToolContext,
    pub policy: &'a mut PolicyContext,
    pub grants: &'a Granted,
    pub approvals: &'a Approvals,
    pub cancel: CancellationToken,
}

/// Questions waiting for a person. The command loop answers while the turn waits.
#[derive(Clone, Default)]
pub struct Approvals {
    waiting: Arc<Mutex<Waiting>>,
}

#[derive(Default)]
struct Waiting {
    last: u64,
    answers: HashMap<RequestId, oneshot::Sender<Decision>>,
}

impl Approvals {
    fn open(&self) -> (RequestId, oneshot::Receiver<Decision>) {
        let (sender, receiver) = oneshot::channel();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.last += 1;
        let request = RequestId(waiting.last);
        waiting.answers.insert(request, sender);
        (request, receiver)
    }

    /// An answer to a question that is no longer open changes nothing.
    pub fn answer(&self, request: RequestId, decision: Decision) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = waiting.answers.remove(&request) {
            let _ = sender.send(decision);
        }
    }
}
