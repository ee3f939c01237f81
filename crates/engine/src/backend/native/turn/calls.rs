//! The tool calls of one answer: prepared, judged, run, and told as they end.
//! Calls without effect run side by side; all others one after another. The model reads results in the order of its
//! calls, whichever ended first: that is the fold's business.

use futures_util::future::FutureExt;
use futures_util::stream::{self, FuturesUnordered, StreamExt};
use zdx_protocol::check::is_prose;
use zdx_protocol::{Action, CallOrigin, Event, ToolCall, ToolCode, ToolError, ToolOutput, TurnState};

use super::call_ids::Identified;
use super::repeat::RepeatGuard;
use super::wave::{Ended, Wave};
use crate::call::TurnIo;
use crate::call::life::{self, Finish};
use crate::call::{self, Ready, Refused};
use crate::context::cap::ResultRoom;
use crate::work_tracker::WorkTracker;

/// A command that exited with 0.
pub(super) struct GreenCommand {
    /// The call that ran it.
    pub id: String,
    pub command: String,
    /// The number of changes when it ended.
    changes: u64,
}

/// The calls of one turn so far.
#[derive(Default)]
pub(super) struct Calls {
    guard: RepeatGuard,
    /// What the results of the running answer may weigh.
    pub room: ResultRoom,
    pub denied: u32,
    pub repeated: bool,
    green: Vec<GreenCommand>,
}

impl Calls {
    /// Runs all calls of one answer. Every call gets a result, also when the turn is interrupted.
    pub(super) async fn run(&mut self, calls: Vec<Identified>, io: &TurnIo) {
        for Identified { call, .. } in &calls {
            life::requested(call, CallOrigin::Model, io).await;
        }
        io.session.events.emit(Event::StateChanged { state: TurnState::ToolRunning }).await;
        let mut side_by_side: Vec<Ready> = Vec::new();
        for Identified { call, fault } in calls {
            let ready = match fault {
                Some(fault) => Err(fault),
                None => self.admit(call.clone(), io).await,
            };
            match ready {
                Ok(ready) if ready.prepared.action.runs_alongside() => side_by_side.push(ready),
                Ok(ready) => {
                    self.run_wave(std::mem::take(&mut side_by_side), io).await;
                    self.run_wave(vec![ready], io).await;
                }
                Err(error) => {
                    self.run_wave(std::mem::take(&mut side_by_side), io).await;
                    self.refuse(call, error, io).await;
                }
            }
        }
        self.run_wave(side_by_side, io).await;
    }

    async fn admit(&mut self, call: ToolCall, io: &TurnIo) -> Result<Ready, ToolError> {
        call::admit(call, io).await.map_err(|Refused { error, denied }| {
            self.denied += u32::from(denied);
            error
        })
    }

    /// A call that is not run is answered all the same.
    async fn refuse(&mut self, call: ToolCall, error: ToolError, io: &TurnIo) {
        let mut wave = Wave::new(std::slice::from_ref(&call), &self.guard, self.room);
        let ended = Ended { at: 0, finish: Finish::nothing(error) };
        self.tell(ended, &mut wave, io).await;
        self.close(wave);
    }

    async fn run_wave(&mut self, ready: Vec<Ready>, io: &TurnIo) {
        if ready.iter().any(|ready| !ready.prepared.action.is_read_only()) {
            io.session.events.sync().await;
        }
        let calls: Vec<ToolCall> = ready.iter().map(|ready| ready.call.clone()).collect();
        let mut wave =
            Wave::new(&calls, &self.guard, self.room).keeping(io.session.state.tools.shell.spill());
        let (mut running, mut progress) = (FuturesUnordered::new(), Vec::new());
        for (at, ready) in ready.into_iter().enumerate() {
            let does = Does::of(&ready.prepared.action, ready.reads.is_some());
            let before = io.session.state.work.changes();
            let (run, chunks) = call::run(ready, io).await;
            running.push(run.map(move |finish| (Ended { at, finish }, does, before)));
            progress.push(chunks);
        }
        let mut progress = stream::select_all(progress);
        loop {
            tokio::select! {
                biased;
                Some((id, chunk)) = progress.next() => io.session.events.emit(Event::ToolProgress { id, chunk }).await,
                ended = running.next() => match ended {
                    Some((ended, does, before)) => {
                        self.note(&calls[ended.at].id, does, &ended.finish.output, before, &io.session.state.work);
                        self.tell(ended, &mut wave, io).await;
                    }
                    None => break,
                },
            }
        }
        self.close(wave);
    }

