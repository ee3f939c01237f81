//! One call from its request to its end, and what is kept of it: enough to be drawn and to be read in the pager.

use std::path::Path;
use std::time::{Duration, Instant};

use zdx_protocol::display::titles::{self, Ended, Title};
use zdx_protocol::display::{Gap, visible_line};
use zdx_protocol::{CallKind, CallOrigin, Decision, NoticeLevel};

use super::spilled::SpilledPieces;
use super::tail::Tail;
use super::task::Task;

/// Of what one call brought; the end of it is kept.
const MOST_BYTES: usize = 200_000;
/// How a call ends that was broken off.
pub(super) const INTERRUPTED: &str = "interrupted";
/// Whoever waited so long for a command wants to see what it said.
const WAITED: Duration = Duration::from_secs(5);
/// Of the answers to questions in a task.
const MOST_ANSWERS: usize = 50;

#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) title: Title,
    pub(super) origin: CallOrigin,
    /// Its result is shown elsewhere: the list of todos, which is pinned.
    pub(super) elsewhere: bool,
    /// Its diff names its files, of which there may be several.
    pub(super) files: bool,
    /// It may have done anything: a command, another program's tool, what another agent did itself.
    pub(super) runs: bool,
    pub(super) stage: Stage,
    pub(super) tail: Tail,
    /// Somebody was asked about it; what it wanted to change, as it was shown then.
    pub(super) asked: bool,
    pub(super) proposed: Option<String>,
    /// How a person refused it.
    pub(super) denied: Option<String>,
    /// A person let it happen this once.
    pub(super) allowed: bool,
    /// Other questions about it that were answered: allowed or not, and in which words.
    pub(super) answers: Vec<(bool, String)>,
    /// Of an agent that works for it.
    pub(super) task: Task,
    /// It was given to an agent, whose report is a text to be read.
    pub(super) reports: bool,
    /// What it proved, when it was a check.
    pub(super) check: Option<(NoticeLevel, String)>,
}

#[derive(Debug)]
pub(super) enum Stage {
    Requested,
    Asked,
    Running { since: Instant },
    Ended(Box<End>),
}

#[derive(Debug, Default)]
pub(super) struct End {
    pub(super) ended: Ended,
    /// Unknown of what happened before a session was resumed.
    pub(super) took: Option<Duration>,
    /// Unknown as well.
    pub(super) at: Option<Instant>,
    /// What kind of call it was, where it is known to change nothing.
    pub(super) reads: Option<CallKind>,
    pub(super) output: Kept,
    /// Where all of the output is, when `output` is only a part of it.
    pub(super) spilled: Option<SpilledPieces>,
    pub(super) diff: Option<String>,
}

/// A text of which the beginning may be gone.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) text: String,
    /// Of all that there was, as far as it came here.
    pub(super) lines: usize,
    /// Bytes that were left out before it came here, from the middle: nobody counted their lines.
    pub(super) left_out: u64,
    pub(super) cut: bool,
}

impl Kept {
    pub(super) fn of(mut text: String) -> Self {
        let gaps: Vec<Gap> = text.lines().filter_map(Gap::read).collect();
        let known: usize = gaps.iter().filter_map(|gap| gap.lines).sum();
        let lines = text.lines().count() - gaps.len() + known;
        let left_out = gaps.iter().filter(|gap| gap.lines.is_none()).map(|gap| gap.bytes).sum();
        let cut = text.len() > MOST_BYTES;
        if cut {
            let at = text.ceil_char_boundary(text.len() - MOST_BYTES);
            let at = text[at..].find('\n').map_or(at, |newline| at + newline + 1);
            text = text[at..].to_owned();
        }
        text.shrink_to_fit();
        Self { text, lines, left_out, cut }
    }

    /// Frees what it can.
    pub(super) fn forget(&mut self) {
        self.text = String::new();
        self.cut = self.lines > 0;
    }
}

/// What calls of a kind did, and what they are counted in.
fn counted(kind: CallKind) -> Option<(&'static str, &'static str)> {
    match kind {
        CallKind::Read => Some(("Read", "file")),
        CallKind::Search => Some(("Searched", "pattern")),
        CallKind::Execute => Some(("Ran", "command")),
        CallKind::Fetch => Some(("Fetched", "page")),
        CallKind::Think => Some(("Noted", "thought")),
        CallKind::Edit | CallKind::Delete | CallKind::Move | CallKind::Other => None,
    }
}

impl Call {
    pub(super) fn new(id: &str, title: Title, origin: CallOrigin) -> Self {
        Self {
            id: id.to_owned(),
            title,
            origin,
            elsewhere: false,
            files: false,
            runs: false,
            stage: Stage::Requested,
            tail: Tail::default(),
            asked: false,
            proposed: None,
            denied: None,
            allowed: false,
            answers: Vec::new(),
            task: Task::default(),
            reports: false,
            check: None,
        }
    }

    pub(super) fn end(&self) -> Option<&End> {
        match &self.stage {
            Stage::Ended(end) => Some(end),
            Stage::Requested | Stage::Asked | Stage::Running { .. } => None,
        }
    }

    pub(super) fn spilled(&self) -> Option<&SpilledPieces> {
        self.end()?.spilled.as_ref()
    }

    pub(super) fn spilled_mut(&mut self) -> Option<&mut SpilledPieces> {
        match &mut self.stage {
            Stage::Ended(end) => end.spilled.as_mut(),
            Stage::Requested | Stage::Asked | Stage::Running { .. } => None,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.end().is_some()
    }

    pub(super) fn failed(&self) -> bool {
        self.end().is_some_and(|end| !end.ended.well)
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.stage, Stage::Running { .. })
    }

