//! One answer of the model: deltas go out as they come, whole messages are kept, faults are retried or reported. An
//! answer that broke off in its text goes on where it stopped: it is sent back with a request to do so.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, Instant};

use zdx_models::retry::{self, NoRetry, RetriesMade, Retry};
use zdx_models::{Endpoint, ModelError, ModelEvent, ModelRequest, ModelStream, Outgoing, StopReason};
use zdx_protocol::record::millis;
use zdx_protocol::{Event, Message, Reasoning, Role, ToolError, TurnState, Usage};

use super::super::Native;
use super::call_ids::{AnswerIds, Identified};
use super::growing::Growing;
use super::room::Overflow;
use crate::call::TurnIo;

/// Said in the user's name behind an answer that broke off, and never kept: no server must know how to go on from the
/// middle of a message. A model that takes it up has one answer in the end, as if nothing had happened.
const GO_ON: &str = "The connection broke in the middle of your last message. Go on exactly where it stops: begin with the \
     very next character, repeat nothing of it, and do not mention the break.";

/// Calls of one answer that are run. A model that makes more has lost its way, or its server has.
const MOST_CALLS: usize = 256;

/// What the model said in one answer, however often it had to be asked for the rest of it.
#[derive(Default)]
pub(super) struct ModelAnswer {
    /// The last text message of the answer.
    pub text: String,
    pub calls: Vec<Identified>,
    /// Calls beyond the most that are run: they are counted and dropped.
    dropped_calls: usize,
    pub stop: Option<StopReason>,
    pub usage: Usage,
    /// The most tokens it was given.
    pub most: u32,
    /// It thought, whether or not anything came of it.
    pub thought: bool,
    ids: AnswerIds,
    /// Calls whose arguments may still stream.
    growing: Vec<Growing>,
    /// Since when it thinks, and for how long it did.
    thinking: Option<Instant>,
    thought_for: Duration,
    open_text: String,
    /// Finished thoughts that nothing was said after: if that breaks off too, they are thought anew.
    thoughts: Vec<Reasoning>,
    /// Some of its text is part of the history: only what comes after it is still wanted.
    said: bool,
    /// `text` broke off, and what is said next belongs to it.
    pub broken: bool,
    /// Something came of it since it was last asked for.
    heard: bool,
    /// A stream of it was empty: the next one is asked for whole, and so with the error, if there is one.
    whole: bool,
}

impl ModelAnswer {
    /// What came since the last break, and was not said, is as if it had not been. A call that had begun is never run.
    fn drop_rest(&mut self) {
        self.ids = AnswerIds::default();
        self.calls.clear();
        self.dropped_calls = 0;
        self.growing.clear();
        self.thoughts.clear();
        self.open_text.clear();
        (self.stop, self.usage) = (None, Usage::default());
    }
}

/// Why an answer is not whole. What was shown of it is already saved.
pub(crate) enum Broken {
    Interrupted,
    /// With the reason why it was not tried again, where there is one worth telling.
    Failed(ModelError, Option<NoRetry>),
}

