//! The one session of a client, and the requests that open it and set its options.

use serde_json::{Value, json};

use super::{AcpClient, AcpError, AcpObserver, AcpResult, AgentLiveness};
use crate::error::{RpcError, code};
use crate::host::{Host, client_capabilities};
use crate::shapes::{AuthMethod, Choices, CommandInfo, Setting, Update, Via, Welcome};

/// The version of the protocol; an agent that speaks another one answers with that.
pub const PROTOCOL_VERSION: i64 = 1;

/// The session of a client as far as its agent has described it.
#[derive(Debug, Default)]
pub struct AcpSession {
    /// Empty until a session is being opened.
    pub id: String,
    pub choices: Choices,
    /// None until the agent lists its commands.
    pub commands: Option<Vec<CommandInfo>>,
    /// Number of updates heard so far.
    pub(super) updates: usize,
}

impl AcpSession {
    pub(super) fn concerns(&self, session: Option<&str>) -> bool {
        session.is_none_or(|session| self.id.is_empty() || session == self.id)
    }

    pub(super) fn note(&mut self, update: &Update) {
        self.updates += 1;
        match update {
            Update::Mode(mode) => self.choices.set_mode(mode.clone()),
            Update::Options(options) => self.choices.replace(options.clone()),
            Update::Commands(commands) => self.commands = Some(commands.clone()),
            Update::User(_)
            | Update::Message(_)
            | Update::Thought(_)
            | Update::Call(_)
            | Update::Plan(_)
            | Update::Notice { .. }
            | Update::Unknown(_) => {}
        }
    }
}

/// The methods that open an existing session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReopenMethod {
    /// Replays the whole conversation.
    Load,
    Resume,
}

impl ReopenMethod {
    pub fn is_offered(self, welcome: &Welcome) -> bool {
        match self {
            Self::Load => welcome.loads(),
            Self::Resume => welcome.offers("resume"),
        }
    }
}

impl<A: AgentLiveness, H: Host, O: AcpObserver> AcpClient<A, H, O> {
    /// The handshake. A newer version than ours is left to the caller to mention.
    pub async fn initialize(&mut self) -> AcpResult<(), O> {
        let params = json!({
            "protocolVersion": PROTOCOL_VERSION,
            "clientCapabilities": client_capabilities(),
            "clientInfo": {"name": "zdx", "title": "zdx", "version": env!("CARGO_PKG_VERSION")},
        });
        let answer = self.call("initialize", params).await?;
        self.welcome = Welcome::read(&answer);
        match self.welcome.version {
            Some(version) if version >= PROTOCOL_VERSION => Ok(()),
            Some(_) | None => Err(AcpError::Version { answered: answer["protocolVersion"].clone() }),
        }
    }

    /// Opens a session. `params` are the folder and the MCP servers.
    pub async fn new_session(&mut self, params: Value) -> AcpResult<(), O> {
        let answer = self.call("session/new", params).await?;
        let Some(id) = answer["sessionId"].as_str() else { return Err(AcpError::NoSessionId) };
        self.session.id = id.to_owned();
        self.session.choices.take(&answer);
        Ok(())
    }

    /// Opens an earlier session. What it replays goes to the observer.
    pub async fn reopen_session(
        &mut self,
        by: ReopenMethod,
        id: &str,
        mut params: Value,
    ) -> AcpResult<(), O> {
        params["sessionId"] = id.into();
        id.clone_into(&mut self.session.id);
        let method = match by {
            ReopenMethod::Load => "session/load",
            ReopenMethod::Resume => "session/resume",
        };
        let opened = self.call(method, params).await;
        match &opened {
            Ok(answer) => self.session.choices.take(answer),
            Err(_) => self.session.id.clear(),
        }
        opened.map(drop)
    }

    /// Sets an option, the mode or the model to a value that [`Setting::find`] found.
    pub async fn set(&mut self, setting: &Setting, value: &Value) -> AcpResult<(), O> {
        let (method, params) = setting.set(&self.session.id, value);
        let answer = self.call(method, params).await?;
        self.session.choices.take(&answer);
        if let (Via::SetMode, Some(mode)) = (setting.via, value.as_str()) {
            self.session.choices.set_mode(mode.to_owned());
        }
        Ok(())
    }

    pub(super) fn refused(&self, method: &'static str, error: RpcError) -> AcpError<O::Stop> {
        if error.code != code::AUTH_REQUIRED || method == "authenticate" {
            return AcpError::Refused { method, error };
        }
        let told = error.data.as_ref().map(AuthMethod::of).unwrap_or_default();
        let methods = if told.is_empty() { self.welcome.auth_methods.clone() } else { told };
        AcpError::LoginRequired { message: error.message, methods }
    }
}
