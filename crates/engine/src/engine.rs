//! A session while it runs: takes commands, runs turns, publishes events.
//! How a session comes to be is `start`; what a turn does is `turn`.

use std::collections::VecDeque;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use zdx_protocol::{Approval, Command, ErrorKind, Event, NoticeLevel, Prompt, TurnState};

use crate::backend::Backend;
use crate::emit::Emitter;
use crate::models::ModelPicker;
use crate::policy::PolicyContext;
use crate::policy::grants::GrantStore;
use crate::tools::ToolContext;
use crate::tools::registry::Registry;
use crate::turn::{Approvals, TurnIo, command};

pub struct Engine {
    pub emit: Emitter,
    pub backend: Backend,
    pub registry: Registry,
    pub tools: ToolContext,
    pub policy: PolicyContext,
    pub grants: GrantStore,
    pub picker: ModelPicker,
    pub commands: mpsc::Receiver<Command>,
}

/// What makes a turn.
enum Work {
    Prompt(Prompt),
    Shell(String),
    Compact,
}

/// What waits until the running turn is over.
#[derive(Default)]
struct Queue {
    work: VecDeque<Work>,
    model: Option<String>,
    agent: Option<String>,
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
                self.turn(work, &mut queue).await;
                continue;
            }
            match self.commands.recv().await {
                Some(command) => queue.take(command, None),
                None => break,
            }
        }
        self.tools.shell.stop_background().await;
        self.emit.sync().await;
    }

    async fn turn(&mut self, work: Work, queue: &mut Queue) {
        let cancel = CancellationToken::new();
        let approvals = Approvals::default();
        let mut io = TurnIo {
            emit: &mut self.emit,
            registry: &self.registry,
            tools: &self.tools,
            policy: &mut self.policy,
            grants: &self.grants,
            approvals: &approvals,
            cancel: cancel.clone(),
        };
        let summary = {
            let backend = &mut self.backend;
            let turn = async {
                match work {
                    Work::Prompt(prompt) => backend.run_turn(prompt, &mut io).await,
                    Work::Shell(typed) => {
                        let command = typed.trim_start_matches(['@', '!']).trim();
                        command::run_for_user(&typed, command, &mut io).await
                    }
                    Work::Compact => backend.compact(&mut io).await,
                }
            };
            tokio::pin!(turn);
            let mut open = true;
            loop {
                tokio::select! {
                    biased;
                    command = self.commands.recv(), if open => match command {
                        Some(command) => queue.take(command, Some((&cancel, &approvals))),
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

    async fn apply_settings(&mut self, queue: &mut Queue) {
        if let Some(approval) = queue.approval.take() {
            self.policy.approval = approval;
        }
        if std::mem::take(&mut queue.context) {
            let usage = self.backend.context_usage(self.emit.transcript());
            self.emit.emit(Event::ContextUsage(usage)).await;
        }
        let Some(model) = queue.model.take() else { return };
        match self.picker.resolve(&model) {
            Ok(chosen) => {
                let name = chosen.endpoint.label();
                match &mut self.backend {
                    Backend::Native(native) => native.switch(chosen),
                }
                self.emit.emit(Event::ModelChanged { model: name }).await;
            }
            Err(error) => {
                let message = error.to_string();
                self.emit.emit(Event::Error { kind: ErrorKind::Config, message, details: None }).await;
            }
        }
    }
}

impl Queue {
    fn take(&mut self, command: Command, turn: Option<(&CancellationToken, &Approvals)>) {
        match command {
            Command::Prompt(prompt) => self.work.push_back(Work::Prompt(prompt)),
            Command::Shell(command) => self.work.push_back(Work::Shell(command)),
            Command::Compact => self.work.push_back(Work::Compact),
            Command::Context => self.context = true,
            Command::Answer { request, decision } => {
                if let Some((_, approvals)) = turn {
                    approvals.answer(request, decision);
                }
            }
            Command::Interrupt => {
                self.work.clear();
                if let Some((cancel, _)) = turn {
                    cancel.cancel();
                }
            }
            Command::SetModel(model) => self.model = Some(model),
            Command::SetAgent(agent) => self.agent = Some(agent),
            Command::SetApproval(approval) => self.approval = Some(approval),
            Command::Shutdown => {
                self.shutdown = true;
                if let Some((cancel, _)) = turn {
                    cancel.cancel();
                }
            }
        }
    }
}
