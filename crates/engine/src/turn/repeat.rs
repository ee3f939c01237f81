//! Notices a model that goes in circles: the same call with the same result, again and again.

use serde_json::Value;
use zdx_protocol::{Arguments, ToolCall, ToolOutput};

const TELL_AT: u32 = 3;
const STOP_AT: u32 = 5;

#[derive(Default)]
pub struct RepeatGuard {
    last: Option<(String, Arguments, ToolOutput)>,
    count: u32,
}

pub enum Repeat {
    Fine,
    /// The model should hear of it with this result.
    Tell,
    /// Enough: the turn ends.
    Stop,
}

impl RepeatGuard {
    pub fn note(&mut self, call: &ToolCall, output: &ToolOutput) -> Repeat {
        let same = self.last.as_ref().is_some_and(|(name, arguments, result)| {
            *name == call.name && *arguments == call.arguments && result == output
        });
        self.count = if same { self.count + 1 } else { 1 };
        if !same {
            self.last = Some((call.name.clone(), call.arguments.clone(), output.clone()));
        }
        match self.count {
            STOP_AT.. => Repeat::Stop,
            TELL_AT.. => Repeat::Tell,
            _ => Repeat::Fine,
        }
    }

    /// The result with a word about the repetition, for the model to read.
    pub fn annotate(&self, output: ToolOutput) -> ToolOutput {
        let note = format!(
            "this is call {} in a row with the same input and the same result; do something else or finish",
            self.count
        );
        match output {
            ToolOutput::Ok(Value::Object(mut data)) => {
                data.insert("note".to_owned(), Value::String(note));
                ToolOutput::Ok(Value::Object(data))
            }
            ToolOutput::Ok(other) => ToolOutput::Ok(other),
            ToolOutput::Err(mut error) => {
                error.message = format!("{} ({note})", error.message);
                ToolOutput::Err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(command: &str) -> ToolCall {
        let arguments = Arguments::parse(&json!({ "command": command }).to_string());
        ToolCall { id: "x".to_owned(), name: "bash".to_owned(), arguments }
    }

    #[test]
    fn tells_at_three_and_stops_at_five() {
        let mut guard = RepeatGuard::default();
        let output = ToolOutput::Ok(json!({ "exit_code": 0 }));
        let seen: Vec<_> = (0..5).map(|_| guard.note(&call("true"), &output)).collect();
        assert!(matches!(seen[..], [Repeat::Fine, Repeat::Fine, Repeat::Tell, Repeat::Tell, Repeat::Stop]));
    }

    #[test]
    fn a_different_result_starts_over() {
        let mut guard = RepeatGuard::default();
        for n in 0..20 {
            let output = ToolOutput::Ok(json!({ "stdout": n }));
            assert!(matches!(guard.note(&call("date"), &output), Repeat::Fine));
        }
    }

    #[test]
    fn the_note_is_part_of_the_result() {
        let mut guard = RepeatGuard::default();
        let output = ToolOutput::error(zdx_protocol::ToolCode::Enoent, "File not found");
        for _ in 0..3 {
            guard.note(&call("x"), &output);
        }
        let ToolOutput::Err(error) = guard.annotate(output) else { panic!("still an error") };
        assert!(error.message.starts_with("File not found (this is call 3 in a row"), "{}", error.message);
    }
}
