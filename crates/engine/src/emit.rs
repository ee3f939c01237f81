//! The one way out: append to the log, fold the transcript, then publish.
//! Nothing reaches a front end that would be lost to a crash if it should have been saved.

use tokio::sync::mpsc;
use zdx_protocol::{Event, NoticeLevel, Transcript, record};

use crate::session::{Saved, SessionLog};

pub struct Emitter {
    log: SessionLog,
    transcript: Transcript,
    events: mpsc::Sender<Event>,
}

impl Emitter {
    pub fn new(log: SessionLog, transcript: Transcript, events: mpsc::Sender<Event>) -> Self {
        Self { log, transcript, events }
    }

    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    pub async fn emit(&mut self, event: Event) {
        if let Some(record) = event.record(record::now()) {
            let saved = self.log.append(&record);
            self.transcript.apply(&record);
            self.tell(saved).await;
        }
        self.publish(event).await;
    }

    pub async fn notice(&mut self, level: NoticeLevel, message: impl Into<String>) {
        self.emit(Event::Notice { level, message: message.into() }).await;
    }

    /// What was emitted so far survives a power cut. Called before side effects and at the end of a turn.
    pub async fn sync(&mut self) {
        let saved = self.log.sync();
        self.tell(saved).await;
    }

    async fn tell(&mut self, saved: Saved) {
        if let Some(message) = saved.notice() {
            self.publish(Event::Notice { level: NoticeLevel::Warning, message }).await;
        }
    }

    async fn publish(&mut self, event: Event) {
        // A front end that is gone has also closed its commands: the engine ends by that, not here.
        let _ = self.events.send(event).await;
    }
}
