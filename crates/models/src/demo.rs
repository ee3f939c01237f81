//! The built-in model: a small fixed program that drives the real tool loop with no key and no network.
//! Pure and deterministic: the same messages give the same answer. It never pretends to understand.

mod intent;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};
use zdx_protocol::display::demo::HOW;
use zdx_protocol::{Arguments, Message, Part, Role, ToolCall, ToolOutput};

use crate::{ModelEvent, ModelRequest, StopReason};
use intent::Intent;

const WHO: &str = "I am the demo built into zdx: a small fixed program, not a language model.";

/// What the demo says or does next.
enum Move {
    Say(String),
    Call { say: String, tool: &'static str, input: Value },
}

/// One call of this turn with what came of it.
struct Step<'a> {
    tool: &'a str,
    input: Value,
    output: ToolOutput,
}

pub(crate) fn answer(request: &ModelRequest) -> Vec<ModelEvent> {
    let (prompt, steps) = so_far(request.messages);
    let chosen = match next_move(&intent::of(prompt), &steps, prompt) {
        Move::Call { tool, .. } if !request.tools.iter().any(|spec| spec.name == tool) => {
            Move::Say(format!("{WHO} I would use the tool `{tool}` now, but it is not offered here. {HOW}"))
        }
        chosen => chosen,
    };
    let (text, call) = match chosen {
        Move::Say(text) => (text, None),
        Move::Call { say, tool, input } => (say, Some((tool, input))),
    };
    let mut events: Vec<ModelEvent> =
        text.split_inclusive(' ').map(|word| ModelEvent::Text(word.to_owned())).collect();
    let stop = if let Some((tool, input)) = call {
        let id = format!("demo_{}", calls_made(request.messages) + 1);
        let arguments = match input {
            Value::Object(fields) => Arguments::Object(fields),
            _ => Arguments::Object(Map::new()),
        };
        events.push(ModelEvent::ToolCallStarted { id: Some(id.clone()), name: tool.to_owned() });
        events.push(ModelEvent::ToolCall(ToolCall { id, name: tool.to_owned(), arguments, signature: None }));
        StopReason::ToolUse
    } else {
        StopReason::EndTurn
    };
    events.push(ModelEvent::Stop(stop));
    events
}

/// The last thing the user said, and what was done since.
fn so_far(messages: &[Message]) -> (&str, Vec<Step<'_>>) {
    let said = |message: &Message| message.role == Role::User && last_text(message).is_some();
    let at = messages.iter().rposition(said);
    let prompt = at.and_then(|at| last_text(&messages[at])).unwrap_or_default();
    let since = &messages[at.map_or(0, |at| at + 1)..];
    let parts = || since.iter().flat_map(|message| &message.parts);
    let mut steps = Vec::new();
    for part in parts() {
        let Part::ToolUse { id, name, arguments, .. } = part else { continue };
        let result = parts().find_map(|part| match part {
            Part::ToolResult { tool_use_id, output, .. } if tool_use_id == id => Some(output),
            Part::ToolResult { .. } | Part::Content(_) | Part::Reasoning(_) | Part::ToolUse { .. } => None,
        });
        steps.extend(result.map(|output| Step {
            tool: name,
            input: arguments.unpack().input(),
            output: output.unpack(),
        }));
    }
    (prompt, steps)
}

fn last_text(message: &Message) -> Option<&str> {
    message.parts.iter().rev().filter_map(Part::as_text).find(|text| !text.trim().is_empty())
}

fn calls_made(messages: &[Message]) -> usize {
    let parts = messages.iter().flat_map(|message| &message.parts);
    parts.filter(|part| matches!(part, Part::ToolUse { .. })).count()
}

