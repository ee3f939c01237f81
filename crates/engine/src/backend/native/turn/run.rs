//! The loop of a turn: ask the model, run what it calls for, until it is done or something ends it.

use jiff::Timestamp;
use zdx_protocol::{CutShort, ErrorKind, Event, NoticeLevel, Outcome, Prompt, Usage};

use super::super::Native;
use super::calls::Calls;
use super::fault;
use super::remind::{forget_draft, remind, remind_of_changes};
use super::room::{self, NoRoom};
use super::stop;
use super::stream::{self, Broken};
use super::validate::{Check, Red};
use crate::call::{TurnIo, TurnResult};
use crate::context::cap::ResultRoom;
use crate::session_check::CheckDecision;
use crate::work_tracker::CheckDue;

/// Reminders come before the prompt.
pub(crate) async fn prepare(native: &mut Native, prompt: &Prompt, io: &TurnIo) {
    if !std::mem::replace(&mut native.looked_at_files, true) {
        remind_of_changes(io).await;
    }
    remind(prompt, io).await;
}

pub(crate) async fn run(native: &mut Native, io: &TurnIo) -> TurnResult {
    io.session.state.work.begin_turn(Timestamp::now());
    let mut turn = Turn::default();
    let outcome = turn.steps(native, io).await;
    forget_draft(io).await;
    turn.result(outcome)
}

/// A turn that begins with the check, for a user who wants it run now.
pub(crate) async fn run_check(native: &mut Native, io: &TurnIo) -> TurnResult {
    io.session.state.work.begin_turn(Timestamp::now());
    let mut turn = Turn::default();
    let outcome = turn.check_first(native, io).await;
    turn.result(outcome)
}

#[derive(Default)]
struct Turn {
    calls: Calls,
    text: String,
    usage: Usage,
    last_request: Option<Usage>,
    /// How often the work was checked and went back to the model.
    failed_checks: u32,
    /// The failure of this turn's last check; None once one passed.
    red: Option<Red>,
    /// The last answer ended before the model was done.
    cut_short: Option<CutShort>,
}

impl Turn {
    fn result(self, outcome: Outcome) -> TurnResult {
        let Self { text, usage, last_request, calls, cut_short, .. } = self;
        TurnResult { outcome, text, usage, last_request, denied: calls.denied, cut_short }
    }

    async fn steps(&mut self, native: &mut Native, io: &TurnIo) -> Outcome {
        let max_steps = native.max_steps;
        for step in 1.. {
            native.renew_tools(io).await;
            match room::make(native, io).await {
                Ok(usage) => self.usage.add(usage),
                Err(NoRoom::Interrupted) => return Outcome::Interrupted,
                Err(NoRoom::TooLong(message)) => {
                    limit(message, io).await;
                    return Outcome::Error;
                }
            }
            let (mut answer, result) = stream::answer(native, io).await;
            self.usage.add(answer.usage);
            // One that was broken off reports none.
            if answer.usage != Usage::default() {
                self.last_request = Some(answer.usage);
            }
            if !answer.text.is_empty() {
                self.text.clone_from(&answer.text);
            }
            match result {
                Ok(()) => {}
                Err(Broken::Interrupted) => return Outcome::Interrupted,
                Err(Broken::Failed(error, why)) => {
                    let (kind, message) = fault::explain(
                        &error,
                        why,
                        answer.broken,
                        native.endpoint(),
                        io.session.policy.now().person,
                    );
                    io.session
                        .events
                        .emit(Event::Error { command: None, kind, message, details: None })
                        .await;
                    return Outcome::Error;
                }
            }
            if answer.calls.is_empty() {
                stop::tell(native, &answer, io).await;
                self.cut_short = stop::cut_short(&answer);
                match self.check(native, io).await {
                    Check::Failed(_) => continue,
                    Check::Interrupted => return Outcome::Interrupted,
                    Check::Passed | Check::GivenUp(_) | Check::Skipped => {
                        return self.finished(native, io).await;
                    }
                }
            }
            stop::tell_cut_call(&mut answer, io).await;
            let gauge = native.gauge(&io.session.events.transcript());
            self.calls.room = ResultRoom::new(gauge.result_bytes());
            self.calls.run(answer.calls, io).await;
            if io.cancel.is_cancelled() {
                return Outcome::Interrupted;
            }
            if self.calls.repeated {
                let message =
                    "the model made the same call five times in a row with the same result; stopped";
                limit(message.to_owned(), io).await;
                return Outcome::RepeatedCalls;
            }
            if let Some(max_steps) = max_steps.filter(|max| step >= *max) {
                let message = format!(
                    "stopped after {max_steps} steps (max_steps); send another prompt to go on, or raise max_steps"
                );
                limit(message, io).await;
                return Outcome::MaxSteps;
            }
        }
        Outcome::Completed
    }
}

