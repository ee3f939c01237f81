//! The reducer: what each event does to the conversation.

use std::time::Instant;

use zdx_protocol::display::approval::{folder_added, grant_words};
use zdx_protocol::display::context::PrunedTotals;
use zdx_protocol::display::titles;
use zdx_protocol::display::{context, labels, turns, visible_line};
use zdx_protocol::{
    AttachedContent, CheckResult, Checked, ErrorKind, Event, NoticeLevel, Outcome, Todo, TodoStatus,
    TurnSummary, Usage,
};

use super::call::{Call, INTERRUPTED, Kept, Stage};
use super::called::Told;
use super::cell::{Cell, Item, Known, NoteKind, Text};
use super::task;
use super::{Conversation, Did};

/// Below an answer that came in several pieces.
const CONTINUED: &str = "the connection broke in the middle of this answer; it went on where it stopped";

/// Below an error that ended a turn, where a person sits: what can be done, by what the turn had done.
fn try_again(did: Did) -> &'static str {
    match did {
        Did::Nothing => "/retry asks again",
        Did::Something => "`go on` continues from here; /retry takes this turn back and asks again",
        Did::Files => "`go on` continues from here; /retry takes this turn back, files too, and asks again",
    }
}

impl Conversation {
    pub(crate) fn apply(&mut self, event: &Event, now: Instant) {
        if let Event::Replayed { event } = event {
            self.past = true;
            self.tell(event, now);
            return;
        }
        // What was told again is over, whatever its end was.
        if std::mem::take(&mut self.past) {
            self.close_turn(Known::Answer, None);
        }
        self.tell(event, now);
    }

