//! A turn from its start to its end: the events and records that all turns have are written here and nowhere else. A backend
//! adds its answer. `TurnFinished` is the session's own, because the turn of a subagent has none.

use zdx_protocol::{ContextUsage, Event, NoticeLevel, Outcome, Prompt, TurnState, TurnSummary};

use crate::approvals::Clock;
use crate::backend::{Backend, TurnRequest};
use crate::call::{TurnIo, TurnResult, command};

/// The line with which a user has the check run: the recorded prompt of such a turn.
const RUN_CHECK: &str = "/check run";

/// The command by which a remote agent compacts its context.
const COMPACT: &str = "compact";

pub(crate) async fn run_prompt(backend: &mut Backend, prompt: Prompt, io: &TurnIo) -> TurnSummary {
    let clock = io.session.policy.approvals.clock();
    backend.prepare_turn(&prompt, io).await;
    start(&prompt.text, TurnState::Planning, io).await;
    answer(backend, TurnRequest::Prompt(prompt), clock, io).await
}

/// A turn that begins with the check. The model has a part in it only where it fails.
pub(crate) async fn run_check(backend: &mut Backend, io: &TurnIo) -> TurnSummary {
    let clock = io.session.policy.approvals.clock();
    start(RUN_CHECK, TurnState::ToolRunning, io).await;
    answer(backend, TurnRequest::Check, clock, io).await
}

/// Compaction ends like a turn, but starts none: it adds nothing to the conversation. A remote agent has a command for it, or
/// needs none.
pub(crate) async fn run_compaction(backend: &mut Backend, io: &TurnIo) -> TurnSummary {
    let (manages_own_context, has_command) = {
        let info = backend.info();
        let has_command = info.commands.iter().any(|command| command.name == COMPACT);
        (info.capabilities.manages_own_context, has_command)
    };
    if !manages_own_context {
        return answer(backend, TurnRequest::Compact, io.session.policy.approvals.clock(), io).await;
    }
    if has_command {
        return run_prompt(backend, Prompt::with_data(&format!("/{COMPACT}"), ""), io).await;
    }
    let message = "nothing to compact: who answers here looks after its context itself";
    io.session.events.notice(NoticeLevel::Info, message).await;
    empty_summary(Outcome::Completed)
}

/// `!command`: one user message with what was typed, one assistant message with what came of it.
pub(crate) async fn run_shell(backend: &mut Backend, typed: &str, command: &str, io: &TurnIo) -> TurnSummary {
    let clock = io.session.policy.approvals.clock();
    start(typed, TurnState::ToolRunning, io).await;
    let result = command::run_for_user(command, io).await;
    backend.read_along(&result.text);
    finish(result, None, clock, io).await
}

async fn answer(backend: &mut Backend, request: TurnRequest, clock: Clock, io: &TurnIo) -> TurnSummary {
    let result = backend.run_turn(request, io).await;
    let size = io.session.events.transcript().size();
    let usage = backend.info().context.usage(size);
    finish(result, usage, clock, io).await
}

async fn start(prompt: &str, state: TurnState, io: &TurnIo) {
    let turn = io.session.events.transcript().turns + 1;
    io.session.events.emit(Event::TurnStarted { turn, prompt: prompt.to_owned() }).await;
    io.session.events.emit(Event::StateChanged { state }).await;
}

async fn finish(result: TurnResult, usage: Option<ContextUsage>, clock: Clock, io: &TurnIo) -> TurnSummary {
    if result.outcome == Outcome::Interrupted {
        io.session.events.emit(Event::Interrupted).await;
    }
    if let Some(usage) = usage {
        io.session.events.emit(Event::ContextUsage(usage)).await;
    }
    let state = if result.outcome == Outcome::Error { TurnState::Error } else { TurnState::Done };
    io.session.events.emit(Event::StateChanged { state }).await;
    io.session.events.sync().await;
    summary(result, clock.ms())
}

/// The summary of work that ended before there was a turn.
pub(crate) fn empty_summary(outcome: Outcome) -> TurnSummary {
    summary(TurnResult::from(outcome), 0)
}

fn summary(result: TurnResult, duration_ms: u64) -> TurnSummary {
    let TurnResult { outcome, text, usage, last_request, denied, cut_short } = result;
    let cut_short = cut_short.filter(|_| outcome == Outcome::Completed);
    TurnSummary { outcome, text, usage, last_request, denied, duration_ms, cut_short, begun: false }
}
