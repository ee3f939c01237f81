//! One call: from what a model sent to what came of it.

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{self, BoxStream, StreamExt};
use serde_json::Map;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use zdx_protocol::redact::MASK;
use zdx_protocol::{
    Action, Arguments, CallKind, CallOrigin, Event, ToolCall, ToolCode, ToolError, ToolOutput,
};

use super::PROGRESS_QUEUE;
use super::approve::{Gate, Proposed, gate};
use super::life::{self, Finish, Start};
use crate::call::TurnIo;
use crate::secrets;
use zdx_tools::{BesideResult, PreparedCall, ResultImages, ToolRunContext};

/// Tools clean up on cancel by themselves; one that does not is left behind after this long.
const CANCEL_GRACE: Duration = Duration::from_secs(2);

/// A call that passed the gate.
pub(crate) struct Ready {
    pub call: ToolCall,
    pub prepared: PreparedCall,
    /// What kind of call it is, where it is proven to only read.
    pub reads: Option<CallKind>,
}

/// A call that is not run.
pub(crate) struct Refused {
    pub error: ToolError,
    /// By the guard or by a person; not by a fault of its own.
    pub denied: bool,
}

impl From<ToolError> for Refused {
    fn from(error: ToolError) -> Self {
        Self { error, denied: false }
    }
}

/// What whoever watches a call sees of it before its end.
pub(crate) enum Moment<'a> {
    /// It was allowed, and runs.
    Started,
    Said(&'a str),
}

/// The whole life of a call that nothing runs beside.
pub(crate) async fn single(
    mut call: ToolCall,
    io: &TurnIo,
    watch: &(dyn Fn(Moment<'_>) + Send + Sync),
) -> ToolOutput {
    call.name = io.called_name(&call);
    life::requested(&call, CallOrigin::Model, io).await;
    let finish = match admit(call.clone(), io).await {
        Ok(ready) => {
            if !ready.prepared.action.is_read_only() {
                io.session.events.sync().await;
            }
            let (running, mut progress) = run(ready, io).await;
            watch(Moment::Started);
            tokio::pin!(running);
            loop {
                tokio::select! {
                    biased;
                    Some((id, chunk)) = progress.next() => {
                        watch(Moment::Said(&chunk));
                        io.session.events.emit(Event::ToolProgress { id, chunk }).await;
                    }
                    finish = &mut running => break finish,
                }
            }
        }
        Err(refused) => Finish::nothing(refused.error),
    };
    let output = finish.output.clone();
    life::finished(&call, CallOrigin::Model, finish, io).await;
    output
}

/// Prepared, judged, and asked about where that is needed.
pub(crate) async fn admit(call: ToolCall, io: &TurnIo) -> Result<Ready, Refused> {
    if io.cancel.is_cancelled() {
        return Err(not_run().into());
    }
    let prepared = prepare(&call, io).await?;
    let PreparedCall { action, preview, doomed, adds_mask, .. } = &prepared;
    let masked = *adds_mask && secrets::showed_mask(io.session.events.transcript().messages());
    let masked = masked.then(masked_text);
    match gate(io, &call, Proposed { action, preview, doomed: masked.as_ref().or(doomed.as_ref()) }).await {
        Gate::Run { reads } => {
            let reads = reads.then(|| action.kind(preview));
            masked.map_or(Ok(Ready { call, prepared, reads }), |error| Err(error.into()))
        }
        Gate::Denied(error) | Gate::Rejected(error) => Err(Refused { error, denied: true }),
        Gate::Failed(error) => Err(error.into()),
        Gate::Interrupted => Err(not_run().into()),
    }
}

/// Starts a call: what it comes to, and what it says meanwhile under its id.
pub(crate) async fn run(
    ready: Ready,
    io: &TurnIo,
) -> (impl Future<Output = Finish> + use<>, BoxStream<'static, (String, String)>) {
    let Ready { call, prepared, reads } = ready;
    let PreparedCall { action, preview, line, .. } = &prepared;
    life::started(&call, CallOrigin::Model, Start { action, preview, line: *line }, io).await;
    let diff = action.diff(preview).map(str::to_owned);
    let (chunks_in, chunks) = mpsc::channel(PROGRESS_QUEUE);
    let (beside, images) = (BesideResult::default(), ResultImages::default());
    let context = ToolRunContext {
        id: call.id.clone(),
        cancel: io.cancel.clone(),
        progress: chunks_in,
        beside: beside.clone(),
        images: images.clone(),
    };
    // An agent's calls may be asked about: the time of an answer is not the task's.
    let clock = matches!(prepared.action, Action::Task { .. }).then(|| io.session.policy.approvals.clock());
    let running = guarded((prepared.run)(context), io.cancel.clone());
    let ended = running.map(move |(output, took)| {
        let took = clock.map_or(took, |clock| Duration::from_millis(clock.ms()));
        let content = if output.is_ok() { images.take() } else { Vec::new() };
        Finish { output, content, diff, took, reads, beside: beside.take() }
    });
    (ended, chunks_of(call.id, chunks))
}

/// What a call says while it runs, under its id.
fn chunks_of(id: String, chunks: mpsc::Receiver<String>) -> BoxStream<'static, (String, String)> {
    stream::unfold((id, chunks), |(id, mut chunks)| async move {
        let chunk = chunks.recv().await?;
        Some(((id.clone(), chunk), (id, chunks)))
    })
    .boxed()
}

async fn prepare(call: &ToolCall, io: &TurnIo) -> Result<PreparedCall, ToolError> {
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
    let context = io.session.state.tools.clone();
    let work = tokio::task::spawn_blocking(move || tool.prepare(input, &context));
    tokio::select! {
        biased;
        () = io.cancel.cancelled() => Err(not_run()),
        prepared = work => prepared.unwrap_or_else(|_| Err(ToolError::new(ToolCode::Internal, "the tool broke down; this is a defect of zdx"))),
    }
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

/// The model must not take it for something that was begun.
fn not_run() -> ToolError {
    let message = "the user interrupted the turn before this call began: it never ran";
    ToolError::new(ToolCode::NotRun, message)
}

fn interrupted() -> ToolError {
    ToolError::new(ToolCode::Interrupted, "the user interrupted the turn")
}
