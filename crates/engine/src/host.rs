//! One engine for a front end's whole life: which session is open, and how the next one is opened. The open one stays
//! until the other is there, so that a wish that cannot be met loses nothing.
//! (The field says session manager, thread manager.)

mod trust;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc;
use zdx_protocol::display::sessions::short_id;
use zdx_protocol::{
    Command, CommandId, EngineHandle, ErrorKind, Event, NoticeLevel, Open, Sent, SessionPick,
};

use crate::approvals::Approvals;
use crate::backend::Backend;
use crate::engine::{Engine, Inbox, Leave, failed};
use crate::setup::Setup;
use crate::start::{self, Beginning, Handed, SessionChoice, SessionTarget, StartError, Started};
use zdx_config::ConfigError;
use zdx_config::EffectiveConfig;
use zdx_config::trust::{ContentHash, TrustError};
use zdx_mcp::ServerSet;
use zdx_store::{self, SessionFindError, SessionForkError, SessionId, SessionKind, SessionStore};

/// Starts an engine. It has no session before one is opened.
pub fn spawn(setup: Setup) -> EngineHandle {
    launch(setup, Box::new(|| None))
}

/// The same with a backend that follows a script, in every session.
#[cfg(feature = "testing")]
pub fn spawn_scripted(setup: Setup, factory: crate::backend::scripted::Factory) -> EngineHandle {
    launch(setup, Box::new(move || Some(Backend::Test(factory()))))
}

/// What was wanted of an open session was left undone.
const STOPPED: &str = "stopped before it was decided; the session is as it was";

/// Who answers instead of a model, if somebody does.
type Instance = Box<dyn Fn() -> Option<Backend> + Send + Sync>;

fn launch(setup: Setup, scripted: Instance) -> EngineHandle {
    let (handle, end) = EngineHandle::pair();
    let host = Host {
        scripted,
        setup: Arc::new(setup),
        events: end.events,
        inbox: Inbox::new(end.commands),
        session: None,
        declined: None,
        approvals: Approvals::default(),
        servers: None,
    };
    tokio::spawn(host.run());
    handle
}

struct Host {
    scripted: Instance,
    setup: Arc<Setup>,
    events: mpsc::Sender<Event>,
    inbox: Inbox,
    session: Option<Engine>,
    /// What the person was asked to trust and would not: not asked about again.
    declined: Option<ContentHash>,
    /// Questions of all sessions: an answer that comes late must not meet another question of the same number.
    approvals: Approvals,
    /// The servers of the session that is open, or was last.
    servers: Option<Arc<ServerSet>>,
}

/// Why no session was opened.
#[derive(Debug, thiserror::Error)]
enum OpenError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Trust(#[from] TrustError),
    #[error(transparent)]
    Find(#[from] SessionFindError),
    #[error(transparent)]
    Fork(#[from] SessionForkError),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("{words}; the latest that is free: `{program} --session {id}`")]
    InUse { words: String, program: &'static str, id: SessionId },
    #[error("{0}")]
    NothingToFork(String),
    #[error("nothing is kept in this run (--no-save), so it cannot go on with a saved session")]
    NotSaving,
    #[error("cannot work in {}: {why}", path.display())]
    Root { path: PathBuf, why: String },
    #[error("interrupted before a session was open")]
    Abandoned(Instead),
}

/// What was wanted instead of the session that was being opened.
#[derive(Debug)]
enum Instead {
    Nothing { interrupt: CommandId },
    Else(Leave),
}

impl OpenError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Config(_) | Self::Trust(_) | Self::Root { .. } => ErrorKind::Config,
            Self::Find(_) | Self::Fork(_) | Self::InUse { .. } | Self::NothingToFork(_) | Self::NotSaving => {
                ErrorKind::Session
            }
            Self::Start(error) => error.kind(),
            Self::Abandoned(_) => ErrorKind::Interrupted,
        }
    }
}

impl Host {
    /// The folder of the open session; before there is one, that of the command line.
    fn root(&self) -> &Path {
        self.session.as_ref().map_or(&self.setup.root, |open| open.session().root())
    }

