//! A session while it runs: takes commands, runs turns, publishes events.
//! How a session comes to be is `start`; which one is open is `host`; what a line of input means is `intake`; what a turn
//! does is `turn`.

mod aside;
mod cast;
mod inbox;
mod intake;
mod mentioned;
mod undo;

use std::collections::VecDeque;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use zdx_protocol::{
    Approval, CheckChoice, Command, CommandId, ErrorKind, Event, NoticeLevel, Open, Outcome, Prompt, Sent,
    TurnState, TurnSummary,
};

use crate::backend::{Backend, BackendInfo};
use crate::call::{Approvals, CallContext, TurnIo, command};
use crate::emit::Emitter;
use crate::history::revert::{RevertError, Way};
use crate::in_force::Ruler;
use crate::persona::{Persona, Personas};
use crate::queries::{NO_CHECK, Queries};
use crate::subagent::{ParentState, Subagents};
use crate::turn;
pub(crate) use aside::{Aside, failed};
pub(crate) use inbox::Inbox;
use intake::Work;
use zdx_config::library::ExpandedCommand;

pub(crate) struct Engine {
    emit: Emitter,
    backend: Backend,
    calls: CallContext,
    ruler: Ruler,
    personas: Arc<Personas>,
    persona: Arc<Persona>,
    subagents: Arc<Subagents>,
    queries: Arc<Queries>,
    /// The last turn that was begun here, and how many turns there were with it.
    repeatable: Option<(u32, RepeatableTurn)>,
    /// The model in use is that of the agent at work.
    loan: Option<Loan>,
}

/// What a user chose and need not choose again.
pub(crate) struct Carried {
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

/// Who can be at work, and who is.
pub(crate) struct Cast {
    pub personas: Arc<Personas>,
    pub persona: Persona,
    pub subagents: Arc<Subagents>,
    pub loan: Option<Loan>,
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
        emit: Emitter,
        backend: Backend,
        calls: CallContext,
        ruler: Ruler,
        cast: Cast,
        queries: Arc<Queries>,
    ) -> Self {
        let Cast { personas, persona, subagents, loan } = cast;
        let persona = Arc::new(persona);
        Self { emit, backend, calls, ruler, personas, persona, subagents, queries, repeatable: None, loan }
    }

    /// Goes on where another one stopped: what the user chose there stays chosen.
    pub(crate) fn follow(&self, before: &Self) {
        if let Some(approval) = before.ruler.chosen() {
            self.ruler.set_approval(approval);
        }
    }

    /// What goes on in a fresh session that follows this one; the preset does too, by `follow`.
    pub(crate) fn carried(&self) -> Carried {
        let BackendInfo { model, remote_agent, modes, .. } = self.backend.info().clone();
        let agent = modes.map_or_else(|| self.persona.name.clone(), |modes| modes.current);
        Carried { model, agent, remote: remote_agent, loan: self.loan.clone() }
    }

    /// The preset that holds now.
    pub(crate) fn approval(&self) -> Approval {
        self.ruler.approval()
    }

    /// The preset, if it was chosen and not configured.
    pub(crate) fn chosen_preset(&self) -> Option<Approval> {
        self.ruler.chosen()
    }

    pub(crate) fn emit(&self) -> &Emitter {
        &self.emit
    }

