//! The life of a call as everybody is told it: requested, started, finished, under one id, whoever asked for it.
//! (The field says tool-call lifecycle events.)

use std::time::Duration;

use zdx_protocol::display::diff::{CUT, first_changed_line};
use zdx_protocol::record::{Beside, millis};
use zdx_protocol::{
    Action, CallKind, CallOrigin, Content, Event, NoticeLevel, Preview, ToolCall, ToolError, ToolOutput,
};

use crate::call::TurnIo;
use zdx_workspace::MadeChange;

const DIFF_LIMIT: usize = 32 << 10;

/// How a call ended.
pub(crate) struct Finish {
    pub output: ToolOutput,
    /// Images that came with it.
    pub content: Vec<Content>,
    /// What it was to change in files; of one that failed it is not told.
    pub diff: Option<String>,
    pub took: Duration,
    /// What kind of call it was, where it is proven to only read.
    pub reads: Option<CallKind>,
    /// What else is known of it.
    pub beside: Option<Box<Beside>>,
}

impl Finish {
    /// Of one that was not run.
    pub(crate) fn nothing(error: ToolError) -> Self {
        let output = ToolOutput::Err(error);
        Self { output, content: Vec::new(), diff: None, took: Duration::ZERO, reads: None, beside: None }
    }
}

pub(crate) async fn requested(call: &ToolCall, origin: CallOrigin, io: &TurnIo) {
    io.session.events.emit(Event::requested(call, origin)).await;
}

/// What a call is about to do.
pub(crate) struct Start<'a> {
    pub action: &'a Action,
    pub preview: &'a Preview,
    /// Where in its file it begins to look.
    pub line: Option<u64>,
}

pub(crate) async fn started(call: &ToolCall, origin: CallOrigin, start: Start<'_>, io: &TurnIo) {
    let Start { action, preview, line } = start;
    let line = line.or_else(|| action.diff(preview).and_then(first_changed_line));
    let event = Event::ToolStarted {
        id: call.id.clone(),
        name: call.name.clone(),
        origin,
        kind: action.kind(preview),
        locations: action.locations(line),
        preview: preview.clone(),
    };
    io.session.events.emit(event).await;
}

/// Effects come before the result, and are saved before anybody hears of it: neither a list that was changed nor the way
/// back from a changed file is ever lost to a crash.
pub(crate) async fn finished(call: &ToolCall, origin: CallOrigin, finish: Finish, io: &TurnIo) {
    if let Some(items) = io.session.state.tools.todos.take_change() {
        io.session.events.emit(Event::TodosChanged { items, draft: false }).await;
    }
    let (changes, trouble) = io.session.workspace().journal().take();
    for MadeChange { owner, change, recorded } in changes {
        // Whoever works for a call does it in that call's name; all else was done by the only one that ran.
        let id = owner.unwrap_or_else(|| call.id.clone());
        let event = Event::FileChanged { id, change };
        match recorded {
            true => io.session.events.tell(event).await,
            false => io.session.events.emit(event).await,
        }
    }
    for trouble in trouble.into_iter().chain(io.session.workspace().take_lock_weakness()) {
        io.session.events.notice(NoticeLevel::Warning, trouble).await;
    }
    let Finish { output, content, diff, took, reads, beside } = finish;
    let diff = diff.filter(|_| output.is_ok()).map(bounded);
    let event = Event::ToolFinished {
        id: call.id.clone(),
        name: call.name.clone(),
        origin,
        result: output,
        content,
        diff,
        duration_ms: millis(took),
        reads,
        beside,
    };
    io.session.events.emit(event).await;
}

/// It is saved with every change: enough of it to be looked at again, not another copy of the file.
fn bounded(mut diff: String) -> String {
    if diff.len() > DIFF_LIMIT {
        diff.truncate(diff.floor_char_boundary(DIFF_LIMIT));
        diff.push_str(&format!("\n{CUT}\n"));
    }
    diff
}