    async fn run(mut self) {
        let mut next = None;
        loop {
            let leave = match (next.take(), &mut self.session) {
                (Some(leave), _) => leave,
                (None, Some(engine)) => engine.run(&mut self.inbox).await,
                (None, None) => self.wait().await,
            };
            match leave {
                Leave::Open { id, open } => {
                    let opened = self.open(open).await;
                    next = self.tell(id, opened).await;
                }
                Leave::Trust { id } => {
                    let decided = self.decide_trust().await;
                    next = self.tell(id, decided).await;
                }
                Leave::Shutdown { id } => return self.end(id).await,
            }
        }
    }

    async fn end(mut self, id: Option<CommandId>) {
        if let Some(mut engine) = self.session.take() {
            engine.close().await;
        }
        if let Some(servers) = self.servers.take() {
            servers.close().await;
        }
        for Sent { id, .. } in self.inbox.held() {
            let _ = self.events.send(failed(id, ErrorKind::Interrupted, "zdx is leaving")).await;
        }
        if let Some(id) = id {
            let _ = self.events.send(Event::Done { id }).await;
        }
    }

    /// Commands before there is a session.
    async fn wait(&mut self) -> Leave {
        loop {
            let Some(Sent { id, command }) = self.inbox.next().await else {
                return Leave::Shutdown { id: None };
            };
            let end = match command {
                Command::Open(open) => return Leave::Open { id, open },
                Command::Shutdown => return Leave::Shutdown { id: Some(id) },
                Command::Interrupt => Event::Done { id },
                Command::Prompt(_)
                | Command::Answer { .. }
                | Command::AnswerTrust { .. }
                | Command::Shell(_)
                | Command::Compact
                | Command::SetModel(_)
                | Command::KeepModel
                | Command::SetAgent(_)
                | Command::Revert { .. }
                | Command::Redo
                | Command::Retry
                | Command::SetApproval(_)
                | Command::Revoke { .. }
                | Command::Check(_)
                | Command::AddFolder { .. }
                | Command::Trust
                | Command::Export { .. }
                | Command::Remember { .. }
                | Command::Ask(_) => failed(id, ErrorKind::Session, "no session is open"),
            };
            let _ = self.events.send(end).await;
        }
    }

    /// How a command ended; what else was wanted meanwhile comes next.
    async fn tell(&mut self, id: CommandId, result: Result<(), OpenError>) -> Option<Leave> {
        let failed_to_open = result.is_err();
        let (end, instead) = match result {
            Ok(()) => (Event::Done { id }, None),
            Err(error) => {
                let words = match (&error, &self.session) {
                    (OpenError::Abandoned(_), Some(_)) => STOPPED.to_owned(),
                    (error, _) => error.to_string(),
                };
                let end = failed(id, error.kind(), words);
                let instead = match error {
                    OpenError::Abandoned(instead) => Some(instead),
                    _ => None,
                };
                (end, instead)
            }
        };
        let _ = self.events.send(end).await;
        // What was sent for a session that is not there must not be carried out in another one.
        if failed_to_open && !matches!(instead, Some(Instead::Else(Leave::Open { .. }))) {
            for Sent { id, .. } in self.inbox.held().collect::<Vec<_>>() {
                let end = failed(id, ErrorKind::Interrupted, "the session that this was for was not opened");
                let _ = self.events.send(end).await;
            }
        }
        match instead? {
            Instead::Else(leave) => Some(leave),
            Instead::Nothing { interrupt } => {
                let _ = self.events.send(Event::Done { id: interrupt }).await;
                None
            }
        }
    }

    async fn open(&mut self, open: Open) -> Result<(), OpenError> {
        let latest = match &open {
            Open::Resume(SessionPick::LatestHere) => Some(Some(self.root().to_owned())),
            Open::Resume(SessionPick::Latest) => Some(None),
            Open::Resume(SessionPick::Id(_)) | Open::New | Open::Fork { .. } | Open::Root(_) => None,
        };
        let target = self.target(open)?;
        let configured = self.configured(&target.root).await?;
        let begun = self.begin(target, configured).await;
        begun.map_err(|error| match latest {
            Some(root) => self.or_next(error, root.as_deref()),
            None => error,
        })
    }

