//! Questions that wait for a person. The command loop answers while the turn waits.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;
use zdx_protocol::{Decision, RequestId};

#[derive(Clone, Default)]
pub struct Approvals {
    waiting: Arc<Mutex<Waiting>>,
}

#[derive(Default)]
struct Waiting {
    last: u64,
    answers: HashMap<RequestId, oneshot::Sender<Decision>>,
    /// A person was told what is to be done about paths outside.
    told_outside: bool,
}

impl Approvals {
    /// True once: what is to be done about paths outside need not be said again.
    pub(crate) fn is_first_outside(&self) -> bool {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        !std::mem::replace(&mut waiting.told_outside, true)
    }

    /// A number that no other question has.
    pub fn number(&self) -> RequestId {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.last += 1;
        RequestId(waiting.last)
    }

    pub(super) fn open(&self) -> (RequestId, oneshot::Receiver<Decision>) {
        let (sender, receiver) = oneshot::channel();
        let request = self.number();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).answers.insert(request, sender);
        (request, receiver)
    }

    /// Whether the question was still open. An answer to one that is not changes nothing.
    pub fn answer(&self, request: RequestId, decision: Decision) -> bool {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.answers.remove(&request).is_some_and(|sender| sender.send(decision).is_ok())
    }

    /// Nobody waits for the answer any more.
    pub(super) fn withdraw(&self, request: RequestId) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).answers.remove(&request);
    }
}
