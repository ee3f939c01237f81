//! What events of calls do to the conversation: where a call is put, what is learned of it later, and how it ended.

use std::time::{Duration, Instant};

use serde_json::Value;
use zdx_protocol::display::titles::{self, Title};
use zdx_protocol::display::{plain, visible_line};
use zdx_protocol::record::{Beside, Shell, TaskAnswer};
use zdx_protocol::{CallKind, CallOrigin, ToolOutput, facts};

use super::Conversation;
use super::call::{Call, Stage};
use super::cell::{Cell, Item, Known};
use super::folds;
use super::spilled::SpilledPieces;

/// What is told of a call's end besides its result.
pub(super) struct Told<'a> {
    pub(super) diff: Option<&'a str>,
    pub(super) took_ms: u64,
    pub(super) reads: Option<CallKind>,
    pub(super) beside: Option<&'a Beside>,
}

impl Conversation {
    pub(super) fn requested(
        &mut self,
        id: &str,
        name: &str,
        input: &Value,
        origin: CallOrigin,
        parent: Option<&str>,
        now: Instant,
    ) {
        self.retry = None;
        self.announced.retain(|announced| announced.id != id);
        let title = match origin {
            CallOrigin::Remote => titles::remote(name, input, self.root.as_deref()),
            CallOrigin::Model
            | CallOrigin::User
            | CallOrigin::Command
            | CallOrigin::Check
            | CallOrigin::Subagent => titles::title(name, input, self.root.as_deref()),
        };
        if origin == CallOrigin::Subagent {
            self.in_task(id, parent, &title);
            return;
        }
        self.thought_over(now);
        if matches!(origin, CallOrigin::Model | CallOrigin::Remote) {
            self.known(Known::Plan);
        }
        // Line mode shows what these print as it comes.
        if self.place.in_lines && matches!(origin, CallOrigin::User | CallOrigin::Command | CallOrigin::Check)
        {
            return;
        }
        let mut call = Call::new(id, title, origin);
        call.elsewhere = facts::TODOWRITE.is(name);
        call.files = facts::PATCH.is(name);
        call.reports = facts::TASK.is(name) && origin == CallOrigin::Model;
        let known = facts::called(name, input.as_object());
        let is_known = |facts: &facts::ToolFacts| match origin {
            // What another agent's own tools are called proves nothing.
            CallOrigin::Remote => facts.title.folds.is_none(),
            CallOrigin::Model
            | CallOrigin::User
            | CallOrigin::Command
            | CallOrigin::Check
            | CallOrigin::Subagent => true,
        };
        call.runs = !self.place.in_lines
            && !known.is_some_and(|facts| facts.name != facts::BASH.name && is_known(facts));
        self.place(call);
    }

    fn place(&mut self, call: Call) {
        let open = self.given < self.cells.len();
        let in_run = call.folds().is_some() || call.is_run();
        match self.cells.last_mut() {
            // A list that is pinned interrupts nothing.
            Some(Cell::Fold(items)) if open && (in_run || call.elsewhere) && folds::goes_on(items) => {
                let bytes = call.bytes();
                items.push(Item::Call(Box::new(call)));
                self.grew(bytes);
            }
            _ if in_run => self.push(Cell::Fold(vec![Item::Call(Box::new(call))])),
            _ => self.push(Cell::Call(Box::new(call))),
        }
    }

    fn in_task(&mut self, id: &str, parent: Option<&str>, title: &Title) {
        let Some(parent) = parent else { return };
        let mut bytes = 0;
        self.on_call(parent, |call| {
            let before = call.bytes();
            call.task.begin(id, title);
            bytes = call.bytes().saturating_sub(before);
        });
        self.grew(bytes);
    }

    /// The call of this id, or the task that it belongs to: calls of a task are named `TASK/ID`.
    pub(super) fn on_call(&mut self, id: &str, change: impl FnOnce(&mut Call)) {
        let known = |id: &str| {
            let has = |cell: &Cell| cell.calls().any(|call| call.id == id);
            self.cells[self.given..].iter().position(has).map(|at| self.given + at)
        };
        let parent = id.split_once('/').map(|(parent, _)| parent);
        let Some((at, id)) =
            known(id).map(|at| (at, id)).or_else(|| parent.and_then(|id| Some((known(id)?, id))))
        else {
            return;
        };
        if let Some(call) = self.cells[at].call_mut(id) {
            change(call);
        }
    }

    pub(super) fn finished(
        &mut self,
        id: &str,
        name: &str,
        result: &ToolOutput,
        told: Told<'_>,
        now: Instant,
    ) {
        let Told { diff, took_ms, reads, beside } = told;
        // Of what happened long ago it may be unknown.
        let took = (!self.past || took_ms > 0).then(|| Duration::from_millis(took_ms));
        let at = (!self.past).then_some(now);
        let (past, root) = (self.past, self.root.clone());
        let mut bytes = 0;
        self.on_call(id, |call| {
            let before = call.bytes();
            if call.id != id {
                let denied = result.is_refused();
                call.task.end(id, titles::ended(name, result), denied);
                bytes = call.bytes().saturating_sub(before);
                return;
            }
            if let Some(calls) = beside.and_then(|beside| beside.task) {
                call.task.count(calls);
            }
            // Of what happens now each was told when it was given.
            for given in beside.filter(|_| past).map_or(&[][..], |beside| &beside.answers) {
                let TaskAnswer { tool, about, decision, grant, by } = given;
                let (verb, what) = (titles::title(tool, &Value::Null, None).plain, visible_line(about));
                let (grant, by) = (grant.as_deref(), by.as_deref());
                call.answered(decision, grant, by, (Some(verb), &what), root.as_deref());
            }
            let order = beside.map_or(&[][..], |beside| &beside.order);
            let output = titles::brought(name, result, order);
            call.finish(titles::ended(name, result), took, output, diff.map(str::to_owned));
            if let Stage::Ended(end) = &mut call.stage {
                (end.at, end.reads, end.spilled) = (at, reads, SpilledPieces::of(result));
            }
            bytes = call.bytes().saturating_sub(before);
        });
        self.grew(bytes);
    }

    /// A command that a person typed has ended. Where its call was told there is nothing to add.
    pub(super) fn ran(&mut self, text: &str, shell: &Shell) {
        if !self.past {
            return;
        }
        let title = Title {
            subject: plain(&shell.command).into_owned(),
            ..titles::title(facts::BASH.name, &Value::Null, None)
        };
        let mut call = Call::new("", title, CallOrigin::User);
        let took = shell.duration_ms.map(Duration::from_millis);
        call.finish(titles::shell_ended(&shell.end), took, titles::shell_printed(text, shell), None);
        self.push(Cell::Call(Box::new(call)));
    }
}
