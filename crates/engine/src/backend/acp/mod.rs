//! Another agent over the Agent Client Protocol: one process for a session, started with its first prompt. Its updates are our
//! events, what it asks for goes through our guard and our person; what it runs itself is told, not guarded. Never builds a
//! model request.

mod change;
mod connection;
mod event_mapping;
mod offer;
mod output;
mod permission_requests;
mod prompt;
mod terminals;
mod turn_host;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;
use zdx_acp::shapes::StopReason;
use zdx_protocol::{Content, ErrorKind, Event, NoticeLevel, Outcome, Prompt, Transcript};

use super::{BackendInfo, ContextBudget, NO_MODEL_CHOICE};
use crate::acp::{AgentCommand, Launch, PREFIX, stopped};
use crate::call::{TurnIo, TurnResult};
use connection::{AgentConnection, AgentFailure, AgentSetting};
use event_mapping::EventMapper;
use prompt::PromptContent;

pub(crate) struct AcpBackend {
    command: AgentCommand,
    launch: Launch,
    connection: Option<AgentConnection>,
    /// It is being started, if there is anything in here.
    connecting: JoinSet<Result<AgentConnection, AgentFailure>>,
    /// It was started once without being asked, so that it can be chosen from before the first prompt.
    tried: bool,
    /// The agent's own session, if there was one before.
    remote: Option<String>,
    /// The model that it is to answer with, if somebody chose one.
    model: Option<String>,
    mode: Option<String>,
    /// What a person ran since the last prompt, for the next.
    meanwhile: Vec<String>,
    /// The mode that was told last.
    told_mode: Option<String>,
    info: watch::Sender<BackendInfo>,
}

/// Of what a person ran, an agent gets this much of each, and of so many.
const READ_ALONG: usize = 32 << 10;
const MOST_READ_ALONG: usize = 20;

/// `acp:NAME`: what a backend is chosen by, and what answers is called.
pub(crate) fn label(agent: &str) -> String {
    format!("{PREFIX}{agent}")
}

impl AcpBackend {
    /// `before` is what the session holds; `model` may be a label of ours.
    pub(crate) fn new(
        command: AgentCommand,
        launch: Launch,
        before: &Transcript,
        model: Option<&str>,
        mode: Option<&str>,
    ) -> Self {
        let label = label(&command.name);
        let chosen = model.or(before.model.as_deref().filter(|model| model.starts_with(&label)));
        let model = chosen.and_then(|model| own_name(&label, model)).map(str::to_owned);
        let remote = before.remote.as_ref().filter(|remote| remote.agent == command.name);
        // A copy of a session has no part in the agent's own.
        let remote = remote.filter(|remote| !remote.session.is_empty());
        let told_mode = before.agent.clone().filter(|_| remote.is_some());
        let mode = mode.map(str::to_owned).or_else(|| told_mode.clone());
        let remote = remote.map(|remote| remote.session.clone());
        let info = offer::unknown(&command.name, model.as_deref(), mode.as_deref());
        Self {
            command,
            launch,
            connection: None,
            connecting: JoinSet::new(),
            tried: false,
            remote,
            model,
            mode,
            meanwhile: Vec::new(),
            told_mode,
            info,
        }
    }

    /// A command with what it printed.
    pub(crate) fn read_along(&mut self, output: &str) {
        let kept = output.floor_char_boundary(output.len().min(READ_ALONG));
        let cut = if kept < output.len() { "\n[the rest is left out]" } else { "" };
        self.meanwhile.push(format!("I ran this myself:\n{}{cut}", &output[..kept]));
        // Nobody runs so many without a word about them.
        if self.meanwhile.len() > MOST_READ_ALONG {
            self.meanwhile.remove(0);
        }
    }

    pub(crate) fn info(&self) -> &watch::Sender<BackendInfo> {
        &self.info
    }