    /// What it changed is shown below it.
    pub(super) fn changed(&self) -> bool {
        self.end().is_some_and(|end| end.diff.is_some())
    }

    /// One of our own reads, lists and searches.
    pub(super) fn folds(&self) -> Option<&'static str> {
        self.title.folds.filter(|_| self.is_of_model())
    }

    fn is_of_model(&self) -> bool {
        matches!(self.origin, CallOrigin::Model | CallOrigin::Remote)
    }

    /// See [`Self::runs`].
    pub(super) fn is_run(&self) -> bool {
        self.runs && self.is_of_model()
    }

    /// It went well and is known to change nothing, so that it is told in one line with its neighbours: as what, and
    /// counted in these.
    pub(super) fn only_read(&self) -> Option<(&'static str, &'static str)> {
        let end = self.end().filter(|end| end.ended.well && !self.stands_out())?;
        match (self.folds(), end.reads.filter(|_| self.is_run())) {
            (Some(counted), _) if self.origin == CallOrigin::Model => Some((self.title.done, counted)),
            (_, Some(kind)) => counted(kind),
            (_, None) => None,
        }
    }

    /// Nothing will tell it in one line with others.
    pub(super) fn stands_alone(&self) -> bool {
        self.is_run() && self.is_over() && self.only_read().is_none()
    }

    /// Whatever comes next, it keeps its line: it went wrong, or somebody was asked about it.
    pub(super) fn stands_out(&self) -> bool {
        self.is_run() && (self.failed() || self.allowed || !self.answers.is_empty())
    }

    /// A person said yes to it.
    pub(super) fn is_allowed(&self) -> bool {
        let allowed = |(allowed, _): &(bool, String)| *allowed;
        self.task.calls == 0 && (self.allowed || self.answers.iter().any(allowed))
    }

    /// Once something follows, what it printed is no news any more.
    pub(super) fn gives_way(&self) -> bool {
        let waited = self.end().and_then(|end| end.took).is_some_and(|took| took >= WAITED);
        !self.failed() && !self.is_typed() && !waited
    }

    /// Its result is on the screen already.
    pub(super) fn is_silent(&self) -> bool {
        self.elsewhere && self.is_over() && !self.failed()
    }

    /// A person ran it, or a program of ours; no model called it.
    pub(super) fn is_typed(&self) -> bool {
        matches!(self.origin, CallOrigin::User | CallOrigin::Command)
    }

    pub(super) fn finish(
        &mut self,
        mut ended: Ended,
        took: Option<Duration>,
        output: String,
        diff: Option<String>,
    ) {
        let not_begun = (self.asked || self.denied.is_some()) && !self.is_running();
        match self.denied.take() {
            // Whoever said no knows why.
            Some(words) if ended.undone => (ended.words, ended.message) = (words, None),
            Some(_) | None => {}
        }
        if !ended.undone {
            self.proposed = None;
        }
        // How long somebody thought about it is no news.
        let took = took.filter(|_| !not_begun || !ended.undone);
        // Of a command that was stopped, what it had printed is all that is known.
        let printed = std::mem::take(&mut self.tail).whole();
        let stopped = !ended.well && output.is_empty() && self.task.calls == 0;
        let output = if stopped { printed } else { Kept::of(output) };
        let diff = diff.map(|diff| Kept::of(diff).text).filter(|diff| !diff.is_empty());
        self.stage = Stage::Ended(Box::new(End { ended, took, output, diff, ..End::default() }));
    }

    /// `about`: of a call that its agent made for a task, what that is called where it is not carried out; and what it is about.
    pub(super) fn answered(
        &mut self,
        decision: &Decision,
        grant: Option<&str>,
        by: Option<&str>,
        about: (Option<&str>, &str),
        root: Option<&Path>,
    ) {
        let (verb, what) = about;
        match decision {
            // The line of the call says what was allowed.
            Decision::AllowOnce if by.is_none() && what == self.title.subject => self.allowed = true,
            Decision::Deny { word } => {
                let why = word.as_deref().map(|word| format!(": {}", visible_line(word)));
                let words = format!("denied{}", why.unwrap_or_default());
                match verb {
                    Some(verb) => self.answer(false, format!("{verb} {what} · {words}")),
                    None => self.denied = Some(words),
                }
            }
            Decision::AllowOnce | Decision::AllowAlways { .. } => {
                let (allowed, words) = titles::answered(decision, grant, by, what, root);
                self.answer(allowed, words);
            }
        }
    }

    fn answer(&mut self, allowed: bool, words: String) {
        if self.answers.len() < MOST_ANSWERS {
            self.answers.push((allowed, words));
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let of_end = |end: &End| {
            let spilled = end.spilled.as_ref().map_or(0, SpilledPieces::bytes);
            end.output.text.len() + end.diff.as_ref().map_or(0, String::len) + spilled
        };
        let end = self.end().map_or(0, of_end);
        end + self.proposed.as_ref().map_or(0, String::len)
            + self.title.subject.len()
            + self.task.bytes()
            + std::mem::size_of::<Self>()
    }

    pub(super) fn forget(&mut self) {
        self.task.steps = Vec::new();
        if let Stage::Ended(end) = &mut self.stage {
            end.output.forget();
            end.spilled = None;
            if end.diff.take().is_some() || self.proposed.take().is_some() {
                end.output.cut = true;
            }
        }
    }
}
