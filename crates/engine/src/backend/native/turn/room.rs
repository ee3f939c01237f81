//! Makes room before a request and after a refusal: first old outputs go, then the conversation becomes a summary.
//! Each of it is an event, happens at most once a request, and leaves the session file whole.
//! (The field says context management: truncation, compaction, summarisation.)

use std::time::Duration;

use zdx_models::{ModelError, ModelEvent, list_models};
use zdx_protocol::compaction::Trigger;
use zdx_protocol::{
    Compacted, Event, Message, NoticeLevel, Outcome, Part, Role, TurnState, TurnSummary, Usage,
};

use super::super::Native;
use super::stream::{self, Broken};
use crate::call::TurnIo;
use crate::context::budget::{Gauge, Lesson};
use crate::context::compact::{self, CompactionPlan, summary};
use crate::context::prune;

/// A list of models is asked for in the middle of a turn: nobody waits long for it.
const ASK_LIMIT: Duration = Duration::from_secs(5);
const LEAST_ASKED: u64 = 200;
const MOST_ASKED: u64 = 4_096;

/// Before a request. Returns what asking for a summary has used.
pub(crate) async fn make(native: &mut Native, io: &TurnIo) -> Result<Usage, Broken> {
    ask_for_limit(native, io).await?;
    native.tell_view();
    let gauge = native.gauge(&io.emit.transcript());
    let prune = (native.config().compaction.prune && gauge.should_prune())
        .then(|| prune::plan(io.emit.transcript().messages(), &gauge))
        .flatten();
    if let Some(prune) = prune {
        io.emit.emit(Event::Pruned { calls: prune.calls, bytes: prune.bytes }).await;
    }
    let gauge = native.gauge(&io.emit.transcript());
    let plan = (native.config().compaction.auto && gauge.should_compact())
        .then(|| compact::plan(&io.emit.transcript(), &gauge, Trigger::Auto))
        .flatten();
    if let Some(plan) = plan {
        return compact(native, io, plan, &gauge).await;
    }
    Ok(Usage::default())
}

/// `/compact`: a turn of its own, so that it can be interrupted like any other.
pub(crate) async fn run_compaction(native: &mut Native, io: &TurnIo) -> TurnSummary {
    let start = std::time::Instant::now();
    let gauge = native.gauge(&io.emit.transcript());
    let plan = compact::plan(&io.emit.transcript(), &gauge, Trigger::Asked);
    let result = match plan {
        Some(plan) => compact(native, io, plan, &gauge).await,
        None => {
            io.emit
                .notice(NoticeLevel::Info, "nothing to compact: the context holds no more than it needs")
                .await;
            Ok(Usage::default())
        }
    };
    let (outcome, usage) = match result {
        Ok(usage) => (Outcome::Completed, usage),
        Err(_) => {
            io.emit.emit(Event::Interrupted).await;
            (Outcome::Interrupted, Usage::default())
        }
    };
    tell_usage(native, io).await;
    io.emit.emit(Event::StateChanged { state: TurnState::Done }).await;
    io.emit.sync().await;
    let duration_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    TurnSummary { outcome, text: String::new(), usage, denied: 0, duration_ms }
}

pub(crate) async fn tell_usage(native: &mut Native, io: &TurnIo) {
    native.tell_view();
    let usage = native.gauge(&io.emit.transcript()).usage();
    io.emit.emit(Event::ContextUsage(usage)).await;
}

/// What was done about refusals of one request: each remedy is tried once.
#[derive(Default)]
pub(crate) struct Overflow {
    /// The answer may be this long, by the server's own count.
    pub cap: Option<u32>,
    compacted: bool,
}

impl Overflow {
    /// True when the request is worth sending again.
    pub(crate) async fn remedy(&mut self, native: &mut Native, io: &TurnIo, message: &str) -> bool {
        let gauge = native.gauge(&io.emit.transcript());
        match native.budget.learn(message, &gauge) {
            Lesson::AskForLess(cap) if self.cap.is_none() => {
                self.cap = Some(cap);
                let reason = message.to_owned();
                io.emit
                    .emit(Event::Retrying { attempt: 1, of: 1, delay_ms: 0, reason, continues: false })
                    .await;
                true
            }
            Lesson::AskForLess(_) | Lesson::TooFull => self.compact(native, io).await,
        }
    }

    /// Without the model: what it refused as too long it would refuse again.
    async fn compact(&mut self, native: &Native, io: &TurnIo) -> bool {
        if std::mem::replace(&mut self.compacted, true) || !native.config().compaction.auto {
            return false;
        }
        let gauge = native.gauge(&io.emit.transcript());
        let plan = compact::plan(&io.emit.transcript(), &gauge, Trigger::Refused);
        let Some(plan) = plan else { return false };
        self.cap = None;
        record(plan, None, io).await;
        true
    }
}

