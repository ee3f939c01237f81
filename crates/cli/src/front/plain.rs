//! The line renderer: assistant text on stdout as it streams, everything else on stderr.
//! Text is never held back; foreign text is cleaned before it meets a terminal, and left alone in a pipe. On a terminal
//! a person reads the lines of `zdx_tui::plain` (`person`); a program reads the ones that are a contract (here).

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::time::Instant;

use zdx_protocol::display::approval::{folder_added, grant_words};
use zdx_protocol::display::context::PrunedTotals;
use zdx_protocol::display::{Colours, Sanitizer, context, labels, plain, typed_command};
use zdx_protocol::facts::BASH;
use zdx_protocol::{
    AttachedContent, CallOrigin, CheckResult, Event, NoticeLevel, ToolCode, ToolOutput, TurnSummary,
};
use zdx_tui::plain::{Lines, Words};

use super::activity::Activity;
use crate::output::Page;
use crate::terminal::{self, Terminal};
use crate::words;

pub struct Plain {
    terminal: Terminal,
    home: Option<PathBuf>,
    /// Where the session works.
    root: Option<PathBuf>,
    activity: Option<Activity>,
    sanitizer: Sanitizer,
    /// Something of the current message was shown.
    streamed: bool,
    /// The last message broke off, and its line is still open.
    broken: bool,
    /// stdout ends with a newline, or is empty.
    line_closed: bool,
    /// The cursor of the screen that stdout and stderr share is at the start of a line.
    at_margin: bool,
    /// An error was told in this turn, so its outcome needs no second sentence.
    told: bool,
    /// What a person is told, where one reads stderr.
    lines: Option<Lines>,
    /// Where the words of an answer stand on a terminal.
    words: Option<Words>,
    /// Calls of a model that are not over: what was called, and whether others ran beside it.
    open: HashMap<String, (String, bool)>,
    /// Calls that were asked about: what they change stood in the question.
    asked: HashSet<String>,
    /// Commands that no model called for, by call: their output is shown as it comes.
    commands: HashMap<String, String>,
    /// Old outputs that left the context in this turn: how many, and their bytes.
    pruned: PrunedTotals,
}

/// Calls that are told step by step.
fn shows_steps(origin: CallOrigin) -> bool {
    matches!(origin, CallOrigin::Model | CallOrigin::Remote)
}

impl Plain {
    pub fn new(terminal: Terminal, home: Option<PathBuf>) -> Self {
        Self {
            terminal,
            home,
            root: None,
            activity: (terminal.stderr && terminal.smart).then(Activity::new),
            sanitizer: Sanitizer::new(if terminal.coloured_text { Colours::Keep } else { Colours::Strip }),
            streamed: false,
            broken: false,
            line_closed: true,
            at_margin: true,
            told: false,
            lines: terminal.stderr.then(|| Lines::new(terminal.style.colour, terminal.shared)),
            words: (terminal.stdout && terminal.smart).then(Words::default),
            open: HashMap::new(),
            asked: HashSet::new(),
            commands: HashMap::new(),
            pruned: PrunedTotals::default(),
        }
    }

    pub fn show(&mut self, event: &Event, page: &mut Page) {
        match self.lines.is_some() {
            true => self.tell_person(event, page),
            false => self.tell_program(event, page),
        }
    }

