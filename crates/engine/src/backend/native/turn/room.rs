//! Makes room before a request and after a refusal: first old outputs go, then input that is too large for this model is
//! cut, then the conversation becomes a summary, harder each time until it fits. Each of it is an event and leaves the
//! session file whole. What limits and densities are is learnt in `budget`, kept in `limits`.
//! (The field says context management: truncation, compaction, summarisation.)

use zdx_models::{ModelError, ModelEvent, ThinkingSwitch};
use zdx_protocol::compaction::Trigger;
use zdx_protocol::display::format::count;
use zdx_protocol::{Compacted, Event, Message, NoticeLevel, Outcome, Part, Role, TurnState, Usage};

use super::super::Native;
use super::stream::{self, Broken};
use crate::call::{TurnIo, TurnResult};
use crate::context::budget::{Budget, Gauge, Lesson};
use crate::context::compact::{self, CompactionPlan, Squeeze, summary};
use crate::context::{input, prune};

const LEAST_ASKED: u64 = 200;
const MOST_ASKED: u64 = 4_096;
/// More for a model that thinks first, in case it cannot be kept from it: a summary that is cut off is none.
const FOR_THINKING: u64 = 4_096;
/// A server that refuses a request this often objects to something else than its length.
const MOST_REFUSALS: u32 = 8;

/// Why there is no request.
pub(crate) enum NoRoom {
    Interrupted,
    /// It would be refused, and nothing may be done about it.
    TooLong(String),
}

impl From<Broken> for NoRoom {
    fn from(_: Broken) -> Self {
        // Of a summary only an interrupt is told: whatever else fails, the session makes one itself.
        Self::Interrupted
    }
}

/// Before a request. Returns what asking for a summary has used.
pub(crate) async fn make(native: &mut Native, io: &TurnIo) -> Result<Usage, NoRoom> {
    learn_limit(native, io).await?;
    native.load_images(io).await;
    if io.session.events.transcript().size().reported.is_some() {
        native.budget.relax();
    }
    native.publish();
    let gauge = native.gauge(&io.session.events.transcript());
    let prune = (native.config().compaction.prune && gauge.should_prune())
        .then(|| prune::plan(&io.session.events.transcript(), &gauge))
        .flatten();
    if let Some(prune) = prune {
        io.session
            .events
            .emit(Event::Pruned { calls: prune.calls, images: prune.images, bytes: prune.bytes })
            .await;
    }
    if native.config().compaction.auto {
        return Ok(shrink(native, io, Trigger::Auto).await?);
    }
    let gauge = native.gauge(&io.session.events.transcript());
    match gauge.certainly_too_long() {
        true => Err(NoRoom::TooLong(not_sent(&gauge))),
        false => Ok(Usage::default()),
    }
}

fn not_sent(gauge: &Gauge) -> String {
    format!(
        "the request was not sent: it takes about {} tokens, the model holds {}, and compaction is off; set compaction.auto \
         = true, use /compact, or begin a new session",
        gauge.used, gauge.limit
    )
}

/// Harder and harder, until what is left can be sent. Returns what summaries have used.
async fn shrink(native: &Native, io: &TurnIo, trigger: Trigger) -> Result<Usage, Broken> {
    let mut usage = Usage::default();
    for squeeze in Squeeze::ALL {
        let gauge = native.gauge(&io.session.events.transcript());
        if !gauge.should_compact() || (squeeze != Squeeze::Ease && gauge.fits()) {
            break;
        }
        cut_input(native, io, squeeze).await;
        let gauge = native.gauge(&io.session.events.transcript());
        let plan = gauge
            .should_compact()
            .then(|| compact::plan(&io.session.events.transcript(), &gauge, trigger, squeeze))
            .flatten();
        if let Some(plan) = plan {
            usage.add(compact(native, io, plan, &gauge).await?);
        }
    }
    Ok(usage)
}

/// What the user just said or attached stays, as much of it as can; true when something had to go.
async fn cut_input(native: &Native, io: &TurnIo, squeeze: Squeeze) -> bool {
    let share = match squeeze {
        Squeeze::Ease => 1,
        Squeeze::Tight => 2,
        Squeeze::Last => 4,
    };
    let cuts = {
        let transcript = io.session.events.transcript();
        let room = native.gauge(&transcript).input_bytes() / share;
        input::plan(&transcript, room, io.session.state.tools.shell.spill())
    };
    let any = !cuts.is_empty();
    if any {
        io.session.events.emit(Event::InputCut { cuts }).await;
    }
    any
}

