//! Calls of tools and their results: one type each in memory, three record types each on disk.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Beside, stamp};
use crate::content::Content;
use crate::tool::{CallKind, CallOrigin, Signature, ToolOutput};

/// Origin of a recorded call. A model reads only its own calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolUseOrigin {
    Model,
    /// Run by another agent's program; shown to the user only.
    Remote,
    /// The command that checks the work of a turn.
    Check,
}

impl From<ToolUseOrigin> for CallOrigin {
    fn from(origin: ToolUseOrigin) -> Self {
        match origin {
            ToolUseOrigin::Model => Self::Model,
            ToolUseOrigin::Remote => Self::Remote,
            ToolUseOrigin::Check => Self::Check,
        }
    }
}

/// The `type` of a call's line.
#[derive(Serialize, Deserialize)]
#[serde(remote = "ToolUseOrigin")]
enum ToolUseType {
    #[serde(rename = "tool_use")]
    Model,
    #[serde(rename = "remote_use")]
    Remote,
    #[serde(rename = "check_use")]
    Check,
}

/// The `type` of a result's line.
#[derive(Serialize, Deserialize)]
#[serde(remote = "ToolUseOrigin")]
enum ToolResultType {
    #[serde(rename = "tool_result")]
    Model,
    #[serde(rename = "remote_result")]
    Remote,
    #[serde(rename = "check_result")]
    Check,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolUse {
    #[serde(rename = "type", with = "ToolUseType")]
    pub origin: ToolUseOrigin,
    pub id: String,
    pub name: String,
    pub input: Value,
    /// The arguments as the model sent them, when they are no JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    /// What the model's server wants back with this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Box<Signature>>,
    #[serde(serialize_with = "stamp")]
    pub ts: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    #[serde(rename = "type", with = "ToolResultType")]
    pub origin: ToolUseOrigin,
    pub tool_use_id: String,
    pub output: ToolOutput,
    /// Images that came with the output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<Content>,
    pub ok: bool,
    /// What it changed in files: for people, and no part of what a model is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// How long it ran; what was waited for an answer aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// What kind of call it was, where that is known to change nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<CallKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Box<Beside>>,
    #[serde(serialize_with = "stamp")]
    pub ts: Timestamp,
}

impl ToolUse {
    /// A model's call with well-formed arguments.
    pub fn new(id: impl Into<String>, name: impl Into<String>, input: Value, ts: Timestamp) -> Self {
        let (id, name, origin) = (id.into(), name.into(), ToolUseOrigin::Model);
        Self { origin, id, name, input, raw: None, signature: None, ts }
    }
}

impl ToolResult {
    /// The result of a model's call, with nothing recorded beside it.
    pub fn new(call: impl Into<String>, output: ToolOutput, ts: Timestamp) -> Self {
        Self {
            origin: ToolUseOrigin::Model,
            tool_use_id: call.into(),
            ok: output.is_ok(),
            output,
            content: Vec::new(),
            diff: None,
            duration_ms: None,
            reads: None,
            beside: None,
            ts,
        }
    }
}
