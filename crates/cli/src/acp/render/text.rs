//! `-o text`: the answer as it comes, and everything else in lines that begin with what they are about.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;
use zdx_acp::shapes::{Block, Call, ToolContent, Update};
use zdx_protocol::display::{json_safe, visible_line};

use super::Prose;
use crate::acp::host::HostEvent;
use crate::output::Page;
use crate::terminal::Terminal;

/// Of what goes into a tool and comes out of it.
const LONGEST: usize = 500;
/// Calls whose last line is remembered; who needs more sees some line twice.
const MOST_SHOWN: usize = 2000;

pub struct Text {
    prose: Prose,
    thoughts: Prose,
    /// What was told of each call, so that nothing is told twice.
    shown: HashMap<String, Shown>,
}

/// By what the lines come to: they themselves may be long.
#[derive(Default)]
struct Shown {
    line: Option<u64>,
    input: Option<u64>,
    output: Option<u64>,
    diffs: Vec<u64>,
}

fn mark(line: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    line.hash(&mut hasher);
    hasher.finish()
}

impl Text {
    pub fn new(terminal: Terminal) -> Self {
        Self { prose: Prose::new(terminal), thoughts: Prose::new(terminal), shown: HashMap::new() }
    }

    pub fn update(&mut self, update: Update, page: &mut Page) {
        match update {
            Update::Message(Block::Text(text)) => self.say(&text, page),
            Update::Message(block) => {
                if let Some(line) = described(&block) {
                    self.line(&line, page);
                }
            }
            Update::Thought(Block::Text(text)) => self.think(&text, page),
            Update::Call(call) => self.call(&Call::read(&call), page),
            Update::Plan(plan) => self.line(&format!("[plan] {}", json_safe(&plan.to_string())), page),
            // What the user said he knows; the rest is kept by the session, or says nothing here.
            Update::Thought(_)
            | Update::User(_)
            | Update::Commands(_)
            | Update::Mode(_)
            | Update::Options(_)
            | Update::Notice { .. }
            | Update::Unknown(_) => {}
        }
    }

    pub fn host(&mut self, event: &HostEvent, page: &mut Page) {
        let line = match event {
            HostEvent::Permission { allowed, what } => {
                let answer = if *allowed { "auto-allow" } else { "auto-deny" };
                format!("[permission] {answer} {}", visible_line(what))
            }
            HostEvent::TerminalCreated { id, command } => {
                format!("[term] created {} {}", visible_line(id), visible_line(command))
            }
            HostEvent::TerminalOutput { id, text } => {
                format!("[term] output {} {}", visible_line(id), cut(text))
            }
            HostEvent::TerminalExited { id, code, signal } => {
                let code = code.map(|code| format!(" code={code}")).unwrap_or_default();
                let signal = signal.as_ref().map(|signal| format!(" signal={signal}")).unwrap_or_default();
                format!("[term] exited {}{code}{signal}", visible_line(id))
            }
            HostEvent::TerminalReleased { id } => format!("[term] released {}", visible_line(id)),
            HostEvent::Warning(_) => return,
        };
        self.line(&line, page);
    }

    pub fn close(&mut self, cancelled: &[Call], page: &mut Page) {
        for call in cancelled {
            if let Some(line) = line(call) {
                self.line(&format!("{line} (cancelled)"), page);
            }
        }
        self.shown.clear();
        self.leave_line(page);
    }

    pub fn leave_line(&mut self, page: &mut Page) {
        self.prose.close(page);
        self.thoughts.close(page);
    }

    fn say(&mut self, text: &str, page: &mut Page) {
        if !text.is_empty() {
            self.thoughts.close(page);
            self.prose.write(text, page);
        }
    }

    /// Every line of it says that it is one.
    fn think(&mut self, text: &str, page: &mut Page) {
        for piece in text.split_inclusive('\n') {
            if !self.thoughts.open {
                self.prose.close(page);
                page.out("[thought] ");
            }
            self.thoughts.write(piece, page);
        }
    }

    fn line(&mut self, line: &str, page: &mut Page) {
        self.leave_line(page);
        page.out(format!("{line}\n"));
    }

    fn call(&mut self, call: &Call, page: &mut Page) {
        if self.shown.len() > MOST_SHOWN {
            self.shown.clear();
        }
        let shown = self.shown.entry(call.id.clone()).or_default();
        let mut lines = Vec::new();
        let mut news = |old: &mut Option<u64>, new: Option<String>| {
            if let Some(new) = new.filter(|new| *old != Some(mark(new))) {
                *old = Some(mark(&new));
                lines.push(new);
            }
        };
        news(&mut shown.line, line(call));
        news(&mut shown.input, call.raw_input.as_ref().and_then(|input| raw("tool.in", input)));
        news(&mut shown.output, output(call));
        for content in &call.content {
            if let ToolContent::Diff(diff) = content {
                let diff = format!("[diff] {}", json_safe(&diff.to_string()));
                if !shown.diffs.contains(&mark(&diff)) {
                    shown.diffs.push(mark(&diff));
                    lines.push(diff);
                }
            }
        }
        lines.iter().for_each(|line| self.line(line, page));
    }
}

