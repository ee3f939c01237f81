//! What is asked of an agent, in order: the handshake, a log-in, a session, its settings, lists, the prompt, the end.
//! Decides what each answer means for the run; how one waits is the client's.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::oneshot;
use zdx_acp::shapes::{AuthKind, AuthMethod, Calls, Setting, StopReason, Welcome};
use zdx_acp::{Host, RpcError, code};
use zdx_engine::agents::AgentCommand;
use zdx_protocol::display::visible_line;

use super::client::{Client, Stop};
use super::lists;
use super::settings::Server;
use crate::args::AcpArgs;
use crate::exit::reason;

/// Ours; an agent that speaks another one says so.
const VERSION: i64 = 1;
/// A person may be asked to log in with a browser.
const LOGGING_IN: Duration = Duration::from_secs(300);
/// Commands are told after a session is there, by those that have any.
const COMMANDS: Duration = Duration::from_secs(2);
/// Some tell an old session again only once they have said that it is loaded: until that long nothing came, and no longer.
const SILENCE: Duration = Duration::from_millis(200);
const TOLD_AGAIN: Duration = Duration::from_secs(3);
/// Of a list of sessions.
const MOST_PAGES: usize = 50;

/// What the run is about.
pub struct Plan<'a> {
    pub args: &'a AcpArgs,
    pub agent: &'a AgentCommand,
    pub servers: &'a [Server],
    pub root: &'a Path,
    /// The blocks of the prompt.
    pub prompt: Option<Vec<Value>>,
}

/// Why it came to nothing.
#[derive(Debug)]
pub enum Trouble {
    /// No answer to this.
    Stop(&'static str, Stop),
    /// What was asked for cannot be had of this agent.
    Usage(String),
    Failed(String),
}

pub async fn run<H: Host>(client: &mut Client<H>, plan: &Plan<'_>) -> Result<Option<StopReason>, Trouble> {
    Run { client, plan, limit: Duration::from_secs(plan.args.timeout) }.run().await
}

struct Run<'r, 'p, H> {
    client: &'r mut Client<H>,
    plan: &'r Plan<'p>,
    limit: Duration,
}

impl<H: Host> Run<'_, '_, H> {
    async fn run(mut self) -> Result<Option<StopReason>, Trouble> {
        let (plan, args) = (self.plan, self.plan.args);
        let welcome = self.initialize().await?;
        self.can_end(&welcome)?;
        if let Some(method) = &args.auth {
            self.authenticate(&welcome, method).await?;
        }
        if args.list_caps {
            self.client.stage.list(&lists::capabilities(&welcome, &plan.agent.name));
        }
        if args.list_sessions {
            self.list_sessions(&welcome).await?;
        }
        if let Some(id) = &args.delete_session {
            self.delete(&welcome, id).await?;
        }
        let mut stopped = None;
        if plan.prompt.is_some() || args.wants_session() {
            let id = self.open(&welcome).await?;
            self.save(&id).await?;
            self.set_all(&id).await?;
            self.list().await?;
            if let Some(prompt) = &plan.prompt {
                stopped = Some(self.prompt(&id, prompt, &welcome).await?);
            }
            if args.close {
                self.call("session/close", json!({"sessionId": id})).await?;
            }
        }
        if args.logout {
            self.call("logout", json!({})).await?;
        }
        Ok(stopped)
    }

    async fn call(&mut self, method: &'static str, params: Value) -> Result<Value, Trouble> {
        self.client.call(method, params, self.limit).await.map_err(|stop| Trouble::Stop(method, stop))
    }

    async fn initialize(&mut self) -> Result<Welcome, Trouble> {
        let params = json!({
            "protocolVersion": VERSION,
            "clientCapabilities": self.client.desk.host.capabilities(),
            "clientInfo": {"name": "zdx", "title": "zdx", "version": env!("CARGO_PKG_VERSION")},
        });
        let answer = self.call("initialize", params).await?;
        let welcome = Welcome::read(&answer);
        match welcome.version {
            Some(VERSION) => {}
            Some(newer) if newer > VERSION => {
                let notice = format!(
                    "the agent speaks version {newer} of the protocol, zdx version {VERSION}; going on"
                );
                self.client.stage.notice(&notice);
            }
            Some(_) | None => {
                let said = visible_line(&answer["protocolVersion"].to_string());
                return Err(Trouble::Failed(format!(
                    "the agent speaks version {said} of the protocol, and zdx none below {VERSION}; update the agent"
                )));
            }
        }
        Ok(welcome)
    }

