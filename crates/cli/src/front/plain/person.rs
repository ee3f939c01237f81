//! What a person reads on a terminal: the lines of `zdx_tui::plain`, between them the answer as it streams, what typed
//! commands print as it comes, and one quiet line about what goes on.

use std::time::Instant;

use zdx_protocol::display::labels;
use zdx_protocol::{CallOrigin, Event, SessionInfo, TurnState};

use super::Plain;
use crate::output::Page;
use crate::terminal;
use crate::words;

impl Plain {
    pub(super) fn tell_person(&mut self, event: &Event, page: &mut Page) {
        match event {
            Event::SessionStarted(info) => self.greet(info, page),
            // What broke off and does not go on ends here.
            Event::Error { .. } | Event::Interrupted => self.stays_broken(page),
            Event::TurnFinished(_) => self.rest(page),
            _ => {}
        }
        let shown = self.shown_before(event);
        if let Some(lines) = &mut self.lines {
            lines.apply(shown.as_ref().unwrap_or(event), Instant::now());
        }
        self.follow(event);
        self.settle(page);
        match event {
            Event::AssistantDelta { text } => self.text(text, page),
            Event::AssistantFinal { text, partial, .. } => self.message_done(text, *partial, page),
            Event::ToolRequested { id, input, origin, name, .. } => match origin {
                CallOrigin::User | CallOrigin::Command | CallOrigin::Check => {
                    self.requested(id, name, input, *origin, page);
                }
                CallOrigin::Model | CallOrigin::Remote | CallOrigin::Subagent => {}
            },
            Event::ToolProgress { id, chunk } if self.commands.contains_key(id) => self.foreign(chunk, page),
            Event::ToolFinished { id, name, result, origin, .. } => match origin {
                CallOrigin::User | CallOrigin::Command | CallOrigin::Check => {
                    self.finished(id, name, result, *origin, page);
                }
                CallOrigin::Model | CallOrigin::Remote | CallOrigin::Subagent => {}
            },
            Event::ShellFinished { shell, .. } => {
                if let Some(ending) = labels::bad_ending(&shell.end) {
                    self.status(&ending, page);
                }
            }
            Event::Retrying { .. } => self.retrying(event, page),
            _ => {}
        }
    }

    /// The end of a call whose change stood in the question about it, without the diff: once is enough.
    fn shown_before(&mut self, event: &Event) -> Option<Event> {
        match event {
            Event::ApprovalRequested(request) => {
                self.asked.insert(request.id.clone());
                None
            }
            Event::ToolFinished {
                id,
                name,
                origin,
                result,
                content,
                diff: Some(_),
                duration_ms,
                reads,
                beside,
            } => self.asked.remove(id).then(|| Event::ToolFinished {
                id: id.clone(),
                name: name.clone(),
                origin: *origin,
                result: result.clone(),
                content: content.clone(),
                diff: None,
                duration_ms: *duration_ms,
                reads: *reads,
                beside: beside.clone(),
            }),
            Event::TurnFinished(_) => {
                self.asked.clear();
                None
            }
            _ => None,
        }
    }

    /// Prints what has become final.
    fn settle(&mut self, page: &mut Page) {
        let Some(lines) = &mut self.lines else { return };
        let text = lines.settled(terminal::width());
        if !text.is_empty() {
            // In a pipe a message ends where it ends.
            if self.terminal.shared {
                self.end_text(page);
            }
            self.ask(&text, page);
        }
    }

    /// What the activity line says.
    fn follow(&mut self, event: &Event) {
        let doing = self.lines.as_ref().and_then(zdx_tui::plain::Lines::doing);
        self.on_activity(|activity, now| match event {
            Event::SessionStarted(info) => activity.model(&info.model),
            Event::ModelChanged { model } => activity.model(model),
            Event::StateChanged { state } => activity.state(*state, now),
            Event::ToolStarted { name, origin, .. } if *origin != CallOrigin::Subagent => {
                activity.running(doing.as_deref().unwrap_or(name), now);
            }
            Event::TurnFinished(_) => activity.state(TurnState::Done, now),
            _ => {}
        });
    }

    fn greet(&mut self, info: &SessionInfo, page: &mut Page) {
        self.status(&words::start_line(info, self.home.as_deref()), page);
    }
}
