//! A session while it runs: takes commands, runs turns, publishes events.
//! How a session comes to be is `start`; what a line of input means is `intake`; what a turn does is `turn`.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use zdx_protocol::{
    Approval, Command, ErrorKind, Event, Listing, NoticeLevel, Prompt, TurnState, TurnSummary,
};

use crate::backend::Backend;
use crate::emit::Emitter;
use crate::history::revert::Way;
use crate::intake::Work;
use crate::library::{Commands, Expanded, Skills};
use crate::models::ModelPicker;
use crate::persona::{Persona, Personas};
use crate::policy::PolicyContext;
use crate::policy::grants::Granted;
use crate::subagent::{ParentState, Subagents};
use crate::tools::ToolContext;
use crate::tools::registry::Registry;
use crate::turn::{Approvals, TurnIo, command};

mod undo;

pub struct Engine {
    pub emit: Emitter,
    pub backend: Backend,
    pub registry: Registry,
    pub tools: ToolContext,
    pub policy: PolicyContext,
    pub grants: Granted,
    pub approvals: Approvals,
    pub picker: Arc<ModelPicker>,
    pub personas: Arc<Personas>,
    pub persona: Persona,
    pub subagents: Arc<Subagents>,
    /// Slash commands of the user and the project.
    pub commands_known: Commands,
    pub skills: Skills,
    pub commands: mpsc::Receiver<Command>,
}

/// What waits for its turn, in the order it was asked for.
enum Queued {
    Prompt(Prompt),
    Undo(Way),
    Compact,
}

/// What waits until the running turn is over.
#[derive(Default)]
struct Queue {
    work: VecDeque<Queued>,
    model: Option<String>,
    agent: Option<String>,
    lists: Vec<Listing>,
    approval: Option<Approval>,
    context: bool,
    shutdown: bool,
}

impl Engine {
    pub async fn run(mut self) {
        let mut queue = Queue::default();
        loop {
            self.apply_settings(&mut queue).await;
            if queue.shutdown {
                break;
            }
            if let Some(work) = queue.work.pop_front() {
                match work {
                    Queued::Prompt(prompt) => {
                        let work = self.take_in(prompt).await;
                        self.turn(work, &mut queue).await;
                    }
                    Queued::Compact => self.turn(Work::Compact, &mut queue).await,
                    Queued::Undo(way) => self.undo(way).await,
                }
                continue;
            }
            match self.commands.recv().await {
                Some(command) => queue.take(command, None, &self.approvals),
                None => break,
            }
        }
        self.tools.shell.stop_background().await;
        self.emit.sync().await;
    }

    async fn turn(&mut self, work: Work, queue: &mut Queue) {
        let cancel = CancellationToken::new();
        self.tell_subagents();
        let mut io = TurnIo {
            emit: &mut self.emit,
            registry: &self.registry,
            persona: &self.persona,
            tools: &self.tools,
            policy: &mut self.policy,
            grants: &self.grants,
            approvals: &self.approvals,
            cancel: cancel.clone(),
        };
        let mut summary = {
            let turn = answer(&mut self.backend, work, &mut io);
            tokio::pin!(turn);
            let mut open = true;
            loop {
                tokio::select! {
                    biased;
                    command = self.commands.recv(), if open => match command {
                        Some(command) => queue.take(command, Some(&cancel), &self.approvals),
                        None => {
                            // The front end is gone: nobody reads on, nothing may go on.
                            open = false;
                            queue.shutdown = true;
                            cancel.cancel();
                        }
                    },
                    summary = &mut turn => break summary,
                }
            }
        };
        if cancel.is_cancelled() {
            self.tools.shell.stop_background().await;
        }
        summary.denied += self.subagents.take_denied();
        self.tell_background().await;
        self.emit.emit(Event::TurnFinished(summary)).await;
        self.emit.emit(Event::StateChanged { state: TurnState::Idle }).await;
    }

    /// Children that outlive their call are the user's business: they live until zdx leaves.
    async fn tell_background(&mut self) {
        let running = self.tools.shell.background();
        if !running.is_empty() {
            let commands: Vec<String> = running.into_iter().map(|child| child.command).collect();
            let message = format!("still running until zdx exits: {}", commands.join("; "));
            self.emit.notice(NoticeLevel::Info, message).await;
        }
    }

    /// Whoever is launched works with the model and the rules of this moment.
    fn tell_subagents(&self) {
        let Backend::Native(native) = &self.backend;
        let policy = self.policy.clone();
        self.subagents.set_parent(ParentState { chosen: native.chosen(), policy });
    }

    async fn apply_settings(&mut self, queue: &mut Queue) {
        if let Some(approval) = queue.approval.take() {
            self.policy.approval = approval;
        }
        if let Some(agent) = queue.agent.take() {
            self.set_agent(&agent).await;
        }
        if let Some(model) = queue.model.take() {
            self.set_model(&model).await;
        }
        if std::mem::take(&mut queue.context) {
            let usage = self.backend.context_usage(self.emit.transcript());
            self.emit.emit(Event::ContextUsage(usage)).await;
        }
        for what in std::mem::take(&mut queue.lists) {
            let lines = self.listed(what);
            self.emit.emit(Event::Listed { lines }).await;
        }
    }

