//! An agent that was started and has a session: how it is reached, what it can do, what can be set in it.

use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::{Value, json};
use zdx_acp::shapes::{AuthMethod, Choices, CommandInfo, SessionUpdate, Setting, Update, Welcome};
use zdx_acp::{CallError, Heard, Inbox, Peer, RpcError, code};
use zdx_protocol::display::visible_line;
use zdx_protocol::{ErrorKind, path_text};

use super::label;
use crate::acp::{AgentCommand, AgentProcess, Launch, short};

const VERSION: i64 = 1;
/// What everything but a turn may take.
const ANSWERS: Duration = Duration::from_secs(60);
/// An agent that has been quiet for so long has told what was said before, and is not waited for any longer than that.
const QUIET: Duration = Duration::from_millis(200);
const TOLD_AGAIN: Duration = Duration::from_secs(5);

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Trouble {
    Interrupted,
    /// It said no, and is still there.
    Refused(ErrorKind, String),
    /// It is gone, or not worth keeping.
    Failed(ErrorKind, String),
}

impl Trouble {
    pub(super) fn words(self) -> String {
        match self {
            Self::Interrupted => "interrupted".to_owned(),
            Self::Refused(_, why) | Self::Failed(_, why) => why,
        }
    }
}

/// What can be chosen in an agent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Chosen {
    Model,
    /// How it works; what ours call an agent.
    Mode,
}

impl Chosen {
    pub(super) fn of(self, choices: &Choices) -> Option<&Setting> {
        match self {
            Self::Model => choices.model(),
            Self::Mode => choices.mode(),
        }
    }

    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Model => ("model", "--model"),
            Self::Mode => ("mode", "--agent"),
        }
    }

    /// It lets nobody choose.
    pub(super) fn none(self, agent: &str) -> String {
        let (what, option) = self.names();
        format!("{} lets nobody choose a {what}; leave {option} out", label(agent))
    }

    pub(super) fn unknown(self, agent: &str, wanted: &str, setting: &Setting) -> String {
        let known: Vec<String> = setting.values().into_iter().map(visible_line).collect();
        format!("{} has no {} {wanted}; it has: {}", label(agent), self.names().0, known.join(", "))
    }
}

pub(super) struct Link {
    pub(super) agent: AgentProcess,
    pub(super) peer: Peer,
    pub(super) inbox: Inbox,
    pub(super) welcome: Welcome,
    pub(super) session: String,
    /// The session was begun by this very process.
    pub(super) is_new: bool,
    /// What a person should hear of how it came to be.
    pub(super) notes: Vec<String>,
    pub(super) choices: Choices,
    pub(super) commands: Vec<CommandInfo>,
    name: String,
}

impl Link {
    /// Starts it, and goes on with its own session where it can.
    pub(super) async fn connect(
        command: AgentCommand,
        launch: Launch,
        remote: Option<String>,
    ) -> Result<Self, Trouble> {
        let failed = |why| Trouble::Failed(ErrorKind::Provider, why);
        let (agent, peer, inbox) = AgentProcess::start(&command, &launch, None).await.map_err(failed)?;
        let mut link = Self {
            agent,
            peer,
            inbox,
            welcome: Welcome::read(&Value::Null),
            session: String::new(),
            is_new: false,
            notes: Vec::new(),
            choices: Choices::default(),
            commands: Vec::new(),
            name: command.name,
        };
        let opened = async {
            link.initialize().await?;
            link.open(remote.as_deref(), &launch.root).await
        };
        match opened.await {
            Ok(()) => Ok(link),
            Err(trouble) => {
                link.stop().await;
                Err(trouble)
            }
        }
    }

