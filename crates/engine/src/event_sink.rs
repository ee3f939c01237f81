//! The one way out: mask secrets, append to the log, fold the transcript, then publish.
//! Nothing reaches a front end that would be lost to a crash if it should have been saved.
//! (The field says event bus, event sourcing, persistence.)

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::mpsc;
use zdx_protocol::redact::Redactor;
use zdx_protocol::{Event, FileChange, NoticeLevel, Record, Transcript, record};

use crate::logbook::Logbook;
use crate::secrets::{self, LiveMasks, Masked};
use zdx_store::SessionLog;
use zdx_workspace::ChangeRecorder;

/// Shared by everything that works for a session: whoever holds one may tell what happens, also while a turn streams.
#[derive(Clone)]
pub(crate) struct EventSink {
    shared: Arc<Shared>,
}

struct Shared {
    redactor: Arc<Redactor>,
    transcript: Mutex<Transcript>,
    /// Held while an event is saved, folded and put into the queue: what is saved first is told first. Never held while
    /// anything is waited for: somebody may have to be driven by whoever waits.
    books: Mutex<Books>,
    events: mpsc::Sender<Event>,
}

struct Books {
    log: SessionLog,
    logbook: Option<Logbook>,
    /// What streams, and may be the start of a secret.
    live: LiveMasks,
    /// What is to be said of records that were saved from threads that cannot tell it.
    remarks: Remarks,
}

/// What is still to be said after an event.
type Remarks = Vec<Event>;

impl EventSink {
    pub(crate) fn new(
        log: SessionLog,
        transcript: Transcript,
        redactor: Arc<Redactor>,
        events: mpsc::Sender<Event>,
        logbook: Option<Logbook>,
    ) -> Self {
        let books = Mutex::new(Books { log, logbook, live: LiveMasks::default(), remarks: Vec::new() });
        Self { shared: Arc::new(Shared { redactor, transcript: Mutex::new(transcript), books, events }) }
    }

    /// The sink of a subagent: a log and a reader of its own, the same secrets.
    pub(crate) fn child(&self, log: SessionLog, events: mpsc::Sender<Event>) -> Self {
        Self::new(log, Transcript::default(), Arc::clone(&self.shared.redactor), events, None)
    }

    /// Publishes an event of a subagent, which its own sink has masked and saved.
    pub(crate) async fn pass_on(&self, event: Event) {
        let _ = self.shared.events.send(event).await;
    }

    /// Whether a text holds something that must not be written.
    pub(crate) fn holds_secret(&self, text: &str) -> bool {
        self.shared.redactor.redact(text) != text
    }

    pub(crate) fn redactor(&self) -> &Redactor {
        &self.shared.redactor
    }

    /// What happened so far. Not to be held while anything is waited for.
    pub(crate) fn transcript(&self) -> MutexGuard<'_, Transcript> {
        self.shared.transcript.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn emit(&self, event: Event) {
        self.pass(event, Saving::Due).await;
    }

    /// Tells an event that its maker had saved already.
    pub(crate) async fn tell(&self, event: Event) {
        self.pass(event, Saving::Done).await;
    }

    /// The way for changes of files into this session's log. It does not keep the session alive.
    pub(crate) fn recorder(&self) -> Box<dyn ChangeRecorder> {
        Box::new(LogRecorder(Arc::downgrade(&self.shared)))
    }

    async fn pass(&self, event: Event, saving: Saving) {
        let held = self.books().live.release(&self.shared.redactor, &event);
        for held in held {
            if let Ok(place) = self.shared.events.reserve().await {
                place.send(held);
            }
        }
        // A place in the queue first. A front end that is gone has also closed its commands: the engine ends by that, not
        // here, and what is to be saved is saved.
        let place = self.shared.events.reserve().await.ok();
        for remark in self.settle(event, saving, place) {
            let place = self.shared.events.reserve().await.ok();
            self.settle(remark, Saving::Due, place);
        }
    }

