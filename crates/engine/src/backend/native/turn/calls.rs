//! The tool calls of one answer: prepared, judged, run, and told as they end.
//! Calls without effect run side by side; all others one after another. The model reads results in the order of its
//! calls, whichever ended first: that is the fold's business.

use std::path::Path;

use futures_util::future::FutureExt;
use futures_util::stream::{self, FuturesUnordered, StreamExt};
use zdx_protocol::{Action, CallOrigin, Event, ToolCall, ToolError, ToolOutput, TurnState};

use super::call_ids::Identified;
use super::repeat::RepeatGuard;
use super::wave::{Ended, Wave};
use crate::call::TurnIo;
use crate::call::life::{self, Finish};
use crate::call::{self, Ready, Refused};
use crate::context::cap::ResultRoom;

/// What a turn remembers of its calls.
#[derive(Default)]
pub(super) struct Calls {
    guard: RepeatGuard,
    /// What the results of the running answer may weigh.
    pub room: ResultRoom,
    pub denied: u32,
    pub repeated: bool,
    /// A file that is likely code was changed since this was last looked at.
    pub edited_code: bool,
    /// Commands that ended well since a file was changed.
    pub green: Vec<String>,
}

impl Calls {
    /// Runs all calls of one answer. Every call gets a result, also when the turn is interrupted.
    pub(super) async fn run(&mut self, calls: Vec<Identified>, io: &TurnIo) {
        for Identified { call, .. } in &calls {
            life::requested(call, CallOrigin::Model, io).await;
        }
        io.emit.emit(Event::StateChanged { state: TurnState::ToolRunning }).await;
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
            io.emit.sync().await;
        }
        let calls: Vec<ToolCall> = ready.iter().map(|ready| ready.call.clone()).collect();
        let mut wave = Wave::new(&calls, &self.guard, self.room).keeping(io.tools.shell.spill_dir());
        let (mut running, mut progress) = (FuturesUnordered::new(), Vec::new());
        for (at, ready) in ready.into_iter().enumerate() {
            let does = Does::of(&ready.prepared.action);
            let (run, chunks) = call::run(ready, io).await;
            running.push(run.map(move |finish| (Ended { at, finish }, does)));
            progress.push(chunks);
        }
        let mut progress = stream::select_all(progress);
        loop {
            tokio::select! {
                biased;
                Some((id, chunk)) = progress.next() => io.emit.emit(Event::ToolProgress { id, chunk }).await,
                ended = running.next() => match ended {
                    Some((ended, does)) => {
                        self.note(does, &ended.finish.output);
                        self.tell(ended, &mut wave, io).await;
                    }
                    None => break,
                },
            }
        }
        self.close(wave);
    }

    fn note(&mut self, does: Does, output: &ToolOutput) {
        match (does, output) {
            (Does::Edits { code }, ToolOutput::Ok(_)) => {
                self.edited_code |= code;
                self.green.clear();
            }
            (Does::Runs(command), ToolOutput::Ok(data)) if data["exit_code"] == 0 => self.green.push(command),
            (Does::Edits { .. } | Does::Runs(_), _) | (Does::Other, _) => {}
        }
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

/// What a call means for whether the work is checked.
enum Does {
    Edits { code: bool },
    Runs(String),
    Other,
}

impl Does {
    fn of(action: &Action) -> Self {
        // Prose and notes need no compiler.
        let is_prose = |path: &Path| {
            let prose = ["md", "markdown", "txt", "rst", "adoc", "log"];
            path.extension().and_then(|ending| ending.to_str()).is_some_and(|ending| prose.contains(&ending))
        };
        match action {
            Action::Write { targets, .. } => {
                Self::Edits { code: targets.iter().any(|target| !is_prose(&target.path)) }
            }
            Action::Command { command, .. } => Self::Runs(command.clone()),
            // Others change what they like.
            Action::Mcp { .. } | Action::Task { .. } => Self::Edits { code: false },
            Action::Read { .. } | Action::Skill { .. } | Action::Todo => Self::Other,
        }
    }
}
