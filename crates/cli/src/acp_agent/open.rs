//! How a session of a client comes to be: an engine of its own in the folder that the client names, what was said before
//! told again where that is wanted, and an answer that says what can be chosen.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use zdx_acp::{Asked, Peer, RpcError, code};
use zdx_protocol::display::plain;
use zdx_protocol::query::AgentInfo;
use zdx_protocol::{
    Command, CommandId, EditorFiles, EngineHandle, ErrorKind, Event, Open, Query, Reply, SessionInfo,
    SessionPick,
};

use super::files::Lent;
use super::log::Log;
use super::options::Options;
use super::params::{Client, Place};
use super::pending::failure;
use super::session::{Session, Wish};
use super::told::{Said, Told, When};
use crate::pump::ENGINE_GONE;
use crate::settings::Settings;
use crate::start::{self, Audience};

/// What a session has open before it takes the next: more is no client's business.
const WISHES: usize = 64;
/// As long as every id of ours.
const ID_LENGTH: usize = 36;

/// The sessions that are open, by their ids.
#[derive(Clone, Default)]
pub struct Sessions(Arc<Mutex<HashMap<String, mpsc::Sender<Wish>>>>);

impl Sessions {
    fn all(&self) -> MutexGuard<'_, HashMap<String, mpsc::Sender<Wish>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn get(&self, id: &str) -> Option<mpsc::Sender<Wish>> {
        self.all().get(id).cloned()
    }

    pub fn remove(&self, id: &str) {
        self.all().remove(id);
    }

    pub fn every(&self) -> Vec<mpsc::Sender<Wish>> {
        self.all().values().cloned().collect()
    }
}

/// What all sessions share.
#[derive(Clone)]
pub struct Shared {
    pub settings: Arc<Settings>,
    pub peer: Peer,
    pub log: Log,
    pub client: Client,
    pub sessions: Sessions,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    New,
    /// What was said is told again.
    Load(String),
    Resume(String),
}

pub fn unknown(id: &str) -> RpcError {
    RpcError::new(code::NOT_FOUND, format!("no such session: {id}"))
}

/// Opens it, answers, and is that session until it ends.
pub async fn open(shared: Shared, asked: Asked, how: How) {
    let Some(asked) = freed(&shared, asked, &how).await else { return };
    match opened(&shared, &asked.params, &how).await {
        Ok((session, state)) => {
            let (send, wishes) = mpsc::channel(WISHES);
            shared.sessions.all().insert(session.id.clone(), send);
            asked.answer(Ok(state)).await;
            session.run(wishes).await;
        }
        Err(error) => asked.answer(Err(error)).await,
    }
}

/// A session that is open here is not opened a second time: it answers itself, or makes way if it has something to tell.
async fn freed(shared: &Shared, asked: Asked, how: &How) -> Option<Asked> {
    let (How::Load(id) | How::Resume(id)) = how else { return Some(asked) };
    let Some(session) = shared.sessions.get(id) else { return Some(asked) };
    let wish = match how {
        How::Load(_) => {
            let (back, given_back) = oneshot::channel();
            if session.send(Wish::MakeWay(asked, back)).await.is_err() {
                return None;
            }
            return given_back.await.ok();
        }
        How::New | How::Resume(_) => Wish::Request(asked),
    };
    // A session that has just ended leaves the request to be refused.
    let _ = session.send(wish).await;
    None
}

async fn opened(shared: &Shared, params: &Value, how: &How) -> Result<(Session, Value), RpcError> {
    let place = Place::read(params)?;
    let open = match how {
        How::New => Open::New,
        How::Load(id) | How::Resume(id) if id.len() != ID_LENGTH => return Err(unknown(id)),
        How::Load(id) | How::Resume(id) => Open::Resume(SessionPick::Id(id.clone())),
    };
    let mut settings = Settings { root: place.cwd, ..Settings::clone(&shared.settings) };
    settings.flags.mcp = place.servers;
    let lent = Lent::new(shared);
    let editor = lent.clone().map(|lent| lent as Arc<dyn EditorFiles>);
    let engine = start::engine_in(&settings, Audience::Screen, editor);
    let mut opening =
        Opening { shared, engine, told: Told::new(&settings.root), info: None, late: Vec::new() };
    let retell = matches!(how, How::Load(_));
    let command = opening.engine.send(Command::Open(open)).await;
    opening.until_over(command, retell).await?;
    let agents = opening.agents().await?;
    let Opening { engine, told, info, late, .. } = opening;
    let info = info.ok_or_else(|| RpcError::new(code::INTERNAL, ENGINE_GONE))?;
    if let Some(lent) = lent {
        lent.to(&info.session);
    }
    let options = Options::new(&info, agents);
    let mut state = json!({"modes": options.modes(), "configOptions": options.all()});
    if *how == How::New {
        state["sessionId"] = json!(info.session);
    }
    let mut session = Session::new(info, settings.root, shared.clone(), engine, told, options);
    session.late = late;
    session.said = *how != How::New;
    Ok((session, state))
}

struct Opening<'a> {
    shared: &'a Shared,
    engine: EngineHandle,
    told: Told,
    info: Option<SessionInfo>,
    /// To be said once the client knows the session.
    late: Vec<Said>,
}

impl Opening<'_> {
    async fn until_over(&mut self, command: CommandId, retell: bool) -> Result<Option<Reply>, RpcError> {
        loop {
            let Some(event) = self.engine.events.recv().await else {
                return Err(RpcError::new(code::INTERNAL, ENGINE_GONE));
            };
            if event.ends() == Some(command) {
                return match event {
                    // There is none of that name, or it is not to be had.
                    Event::Error { kind: ErrorKind::Session, message, .. } => {
                        Err(RpcError::new(code::NOT_FOUND, plain(&message)))
                    }
                    Event::Error { kind, message, .. } => Err(failure(kind, &message)),
                    Event::Reply { answer, .. } => Ok(Some(answer)),
                    _ => Ok(None),
                };
            }
            match event {
                Event::SessionStarted(info) => self.info = Some(info),
                Event::Replayed { event } if retell => self.retell(&event).await,
                Event::Replayed { .. } => {}
                event => {
                    if let Event::TrustRequested(request) = &event {
                        // Whoever is behind an editor has not seen what the files want: nothing is trusted unseen.
                        let (request, trust) = (request.request, false);
                        self.engine.send(Command::AnswerTrust { request, trust }).await;
                    }
                    self.late.extend(self.told.tell(&event, When::Now));
                }
            }
        }
    }

    async fn retell(&mut self, event: &Event) {
        let Some(id) = self.info.as_ref().map(|info| info.session.as_str()) else { return };
        for said in self.told.tell(event, When::Before) {
            if let Said::Update(update) = said {
                let params = json!({"sessionId": id, "update": update});
                // A client that is gone ends everything elsewhere.
                let _ = self.shared.peer.notify("session/update", params).await;
            }
        }
    }

    async fn agents(&mut self) -> Result<Vec<AgentInfo>, RpcError> {
        let command = self.engine.send(Command::Ask(Query::Agents)).await;
        match self.until_over(command, false).await? {
            Some(Reply::Agents(agents)) => Ok(agents),
            Some(_) | None => Ok(Vec::new()),
        }
    }
}
