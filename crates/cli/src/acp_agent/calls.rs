//! The life of calls in an editor's words: told once, then updated under one id.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use zdx_protocol::display::{plain, titles};
use zdx_protocol::{ApprovalRequest, CallKind, Location, Preview, ToolOutput, facts};

use super::diff;
use super::told::fenced;

/// Of what a running command prints, the last so much is shown, and not more often than this.
const TAIL: usize = 8 << 10;
const PACE: Duration = Duration::from_millis(200);
/// Of what a call brought, so much is shown; all of it is in the raw output.
const SHOWN: usize = 32 << 10;

pub struct Calls {
    root: PathBuf,
    /// By their ids: those that have not ended.
    open: HashMap<String, Call>,
}

struct Call {
    name: String,
    input: Value,
    path: Option<PathBuf>,
    tail: String,
    told: Option<Instant>,
}

impl Calls {
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), open: HashMap::new() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn requested(&mut self, id: &str, name: &str, input: &Value) -> Value {
        let kind = facts::called(name, input.as_object()).map_or(CallKind::Other, |facts| facts.kind);
        let path = self.path_in(name, input);
        let locations: Vec<Value> = path.iter().map(|path| json!({"path": path.to_string_lossy()})).collect();
        let update = json!({
            "sessionUpdate": "tool_call",
            "toolCallId": id,
            "title": self.title(name, input),
            "kind": kind,
            "status": "pending",
            "locations": locations,
            "rawInput": input,
        });
        let (name, input) = (name.to_owned(), input.clone());
        self.open.insert(id.to_owned(), Call { name, input, path, tail: String::new(), told: None });
        update
    }

    /// The file that a call says it is about.
    fn path_in(&self, name: &str, input: &Value) -> Option<PathBuf> {
        let facts = facts::called(name, input.as_object())?;
        let field = match facts.touches {
            facts::Touches::Reads(field) | facts::Touches::Changes(field) => field,
            facts::Touches::Nothing | facts::Touches::Patches(_) | facts::Touches::Runs(_) => return None,
        };
        Some(self.root.join(facts.given(input).text(field)?.as_ref()))
    }

    fn title(&self, name: &str, input: &Value) -> String {
        let title = titles::title(name, input, Some(&self.root));
        format!("{} {}", title.plain, title.subject).trim_end().to_owned()
    }

    pub fn started(&mut self, id: &str, kind: CallKind, at: &[Location], preview: &Preview) -> Option<Value> {
        let changes = self.changes(preview);
        let call = self.open.get_mut(id)?;
        if let Preview::Change { path, .. } = preview {
            call.path = Some(path.clone());
        }
        let mut update = update(id, "in_progress");
        update["kind"] = json!(kind);
        if !at.is_empty() {
            update["locations"] = locations(at);
        }
        if !changes.is_empty() {
            update["content"] = Value::Array(changes);
        }
        Some(update)
    }

    pub fn progress(&mut self, id: &str, chunk: &str) -> Option<Value> {
        let call = self.open.get_mut(id)?;
        call.tail.push_str(&plain(chunk));
        if call.tail.len() > TAIL {
            let from = call.tail.ceil_char_boundary(call.tail.len() - TAIL);
            call.tail.drain(..from);
        }
        if call.told.is_some_and(|told| told.elapsed() < PACE) {
            return None;
        }
        call.told = Some(Instant::now());
        let mut update = update(id, "in_progress");
        update["content"] = json!([text(&fenced(&call.tail))]);
        Some(update)
    }

    pub fn finished(&mut self, id: &str, result: &ToolOutput, diff: Option<&str>) -> Option<Value> {
        let call = self.open.remove(id)?;
        let ended = titles::ended(&call.name, result);
        let changes =
            diff.map(|diff| diff::content(diff, call.path.as_deref(), &self.root)).unwrap_or_default();
        let content = match (changes.is_empty(), result.is_ok()) {
            (false, _) => changes,
            (true, true) => brought(&call.name, result),
            (true, false) => {
                let why = ended.message.unwrap_or_else(|| titles::brought(&call.name, result, &[]));
                vec![text(format!("{} {why}", ended.words).trim_end())]
            }
        };
        let mut update = update(id, if result.is_ok() { "completed" } else { "failed" });
        update["rawOutput"] = serde_json::to_value(result).unwrap_or_default();
        if !content.is_empty() {
            update["content"] = Value::Array(content);
        }
        Some(update)
    }

    /// The call that a question is about, as it is shown beside the question.
    pub fn asked(&self, request: &ApprovalRequest) -> Value {
        let mut content = vec![text(&request.reason.message)];
        content.extend(self.changes(&request.preview));
        let call = self.open.get(&request.id);
        let mut shown = json!({
            "toolCallId": request.id,
            "title": self.question(request, call),
            "kind": request.action.kind(&request.preview),
            "status": "pending",
            "content": content,
            "locations": locations(&request.action.locations(None)),
        });
        if let Some(call) = call {
            shown["rawInput"] = call.input.clone();
        }
        shown
    }

    fn question(&self, request: &ApprovalRequest, call: Option<&Call>) -> String {
        let title = match call {
            Some(call) => self.title(&call.name, &call.input),
            None => request.tool.clone(),
        };
        match &request.agent {
            Some(agent) => format!("{title} (for agent {agent})"),
            None => title,
        }
    }

    fn changes(&self, preview: &Preview) -> Vec<Value> {
        match preview {
            Preview::Change { path, diff, .. } => diff::content(diff, Some(path), &self.root),
            Preview::Text { text } => diff::content(text, None, &self.root),
            Preview::None | Preview::Command { .. } => Vec::new(),
        }
    }
}