    /// Lines that scripts read: a contract.
    fn tell_program(&mut self, event: &Event, page: &mut Page) {
        match event {
            Event::TurnStarted { .. } => {
                self.told = false;
                self.open.clear();
            }
            Event::AssistantDelta { text } => self.text(text, page),
            Event::AssistantFinal { text, partial, .. } => self.message_done(text, *partial, page),
            Event::ToolRequested { id, name, input, origin, .. } => {
                self.requested(id, name, input, *origin, page);
            }
            Event::ToolProgress { id, chunk } if self.commands.contains_key(id) => self.foreign(chunk, page),
            Event::ToolFinished { id, name, result, duration_ms, origin, .. } => {
                self.finished(id, name, result, *origin, page);
                if shows_steps(*origin) {
                    self.status(&labels::done(result, *duration_ms), page);
                }
            }
            Event::ShellFinished { shell, .. } => {
                if let Some(ending) = labels::bad_ending(&shell.end) {
                    self.status(&ending, page);
                }
            }
            Event::Checked(checked) => self.checked(checked, page),
            Event::Replayed { event } => self.past(event, page),
            Event::CheckTold(state) => self.status(&labels::check_told(state), page),
            Event::Exported { path } => self.status(&format!("written to {}", path.display()), page),
            Event::ApprovalChanged { approval } => {
                self.status(&format!("approval: {}", approval.name()), page);
            }
            Event::FolderAdded { path } => {
                self.status(&folder_added(path), page);
            }
            Event::GrantRevoked { grant } => {
                self.status(
                    &format!("no longer allowed: {}", grant_words(grant, self.root.as_deref())),
                    page,
                );
            }
            Event::ModelChanged { model } => self.status(&format!("model: {model}"), page),
            Event::McpChanged(server) if server.error.is_some() => {
                self.notice(NoticeLevel::Warning, &server.fault(), page);
            }
            Event::ToolsChanged { added, removed } => {
                self.status(&context::tools_changed(added, removed), page);
            }
            Event::Compacted(compacted) => self.status(&context::compacted(&compacted.0), page),
            Event::InputCut { cuts } => self.status(&context::cut(cuts), page),
            Event::Pruned { calls, images, bytes } => {
                self.pruned.add(PrunedTotals::new(calls, images, *bytes));
            }
            Event::RemoteSession { agent, .. } => self.status(&format!("answered by {agent}"), page),
            Event::AgentChanged { agent } => self.status(&format!("agent: {agent}"), page),
            Event::Attached(AttachedContent { label, .. }) => self.status(&format!("attached {label}"), page),
            // Nobody's list yet; /todo shows it.
            Event::TodosChanged { draft: true, .. } => {}
            Event::TodosChanged { items, draft: false } => {
                for item in items {
                    self.status(&item.to_string(), page);
                }
            }
            Event::Reverted { turn, files, left } => {
                self.status(&labels::reverted(*turn, files, left.as_ref(), self.root.as_deref()), page);
            }
            Event::Redone { turn, files } => {
                self.status(&labels::redone(*turn, files, self.root.as_deref()), page)
            }
            Event::Retrying { .. } => self.retrying(event, page),
            Event::Notice { level, message, .. } => self.notice(*level, message, page),
            Event::Error { message, details, .. } => {
                self.told = true;
                self.stays_broken(page);
                self.fail(message, page);
                if let Some(details) = details {
                    self.status(details, page);
                }
            }
            Event::TurnFinished(summary) => self.turn_done(summary, page),
            Event::Interrupted => {
                self.stays_broken(page);
                self.status("interrupted", page);
            }
            Event::SessionStarted(info) => self.root = Some(info.root.clone()),
            // What a person decides is shown where it is asked; thinking, raw tool output and what an agent does for
            // another one are not for line mode; token counts come with the turn's end, the context's when asked for;
            // what answers a command is for whoever sent it.
            Event::StateChanged { .. }
            | Event::ReasoningDelta { .. }
            | Event::ReasoningFinal(_)
            | Event::ApprovalRequested(_)
            | Event::ApprovalResolved { .. }
            | Event::ApprovalWithdrawn { .. }
            | Event::TrustRequested(_)
            | Event::TrustResolved { .. }
            | Event::ToolAnnounced { .. }
            | Event::ToolGrew { .. }
            | Event::McpChanged(_)
            | Event::ToolStarted { .. }
            | Event::ToolProgress { .. }
            | Event::FileChanged { .. }
            | Event::FileChangeIntended { .. }
            | Event::FileChangeDropped { .. }
            | Event::Reminded { .. }
            | Event::Done { .. }
            | Event::Reply { .. }
            | Event::ContextUsage(_)
            | Event::UsageReported(_) => {}
        }
    }

    fn requested(
        &mut self,
        id: &str,
        name: &str,
        input: &serde_json::Value,
        origin: CallOrigin,
        page: &mut Page,
    ) {
        let command = || input["command"].as_str().unwrap_or_default().to_owned();
        match origin {
            CallOrigin::Model => {
                self.status(&labels::tool_requested(name, input), page);
                let beside = !self.open.is_empty();
                self.open.values_mut().for_each(|(_, others)| *others = true);
                self.open.insert(id.to_owned(), (labels::call(name, input), beside));
            }
            // By the agent's own program, not by us.
            CallOrigin::Remote => {
                self.status(&format!("{} (remote)", labels::tool_requested(name, input)), page);
            }
            CallOrigin::Check => {
                self.status(&format!("checking: {}", command()), page);
                self.commands.insert(id.to_owned(), command());
            }
            CallOrigin::User | CallOrigin::Command => {
                self.commands.insert(id.to_owned(), command());
            }
            CallOrigin::Subagent => {}
        }
    }