    pub(crate) async fn run_turn(&mut self, prompt: &Prompt, io: &TurnIo) -> TurnResult {
        let (turn, attached) = {
            let transcript = io.session.events.transcript();
            (transcript.turns, prompt::attached(&transcript))
        };
        let mapper = EventMapper::new(io.clone(), turn, &self.command.name);
        let (ended, mapper) = self.answer(&prompt.text, attached, mapper, io).await;
        // Whatever the agent says of the end of a turn that was cancelled.
        let ended = if io.cancel.is_cancelled() { Err(AgentFailure::Interrupted) } else { ended };
        let (usage, denied, text) = match mapper {
            Some(mapper) => mapper.finish(ended.is_ok()).await,
            None => Default::default(),
        };
        if let Some(usage) = usage {
            self.info.send_modify(|info| info.context = ContextBudget::Reported(usage));
        }
        TurnResult { text, denied, ..TurnResult::from(tell_end(ended, io).await) }
    }

    async fn answer(
        &mut self,
        text: &str,
        attached: Vec<Content>,
        mapper: EventMapper,
        io: &TurnIo,
    ) -> (Result<StopReason, AgentFailure>, Option<EventMapper>) {
        if self.connection.as_mut().is_some_and(AgentConnection::is_dead) {
            self.close().await;
        }
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => match self.connected(io).await {
                Ok(connection) => connection,
                Err(failure) => return (Err(failure), None),
            },
        };
        self.greet(&mut connection, io).await;
        let mode = self.wanted_mode(&connection);
        let set = async {
            connection.set(AgentSetting::Mode, mode.as_deref()).await?;
            connection.set(AgentSetting::Model, self.model.as_deref()).await
        };
        let ended = match unless_interrupted(io, set).await {
            Ok(()) => {
                self.tell_mode(&connection, io).await;
                let meanwhile = std::mem::take(&mut self.meanwhile);
                let attached = self.with_images(attached, &connection, io).await;
                let blocks = prompt::blocks(
                    text,
                    &meanwhile,
                    &attached,
                    &connection.client.welcome,
                    io.session.root(),
                );
                connection.client.observer.begin_turn(mapper, io.cancel.clone());
                Self::with_words(&mut connection, blocks, io).await
            }
            Err(failure) => Err(failure),
        };
        let mapper = connection.client.observer.end_turn();
        self.publish_offer(&connection);
        self.tell_mode(&connection, io).await;
        match &ended {
            Ok(_) | Err(AgentFailure::Refused(..)) => self.connection = Some(connection),
            // Nobody knows what it still does: it ends here, and the next prompt starts it again.
            Err(AgentFailure::Interrupted | AgentFailure::Failed(..)) => connection.stop().await,
        }
        (ended, mapper)
    }

    /// Reads the images that the agent takes, and tells the user of those that it is only told about.
    async fn with_images(
        &self,
        attached: Vec<Content>,
        connection: &AgentConnection,
        io: &TurnIo,
    ) -> Vec<PromptContent> {
        let takes_images = connection.client.welcome.takes_prompt("image");
        if let Some(image) = attached.iter().find_map(Content::image).filter(|_| !takes_images) {
            let message =
                format!("{}: {} does not take images; it gets a note", image.summary(), self.command.name);
            io.session.events.notice(NoticeLevel::Warning, message).await;
        }
        let store = Arc::clone(&io.session.state.tools.content);
        let read = move |content: Content| {
            let image = content.image().filter(|_| takes_images);
            let base64 = image.and_then(|image| store.get(&image.blob.sha256).ok());
            PromptContent { base64: base64.map(|bytes| STANDARD.encode(bytes)), content }
        };
        let reading = tokio::task::spawn_blocking(move || attached.into_iter().map(read).collect());
        reading.await.unwrap_or_default()
    }

    /// The protocol has no place for why something was not allowed, so it is said when the agent has ended its turn, as the
    /// person's next words.
    async fn with_words(
        connection: &mut AgentConnection,
        mut blocks: Vec<Value>,
        io: &TurnIo,
    ) -> Result<StopReason, AgentFailure> {
        loop {
            let ended = turn_host::run(connection, blocks, io).await?;
            let goes_on = matches!(ended, StopReason::EndTurn | StopReason::Cancelled);
            let Some(mapper) = connection.client.observer.mapper() else { return Ok(ended) };
            let words = mapper.take_words().join("\n");
            if words.is_empty() || !goes_on || io.cancel.is_cancelled() {
                return Ok(ended);
            }
            mapper.pause().await;
            blocks = prompt::blocks(&words, &[], &[], &connection.client.welcome, io.session.root());
        }
    }

    async fn connected(&mut self, io: &TurnIo) -> Result<AgentConnection, AgentFailure> {
        let connected = unless_interrupted(io, self.connecting()).await;
        self.connecting = JoinSet::new();
        self.info.send_modify(|info| info.is_starting = false);
        connected
    }

    /// Goes on where it was begun, so that it may be left and come back to.
    async fn connecting(&mut self) -> Result<AgentConnection, AgentFailure> {
        self.tried = true;
        if self.connecting.is_empty() {
            let (command, launch) = (self.command.clone(), self.launch.clone());
            self.connecting.spawn(AgentConnection::connect(command, launch, self.remote.clone()));
        }
        let connected = self.connecting.join_next().await.and_then(Result::ok);
        connected.unwrap_or_else(|| {
            let why = format!("starting {} broke off; this is a defect of zdx", self.command.name);
            Err(AgentFailure::Failed(ErrorKind::Provider, why))
        })
    }

    /// Between turns: starts the agent once, and takes in what it says of itself. Comes back only where there is something to
    /// tell, and can be left at any time.
    pub(crate) async fn attend(&mut self) -> Event {
        loop {
            if let Some(connection) = &mut self.connection {
                // Never returns for an agent that is gone; the next prompt starts it again.
                connection.client.listen().await;
                self.connection.as_ref().inspect(|connection| self.publish_offer(connection));
            } else if self.tried && self.connecting.is_empty() {
                return std::future::pending().await;
            } else {
                match self.connecting().await {
                    Ok(connection) => {
                        self.publish_offer(&connection);
                        self.connection = Some(connection);
                    }
                    Err(failure) => {
                        self.info.send_modify(|info| info.is_starting = false);
                        return Event::Notice {
                            level: NoticeLevel::Warning,
                            message: failure.into_words(),
                            kept: false,
                        };
                    }
                }
            }
        }
    }

    /// What the first turn with this process tells before anything else.
    async fn greet(&mut self, connection: &mut AgentConnection, io: &TurnIo) {
        for note in std::mem::take(&mut connection.notes) {
            io.session.events.notice(NoticeLevel::Warning, note).await;
        }
        if std::mem::take(&mut connection.is_new) {
            let (agent, session) = (self.command.name.clone(), connection.client.session.id.clone());
            self.remote = Some(session.clone());
            io.session.events.emit(Event::RemoteSession { agent: agent.clone(), session }).await;
            if io.session.events.transcript().turns > 1 {
                let message = format!("{agent} starts anew: it does not know what was said before");
                io.session.events.notice(NoticeLevel::Warning, message).await;
            }
        }
    }

    /// One that it was in before and does not have any more is nobody's wish.
    fn wanted_mode(&self, connection: &AgentConnection) -> Option<String> {
        let known = |mode: &str| {
            AgentSetting::Mode
                .of(&connection.client.session.choices)
                .is_some_and(|modes| modes.find(mode).is_some())
        };
        self.mode.clone().filter(|mode| self.told_mode.as_ref() != Some(mode) || known(mode))
    }

    /// It may have changed by itself, and what it is in then is nobody's choice any more.
    async fn tell_mode(&mut self, connection: &AgentConnection, io: &TurnIo) {
        let Some(now) = connection.client.session.choices.mode().and_then(zdx_acp::shapes::Setting::current)
        else {
            return;
        };
        if self.told_mode.as_ref() != Some(&now) {
            self.told_mode = Some(now.clone());
            self.publish_mode(&now);
            self.mode = Some(now.clone());
            io.session.events.emit(Event::AgentChanged { agent: now }).await;
        }
    }

    /// From the next prompt on.
    pub(crate) fn set_model(&mut self, model: &str) -> Result<String, String> {
        let label = label(&self.command.name);
        let wanted = own_name(&label, model).unwrap_or(model);
        if let Some(connection) = &self.connection {
            let setting =
                AgentSetting::Model.of(&connection.client.session.choices).ok_or(NO_MODEL_CHOICE)?;
            if setting.find(wanted).is_none() {
                return Err(AgentSetting::Model.unknown(&self.command.name, wanted, setting));
            }
        }
        self.model = Some(wanted.to_owned());
        let name = offer::model_name(&self.command.name, Some(wanted));
        self.info.send_modify(|info| info.model.clone_from(&name));
        Ok(name)
    }

    /// The same for how it works; or why not.
    pub(crate) fn set_mode(&mut self, wanted: &str) -> Result<String, String> {
        let mut mode = wanted.to_owned();
        if let Some(connection) = &self.connection {
            let name = &self.command.name;
            let setting = AgentSetting::Mode
                .of(&connection.client.session.choices)
                .ok_or_else(|| AgentSetting::Mode.none(name))?;
            let found =
                setting.find(wanted).ok_or_else(|| AgentSetting::Mode.unknown(name, wanted, setting))?;
            mode = found.as_str().unwrap_or(wanted).to_owned();
            self.told_mode = Some(mode.clone());
        }
        self.mode = Some(mode.clone());
        self.publish_mode(&mode);
        Ok(mode)
    }

    pub(crate) async fn close(&mut self) {
        self.connecting.shutdown().await;
        if let Some(connection) = self.connection.take() {
            connection.stop().await;
        }
    }
}