async fn compact(native: &Native, io: &TurnIo, plan: CompactionPlan, gauge: &Gauge) -> Result<Usage, Broken> {
    io.emit.emit(Event::StateChanged { state: TurnState::ModelGenerating }).await;
    let (said, usage) = ask_for_summary(native, io, plan.summary_bytes, gauge).await?;
    if usage != Usage::default() {
        io.emit.emit(Event::UsageReported(usage)).await;
    }
    record(plan, said, io).await;
    Ok(usage)
}

async fn record(plan: CompactionPlan, said: Option<String>, io: &TurnIo) {
    let compaction = plan.finish(said, &io.emit.transcript());
    io.emit.emit(Event::Compacted(Compacted(Box::new(compaction)))).await;
    io.emit.sync().await;
}

/// Nothing when there is no room to ask, the server fails, or the answer is no summary.
async fn ask_for_summary(
    native: &Native,
    io: &TurnIo,
    bytes: usize,
    gauge: &Gauge,
) -> Result<(Option<String>, Usage), Broken> {
    let request = summary::request(bytes);
    let left = gauge.left().saturating_sub(gauge.tokens(request.len()));
    let wanted = (gauge.tokens(bytes) * 3 / 2).clamp(LEAST_ASKED, MOST_ASKED).min(left);
    let mut usage = Usage::default();
    if wanted < LEAST_ASKED {
        return Ok((None, usage));
    }
    let mut messages = io.emit.transcript().messages().to_vec();
    match messages.last_mut() {
        Some(last) if last.role == Role::User => last.parts.push(Part::Text(request)),
        _ => messages.push(Message::text(Role::User, request)),
    }
    let mut answer = summary::SummaryText::default();
    let wanted = u32::try_from(wanted).unwrap_or(u32::MAX);
    let asking = listen(native, &messages, wanted, summary::most(bytes), &mut answer, &mut usage);
    let whole = tokio::select! {
        biased;
        () = io.cancel.cancelled() => return Err(Broken::Interrupted),
        result = asking => result.is_ok(),
    };
    Ok((answer.usable(bytes).filter(|_| whole), usage))
}

/// Nothing of it is shown: it is said to nobody but the model itself.
async fn listen(
    native: &Native,
    messages: &[Message],
    max_tokens: u32,
    most: usize,
    answer: &mut summary::SummaryText,
    usage: &mut Usage,
) -> Result<(), ModelError> {
    let mut request = stream::request(native, messages, max_tokens);
    // Thinking has a budget of its own that would not fit into so short an answer.
    request.thinking = None;
    let mut stream = native.seed.client.start(native.endpoint(), &request).await?;
    while let Some(event) = stream.next().await? {
        match event {
            ModelEvent::Text(text) => answer.text.push_str(&text),
            ModelEvent::WasThinking => answer.text.clear(),
            ModelEvent::ToolCallStarted { .. } | ModelEvent::ToolCall(_) => answer.called = true,
            ModelEvent::Usage(counted) => *usage = counted,
            ModelEvent::Stop(reason) => answer.stop = Some(reason),
            ModelEvent::ReasoningDelta(_) | ModelEvent::Reasoning(_) => {}
        }
        if answer.text.len() > most {
            break;
        }
    }
    Ok(())
}

/// Once a session, and only when it matters: no connection is made that a turn does not need.
async fn ask_for_limit(native: &mut Native, io: &TurnIo) -> Result<(), Broken> {
    let gauge = native.gauge(&io.emit.transcript());
    if !native.budget.wants_limit(&gauge) {
        return Ok(());
    }
    let key = format!("context-limit {} {}", native.endpoint().base_url, native.endpoint().label());
    if let Some(limit) = native.cache.as_ref().and_then(|cache| cache.get(&key)) {
        native.budget.set_limit(limit);
        return Ok(());
    }
    let asking = tokio::time::timeout(ASK_LIMIT, list_models(&native.seed.client, native.endpoint()));
    let listed = tokio::select! {
        biased;
        () = io.cancel.cancelled() => return Err(Broken::Interrupted),
        listed = asking => listed,
    };
    let Ok(Ok(models)) = listed else { return Ok(()) };
    let model = models.into_iter().find(|model| model.id == native.endpoint().model);
    if let Some(limit) = model.and_then(|model| model.context_limit) {
        native.budget.set_limit(limit);
        if let Some(cache) = &native.cache {
            cache.put(&key, &limit);
        }
    }
    Ok(())
}
