//! One turn of another agent: what it says is told, what it asks is answered beside it, an interrupt calls it off.

use std::collections::HashMap;
use std::pin::pin;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use zdx_acp::shapes::{SessionUpdate, StopReason};
use zdx_acp::{CallError, Heard, Id, RpcError, code};

use super::asked::{self, Answered, Room, Seat};
use super::link::{Link, Trouble};
use super::told::Teller;
use crate::call::TurnIo;

/// What an agent gets to end its turn once it was called off.
const CALLED_OFF: Duration = Duration::from_secs(2);
/// What a word to an agent that does not read may take.
const A_WORD: Duration = Duration::from_millis(300);
/// What is still under way for a turn that is over may take to end.
const CLEARING: Duration = Duration::from_secs(3);
/// Requests under way at once; more are refused.
const MOST: usize = 64;

pub(super) async fn run(
    link: &mut Link,
    blocks: Vec<Value>,
    teller: &mut Teller,
    io: &TurnIo,
) -> Result<StopReason, Trouble> {
    let mut desk = Desk::new(io, teller);
    let answer = wait(link, blocks, teller, &mut desk, io).await;
    while let Ok(heard) = link.inbox.try_recv() {
        desk.hear(heard, link, teller).await;
    }
    desk.clear(teller).await;
    match answer {
        Ok(answer) => Ok(StopReason::read(&answer)),
        // How it died is no news to who called it off.
        Err(Some(_)) if io.cancel.is_cancelled() => Err(Trouble::Interrupted),
        Err(Some(error)) => Err(link.trouble("session/prompt", error).await),
        Err(None) => Err(Trouble::Interrupted),
    }
}

/// The answer; no error where it was called off and did not mind.
async fn wait(
    link: &mut Link,
    blocks: Vec<Value>,
    teller: &mut Teller,
    desk: &mut Desk,
    io: &TurnIo,
) -> Result<Value, Option<CallError>> {
    let peer = link.peer.clone();
    let params = json!({"sessionId": link.session, "prompt": blocks});
    let mut call = pin!(peer.call("session/prompt", params));
    let mut deadline = None;
    loop {
        let heard = tokio::select! {
            biased;
            () = io.cancel.cancelled(), if deadline.is_none() => {
                deadline = Some(Instant::now() + CALLED_OFF);
                let cancel = peer.notify("session/cancel", json!({"sessionId": link.session}));
                let _ = tokio::time::timeout(A_WORD, cancel).await;
                continue;
            }
            () = tokio::time::sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                return Err(None);
            }
            Some(done) = desk.answers.join_next() => {
                desk.answered(done.ok(), teller);
                continue;
            }
            Some(heard) = link.inbox.recv() => heard,
            answer = &mut call => return answer.map_err(Some),
            () = link.agent.over() => return Err(Some(CallError::Gone)),
        };
        desk.hear(heard, link, teller).await;
    }
}

/// What the agent asks of us, each on a task of its own.
struct Desk {
    seat: Seat,
    room: Room,
    io: TurnIo,
    asked: HashMap<Id, CancellationToken>,
    answers: JoinSet<Answered>,
}

impl Desk {
    fn new(io: &TurnIo, teller: &Teller) -> Self {
        let seat = Seat { turn: teller.turn, number: 0 };
        let room = Room::new(io.cancel.child_token(), teller.ledger.clone());
        Self { seat, room, io: io.clone(), asked: HashMap::new(), answers: JoinSet::new() }
    }

    async fn hear(&mut self, heard: Heard, link: &mut Link, teller: &mut Teller) {
        match heard {
            Heard::Request(mut asked) => {
                if self.answers.len() >= MOST {
                    let error = RpcError::new(code::INTERNAL, "too many requests at once");
                    return asked.answer(Err(error)).await;
                }
                if asked.params["toolCall"].is_object() {
                    // A permission may name its call by id alone, or be the first word of it.
                    asked.params["toolCall"] = teller.call(&asked.params["toolCall"].take(), true).await;
                }
                let cancel = self.room.over.child_token();
                self.asked.insert(asked.id.clone(), cancel.clone());
                let io = TurnIo { cancel, ..self.io.clone() };
                self.seat.number += 1;
                self.answers.spawn(asked::answer(asked, self.seat, io, self.room.clone()));
            }
            Heard::Notification { method, params } if method == "session/update" => {
                let told = SessionUpdate::read(params);
                if told.session.as_deref().is_none_or(|session| session == link.session) {
                    link.note(&told.update);
                    teller.update(told.update).await;
                }
            }
            Heard::Notification { method, params } if method == "$/cancel_request" => {
                if let Some(cancel) = Id::read(&params["requestId"]).and_then(|id| self.asked.remove(&id)) {
                    cancel.cancel();
                }
            }
            // Unknown ones are to be ignored, and so are lines that are no frames.
            Heard::Notification { .. } | Heard::Stray { .. } => {}
        }
    }

    fn answered(&mut self, done: Option<Answered>, teller: &mut Teller) {
        if let Some(Answered { request, denied, call, word }) = done {
            self.asked.remove(&request);
            teller.denied += u32::from(denied);
            if let Some(call) = call {
                teller.answered(call, denied, word);
            }
        }
    }

    /// The turn is over: nothing that it asked for goes on.
    async fn clear(&mut self, teller: &mut Teller) {
        self.room.over.cancel();
        let all = async {
            while let Some(done) = self.answers.join_next().await {
                teller.denied += u32::from(done.is_ok_and(|done| done.denied));
            }
        };
        let _ = tokio::time::timeout(CLEARING, all).await;
        self.room.terminals.close(CLEARING).await;
    }
}
