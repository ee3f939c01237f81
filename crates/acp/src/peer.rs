//! One side of a connection: asks and is asked, over two streams. Two tasks serve it; both end with the streams.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};

use crate::error::{CallError, RpcError, code};
use crate::frame::{Frame, Id, Unreadable};
use crate::lines::{LONGEST, Line, Lines};

/// What waits to be written, and what waits to be dealt with: whoever is slow makes the other side wait, not our memory grow.
const WAITING: usize = 1024;

/// From our point of view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Sent,
    Received,
}

/// Sees every line of the connection as it is on the wire, garbage included, without its end.
pub type Tap = Arc<dyn Fn(Direction, &[u8]) + Send + Sync>;

/// What the other side said that is no answer to us, in its order. Everything that arrived before an answer is in here
/// before that answer is given: who waits for one and then empties the inbox has missed nothing.
pub type Inbox = mpsc::Receiver<Heard>;

#[derive(Debug)]
pub enum Heard {
    Request(Asked),
    Notification {
        method: String,
        params: Value,
    },
    /// A line that is no frame, or an answer that nobody waits for. It is skipped; `line` may be only how it begins.
    Stray {
        line: String,
        why: Unreadable,
    },
}

/// Something that the other side wants an answer to. One that is dropped answers that we failed: nobody waits for ever.
#[derive(Debug)]
pub struct Asked {
    pub id: Id,
    pub method: String,
    pub params: Value,
    answer_to: Option<mpsc::Sender<String>>,
}

impl Asked {
    pub async fn answer(mut self, result: Result<Value, RpcError>) {
        if let Some(to) = self.answer_to.take() {
            // The other side is gone, and wants none any more.
            let _ = to.send(Frame::Response { id: Some(self.id.clone()), result }.write()).await;
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        if let Some(to) = self.answer_to.take() {
            let error = RpcError::new(code::INTERNAL, "the request was not answered");
            let _ = to.try_send(Frame::Response { id: Some(self.id.clone()), result: Err(error) }.write());
        }
    }
}

/// Cheap to clone. The writing stream is closed when the last one is gone.
#[derive(Clone)]
pub struct Peer {
    outgoing: mpsc::Sender<String>,
    calls: Arc<Calls>,
}

type Waiting = HashMap<Id, oneshot::Sender<Result<Value, RpcError>>>;

#[derive(Default)]
struct Calls {
    next: AtomicU64,
    /// `None`: the other side is gone.
    waiting: Mutex<Option<Waiting>>,
}

impl Calls {
    fn waiting(&self) -> MutexGuard<'_, Option<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets a call that nobody waits for any more.
struct Waits<'a> {
    calls: &'a Calls,
    id: &'a Id,
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        if let Some(waiting) = self.calls.waiting().as_mut() {
            waiting.remove(self.id);
        }
    }
}

impl Peer {
    /// Asks and waits, for as long as the caller does. Meanwhile somebody has to read the inbox.
    pub async fn call(&self, method: &str, params: Value) -> Result<Value, CallError> {
        let id = self.next_id();
        self.call_as(&id, method, params).await
    }

    /// An id for [`Self::call_as`].
    pub fn next_id(&self) -> Id {
        Id::number(self.calls.next.fetch_add(1, Ordering::Relaxed))
    }

    /// The same, for those who must know the id: to take the request back, for one.
    pub async fn call_as(&self, id: &Id, method: &str, params: Value) -> Result<Value, CallError> {
        let (answer, answered) = oneshot::channel();
        self.calls.waiting().as_mut().ok_or(CallError::Gone)?.insert(id.clone(), answer);
        let _waits = Waits { calls: &self.calls, id };
        let frame = Frame::Request { id: id.clone(), method: method.to_owned(), params };
        self.outgoing.send(frame.write()).await.map_err(|_| CallError::Gone)?;
        Ok(answered.await.map_err(|_| CallError::Gone)??)
    }

    pub async fn notify(&self, method: &str, params: Value) -> Result<(), CallError> {
        let frame = Frame::Notification { method: method.to_owned(), params };
        self.outgoing.send(frame.write()).await.map_err(|_| CallError::Gone)
    }

    /// A line as it is, for who wants to know how the other side takes it.
    pub async fn say(&self, line: &str) -> Result<(), CallError> {
        self.outgoing.send(line.to_owned()).await.map_err(|_| CallError::Gone)
    }

    /// Until the other side can no longer be written to.
    pub async fn gone(&self) {
        self.outgoing.closed().await;
    }

    /// The other side cannot be written to any more.
    pub fn is_closed(&self) -> bool {
        self.outgoing.is_closed()
    }
}

