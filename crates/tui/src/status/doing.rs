//! What a turn is at, folded from its events and put into words. What a call does stands in its own row: here it is told
//! that one runs, and for how long.

use std::time::{Duration, Instant};

use zdx_protocol::display::{format, labels, visible_line};
use zdx_protocol::{CallOrigin, Event, TurnState, Usage};

/// Near enough for a figure that the server's own count replaces.
const BYTES_PER_TOKEN: usize = 4;
/// An answer that stops coming for so long is told to.
const SILENT: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Doing {
    since: Instant,
    /// Since when it is at what it is at.
    step: Instant,
    state: TurnState,
    said: Said,
    /// Since when the model thinks: the clock of the block that shows it.
    thought: Option<Instant>,
    retrying: Option<RetryCountdown>,
    /// Calls that run, by id.
    calls: Vec<String>,
    /// Since when a person is asked: that time is not the turn's.
    asked: Option<Instant>,
    /// Input of the last request, which is the context; output of all.
    usage: Usage,
    /// Bytes that stream and were not counted by the server yet.
    streamed: usize,
}

/// A request that failed and is made again.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RetryCountdown {
    attempt: u32,
    /// Zero where nobody counts.
    of: u32,
    at: Instant,
    reason: String,
}

/// What came of the request that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Nothing,
    Thought,
    Text {
        last: Instant,
    },
    /// A call is being written: nothing of it comes before all of it.
    Call,
}

impl Doing {
    fn new(state: TurnState, since: Instant) -> Self {
        Self {
            since,
            step: since,
            state,
            said: Said::Nothing,
            thought: None,
            retrying: None,
            calls: Vec::new(),
            asked: None,
            usage: Usage::default(),
            streamed: 0,
        }
    }

    /// Tokens of the context as it was last sent, and those written in this turn, as far as they are known.
    pub(super) fn tokens(&self) -> (u64, u64) {
        (self.usage.input_tokens, self.usage.output_tokens + (self.streamed / BYTES_PER_TOKEN) as u64)
    }

    /// A turn, or a command of the user's, begins with its first state; both end idle.
    pub(super) fn apply(doing: &mut Option<Self>, event: &Event, now: Instant) {
        match event {
            Event::TurnStarted { .. } => *doing = Some(Self::new(TurnState::Planning, now)),
            Event::StateChanged { state: TurnState::Idle } => *doing = None,
            Event::StateChanged { state: TurnState::Done | TurnState::Error } => {}
            Event::StateChanged { state } => {
                let doing = doing.get_or_insert_with(|| Self::new(*state, now));
                let before = doing.word();
                (doing.state, doing.said, doing.retrying) = (*state, Said::Nothing, None);
                doing.steps(before, now);
            }
            event => {
                if let Some(doing) = doing {
                    let before = doing.word();
                    doing.fold(event, now);
                    doing.steps(before, now);
                }
            }
        }
    }

    fn steps(&mut self, before: &str, now: Instant) {
        if before != self.word() {
            self.step = now;
        }
    }

    fn fold(&mut self, event: &Event, now: Instant) {
        if let Event::AssistantDelta { text } | Event::ReasoningDelta { text } = event {
            self.streamed += text.len();
        }
        match event {
            Event::AssistantDelta { .. } => {
                (self.said, self.retrying, self.thought) = (Said::Text { last: now }, None, None);
            }
            Event::ToolAnnounced { .. } => {
                (self.said, self.retrying, self.thought) = (Said::Call, None, None);
            }
            Event::ReasoningDelta { .. } => {
                (self.said, self.retrying) = (Said::Thought, None);
                self.thought.get_or_insert(now);
            }
            Event::ReasoningFinal(_) | Event::ToolRequested { .. } | Event::Error { .. } => {
                self.thought = None;
            }
            Event::ToolStarted { id, origin, .. } if *origin != CallOrigin::Subagent => {
                self.calls.push(id.clone());
            }
            Event::ToolFinished { id, .. } => self.calls.retain(|running| running != id),
            Event::UsageReported(usage) => {
                let output_tokens = self.usage.output_tokens + usage.output_tokens;
                (self.usage, self.streamed) = (Usage { output_tokens, ..*usage }, 0);
            }
            Event::Retrying { attempt, of, delay_ms, reason, .. } => {
                let (attempt, of) = (*attempt, *of);
                let at = now + Duration::from_millis(*delay_ms);
                self.retrying = Some(RetryCountdown { attempt, of, at, reason: reason.clone() });
            }
            _ => {}
        }
    }