fn next_move(intent: &Intent, steps: &[Step], prompt: &str) -> Move {
    let Some(last) = steps.last() else { return first_move(intent, prompt) };
    match (intent, &last.output) {
        (_, ToolOutput::Err(error)) => Move::Say(format!(
            "`{}` did not work ({}): {}\n\nThat is all the demo can do about it. {HOW}",
            last.tool, error.code, error.message
        )),
        (Intent::Look, ToolOutput::Ok(listing)) if steps.len() == 1 => match first_file(&names(listing)) {
            Some(path) => Move::Call {
                say: format!("{} Now I read {path}.\n", counted(&names(listing))),
                tool: "read",
                input: json!({ "path": path }),
            },
            None => {
                Move::Say(format!("{} There is no file here to read.\n\n{HOW}", counted(&names(listing))))
            }
        },
        (Intent::Look | Intent::Read { .. }, ToolOutput::Ok(data)) => {
            Move::Say(format!("{}\n\n{HOW}", file_facts(last, data)))
        }
        (Intent::Write { .. }, ToolOutput::Ok(data)) => {
            let path = last.input["path"].as_str().unwrap_or("the file");
            let bytes = data["bytes"].as_u64().unwrap_or_default();
            let verb = if data["created"] == true { "created" } else { "wrote" };
            Move::Say(format!("Done: I {verb} {path} ({bytes} bytes).\n\n{HOW}"))
        }
        (Intent::Run { .. }, ToolOutput::Ok(data)) => Move::Say(format!("{}\n\n{HOW}", run_facts(data))),
    }
}

fn first_move(intent: &Intent, prompt: &str) -> Move {
    let (plan, tool, input) = match intent {
        Intent::Look => {
            ("I will look around in this folder.".to_owned(), "bash", json!({ "command": "ls -1p" }))
        }
        Intent::Read { path } => (format!("I will read {path}."), "read", json!({ "path": path })),
        Intent::Write { path, content } => {
            (format!("I will write {path}."), "write", json!({ "path": path, "content": content }))
        }
        Intent::Run { command } => {
            (format!("I will run `{command}`."), "bash", json!({ "command": command }))
        }
    };
    let english =
        if prompt.is_ascii() { "" } else { " I know only a few English words, so I answer in English." };
    Move::Call { say: format!("{WHO}{english} {plan}\n"), tool, input }
}

/// The entries of a listing, folders with a slash at the end.
fn names(listing: &Value) -> Vec<&str> {
    let stdout = listing["stdout"].as_str().unwrap_or_default();
    stdout.lines().map(str::trim).filter(|name| !name.is_empty()).collect()
}

/// A README if there is one, else the first file.
fn first_file<'a>(names: &[&'a str]) -> Option<&'a str> {
    let files = || names.iter().filter(|name| !name.ends_with('/'));
    files().find(|name| name.to_ascii_lowercase().starts_with("readme")).or_else(|| files().next()).copied()
}

fn counted(names: &[&str]) -> String {
    const SHOWN: usize = 12;
    let folders = names.iter().filter(|name| name.ends_with('/')).count();
    let mut list = names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        list.push_str(", …");
    }
    let what = format!("{} and {}", plural(names.len() - folders, "file"), plural(folders, "folder"));
    if list.is_empty() { "The folder is empty.".to_owned() } else { format!("Here are {what}: {list}.") }
}

fn file_facts(step: &Step, data: &Value) -> String {
    let path = step.input["path"].as_str().unwrap_or("the file");
    let content = data["content"].as_str().unwrap_or_default();
    let lines = content.lines().count();
    let cut = if data["truncated"] == true { "at least " } else { "" };
    let first = content.lines().map(str::trim).find(|line| !line.is_empty());
    match first {
        Some(first) => format!("{path} has {cut}{} and begins: {}", plural(lines, "line"), clipped(first)),
        None => format!("{path} is empty."),
    }
}

fn run_facts(data: &Value) -> String {
    let code = data["exit_code"].as_i64().unwrap_or_default();
    let printed =
        ["stdout", "stderr"].iter().find_map(|stream| data[stream].as_str().filter(|s| !s.is_empty()));
    let Some(printed) = printed else {
        return format!("It ended with exit code {code} and printed nothing.");
    };
    let first = printed.lines().next().unwrap_or_default();
    let lines = plural(printed.lines().count(), "line");
    format!("It ended with exit code {code} and printed {lines}, first: {}", clipped(first))
}

fn clipped(line: &str) -> String {
    const SHOWN: usize = 100;
    let short: String = line.chars().take(SHOWN).collect();
    if short.len() < line.len() { format!("{short}…") } else { short }
}

fn plural(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