    async fn authenticate(&mut self, welcome: &Welcome, wanted: &str) -> Result<(), Trouble> {
        let Some(method) = welcome.auth_methods.iter().find(|method| method.id == wanted) else {
            let known: Vec<String> =
                welcome.auth_methods.iter().map(|method| visible_line(&method.id)).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(Trouble::Usage(format!(
                "the agent has no method {wanted} to log in with; it has: {known}"
            )));
        };
        if let AuthKind::Terminal { .. } = method.kind {
            return Err(Trouble::Usage(how(method, self.plan.agent)));
        }
        let limit = self.limit.max(LOGGING_IN);
        let answer = self.client.call("authenticate", json!({"methodId": wanted}), limit).await;
        answer.map(drop).map_err(|stop| Trouble::Stop("authenticate", stop))
    }

    /// A new session, or the old one that is asked for.
    async fn open(&mut self, welcome: &Welcome) -> Result<String, Trouble> {
        let servers = self.servers(welcome);
        let params = json!({"cwd": self.plan.root, "mcpServers": servers});
        let Some(id) = &self.plan.args.resume else {
            let answer = self.opened("session/new", params, welcome).await?;
            let Some(id) = answer["sessionId"].as_str() else {
                return Err(Trouble::Failed("the agent made a session without an id".to_owned()));
            };
            self.client.known.session = Some(id.to_owned());
            return Ok(id.to_owned());
        };
        let method = match (welcome.loads(), welcome.offers("resume")) {
            (true, _) => "session/load",
            (false, true) => "session/resume",
            (false, false) => {
                return Err(Trouble::Usage(
                    "the agent can go on with no session (it offers neither loadSession nor resume); leave --resume out"
                        .to_owned(),
                ));
            }
        };
        let mut params = params;
        params["sessionId"] = id.as_str().into();
        self.client.known.session = Some(id.clone());
        self.client.known.quiet = true;
        self.opened(method, params, welcome).await?;
        Ok(id.clone())
    }

    async fn opened(
        &mut self,
        method: &'static str,
        params: Value,
        welcome: &Welcome,
    ) -> Result<Value, Trouble> {
        match self.client.call(method, params, self.limit).await {
            Ok(answer) => {
                self.client.known.choices.take(&answer);
                Ok(answer)
            }
            Err(stop) => Err(self.unanswered(method, stop, welcome)),
        }
    }

    fn unanswered(&self, method: &'static str, stop: Stop, welcome: &Welcome) -> Trouble {
        match stop {
            Stop::Refused(error) if error.code == code::AUTH_REQUIRED => {
                Trouble::Failed(log_in(&error, welcome, self.plan.agent))
            }
            stop => Trouble::Stop(method, stop),
        }
    }

    /// Those that the agent can connect to.
    fn servers(&mut self, welcome: &Welcome) -> Vec<Value> {
        let (taken, left): (Vec<&Server>, Vec<&Server>) =
            self.plan.servers.iter().partition(|server| welcome.takes_mcp(server.transport));
        for server in left {
            self.client.stage.notice(&format!(
                "the agent takes no MCP servers over {}; {} is left out",
                server.transport, server.name
            ));
        }
        taken.into_iter().map(|server| server.value.clone()).collect()
    }

    /// On a thread that nobody has to wait for: a pipe may have no reader.
    async fn save(&mut self, id: &str) -> Result<(), Trouble> {
        let Some(path) = self.plan.args.save_session.clone() else { return Ok(()) };
        let failed = |why: &str| {
            Trouble::Failed(format!("cannot write the session's id to {}: {why}", path.display()))
        };
        let (tell, written) = oneshot::channel();
        let (to, text) = (path.clone(), format!("{id}\n"));
        std::thread::spawn(move || tell.send(std::fs::write(to, text)));
        match self.client.wait(written, Some(self.limit)).await {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Ok(Err(error))) => Err(failed(&reason(&error))),
            Ok(Err(_)) => Err(failed("the writer ended")),
            Err(Stop::Late(_)) => Err(failed("nobody reads it")),
            Err(stop) => Err(Trouble::Stop("session/new", stop)),
        }
    }

    /// The model first: other options may depend on it. The mode last: it is what the turn is to be in.
    async fn set_all(&mut self, id: &str) -> Result<(), Trouble> {
        let args = self.plan.args;
        if let Some(wanted) = &args.model {
            let setting = self.client.known.choices.model().cloned();
            self.set(id, setting, "model", wanted).await?;
        }
        for pair in &args.config {
            let Some((key, wanted)) = pair.split_once('=') else {
                return Err(Trouble::Usage(format!("--config {pair}: write it as KEY=VALUE")));
            };
            let Some(setting) = self.client.known.choices.option(key).cloned() else {
                let known: Vec<String> = self
                    .client
                    .known
                    .choices
                    .options()
                    .iter()
                    .map(|option| visible_line(&option.id))
                    .collect();
                let known = if known.is_empty() { "it has none".to_owned() } else { known.join(", ") };
                return Err(Trouble::Usage(format!("the agent has no option {key}; there are: {known}")));
            };
            self.set(id, Some(setting), key, wanted).await?;
        }
        if let Some(wanted) = &args.mode {
            let setting = self.client.known.choices.mode().cloned();
            self.set(id, setting, "mode", wanted).await?;
        }
        Ok(())
    }

