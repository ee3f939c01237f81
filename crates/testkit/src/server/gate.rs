//! A point in a reply that the server does not pass before the test says so.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

#[derive(Clone, Copy, Debug, Default)]
struct State {
    reached: bool,
    open: bool,
}

/// Clones are the same gate: one goes into a [`Step`](crate::Step), the other stays with the test.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<(Mutex<State>, Condvar)>);

impl Gate {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn open(&self) {
        self.change(|state| state.open = true);
    }

    pub fn is_open(&self) -> bool {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).open
    }

    /// Waits until the server stands before the gate: all bytes up to it have been sent.
    #[track_caller]
    pub fn wait_reached(&self, timeout: Duration) {
        let (state, changed) = &*self.0;
        let state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let (state, _) = changed
            .wait_timeout_while(state, timeout, |state| !state.reached)
            .unwrap_or_else(PoisonError::into_inner);
        assert!(state.reached, "the server did not reach the gate within {timeout:?}");
    }

    pub(crate) fn reach(&self) {
        self.change(|state| state.reached = true);
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.0.lock().unwrap_or_else(PoisonError::into_inner));
        self.0.1.notify_all();
    }
}
