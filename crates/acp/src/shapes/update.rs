//! `session/update`: what happens in a session, one piece at a time.

use serde_json::Value;

use super::content::Block;
use super::options::Setting;
use super::{list, text};

/// A notification that something happened, and in which session.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionUpdate {
    pub session: Option<String>,
    pub update: Update,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// What the user said, told again.
    User(Block),
    Message(Block),
    Thought(Block),
    /// A call or more about one: [`super::Calls`] makes no difference between the two.
    Call(Value),
    /// The whole plan, as it was sent.
    Plan(Value),
    Commands(Vec<CommandInfo>),
    Mode(String),
    Options(Vec<Setting>),
    Notice {
        severity: Option<String>,
        text: String,
    },
    /// What says nothing to a client that only prints.
    Unknown(Value),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandInfo {
    pub name: String,
    pub description: Option<String>,
    pub hint: Option<String>,
}

impl SessionUpdate {
    pub fn read(params: Value) -> Self {
        let session = text(&params, "sessionId");
        let update = match params {
            Value::Object(mut fields) => fields.remove("update").unwrap_or_default(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Value::Null
            }
        };
        Self { session, update: Update::read(update) }
    }
}

impl Update {
    pub fn read(update: Value) -> Self {
        match update["sessionUpdate"].as_str() {
            Some("user_message_chunk") => Self::User(Block::read(&update["content"])),
            Some("agent_message_chunk") => Self::Message(Block::read(&update["content"])),
            Some("agent_thought_chunk") => Self::Thought(Block::read(&update["content"])),
            Some("tool_call" | "tool_call_update") => Self::Call(update),
            Some("plan") => Self::Plan(plan(update)),
            Some("available_commands_update") => Self::Commands(
                list(&update, "availableCommands").iter().filter_map(CommandInfo::read).collect(),
            ),
            Some("current_mode_update") => match text(&update, "currentModeId") {
                Some(mode) => Self::Mode(mode),
                None => Self::Unknown(update),
            },
            Some("config_option_update") => Self::Options(Setting::all(&update)),
            Some("notice") => Self::Notice {
                severity: text(&update, "severity"),
                text: [text(&update, "title"), text(&update, "description")]
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>()
                    .join(": "),
            },
            Some(_) | None => Self::Unknown(update),
        }
    }
}

fn plan(mut update: Value) -> Value {
    if let Some(fields) = update.as_object_mut() {
        fields.shift_remove("sessionUpdate");
    }
    update
}

impl CommandInfo {
    fn read(command: &Value) -> Option<Self> {
        Some(Self {
            name: text(command, "name")?,
            description: text(command, "description"),
            hint: text(&command["input"], "hint"),
        })
    }
}