    async fn set(
        &mut self,
        id: &str,
        setting: Option<Setting>,
        what: &str,
        wanted: &str,
    ) -> Result<(), Trouble> {
        let Some(setting) = setting else {
            return Err(Trouble::Usage(format!("the agent lets nobody choose a {what}; leave --{what} out")));
        };
        let Some(value) = setting.find(wanted) else {
            let known: Vec<String> = setting.values().into_iter().map(visible_line).collect();
            return Err(Trouble::Usage(format!(
                "there is no {what} {wanted}; there are: {}",
                known.join(", ")
            )));
        };
        let (method, params) = setting.set(id, &value);
        let answer = self.call(method, params).await?;
        self.client.known.choices.take(&answer);
        if method == "session/set_mode" {
            self.client.known.choices.set_mode(value.as_str().unwrap_or_default().to_owned());
        }
        Ok(())
    }

    async fn list(&mut self) -> Result<(), Trouble> {
        if self.plan.args.list_modes {
            self.client.stage.list(&lists::modes(&self.client.known.choices));
        }
        if self.plan.args.list_commands {
            let limit = self.limit.min(COMMANDS);
            let told = self.client.wait_until(limit, |known| known.commands.is_some()).await;
            told.map_err(|stop| Trouble::Stop("available_commands_update", stop))?;
            self.client.stage.list(&lists::commands(self.client.known.commands.as_deref()));
        }
        Ok(())
    }

    async fn list_sessions(&mut self, welcome: &Welcome) -> Result<(), Trouble> {
        self.offered(welcome, "list", "list sessions")?;
        let (mut sessions, mut cursor) = (Vec::new(), Value::Null);
        for _ in 0..MOST_PAGES {
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
        self.client.stage.list(&lists::sessions(&sessions));
        Ok(())
    }

    async fn prompt(&mut self, id: &str, prompt: &[Value], welcome: &Welcome) -> Result<StopReason, Trouble> {
        if self.client.known.quiet {
            self.told_again(welcome).await?;
            self.client.known.quiet = false;
            self.client.known.calls = Calls::default();
        }
        let answer = self.client.turn(id, json!({"sessionId": id, "prompt": prompt})).await;
        match answer {
            Ok(answer) => Ok(StopReason::read(&answer)),
            Err(stop) => Err(self.unanswered("session/prompt", stop, welcome)),
        }
    }

    async fn told_again(&mut self, welcome: &Welcome) -> Result<(), Trouble> {
        let end = Instant::now() + TOLD_AGAIN;
        while welcome.loads() && Instant::now() < end {
            let before = self.client.known.told_again;
            let more = self.client.wait_until(SILENCE, |known| known.told_again != before).await;
            match more {
                Ok(true) => {}
                Ok(false) => break,
                Err(stop) => return Err(self.unanswered("session/prompt", stop, welcome)),
            }
        }
        Ok(())
    }

    async fn delete(&mut self, welcome: &Welcome, id: &str) -> Result<(), Trouble> {
        self.offered(welcome, "delete", "delete a session")?;
        self.call("session/delete", json!({"sessionId": id})).await.map(drop)
    }

    /// What comes last is no surprise after a turn that somebody paid for.
    fn can_end(&self, welcome: &Welcome) -> Result<(), Trouble> {
        if self.plan.args.close {
            self.offered(welcome, "close", "close a session")?;
        }
        match self.plan.args.logout && !welcome.offers_logout() {
            true => Err(Trouble::Usage("the agent does not offer to log out".to_owned())),
            false => Ok(()),
        }
    }

    fn offered(&self, welcome: &Welcome, capability: &str, what: &str) -> Result<(), Trouble> {
        match welcome.offers(capability) {
            true => Ok(()),
            false => Err(Trouble::Usage(format!("the agent does not offer to {what}"))),
        }
    }
}

/// It wants to know who we are: every way there is, and how each is gone.
fn log_in(error: &RpcError, welcome: &Welcome, agent: &AgentCommand) -> String {
    let told = error.data.as_ref().map(AuthMethod::of).unwrap_or_default();
    let methods = if told.is_empty() { &welcome.auth_methods } else { &told };
    let ways: Vec<String> = methods.iter().map(|method| format!("\n  {}", how(method, agent))).collect();
    let ways =
        if ways.is_empty() { "\n  log in with the agent's own program".to_owned() } else { ways.concat() };
    format!("the agent wants a log-in first ({}):{ways}", visible_line(&error.message))
}

fn how(method: &AuthMethod, agent: &AgentCommand) -> String {
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
