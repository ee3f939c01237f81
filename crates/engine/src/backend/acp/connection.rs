//! An agent that was started and has a session: how it is reached, what it can do, what can be set in it.

use std::time::Duration;

use serde_json::{Value, json};
use zdx_acp::shapes::{Choices, Setting};
use zdx_acp::{AcpClient, AcpError, ReopenMethod};
use zdx_protocol::display::visible_line;
use zdx_protocol::{ErrorKind, path_text};

use super::label;
use super::turn_host::{BackendObserver, TurnHost, TurnInterrupted};
use crate::acp::{AgentCommand, AgentProcess, Launch, explain, refusal};

/// Time limit of everything but a turn.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum AgentFailure {
    Interrupted,
    /// The agent said no, and is still there.
    Refused(ErrorKind, String),
    /// The agent is gone, or not worth keeping.
    Failed(ErrorKind, String),
}

impl AgentFailure {
    pub(super) fn into_words(self) -> String {
        match self {
            Self::Interrupted => "interrupted".to_owned(),
            Self::Refused(_, why) | Self::Failed(_, why) => why,
        }
    }
}

/// A setting of an agent that users know by a name of ours.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AgentSetting {
    Model,
    /// A session mode; in our own sessions an agent profile.
    Mode,
}

impl AgentSetting {
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

    /// The error for an agent without such a setting.
    pub(super) fn none(self, agent: &str) -> String {
        let (what, option) = self.names();
        format!("{} lets nobody choose a {what}; leave {option} out", label(agent))
    }

    pub(super) fn unknown(self, agent: &str, wanted: &str, setting: &Setting) -> String {
        let known: Vec<String> = setting.values().into_iter().map(visible_line).collect();
        format!("{} has no {} {wanted}; it has: {}", label(agent), self.names().0, known.join(", "))
    }
}

pub(super) struct AgentConnection {
    pub(super) client: AcpClient<AgentProcess, TurnHost, BackendObserver>,
    /// The session was begun by this very process.
    pub(super) is_new: bool,
    /// Said to the user with the first turn.
    pub(super) notes: Vec<String>,
    name: String,
}

impl AgentConnection {
    /// Starts the agent, and goes on with its own session where it can.
    pub(super) async fn connect(
        command: AgentCommand,
        launch: Launch,
        remote: Option<String>,
    ) -> Result<Self, AgentFailure> {
        let Some(cwd) = launch.root.to_str() else {
            let (name, root) = (command.name, path_text::shown(&launch.root));
            let why = format!("{name} cannot work in {root}: its name is not UTF-8");
            return Err(AgentFailure::Failed(ErrorKind::Session, why));
        };
        let failed = |why| AgentFailure::Failed(ErrorKind::Provider, why);
        let started = AgentProcess::start(&command, &launch, None).await.map_err(failed)?;
        let client = AcpClient::new(started, BackendObserver::new(), ANSWER_LIMIT);
        let mut connection = Self { client, is_new: false, notes: Vec::new(), name: command.name };
        let params = json!({"cwd": cwd, "mcpServers": []});
        if let Err(error) = connection.open(remote.as_deref(), params).await {
            let failure = connection.failure(error).await;
            connection.stop().await;
            return Err(failure);
        }
        Ok(connection)
    }

    /// Goes on with this session where that can be, else begins one.
    async fn open(&mut self, remote: Option<&str>, params: Value) -> Result<(), AcpError<TurnInterrupted>> {
        self.client.initialize().await?;
        if let Some(remote) = remote
            && self.reopen(remote, &params).await?
        {
            return Ok(());
        }
        self.is_new = true;
        self.client.new_session(params).await
    }

    /// Returns whether it could, one way or the other: some agents offer a way that they do not know.
    async fn reopen(&mut self, remote: &str, params: &Value) -> Result<bool, AcpError<TurnInterrupted>> {
        let mut refused = None;
        for way in [ReopenMethod::Resume, ReopenMethod::Load] {
            if !way.is_offered(&self.client.welcome) {
                continue;
            }
            match self.client.reopen_session(way, remote, params.clone()).await {
                Ok(()) => {
                    if way == ReopenMethod::Load {
                        // Updates replayed after the answer would pass for the next turn.
                        self.client.hear_replay().await?;
                    }
                    return Ok(true);
                }
                Err(AcpError::Refused { method, error }) => {
                    refused = Some(refusal(&self.name, method, &error))
                }
                Err(error) => return Err(error),
            }
        }
        self.notes.extend(refused);
        Ok(false)
    }

    /// Sets what the user chose, where it is not set already.
    pub(super) async fn set(&mut self, what: AgentSetting, wanted: Option<&str>) -> Result<(), AgentFailure> {
        let Some(wanted) = wanted else { return Ok(()) };
        let refused = |why| Err(AgentFailure::Refused(ErrorKind::Config, why));
        let Some(setting) = what.of(&self.client.session.choices).cloned() else {
            return refused(what.none(&self.name));
        };
        if setting.current().as_deref() == Some(wanted) {
            return Ok(());
        }
        let Some(value) = setting.find(wanted) else {
            return refused(what.unknown(&self.name, wanted, &setting));
        };
        match self.client.set(&setting, &value).await {
            Ok(()) => Ok(()),
            Err(error) => Err(self.failure(error).await),
        }
    }

    pub(super) async fn failure(&mut self, error: AcpError<TurnInterrupted>) -> AgentFailure {
        let why = explain(&error, &self.name, &mut self.client.agent).await;
        match error {
            AcpError::Stopped { .. } => AgentFailure::Interrupted,
            AcpError::Refused { .. } => AgentFailure::Refused(ErrorKind::Provider, why),
            AcpError::LoginRequired { .. } => AgentFailure::Refused(ErrorKind::Auth, why),
            AcpError::Gone { .. }
            | AcpError::Late { .. }
            | AcpError::Version { .. }
            | AcpError::NoSessionId => AgentFailure::Failed(ErrorKind::Provider, why),
        }
    }

    /// The agent ended since somebody last looked.
    pub(super) fn is_dead(&mut self) -> bool {
        self.client.is_closed() || self.client.agent.has_ended()
    }

    /// Closes the agent's stdin; it ends or is made to.
    pub(super) async fn stop(self) {
        self.client.hang_up().0.stop().await;
    }
}
