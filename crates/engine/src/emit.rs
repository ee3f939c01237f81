//! The one way out: mask secrets, append to the log, fold the transcript, then publish.
//! Nothing reaches a front end that would be lost to a crash if it should have been saved.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Mutex as AsyncMutex, mpsc};
use zdx_protocol::redact::Redactor;
use zdx_protocol::{Event, NoticeLevel, Record, Transcript, record};

use crate::logbook::Logbook;
use crate::secrets::{self, Masked};
use crate::session::{Saved, SessionLog};

/// Shared by everything that works for a session: whoever holds one may tell what happens, also while a turn streams.
#[derive(Clone)]
pub struct Emitter {
    shared: Arc<Shared>,
}

struct Shared {
    redactor: Arc<Redactor>,
    transcript: Mutex<Transcript>,
    /// Taken for the whole way out, so that what is saved first is folded and told first.
    out: AsyncMutex<Out>,
}

struct Out {
    log: SessionLog,
    events: mpsc::Sender<Event>,
    logbook: Option<Logbook>,
}

impl Emitter {
    pub fn new(
        log: SessionLog,
        transcript: Transcript,
        redactor: Arc<Redactor>,
        events: mpsc::Sender<Event>,
        logbook: Option<Logbook>,
    ) -> Self {
        let out = AsyncMutex::new(Out { log, events, logbook });
        Self { shared: Arc::new(Shared { redactor, transcript: Mutex::new(transcript), out }) }
    }

    /// Whether a text holds something that must not be written.
    pub fn holds_secret(&self, text: &str) -> bool {
        self.shared.redactor.redact(text) != text
    }

    pub fn redactor(&self) -> &Redactor {
        &self.shared.redactor
    }

    /// What happened so far. Not to be held while anything is waited for.
    pub fn transcript(&self) -> MutexGuard<'_, Transcript> {
        self.shared.transcript.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub async fn emit(&self, mut event: Event) {
        let mut out = self.shared.out.lock().await;
        let masked = secrets::mask(&self.shared.redactor, &mut event);
        let ts = record::now();
        if let Some(record) = event.record(ts) {
            let saved = out.log.append(&record);
            match &masked {
                // The one case in which context and file differ: until the turn is over, its maker wants it unchanged.
                Masked::Reasoning(exact) => {
                    let exact = record::ReasoningRecord { reasoning: exact.clone(), ts };
                    self.transcript().absorb(Record::Reasoning(exact));
                }
                Masked::Nothing | Masked::Prompt | Masked::Else => self.transcript().absorb(record),
            }
            out.tell(saved).await;
        }
        out.publish(event).await;
        if masked == Masked::Prompt {
            let message = "what looks like a secret in your prompt was masked, for the model too; name the variable or \
                           file that holds it instead";
            out.publish(Event::Notice { level: NoticeLevel::Warning, message: message.to_owned() }).await;
        }
    }

    pub async fn notice(&self, level: NoticeLevel, message: impl Into<String>) {
        self.emit(Event::Notice { level, message: message.into() }).await;
    }

    /// What was emitted so far survives a power cut. Called before side effects and at the end of a turn.
    pub async fn sync(&self) {
        let mut out = self.shared.out.lock().await;
        let saved = out.log.sync();
        out.tell(saved).await;
    }
}

impl Out {
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