    fn tell(&mut self, event: &Event, now: Instant) {
        match event {
            Event::SessionStarted(info) => self.root = Some(info.root.clone()),
            Event::TurnStarted { prompt, .. } => self.turn_started(prompt),
            Event::ReasoningDelta { text } => self.think(text, now),
            Event::ReasoningFinal(reasoning) => self.thought_whole(reasoning, now),
            Event::AssistantDelta { text } => self.write(text, now),
            Event::AssistantFinal { text, partial, continues } => {
                self.did = self.did.max(Did::Something);
                self.written(text, *partial, *continues, now);
            }
            Event::ToolAnnounced { id, name } => self.announce(id, name, now),
            Event::ToolGrew { id, path, bytes } => self.grew_to(id, path.as_deref(), *bytes),
            Event::ToolRequested { id, name, input, origin, parent, .. } => {
                self.did = self.did.max(Did::Something);
                self.requested(id, name, input, *origin, parent.as_deref(), now);
            }
            Event::ApprovalRequested(request) => self.on_call(&request.id, |call| {
                call.stage = Stage::Asked;
                call.task.set(&request.id, task::Stage::Asked);
                if call.id == request.id {
                    call.asked = true;
                    let diff = request.action.diff(&request.preview);
                    call.proposed = diff.map(|diff| Kept::of(diff.to_owned()).text);
                }
            }),
            Event::ApprovalWithdrawn { id, .. } => self.on_call(id, |call| {
                call.task.set(id, task::Stage::Requested);
                if matches!(call.stage, Stage::Asked) {
                    call.stage = Stage::Requested;
                }
            }),
            Event::ApprovalResolved { id, decision, grant, by, .. } => {
                let root = self.root.clone();
                self.on_call(id, |call| {
                    let what = call.task.subject(id).unwrap_or(&call.title.subject).to_owned();
                    let verb = call.task.verb(id).filter(|_| call.id != *id);
                    call.task.set(id, task::Stage::Requested);
                    call.answered(decision, grant.as_deref(), by.as_deref(), (verb, &what), root.as_deref());
                    if matches!(call.stage, Stage::Asked) {
                        call.stage = Stage::Requested;
                    }
                });
            }
            Event::ToolStarted { id, .. } => {
                self.retry = None;
                self.on_call(id, |call| {
                    call.task.set(id, task::Stage::Running);
                    if call.id == *id || !call.is_running() {
                        call.stage = Stage::Running { since: now };
                    }
                });
            }
            Event::ToolProgress { id, chunk } => self.on_call(id, |call| {
                // What an agent's commands print is that agent's to read.
                if call.id == *id {
                    call.tail.push(chunk);
                }
            }),
            Event::ToolFinished { id, name, result, diff, duration_ms, reads, beside, .. } => {
                let (diff, beside) = (diff.as_deref(), beside.as_deref());
                let told = Told { diff, took_ms: *duration_ms, reads: *reads, beside };
                self.finished(id, name, result, told, now);
            }
            Event::TodosChanged { items, draft } => self.todos_changed(items, *draft),
            Event::ShellFinished { text, shell } => self.ran(text, shell),
            Event::Checked(checked) => self.checked(checked),
            // The countdown stands in the status row; here is room for all that the server said.
            Event::Retrying { reason, continues, .. } => {
                let what = if *continues { "; the answer goes on where it stopped" } else { "" };
                self.announced.clear();
                self.retry = Some(format!("{}{what}", visible_line(reason)));
            }
            Event::Error { kind, message, details, .. } => {
                self.told = true;
                self.thought_over(now);
                let checked = *kind == ErrorKind::Check;
                self.known(if checked { Known::Answer } else { Known::Neither });
                // What a check said stands below its call.
                let details = details.as_deref().filter(|_| !checked).unwrap_or_default();
                self.push(Cell::Note(NoteKind::Failed, format!("{}\n{details}", message.replace('\n', " "))));
            }
            Event::Interrupted => {
                self.thought_over(now);
                self.known(Known::Neither);
                self.push(Cell::Note(NoteKind::Warning, INTERRUPTED.to_owned()));
            }
            Event::TurnFinished(summary) => self.turn_finished(summary, now),
            Event::Notice { level, message, .. } => self.notice(*level, message),
            Event::Reverted { turn, files, left } => {
                self.quiet(labels::reverted(*turn, files, left.as_ref(), self.root.as_deref()));
            }
            Event::Redone { turn, files } => {
                self.quiet(labels::redone(*turn, files, self.root.as_deref()));
            }
            Event::ModelChanged { model } => self.quiet(format!("model: {model}")),
            // The first row of the conversation has said who answers.
            Event::RemoteSession { .. } => {}
            Event::AgentChanged { agent } => self.quiet(format!("agent: {agent}")),
            // The status row says it where there is one.
            Event::ApprovalChanged { .. } if !self.place.in_lines => {}
            Event::ApprovalChanged { approval } => {
                self.quiet(format!("approval: {}, {}", approval.name(), approval.meaning()));
            }
            Event::FolderAdded { path } => self.quiet(folder_added(path)),
            Event::GrantRevoked { grant } => {
                self.quiet(format!("no longer allowed: {}", grant_words(grant, self.root.as_deref())));
            }
            Event::CheckTold(state) => self.quiet(labels::check_told(state)),
            Event::Exported { path } => self.quiet(format!("written to {}", path.display())),
            // On a screen it stands below the prompt that wants it, which comes next.
            Event::Attached(AttachedContent { label, .. }) if !self.place.in_lines => {
                self.attached.push(format!("attached {label}"))
            }
            Event::Attached(AttachedContent { label, .. }) => self.quiet(format!("attached {label}")),
            Event::Compacted(compacted) => self.quiet(context::compacted(&compacted.0)),
            Event::Pruned { calls, images, bytes } => {
                self.pruned.add(PrunedTotals::new(calls, images, *bytes));
            }
            Event::InputCut { cuts } => self.quiet(context::cut(cuts)),
            Event::McpChanged(server) if server.error.is_some() => {
                self.notice(NoticeLevel::Warning, &server.fault());
            }
            Event::ToolsChanged { added, removed } => self.quiet(context::tools_changed(added, removed)),
            Event::Replayed { event } => self.tell(event, now),
            Event::FileChanged { .. } => self.did = Did::Files,
            Event::FileChangeIntended { .. } | Event::FileChangeDropped { .. } => {}
            // The status row, the dialogs and whoever sent a command show these.
            Event::StateChanged { .. }
            | Event::McpChanged(_)
            | Event::TrustRequested(_)
            | Event::TrustResolved { .. }
            | Event::Reminded { .. }
            | Event::ContextUsage(_)
            | Event::UsageReported(_)
            | Event::Done { .. }
            | Event::Reply { .. } => {}
        }
    }