    /// Whether a person is asked: the clocks stand still for so long.
    pub(super) fn asks(&mut self, asks: bool, now: Instant) {
        if asks {
            self.asked.get_or_insert(now);
        } else if let Some(asked) = self.asked.take() {
            let waited = now.saturating_duration_since(asked);
            self.since += waited;
            self.step = (self.step + waited).min(now);
        }
    }

    /// With the seconds it takes, and those of the turn where that is longer under way, in ever fewer words. Both clocks
    /// change at once: two that did not would redraw the row twice a second.
    pub(super) fn words(&self, now: Instant) -> Vec<String> {
        if let Some(retry) = &self.retrying {
            return retry.words(now);
        }
        let began = self.thought.filter(|_| self.word() == "thinking").unwrap_or(self.step);
        let step = now.saturating_duration_since(began).as_secs();
        let before = began.saturating_duration_since(self.since).as_secs();
        let turn = before + step;
        let step = format::elapsed(step);
        let coarse = coarse(&step);
        let what = self.what(&step, now);
        let mut forms = Vec::new();
        if before > 0 {
            let turn = format::elapsed(turn);
            forms.push(format!("{what} · turn {turn}"));
            forms.push(format!("{} {step} · turn {turn}", self.word()));
        }
        forms.push(what);
        forms.push(format!("{} {step}", self.word()));
        forms.push(format!("{} {coarse}", self.word()));
        forms
    }

    fn what(&self, step: &str, now: Instant) -> String {
        match self.said {
            Said::Nothing if self.is_asking() => format!("{} {step}", self.state_word()),
            Said::Text { last } if self.is_asking() && now.saturating_duration_since(last) >= SILENT => {
                let silent = now.saturating_duration_since(last).as_secs();
                format!("writing · nothing for {}", format::elapsed(silent))
            }
            _ => format!("{} {step}", self.word()),
        }
    }

    pub(super) fn is_retrying(&self) -> bool {
        self.retrying.is_some()
    }

    /// A request is under way.
    fn is_asking(&self) -> bool {
        self.calls.is_empty() && matches!(self.state, TurnState::ModelGenerating | TurnState::Planning)
    }

    /// In a few words.
    pub(super) fn state_word(&self) -> &'static str {
        match self.word() {
            "waiting" if self.is_asking() => "waiting for the model",
            word => word,
        }
    }

    /// One word.
    fn word(&self) -> &'static str {
        if self.retrying.is_some() {
            return "retrying";
        }
        match (self.state, self.said) {
            _ if !self.calls.is_empty() => "running",
            (TurnState::ModelGenerating | TurnState::Planning, Said::Nothing) => "waiting",
            (TurnState::ModelGenerating | TurnState::Planning, Said::Thought) => "thinking",
            (TurnState::ModelGenerating | TurnState::Planning, Said::Text { .. } | Said::Call) => "writing",
            (TurnState::AwaitingPermission, _) => "waiting",
            (TurnState::ToolRunning | TurnState::Idle | TurnState::Done | TurnState::Error, _) => "working",
        }
    }
}

impl RetryCountdown {
    /// The reason is the last to be cut.
    fn words(&self, now: Instant) -> Vec<String> {
        let seconds = self.at.saturating_duration_since(now).as_millis().div_ceil(1000);
        let seconds = u64::try_from(seconds).unwrap_or(u64::MAX);
        let brief = self.reason.split(':').next().unwrap_or_default();
        let brief = visible_line(brief);
        vec![
            labels::retrying(self.attempt, self.of, seconds, &self.reason),
            labels::retrying(self.attempt, self.of, seconds, &brief),
            labels::retrying(self.attempt, 0, seconds, &brief),
            format!("{seconds} s · {brief}"),
            brief,
        ]
    }
}

/// In one unit: `59 s`, `3 min`.
fn coarse(elapsed: &str) -> &str {
    elapsed.match_indices(' ').nth(1).map_or(elapsed, |(at, _)| &elapsed[..at])
}
