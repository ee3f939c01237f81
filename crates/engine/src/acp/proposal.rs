//! What a call of another agent is about, as far as it says: by its kind and, where that says nothing, by what it brings.
//! Names and order of what it offers mean nothing. Decides nothing.

use serde_json::Value;
use zdx_protocol::facts::{BASH, READ};

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
    Other,
}

impl Proposal {
    /// Of the `toolCall` of a permission, with all that was said of it before.
    pub fn of(call: &Value) -> Self {
        let command = || BASH.given(&call["rawInput"]).text("command").map(std::borrow::Cow::into_owned);
        match call["kind"].as_str() {
            Some("read" | "search" | "fetch" | "think") => Self::Read(paths(call)),
            Some("edit" | "delete" | "move") => Self::Write(paths(call)),
            Some("execute") => {
                Self::Run { command: command().or_else(|| titled(call)), folder: folder(call) }
            }
            // `other`, `switch_mode`, and kinds that nobody knows yet.
            Some(_) | None => match (diffs(call).next(), command()) {
                (Some(_), _) => Self::Write(paths(call)),
                (None, Some(command)) => Self::Run { command: Some(command), folder: folder(call) },
                (None, None) => Self::Other,
            },
        }
    }
}

/// A title that is a command is often set in backticks.
fn titled(call: &Value) -> Option<String> {
    let title = call["title"].as_str()?.trim();
    let title = title.strip_prefix('`').and_then(|title| title.strip_suffix('`')).unwrap_or(title);
    (!title.is_empty()).then(|| title.to_owned())
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
    named.extend(READ.given(&call["rawInput"]).text("path").map(std::borrow::Cow::into_owned));
    // Some give an address.
    let mut named: Vec<String> = named
        .into_iter()
        .map(|named| named.strip_prefix("file://").map_or(named.clone(), str::to_owned))
        .collect();
    named.sort();
    named.dedup();
    named
}

fn folder(call: &Value) -> Option<String> {
    let named = ["cwd", "workdir", "directory"].into_iter().find_map(|name| call["rawInput"][name].as_str());
    named.filter(|named| !named.is_empty()).map(str::to_owned)
}
