//! The options of a permission request, told apart by their kind: names and order are for people.

use serde_json::{Value, json};

use super::{list, text};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionOption {
    pub id: String,
    pub kind: String,
}

impl PermissionOption {
    /// Those of a `session/request_permission`.
    pub fn of(params: &Value) -> Vec<Self> {
        let read = |option: &Value| {
            Some(Self {
                id: option["optionId"].as_str()?.to_owned(),
                kind: text(option, "kind").unwrap_or_default(),
            })
        };
        list(params, "options").iter().filter_map(read).collect()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Allow,
    Reject,
}

/// The option that says so, once before for good. None where no option does.
pub fn pick(options: &[PermissionOption], answer: Answer) -> Option<&PermissionOption> {
    let kinds = match answer {
        Answer::Allow => ["allow_once", "allow_always"],
        Answer::Reject => ["reject_once", "reject_always"],
    };
    kinds.iter().find_map(|kind| options.iter().find(|option| option.kind == *kind))
}

/// The answer on the wire: this option, or none because the turn was cancelled.
pub fn outcome(option: Option<&PermissionOption>) -> Value {
    match option {
        Some(option) => json!({"outcome": {"outcome": "selected", "optionId": option.id}}),
        None => json!({"outcome": {"outcome": "cancelled"}}),
    }
}
