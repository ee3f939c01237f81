//! The tool calls of one answer: prepared, judged, run, and told as they end.
//! Calls without effect run side by side; all others one after another. The model reads results in the order of its
//! calls, whichever ended first: that is the fold's business.

use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{self, FuturesUnordered, StreamExt};
use serde_json::Map;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use zdx_protocol::redact::MASK;
use zdx_protocol::{
    Action, Arguments, CallOrigin, Event, ToolCall, ToolCode, ToolError, ToolOutput, TurnState,
};

use super::TurnIo;
use super::approve::{Gate, Plan, gate};
use super::call_ids::Identified;
use super::life::{self, Finish, Start};
use super::repeat::RepeatGuard;
use super::wave::{Ended, Wave};
use crate::context::cap::ResultRoom;
use crate::secrets;
use crate::tools::{Prepared, RunContext};

/// Tools clean up on cancel by themselves; one that does not is left behind after this long.
const CANCEL_GRACE: Duration = Duration::from_secs(2);
const PROGRESS_QUEUE: usize = 64;

/// What a turn remembers of its calls.
#[derive(Default)]
pub struct Calls {
    guard: RepeatGuard,
    /// What the results of the running answer may weigh.
    pub room: ResultRoom,
    pub denied: u32,
    pub repeated: bool,
    /// A file that is likely code was changed since this was last looked at.
    pub edited_code: bool,
}

/// A call that passed the gate.
struct Ready {
    call: ToolCall,
    prepared: Prepared,
}