    /// Masked, saved, folded and told, as one step.
    fn settle(&self, mut event: Event, saving: Saving, place: Option<mpsc::Permit<'_, Event>>) -> Remarks {
        let mut books = self.books();
        let mut remarks = std::mem::take(&mut books.remarks);
        if !books.live.pass(&self.shared.redactor, &mut event) {
            return remarks;
        }
        let masked = secrets::mask(&self.shared.redactor, &mut event);
        let ts = record::now();
        if let Some(record) = event.record(ts).filter(|_| saving == Saving::Due) {
            remarks.extend(books.log.append(&record).notice().map(warning));
            match &masked {
                // The one case in which context and file differ: until the turn is over, its maker wants it unchanged.
                Masked::Reasoning(exact) => {
                    let exact = record::ReasoningRecord { reasoning: exact.clone(), ts };
                    self.transcript().absorb(Record::Reasoning(exact));
                }
                Masked::Nothing | Masked::Prompt | Masked::Else => self.transcript().absorb(record),
            }
        }
        if let Some(logbook) = &mut books.logbook {
            logbook.note(&event);
        }
        if let Some(place) = place {
            place.send(event);
        }
        if masked == Masked::Prompt {
            let message = "what looks like a secret in your prompt was masked, for the model too; name the variable or \
                           file that holds it instead";
            remarks.push(warning(message.to_owned()));
        }
        remarks
    }

    pub(crate) async fn notice(&self, level: NoticeLevel, message: impl Into<String>) {
        self.emit(Event::Notice { level, message: message.into(), kept: false }).await;
    }

    /// What was emitted so far survives a power cut. Called before side effects and at the end of a turn.
    pub(crate) async fn sync(&self) {
        let saved = self.books().log.sync();
        if let Some(message) = saved.notice() {
            self.emit(warning(message)).await;
        }
    }

    /// Takes the log away, for a session that goes on under other rules. What is told here from now on is not saved.
    pub(crate) fn hand_over(&self) -> (SessionLog, Transcript) {
        let mut books = self.books();
        let nothing = SessionLog::disabled(books.log.id());
        (std::mem::replace(&mut books.log, nothing), self.transcript().clone())
    }

    /// Gives it back.
    pub(crate) fn take_back(&self, log: SessionLog) {
        self.books().log = log;
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.shared.books()
    }
}

impl Shared {
    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Saves and folds an event that is told later, or to nobody.
    fn keep(&self, event: &Event, durability: Durability) {
        let Some(record) = event.record(record::now()) else { return };
        let mut books = self.books();
        let appended = books.log.append(&record).notice();
        let synced = match durability {
            Durability::PowerCut => books.log.sync().notice(),
            Durability::Kill => None,
        };
        books.remarks.extend(appended.into_iter().chain(synced).map(warning));
        self.transcript.lock().unwrap_or_else(PoisonError::into_inner).absorb(record);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Saving {
    Due,
    Done,
}

/// The end of zdx that a record survives.
#[derive(Clone, Copy)]
enum Durability {
    Kill,
    PowerCut,
}

struct LogRecorder(Weak<Shared>);

impl LogRecorder {
    fn keep(&self, event: &Event, durability: Durability) -> bool {
        let shared = self.0.upgrade();
        shared.as_ref().inspect(|shared| shared.keep(event, durability)).is_some()
    }
}

impl ChangeRecorder for LogRecorder {
    fn intend(&self, call: &str, change: &FileChange) {
        let event = Event::FileChangeIntended { id: call.to_owned(), change: change.clone() };
        self.keep(&event, Durability::PowerCut);
    }

    fn happened(&self, call: &str, change: &FileChange) -> bool {
        let event = Event::FileChanged { id: call.to_owned(), change: change.clone() };
        self.keep(&event, Durability::Kill)
    }

    fn dropped(&self, call: &str, change: &FileChange) {
        let event = Event::FileChangeDropped { id: call.to_owned(), change: change.clone() };
        self.keep(&event, Durability::Kill);
    }
}

fn warning(message: String) -> Event {
    Event::Notice { level: NoticeLevel::Warning, message, kept: false }
}