/// `[tool] edit Write b.txt @ /w/b.txt:3`. Nothing as long as nobody knows what it is.
fn line(call: &Call) -> Option<String> {
    if call.title.is_none() && call.kind.is_none() && !call.is_over() {
        return None;
    }
    let kind = visible_line(call.kind.as_deref().unwrap_or("other"));
    let title = cut(call.title.as_deref().unwrap_or(&call.id));
    let places: Vec<String> = call
        .locations
        .iter()
        .map(|location| match location.line {
            Some(line) => format!("{}:{line}", visible_line(&location.path)),
            None => visible_line(&location.path),
        })
        .collect();
    let at = if places.is_empty() { String::new() } else { format!(" @ {}", places.join(", ")) };
    let failed = if call.status.as_deref() == Some("failed") { " (failed)" } else { "" };
    Some(format!("[tool] {kind} {title}{at}{failed}"))
}

/// What came out of it, once it is over: as the agent has it, else what it shows.
fn output(call: &Call) -> Option<String> {
    if !call.is_over() {
        return None;
    }
    if let Some(output) = &call.raw_output {
        return raw("tool.out", output);
    }
    let texts = call.content.iter().filter_map(|content| match content {
        ToolContent::Content(Block::Text(text)) => Some(text.as_str()),
        ToolContent::Content(_)
        | ToolContent::Diff(_)
        | ToolContent::Terminal(_)
        | ToolContent::Unknown(_) => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    (!text.is_empty()).then(|| format!("[tool.out] {}", cut(&text)))
}

fn raw(tag: &str, value: &Value) -> Option<String> {
    match value {
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(format!("[{tag}] {}", cut(text))),
        Value::Object(fields) if fields.is_empty() => None,
        value => Some(format!("[{tag}] {}", cut(&value.to_string()))),
    }
}

/// On one line, and not too long.
fn cut(text: &str) -> String {
    let text = text.trim_end();
    match text.char_indices().nth(LONGEST) {
        None => visible_line(text),
        Some((at, _)) => {
            format!("{}… ({} bytes more)", visible_line(&text[..at]), text.len() - at)
        }
    }
}

/// What is no text, in a line.
fn described(block: &Block) -> Option<String> {
    let kind = |mime: &Option<String>| visible_line(mime.as_deref().unwrap_or("unknown"));
    match block {
        Block::Text(_) | Block::Unknown(_) => None,
        Block::Image { mime, size } => Some(format!("[image] {} {size} bytes of base64", kind(mime))),
        Block::Audio { mime, size } => Some(format!("[audio] {} {size} bytes of base64", kind(mime))),
        Block::Link { uri } => Some(format!("[link] {}", visible_line(uri))),
        Block::Resource { uri, .. } => Some(format!("[resource] {}", visible_line(uri))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use zdx_acp::shapes::{Calls, Update};

    use super::*;
    use crate::output::Channel;

    fn shown(updates: &[Value]) -> String {
        let (mut text, mut page) = (Text::new(Terminal::default()), Page::default());
        let mut calls = Calls::default();
        for update in updates {
            let update = match Update::read(update.clone()) {
                Update::Call(update) => Update::Call(calls.fold(&update)),
                other => other,
            };
            text.update(update, &mut page);
        }
        text.close(&calls.open().collect::<Vec<_>>(), &mut page);
        page.text(Channel::Out)
    }

    fn chunk(kind: &str, text: &str) -> Value {
        json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}})
    }

    #[test]
    fn lines_of_their_own_never_run_into_the_answer() {
        let said = shown(&[
            chunk("agent_thought_chunk", "let me"),
            chunk("agent_thought_chunk", " see\nthen"),
            chunk("agent_message_chunk", "I lo"),
            chunk("agent_message_chunk", "ok."),
            json!({"sessionUpdate": "plan", "entries": []}),
            chunk("agent_message_chunk", ""),
            chunk("agent_message_chunk", "done\n"),
        ]);
        assert_eq!(said, "[thought] let me see\n[thought] then\nI look.\n[plan] {\"entries\":[]}\ndone\n");
    }

    #[test]
    fn a_call_is_told_when_it_is_known_and_again_only_when_that_changed() {
        let call = |more: Value| {
            let mut call = json!({"sessionUpdate": "tool_call_update", "toolCallId": "c"});
            for (key, value) in more.as_object().unwrap() {
                call[key] = value.clone();
            }
            call
        };
        let diff = json!([{"type": "diff", "path": "w.txt", "newText": "hi\n"}]);
        let said = shown(&[
            call(json!({"status": "pending"})),
            call(json!({"title": "Edit\nw", "kind": "edit", "locations": [{"path": "w.txt", "line": 3}]})),
            call(json!({"status": "in_progress", "rawInput": {"path": "w.txt"}})),
            call(json!({"rawInput": {"path": "w.txt"}, "content": diff})),
            call(json!({"content": diff, "status": "completed", "rawOutput": "x".repeat(600)})),
            call(json!({"status": "failed"})),
            json!({"sessionUpdate": "tool_call", "toolCallId": "d", "title": "Wait"}),
        ]);
        let out = format!("[tool.out] {}… (100 bytes more)", "x".repeat(500));
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(
            lines,
            [
                "[tool] edit Edit\\nw @ w.txt:3",
                "[tool.in] {\"path\":\"w.txt\"}",
                "[diff] {\"path\":\"w.txt\",\"newText\":\"hi\\n\"}",
                out.as_str(),
                "[tool] edit Edit\\nw @ w.txt:3 (failed)",
                "[tool] other Wait",
                "[tool] other Wait (cancelled)",
            ]
        );
    }
}