/// `/compact`: a turn of its own, so that it can be interrupted like any other.
pub(crate) async fn run_compaction(native: &mut Native, io: &TurnIo) -> TurnResult {
    native.load_images(io).await;
    match compact_as_asked(native, io).await {
        Ok(usage) => TurnResult { usage, ..TurnResult::from(Outcome::Completed) },
        Err(_) => TurnResult::from(Outcome::Interrupted),
    }
}

async fn compact_as_asked(native: &Native, io: &TurnIo) -> Result<Usage, Broken> {
    let gauge = native.gauge(&io.session.events.transcript());
    let plan = compact::plan(&io.session.events.transcript(), &gauge, Trigger::Asked, Squeeze::Ease);
    if let Some(plan) = plan {
        return compact(native, io, plan, &gauge).await;
    }
    let before = io.session.events.transcript().size().total();
    let usage = shrink(native, io, Trigger::Asked).await?;
    if io.session.events.transcript().size().total() == before {
        let message = match gauge.should_compact() {
            true => format!(
                "nothing is left to compact: system text and tools alone take about {} of {} tokens",
                gauge.fixed_tokens(),
                gauge.limit
            ),
            false => "nothing to compact: the context holds no more than it needs".to_owned(),
        };
        io.session.events.notice(NoticeLevel::Info, message).await;
    }
    Ok(usage)
}

/// What was done about refusals of one request.
#[derive(Default)]
pub(crate) struct Overflow {
    /// The answer may be this long, by the server's own count.
    pub cap: Option<u32>,
    refusals: u32,
}

impl Overflow {
    /// True when the request is worth sending again: it is another one.
    /// `continues`: it was to go on where an answer stopped.
    pub(crate) async fn remedy(
        &mut self,
        native: &mut Native,
        io: &TurnIo,
        message: &str,
        continues: bool,
    ) -> bool {
        self.refusals += 1;
        if self.refusals > MOST_REFUSALS {
            return false;
        }
        if !native.budget.knows_limit() && !Budget::is_named(message) {
            tokio::select! {
                biased;
                () = io.cancel.cancelled() => return false,
                limit = native.seed.limits.await_answer(&native.models, &native.seed.chosen.endpoint) => {
                    if let Some(limit) = limit {
                        native.set_limit(limit);
                    }
                }
            }
        }
        let gauge = native.gauge(&io.session.events.transcript());
        let (lesson, named) = native.budget.learn(message, &gauge);
        if let Some(limit) = named {
            native.seed.limits.learn(&native.seed.chosen.endpoint, limit);
            native.set_limit(limit);
        }
        match lesson {
            Lesson::AskForLess(cap) if self.cap.is_none_or(|before| cap < before) => {
                self.cap = Some(cap);
                let reason = message.to_owned();
                io.session
                    .events
                    .emit(Event::Retrying { attempt: 1, of: 1, delay_ms: 0, reason, continues })
                    .await;
                true
            }
            Lesson::AskForLess(_) | Lesson::TooFull => self.shrink(native, io).await,
        }
    }

    /// Without the model: what it refused as too long it would refuse again.
    async fn shrink(&mut self, native: &Native, io: &TurnIo) -> bool {
        if !native.config().compaction.auto {
            return false;
        }
        let begin = match self.refusals {
            0..=3 => Squeeze::Ease,
            4 | 5 => Squeeze::Tight,
            _ => Squeeze::Last,
        };
        for squeeze in Squeeze::ALL.into_iter().filter(|squeeze| *squeeze >= begin) {
            let mut changed = cut_input(native, io, squeeze).await;
            let gauge = native.gauge(&io.session.events.transcript());
            // What was cut may fit by now; what was not cut has to become less in another way.
            let plan = (!changed || gauge.should_compact())
                .then(|| compact::plan(&io.session.events.transcript(), &gauge, Trigger::Refused, squeeze))
                .flatten();
            if let Some(plan) = plan {
                record(plan, None, io).await;
                changed = true;
            }
            if changed {
                self.cap = None;
                return true;
            }
        }
        let gauge = native.gauge(&io.session.events.transcript());
        let message = format!(
            "the request is as small as it can be; system text and tools take about {} of {} tokens",
            gauge.fixed_tokens(),
            gauge.limit
        );
        io.session.events.notice(NoticeLevel::Warning, message).await;
        false
    }
}

