//! One answer of the model: deltas go out as they come, whole messages are kept, faults are retried or reported.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use zdx_models::retry::{self, NoRetry, Retry};
use zdx_models::{ModelError, ModelEvent, ModelRequest, ModelStream, Outgoing, StopReason};
use zdx_protocol::{Event, Message, TurnState, Usage};

use super::super::Native;
use super::call_ids::{AnswerIds, CallIds, Identified};
use super::room::Overflow;
use crate::call::TurnIo;

/// What the model said in one answer.
#[derive(Default)]
pub(super) struct ModelAnswer {
    /// The last text message of the answer.
    pub text: String,
    pub calls: Vec<Identified>,
    pub stop: Option<StopReason>,
    pub usage: Usage,
    ids: AnswerIds,
    open_text: String,
    /// Something reached the user: from here on a retry would show it twice.
    shown: bool,
}

/// Why an answer is not whole. What was shown of it is already saved.
pub(crate) enum Broken {
    Interrupted,
    /// With the reason why it was not tried again, where there is one worth telling.
    Failed(ModelError, Option<NoRetry>),
}

pub(super) async fn answer(
    native: &mut Native,
    ids: &mut CallIds,
    io: &TurnIo,
) -> (ModelAnswer, Result<(), Broken>) {
    let mut attempt = 0;
    let mut overflow = Overflow::default();
    loop {
        io.emit.emit(Event::StateChanged { state: TurnState::ModelGenerating }).await;
        let mut answer = ModelAnswer::default();
        let result = ask_once(native, io, overflow.cap, ids, &mut answer).await;
        let error = match result {
            Ok(()) => return (answer, Ok(())),
            Err(Broken::Interrupted) => {
                keep_partial(&mut answer, io).await;
                return (answer, Err(Broken::Interrupted));
            }
            Err(Broken::Failed(error, _)) => error,
        };
        if let ModelError::ContextTooLong { message } = &error
            && !answer.shown
            && overflow.remedy(native, io, message).await
        {
            ids.forget(answer.ids);
            continue;
        }
        let (delay, of) = match retry_delay(native, &error, attempt, answer.shown) {
            Ok(retry) => retry,
            Err(why) => {
                keep_partial(&mut answer, io).await;
                return (answer, Err(Broken::Failed(error, why)));
            }
        };
        attempt += 1;
        ids.forget(std::mem::take(&mut answer.ids));
        let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        io.emit.emit(Event::Retrying { attempt, of, delay_ms, reason: error.to_string() }).await;
        tokio::select! {
            biased;
            () = io.cancel.cancelled() => return (answer, Err(Broken::Interrupted)),
            () = tokio::time::sleep(delay) => {}
        }
    }
}

/// How long to wait before another try, and how many tries there are; an error when it is over.
fn retry_delay(
    native: &Native,
    error: &ModelError,
    attempt: u32,
    shown: bool,
) -> Result<(Duration, u32), Option<NoRetry>> {
    if let ModelError::ContextTooLong { .. } = error {
        return Err(None);
    }
    let of = native.config().retries;
    match retry::decide(error, attempt, of, shown, dice()) {
        Retry::After(delay) => Ok((delay, of)),
        Retry::No { why } => Err(Some(why)),
    }
}

/// From 0 to 1. The standard library seeds its hashers at random: enough to spread retries.
fn dice() -> f64 {
    RandomState::new().build_hasher().finish() as f64 / u64::MAX as f64
}

async fn ask_once(
    native: &Native,
    io: &TurnIo,
    cap: Option<u32>,
    ids: &mut CallIds,
    answer: &mut ModelAnswer,
) -> Result<(), Broken> {
    let mut stream = start(native, io, cap).await?;
    loop {
        let event = tokio::select! {
            biased;
            () = io.cancel.cancelled() => return Err(Broken::Interrupted),
            event = stream.next() => event.map_err(|error| Broken::Failed(error, None))?,
        };
        match event {
            Some(event) => take(event, ids, answer, io).await,
            None => break,
        }
    }
    close_text(answer, io, false).await;
    if answer.usage != Usage::default() {
        io.emit.emit(Event::UsageReported(answer.usage)).await;
    }
    Ok(())
}

async fn start(native: &Native, io: &TurnIo, cap: Option<u32>) -> Result<ModelStream, Broken> {
    let outgoing = outgoing(native, io, cap).map_err(|error| Broken::Failed(error, None))?;
    tokio::select! {
        biased;
        () = io.cancel.cancelled() => Err(Broken::Interrupted),
        stream = native.seed.client.carry(native.endpoint(), outgoing) => stream.map_err(|error| Broken::Failed(error, None)),
    }
}

fn outgoing(native: &Native, io: &TurnIo, cap: Option<u32>) -> Result<Outgoing, ModelError> {
    let transcript = io.emit.transcript();
    let max_tokens = native.gauge(&transcript).max_tokens();
    let request = request(native, transcript.messages(), cap.unwrap_or(max_tokens).min(max_tokens));
    Outgoing::new(native.endpoint(), &request)
}

pub(super) fn request<'a>(native: &'a Native, messages: &'a [Message], max_tokens: u32) -> ModelRequest<'a> {
    ModelRequest {
        model: &native.endpoint().model,
        system: &native.system,
        messages,
        tools: &native.tools,
        max_tokens,
        temperature: native.temperature,
        top_p: native.top_p,
        thinking: native.thinking(),
        stream: native.config().stream,
    }
}

async fn take(event: ModelEvent, ids: &mut CallIds, answer: &mut ModelAnswer, io: &TurnIo) {
    match event {
        ModelEvent::Text(text) => {
            answer.shown = true;
            answer.open_text.push_str(&text);
            io.emit.emit(Event::AssistantDelta { text }).await;
        }
        ModelEvent::ReasoningDelta(text) => {
            answer.shown = true;
            io.emit.emit(Event::ReasoningDelta { text }).await;
        }
        ModelEvent::Reasoning(reasoning) => {
            close_text(answer, io, false).await;
            io.emit.emit(Event::ReasoningFinal(reasoning)).await;
        }
        ModelEvent::ToolCallStarted { id: Some(id), name } => {
            let id = ids.announce(&id, &mut answer.ids, io);
            io.emit.emit(Event::ToolAnnounced { id, name: io.tool_name(name) }).await;
        }
        // What has no id yet cannot be told apart from other calls.
        ModelEvent::ToolCallStarted { id: None, .. } => {}
        ModelEvent::ToolCall(call) => answer.calls.push(ids.identify(call, &mut answer.ids, io)),
        ModelEvent::Usage(usage) => answer.usage = usage,
        ModelEvent::Stop(reason) => answer.stop = Some(reason),
    }
}

async fn keep_partial(answer: &mut ModelAnswer, io: &TurnIo) {
    close_text(answer, io, true).await;
    // A call that came before the break was never run and is not part of the history.
    answer.calls.clear();
}

async fn close_text(answer: &mut ModelAnswer, io: &TurnIo, partial: bool) {
    if answer.open_text.is_empty() {
        return;
    }
    answer.text = std::mem::take(&mut answer.open_text);
    io.emit.emit(Event::AssistantFinal { text: answer.text.clone(), partial }).await;
}