pub(super) async fn answer(native: &mut Native, io: &TurnIo) -> (ModelAnswer, Result<(), Broken>) {
    let mut made = RetriesMade::default();
    let mut failing: Option<Instant> = None;
    let mut overflow = Overflow::default();
    let mut answer = ModelAnswer::default();
    loop {
        io.session.events.emit(Event::StateChanged { state: TurnState::ModelGenerating }).await;
        let result = ask_once(native, io, overflow.cap, &mut answer).await;
        let error = match result {
            Ok(()) => {
                native.budget.accept();
                return (answer, Ok(()));
            }
            Err(Broken::Interrupted) => {
                keep_partial(&mut answer, io).await;
                return (answer, Err(Broken::Interrupted));
            }
            Err(Broken::Failed(error, _)) => error,
        };
        if let ModelError::ContextTooLong { message } = &error
            && answer.open_text.is_empty()
            && overflow.remedy(native, io, message, answer.said).await
        {
            // What was said may have become a part of the summary: then nothing is there to go on from.
            if io
                .session
                .events
                .transcript()
                .messages()
                .last()
                .is_none_or(|last| last.role != Role::Assistant)
            {
                (answer.said, answer.broken) = (false, false);
            }
            answer.drop_rest();
            answer.whole = false;
            continue;
        }
        // Also while somebody was asked how much the model holds.
        if io.cancel.is_cancelled() {
            keep_partial(&mut answer, io).await;
            return (answer, Err(Broken::Interrupted));
        }
        if std::mem::take(&mut answer.heard) {
            failing = None;
        }
        made.elapsed = failing.get_or_insert_with(Instant::now).elapsed();
        let (delay, of) = match retry::decide(&error, made, native.config().retry, dice()) {
            Retry::After(delay) => {
                made.attempts += 1;
                (delay, native.config().retry.max_attempts)
            }
            Retry::WhenLoaded(delay) => (delay, 0),
            Retry::No { why } => {
                keep_partial(&mut answer, io).await;
                let why = Some(why).filter(|_| !matches!(error, ModelError::ContextTooLong { .. }));
                return (answer, Err(Broken::Failed(error, why)));
            }
        };
        answer.whole |= matches!(error, ModelError::Empty(_));
        break_off(&mut answer, io).await;
        answer.drop_rest();
        let (attempt, delay_ms) = (made.attempts, millis(delay));
        let (reason, continues) = (error.reason(), answer.said);
        io.session.events.emit(Event::Retrying { attempt, of, delay_ms, reason, continues }).await;
        tokio::select! {
            biased;
            () = io.cancel.cancelled() => return (answer, Err(Broken::Interrupted)),
            () = tokio::time::sleep(delay) => {}
        }
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
    answer: &mut ModelAnswer,
) -> Result<(), Broken> {
    let mut stream = start(native, io, cap, answer).await?;
    loop {
        let event = tokio::select! {
            biased;
            () = io.cancel.cancelled() => return Err(Broken::Interrupted),
            event = stream.next() => event.map_err(|error| Broken::Failed(error, None))?,
        };
        match event {
            Some(event) => {
                answer.heard = true;
                take(event, native.endpoint(), answer, io).await;
            }
            None => break,
        }
    }
    cap_calls(answer);
    tell_thoughts(answer, io).await;
    // It may have nothing to add to what broke off: that is whole, then.
    if answer.broken || !answer.open_text.is_empty() {
        close_text(answer, io, false).await;
    }
    if answer.usage != Usage::default() {
        io.session.events.emit(Event::UsageReported(answer.usage)).await;
    }
    Ok(())
}

async fn start(
    native: &Native,
    io: &TurnIo,
    cap: Option<u32>,
    answer: &mut ModelAnswer,
) -> Result<ModelStream, Broken> {
    let outgoing = outgoing(native, io, cap, answer).map_err(|error| Broken::Failed(error, None))?;
    tokio::select! {
        biased;
        () = io.cancel.cancelled() => Err(Broken::Interrupted),
        stream = native.seed.client.carry(native.endpoint(), outgoing) => stream.map_err(|error| Broken::Failed(error, None)),
    }
}

fn outgoing(
    native: &Native,
    io: &TurnIo,
    cap: Option<u32>,
    answer: &mut ModelAnswer,
) -> Result<Outgoing, ModelError> {
    let transcript = io.session.events.transcript();
    let max_tokens = native.gauge(&transcript).max_tokens();
    answer.most = cap.unwrap_or(max_tokens).min(max_tokens);
    let mut asked_on = Vec::new();
    if answer.said {
        asked_on.extend_from_slice(transcript.messages());
        asked_on.push(Message::text(Role::User, GO_ON));
    }
    let messages = if answer.said { &asked_on } else { transcript.messages() };
    let mut request = request(native, messages, answer.most);
    request.stream &= !answer.whole;
    Outgoing::new(native.endpoint(), &request)
}

pub(super) fn request<'a>(native: &'a Native, messages: &'a [Message], max_tokens: u32) -> ModelRequest<'a> {
    ModelRequest {
        model: &native.endpoint().model,
        system: &native.system,
        messages,
        images: &native.images,
        tools: &native.tools,
        max_tokens,
        temperature: native.temperature,
        top_p: native.top_p,
        thinking: native.thinking(),
        thinking_off: None,
        stream: native.config().stream,
    }
}

async fn take(event: ModelEvent, endpoint: &Endpoint, answer: &mut ModelAnswer, io: &TurnIo) {
    if !matches!(event, ModelEvent::ReasoningDelta(_))
        && let Some(since) = answer.thinking.take()
    {
        answer.thought_for += since.elapsed();
    }
    match event {
        ModelEvent::Text(text) => {
            tell_thoughts(answer, io).await;
            answer.open_text.push_str(&text);
            io.session.events.emit(Event::AssistantDelta { text }).await;
        }
        ModelEvent::ReasoningDelta(text) => {
            answer.thought = true;
            answer.thinking.get_or_insert_with(Instant::now);
            io.session.events.emit(Event::ReasoningDelta { text }).await;
        }
        ModelEvent::Reasoning(mut reasoning) => {
            if !answer.open_text.is_empty() {
                close_text(answer, io, false).await;
            }
            answer.thought = true;
            let took = std::mem::take(&mut answer.thought_for);
            let ms = millis(took);
            reasoning.took_ms = (ms > 0).then_some(ms);
            answer.thoughts.push(reasoning);
        }
        // It was shown and cannot be taken back; but it is not what the model wanted to say, now or later.
        ModelEvent::WasThinking => {
            let text = std::mem::take(&mut answer.open_text).trim().to_owned();
            let (wire, model) = (endpoint.wire.name().to_owned(), endpoint.model.clone());
            answer.thought = true;
            answer.thoughts.push(Reasoning { text, wire, model, opaque: None, took_ms: None });
        }
        ModelEvent::ToolCallStarted { id: Some(_), .. } if answer.ids.len() > MOST_CALLS => {}
        ModelEvent::ToolCallStarted { id: Some(wanted), name } => {
            let id = answer.ids.announce(&wanted, io);
            let name = io.tool_name(name);
            answer.growing.extend(Growing::new(&wanted, &id, &name));
            io.session.events.emit(Event::ToolAnnounced { id, name }).await;
        }
        // What has no id yet cannot be told apart from other calls.
        ModelEvent::ToolCallStarted { id: None, .. } => {}
        ModelEvent::ToolCallArguments { id, more } => {
            // Of two that a server calls the same, the one that began last.
            let growing = answer.growing.iter_mut().rfind(|growing| growing.is(&id));
            if let Some(event) = growing.and_then(|growing| growing.more(&more)) {
                io.session.events.emit(event).await;
            }
        }
        // One more is kept for the error that says how many were dropped.
        ModelEvent::ToolCall(_) if answer.calls.len() > MOST_CALLS => answer.dropped_calls += 1,
        ModelEvent::ToolCall(call) => {
            let identified = answer.ids.identify(call, endpoint, io);
            answer.calls.push(identified);
        }
        ModelEvent::Usage(usage) => answer.usage = usage,
        ModelEvent::Stop(reason) => answer.stop = Some(reason),
    }
}

/// The first call beyond those that are run tells the model so.
fn cap_calls(answer: &mut ModelAnswer) {
    let all = answer.calls.len() + answer.dropped_calls;
    if let Some(first) = answer.calls.get_mut(MOST_CALLS) {
        let message = format!(
            "this answer held {all} calls; the first {MOST_CALLS} were run, this one and those after it were not: make fewer \
             calls at a time"
        );
        first.fault = Some(ToolError::invalid(message));
    }
}

/// It is over, whole or not: what came is kept.
async fn keep_partial(answer: &mut ModelAnswer, io: &TurnIo) {
    tell_thoughts(answer, io).await;
    if !answer.open_text.is_empty() {
        close_text(answer, io, true).await;
    }
    // A call that came before the break was never run and is not part of the history.
    answer.calls.clear();
}

/// It is asked for again: what the user read of it stays, and is gone on from. White space alone is nothing to go on from.
async fn break_off(answer: &mut ModelAnswer, io: &TurnIo) {
    let text = if answer.broken { answer.open_text.as_str() } else { answer.open_text.trim() };
    if !text.is_empty() {
        keep_partial(answer, io).await;
    }
}

async fn tell_thoughts(answer: &mut ModelAnswer, io: &TurnIo) {
    for reasoning in std::mem::take(&mut answer.thoughts) {
        io.session.events.emit(Event::ReasoningFinal(reasoning)).await;
    }
}

async fn close_text(answer: &mut ModelAnswer, io: &TurnIo, partial: bool) {
    let text = std::mem::take(&mut answer.open_text);
    let continues = std::mem::replace(&mut answer.broken, partial);
    if !continues {
        answer.text.clear();
    }
    answer.text.push_str(&text);
    answer.said = true;
    io.session.events.emit(Event::AssistantFinal { text, partial, continues }).await;
}