impl Calls {
    /// Runs all calls of one answer. Every call gets a result, also when the turn is interrupted.
    pub async fn run(&mut self, calls: Vec<Identified>, io: &TurnIo<'_>) {
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

    async fn admit(&mut self, call: ToolCall, io: &TurnIo<'_>) -> Result<Ready, ToolError> {
        if io.cancel.is_cancelled() {
            return Err(interrupted());
        }
        let prepared = prepare(&call, io).await?;
        let Prepared { action, preview, doomed, adds_mask, .. } = &prepared;
        let masked = *adds_mask && secrets::showed_mask(io.emit.transcript().messages());
        let masked = masked.then(masked_text);
        match gate(io, &call, Plan { action, preview, doomed: masked.as_ref().or(doomed.as_ref()) }).await {
            Gate::Run => masked.map_or(Ok(Ready { call, prepared }), Err),
            Gate::Denied(error) | Gate::Rejected(error) => {
                self.denied += 1;
                Err(error)
            }
            Gate::Failed(error) => Err(error),
            Gate::Interrupted => Err(interrupted()),
        }
    }

    /// A call that is not run is answered all the same.
    async fn refuse(&mut self, call: ToolCall, error: ToolError, io: &TurnIo<'_>) {
        let mut wave = Wave::new(std::slice::from_ref(&call), &self.guard, self.room);
        let ended = Ended { at: 0, output: ToolOutput::Err(error), took: Duration::ZERO, diff: None };
        self.tell(ended, &mut wave, io).await;
        self.close(wave);
    }

    async fn run_wave(&mut self, ready: Vec<Ready>, io: &TurnIo<'_>) {
        if ready.iter().any(|ready| !ready.prepared.action.is_read_only()) {
            io.emit.sync().await;
        }
        let calls: Vec<ToolCall> = ready.iter().map(|ready| ready.call.clone()).collect();
        let mut wave = Wave::new(&calls, &self.guard, self.room);
        let (mut running, mut progress) = (FuturesUnordered::new(), Vec::new());
        for (at, Ready { call, prepared }) in ready.into_iter().enumerate() {
            let Prepared { action, preview, line, .. } = &prepared;
            life::started(&call, CallOrigin::Model, Start { action, preview, line: *line }, io).await;
            let edits = edits_code(&prepared.action);
            let diff = prepared.action.diff(&prepared.preview).map(str::to_owned);
            let (chunks_in, chunks) = mpsc::channel(PROGRESS_QUEUE);
            let context = RunContext { id: call.id.clone(), cancel: io.cancel.clone(), progress: chunks_in };
            let run = guarded((prepared.run)(context), io.cancel.clone());
            running.push(run.map(move |(output, took)| (Ended { at, output, took, diff }, edits)));
            progress.push(chunks_of(call.id, chunks));
        }
        let mut progress = stream::select_all(progress);
        loop {
            tokio::select! {
                biased;
                Some((id, chunk)) = progress.next() => io.emit.emit(Event::ToolProgress { id, chunk }).await,
                ended = running.next() => match ended {
                    Some((ended, edits)) => {
                        self.edited_code |= edits && ended.output.is_ok();
                        self.tell(ended, &mut wave, io).await;
                    }
                    None => break,
                },
            }
        }
        self.close(wave);
    }

    /// Tells of a call that ended, and of those that waited for it.
    async fn tell(&mut self, ended: Ended, wave: &mut Wave<'_>, io: &TurnIo<'_>) {
        wave.end(ended);
        while let Some((call, Ended { output, took, diff, .. }, stop)) = wave.next() {
            self.repeated |= stop;
            let diff = diff.filter(|_| output.is_ok());
            life::finished(call, CallOrigin::Model, Finish { output, diff, took }, io).await;
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

/// What a call says while it runs, under its id.
fn chunks_of(id: String, chunks: mpsc::Receiver<String>) -> stream::BoxStream<'static, (String, String)> {
    stream::unfold((id, chunks), |(id, mut chunks)| async move {
        let chunk = chunks.recv().await?;
        Some(((id.clone(), chunk), (id, chunks)))
    })
    .boxed()
}

async fn prepare(call: &ToolCall, io: &TurnIo<'_>) -> Result<Prepared, ToolError> {
    let tool = io.registry.find(&call.name).filter(|tool| io.persona.has(&tool.spec().name));
    let Some(tool) = tool else {
        let names: Vec<_> = io.registry.names().filter(|name| io.persona.has(name)).collect();
        let message = format!("there is no tool named {:?}; the tools are: {}", call.name, names.join(", "));
        return Err(ToolError::new(ToolCode::UnknownTool, message));
    };
    let input = match &call.arguments {
        Arguments::Object(map) => map.clone(),
        Arguments::Raw(text) => return Err(not_an_object(text)),
    };
    // Looking at files can hang on a dead mount; the loop that hears Ctrl-C must not.
    let context = io.tools.clone();
    let work = tokio::task::spawn_blocking(move || tool.prepare(input, &context));
    tokio::select! {
        biased;
        () = io.cancel.cancelled() => Err(interrupted()),
        prepared = work => prepared.unwrap_or_else(|_| Err(ToolError::new(ToolCode::Internal, "the tool broke down; this is a defect of zdx"))),
    }
}

/// Prose and notes need no compiler.
fn edits_code(action: &Action) -> bool {
    let is_prose = |path: &Path| {
        let prose = ["md", "markdown", "txt", "rst", "adoc", "log"];
        path.extension().and_then(|ending| ending.to_str()).is_some_and(|ending| prose.contains(&ending))
    };
    matches!(action, Action::Write { targets, .. } if targets.iter().any(|target| !is_prose(&target.path)))
}

fn not_an_object(text: &str) -> ToolError {
    let fault = match serde_json::from_str::<Map<String, serde_json::Value>>(text) {
        Ok(_) => "not an object".to_owned(),
        Err(error) => error.to_string(),
    };
    let shown: String = text.chars().take(400).collect();
    let message = format!("the arguments are no JSON object ({fault}); nothing was run. They were: {shown}");
    ToolError::new(ToolCode::InvalidInput, message)
}

/// A call that panics or ignores a cancel must not take the session with it.
async fn guarded(run: BoxFuture<'static, ToolOutput>, cancel: CancellationToken) -> (ToolOutput, Duration) {
    let start = Instant::now();
    let run = AssertUnwindSafe(run).catch_unwind();
    let overdue = async {
        cancel.cancelled().await;
        tokio::time::sleep(CANCEL_GRACE).await;
    };
    let output = tokio::select! {
        output = run => output.unwrap_or_else(|_| broken_tool()),
        () = overdue => ToolOutput::Err(interrupted()),
    };
    (output, start.elapsed())
}

fn masked_text() -> ToolError {
    let message = format!(
        "{MASK} stands for a secret that you are not shown: the file holds other text there, which the mask does not \
         match and would destroy. Nothing was changed. Leave the mask out of the call: edit the lines around it, or \
         use a command that need not repeat it"
    );
    ToolError::new(ToolCode::InvalidInput, message)
}

fn broken_tool() -> ToolOutput {
    ToolOutput::error(ToolCode::Internal, "the tool broke down; this is a defect of zdx")
}

fn interrupted() -> ToolError {
    ToolError::new(ToolCode::Interrupted, "the user interrupted the turn")
}
