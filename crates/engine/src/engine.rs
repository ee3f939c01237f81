//! A session while it runs: takes commands, runs turns, publishes events.
//! How a session comes to be is `start`; which one is open is `host`; what a line of input means is `intake`; what a turn
//! does is `turn`.

mod agent_switch;
mod aside;
mod inbox;
mod intake;
mod mentioned;
mod undo;

use std::collections::VecDeque;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use zdx_protocol::{
    CheckChoice, Command, CommandId, ErrorKind, Event, NoticeLevel, Open, Outcome, Prompt, Sent, TurnState,
    TurnSummary,
};

use crate::backend::{Backend, BackendInfo};
use crate::call::{TurnIo, command};
use crate::history::revert::{RevertError, Way};
use crate::queries::{NO_CHECK, Queries};
use crate::session::Session;
use crate::subagent::Subagents;
use crate::turn;
pub(crate) use aside::{Aside, failed};
pub(crate) use inbox::Inbox;
use intake::Work;
use zdx_config::library::ExpandedCommand;
use zdx_tools::registry::ToolRegistry;

pub(crate) struct Engine {
    session: Session,
    backend: Backend,
    /// The tools of the agent at work.
    registry: Arc<ToolRegistry>,
    subagents: Arc<Subagents>,
    queries: Arc<Queries>,
    /// The last turn that was begun here, and how many turns there were with it.
    repeatable: Option<(u32, RepeatableTurn)>,
    /// The model in use is that of the agent at work.
    loan: Option<Loan>,
}

/// The user's choices that the session opened next begins with.
pub(crate) struct CarriedChoices {
    pub model: String,
    pub agent: String,
    /// The agent that answers in place of a model.
    pub remote: Option<String>,
    pub loan: Option<Loan>,
}

/// A model that came with an agent and leaves with it.
#[derive(Clone)]
pub(crate) struct Loan {
    /// What answered before; none when the session began with the agent.
    pub before: Option<String>,
}

/// Why a session is left.
#[derive(Debug)]
pub(crate) enum Leave {
    Open {
        id: CommandId,
        open: Open,
    },
    /// What the folder's own files may do is to be decided anew.
    Trust {
        id: CommandId,
    },
    /// By command, or because the front end is gone.
    Shutdown {
        id: Option<CommandId>,
    },
}

/// A turn that `/retry` takes back and begins anew.
#[derive(Clone)]
enum RepeatableTurn {
    Prompt(Prompt),
    Check,
}

/// What waits for its turn, in the order it was asked for.
enum Task {
    Prompt(Prompt),
    Undo(Way),
    Retry,
    Compact,
    Check,
    SetModel(String),
    KeepModel,
    SetAgent(String),
}

#[derive(Default)]
struct Queue {
    work: VecDeque<(CommandId, Task)>,
    leave: Option<Leave>,
    /// Came after the wish to leave: for the session that is opened next.
    later: Vec<Sent>,
}

impl Engine {
    pub(crate) fn new(
        session: Session,
        backend: Backend,
        registry: Arc<ToolRegistry>,
        subagents: Arc<Subagents>,
        loan: Option<Loan>,
    ) -> Self {
        let queries = Arc::new(Queries::new(session.clone(), &backend));
        Self { session, backend, registry, subagents, queries, repeatable: None, loan }
    }

    /// Goes on where another one stopped: what the user chose there stays chosen.
    pub(crate) fn follow(&self, before: &Self) {
        if let Some(approval) = before.session.policy.chosen() {
            self.session.policy.set_approval(approval);
        }
    }

