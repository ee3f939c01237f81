//! What is asked of an agent, in order: the handshake, a log-in, a session, its settings, lists, the prompt, the end.
//! Decides what each answer means for the run; how one waits is the client's.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::oneshot;
use zdx_acp::shapes::{AuthKind, AuthMethod, Calls, Setting, StopReason};
use zdx_acp::{AcpClient, AcpError, PROTOCOL_VERSION, PromptBlock, ReopenMethod};
use zdx_engine::agents::{AgentCommand, AgentProcess, McpServerEntry};
use zdx_protocol::display::visible_line;

use super::host::ClientHost;
use super::lists;
use super::screen::{AcpScreen, ScreenStop};
use crate::args::AcpArgs;
use crate::exit::reason;

/// A person may be asked to log in with a browser.
const LOGIN_LIMIT: Duration = Duration::from_secs(300);
/// Commands are listed after a session is open, by agents that have any.
const COMMANDS_LIMIT: Duration = Duration::from_secs(2);
/// Pages of a list of sessions.
const MAX_PAGES: usize = 50;

/// What the run is about.
pub struct Plan<'a> {
    pub args: &'a AcpArgs,
    pub agent: &'a AgentCommand,
    pub servers: &'a [McpServerEntry],
    pub root: &'a Path,
    pub prompt: Option<Vec<PromptBlock>>,
}

/// Why a run came to nothing.
#[derive(Debug)]
pub enum RunFailure {
    /// An answer is missing or of no use.
    Agent(AcpError<ScreenStop>),
    /// What was asked for cannot be had of this agent.
    Usage(String),
    Failed(String),
}

impl From<AcpError<ScreenStop>> for RunFailure {
    fn from(error: AcpError<ScreenStop>) -> Self {
        Self::Agent(error)
    }
}

/// The parts of one run.
pub struct AcpRun<'a> {
    pub client: AcpClient<AgentProcess, ClientHost, AcpScreen>,
    pub plan: Plan<'a>,
}

