//! Tool calls and the envelope every result wears.

use std::borrow::Cow;
use std::path::PathBuf;

use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::code::ToolCode;
use crate::path_text;

/// What a tool tells a model about itself.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    pub name: Cow<'static, str>,
    pub description: Cow<'static, str>,
    /// JSON schema of the input, an object.
    pub schema: Value,
}

/// One call as a model made it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    pub arguments: Arguments,
    /// What the model's server wants back with this call.
    pub signature: Option<Box<Signature>>,
}

/// What came with a call and must go back with that very call, unchanged (Gemini's `thoughtSignature`). Nobody but its
/// maker can use it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Signature {
    /// The wire that made it; only the same wire and model get it back.
    pub wire: String,
    pub model: String,
    /// Meaning is the wire's own; null where there is nothing but an id.
    #[serde(default)]
    pub opaque: Value,
    /// The server's own id of the call, where a call of the session had it before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
}

/// Who asked for a call. Only a model's calls are part of the history that models read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOrigin {
    Model,
    /// Typed by the user: `!cmd`.
    User,
    /// A shell command inside a slash command.
    Command,
    /// What proves the work of a turn.
    Check,
    /// A model's call in a task, by the agent that was launched for it; kept in that agent's own session.
    Subagent,
    /// Run by another agent's program, not by us: shown, not guarded.
    Remote,
}

/// What kind of thing a call does, in the words that editors use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Execute,
    Fetch,
    Think,
    #[serde(other)]
    Other,
}

/// A place that a call is about, for an editor to follow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    #[serde(with = "path_text")]
    pub path: PathBuf,
    /// From 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// Models send what they send: an object when all is well, else the text is kept as it came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Arguments {
    Object(Map<String, Value>),
    Raw(String),
}

impl Arguments {
    /// Reads streamed argument text. Nothing at all means a call without arguments.
    pub fn parse(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::Object(Map::new());
        }
        match serde_json::from_str(text) {
            Ok(Value::Object(map)) => Self::Object(map),
            // Some servers encode the arguments twice: a JSON string that holds the object.
            Ok(Value::String(inner)) => match serde_json::from_str(&inner) {
                Ok(Value::Object(map)) => Self::Object(map),
                _ => Self::Raw(text.to_owned()),
            },
            _ => Self::Raw(text.to_owned()),
        }
    }

    /// The input as a session record and an event show it; unreadable text gives an empty object.
    pub fn input(&self) -> Value {
        match self {
            Self::Object(map) => Value::Object(map.clone()),
            Self::Raw(_) => Value::Object(Map::new()),
        }
    }

    pub fn object(&self) -> Option<&Map<String, Value>> {
        match self {
            Self::Object(map) => Some(map),
            Self::Raw(_) => None,
        }
    }

    pub fn raw(&self) -> Option<&str> {
        match self {
            Self::Object(_) => None,
            Self::Raw(text) => Some(text),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{code}: {message}")]
pub struct ToolError {
    pub code: ToolCode,
    pub message: String,
}

impl ToolError {
    pub fn new(code: ToolCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// A call whose arguments cannot be used.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ToolCode::InvalidInput, message)
    }
}

/// The envelope: `{"ok":true,"data":…}` or `{"ok":false,"error":{"code":…,"message":…}}`.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolOutput {
    Ok(Value),
    Err(ToolError),
}

impl ToolOutput {
    pub fn error(code: ToolCode, message: impl Into<String>) -> Self {
        Self::Err(ToolError::new(code, message))
    }

    pub fn is_ok(&self) -> bool {
        matches!(self, Self::Ok(_))
    }

    /// A rule or a person said no.
    pub fn is_refused(&self) -> bool {
        matches!(self, Self::Err(error) if error.code.is_refusal())
    }
}

impl From<Result<Value, ToolError>> for ToolOutput {
    fn from(result: Result<Value, ToolError>) -> Self {
        match result {
            Ok(data) => Self::Ok(data),
            Err(error) => Self::Err(error),
        }
    }
}

impl Serialize for ToolOutput {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        match self {
            Self::Ok(data) => {
                map.serialize_entry("ok", &true)?;
                map.serialize_entry("data", data)?;
            }
            Self::Err(error) => {
                map.serialize_entry("ok", &false)?;
                map.serialize_entry("error", error)?;
            }
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for ToolOutput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Envelope {
            ok: bool,
            #[serde(default)]
            data: Value,
            error: Option<ToolError>,
        }
        let envelope = Envelope::deserialize(deserializer)?;
        match (envelope.ok, envelope.error) {
            (true, _) => Ok(Self::Ok(envelope.data)),
            (false, Some(error)) => Ok(Self::Err(error)),
            (false, None) => Err(D::Error::missing_field("error")),
        }
    }
}
