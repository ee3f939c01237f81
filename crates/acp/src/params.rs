//! The fields of a request, as agents write them: what may be left out may also be null.

use crate::error::RpcError;
use serde_json::Value;

#[derive(Debug)]
pub struct Params(pub Value);

impl Params {
    pub fn text(&self, name: &str) -> Result<&str, RpcError> {
        self.0[name].as_str().ok_or_else(|| RpcError::invalid_params(format!("`{name}` must be a text")))
    }

    pub fn text_if_any(&self, name: &str) -> Result<Option<&str>, RpcError> {
        match &self.0[name] {
            Value::Null => Ok(None),
            _ => self.text(name).map(Some),
        }
    }

    pub fn count_if_any(&self, name: &str) -> Result<Option<u64>, RpcError> {
        match &self.0[name] {
            Value::Null => Ok(None),
            count => count.as_u64().map(Some).ok_or_else(|| {
                RpcError::invalid_params(format!("`{name}` must be a whole number from 0 on"))
            }),
        }
    }

    /// None is an empty one.
    pub fn list(&self, name: &str) -> Result<&[Value], RpcError> {
        match &self.0[name] {
            Value::Null => Ok(&[]),
            Value::Array(all) => Ok(all),
            _ => Err(RpcError::invalid_params(format!("`{name}` must be an array"))),
        }
    }

    /// The text itself, without a copy of it.
    pub fn take_text(&mut self, name: &str) -> Result<String, RpcError> {
        self.text(name)?;
        match self.0[name].take() {
            Value::String(text) => Ok(text),
            _ => Ok(String::new()),
        }
    }
}
