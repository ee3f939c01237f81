//! What a turn is at, folded from its events and put into words.

use std::time::Instant;

use zdx_protocol::display::format;
use zdx_protocol::display::text::one_line;
use zdx_protocol::{CallKind, CallOrigin, Event, Location, Preview, TurnState, Usage};

#[derive(Debug)]
pub(super) struct Doing {
    since: Instant,
    /// Since when it is at what it is at.
    step: Instant,
    state: TurnState,
    /// The answer streams.
    writing: bool,
    retrying: Option<(u32, u32)>,
    /// Calls that run, by id.
    calls: Vec<(String, String)>,
    pub(super) usage: Usage,
}

const LABEL: usize = 48;
const SHORT_LABEL: usize = 28;

impl Doing {
    fn new(state: TurnState, since: Instant) -> Self {
        let (calls, usage) = (Vec::new(), Usage::default());
        Self { since, step: since, state, writing: false, retrying: None, calls, usage }
    }

    /// A turn, or a command of the user's, begins with its first state; both end idle.
    pub(super) fn apply(doing: &mut Option<Self>, event: &Event, now: Instant) {
        match event {
            Event::TurnStarted { .. } => *doing = Some(Self::new(TurnState::Planning, now)),
            Event::StateChanged { state: TurnState::Idle } => *doing = None,
            Event::StateChanged { state: TurnState::Done | TurnState::Error } => {}
            Event::StateChanged { state } => {
                let doing = doing.get_or_insert_with(|| Self::new(*state, now));
                let before = doing.at();
                (doing.state, doing.writing, doing.retrying) = (*state, false, None);
                doing.steps(before, now);
            }
            event => {
                if let Some(doing) = doing {
                    let before = doing.at();
                    doing.fold(event);
                    doing.steps(before, now);
                }
            }
        }
    }

    fn at(&self) -> (&'static str, usize) {
        (self.word(), self.calls.len())
    }

    fn steps(&mut self, before: (&'static str, usize), now: Instant) {
        if before != self.at() {
            self.step = now;
        }
    }

    fn fold(&mut self, event: &Event) {
        match event {
            Event::AssistantDelta { .. } | Event::ToolAnnounced { .. } => {
                (self.writing, self.retrying) = (true, None);
            }
            Event::ReasoningDelta { .. } => (self.writing, self.retrying) = (false, None),
            Event::ToolStarted { id, name, origin, kind, locations, preview }
                if *origin != CallOrigin::Subagent =>
            {
                self.calls.push((id.clone(), label(name, *kind, locations, preview)));
            }
            Event::ToolFinished { id, .. } => self.calls.retain(|(running, _)| running != id),
            Event::UsageReported(usage) => self.usage.add(*usage),
            Event::Retrying { attempt, of, .. } => self.retrying = Some((*attempt, *of)),
            _ => {}
        }
    }

    /// With the seconds it takes, and those of the turn where that is longer under way, in ever fewer words.
    pub(super) fn words(&self, now: Instant) -> [String; 3] {
        let elapsed = |since: Instant| format::elapsed(now.saturating_duration_since(since).as_secs());
        // The whole of it stands two rows above, and the rest of the row is not to move with every step.
        let what = one_line(&self.what(), SHORT_LABEL);
        let step = elapsed(self.step);
        let [what, word] = [what, self.word().to_owned()].map(|words| format!("{words} {step}"));
        match elapsed(self.since) {
            turn if turn == step => [what.clone(), what, word],
            turn => [format!("{what} · turn {turn}"), format!("{word} · turn {turn}"), word],
        }
    }

    fn what(&self) -> String {
        match (&self.retrying, self.calls.as_slice()) {
            (Some((attempt, of)), _) => format!("retrying, {attempt} of {of}"),
            (None, []) => self.word().to_owned(),
            (None, [(_, label)]) => label.clone(),
            (None, calls) => format!("running {} calls", calls.len()),
        }
    }

    /// One word.
    pub(super) fn word(&self) -> &'static str {
        if self.retrying.is_some() {
            return "retrying";
        }
        match self.state {
            _ if !self.calls.is_empty() => "running",
            TurnState::ModelGenerating | TurnState::Planning if self.writing => "writing",
            TurnState::ModelGenerating | TurnState::Planning => "thinking",
            TurnState::AwaitingPermission => "waiting",
            TurnState::ToolRunning | TurnState::Idle | TurnState::Done | TurnState::Error => "working",
        }
    }
}

/// `running cargo test`, `reading main.rs`.
fn label(name: &str, kind: CallKind, locations: &[Location], preview: &Preview) -> String {
    let file = match locations {
        [only] => only.path.file_name().map(|name| name.to_string_lossy().into_owned()),
        _ => None,
    };
    let (verb, what) = match (kind, preview) {
        (_, Preview::Command { command }) => ("running", command.clone()),
        (CallKind::Read, _) => ("reading", file.unwrap_or_else(|| "files".to_owned())),
        (CallKind::Edit, _) => ("changing", file.unwrap_or_else(|| "files".to_owned())),
        (CallKind::Delete, _) => ("deleting", file.unwrap_or_else(|| "files".to_owned())),
        (CallKind::Move, _) => ("moving", file.unwrap_or_else(|| "files".to_owned())),
        (CallKind::Search, _) => ("searching", file.unwrap_or_default()),
        (CallKind::Fetch, _) => ("fetching", String::new()),
        (CallKind::Execute | CallKind::Think | CallKind::Other, _) => ("running", name.to_owned()),
    };
    one_line(&format!("{verb} {what}"), LABEL)
}