    pub(crate) fn queries(&self) -> &Queries {
        &self.queries
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
                sent = inbox.next(), if !aside.is_full() => queue.take(sent, None, &self.desk(), &mut aside),
                changed = self.queries.server_changed() => aside.tell(&self.emit, vec![changed]),
                told = self.backend.attend() => aside.tell(&self.emit, vec![told]),
            }
            queue.pass_on(inbox);
        }
    }

    /// Leaves nothing behind: no child, no unsaved word.
    pub(crate) async fn close(&mut self) {
        self.backend.close().await;
        self.calls.tools.shell.stop_background(&[]).await;
        self.emit.sync().await;
    }

    fn desk(&self) -> Desk<'_> {
        let Self { emit, ruler, calls, queries, .. } = self;
        Desk { emit, ruler, approvals: &calls.approvals, queries }
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
            Task::SetAgent(agent) => self.set_agent(&agent).await.map_err(|why| (ErrorKind::Config, why)),
        };
        let end = match done {
            Ok(()) => Event::Done { id },
            Err((kind, message)) => failed(id, kind, message),
        };
        self.emit.emit(end).await;
    }

    async fn prompt(&mut self, prompt: Prompt, queue: &mut Queue, aside: &mut Aside, inbox: &mut Inbox) {
        let before = self.emit.transcript().turns;
        let work = self.take_in(prompt.clone()).await;
        self.turn(work, queue, aside, inbox).await;
        self.note_repeatable(before, RepeatableTurn::Prompt(prompt));
    }

    /// `before`: the number of turns before this one, which need not have become one.
    fn note_repeatable(&mut self, before: u32, turn: RepeatableTurn) {
        let turns = self.emit.transcript().turns;
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
        if self.queries.check.is_none() {
            return Err((ErrorKind::Config, NO_CHECK.to_owned()));
        }
        let before = self.emit.transcript().turns;
        self.turn(Work::Check, queue, aside, inbox).await;
        self.note_repeatable(before, RepeatableTurn::Check);
        Ok(())
    }

    async fn turn(&mut self, work: Work, queue: &mut Queue, aside: &mut Aside, inbox: &mut Inbox) {
        let cancel = CancellationToken::new();
        let before = self.emit.transcript().turns;
        let typed = matches!(work, Work::Shell { .. });
        // What earlier turns left running is not this one's to stop.
        let earlier = self.calls.tools.shell.background();
        self.tell_subagents();
        let (persona, policy) = (Arc::clone(&self.persona), self.ruler.in_force());
        let io = TurnIo::new(self.emit.clone(), &self.calls, persona, policy, cancel.clone());
        let Self { emit, ruler, calls, queries, backend, .. } = self;
        let desk = Desk { emit, ruler, approvals: &calls.approvals, queries };
        let mut summary = {
            let turn = answer(backend, work, &io);
            tokio::pin!(turn);
            loop {
                tokio::select! {
                    biased;
                    sent = inbox.next(), if !inbox.is_closed() && !aside.is_full() => queue.take(sent, Some(&cancel), &desk, aside),
                    () = aside.next(), if !aside.is_empty() => {}
                    changed = queries.server_changed(), if !aside.is_full() => aside.tell(emit, vec![changed]),
                    summary = &mut turn => break summary,
                }
            }
        };
        queue.pass_on(inbox);
        if cancel.is_cancelled() {
            self.calls.tools.shell.stop_background(&earlier).await;
        }
        summary.denied += self.subagents.take_denied();
        summary.usage.add(self.subagents.take_used());
        summary.begun = !typed && self.emit.transcript().turns > before;
        self.tell_background().await;
        self.emit.emit(Event::TurnFinished(summary)).await;
        self.emit.emit(Event::StateChanged { state: TurnState::Idle }).await;
    }

    /// Children that outlive their call are the user's business: they live until zdx leaves.
    async fn tell_background(&self) {
        let running = self.calls.tools.shell.background();
        if !running.is_empty() {
            let commands: Vec<String> = running.into_iter().map(|child| child.command).collect();
            let message = format!("still running until zdx exits: {}", commands.join("; "));
            self.emit.notice(NoticeLevel::Info, message).await;
        }
    }

    /// Whoever is launched works with the model and the rules of this moment.
    fn tell_subagents(&self) {
        let policy = self.ruler.in_force();
        self.subagents.set_parent(self.backend.seed().map(|seed| ParentState { seed, policy }));
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
        let id = format!("slash-{}-{n}", io.emit.transcript().turns);
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

/// What a command needs that is carried out at once, during a turn too.
struct Desk<'a> {
    emit: &'a Emitter,
    ruler: &'a Ruler,
    approvals: &'a Approvals,
    queries: &'a Arc<Queries>,
}

