use serde_json::json;
use zdx_protocol::{ToolCode, ToolOutput, record};

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

#[test]
fn a_time_is_a_commands_while_it_ran() {
    let mut history = FileHistory::default();
    let mut call = |name: &str, end: i64, output: ToolOutput| {
        let (id, input) = (format!("{name}{end}"), json!({}));
        let asked = record::ToolUse::new(&id, name, input, at(end - 60));
        let ended =
            record::ToolResult { duration_ms: Some(5_000), ..record::ToolResult::new(id, output, at(end)) };
        history.note(Record::ToolUse(asked));
        history.note(Record::ToolResult(ended));
    };
    call("bash", 1_000, ToolOutput::Ok(json!({"exit_code": 1})));
    call("write", 2_000, ToolOutput::Ok(json!({})));
    call("bash", 3_000, ToolOutput::error(ToolCode::Denied, "no"));
    let held: Vec<bool> =
        [990, 996, 1_000, 1_001, 1_999, 2_999].map(|when| history.is_while_command_ran(at(when))).into();
    assert_eq!(held, [false, true, true, false, false, false]);
}
