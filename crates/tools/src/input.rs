//! Reading a call's arguments: strict about meaning, patient about spelling.
//! Which other names count as a field is a fact of the tool; a value that could be taken in two ways is an error.

use serde_json::{Map, Value};
use zdx_protocol::ToolError;
use zdx_protocol::facts::ToolFacts;

pub struct ToolInput {
    facts: &'static ToolFacts,
    fields: Map<String, Value>,
}

impl ToolInput {
    pub fn new(facts: &'static ToolFacts, fields: Map<String, Value>) -> Self {
        Self { facts, fields }
    }

    fn take(&mut self, field: &str) -> Option<Value> {
        self.facts.take(&mut self.fields, field)
    }

    pub fn text(&mut self, field: &'static str) -> Result<String, ToolError> {
        match self.take(field) {
            Some(Value::String(text)) => Ok(text),
            Some(other) => Err(invalid(format!("`{field}` must be text, not {}", kind(&other)))),
            None => Err(invalid(format!("`{field}` is missing: text is expected"))),
        }
    }

    /// An empty text is as good as none.
    pub fn optional_text(&mut self, field: &'static str) -> Result<Option<String>, ToolError> {
        match self.take(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text).filter(|text| !text.is_empty())),
            Some(other) => Err(invalid(format!("`{field}` must be text, not {}", kind(&other)))),
        }
    }

    pub fn flag(&mut self, field: &'static str) -> Result<Option<bool>, ToolError> {
        match self.take(field) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(Value::String(text)) if text.eq_ignore_ascii_case("true") => Ok(Some(true)),
            Some(Value::String(text)) if text.eq_ignore_ascii_case("false") => Ok(Some(false)),
            Some(other) => Err(invalid(format!("`{field}` must be true or false, not {}", shown(&other)))),
        }
    }

    /// Whatever stands there.
    pub fn any(&mut self, field: &'static str) -> Option<Value> {
        self.take(field)
    }

    /// A whole number of at least 1.
    pub fn count(&mut self, field: &'static str) -> Result<Option<u64>, ToolError> {
        self.number(field, 1)
    }

    /// A whole number of at least `least`.
    pub fn number(&mut self, field: &'static str, least: u64) -> Result<Option<u64>, ToolError> {
        let Some(value) = self.take(field) else { return Ok(None) };
        let number = match &value {
            Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
            Value::String(text) => text.trim().parse().ok(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        match number.filter(|number| *number >= least) {
            Some(number) => Ok(Some(number)),
            None => {
                let shown = shown(&value);
                Err(invalid(format!("`{field}` must be a whole number of at least {least}, not {shown}")))
            }
        }
    }
}

pub fn invalid(message: impl Into<String>) -> ToolError {
    ToolError::invalid(message)
}

/// `3.0` is three.
fn whole(number: f64) -> Option<u64> {
    /// Beyond it a float has no exact whole numbers.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (number.fract() == 0.0 && (0.0..EXACT).contains(&number)).then_some(number as u64)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        Value::String(text) if text.len() <= 40 => value.to_string(),
        Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_) => kind(value).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use zdx_protocol::facts::EDIT;

    fn input(value: Value) -> ToolInput {
        match value {
            Value::Object(map) => ToolInput::new(&EDIT, map),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn the_fields_own_name_wins_over_other_spellings() {
        assert_eq!(input(json!({"file_path": "a"})).text("path").unwrap(), "a");
        assert_eq!(input(json!({"file_path": "a", "path": "b"})).text("path").unwrap(), "b");
        assert_eq!(input(json!({"path": null, "filename": "c"})).text("path").unwrap(), "c");
        assert_eq!(input(json!({"old_str": "x"})).text("old").unwrap(), "x");
    }

    #[test]
    fn faults_name_the_field_and_what_was_expected() {
        let message = |value: Value| input(value).text("path").unwrap_err().message;
        assert_eq!(message(json!({})), "`path` is missing: text is expected");
        assert_eq!(message(json!({"path": ["a"]})), "`path` must be text, not a list");
        assert_eq!(message(json!({"path": 3})), "`path` must be text, not a number");
    }

    #[test]
    fn numbers_are_taken_where_they_are_unambiguous() {
        for (value, expected) in [
            (json!(3), Some(Some(3))),
            (json!(3.0), Some(Some(3))),
            (json!("3"), Some(Some(3))),
            (json!(null), Some(None)),
            (json!(0), None),
            (json!(-1), None),
            (json!(1.5), None),
            (json!("three"), None),
            (json!(true), None),
            (json!(1e300), None),
        ] {
            let read = input(json!({"limit": value.clone()})).count("limit");
            assert_eq!(read.ok(), expected, "{value}");
        }
    }
}