impl Turn {
    async fn check_first(&mut self, native: &mut Native, io: &TurnIo) -> Outcome {
        let Some(validation) = native.validation.clone() else { return Outcome::Completed };
        validation.ask_again();
        let check = validation.run(0, io).await;
        self.note_check(&check, io);
        match check {
            Check::Failed(_) => self.steps(native, io).await,
            Check::Interrupted => Outcome::Interrupted,
            Check::Passed => {
                let text = format!("The user had `{}` run: it passed.", validation.check.command());
                io.session.events.emit(Event::Reminded { text }).await;
                Outcome::Completed
            }
            Check::GivenUp(_) | Check::Skipped => self.finished(native, io).await,
        }
    }

    /// Skipped when nothing changed since the last check, in this turn or an earlier one, or when there is none to make.
    async fn check(&mut self, native: &Native, io: &TurnIo) -> Check {
        let Some(validation) = &native.validation else { return Check::Skipped };
        // The model has made it itself, and nothing was changed since.
        let green = self.calls.green(&io.session.state.work).find(|green| validation.is(&green.command));
        let due = match io.session.state.work.check_due() {
            CheckDue::No => green.is_some() && io.session.state.work.last_check_failed(),
            CheckDue::Yes => true,
            CheckDue::IfFilesChanged(since) => green.is_none() && validation.finds_changes(since, io).await,
        };
        if io.cancel.is_cancelled() {
            return Check::Interrupted;
        }
        if !due {
            io.session.state.work.settle();
            return Check::Skipped;
        }
        // A script that the model rewrote proves nothing by ending well.
        let check = match green {
            Some(green) if validation.check.refusal().await.is_none() => {
                if io.session.state.work.last_check_failed() {
                    validation.tell_passed(green.id.clone(), self.failed_checks, io).await;
                }
                Check::Passed
            }
            Some(_) | None => match validation.check.decide().await {
                CheckDecision::Run => validation.run(self.failed_checks, io).await,
                CheckDecision::Leave => self.unchecked(),
                CheckDecision::Offer(state) => {
                    io.session.events.emit(Event::CheckTold(state)).await;
                    self.unchecked()
                }
            },
        };
        self.note_check(&check, io);
        check
    }

    /// The user did not say that it is to run after this turn: how it failed before says nothing about what was changed
    /// since.
    fn unchecked(&mut self) -> Check {
        self.red = None;
        Check::Skipped
    }

    fn note_check(&mut self, check: &Check, io: &TurnIo) {
        match check {
            Check::Passed => {
                io.session.state.work.note_check(true);
                self.red = None;
            }
            Check::Failed(red) => {
                io.session.state.work.note_check(false);
                self.failed_checks += 1;
                self.red = Some(red.clone());
            }
            Check::GivenUp(red) => {
                io.session.state.work.note_check(false);
                self.red = Some(red.clone());
            }
            Check::Skipped => io.session.state.work.settle(),
            Check::Interrupted => {}
        }
    }

    /// The model is done. Its work is not, as long as the last check of this turn failed: whether the model had all its
    /// attempts or answered without another. A failure of an earlier turn is no outcome of this one, and is told.
    async fn finished(&self, native: &Native, io: &TurnIo) -> Outcome {
        let Some(red) = &self.red else {
            if let Some(validation) = &native.validation
                && io.session.state.work.is_known_to_fail()
                && validation.is_wanted().await
            {
                let command = validation.check.command();
                let message = format!("the last check failed, and nothing was changed since: {command}");
                io.session
                    .events
                    .emit(Event::Notice { level: NoticeLevel::Warning, message, kept: true })
                    .await;
            }
            return Outcome::Completed;
        };
        let (message, details) = red.words(self.failed_checks);
        io.session
            .events
            .emit(Event::Error { command: None, kind: ErrorKind::Check, message, details })
            .await;
        Outcome::CheckFailed
    }
}

async fn limit(message: String, io: &TurnIo) {
    io.session
        .events
        .emit(Event::Error { command: None, kind: ErrorKind::Limit, message, details: None })
        .await;
}