    fn listed(&self, what: Listing) -> Vec<String> {
        let line = |name: &str, about: &str| format!("{name} · {about}");
        match what {
            Listing::Agents => {
                let mark = |name: &str| if name == self.persona.name { " (in use)" } else { "" };
                let agents = self.personas.agents.iter().filter(|agent| !agent.hidden);
                agents
                    .map(|agent| line(&agent.name, &format!("{}{}", agent.description, mark(&agent.name))))
                    .collect()
            }
            Listing::Skills => {
                self.skills.iter().map(|skill| line(&skill.name, &skill.description)).collect()
            }
            Listing::Commands => {
                let commands = self.commands_known.iter();
                commands.map(|command| line(&format!("/{}", command.name), &command.description)).collect()
            }
            Listing::Todos => self.tools.todos.items().iter().map(ToString::to_string).collect(),
        }
    }

    pub async fn set_model(&mut self, model: &str) {
        match self.picker.resolve(model) {
            Ok(chosen) => {
                let name = chosen.endpoint.label();
                let Backend::Native(native) = &mut self.backend;
                native.switch(chosen);
                self.emit.emit(Event::ModelChanged { model: name }).await;
            }
            Err(error) => self.fail(error.to_string()).await,
        }
    }

    /// False when there is no such agent; the user has been told.
    pub async fn set_agent(&mut self, name: &str) -> bool {
        if self.persona.name == name {
            return true;
        }
        let persona = match self.personas.primary(name) {
            Ok(persona) => persona,
            Err(error) => {
                self.fail(error.to_string()).await;
                return false;
            }
        };
        let Backend::Native(native) = &mut self.backend;
        native.play(&persona, &self.registry);
        self.policy.rules = Arc::clone(&persona.rules);
        let model = persona.model.clone();
        self.persona = persona;
        self.emit.emit(Event::AgentChanged { agent: name.to_owned() }).await;
        if let Some(model) = model {
            self.set_model(&model).await;
        }
        true
    }

    async fn fail(&mut self, message: String) {
        self.emit.emit(Event::Error { kind: ErrorKind::Config, message, details: None }).await;
    }
}

async fn answer(backend: &mut Backend, work: Work, io: &mut TurnIo<'_>) -> TurnSummary {
    match work {
        Work::Prompt(prompt) => backend.run_turn(prompt, io).await,
        Work::Shell { typed, command } => command::run_for_user(&typed, &command, io).await,
        Work::Slash { expanded, data } => {
            let (text, denied) = fill(&expanded, io).await;
            let mut summary = backend.run_turn(Prompt::with_data(&text, &data), io).await;
            summary.denied += denied;
            summary
        }
        Work::Compact => backend.compact(io).await,
        Work::Done(summary) => summary,
    }
}

/// Runs the commands inside a slash command, each through the guard; what is refused says so in its place. The text, and
/// how many were denied.
async fn fill(expanded: &Expanded, io: &mut TurnIo<'_>) -> (String, u32) {
    let (mut outputs, mut denied) = (Vec::new(), 0);
    for (n, command) in expanded.shells().enumerate() {
        let id = format!("slash-{}-{n}", io.emit.transcript().turns);
        match command::output_of(&id, command, io).await {
            Ok(output) => outputs.push(output),
            Err(refused) => {
                denied += u32::from(refused.denied);
                outputs.push(refused.text);
            }
        }
    }
    (expanded.fill(&outputs), denied)
}

impl Queue {
    fn take(&mut self, command: Command, turn: Option<&CancellationToken>, approvals: &Approvals) {
        match command {
            Command::Prompt(prompt) => self.work.push_back(Queued::Prompt(prompt)),
            Command::Shell(typed) => self.work.push_back(Queued::Prompt(Prompt::from(typed))),
            Command::Revert { turn } => self.work.push_back(Queued::Undo(Way::Back(turn))),
            Command::Redo => self.work.push_back(Queued::Undo(Way::Forth)),
            Command::Answer { request, decision } => approvals.answer(request, decision),
            Command::Compact => self.work.push_back(Queued::Compact),
            Command::Context => self.context = true,
            Command::Interrupt => {
                self.work.clear();
                if let Some(cancel) = turn {
                    cancel.cancel();
                }
            }
            Command::SetModel(model) => self.model = Some(model),
            Command::SetAgent(agent) => self.agent = Some(agent),
            Command::SetApproval(approval) => self.approval = Some(approval),
            Command::List(what) => self.lists.push(what),
            Command::Shutdown => {
                self.shutdown = true;
                if let Some(cancel) = turn {
                    cancel.cancel();
                }
            }
        }
    }
}
