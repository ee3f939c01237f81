//! Another agent over the Agent Client Protocol: one process for a session, started with its first prompt. Its updates are our
//! events, what it asks for goes through our guard and our person; what it runs itself is told, not guarded. Never builds a
//! model request.

mod asked;
mod link;
mod prompt;
mod told;
mod turn;
mod view;

use std::time::Instant;

use zdx_acp::shapes::StopReason;
use zdx_models::ModelError;
use zdx_protocol::{
    ErrorKind, Event, NoticeLevel, Outcome, Prompt, Transcript, TurnState, TurnSummary, Usage,
};

use crate::acp::{AgentCommand, Launch, PREFIX, stopped};
use crate::call::TurnIo;
use link::{Link, Trouble};
use told::Teller;
pub(crate) use view::View;
use view::Watched;

pub(crate) struct Acp {
    command: AgentCommand,
    launch: Launch,
    link: Option<Link>,
    /// The agent's own session, if there was one before.
    remote: Option<String>,
    /// The model that it is to answer with, if somebody chose one.
    model: Option<String>,
    watched: Watched,
}

/// `acp:NAME`: what a backend is chosen by, and what answers is called.
pub(crate) fn label(agent: &str) -> String {
    format!("{PREFIX}{agent}")
}

impl Acp {
    /// `before` is what the session holds; `model` may be a label of ours.
    pub(crate) fn new(
        command: AgentCommand,
        launch: Launch,
        before: &Transcript,
        model: Option<&str>,
    ) -> Self {
        let label = label(&command.name);
        let chosen = model.or(before.model.as_deref().filter(|model| model.starts_with(&label)));
        let model = chosen.and_then(|model| own_name(&label, model)).map(str::to_owned);
        let remote = before.remote.as_ref().filter(|remote| remote.agent == command.name);
        let remote = remote.map(|remote| remote.session.clone());
        let watched = Watched::new(label, model.clone());
        Self { command, launch, link: None, remote, model, watched }
    }

    pub(crate) fn view(&self) -> View {
        self.watched.view()
    }

    pub(crate) async fn run_turn(&mut self, prompt: Prompt, io: &TurnIo) -> TurnSummary {
        let start = Instant::now();
        let attached = prompt::attached(&io.emit.transcript());
        let turn = io.emit.transcript().turns + 1;
        io.emit.emit(Event::TurnStarted { turn, prompt: prompt.text.clone() }).await;
        io.emit.emit(Event::StateChanged { state: TurnState::Planning }).await;
        let mut teller = Teller::new(io.clone(), self.launch.root.clone(), turn, &self.command.name);
        let ended = self.answer(&prompt.text, &attached, &mut teller, io).await;
        // Whatever it says of the end of a turn that was called off.
        let ended = if io.cancel.is_cancelled() { Err(Trouble::Interrupted) } else { ended };
        let (usage, denied, text) = teller.finish(ended.is_ok()).await;
        let outcome = tell_end(ended, io).await;
        self.watched.used(usage);
        if let Some(usage) = self.view().usage() {
            io.emit.emit(Event::ContextUsage(usage)).await;
        }
        let state = if outcome == Outcome::Error { TurnState::Error } else { TurnState::Done };
        io.emit.emit(Event::StateChanged { state }).await;
        io.emit.sync().await;
        let duration_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        TurnSummary { outcome, text, usage: Usage::default(), denied, duration_ms, cut_short: None }
    }

    async fn answer(
        &mut self,
        text: &str,
        attached: &[String],
        teller: &mut Teller,
        io: &TurnIo,
    ) -> Result<StopReason, Trouble> {
        if self.link.as_mut().is_some_and(Link::is_dead) {
            self.close().await;
        }
        let mut link = match self.link.take() {
            Some(link) => link,
            None => self.connect(io).await?,
        };
        let turn = async {
            link.set_model(self.model.as_deref(), io).await?;
            let blocks = prompt::blocks(text, attached, &link.welcome, &self.launch.root);
            turn::run(&mut link, blocks, teller, io).await
        };
        let ended = turn.await;
        self.watched.offers(link.models());
        match &ended {
            Ok(_) | Err(Trouble::Refused(..)) => self.link = Some(link),
            // Nobody knows what it still does: it ends here, and the next prompt starts it again.
            Err(Trouble::Interrupted | Trouble::Failed(..)) => link.stop().await,
        }
        ended
    }

    /// Starts it, and goes on with its own session where it can.
    async fn connect(&mut self, io: &TurnIo) -> Result<Link, Trouble> {
        let mut link = Link::start(&self.command, &self.launch, io).await?;
        let opened = link.open(self.remote.as_deref(), &self.launch.root, io).await;
        let is_new = match opened {
            Ok(is_new) => is_new,
            Err(trouble) => {
                link.stop().await;
                return Err(trouble);
            }
        };
        if is_new {
            let (agent, session) = (self.command.name.clone(), link.session.clone());
            self.remote = Some(session.clone());
            io.emit.emit(Event::RemoteSession { agent: agent.clone(), session }).await;
            if io.emit.transcript().turns > 1 {
                let message = format!("{agent} starts anew: it does not know what was said before");
                io.emit.notice(NoticeLevel::Warning, message).await;
            }
        }
        Ok(link)
    }

    /// From the next prompt on. `None`: it lets nobody choose.
    pub(crate) fn set_model(&mut self, model: &str) -> Option<Result<String, ModelError>> {
        let label = label(&self.command.name);
        let wanted = own_name(&label, model).unwrap_or(model);
        if let Some(link) = &self.link {
            let known = link.models()?;
            if !known.iter().any(|known| known == wanted) {
                let why = format!("{label} has no model {wanted}; it has: {}", known.join(", "));
                return Some(Err(ModelError::Setup(why)));
            }
        }
        self.model = Some(wanted.to_owned());
        self.watched.model(wanted);
        Some(Ok(self.view().model()))
    }

    pub(crate) async fn close(&mut self) {
        if let Some(link) = self.link.take() {
            link.stop().await;
        }
    }
}

/// What the agent itself calls a model of ours: `large` of `acp:fake/large`, and nothing of `acp:fake`.
fn own_name<'m>(label: &str, model: &'m str) -> Option<&'m str> {
    match model.strip_prefix(label) {
        Some(rest) => rest.strip_prefix('/').filter(|rest| !rest.is_empty()),
        None => Some(model),
    }
}

async fn tell_end(ended: Result<StopReason, Trouble>, io: &TurnIo) -> Outcome {
    let (outcome, error) = match ended {
        Ok(StopReason::EndTurn) => (Outcome::Completed, None),
        Ok(StopReason::Cancelled) | Err(Trouble::Interrupted) => (Outcome::Interrupted, None),
        Ok(reason @ StopReason::MaxTurnRequests) => {
            (Outcome::MaxSteps, Some((ErrorKind::Limit, stopped(&reason))))
        }
        Ok(reason @ StopReason::MaxTokens) => (Outcome::Error, Some((ErrorKind::Limit, stopped(&reason)))),
        Ok(reason @ (StopReason::Refusal | StopReason::Other(_))) => {
            (Outcome::Error, Some((ErrorKind::Provider, stopped(&reason))))
        }
        Err(Trouble::Refused(kind, why) | Trouble::Failed(kind, why)) => (Outcome::Error, Some((kind, why))),
    };
    if let Some((kind, message)) = error {
        io.emit.emit(Event::Error { command: None, kind, message, details: None }).await;
    }
    if outcome == Outcome::Interrupted {
        io.emit.emit(Event::Interrupted).await;
    }
    outcome
}