    /// `before`: the number of changes when the call began.
    fn note(&mut self, id: &str, does: Does, output: &ToolOutput, before: u64, work: &WorkTracker) {
        match does {
            Does::Edits { code } if may_have_written(output) => work.note_edit(code),
            Does::Edits { .. } => {}
            Does::Runs { command, reads } => {
                // What was changed beside a command, it may have seen or not.
                let alone = work.changes() == before;
                if !reads {
                    work.note_possible_change();
                }
                if alone && matches!(output, ToolOutput::Ok(data) if data["exit_code"] == 0) {
                    self.green.push(GreenCommand { id: id.to_owned(), command, changes: work.changes() });
                }
            }
            Does::Unknown => work.note_possible_change(),
            Does::Nothing => {}
        }
    }

    /// Commands that exited with 0 and after which nothing may have changed.
    pub(super) fn green(&self, work: &WorkTracker) -> impl Iterator<Item = &GreenCommand> {
        let changes = work.changes();
        self.green.iter().filter(move |green| green.changes == changes)
    }

    /// Tells of a call that ended, and of those that waited for it.
    async fn tell(&mut self, ended: Ended, wave: &mut Wave<'_>, io: &TurnIo) {
        wave.end(ended);
        while let Some((call, finish, stop)) = wave.next() {
            self.repeated |= stop;
            life::finished(call, CallOrigin::Model, finish, io).await;
        }
    }

    fn close(&mut self, wave: Wave<'_>) {
        let (last, room) = wave.close();
        self.room = room;
        if let Some(last) = last {
            self.guard.go_on_from(last);
        }
    }
}

/// Whether a tool that edits files may have left one changed: a patch can fail halfway and not be able to put back what it
/// wrote, and a tool that was stopped or broke down says nothing about what it did before.
fn may_have_written(output: &ToolOutput) -> bool {
    match output {
        ToolOutput::Ok(_) => true,
        ToolOutput::Err(error) => matches!(
            error.code,
            ToolCode::WriteError | ToolCode::Interrupted | ToolCode::Timeout | ToolCode::Internal
        ),
    }
}

/// What a call means for whether the work is checked.
enum Does {
    Edits {
        code: bool,
    },
    Runs {
        command: String,
        /// It is known to be read-only.
        reads: bool,
    },
    /// Tools of MCP servers change what they like.
    Unknown,
    /// A task counts here too: its own calls are noted as they end.
    Nothing,
}

impl Does {
    fn of(action: &Action, reads: bool) -> Self {
        match action {
            Action::Write { targets, .. } => {
                Self::Edits { code: targets.iter().any(|target| !is_prose(&target.path)) }
            }
            Action::Command { command, .. } => Self::Runs { command: command.clone(), reads },
            Action::Mcp { .. } | Action::Fetch { .. } | Action::Remote { .. } => Self::Unknown,
            Action::Read { .. } | Action::Skill { .. } | Action::Task { .. } | Action::Todo => Self::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::work_tracker::CheckDue;

    #[test]
    fn an_edit_that_failed_counts_if_it_may_have_left_a_change() {
        for (code, counts) in [
            (ToolCode::WriteError, true),
            (ToolCode::Interrupted, true),
            (ToolCode::Internal, true),
            (ToolCode::OldNotFound, false),
            (ToolCode::ChangedSince, false),
            (ToolCode::Eacces, false),
        ] {
            let (mut calls, work) = (Calls::default(), WorkTracker::default());
            let output = ToolOutput::error(code.clone(), "failed".to_owned());
            calls.note("c1", Does::Edits { code: true }, &output, 0, &work);
            let due = if counts { CheckDue::Yes } else { CheckDue::No };
            assert_eq!(work.check_due(), due, "{code}");
        }
    }

    #[test]
    fn a_command_beside_which_files_were_changed_says_nothing_of_how_they_are_now() {
        for (changed_beside, reads, counts) in
            [(false, true, true), (false, false, true), (true, true, false)]
        {
            let (mut calls, work) = (Calls::default(), WorkTracker::default());
            let before = work.changes();
            if changed_beside {
                work.note_edit(true);
            }
            let does = Does::Runs { command: "cargo check".to_owned(), reads };
            calls.note("c1", does, &ToolOutput::Ok(json!({"exit_code": 0})), before, &work);
            assert_eq!(calls.green(&work).count(), usize::from(counts), "{changed_beside} {reads}");
            work.note_possible_change();
            assert_eq!(calls.green(&work).count(), 0);
        }
    }
}