    /// Who wanted to go on with the latest, and cannot, hears which one he can.
    fn or_next(&self, error: OpenError, root: Option<&Path>) -> OpenError {
        match &error {
            OpenError::Start(StartError::Session(in_use @ zdx_store::SessionOpenError::InUse(_))) => {
                let words = in_use.to_string();
                match self.store().latest_free(root, self.kind()) {
                    Some(id) => OpenError::InUse { words, program: self.program(), id },
                    None => error,
                }
            }
            _ => error,
        }
    }

    fn kind(&self) -> SessionKind {
        if self.setup.one_prompt { SessionKind::Any } else { SessionKind::Chat }
    }

    /// What is typed to go on with a session as in this run.
    fn program(&self) -> &'static str {
        if self.setup.one_prompt { "zdx exec" } else { "zdx" }
    }

    /// The open session under another configuration: nothing of the conversation is lost, whether it is saved or not, and
    /// what the user chose in it stays chosen. Should it not come up again, it goes on as it was.
    async fn go_on(&mut self, configured: EffectiveConfig, past: Vec<Event>) -> Result<(), OpenError> {
        let root = self.root().to_owned();
        let Some(mut before) = self.session.take() else { return Ok(()) };
        let (log, transcript) = before.session().events.hand_over();
        let content = Arc::clone(&before.session().state.tools.content);
        let choice = SessionChoice::Handed(Box::new(Handed { log, transcript, past, content }));
        let target = SessionTarget { carried: Some(before.carried()), ..SessionTarget::of(root, choice) };
        let started = self.start(target, configured).await;
        match started {
            Ok(Started { engine, announcement }) => {
                engine.follow(&before);
                before.close().await;
                announcement.announce(&engine).await;
                self.session = Some(engine);
                Ok(())
            }
            Err(error) => {
                // The file was let go of when it did not come up; before anything was said there was none.
                if let Some(id) = before.session().saved_id() {
                    let log =
                        self.store().open(id).map_or_else(|_| self.store().create(id), |opened| opened.log);
                    before.session().events.take_back(log);
                }
                self.session = Some(before);
                Err(error)
            }
        }
    }

    fn store(&self) -> SessionStore {
        SessionStore::new(self.setup.paths.sessions())
    }

    fn new_session(&self) -> SessionChoice {
        if self.setup.save { SessionChoice::New } else { SessionChoice::Unsaved }
    }

    fn target(&self, open: Open) -> Result<SessionTarget, OpenError> {
        let store = self.store();
        let root = self.root().to_owned();
        let kind = self.kind();
        let latest = |root: Option<&Path>| store.latest(root, kind).map(|latest| (latest.id, latest.notices));
        match open {
            Open::New => {
                let carried = self.session.as_ref().map(Engine::carried);
                Ok(SessionTarget { carried, ..SessionTarget::of(root, self.new_session()) })
            }
            Open::Resume(_) if !self.setup.save => Err(OpenError::NotSaving),
            Open::Resume(pick) => {
                let (id, notices) = match pick {
                    SessionPick::Id(prefix) => (store.find(&prefix)?, Vec::new()),
                    SessionPick::LatestHere => latest(Some(&root))?,
                    SessionPick::Latest => latest(None)?,
                };
                let notices = notices.into_iter().map(|text| (NoticeLevel::Warning, text)).collect();
                Ok(SessionTarget { notices, ..SessionTarget::of(root, SessionChoice::Existing(id)) })
            }
            Open::Fork { turn } => {
                let none = || OpenError::NothingToFork("no session is open".to_owned());
                let open = self.session.as_ref().ok_or_else(none)?;
                let id = open.session().recorded_id().map_err(|why| OpenError::NothingToFork(why.message))?;
                let choice = SessionChoice::Existing(store.fork(id, turn)?);
                let last =
                    turn.map_or(open.session().events.transcript().turns, |turn| turn.saturating_sub(1));
                let notices = vec![(NoticeLevel::Info, forked(&id.to_string(), last))];
                Ok(SessionTarget { notices, ..SessionTarget::of(root, choice) })
            }
            Open::Root(path) => {
                let root = folder(&self.root().join(path))?;
                Ok(SessionTarget::of(root, self.new_session()))
            }
        }
    }

    /// What comes while a session is being opened: a way out, or something for that session.
    fn meanwhile(&mut self, sent: Option<Sent>) -> Result<(), OpenError> {
        let instead = match sent {
            None => Instead::Else(Leave::Shutdown { id: None }),
            Some(Sent { id, command: Command::Shutdown }) => Instead::Else(Leave::Shutdown { id: Some(id) }),
            Some(Sent { id, command: Command::Open(open) }) => Instead::Else(Leave::Open { id, open }),
            Some(Sent { id, command: Command::Interrupt }) => Instead::Nothing { interrupt: id },
            Some(sent) => {
                self.inbox.hold(sent);
                return Ok(());
            }
        };
        Err(OpenError::Abandoned(instead))
    }

    async fn begin(&mut self, target: SessionTarget, configured: EffectiveConfig) -> Result<(), OpenError> {
        if let SessionChoice::Existing(id) = target.choice
            && self.session.as_ref().is_some_and(|open| open.session().saved_id() == Some(id))
        {
            // It is open: told again, it goes on.
            let past = self.store().retold(id, self.setup.replay).unwrap_or_default();
            return self.go_on(configured, past).await;
        }
        let goes_on = target.carried.is_some();
        let Started { engine, announcement } = self.start(target, configured).await?;
        if let Some(before) = self.session.as_ref().filter(|_| goes_on) {
            engine.follow(before);
        }
        self.leave_session().await;
        announcement.announce(&engine).await;
        self.session = Some(engine);
        Ok(())
    }

    /// A session put together, while a way out stays open.
    async fn start(
        &mut self,
        target: SessionTarget,
        configured: EffectiveConfig,
    ) -> Result<Started, OpenError> {
        let opening = start::start(Beginning {
            setup: Arc::clone(&self.setup),
            target,
            configured,
            events: self.events.clone(),
            approvals: self.approvals.clone(),
            servers: self.servers.clone(),
            scripted: (self.scripted)(),
        });
        tokio::pin!(opening);
        let started = loop {
            tokio::select! {
                biased;
                started = &mut opening => break started?,
                sent = self.inbox.fresh() => self.meanwhile(sent)?,
            }
        };
        self.servers = Some(Arc::clone(&started.engine.session().spec.servers));
        Ok(started)
    }

    /// Reads the configuration of a folder, and the files that its commands name, on a thread that may block.
    async fn read_config(&mut self, root: &Path) -> Result<EffectiveConfig, OpenError> {
        let (setup, root) = (Arc::clone(&self.setup), root.to_owned());
        let mut reading = tokio::task::spawn_blocking(move || EffectiveConfig::read(setup.place(&root)));
        loop {
            tokio::select! {
                biased;
                read = &mut reading => match read {
                    Ok(read) => return Ok(read?),
                    Err(broken) => std::panic::resume_unwind(broken.into_panic()),
                },
                sent = self.inbox.fresh() => self.meanwhile(sent)?,
            }
        }
    }

    async fn leave_session(&mut self) {
        if let Some(mut engine) = self.session.take() {
            engine.close().await;
        }
    }
}

/// What a copy is one of: what is told again of it would else look like the session itself.
fn forked(id: &str, last: u32) -> String {
    let id = short_id(id);
    let part = match last {
        0 => "from before its first turn".to_owned(),
        last => format!("up to turn {last}"),
    };
    format!("this is a fork of session {id}, {part}; /resume {id} goes back to that one")
}

fn folder(path: &Path) -> Result<PathBuf, OpenError> {
    let cannot = |why: String| OpenError::Root { path: path.to_owned(), why };
    let root = std::fs::canonicalize(path).map_err(|error| {
        let text = error.to_string();
        cannot(text.split(" (os error").next().unwrap_or_default().to_lowercase())
    })?;
    if root.is_dir() { Ok(root) } else { Err(cannot("it is not a folder".to_owned())) }
}