async fn compact(native: &Native, io: &TurnIo, plan: CompactionPlan, gauge: &Gauge) -> Result<Usage, Broken> {
    io.session.events.emit(Event::StateChanged { state: TurnState::ModelGenerating }).await;
    let (said, usage) = ask_for_summary(native, io, plan.summary_bytes, gauge).await?;
    if usage != Usage::default() {
        io.session.events.emit(Event::UsageReported(usage)).await;
    }
    record(plan, said, io).await;
    Ok(usage)
}

async fn record(plan: CompactionPlan, said: Option<String>, io: &TurnIo) {
    let shortened = plan.shortened;
    let compaction = plan.finish(said, &io.session.events.transcript());
    io.session.events.emit(Event::Compacted(Compacted(Box::new(compaction)))).await;
    if shortened > 0 {
        let prompts = count(shortened, "long prompt");
        let message =
            format!("of {prompts} beginning and end stay in the context; the session has all of it");
        io.session.events.notice(NoticeLevel::Info, message).await;
    }
    io.session.events.sync().await;
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
    let thinks = has_thoughts(io.session.events.transcript().messages());
    let more = if thinks { FOR_THINKING } else { 0 };
    let wanted = ((gauge.tokens(bytes) * 3 / 2).clamp(LEAST_ASKED, MOST_ASKED) + more).min(left);
    let mut usage = Usage::default();
    if wanted < LEAST_ASKED {
        return Ok((None, usage));
    }
    let mut messages = io.session.events.transcript().messages().to_vec();
    match messages.last_mut() {
        Some(last) if last.role == Role::User => last.parts.push(Part::text(request)),
        _ => messages.push(Message::text(Role::User, request)),
    }
    let mut answer = summary::SummaryText::default();
    let wanted = u32::try_from(wanted).unwrap_or(u32::MAX);
    let mut switch = native.endpoint().thinking_switch().filter(|_| thinks);
    let whole = loop {
        let asking = listen(native, &messages, wanted, switch, summary::most(bytes), &mut answer, &mut usage);
        let result = tokio::select! {
            biased;
            () = io.cancel.cancelled() => return Err(Broken::Interrupted),
            result = asking => result,
        };
        match result {
            // The server does not know the switch.
            Err(ModelError::Status { status: 400 | 422, .. }) if switch.take().is_some() => {}
            result => break result.is_ok(),
        }
    };
    Ok((answer.usable(bytes).filter(|_| whole), usage))
}

fn has_thoughts(messages: &[Message]) -> bool {
    let mut parts = messages.iter().flat_map(|message| &message.parts);
    parts.any(|part| matches!(part, Part::Reasoning(_)))
}

/// Nothing of it is shown: it is said to nobody but the model itself.
async fn listen(
    native: &Native,
    messages: &[Message],
    max_tokens: u32,
    thinking_off: Option<ThinkingSwitch>,
    most: usize,
    answer: &mut summary::SummaryText,
    usage: &mut Usage,
) -> Result<(), ModelError> {
    let mut request = stream::request(native, messages, max_tokens);
    // Thinking has a budget of its own that would not fit into so short an answer.
    (request.thinking, request.thinking_off) = (None, thinking_off);
    let mut stream = native.seed.client.start(native.endpoint(), &request).await?;
    while let Some(event) = stream.next().await? {
        match event {
            ModelEvent::Text(text) => answer.text.push_str(&text),
            ModelEvent::WasThinking => answer.text.clear(),
            ModelEvent::ToolCallStarted { .. }
            | ModelEvent::ToolCallArguments { .. }
            | ModelEvent::ToolCall(_) => answer.called = true,
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

/// Not before the first request, which waits for nothing, and never while an answer streams.
async fn learn_limit(native: &mut Native, io: &TurnIo) -> Result<(), Broken> {
    if !std::mem::replace(&mut native.begun, true) || native.budget.knows_limit() {
        return Ok(());
    }
    let limit = tokio::select! {
        biased;
        () = io.cancel.cancelled() => return Err(Broken::Interrupted),
        limit = native.seed.limits.soon(&native.models, &native.seed.chosen.endpoint) => limit,
    };
    if let Some(limit) = limit {
        native.set_limit(limit);
    }
    Ok(())
}