impl AcpRun<'_> {
    /// Returns why the turn ended, if there was one.
    pub async fn run(&mut self) -> Result<Option<StopReason>, RunFailure> {
        let args = self.plan.args;
        self.initialize().await?;
        self.can_end()?;
        if let Some(method) = &args.auth {
            self.authenticate(method).await?;
        }
        if args.list_caps {
            self.client
                .observer
                .stage
                .list(&lists::capabilities(&self.client.welcome, &self.plan.agent.name));
        }
        if args.list_sessions {
            self.list_sessions().await?;
        }
        if let Some(id) = &args.delete_session {
            self.offered("delete", "delete a session")?;
            self.call("session/delete", json!({"sessionId": id})).await?;
        }
        let mut stopped = None;
        let prompt = self.plan.prompt.take();
        if prompt.is_some() || args.wants_session() {
            self.open().await?;
            self.save().await?;
            self.set_all().await?;
            self.list().await?;
            if let Some(prompt) = prompt {
                stopped = Some(self.prompt(prompt).await?);
            }
            if args.close {
                self.call("session/close", json!({"sessionId": self.client.session.id})).await?;
            }
        }
        if args.logout {
            self.call("logout", json!({})).await?;
        }
        Ok(stopped)
    }

    async fn call(&mut self, method: &'static str, params: Value) -> Result<Value, RunFailure> {
        Ok(self.client.call(method, params).await?)
    }

    async fn initialize(&mut self) -> Result<(), RunFailure> {
        self.client.initialize().await?;
        if let Some(newer) = self.client.welcome.version.filter(|version| *version > PROTOCOL_VERSION) {
            self.client.observer.stage.notice(&format!(
                "the agent speaks version {newer} of the protocol, zdx version {PROTOCOL_VERSION}; going on"
            ));
        }
        Ok(())
    }

    async fn authenticate(&mut self, wanted: &str) -> Result<(), RunFailure> {
        let methods = &self.client.welcome.auth_methods;
        let Some(method) = methods.iter().find(|method| method.id == wanted) else {
            let known = listed(methods.iter().map(|method| method.id.as_str()), "none");
            return Err(RunFailure::Usage(format!(
                "the agent has no method {wanted} to log in with; it has: {known}"
            )));
        };
        if let AuthKind::Terminal { .. } = method.kind {
            return Err(RunFailure::Usage(login_way(method, self.plan.agent)));
        }
        let (params, limit) = (json!({"methodId": wanted}), self.client.limit.max(LOGIN_LIMIT));
        self.client.call_within("authenticate", params, limit).await?;
        Ok(())
    }

    /// A new session, or the old one that is asked for.
    async fn open(&mut self) -> Result<(), RunFailure> {
        let params = json!({"cwd": self.plan.root, "mcpServers": self.servers()});
        let Some(id) = &self.plan.args.resume else {
            return Ok(self.client.new_session(params).await?);
        };
        let ways = [ReopenMethod::Load, ReopenMethod::Resume];
        let Some(way) = ways.into_iter().find(|way| way.is_offered(&self.client.welcome)) else {
            return Err(RunFailure::Usage(
                "the agent can go on with no session (it offers neither loadSession nor resume); leave --resume out"
                    .to_owned(),
            ));
        };
        self.client.observer.is_replay = true;
        Ok(self.client.reopen_session(way, id, params).await?)
    }

    /// The servers that the agent can connect to.
    fn servers(&mut self) -> Vec<Value> {
        let takes = |server: &&McpServerEntry| self.client.welcome.takes_mcp(server.transport);
        let (taken, left): (Vec<_>, Vec<_>) = self.plan.servers.iter().partition(takes);
        for server in left {
            self.client.observer.stage.notice(&format!(
                "the agent takes no MCP servers over {}; {} is left out",
                server.transport, server.name
            ));
        }
        taken.into_iter().map(|server| server.value.clone()).collect()
    }

    /// Writes the session's id on a thread that nobody has to wait for: a pipe may have no reader.
    async fn save(&mut self) -> Result<(), RunFailure> {
        let Some(path) = self.plan.args.save_session.clone() else { return Ok(()) };
        let failed = |why: &str| {
            RunFailure::Failed(format!("cannot write the session's id to {}: {why}", path.display()))
        };
        let (tell, written) = oneshot::channel();
        let (to, text) = (path.clone(), format!("{}\n", self.client.session.id));
        std::thread::spawn(move || tell.send(std::fs::write(to, text)));
        let limit = self.client.limit;
        match self.client.wait_for("session/new", written, limit).await {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Ok(Err(error))) => Err(failed(&reason(&error))),
            Ok(Err(_)) => Err(failed("the writer ended")),
            Err(AcpError::Late { .. }) => Err(failed("nobody reads it")),
            Err(error) => Err(error.into()),
        }
    }

    /// The model first: other options may depend on it. The mode last: it is what the turn is to be in.
    async fn set_all(&mut self) -> Result<(), RunFailure> {
        let args = self.plan.args;
        if let Some(wanted) = &args.model {
            self.set(self.client.session.choices.model().cloned(), "model", wanted).await?;
        }
        for pair in &args.config {
            let Some((key, wanted)) = pair.split_once('=') else {
                return Err(RunFailure::Usage(format!("--config {pair}: write it as KEY=VALUE")));
            };
            let choices = &self.client.session.choices;
            let Some(setting) = choices.option(key).cloned() else {
                let known = listed(choices.options().iter().map(|option| option.id.as_str()), "it has none");
                return Err(RunFailure::Usage(format!("the agent has no option {key}; there are: {known}")));
            };
            self.set(Some(setting), key, wanted).await?;
        }
        if let Some(wanted) = &args.mode {
            self.set(self.client.session.choices.mode().cloned(), "mode", wanted).await?;
        }
        Ok(())
    }

    async fn set(&mut self, setting: Option<Setting>, what: &str, wanted: &str) -> Result<(), RunFailure> {
        let Some(setting) = setting else {
            return Err(RunFailure::Usage(format!(
                "the agent lets nobody choose a {what}; leave --{what} out"
            )));
        };
        let Some(value) = setting.find(wanted) else {
            let known = listed(setting.values().into_iter(), "");
            return Err(RunFailure::Usage(format!("there is no {what} {wanted}; there are: {known}")));
        };
        Ok(self.client.set(&setting, &value).await?)
    }

    async fn list(&mut self) -> Result<(), RunFailure> {
        if self.plan.args.list_modes {
            self.client.observer.stage.list(&lists::modes(&self.client.session.choices));
        }
        if self.plan.args.list_commands {
            let limit = self.client.limit.min(COMMANDS_LIMIT);
            let method = "available_commands_update";
            let listed = self.client.wait_until(method, limit, |session| session.commands.is_some());
            listed.await?;
            self.client.observer.stage.list(&lists::commands(self.client.session.commands.as_deref()));
        }
        Ok(())
    }

    async fn list_sessions(&mut self) -> Result<(), RunFailure> {
        self.offered("list", "list sessions")?;
        let (mut sessions, mut cursor) = (Vec::new(), Value::Null);
        for _ in 0..MAX_PAGES {
            let mut params = json!({"cwd": self.plan.root});
            if !cursor.is_null() {
                params["cursor"] = cursor;
            }
            let mut answer = self.call("session/list", params).await?;
            let mut told = |key: &str| answer.get_mut(key).map(Value::take).unwrap_or_default();
            if let Value::Array(page) = told("sessions") {
                sessions.extend(page);
            }
            cursor = told("nextCursor");
            if !cursor.is_string() {
                break;
            }
        }
        self.client.observer.stage.list(&lists::sessions(&sessions));
        Ok(())
    }

    async fn prompt(&mut self, blocks: Vec<PromptBlock>) -> Result<StopReason, RunFailure> {
        if self.client.observer.is_replay {
            if self.client.welcome.loads() {
                self.client.hear_replay().await?;
            }
            self.client.observer.is_replay = false;
            self.client.observer.calls = Calls::default();
        }
        let blocks = PromptBlock::prompt(blocks, &self.client.welcome);
        Ok(self.client.prompt(blocks).await?)
    }

    /// Checked before the turn: a mistake must not come to light after a turn that somebody paid for.
    fn can_end(&self) -> Result<(), RunFailure> {
        if self.plan.args.close {
            self.offered("close", "close a session")?;
        }
        match self.plan.args.logout && !self.client.welcome.offers_logout() {
            true => Err(RunFailure::Usage("the agent does not offer to log out".to_owned())),
            false => Ok(()),
        }
    }

    fn offered(&self, capability: &str, what: &str) -> Result<(), RunFailure> {
        match self.client.welcome.offers(capability) {
            true => Ok(()),
            false => Err(RunFailure::Usage(format!("the agent does not offer to {what}"))),
        }
    }
}

