//! Notices a model that goes in circles: the same call with the same result, again and again.

use serde_json::Value;
use zdx_protocol::{Arguments, ToolCall, ToolOutput};

const TELL_AT: u32 = 3;
const STOP_AT: u32 = 5;

/// What the last call of a turn was, and how often in a row.
#[derive(Default)]
pub(super) struct RepeatGuard {
    last: Option<Streak>,
}

impl RepeatGuard {
    pub(super) fn last(&self) -> Option<&Streak> {
        self.last.as_ref()
    }

    pub(super) fn go_on_from(&mut self, last: Streak) {
        self.last = Some(last);
    }
}

/// A call, what came of it, and how often that happened in a row.
#[derive(Clone)]
pub(super) struct Streak {
    name: String,
    arguments: Arguments,
    output: ToolOutput,
    count: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeat {
    Fine,
    /// The model should hear of it with this result.
    Tell,
    /// Enough: the turn ends.
    Stop,
}

impl Streak {
    /// What a call makes of the one before it.
    pub(super) fn after(before: Option<&Self>, call: &ToolCall, output: &ToolOutput) -> (Self, Repeat) {
        let same = before.filter(|before| {
            before.name == call.name && before.arguments == call.arguments && before.output == *output
        });
        let count = same.map_or(0, |before| before.count) + 1;
        let (name, arguments, output) = (call.name.clone(), call.arguments.clone(), output.clone());
        let repeat = match count {
            STOP_AT.. => Repeat::Stop,
            TELL_AT.. => Repeat::Tell,
            _ => Repeat::Fine,
        };
        (Self { name, arguments, output, count }, repeat)
    }

    /// The result with a word about the repetition, for the model to read.
    pub(super) fn annotate(&self, output: ToolOutput) -> ToolOutput {
        let note = format!("this is call {} in a row with the same input and the same result", self.count);
        match output {
            ToolOutput::Ok(Value::Object(mut data)) => {
                let note = format!("{note}; do something else or finish");
                data.insert("note".to_owned(), Value::String(note));
                ToolOutput::Ok(Value::Object(data))
            }
            ToolOutput::Ok(other) => ToolOutput::Ok(other),
            // A person reads this one, too: no word to the model in it.
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
        ToolCall { id: "x".to_owned(), name: "bash".to_owned(), arguments, signature: None }
    }

    fn repeats(command: &str, outputs: impl Iterator<Item = ToolOutput>) -> Vec<Repeat> {
        let mut last: Option<Streak> = None;
        let repeat = |output| {
            let (streak, repeat) = Streak::after(last.as_ref(), &call(command), &output);
            last = Some(streak);
            repeat
        };
        outputs.map(repeat).collect()
    }

    #[test]
    fn tells_at_three_and_stops_at_five() {
        let same = std::iter::repeat_n(ToolOutput::Ok(json!({ "exit_code": 0 })), 5);
        let expected = [Repeat::Fine, Repeat::Fine, Repeat::Tell, Repeat::Tell, Repeat::Stop];
        assert_eq!(repeats("true", same), expected);
    }

    #[test]
    fn a_different_result_starts_over() {
        let outputs = (0..20).map(|n| ToolOutput::Ok(json!({ "stdout": n })));
        assert!(repeats("date", outputs).iter().all(|repeat| *repeat == Repeat::Fine));
    }

    #[test]
    fn the_note_is_part_of_the_result() {
        let output = ToolOutput::error(zdx_protocol::ToolCode::Enoent, "File not found");
        let mut last = None;
        for _ in 0..3 {
            last = Some(Streak::after(last.as_ref(), &call("x"), &output).0);
        }
        let ToolOutput::Err(error) = last.unwrap().annotate(output) else { panic!("still an error") };
        assert!(error.message.starts_with("File not found (this is call 3 in a row"), "{}", error.message);
    }
}
