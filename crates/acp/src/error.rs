//! What can be wrong with a call, on the wire and beside it.

use serde_json::{Value, json};
use thiserror::Error;

/// The codes of JSON-RPC and of the protocol.
pub mod code {
    pub const PARSE: i64 = -32700;
    pub const INVALID_REQUEST: i64 = -32600;
    pub const METHOD_NOT_FOUND: i64 = -32601;
    pub const INVALID_PARAMS: i64 = -32602;
    pub const INTERNAL: i64 = -32603;
    pub const CANCELLED: i64 = -32800;
    pub const AUTH_REQUIRED: i64 = -32000;
    pub const NOT_FOUND: i64 = -32002;
}

/// An error as it stands in a response.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    pub code: i64,
    pub message: String,
    pub data: Option<Value>,
}

impl RpcError {
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    #[must_use]
    pub fn with(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    pub fn method_not_found(method: &str) -> Self {
        Self::new(code::METHOD_NOT_FOUND, format!("Method not found: {method}"))
            .with(json!({"method": method}))
    }

    pub fn invalid_params(why: impl Into<String>) -> Self {
        Self::new(code::INVALID_PARAMS, why)
    }

    /// Whatever stands there: an error that is not shaped like one is still an error.
    pub(crate) fn read(error: Value) -> Self {
        let message = match &error["message"] {
            Value::String(message) => message.clone(),
            _ => error.to_string(),
        };
        let data = error.get("data").filter(|data| !data.is_null()).cloned();
        Self { code: error["code"].as_i64().unwrap_or(code::INTERNAL), message, data }
    }

    pub(crate) fn to_value(&self) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        error
    }
}

/// The answer to a request of an agent.
pub type HostAnswer = Result<Value, RpcError>;

/// Why a call brought nothing.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum CallError {
    #[error(transparent)]
    Refused(#[from] RpcError),
    /// The other side closed its stream, or ours to it broke.
    #[error("the other side is gone")]
    Gone,
}