/// Speaks over these streams from now on.
pub fn connect(
    reader: impl AsyncRead + Unpin + Send + 'static,
    writer: impl AsyncWrite + Unpin + Send + 'static,
    tap: Option<Tap>,
) -> (Peer, Inbox) {
    let (outgoing, to_write) = mpsc::channel(WAITING);
    let (heard, inbox) = mpsc::channel(WAITING);
    let calls = Arc::new(Calls::default());
    *calls.waiting() = Some(HashMap::new());
    tokio::spawn(write(writer, to_write, tap.clone()));
    let ears = Ears { calls: Arc::clone(&calls), heard, answer_to: outgoing.downgrade(), tap };
    tokio::spawn(ears.listen(Lines::new(reader, LONGEST)));
    (Peer { outgoing, calls }, inbox)
}

async fn write(mut writer: impl AsyncWrite + Unpin, mut to_write: mpsc::Receiver<String>, tap: Option<Tap>) {
    while let Some(mut line) = to_write.recv().await {
        if let Some(tap) = &tap {
            tap(Direction::Sent, line.as_bytes());
        }
        line.push('\n');
        if writer.write_all(line.as_bytes()).await.is_err() || writer.flush().await.is_err() {
            return;
        }
    }
    let _ = writer.shutdown().await;
}

struct Ears {
    calls: Arc<Calls>,
    heard: mpsc::Sender<Heard>,
    /// Weak: listening alone does not keep the stream to the other side open.
    answer_to: mpsc::WeakSender<String>,
    tap: Option<Tap>,
}

impl Ears {
    async fn listen(self, mut lines: Lines<impl AsyncRead + Unpin>) {
        while let Some(line) = lines.next().await {
            let (line, cut) = match line {
                Line::Whole(line) => (line, false),
                Line::Cut(line) => (line, true),
            };
            if let Some(tap) = &self.tap {
                tap(Direction::Received, &line);
            }
            // Blank lines mean nothing; some agents write them.
            if line.trim_ascii().is_empty() {
                continue;
            }
            let frame = if cut { Err(Unreadable::TooLong) } else { Frame::read(&line) };
            if cut {
                self.give_up(&line);
            }
            let Some(heard) = self.sort(frame, &line) else { continue };
            if self.heard.send(heard).await.is_err() {
                // Nobody deals with requests any more, but answers are still waited for.
                continue;
            }
        }
        // Whoever still waits learns it by this.
        *self.calls.waiting() = None;
    }

    /// Whoever waits for an answer that is too long must not wait for ever. Where its beginning does not say whose it is,
    /// it may be anybody's.
    fn give_up(&self, begin: &[u8]) {
        let Some(id) = answered(&String::from_utf8_lossy(begin)) else { return };
        let mut waiting = self.calls.waiting();
        let Some(waiting) = waiting.as_mut() else { return };
        let calls: Vec<_> = match id {
            Some(id) => waiting.remove(&id).into_iter().collect(),
            None => waiting.drain().map(|(_, call)| call).collect(),
        };
        for call in calls {
            let _ = call.send(Err(RpcError::new(code::INTERNAL, "the answer is too long")));
        }
    }

    /// What of it goes into the inbox.
    fn sort(&self, frame: Result<Frame, Unreadable>, line: &[u8]) -> Option<Heard> {
        let stray = |why| Heard::Stray { line: String::from_utf8_lossy(line).into_owned(), why };
        match frame {
            Ok(Frame::Request { id, method, params }) => {
                Some(Heard::Request(Asked { id, method, params, answer_to: self.answer_to.upgrade() }))
            }
            Ok(Frame::Notification { method, params }) => Some(Heard::Notification { method, params }),
            Ok(Frame::Response { id, result }) => {
                let call = id.and_then(|id| self.calls.waiting().as_mut()?.remove(&id));
                match call {
                    Some(call) => {
                        // The caller may have gone since.
                        let _ = call.send(result);
                        None
                    }
                    None => Some(stray(Unreadable::NotRpc)),
                }
            }
            Err(why) => Some(stray(why)),
        }
    }
}

/// Whether an answer begins so, and to what if that stands before what is long.
fn answered(begin: &str) -> Option<Option<Id>> {
    let first = |names: [&str; 2]| names.into_iter().filter_map(|name| begin.find(name)).min();
    let result = first(["\"result\"", "\"error\""])?;
    if first(["\"method\"", "\"params\""]).is_some_and(|request| request < result) {
        return None;
    }
    let id = begin[..result].split_once("\"id\"").and_then(|(_, rest)| {
        let number = rest.trim_start().strip_prefix(':')?.trim_start();
        let end = number.find(|c: char| !c.is_ascii_digit())?;
        number[..end].parse().ok().map(Id::number)
    });
    Some(id)
}

#[cfg(test)]
mod tests;
