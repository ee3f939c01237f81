//! What a call of another agent is about, as far as it says: by its kind and, where that says nothing, by what it brings.
//! Names and order of what it offers mean nothing. Decides nothing.

use serde_json::{Value, json};
use zdx_protocol::facts::BASH;

use super::raw_input::{self, RawShape};

/// So often is a title read anew without its end.
const REMARKS: usize = 4;

/// What a call wants to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proposal {
    /// These files, as they were named.
    Read(Vec<String>),
    Write(Vec<String>),
    /// Runs this in that folder, as far as it can be told.
    Run {
        command: Option<String>,
        folder: Option<String>,
    },
    /// Runs something, and one of these may be the command, the first that a shell could read; or all are words about it.
    Titled {
        readings: Vec<String>,
        folder: Option<String>,
    },
    Other,
}

impl Proposal {
    /// Of the `toolCall` of a permission, with all that was said of it before.
    pub fn of(call: &Value) -> Self {
        let input = &call["rawInput"];
        let run = |command| Self::Run { command: Some(command), folder: folder(call) };
        match call["kind"].as_str() {
            Some("read" | "search" | "fetch" | "think") => Self::Read(paths(call)),
            Some("edit" | "delete" | "move") => Self::Write(paths(call)),
            Some("execute") => command(input).map_or_else(|| titled(call), run),
            // `other`, `switch_mode`, and kinds that nobody knows yet.
            Some(_) | None => match (diffs(call).next(), command(input)) {
                (Some(_), _) => Self::Write(paths(call)),
                (None, Some(command)) => run(command),
                (None, None) => Self::Other,
            },
        }
    }
}

impl Proposal {
    /// All that the call may do: what its raw input shows first, then what its kind and title say. Whoever judges takes the
    /// strictest.
    pub fn readings(call: &Value) -> Vec<Self> {
        let input = &call["rawInput"];
        let run = |command| Self::Run { command: Some(command), folder: folder(call) };
        let mut all: Vec<Self> = raw_input::commands(input).into_iter().map(run).collect();
        if raw_input::may_change(input) || diffs(call).next().is_some() {
            all.push(Self::Write(paths(call)));
        }
        let said = Self::of(call);
        let files = paths(call);
        // A kind that may be anything may change what it names.
        if all.is_empty() && said == Self::Other && !files.is_empty() {
            all.push(Self::Write(files));
        }
        if !all.contains(&said) {
            all.push(said);
        }
        all
    }

    /// Whether something besides title and kind says what the call works on: a command of its input, or files that it
    /// names.
    pub fn is_stated(call: &Value) -> bool {
        let runs = RawShape::of(&call["rawInput"]) == RawShape::Command;
        match call["kind"].as_str() {
            Some("execute") => runs,
            Some(_) | None => runs || !paths(call).is_empty(),
        }
    }

    /// Whether the raw input alone says what is done, and kind and content do not contradict it. Without this, a call does
    /// not pass unasked.
    pub fn is_proven(call: &Value) -> bool {
        let kind = call["kind"].as_str();
        match RawShape::of(&call["rawInput"]) {
            RawShape::Command => matches!(kind, None | Some("execute")) && diffs(call).next().is_none(),
            RawShape::Change => matches!(kind, None | Some("edit" | "delete" | "move")),
            RawShape::Absent | RawShape::Unknown | RawShape::Names => false,
        }
    }
}

/// Quoted, as a shell would have to be given it.
pub fn command_line(words: &[String]) -> String {
    let given = json!({"command": words});
    BASH.given(&given).text("command").map(std::borrow::Cow::into_owned).unwrap_or_default()
}

/// Some give the program alone here, and its arguments beside it.
pub(super) fn command(input: &Value) -> Option<String> {
    let command = BASH.given(input).text("command")?;
    let word = |word: &Value| word.as_str().map_or_else(|| word.to_string(), str::to_owned);
    let args = match &input["args"] {
        Value::Array(args) => command_line(&args.iter().map(word).collect::<Vec<_>>()),
        Value::String(args) => args.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    };
    Some(format!("{command} {args}").trim().to_owned())
}

/// A title that is a command is often set in backticks.
fn titled(call: &Value) -> Proposal {
    let title = call["title"].as_str().unwrap_or_default().trim();
    let folder = folder(call);
    match quoted(placeless(title)) {
        Some(command) => Proposal::Run { command: Some(command.to_owned()), folder },
        None if title.is_empty() => Proposal::Run { command: None, folder },
        None => Proposal::Titled { readings: readings(title), folder },
    }
}

/// Without what is said about it at its end: `ls (List the files)`.
fn readings(title: &str) -> Vec<String> {
    let lines = std::iter::successors(Some(title), |title| Some(title.rsplit_once(" (")?.0.trim_end()));
    lines.take(REMARKS).map(placeless).map(|line| quoted(line).unwrap_or(line).to_owned()).collect()
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

fn diffs(call: &Value) -> impl Iterator<Item = &str> {
    let content = call["content"].as_array().into_iter().flatten();
    content.filter(|content| content["type"] == "diff").filter_map(|diff| diff["path"].as_str())
}

/// Every file that the call names, however it does.
fn paths(call: &Value) -> Vec<String> {
    let locations = call["locations"].as_array().into_iter().flatten();
    let mut named: Vec<String> =
        locations.filter_map(|location| location["path"].as_str()).map(str::to_owned).collect();
    named.extend(diffs(call).map(str::to_owned));
    named.extend(raw_input::targets(&call["rawInput"]));
    // Some give an address.
    for name in &mut named {
        if let Some(path) = name.strip_prefix("file://") {
            *name = path.to_owned();
        }
    }
    named.sort();
    named.dedup();
    named
}

fn folder(call: &Value) -> Option<String> {
    raw_input::folder(&call["rawInput"]).map(str::to_owned)
}
