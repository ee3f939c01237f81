//! What agents send, read with tolerance: any JSON in, a value of ours out. A field that is missing, null or of another type is
//! absent, a word that nobody knows is kept as it is. Nothing here can fail.

mod call;
mod caps;
mod content;
mod options;
mod permission;
mod stop;
mod update;

pub use call::{Call, Calls, Location};
pub use caps::{AuthKind, AuthMethod, Welcome};
pub use content::{Block, ToolContent};
pub use options::{Choice, Choices, Kind, Setting, Via};
pub use permission::{Answer, PermissionOption, outcome, pick};
pub use stop::StopReason;
pub use update::{CommandInfo, SessionUpdate, Update};

use serde_json::Value;

/// A text that says something.
fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests;
