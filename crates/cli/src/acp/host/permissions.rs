//! `session/request_permission`: what the call is about decides, and the answer is the option of that *kind*. Names and
//! order of options mean nothing.

use std::path::{Path, PathBuf};

use serde_json::Value;
use zdx_acp::HostEvent;
use zdx_acp::shapes::{Answer, PermissionOption, outcome, pick};
use zdx_protocol::Target;
use zdx_protocol::facts::{BASH, READ};

use super::Events;
use super::judged::{Judged, Refusal, Touch};
use super::params::Params;
use super::terminals::command_line;

/// What agents call files in the arguments of their tools; the others only where files are changed.
const NAMED: [&str; 4] = ["path", "paths", "file_path", "filePath"];
const CHANGED: [&str; 9] =
    ["from", "to", "source", "destination", "old_path", "new_path", "oldPath", "newPath", "move_path"];

/// So often is a title read anew without its end.
const REMARKS: usize = 4;

/// Always an answer: what cannot be answered is `cancelled`.
pub(super) fn answer(judged: &Judged, events: &Events, params: &Params, cancelled: bool) -> Value {
    if cancelled {
        return outcome(None);
    }
    let call = &params.0["toolCall"];
    let decision = decide(judged, call);
    let options = PermissionOption::of(&params.0);
    let chosen = pick(&options, if decision.is_ok() { Answer::Allow } else { Answer::Reject });
    let named = named(call);
    let what = match (&decision, chosen) {
        (Ok(()), Some(_)) => named,
        (Err(why), _) => format!("{named}: {why}"),
        (Ok(()), None) => format!("{named}: it offers no option that allows it"),
    };
    events.tell(HostEvent::Permission { allowed: decision.is_ok() && chosen.is_some(), what });
    outcome(chosen)
}

/// `edit Write b.txt`.
fn named(call: &Value) -> String {
    let kind = call["kind"].as_str().unwrap_or("other");
    match call["title"].as_str().map(str::trim).filter(|title| !title.is_empty()) {
        Some(title) => format!("{kind} {title}"),
        None => kind.to_owned(),
    }
}

/// What a call is, by its kind and, where that says nothing, by what it brings.
enum Class {
    Read,
    Write,
    /// Runs this, if it can be told.
    Run(Option<String>),
    /// Runs something, and this may be the command, or words about it.
    Titled(String),
    Other,
}

fn class(call: &Value) -> Class {
    let command = || command(&call["rawInput"]);
    match call["kind"].as_str() {
        Some("read" | "search" | "fetch" | "think") => Class::Read,
        Some("edit" | "delete" | "move") => Class::Write,
        Some("execute") => command().map_or_else(|| titled(call), |command| Class::Run(Some(command))),
        // `other`, `switch_mode`, and kinds that nobody knows yet.
        Some(_) | None => match (diffs(call).next(), command()) {
            (Some(_), _) => Class::Write,
            (None, Some(command)) => Class::Run(Some(command)),
            (None, None) => Class::Other,
        },
    }
}

/// A title that is a command is often set in backticks.
fn titled(call: &Value) -> Class {
    let title = call["title"].as_str().unwrap_or_default().trim();
    match quoted(placeless(title)) {
        Some(command) => Class::Run(Some(command.to_owned())),
        None if title.is_empty() => Class::Run(None),
        None => Class::Titled(title.to_owned()),
    }
}

fn quoted(title: &str) -> Option<&str> {
    let inner = title.strip_prefix('`')?.strip_suffix('`')?;
    (!inner.contains('`')).then_some(inner)
}

/// Without where it runs: `ls [current working directory /x]`, `ls [in /x]`.
fn placeless(title: &str) -> &str {
    let place =
        |begin: &str| title.strip_suffix(']')?.rsplit_once(begin).map(|(before, _)| before.trim_end());
    place(" [current working directory ").or_else(|| place(" [in ")).unwrap_or(title)
}

/// What a shell could read of the title, without what is said about it at its end: `ls (List the files)`. Words that are
/// no command are none.
fn about(judged: &Judged, title: &str, cwd: &Path) -> Result<(), Refusal> {
    let mut lines =
        std::iter::successors(Some(title), |title| Some(title.rsplit_once(" (")?.0.trim_end())).take(REMARKS);
    let read = |line: &str| judged.perhaps_command(quoted(line).unwrap_or(line), cwd);
    lines.find_map(|line| read(placeless(line))).unwrap_or(Ok(()))
}

/// Some give the program alone here, and its arguments beside it.
fn command(input: &Value) -> Option<String> {
    let command = BASH.given(input).text("command")?;
    let word = |word: &Value| word.as_str().map_or_else(|| word.to_string(), str::to_owned);
    let args = match &input["args"] {
        Value::Array(args) => command_line(&args.iter().map(word).collect::<Vec<_>>()),
        Value::String(args) => args.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    };
    Some(format!("{command} {args}").trim().to_owned())
}

fn diffs(call: &Value) -> impl Iterator<Item = &str> {
    let content = call["content"].as_array().into_iter().flatten();
    content.filter(|content| content["type"] == "diff").filter_map(|diff| diff["path"].as_str())
}

fn decide(judged: &Judged, call: &Value) -> Result<(), Refusal> {
    match class(call) {
        Class::Read => judged.files(Touch::Read, targets(judged, Touch::Read, call)?),
        Class::Write => judged.files(Touch::Write, targets(judged, Touch::Write, call)?),
        Class::Run(Some(command)) => judged.command(&command, folder(judged, call)?),
        Class::Titled(title) => about(judged, &title, &folder(judged, call)?),
        Class::Run(None) | Class::Other => Ok(()),
    }
}

/// Every file that the call names, however it does.
fn targets(judged: &Judged, touch: Touch, call: &Value) -> Result<Vec<Target>, Refusal> {
    let locations = call["locations"].as_array().into_iter().flatten();
    let mut named: Vec<String> =
        locations.filter_map(|location| location["path"].as_str()).map(str::to_owned).collect();
    named.extend(diffs(call).map(str::to_owned));
    named.extend(READ.given(&call["rawInput"]).text("path").map(std::borrow::Cow::into_owned));
    named.extend(inputs(touch, &call["rawInput"]));
    named.sort();
    named.dedup();
    let resolve = |named: &String| {
        let path = named.strip_prefix("file://").unwrap_or(named);
        judged.workspace.resolve(path).map_err(|error| error.to_string())
    };
    named.iter().map(resolve).collect()
}

/// What an agent's own arguments name.
fn inputs(touch: Touch, input: &Value) -> Vec<String> {
    let own = |input: &Value| {
        let names = NAMED.iter().chain(if touch == Touch::Write { &CHANGED[..] } else { &[] });
        let given = names.flat_map(|name| match &input[name] {
            Value::Array(all) => all.as_slice(),
            one => std::slice::from_ref(one),
        });
        given.filter_map(Value::as_str).filter(|path| !path.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    let mut named = own(input);
    match &input["changes"] {
        Value::Object(changes) => {
            named
                .extend(changes.iter().flat_map(|(path, change)| [vec![path.clone()], own(change)].concat()));
        }
        Value::Array(changes) => named.extend(changes.iter().flat_map(own)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    named
}

fn folder(judged: &Judged, call: &Value) -> Result<PathBuf, Refusal> {
    let named = ["cwd", "workdir", "directory"].into_iter().find_map(|name| call["rawInput"][name].as_str());
    judged.folder(named.filter(|named| !named.is_empty()))
}
