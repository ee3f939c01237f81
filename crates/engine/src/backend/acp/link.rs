//! An agent that was started and has a session: how it is reached, what it can do, what can be set in it.

use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::{Value, json};
use zdx_acp::shapes::{AuthMethod, Choices, SessionUpdate, Update, Welcome};
use zdx_acp::{CallError, Heard, Inbox, Peer, RpcError, code};
use zdx_protocol::display::visible_line;
use zdx_protocol::{ErrorKind, NoticeLevel};

use super::label;
use crate::acp::{AgentCommand, AgentProcess, Launch, short};
use crate::call::TurnIo;

const VERSION: i64 = 1;
/// What everything but a turn may take.
const ANSWERS: Duration = Duration::from_secs(60);

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Trouble {
    Interrupted,
    /// It said no, and is still there.
    Refused(ErrorKind, String),
    /// It is gone, or not worth keeping.
    Failed(ErrorKind, String),
}

pub(super) struct Link {
    pub(super) agent: AgentProcess,
    pub(super) peer: Peer,
    pub(super) inbox: Inbox,
    pub(super) welcome: Welcome,
    pub(super) session: String,
    choices: Choices,
    name: String,
}

impl Link {
    pub(super) async fn start(command: &AgentCommand, launch: &Launch, io: &TurnIo) -> Result<Self, Trouble> {
        let failed = |why| Trouble::Failed(ErrorKind::Provider, why);
        let (agent, peer, inbox) = AgentProcess::start(command, launch, None).await.map_err(failed)?;
        let mut link = Self {
            agent,
            peer,
            inbox,
            welcome: Welcome::read(&Value::Null),
            session: String::new(),
            choices: Choices::default(),
            name: command.name.clone(),
        };
        match link.initialize(io).await {
            Ok(()) => Ok(link),
            Err(trouble) => {
                link.stop().await;
                Err(trouble)
            }
        }
    }

    async fn initialize(&mut self, io: &TurnIo) -> Result<(), Trouble> {
        // No terminals: commands that it wants run it runs itself, or asks about them.
        let params = json!({
            "protocolVersion": VERSION,
            "clientCapabilities": {"fs": {"readTextFile": true, "writeTextFile": true}, "terminal": false},
            "clientInfo": {"name": "zdx", "title": "zdx", "version": env!("CARGO_PKG_VERSION")},
        });
        let answer = self.call("initialize", params, io).await?;
        self.welcome = Welcome::read(&answer);
        match self.welcome.version {
            Some(version) if version >= VERSION => Ok(()),
            Some(_) | None => {
                let said = visible_line(&answer["protocolVersion"].to_string());
                let why = format!(
                    "{} speaks version {said} of the protocol, and zdx none below {VERSION}; update the agent",
                    self.name
                );
                Err(Trouble::Failed(ErrorKind::Provider, why))
            }
        }
    }

    /// Goes on with this session where that can be, else begins one; says whether it is a new one.
    pub(super) async fn open(
        &mut self,
        remote: Option<&str>,
        root: &Path,
        io: &TurnIo,
    ) -> Result<bool, Trouble> {
        let params = json!({"cwd": root, "mcpServers": []});
        if let Some(remote) = remote
            && self.reopen(remote, &params, io).await?
        {
            return Ok(false);
        }
        let answer = self.call("session/new", params, io).await?;
        let Some(id) = answer["sessionId"].as_str() else {
            let why = format!("{} made a session without an id", self.name);
            return Err(Trouble::Failed(ErrorKind::Provider, why));
        };
        self.session = id.to_owned();
        self.choices.take(&answer);
        Ok(true)
    }

    /// Whether it does. What it tells again on the way is known here.
    async fn reopen(&mut self, remote: &str, params: &Value, io: &TurnIo) -> Result<bool, Trouble> {
        let method = match (self.welcome.offers("resume"), self.welcome.loads()) {
            (true, _) => "session/resume",
            (false, true) => "session/load",
            (false, false) => return Ok(false),
        };
        let mut params = params.clone();
        params["sessionId"] = remote.into();
        match self.call(method, params, io).await {
            Ok(answer) => {
                self.session = remote.to_owned();
                self.choices.take(&answer);
                Ok(true)
            }
            Err(Trouble::Refused(ErrorKind::Auth, why)) => Err(Trouble::Refused(ErrorKind::Auth, why)),
            Err(Trouble::Refused(_, why)) => {
                io.emit.notice(NoticeLevel::Warning, why).await;
                Ok(false)
            }
            Err(trouble @ (Trouble::Interrupted | Trouble::Failed(..))) => Err(trouble),
        }
    }

