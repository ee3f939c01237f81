//! The tool calls of one answer: prepared, judged, run, and their results put back in order.
//! Calls without effect run side by side; all others one after another.

use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{FuturesOrdered, StreamExt};
use serde_json::Map;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use zdx_protocol::redact::MASK;
use zdx_protocol::{
    Action, Arguments, Event, NoticeLevel, ToolCall, ToolCode, ToolError, ToolOutput, TurnState,
};

use super::TurnIo;
use super::approve::{Gate, Plan, gate};
use super::repeat::{Repeat, RepeatGuard};
use crate::context::cap::ResultRoom;
use crate::secrets;
use crate::tools::{Prepared, RunContext};

/// Tools clean up on cancel by themselves; one that does not is left behind after this long.
const CANCEL_GRACE: Duration = Duration::from_secs(2);
const PROGRESS_QUEUE: usize = 64;

/// What a turn remembers of its calls.
#[derive(Default)]
pub struct Calls {
    used_ids: HashSet<String>,
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
    pub async fn run(&mut self, calls: Vec<ToolCall>, io: &mut TurnIo<'_>) {
        let calls = self.request(calls, io).await;
        io.emit.emit(Event::StateChanged { state: TurnState::ToolRunning }).await;
        let mut side_by_side: Vec<Ready> = Vec::new();
        for (call, fault) in calls {
            let ready = match fault {
                Some(fault) => Err(fault),
                None => self.admit(call.clone(), io).await,
            };
            match ready {
                Ok(ready) if ready.prepared.action.runs_alongside() => side_by_side.push(ready),
                Ok(ready) => {
                    self.run_batch(std::mem::take(&mut side_by_side), io).await;
                    self.run_batch(vec![ready], io).await;
                }
                Err(error) => {
                    self.run_batch(std::mem::take(&mut side_by_side), io).await;
                    self.finish(&call, ToolOutput::Err(error), Duration::ZERO, io).await;
                }
            }
        }
        self.run_batch(side_by_side, io).await;
    }

    /// Announces every call before the first one runs. An id may name one call a turn: a second one is refused,
    /// under an id of its own, because no server accepts a history with two of the same.
    async fn request(
        &mut self,
        calls: Vec<ToolCall>,
        io: &mut TurnIo<'_>,
    ) -> Vec<(ToolCall, Option<ToolError>)> {
        let requested = self.name(calls, io);
        for (call, _) in &requested {
            let event = Event::ToolRequested {
                id: call.id.clone(),
                name: call.name.clone(),
                input: call.arguments.input(),
                raw: call.arguments.raw().map(str::to_owned),
            };
            io.emit.emit(event).await;
        }
        requested
    }

    fn name(&mut self, calls: Vec<ToolCall>, io: &TurnIo<'_>) -> Vec<(ToolCall, Option<ToolError>)> {
        let mut requested = Vec::with_capacity(calls.len());
        let (earlier, mut fresh) = (io.emit.transcript().call_ids(), HashSet::new());
        for mut call in calls {
            // Models have their own names for tools; everyone else hears ours.
            if let Some(tool) = io.registry.find(&call.name) {
                call.name = tool.spec().name.to_string();
            }
            let duplicate = !self.used_ids.insert(call.id.clone());
            let fault = duplicate.then(|| {
                let message =
                    format!("the id {} was used before in this turn; the call was not run", call.id);
                ToolError::new(ToolCode::DuplicateId, message)
            });
            call.id = unused(call.id, &earlier, &mut fresh);
            requested.push((call, fault));
        }
        requested
    }

    async fn admit(&mut self, call: ToolCall, io: &mut TurnIo<'_>) -> Result<Ready, ToolError> {
        if io.cancel.is_cancelled() {
            return Err(interrupted());
        }
        let prepared = prepare(&call, io).await?;
        let Prepared { action, preview, doomed, adds_mask, .. } = &prepared;
        let masked = *adds_mask && secrets::showed_mask(io.emit.transcript().messages());
        let masked = masked.then(masked_text);
        match gate(io, &call, Plan { action, preview, doomed: masked.as_ref().or(doomed.as_ref()) }).await {
            Gate::Run => masked.map_or(Ok(Ready { call, prepared }), Err),
            Gate::Refused(error) => {
                self.denied += 1;
                Err(error)
            }
            Gate::Failed(error) => Err(error),
            Gate::Interrupted => Err(interrupted()),
        }
    }

    async fn run_batch(&mut self, batch: Vec<Ready>, io: &mut TurnIo<'_>) {
        if batch.iter().any(|ready| !ready.prepared.action.is_read_only()) {
            io.emit.sync().await;
        }
        let (progress, mut chunks) = mpsc::channel(PROGRESS_QUEUE);
        let only = (batch.len() == 1).then(|| batch.first().map(|ready| ready.call.id.clone())).flatten();
        let mut running = FuturesOrdered::new();
        for Ready { call, prepared } in batch {
            let edits = edits_code(&prepared.action);
            io.emit.emit(Event::ToolStarted { id: call.id.clone(), name: call.name.clone() }).await;
            let context =
                RunContext { id: call.id.clone(), cancel: io.cancel.clone(), progress: progress.clone() };
            running.push_back(
                guarded(call, (prepared.run)(context), io.cancel.clone()).map(move |done| (done, edits)),
            );
        }
        drop(progress);
        loop {
            tokio::select! {
                biased;
                Some(chunk) = chunks.recv() => {
                    if let Some(id) = &only {
                        io.emit.emit(Event::ToolProgress { id: id.clone(), chunk }).await;
                    }
                }
                finished = running.next() => match finished {
                    Some(((call, output, took), edits)) => {
                        self.edited_code |= edits && output.is_ok();
                        self.finish(&call, output, took, io).await;
                    }
                    None => break,
                },
            }
        }
    }

    async fn finish(&mut self, call: &ToolCall, output: ToolOutput, took: Duration, io: &mut TurnIo<'_>) {
        let output = self.room.fit(output, &call.name);
        let output = match self.guard.note(call, &output) {
            Repeat::Fine => output,
            Repeat::Tell => self.guard.annotate(output),
            Repeat::Stop => {
                self.repeated = true;
                self.guard.annotate(output)
            }
        };
        // Saved before the model hears of it: a list that was changed is never lost to a crash.
        if let Some(items) = io.tools.todos.take_change() {
            io.emit.emit(Event::TodosChanged { items }).await;
        }
        let (changes, trouble) = io.tools.workspace.journal().take();
        for change in changes {
            io.emit.emit(Event::FileChanged { id: call.id.clone(), change }).await;
        }
        if let Some(trouble) = trouble {
            io.emit.notice(NoticeLevel::Warning, trouble).await;
        }
        let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let event =
            Event::ToolFinished { id: call.id.clone(), name: call.name.clone(), result: output, duration_ms };
        io.emit.emit(event).await;
    }
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
async fn guarded(
    call: ToolCall,
    run: BoxFuture<'static, ToolOutput>,
    cancel: CancellationToken,
) -> (ToolCall, ToolOutput, Duration) {
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
    (call, output, start.elapsed())
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

fn unused(id: String, earlier: &HashSet<&str>, fresh: &mut HashSet<String>) -> String {
    let mut candidate = id.clone();
    let mut n = 1;
    while earlier.contains(candidate.as_str()) || !fresh.insert(candidate.clone()) {
        n += 1;
        candidate = format!("{id}-{n}");
    }
    candidate
}
