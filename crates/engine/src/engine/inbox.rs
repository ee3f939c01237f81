//! Commands as they come, and those that came while nobody could take them.

use std::collections::VecDeque;

use tokio::sync::mpsc;
use zdx_protocol::Sent;

pub struct Inbox {
    commands: mpsc::Receiver<Sent>,
    /// Came while a session was being opened: they are for that session.
    held: VecDeque<Sent>,
    closed: bool,
}

impl Inbox {
    pub fn new(commands: mpsc::Receiver<Sent>) -> Self {
        Self { commands, held: VecDeque::new(), closed: false }
    }

    /// Nothing once the front end is gone.
    pub async fn next(&mut self) -> Option<Sent> {
        match self.held.pop_front() {
            Some(sent) => Some(sent),
            None => self.fresh().await,
        }
    }

    /// What comes from now on; what is held stays so.
    pub async fn fresh(&mut self) -> Option<Sent> {
        let sent = self.commands.recv().await;
        self.closed |= sent.is_none();
        sent
    }

    pub fn hold(&mut self, sent: Sent) {
        self.held.push_back(sent);
    }

    /// The front end is gone, and everybody was told.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    pub fn held(&mut self) -> impl Iterator<Item = Sent> {
        self.held.drain(..)
    }
}