    /// What it can be asked to answer with. `None`: it lets nobody choose.
    pub(super) fn models(&self) -> Option<Vec<String>> {
        let model = self.choices.model()?;
        Some(model.values().into_iter().map(str::to_owned).collect())
    }

    pub(super) async fn set_model(&mut self, wanted: Option<&str>, io: &TurnIo) -> Result<(), Trouble> {
        let Some(wanted) = wanted else { return Ok(()) };
        let refused = |why| Err(Trouble::Refused(ErrorKind::Config, why));
        let Some(setting) = self.choices.model().cloned() else {
            return refused(format!("{} lets nobody choose a model; leave --model out", label(&self.name)));
        };
        if setting.current().as_deref() == Some(wanted) {
            return Ok(());
        }
        let Some(value) = setting.find(wanted) else {
            let known: Vec<String> = setting.values().into_iter().map(visible_line).collect();
            return refused(format!(
                "{} has no model {wanted}; it has: {}",
                label(&self.name),
                known.join(", ")
            ));
        };
        let (method, params) = setting.set(&self.session, &value);
        let answer = self.call(method, params, io).await?;
        self.choices.take(&answer);
        Ok(())
    }

    /// Asks and waits; what it says meanwhile is nothing for the conversation.
    async fn call(&mut self, method: &'static str, params: Value, io: &TurnIo) -> Result<Value, Trouble> {
        let peer = self.peer.clone();
        let mut call = pin!(peer.call(method, params));
        let mut late = pin!(tokio::time::sleep(ANSWERS));
        let answer = loop {
            tokio::select! {
                biased;
                () = io.cancel.cancelled() => return Err(Trouble::Interrupted),
                Some(heard) = self.inbox.recv() => self.overhear(heard),
                answer = &mut call => break answer,
                () = self.agent.over() => break Err(CallError::Gone),
                () = &mut late => {
                    let why = format!("{} did not answer {method} within {} s", self.name, ANSWERS.as_secs());
                    return Err(Trouble::Failed(ErrorKind::Provider, self.agent.excuse(why)));
                }
            }
        };
        while let Ok(heard) = self.inbox.try_recv() {
            self.overhear(heard);
        }
        match answer {
            Ok(answer) => Ok(answer),
            Err(error) => Err(self.trouble(method, error).await),
        }
    }

    /// What an answer that did not come means.
    pub(super) async fn trouble(&mut self, method: &str, error: CallError) -> Trouble {
        match error {
            CallError::Refused(error) if error.code == code::AUTH_REQUIRED => {
                Trouble::Refused(ErrorKind::Auth, self.log_in(&error))
            }
            CallError::Refused(error) => {
                let why =
                    format!("{} refuses {method}: {} ({})", self.name, short(&error.message), error.code);
                Trouble::Refused(ErrorKind::Provider, why)
            }
            CallError::Gone => {
                let why = format!("no answer of {} to {method}: {}", self.name, self.agent.fate().await);
                Trouble::Failed(ErrorKind::Provider, why)
            }
        }
    }

    fn log_in(&self, error: &RpcError) -> String {
        let told = error.data.as_ref().map(AuthMethod::of).unwrap_or_default();
        let methods = if told.is_empty() { &self.welcome.auth_methods } else { &told };
        let ids: Vec<String> = methods.iter().map(|method| visible_line(&method.id)).collect();
        let ways = if ids.is_empty() { String::new() } else { format!("; it knows: {}", ids.join(", ")) };
        format!(
            "{} wants a log-in first ({}){ways}; log in with its own program, or see how by `zdx acp -a {} hi`",
            self.name,
            short(&error.message),
            self.name
        )
    }

    /// Outside a turn only what can be set matters; requests are not served, and answered by being dropped.
    fn overhear(&mut self, heard: Heard) {
        if let Heard::Notification { method, params } = heard
            && method == "session/update"
        {
            self.note(&SessionUpdate::read(params).update);
        }
    }

    pub(super) fn note(&mut self, update: &Update) {
        match update {
            Update::Mode(mode) => self.choices.set_mode(mode.clone()),
            Update::Options(options) => self.choices.replace(options.clone()),
            Update::User(_)
            | Update::Message(_)
            | Update::Thought(_)
            | Update::Call(_)
            | Update::Plan(_)
            | Update::Commands(_)
            | Update::Notice { .. }
            | Update::Unknown(_) => {}
        }
    }

    /// It ended since somebody last looked.
    pub(super) fn is_dead(&mut self) -> bool {
        self.peer.gone().now_or_never().is_some() || self.agent.has_ended()
    }

    /// Its stdin closes, and it ends or is made to.
    pub(super) async fn stop(self) {
        let Self { agent, peer, inbox, .. } = self;
        drop((peer, inbox));
        agent.stop().await;
    }
}