    /// What goes on in a fresh session that follows this one; the preset does too, by `follow`.
    pub(crate) fn carried(&self) -> CarriedChoices {
        let BackendInfo { model, remote_agent, modes, .. } = self.backend.info().clone();
        let agent = modes.map_or_else(|| self.session.persona().name.clone(), |modes| modes.current);
        CarriedChoices { model, agent, remote: remote_agent, loan: self.loan.clone() }
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    pub(crate) fn backend(&self) -> &Backend {
        &self.backend
    }

    /// Until something else than this session is wanted.
    pub(crate) async fn run(&mut self, inbox: &mut Inbox) -> Leave {
        let mut queue = Queue::default();
        let mut aside = Aside::default();
        loop {
            if let Some(leave) = queue.leave.take() {
                aside.close().await;
                return leave;
            }
            if let Some((id, task)) = queue.work.pop_front() {
                self.carry_out(id, task, &mut queue, &mut aside, inbox).await;
                continue;
            }
            tokio::select! {
                biased;
                () = aside.next(), if !aside.is_empty() => {}
                sent = inbox.next(), if !aside.is_full() => queue.take(sent, None, &self.queries, &mut aside),
                changed = self.session.server_changed() => aside.tell(&self.session.events, vec![changed]),
                told = self.backend.attend() => aside.tell(&self.session.events, vec![told]),
            }
            queue.pass_on(inbox);
        }
    }

    /// Leaves nothing behind: no child, no unsaved word.
    pub(crate) async fn close(&mut self) {
        self.backend.close().await;
        self.session.state.tools.shell.stop_background(&[]).await;
        self.session.events.sync().await;
    }

    async fn carry_out(
        &mut self,
        id: CommandId,
        task: Task,
        queue: &mut Queue,
        aside: &mut Aside,
        inbox: &mut Inbox,
    ) {
        let done = match task {
            Task::Prompt(prompt) => {
                self.prompt(prompt, queue, aside, inbox).await;
                Ok(())
            }
            Task::Retry => match self.take_back_last().await {
                Ok(RepeatableTurn::Check) => self.check(queue, aside, inbox).await,
                Ok(RepeatableTurn::Prompt(prompt)) => {
                    self.prompt(prompt, queue, aside, inbox).await;
                    Ok(())
                }
                Err(RevertError::NoTurn) => {
                    Err((ErrorKind::Session, "nothing was asked yet in this session".to_owned()))
                }
                Err(error) => Err((ErrorKind::Session, error.to_string())),
            },
            Task::Check => self.check(queue, aside, inbox).await,
            Task::Compact => {
                self.turn(Work::Compact, queue, aside, inbox).await;
                Ok(())
            }
            Task::Undo(way) => self.undo(way).await.map_err(|error| (ErrorKind::Session, error.to_string())),
            Task::SetModel(model) => self.set_model(&model).await.map_err(|why| (ErrorKind::Config, why)),
            Task::KeepModel => self.keep_model().await.map_err(|why| (ErrorKind::Config, why)),
            Task::SetAgent(agent) => self.set_agent(&agent).await.map_err(|why| (ErrorKind::Config, why)),
        };
        let end = match done {
            Ok(()) => Event::Done { id },
            Err((kind, message)) => failed(id, kind, message),
        };
        self.session.events.emit(end).await;
    }

    async fn prompt(&mut self, prompt: Prompt, queue: &mut Queue, aside: &mut Aside, inbox: &mut Inbox) {
        let before = self.session.events.transcript().turns;
        let work = self.take_in(prompt.clone()).await;
        self.turn(work, queue, aside, inbox).await;
        self.note_repeatable(before, RepeatableTurn::Prompt(prompt));
    }

    /// `before`: the number of turns before this one, which need not have become one.
    fn note_repeatable(&mut self, before: u32, turn: RepeatableTurn) {
        let turns = self.session.events.transcript().turns;
        if turns > before {
            self.repeatable = Some((turns, turn));
        }
    }

    async fn check(
        &mut self,
        queue: &mut Queue,
        aside: &mut Aside,
        inbox: &mut Inbox,
    ) -> Result<(), (ErrorKind, String)> {
        if self.session.spec.check.is_none() {
            return Err((ErrorKind::Config, NO_CHECK.to_owned()));
        }
        let before = self.session.events.transcript().turns;
        self.turn(Work::Check, queue, aside, inbox).await;
        self.note_repeatable(before, RepeatableTurn::Check);
        Ok(())
    }

    async fn turn(&mut self, work: Work, queue: &mut Queue, aside: &mut Aside, inbox: &mut Inbox) {
        let cancel = CancellationToken::new();
        let before = self.session.events.transcript().turns;
        let typed = matches!(work, Work::Shell { .. });
        // What earlier turns left running is not this one's to stop.
        let earlier = self.session.state.tools.shell.background();
        // Children are launched with the model of this moment.
        self.subagents.set_seed(self.backend.seed());
        let io = TurnIo::new(self.session.clone(), Arc::clone(&self.registry), cancel.clone());
        let Self { session, queries, backend, .. } = self;
        let mut summary = {
            let turn = answer(backend, work, &io);
            tokio::pin!(turn);
            loop {
                tokio::select! {
                    biased;
                    sent = inbox.next(), if !inbox.is_closed() && !aside.is_full() => queue.take(sent, Some(&cancel), queries, aside),
                    () = aside.next(), if !aside.is_empty() => {}
                    changed = session.server_changed(), if !aside.is_full() => aside.tell(&session.events, vec![changed]),
                    summary = &mut turn => break summary,
                }
            }
        };
        queue.pass_on(inbox);
        if cancel.is_cancelled() {
            self.session.state.tools.shell.stop_background(&earlier).await;
        }
        summary.denied += self.subagents.take_denied();
        summary.usage.add(self.subagents.take_used());
        summary.begun = !typed && self.session.events.transcript().turns > before;
        self.tell_background().await;
        self.session.events.emit(Event::TurnFinished(summary)).await;
        self.session.events.emit(Event::StateChanged { state: TurnState::Idle }).await;
    }

    /// Children that outlive their call are the user's business: they live until zdx leaves.
    async fn tell_background(&self) {
        let running = self.session.state.tools.shell.background();
        if !running.is_empty() {
            let commands: Vec<String> = running.into_iter().map(|child| child.command).collect();
            let message = format!("still running until zdx exits: {}", commands.join("; "));
            self.session.events.notice(NoticeLevel::Info, message).await;
        }
    }
}

async fn answer(backend: &mut Backend, work: Work, io: &TurnIo) -> TurnSummary {
    match work {
        Work::Prompt(prompt) => turn::run_prompt(backend, prompt, io).await,
        Work::Shell { typed, command } => turn::run_shell(backend, &typed, &command, io).await,
        Work::Slash { expanded, data } => {
            let (text, denied) = fill(&expanded, io).await;
            let mut summary = turn::run_prompt(backend, Prompt::with_data(&text, &data), io).await;
            summary.denied += denied;
            summary
        }
        Work::Mentioning { prompt, resources } => match mentioned::attach(resources, io).await {
            true => turn::run_prompt(backend, prompt, io).await,
            false => turn::empty_summary(Outcome::Interrupted),
        },
        Work::Prompted { prompted, data } => match mentioned::fill(prompted, data, io).await {
            Ok(prompt) => turn::run_prompt(backend, prompt, io).await,
            Err(outcome) => turn::empty_summary(outcome),
        },
        Work::Compact => turn::run_compaction(backend, io).await,
        Work::Check => turn::run_check(backend, io).await,
        Work::Done(outcome) => turn::empty_summary(outcome),
    }
}

/// Runs the commands inside a slash command, each through the guard; what is refused says so in its place. The text, and
/// how many were denied.
async fn fill(expanded: &ExpandedCommand, io: &TurnIo) -> (String, u32) {
    let (mut outputs, mut denied) = (Vec::new(), 0);
    for (n, command) in expanded.shells().enumerate() {
        let id = format!("slash-{}-{n}", io.session.events.transcript().turns);
        match command::output_of(id, command, io).await {
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
    /// `turn` is what stops the one that runs.
    fn take(
        &mut self,
        sent: Option<Sent>,
        turn: Option<&CancellationToken>,
        queries: &Arc<Queries>,
        aside: &mut Aside,
    ) {
        let session = &queries.session;
        // The front end is gone: nobody reads on, nothing may go on.
        let Some(Sent { id, command }) = sent else {
            return self.leave(Leave::Shutdown { id: None }, turn, queries, aside);
        };
        if self.leave.is_some() && !command.is_for_now() {
            return self.later.push(Sent { id, command });
        }
        match command {
            Command::Prompt(prompt) => self.work.push_back((id, Task::Prompt(prompt))),
            Command::Shell(typed) => self.work.push_back((id, Task::Prompt(Prompt::from(typed)))),
            Command::Revert { turn, keep_files } => {
                let way = if keep_files { Way::Unsay(turn) } else { Way::Back(turn) };
                self.work.push_back((id, Task::Undo(way)));
            }
            Command::Retry => self.work.push_back((id, Task::Retry)),
            Command::Redo => self.work.push_back((id, Task::Undo(Way::Forth))),
            Command::Compact => self.work.push_back((id, Task::Compact)),
            Command::Check(Some(CheckChoice::Run)) => self.work.push_back((id, Task::Check)),
            Command::Check(choice) => aside.check(session, id, choice),
            Command::SetModel(model) => self.work.push_back((id, Task::SetModel(model))),
            Command::KeepModel => self.work.push_back((id, Task::KeepModel)),
            Command::SetAgent(agent) => self.work.push_back((id, Task::SetAgent(agent))),
            Command::Answer { request, decision } => {
                let end = match session.policy.approvals.answer(request, decision) {
                    true => Event::Done { id },
                    false => failed(id, ErrorKind::Session, "that question is no longer open"),
                };
                aside.tell(&session.events, vec![end]);
            }
            Command::AnswerTrust { .. } => {
                let end = failed(id, ErrorKind::Session, "nothing is asked about trust now");
                aside.tell(&session.events, vec![end]);
            }
            Command::SetApproval(approval) => {
                session.policy.set_approval(approval);
                aside.tell(&session.events, vec![Event::ApprovalChanged { approval }, Event::Done { id }]);
            }
            Command::AddFolder { path } => aside.add_folder(session, id, path),
            Command::Revoke { grant } => aside.revoke(session, id, grant),
            Command::Ask(query) => aside.ask(queries, id, query),
            Command::Remember { line } => aside.remember(session, id, line),
            Command::Export { path } => aside.export(session, id, path),
            Command::Interrupt => {
                self.interrupt(turn, queries, aside);
                if turn.is_none() {
                    aside.interrupt();
                }
                aside.tell(&session.events, vec![Event::Done { id }]);
            }
            // What cannot be opened costs nothing that is going on.
            Command::Open(open) => match session.may_open(&open) {
                Ok(()) => self.leave(Leave::Open { id, open }, turn, queries, aside),
                Err(why) => aside.tell(&session.events, vec![failed(id, why.kind, why.message)]),
            },
            Command::Trust => self.leave(Leave::Trust { id }, turn, queries, aside),
            Command::Shutdown => self.leave(Leave::Shutdown { id: Some(id) }, turn, queries, aside),
        }
    }

    /// Stops the turn that runs; what waits behind it is not begun.
    fn interrupt(&mut self, turn: Option<&CancellationToken>, queries: &Arc<Queries>, aside: &mut Aside) {
        let waiting = self.work.drain(..);
        let dropped =
            waiting.map(|(id, _)| failed(id, ErrorKind::Interrupted, "interrupted before it began"));
        aside.tell(&queries.session.events, dropped.collect());
        if let Some(cancel) = turn {
            cancel.cancel();
        }
    }

    fn leave(
        &mut self,
        leave: Leave,
        turn: Option<&CancellationToken>,
        queries: &Arc<Queries>,
        aside: &mut Aside,
    ) {
        self.interrupt(turn, queries, aside);
        if let Some(Leave::Open { id, .. } | Leave::Trust { id } | Leave::Shutdown { id: Some(id) }) =
            self.leave.replace(leave)
        {
            aside.tell(
                &queries.session.events,
                vec![failed(id, ErrorKind::Interrupted, "something else was wanted instead")],
            );
        }
    }

    /// What came too late for this session.
    fn pass_on(&mut self, inbox: &mut Inbox) {
        self.later.drain(..).for_each(|sent| inbox.hold(sent));
    }
}