    async fn initialize(&mut self) -> Result<(), Trouble> {
        let params = json!({
            "protocolVersion": VERSION,
            "clientCapabilities": {"fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true},
            "clientInfo": {"name": "zdx", "title": "zdx", "version": env!("CARGO_PKG_VERSION")},
        });
        let answer = self.call("initialize", params).await?;
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

    /// Goes on with this session where that can be, else begins one.
    async fn open(&mut self, remote: Option<&str>, root: &Path) -> Result<(), Trouble> {
        let Some(cwd) = root.to_str() else {
            let why =
                format!("{} cannot work in {}: its name is not UTF-8", self.name, path_text::shown(root));
            return Err(Trouble::Failed(ErrorKind::Session, why));
        };
        let params = json!({"cwd": cwd, "mcpServers": []});
        if let Some(remote) = remote
            && self.reopen(remote, &params).await?
        {
            return Ok(());
        }
        let answer = self.call("session/new", params).await?;
        let Some(id) = answer["sessionId"].as_str() else {
            let why = format!("{} made a session without an id", self.name);
            return Err(Trouble::Failed(ErrorKind::Provider, why));
        };
        self.session = id.to_owned();
        self.choices.take(&answer);
        self.is_new = true;
        Ok(())
    }

    /// Whether it does, one way or the other: some offer a way that they do not know.
    async fn reopen(&mut self, remote: &str, params: &Value) -> Result<bool, Trouble> {
        let ways =
            [(self.welcome.offers("resume"), "session/resume"), (self.welcome.loads(), "session/load")];
        let mut refusal = None;
        for (_, method) in ways.into_iter().filter(|(offered, _)| *offered) {
            let mut params = params.clone();
            params["sessionId"] = remote.into();
            match self.call(method, params).await {
                Ok(answer) => {
                    self.session = remote.to_owned();
                    self.choices.take(&answer);
                    if method == "session/load" {
                        self.hear_out().await;
                    }
                    return Ok(true);
                }
                Err(Trouble::Refused(ErrorKind::Auth, why)) => {
                    return Err(Trouble::Refused(ErrorKind::Auth, why));
                }
                Err(Trouble::Refused(_, why)) => refusal = Some(why),
                Err(trouble @ (Trouble::Interrupted | Trouble::Failed(..))) => return Err(trouble),
            }
        }
        self.notes.extend(refusal);
        Ok(false)
    }

    /// What it tells again is known here, and some go on telling after their answer: it would pass for the next one.
    async fn hear_out(&mut self) {
        let told = async {
            while let Ok(Some(heard)) = tokio::time::timeout(QUIET, self.inbox.recv()).await {
                self.overhear(heard);
            }
        };
        let _ = tokio::time::timeout(TOLD_AGAIN, told).await;
    }

    /// Puts it to what somebody chose, where it is not there already.
    pub(super) async fn set(&mut self, what: Chosen, wanted: Option<&str>) -> Result<(), Trouble> {
        let Some(wanted) = wanted else { return Ok(()) };
        let refused = |why| Err(Trouble::Refused(ErrorKind::Config, why));
        let Some(setting) = what.of(&self.choices).cloned() else { return refused(what.none(&self.name)) };
        if setting.current().as_deref() == Some(wanted) {
            return Ok(());
        }
        let Some(value) = setting.find(wanted) else {
            return refused(what.unknown(&self.name, wanted, &setting));
        };
        let (method, params) = setting.set(&self.session, &value);
        let answer = self.call(method, params).await?;
        self.choices.take(&answer);
        if let (Chosen::Mode, Some(mode)) = (what, value.as_str()) {
            self.choices.set_mode(mode.to_owned());
        }
        Ok(())
    }

    /// Asks and waits; what it says meanwhile is nothing for the conversation.
    async fn call(&mut self, method: &'static str, params: Value) -> Result<Value, Trouble> {
        let peer = self.peer.clone();
        let mut call = pin!(peer.call(method, params));
        let mut late = pin!(tokio::time::sleep(ANSWERS));
        let answer = loop {
            tokio::select! {
                biased;
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
    pub(super) fn overhear(&mut self, heard: Heard) {
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
            Update::Commands(commands) => self.commands.clone_from(commands),
            Update::User(_)
            | Update::Message(_)
            | Update::Thought(_)
            | Update::Call(_)
            | Update::Plan(_)
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
