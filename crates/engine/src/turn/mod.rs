//! A native turn: the model speaks (`stream`), its calls run (`call`), until it has nothing left to ask for (`run`).

mod approve;
mod call;
mod call_ids;
pub mod command;
mod fault;
mod life;
mod remind;
mod repeat;
pub mod room;
pub mod run;
mod stream;
pub mod validate;
mod wave;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;
use zdx_protocol::{Decision, RequestId};

use crate::context::budget::Frame;
use crate::emit::Emitter;
use crate::in_force::InForce;
use crate::persona::Persona;
use crate::policy::grants::Granted;
use crate::tools::ToolContext;
use crate::tools::registry::Registry;

/// What a turn may touch: the way out, the tools, the rules, and the word to stop.
pub struct TurnIo<'a> {
    pub emit: &'a Emitter,
    pub registry: &'a Registry,
    /// Who is at work: it may not use every tool there is.
    pub persona: &'a Persona,
    pub tools: &'a ToolContext,
    pub policy: InForce,
    pub grants: &'a Granted,
    pub approvals: &'a Approvals,
    /// What a request weighs besides the conversation, for whoever asks meanwhile.
    pub frame: &'a watch::Sender<Frame>,
    pub cancel: CancellationToken,
}

impl TurnIo<'_> {
    /// Our own name for a tool that a model names.
    fn tool_name(&self, name: String) -> String {
        self.registry.find(&name).map_or(name, |tool| tool.spec().name.to_string())
    }
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

    /// Whether the question was still open. An answer to one that is not changes nothing.
    pub fn answer(&self, request: RequestId, decision: Decision) -> bool {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.answers.remove(&request).is_some_and(|sender| sender.send(decision).is_ok())
    }

    /// Nobody waits for the answer any more.
    fn withdraw(&self, request: RequestId) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).answers.remove(&request);
    }
}