impl Queue {
    /// `turn` is what stops the one that runs.
    fn take(
        &mut self,
        sent: Option<Sent>,
        turn: Option<&CancellationToken>,
        desk: &Desk<'_>,
        aside: &mut Aside,
    ) {
        // The front end is gone: nobody reads on, nothing may go on.
        let Some(Sent { id, command }) = sent else {
            return self.leave(Leave::Shutdown { id: None }, turn, desk, aside);
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
            Command::Check(choice) => aside.check(desk.emit, desk.queries, id, choice),
            Command::SetModel(model) => self.work.push_back((id, Task::SetModel(model))),
            Command::SetAgent(agent) => self.work.push_back((id, Task::SetAgent(agent))),
            Command::Answer { request, decision } => {
                let end = match desk.approvals.answer(request, decision) {
                    true => Event::Done { id },
                    false => failed(id, ErrorKind::Session, "that question is no longer open"),
                };
                aside.tell(desk.emit, vec![end]);
            }
            Command::AnswerTrust { .. } => {
                let end = failed(id, ErrorKind::Session, "nothing is asked about trust now");
                aside.tell(desk.emit, vec![end]);
            }
            Command::SetApproval(approval) => {
                desk.ruler.set_approval(approval);
                aside.tell(desk.emit, vec![Event::ApprovalChanged { approval }, Event::Done { id }]);
            }
            Command::AddFolder { path } => aside.add_folder(desk.emit, desk.queries, id, path),
            Command::Revoke { grant } => aside.revoke(desk.emit, desk.queries, id, grant),
            Command::Ask(query) => aside.ask(desk.emit, desk.queries, id, query),
            Command::Remember { line } => aside.remember(desk.emit, desk.queries, id, line),
            Command::Export { path } => aside.export(desk.emit, desk.queries, id, path),
            Command::Interrupt => {
                self.interrupt(turn, desk, aside);
                if turn.is_none() {
                    aside.interrupt();
                }
                aside.tell(desk.emit, vec![Event::Done { id }]);
            }
            // What cannot be opened costs nothing that is going on.
            Command::Open(open) => match desk.queries.may_open(&open) {
                Ok(()) => self.leave(Leave::Open { id, open }, turn, desk, aside),
                Err(why) => aside.tell(desk.emit, vec![failed(id, why.kind, why.message)]),
            },
            Command::Trust => self.leave(Leave::Trust { id }, turn, desk, aside),
            Command::Shutdown => self.leave(Leave::Shutdown { id: Some(id) }, turn, desk, aside),
        }
    }

    /// Stops the turn that runs; what waits behind it is not begun.
    fn interrupt(&mut self, turn: Option<&CancellationToken>, desk: &Desk<'_>, aside: &mut Aside) {
        let waiting = self.work.drain(..);
        let dropped =
            waiting.map(|(id, _)| failed(id, ErrorKind::Interrupted, "interrupted before it began"));
        aside.tell(desk.emit, dropped.collect());
        if let Some(cancel) = turn {
            cancel.cancel();
        }
    }

    fn leave(&mut self, leave: Leave, turn: Option<&CancellationToken>, desk: &Desk<'_>, aside: &mut Aside) {
        self.interrupt(turn, desk, aside);
        if let Some(Leave::Open { id, .. } | Leave::Trust { id } | Leave::Shutdown { id: Some(id) }) =
            self.leave.replace(leave)
        {
            aside.tell(
                desk.emit,
                vec![failed(id, ErrorKind::Interrupted, "something else was wanted instead")],
            );
        }
    }

    /// What came too late for this session.
    fn pass_on(&mut self, inbox: &mut Inbox) {
        self.later.drain(..).for_each(|sent| inbox.hold(sent));
    }
}
