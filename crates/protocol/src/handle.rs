//! The only door between a front end and the engine: a pair of channels.

use tokio::sync::mpsc;

use crate::{Command, Event};

/// Events wait here when a front end is slow, and the engine waits with them: memory stays bounded.
pub const EVENT_QUEUE: usize = 512;
const COMMAND_QUEUE: usize = 64;

pub struct EngineHandle {
    pub commands: mpsc::Sender<Command>,
    pub events: mpsc::Receiver<Event>,
}

/// The engine's side of an [`EngineHandle`].
pub struct EngineEnd {
    pub commands: mpsc::Receiver<Command>,
    pub events: mpsc::Sender<Event>,
}

impl EngineHandle {
    pub fn pair() -> (EngineHandle, EngineEnd) {
        let (command_in, command_out) = mpsc::channel(COMMAND_QUEUE);
        let (event_in, event_out) = mpsc::channel(EVENT_QUEUE);
        (
            EngineHandle { commands: command_in, events: event_out },
            EngineEnd { commands: command_out, events: event_in },
        )
    }
}
