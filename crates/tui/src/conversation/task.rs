//! What an agent does for a task: its calls, as far as they are kept, each in a line.

use zdx_protocol::display::text::truncate_width;
use zdx_protocol::display::titles::{Ended, Title};
use zdx_protocol::record::TaskCalls;

/// Of the calls of one agent; the first go.
const MOST: usize = 200;
/// Of what a call is about.
const COLUMNS: usize = 400;

#[derive(Debug, Default)]
pub(super) struct Task {
    pub(super) calls: usize,
    pub(super) failed: usize,
    pub(super) denied: usize,
    /// Their number is all that is known of them.
    counted: bool,
    /// The last of them.
    pub(super) steps: Vec<Step>,
}

/// A call of an agent.
#[derive(Debug)]
pub(super) struct Step {
    id: String,
    title: Title,
    pub(super) stage: Stage,
}

#[derive(Debug)]
pub(super) enum Stage {
    Requested,
    /// Somebody has to say yes first.
    Asked,
    Running,
    Ended(Ended),
}

impl Task {
    pub(super) fn begin(&mut self, id: &str, title: &Title) {
        self.calls += 1;
        if self.steps.len() == MOST {
            self.steps.remove(0);
        }
        let title = Title { subject: truncate_width(&title.subject, COLUMNS), ..title.clone() };
        self.steps.push(Step { id: id.to_owned(), title, stage: Stage::Requested });
    }

    pub(super) fn end(&mut self, id: &str, ended: Ended, denied: bool) {
        self.failed += usize::from(!ended.well && !denied);
        self.denied += usize::from(denied);
        self.set(id, Stage::Ended(ended));
    }

    /// As whoever launched the agent counted them.
    pub(super) fn count(&mut self, calls: TaskCalls) {
        self.counted = self.steps.is_empty();
        (self.calls, self.failed) = (calls.calls as usize, calls.failed as usize);
        self.denied = calls.denied as usize;
    }

    pub(super) fn set(&mut self, id: &str, stage: Stage) {
        if let Some(step) = self.steps.iter_mut().rev().find(|step| step.id == id) {
            step.stage = stage;
        }
    }

    /// What a call of its agent is about.
    pub(super) fn subject(&self, id: &str) -> Option<&str> {
        self.steps.iter().rev().find(|step| step.id == id).map(|step| step.title.subject.as_str())
    }

    /// What that call is called where it was not carried out.
    pub(super) fn verb(&self, id: &str) -> Option<&'static str> {
        self.steps.iter().rev().find(|step| step.id == id).map(|step| step.title.plain)
    }

    /// How many are no longer kept.
    pub(super) fn gone(&self) -> usize {
        if self.counted { 0 } else { self.calls.saturating_sub(self.steps.len()) }
    }

    pub(super) fn bytes(&self) -> usize {
        let message = |step: &Step| match &step.stage {
            Stage::Ended(ended) => ended.message.as_ref().map_or(0, String::len),
            Stage::Requested | Stage::Asked | Stage::Running => 0,
        };
        let bytes = |step: &Step| std::mem::size_of::<Step>() + step.title.subject.len() + message(step);
        self.steps.iter().map(bytes).sum()
    }
}

impl Step {
    /// Verb, what it is about, and what is to be said of it.
    pub(super) fn words(&self) -> (&'static str, &str, &str) {
        let Title { doing, done, plain, subject, .. } = &self.title;
        let (verb, state) = match &self.stage {
            Stage::Requested => (plain, ""),
            Stage::Asked => (plain, "needs your approval"),
            Stage::Running => (doing, ""),
            Stage::Ended(ended) if ended.undone => (plain, ended.words.as_str()),
            Stage::Ended(ended) => (done, ended.words.as_str()),
        };
        (verb, subject, state)
    }

    pub(super) fn ended(&self) -> Option<&Ended> {
        match &self.stage {
            Stage::Ended(ended) => Some(ended),
            Stage::Requested | Stage::Asked | Stage::Running => None,
        }
    }
}