fn listed<'n>(names: impl Iterator<Item = &'n str>, none: &str) -> String {
    let names: Vec<String> = names.map(visible_line).collect();
    if names.is_empty() { none.to_owned() } else { names.join(", ") }
}

/// The error of an agent that wants a log-in: every way there is, and how it is gone.
pub fn login_hint(message: &str, methods: &[AuthMethod], agent: &AgentCommand) -> String {
    let ways: Vec<String> =
        methods.iter().map(|method| format!("\n  {}", login_way(method, agent))).collect();
    let ways =
        if ways.is_empty() { "\n  log in with the agent's own program".to_owned() } else { ways.concat() };
    format!("the agent wants a log-in first ({}):{ways}", visible_line(message))
}

fn login_way(method: &AuthMethod, agent: &AgentCommand) -> String {
    let id = visible_line(&method.id);
    let about = method.description.as_ref().or(method.name.as_ref());
    let about = about.map(|about| format!(" ({})", visible_line(about))).unwrap_or_default();
    match &method.kind {
        AuthKind::Agent => format!("{id}{about}: --auth {id}"),
        AuthKind::Variables(names) => {
            let names: Vec<String> = names.iter().map(|name| visible_line(name)).collect();
            format!("{id}{about}: set {}, then --auth {id}", names.join(" and "))
        }
        AuthKind::Terminal { args } => {
            let words = [agent.program.as_str()].into_iter().chain(args.iter().map(String::as_str));
            let words: Vec<String> = words.map(visible_line).collect();
            format!("{id}{about}: run `{}` in a terminal yourself, then come back", words.join(" "))
        }
    }
}