    fn finished(&mut self, id: &str, name: &str, result: &ToolOutput, origin: CallOrigin, page: &mut Page) {
        let command = self.commands.remove(id).unwrap_or_default();
        match (origin, result) {
            (CallOrigin::Model | CallOrigin::Remote, result) => {
                let told = match (self.open.remove(id), result) {
                    // Of several that ran at once it says which one it was.
                    (Some((call, true)), ToolOutput::Ok(_)) if !BASH.is(name) => {
                        format!("Tool finished: {call} {}", labels::outcome_detail(name, result))
                    }
                    (Some(_) | None, _) => labels::tool_finished(name, result),
                };
                self.status(&told, page);
            }
            // Whoever said no himself, or stopped it, knows.
            (CallOrigin::User | CallOrigin::Command, ToolOutput::Err(error))
                if !matches!(error.code, ToolCode::Rejected | ToolCode::Interrupted | ToolCode::NotRun) =>
            {
                let what = match origin {
                    CallOrigin::Command => format!("`{command}` was "),
                    _ => String::new(),
                };
                let message = format!("{what}not run: {}", error.message);
                self.notice(NoticeLevel::Warning, &message, page);
            }
            // How a check went is told as such, what an agent did by that agent.
            (CallOrigin::User | CallOrigin::Command | CallOrigin::Check | CallOrigin::Subagent, _) => {}
        }
    }

    /// What happened before the session was resumed, for somebody who comes back. Nothing of it goes to stdout: that was
    /// said then, not now.
    fn past(&mut self, event: &Event, page: &mut Page) {
        match event {
            Event::TurnStarted { prompt, .. } => {
                let prompt = format!("> {}", prompt.trim_end().replace('\n', "\n> "));
                self.line(&self.terminal.fit(&prompt), page);
            }
            Event::AssistantFinal { text, .. } => {
                self.line(&self.terminal.fit(text.trim_end()), page);
            }
            Event::ShellFinished { text, .. } => {
                let lines = typed_command(text, terminal::width());
                lines.iter().for_each(|line| self.status(&line.text, page));
            }
            // How long it took then is no news.
            Event::ToolFinished { name, result, .. } => {
                self.status(&labels::tool_finished(name, result), page);
            }
            Event::TodosChanged { items, draft: false } => {
                items.iter().for_each(|item| self.status(&item.to_string(), page))
            }
            Event::ToolRequested { name, input, .. } => {
                self.status(&labels::tool_requested(name, input), page);
            }
            Event::Interrupted => self.status("interrupted", page),
            Event::Error { message, .. } => self.status(&format!("error: {message}"), page),
            Event::Notice { message, .. } => self.status(message, page),
            Event::Attached(AttachedContent { label, .. }) => self.status(&format!("attached {label}"), page),
            _ => {}
        }
    }

    /// A quiet line on stderr.
    pub fn say(&mut self, text: &str, page: &mut Page) {
        self.status(text, page);
    }

    pub fn fail(&mut self, message: &str, page: &mut Page) {
        let text = self.terminal.fit(&format!("zdx: {message}"));
        self.line(&self.terminal.style.red(&text), page);
    }

    /// Leaves the screen as found: no activity line, cursor at the margin.
    pub fn rest(&mut self, page: &mut Page) {
        if let Some(activity) = &mut self.activity {
            activity.erase(page);
        }
        self.end_text(page);
    }

    pub fn is_live(&self) -> bool {
        self.activity.as_ref().is_some_and(Activity::is_live)
    }

    pub fn tick(&mut self, now: Instant, page: &mut Page) {
        // In the middle of a line of text the activity would wipe that text out.
        if let Some(activity) = self.activity.as_mut().filter(|_| self.at_margin) {
            activity.tick(now, terminal::width(), self.terminal.style, page);
        }
    }

    fn text(&mut self, text: &str, page: &mut Page) {
        self.on_activity(|activity, now| activity.state(zdx_protocol::TurnState::ModelGenerating, now));
        self.streamed = true;
        self.broken = false;
        if self.terminal.stdout {
            let mut clean = self.sanitizer.push(text);
            if let Some(words) = &mut self.words {
                clean = words.push(&clean, terminal::width());
            }
            self.put(clean.as_bytes(), page);
        } else {
            self.put(text.as_bytes(), page);
        }
    }

