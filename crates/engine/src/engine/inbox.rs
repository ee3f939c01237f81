//! Commands as they come, and those that came while nobody could take them.

use std::collections::VecDeque;

use tokio::sync::mpsc;
use zdx_protocol::Sent;

pub(crate) struct Inbox {
    commands: mpsc::Receiver<Sent>,
    /// Came while a session was being opened: they are for that session.
    held: VecDeque<Sent>,
    closed: bool,
}

impl Inbox {
    pub(crate) fn new(commands: mpsc::Receiver<Sent>) -> Self {
        Self { commands, held: VecDeque::new(), closed: false }
    }

    /// Nothing once the front end is gone.
    pub(crate) async fn next(&mut self) -> Option<Sent> {
        match self.held.pop_front() {
            Some(sent) => Some(sent),
            None => self.fresh().await,
        }
    }

    /// What comes from now on; what is held stays so.
    pub(crate) async fn fresh(&mut self) -> Option<Sent> {
        let sent = self.commands.recv().await;
        self.closed |= sent.is_none();
        sent
    }

    pub(crate) fn hold(&mut self, sent: Sent) {
        self.held.push_back(sent);
    }

    /// The front end is gone, and everybody was told.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(crate) fn held(&mut self) -> impl Iterator<Item = Sent> {
        self.held.drain(..)
    }
}