    fn turn_started(&mut self, prompt: &str) {
        self.close_turn(Known::Answer, None);
        self.in_turn = true;
        (self.told, self.thought_told, self.did) = (false, false, Did::Nothing);
        // In line mode it stands where it was typed.
        if self.past || !self.place.in_lines {
            self.push(Cell::Prompt(prompt.to_owned()));
        }
        // Behind a turn that was stopped the next need not even end: whoever goes on with the list touches it.
        self.todos_untouched += if std::mem::take(&mut self.stopped) { 2 } else { 1 };
        std::mem::take(&mut self.attached).into_iter().for_each(|label| self.quiet(label));
    }

    fn turn_finished(&mut self, summary: &TurnSummary, now: Instant) {
        self.thought_over(now);
        self.stopped = summary.outcome == Outcome::Interrupted;
        let known = match summary.outcome {
            Outcome::Completed | Outcome::CheckFailed => Known::Answer,
            // Broken off, it was neither.
            Outcome::Interrupted | Outcome::MaxSteps | Outcome::RepeatedCalls | Outcome::Error => {
                Known::Neither
            }
        };
        // A command that a person typed says itself how long it took.
        let told = summary.usage == Usage::default() && matches!(self.cells.last(), Some(Cell::Call(_)));
        let cost = turns::cost(summary)
            .filter(|_| !told && (self.ends_in_a_row(known) || !turns::is_short(summary)));
        let again = summary.outcome == Outcome::Error && !self.place.in_lines && !self.past;
        let pruned = self.pruned.take().map(context::pruned_in_turn);
        let words = cost
            .into_iter()
            .chain(pruned)
            .chain(again.then(|| try_again(self.did).to_owned()))
            .collect::<Vec<_>>();
        self.close_turn(known, (!words.is_empty()).then(|| words.join(" · ")));
        // On a screen each of them stands where it was asked for.
        if summary.denied > 0 && self.place.in_lines {
            self.quiet(turns::denials(summary.denied));
        }
        if let Some(why) = turns::failed(summary.outcome).filter(|_| !self.told) {
            self.push(Cell::Note(NoteKind::Failed, why.to_owned()));
        }
    }

    /// A row that says how the turn ended stands there anyway: its time can be told beside it.
    fn ends_in_a_row(&mut self, known: Known) -> bool {
        let marks = self.place.marks && known == Known::Answer;
        let answered = self.open_text().is_some_and(|text| !text.source.trim().is_empty());
        let stopped =
            |cell: &Cell| matches!(cell, Cell::Note(NoteKind::Warning, note) if note == INTERRUPTED);
        marks && answered || self.cells.last().is_some_and(stopped)
    }

    /// Nothing of the turn goes on.
    fn close_turn(&mut self, known: Known, cost: Option<String>) {
        let marks = self.place.marks;
        let left = match self.open_text() {
            Some(text) if marks && known == Known::Answer && !text.source.trim().is_empty() => {
                text.cost = cost;
                None
            }
            Some(_) | None => cost,
        };
        self.known(known);
        for cell in &mut self.cells[self.given..] {
            match cell {
                Cell::Call(call) => broken_off(call),
                Cell::Fold(items) => items.iter_mut().filter_map(Item::call_mut).for_each(broken_off),
                _ => {}
            }
        }
        self.announced.clear();
        self.retry = None;
        self.in_turn = false;
        let open = self.given < self.cells.len();
        match (left, self.cells.last_mut()) {
            (None, _) => {}
            (Some(cost), Some(Cell::Note(NoteKind::Warning, note))) if open && note == INTERRUPTED => {
                *note = format!("{note} · {cost}");
            }
            // A number alone would say nothing.
            (Some(cost), _) if cost.starts_with(|c: char| c.is_ascii_digit()) => {
                self.quiet(format!("took {cost}"))
            }
            (Some(cost), _) => self.quiet(cost),
        }
    }

