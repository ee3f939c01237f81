//! What goes on beside a turn: questions being answered and words on their way out, driven together with it.
//! (The field says concurrent requests during a turn.)

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use zdx_protocol::{CheckChoice, CommandId, ErrorKind, Event, Query, Reply};

use crate::event_sink::EventSink;
use crate::queries::Queries;
use crate::session::Session;

/// More questions than any front end has at a time.
const MOST: usize = 64;

/// More than waits to be told while anybody reads.
const FULL: usize = 512;

#[derive(Default)]
pub(crate) struct Aside {
    running: FuturesUnordered<BoxFuture<'static, ()>>,
    /// The session is being left: what is not answered by now gets no answer.
    closing: CancellationToken,
    /// Held while a typed line is written: lines stand in the history in the order in which they were typed.
    writing: Arc<Mutex<()>>,
}

/// How a command ends that could not be carried out.
pub(crate) fn failed(id: CommandId, kind: ErrorKind, message: impl Into<String>) -> Event {
    Event::Error { command: Some(id), kind, message: message.into(), details: None }
}

impl Aside {
    pub(crate) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Nobody reads what is told: no more commands are taken until somebody does.
    pub(crate) fn is_full(&self) -> bool {
        self.running.len() >= FULL
    }

    /// Until one more of it is over.
    pub(crate) async fn next(&mut self) {
        self.running.next().await;
    }

    /// Gives up what takes time.
    pub(crate) fn interrupt(&mut self) {
        std::mem::take(&mut self.closing).cancel();
    }

    /// Gives up what takes time, and tells all that is left to tell.
    pub(crate) async fn close(&mut self) {
        self.closing.cancel();
        while self.running.next().await.is_some() {}
    }

    pub(crate) fn tell(&mut self, emit: &EventSink, events: Vec<Event>) {
        if events.is_empty() {
            return;
        }
        let emit = emit.clone();
        self.running.push(
            async move {
                for event in events {
                    emit.emit(event).await;
                }
            }
            .boxed(),
        );
    }

    pub(crate) fn ask(&mut self, queries: &Arc<Queries>, id: CommandId, query: Query) {
        let emit = queries.session.events.clone();
        let queries = Arc::clone(queries);
        let answer = async move {
            match queries.answer(query).await {
                Ok(answer) => vec![Event::Reply { id, answer }],
                Err(none) => vec![failed(id, none.kind, none.message)],
            }
        };
        self.run(&emit, id, answer.boxed());
    }

    pub(crate) fn export(&mut self, session: &Session, id: CommandId, path: Option<PathBuf>) {
        let export = session.clone().export(path);
        let work = async move {
            match export.await {
                Ok(path) => vec![Event::Exported { path }, Event::Done { id }],
                Err(none) => vec![failed(id, none.kind, none.message)],
            }
        };
        self.run(&session.events, id, work.boxed());
    }

    /// Replies with the redacted line and then writes it: nothing waits for a slow disk but the end of the session.
    pub(crate) fn remember(&mut self, session: &Session, id: CommandId, line: String) {
        let (session, writing) = (session.clone(), Arc::clone(&self.writing));
        let remembered = async move {
            let line = session.events.redactor().redact(&line).into_owned();
            session.events.emit(Event::Reply { id, answer: Reply::Remembered(line.clone()) }).await;
            let _writing = writing.lock().await;
            session.remember(line).await;
        };
        self.running.push(remembered.boxed());
    }

    pub(crate) fn revoke(&mut self, session: &Session, id: CommandId, grant: String) {
        let revoke = session.clone().revoke(grant);
        let work = async move {
            match revoke.await {
                Ok(grants) => {
                    let revoked = grants.into_iter().map(|grant| Event::GrantRevoked { grant });
                    revoked.chain([Event::Done { id }]).collect()
                }
                Err(none) => vec![failed(id, none.kind, none.message)],
            }
        };
        self.run(&session.events, id, work.boxed());
    }

    pub(crate) fn check(&mut self, session: &Session, id: CommandId, choice: Option<CheckChoice>) {
        let check = session.clone().check(choice);
        let work = async move {
            match check.await {
                Ok(state) => vec![Event::CheckTold(state), Event::Done { id }],
                Err(none) => vec![failed(id, none.kind, none.message)],
            }
        };
        self.run(&session.events, id, work.boxed());
    }

    pub(crate) fn add_folder(&mut self, session: &Session, id: CommandId, path: String) {
        let add_folder = session.clone().add_folder(path);
        let work = async move {
            match add_folder.await {
                Ok(path) => vec![Event::FolderAdded { path }, Event::Done { id }],
                Err(none) => vec![failed(id, none.kind, none.message)],
            }
        };
        self.run(&session.events, id, work.boxed());
    }

    /// Something that takes time, and what is to be told of it.
    fn run(&mut self, emit: &EventSink, id: CommandId, work: BoxFuture<'static, Vec<Event>>) {
        if self.running.len() >= MOST {
            let end = failed(id, ErrorKind::Limit, "too many questions at once; wait for an answer first");
            return self.tell(emit, vec![end]);
        }
        let (emit, closing) = (emit.clone(), self.closing.clone());
        let told = async move {
            let events = tokio::select! {
                events = work => events,
                () = closing.cancelled() => {
                    vec![failed(id, ErrorKind::Interrupted, "interrupted before it was done")]
                }
            };
            for event in events {
                emit.emit(event).await;
            }
        };
        self.running.push(told.boxed());
    }
}