async fn unless_interrupted<T>(
    io: &TurnIo,
    work: impl Future<Output = Result<T, AgentFailure>>,
) -> Result<T, AgentFailure> {
    tokio::select! {
        biased;
        () = io.cancel.cancelled() => Err(AgentFailure::Interrupted),
        done = work => done,
    }
}

/// What the agent itself calls a model of ours: `large` of `acp:fake/large`, and nothing of `acp:fake`.
fn own_name<'m>(label: &str, model: &'m str) -> Option<&'m str> {
    match model.strip_prefix(label) {
        Some(rest) => rest.strip_prefix('/').filter(|rest| !rest.is_empty()),
        None => Some(model),
    }
}

/// Tells why a turn failed, and returns how it ended.
async fn tell_end(ended: Result<StopReason, AgentFailure>, io: &TurnIo) -> Outcome {
    let (outcome, error) = match ended {
        Ok(StopReason::EndTurn) => (Outcome::Completed, None),
        Ok(StopReason::Cancelled) | Err(AgentFailure::Interrupted) => (Outcome::Interrupted, None),
        Ok(reason @ StopReason::MaxTurnRequests) => {
            (Outcome::MaxSteps, Some((ErrorKind::Limit, stopped(&reason))))
        }
        Ok(reason @ StopReason::MaxTokens) => (Outcome::Error, Some((ErrorKind::Limit, stopped(&reason)))),
        Ok(reason @ (StopReason::Refusal | StopReason::Other(_))) => {
            (Outcome::Error, Some((ErrorKind::Provider, stopped(&reason))))
        }
        Err(AgentFailure::Refused(kind, why) | AgentFailure::Failed(kind, why)) => {
            (Outcome::Error, Some((kind, why)))
        }
    };
    if let Some((kind, message)) = error {
        io.session.events.emit(Event::Error { command: None, kind, message, details: None }).await;
    }
    outcome
}
