//! Which old outputs leave the context when it fills up. The newest ones and the last steps stay, and so do skills:
//! their text is an instruction, not a result.

use zdx_protocol::transcript::{pruned_output, weight};
use zdx_protocol::{Message, Part, conversation, facts};

use super::budget::Gauge;

/// Steps whose results are never touched: the model is working with them.
const LAST_STEPS: usize = 2;
/// A smaller output is hardly larger than the marker in its place.
const LEAST_OUTPUT: u64 = 400;

pub(crate) struct Prune {
    pub calls: Vec<String>,
    pub bytes: u64,
}

/// Nothing unless it makes a difference: each time costs the server its cache of the prefix.
pub(crate) fn plan(messages: &[Message], gauge: &Gauge) -> Option<Prune> {
    let mut spare = gauge.bytes(gauge.limit / 5) as u64;
    let (mut steps, mut calls, mut bytes) = (0, Vec::new(), 0);
    for pair in messages.windows(2).rev() {
        let [calling, answering] = pair else { continue };
        let results = answering.parts.iter().filter(|part| matches!(part, Part::ToolResult { .. }));
        let mut any = false;
        for part in results {
            let Part::ToolResult { tool_use_id, .. } = part else { continue };
            any = true;
            let size = weight(part);
            let newest = steps < LAST_STEPS || size <= spare;
            spare = spare.saturating_sub(size);
            if newest || size < LEAST_OUTPUT || is_skill(calling, tool_use_id) {
                continue;
            }
            let marker =
                Part::ToolResult { tool_use_id: tool_use_id.clone(), output: pruned_output().into() };
            calls.push(tool_use_id.clone());
            bytes += size - weight(&marker).min(size);
        }
        steps += usize::from(any);
    }
    calls.reverse();
    (bytes >= gauge.bytes(gauge.limit / 6) as u64).then_some(Prune { calls, bytes })
}

/// Whether this call of a message loaded a skill.
fn is_skill(message: &Message, call: &str) -> bool {
    let mut calls = conversation::calls(std::slice::from_ref(message));
    calls.any(|called| called.id == call && facts::SKILL.is(called.name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use zdx_protocol::record::{self, Record};
    use zdx_protocol::{ToolOutput, Transcript};

    use super::super::budget::limited;
    use super::*;

    fn step(transcript: &mut Transcript, n: usize, name: &str, bytes: usize) {
        let (id, ts) = (format!("c{n}"), record::now());
        let input = json!({ "name": "x" });
        transcript.absorb(Record::ToolUse(record::ToolUse::new(&id, name, input, ts)));
        let output = ToolOutput::Ok(json!({ "content": "x".repeat(bytes) }));
        transcript.absorb(Record::ToolResult(record::ToolResult::new(id, output, ts)));
    }

    #[test]
    fn old_outputs_go_and_new_ones_skills_and_short_ones_stay() {
        let mut transcript = Transcript::default();
        transcript.absorb(Record::Message(record::Message::new(
            zdx_protocol::Role::User,
            "go",
            record::now(),
        )));
        for n in 0..10 {
            let (name, bytes) = match n {
                1 => ("skill", 2_000),
                2 => ("read", 100),
                _ => ("read", 2_000),
            };
            step(&mut transcript, n, name, bytes);
        }
        // A fifth of the context is about two and a half of them.
        let gauge = Gauge::new(&limited(8192), "", &[], transcript.size());
        let plan = plan(transcript.messages(), &gauge).unwrap();
        assert_eq!(plan.calls, ["c0", "c3", "c4", "c5", "c6", "c7"][..plan.calls.len()]);
        assert!((4..=6).contains(&plan.calls.len()), "{:?}", plan.calls);
        let before = transcript.size().total();
        let ts = record::now();
        transcript.apply(&Record::Prune(record::Prune { calls: plan.calls.clone(), bytes: plan.bytes, ts }));
        assert_eq!(before - transcript.size().total(), plan.bytes);
        assert!(super::plan(transcript.messages(), &gauge).is_none(), "once is enough");
    }
}