fn update(id: &str, status: &str) -> Value {
    json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": status})
}

fn locations(at: &[Location]) -> Value {
    let one = |location: &Location| {
        let mut shown = json!({"path": location.path.to_string_lossy()});
        if let Some(line) = location.line {
            shown["line"] = json!(line);
        }
        shown
    };
    at.iter().map(one).collect()
}

/// What a call of a tool that went well has to show, besides changes.
fn brought(name: &str, result: &ToolOutput) -> Vec<Value> {
    let brought = titles::brought(name, result, &[]);
    let shown = plain(&brought);
    match shown.trim().is_empty() {
        true => match titles::ended(name, result).words {
            words if words.is_empty() => Vec::new(),
            words => vec![text(&words)],
        },
        false if shown.len() > SHOWN => {
            let from = shown.ceil_char_boundary(shown.len() - SHOWN);
            vec![text(&fenced(&shown[from..]))]
        }
        false => vec![text(&fenced(&shown))],
    }
}

fn text(text: &str) -> Value {
    json!({"type": "content", "content": {"type": "text", "text": text}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_told_until_it_ends() {
        let mut calls = Calls::new(Path::new("/w"));
        let input = json!({"path": "a.rs"});
        let told = calls.requested("c", "read", &input);
        assert_eq!((&told["toolCallId"], &told["title"]), (&json!("c"), &json!("Read a.rs")));
        assert_eq!(told["locations"], json!([{"path": "/w/a.rs"}]));
        assert_eq!(told["kind"], "read");
        let done = ToolOutput::Ok(json!({"content": "x"}));
        assert_eq!(calls.finished("c", &done, None).unwrap()["toolCallId"], "c");
        assert_eq!(calls.finished("c", &done, None), None);
    }

    #[test]
    fn what_a_command_prints_is_bounded_and_paced() {
        let mut calls = Calls::new(Path::new("/w"));
        calls.requested("c", "bash", &json!({"command": "yes"}));
        let first = calls.progress("c", &"y\n".repeat(20_000)).unwrap();
        let shown = first["content"][0]["content"]["text"].as_str().unwrap();
        assert!(shown.len() < TAIL + 20 && shown.starts_with("```\n"), "{}", shown.len());
        assert_eq!(calls.progress("c", "more"), None);
    }
}