    fn message_done(&mut self, text: &str, partial: bool, page: &mut Page) {
        // A message may come whole. Behind what streamed it says nothing new, though more of it may be masked.
        if !self.streamed && !text.is_empty() {
            self.text(text, page);
        }
        self.streamed = false;
        // What broke off may go on, and then reads as one.
        self.broken = partial;
        if !partial {
            self.end_text(page);
        }
    }

    fn stays_broken(&mut self, page: &mut Page) {
        if std::mem::take(&mut self.broken) {
            self.end_text(page);
        }
    }

    /// Closes the line of text, and the colours that were opened in it.
    fn end_text(&mut self, page: &mut Page) {
        let closed = self.line_closed;
        let reset = self.sanitizer.finish();
        self.put(reset.as_bytes(), page);
        if !closed {
            self.put(b"\n", page);
        }
        self.line_closed = true;
        self.words_at_margin();
    }

    fn put(&mut self, bytes: &[u8], page: &mut Page) {
        let Some(last) = bytes.last() else { return };
        if let Some(activity) = self.activity.as_mut().filter(|_| self.terminal.shared) {
            activity.erase(page);
        }
        page.out(bytes);
        self.line_closed = *last == b'\n';
        self.at_margin = self.line_closed || !self.terminal.shared;
    }

    fn status(&mut self, text: &str, page: &mut Page) {
        let text = self.terminal.fit(text);
        self.line(&self.terminal.style.dim(&text), page);
    }

    /// Output of a command the user ran: shown as it comes, cleaned, wherever its lines end.
    fn foreign(&mut self, text: &str, page: &mut Page) {
        if let Some(activity) = &mut self.activity {
            activity.erase(page);
        }
        let clean = plain(text);
        page.err(clean.as_bytes());
        self.at_margin = clean.ends_with('\n');
    }

    fn words_at_margin(&mut self) {
        if let Some(words) = &mut self.words {
            words.at_margin();
        }
    }

    pub fn ask(&mut self, text: &str, page: &mut Page) {
        if let Some(activity) = &mut self.activity {
            activity.erase(page);
        }
        if !std::mem::replace(&mut self.at_margin, true) {
            page.err("\n");
        }
        if self.terminal.shared {
            self.words_at_margin();
        }
        page.err(text);
    }

    /// Whole lines on stderr, apart from whatever stands on the screen.
    fn line(&mut self, line: &str, page: &mut Page) {
        self.ask(line, page);
        page.err("\n");
    }

    fn notice(&mut self, level: NoticeLevel, message: &str, page: &mut Page) {
        match level {
            NoticeLevel::Info => self.status(message, page),
            NoticeLevel::Warning => {
                let text = self.terminal.fit(&format!("warning: {message}"));
                self.line(&self.terminal.style.yellow(&text), page);
            }
        }
    }

    fn retrying(&mut self, event: &Event, page: &mut Page) {
        let Event::Retrying { attempt, of, delay_ms, reason, continues } = event else { return };
        let mut line = labels::retrying(*attempt, *of, delay_ms.div_ceil(1000), reason);
        if *continues {
            line.push_str("; the answer goes on where it stopped");
        }
        // Whole, however narrow the window: the reason stands at its end.
        self.line(&self.terminal.style.dim(&line), page);
    }

    fn checked(&mut self, checked: &zdx_protocol::Checked, page: &mut Page) {
        // The error that ends the turn says it, with what the check said.
        if checked.result != CheckResult::GivenUp {
            let (level, message) = labels::checked(checked);
            self.notice(level, &message, page);
        }
    }

    fn turn_done(&mut self, summary: &TurnSummary, page: &mut Page) {
        self.rest(page);
        // A figure of the turn, not a line for each time.
        if let Some(pruned) = self.pruned.take() {
            self.status(&context::pruned(pruned), page);
        }
        if summary.denied > 0 {
            self.status(&words::denials(summary.denied), page);
        }
        if let Some(why) = words::failed(summary.outcome).filter(|_| !self.told) {
            self.fail(why, page);
        }
    }

    fn on_activity(&mut self, change: impl FnOnce(&mut Activity, Instant)) {
        if let Some(activity) = &mut self.activity {
            change(activity, Instant::now());
        }
    }
}

mod person;
#[cfg(test)]
mod tests;
