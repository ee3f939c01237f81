//! The only door between a front end and the engine: a pair of channels, for a front end's whole life.

use tokio::sync::mpsc;

use crate::command::{Command, CommandId, Sent};
use crate::event::Event;

/// Events wait here when a front end is slow, and the engine waits with them: memory stays bounded.
pub const EVENT_QUEUE: usize = 512;
const COMMAND_QUEUE: usize = 64;

pub struct EngineHandle {
    commands: mpsc::Sender<Sent>,
    pub events: mpsc::Receiver<Event>,
    last: u64,
}

/// The engine's side of an [`EngineHandle`].
pub struct EngineEnd {
    pub commands: mpsc::Receiver<Sent>,
    pub events: mpsc::Sender<Event>,
}

impl EngineHandle {
    pub fn pair() -> (EngineHandle, EngineEnd) {
        let (command_in, command_out) = mpsc::channel(COMMAND_QUEUE);
        let (event_in, event_out) = mpsc::channel(EVENT_QUEUE);
        (
            EngineHandle { commands: command_in, events: event_out, last: 0 },
            EngineEnd { commands: command_out, events: event_in },
        )
    }

    /// The id under which this command will be answered. An engine that has ended shows that by the end of its events.
    pub async fn send(&mut self, command: Command) -> CommandId {
        let sent = self.numbered(command);
        let id = sent.id;
        let _ = self.commands.send(sent).await;
        id
    }

    /// Without waiting for a place in the queue; nothing when there is none.
    pub fn try_send(&mut self, command: Command) -> Option<CommandId> {
        let sent = self.numbered(command);
        let id = sent.id;
        self.commands.try_send(sent).ok().map(|()| id)
    }

    fn numbered(&mut self, command: Command) -> Sent {
        self.last += 1;
        Sent { id: CommandId(self.last), command }
    }
}
