//! Questions that wait for a person, and how long they did. The command loop answers while the turn waits.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use zdx_protocol::record::millis;
use zdx_protocol::{Decision, RequestId};

#[derive(Clone, Default)]
pub(crate) struct Approvals {
    waiting: Arc<Mutex<Waiting>>,
}

#[derive(Default)]
struct Waiting {
    last: u64,
    answers: HashMap<RequestId, oneshot::Sender<Decision>>,
    /// Since when one is open at least.
    since: Option<Instant>,
    /// How long that was the case before.
    waited: Duration,
}

impl Waiting {
    /// Questions came or went.
    fn changed(&mut self) {
        self.answers.retain(|_, sender| !sender.is_closed());
        if !self.answers.is_empty() {
            self.since.get_or_insert_with(Instant::now);
        } else if let Some(since) = self.since.take() {
            self.waited += since.elapsed();
        }
    }
}

/// What a turn took, without the time in which it was a person who was waited for.
pub(crate) struct Clock {
    approvals: Approvals,
    start: Instant,
    waited: Duration,
}

impl Clock {
    pub(crate) fn ms(&self) -> u64 {
        let waited = self.approvals.waited().saturating_sub(self.waited);
        let took = self.start.elapsed().saturating_sub(waited);
        millis(took)
    }
}

impl Approvals {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number that no other question has.
    pub(crate) fn number(&self) -> RequestId {
        let mut waiting = self.waiting();
        waiting.last += 1;
        RequestId(waiting.last)
    }

    pub(crate) fn open(&self) -> (RequestId, oneshot::Receiver<Decision>) {
        let (sender, receiver) = oneshot::channel();
        let request = self.number();
        let mut waiting = self.waiting();
        waiting.answers.insert(request, sender);
        waiting.changed();
        (request, receiver)
    }

    /// Whether the question was still open. An answer to one that is not changes nothing.
    pub(crate) fn answer(&self, request: RequestId, decision: Decision) -> bool {
        let mut waiting = self.waiting();
        let answered = waiting.answers.remove(&request).is_some_and(|sender| sender.send(decision).is_ok());
        waiting.changed();
        answered
    }

    /// Nobody waits for the answer any more.
    pub(crate) fn withdraw(&self, request: RequestId) {
        let mut waiting = self.waiting();
        waiting.answers.remove(&request);
        waiting.changed();
    }

    pub(crate) fn clock(&self) -> Clock {
        Clock { approvals: self.clone(), start: Instant::now(), waited: self.waited() }
    }

    fn waited(&self) -> Duration {
        let mut waiting = self.waiting();
        // Somebody may have gone without a word.
        waiting.changed();
        waiting.waited + waiting.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_question_is_not_a_turns() {
        let approvals = Approvals::default();
        let ago = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap();
        let clock = Clock { start: ago(100), ..approvals.clock() };
        let (request, _answer) = approvals.open();
        approvals.waiting().since = Some(ago(90));
        assert_eq!(clock.ms() / 1_000, 10, "while it is open too");
        assert!(approvals.answer(request, Decision::AllowOnce));
        assert_eq!(clock.ms() / 1_000, 10, "it counts again");
        let (_, gone) = approvals.open();
        approvals.waiting().since = Some(ago(5));
        drop(gone);
        let next = approvals.clock();
        assert_eq!((next.ms() / 1_000, approvals.waiting().since), (0, None), "nobody waits for that one");
    }
}
