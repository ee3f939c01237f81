//! The one way out: mask secrets, append to the log, fold the transcript, then publish.
//! Nothing reaches a front end that would be lost to a crash if it should have been saved.

use std::sync::Arc;

use tokio::sync::mpsc;
use zdx_protocol::redact::Redactor;
use zdx_protocol::{Event, NoticeLevel, Record, Transcript, record};

use crate::logbook::Logbook;
use crate::secrets::{self, Masked};
use crate::session::{Saved, SessionLog};

pub struct Emitter {
    log: SessionLog,
    transcript: Transcript,
    redactor: Arc<Redactor>,
    events: mpsc::Sender<Event>,
    logbook: Option<Logbook>,
}

impl Emitter {
    pub fn new(
        log: SessionLog,
        transcript: Transcript,
        redactor: Arc<Redactor>,
        events: mpsc::Sender<Event>,
    ) -> Self {
        Self { log, transcript, redactor, events, logbook: None }
    }

    /// Whether a text holds something that must not be written.
    pub fn holds_secret(&self, text: &str) -> bool {
        self.redactor.redact(text) != text
    }

    pub fn with_logbook(self, logbook: Option<Logbook>) -> Self {
        Self { logbook, ..self }
    }

    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    pub async fn emit(&mut self, mut event: Event) {
        let masked = secrets::mask(&self.redactor, &mut event);
        let ts = record::now();
        if let Some(record) = event.record(ts) {
            let saved = self.log.append(&record);
            match &masked {
                // The one case in which context and file differ: until the turn is over, its maker wants it unchanged.
                Masked::Reasoning(exact) => {
                    let exact = record::ReasoningRecord { reasoning: exact.clone(), ts };
                    self.transcript.absorb(Record::Reasoning(exact));
                }
                Masked::Nothing | Masked::Prompt | Masked::Else => self.transcript.absorb(record),
            }
            self.tell(saved).await;
        }
        self.publish(event).await;
        if masked == Masked::Prompt {
            let message = "what looks like a secret in your prompt was masked, for the model too; name the variable or \
                           file that holds it instead";
            self.publish(Event::Notice { level: NoticeLevel::Warning, message: message.to_owned() }).await;
        }
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
        if let Some(logbook) = &mut self.logbook {
            logbook.note(&event);
        }
        // A front end that is gone has also closed its commands: the engine ends by that, not here.
        let _ = self.events.send(event).await;
    }
}