    fn write(&mut self, delta: &str, now: Instant) {
        self.retry = None;
        self.thought_over(now);
        if self.open_text().is_none_or(|text| text.over) {
            self.known(Known::Neither);
            self.text = Some(self.cells.len());
            self.push(Cell::Text(Text { stream: Some(Box::default()), ..Text::default() }));
        }
        let elsewhere = self.place.in_lines && !self.past;
        if let Some(text) = self.open_text() {
            text.source.push_str(delta);
            if let Some(stream) = text.stream.as_mut().filter(|_| !elsewhere) {
                stream.push(delta);
            }
        }
        self.grew(delta.len());
    }

    fn written(&mut self, whole: &str, partial: bool, continues: bool, now: Instant) {
        let streamed = self.open_text().is_some_and(|text| !text.over && !text.source.is_empty());
        // Told again, what goes on stands behind what broke off.
        let more = continues && self.past;
        if (!streamed || more) && !whole.is_empty() {
            self.write(whole, now);
        }
        if let Some(text) = self.open_text().filter(|_| !partial) {
            finish(text);
        }
        // In lines the retry itself was told.
        if continues && !partial && !self.place.in_lines {
            self.quiet(CONTINUED.to_owned());
        }
    }

    /// What the last text was, and so that no more of it comes.
    pub(super) fn known(&mut self, known: Known) {
        let marks = self.place.marks;
        let Some(text) = self.open_text() else { return };
        finish(text);
        text.known = if text.source.trim().is_empty() || !marks { Known::Neither } else { known };
        self.text = None;
    }

    fn checked(&mut self, checked: &Checked) {
        match checked.result {
            // It was meant to be the answer, and is not the last word.
            CheckResult::Failed => self.known(Known::Neither),
            CheckResult::Passed | CheckResult::GivenUp | CheckResult::NotRun { .. } => {}
        }
        let (level, words) = labels::checked(checked);
        let mut found = false;
        self.on_call(&checked.id, |call| {
            found = true;
            call.check = Some((level, words.clone()));
        });
        match checked.result {
            _ if found => {}
            // The error that ends the turn says it, with what the check said.
            CheckResult::GivenUp => {}
            CheckResult::Passed | CheckResult::Failed | CheckResult::NotRun { .. } => {
                self.notice(level, &words)
            }
        }
    }

    fn todos_changed(&mut self, items: &[Todo], draft: bool) {
        // Nobody's list yet; /todo shows it.
        if draft {
            return;
        }
        let done = |items: &[Todo]| items.iter().all(|item| item.status == TodoStatus::Completed);
        let news = self.todos.as_slice() != items;
        self.todos_untouched = 0;
        let finished = !items.is_empty() && done(items) && !done(&self.todos);
        // Pinned, it is gone with the turns: what was planned stays where it was said.
        let begun = self.todos.is_empty() && !items.is_empty();
        self.todos = items.to_vec();
        if news && (begun || finished || self.place.in_lines) {
            self.push(Cell::Todos(items.to_vec()));
        }
    }

    fn notice(&mut self, level: NoticeLevel, message: &str) {
        let kind = match level {
            NoticeLevel::Info => NoteKind::Quiet,
            NoticeLevel::Warning => NoteKind::Warning,
        };
        self.push(Cell::Note(kind, message.to_owned()));
    }

    fn quiet(&mut self, text: String) {
        self.push(Cell::Note(NoteKind::Quiet, text));
    }
}

fn finish(text: &mut Text) {
    text.over = true;
    if let Some(stream) = &mut text.stream {
        stream.finish();
    }
}

/// A call that nobody will hear of any more.
fn broken_off(call: &mut Call) {
    if !call.is_over() {
        let words = INTERRUPTED.to_owned();
        let ended = titles::Ended { well: false, undone: true, words, message: None };
        call.finish(ended, None, String::new(), None);
    }
}
