//! Calls that run side by side, told as they end. What the model reads must not depend on which ended first: a result
//! larger than its share of the room waits until it is known what the others leave, and one that may repeat the call
//! before it for that one.
//! (The field says parallel tool calls.)

use serde_json::json;
use zdx_protocol::display::Gap;
use zdx_protocol::facts::{MCP_CALL, facts};
use zdx_protocol::{ToolCall, ToolOutput, path_text};

use super::repeat::{Repeat, RepeatGuard, Streak};
use crate::call::life::Finish;
use crate::context::cap::{ResultRoom, Shares};
use zdx_workspace::spill::{self, SpillError, SpillFolder};

/// Less than this is never cut.
const LEAST_KEPT: usize = 240;

pub(super) struct Ended {
    /// Which call of the wave.
    pub at: usize,
    pub finish: Finish,
}

pub(super) struct Wave<'a> {
    calls: &'a [ToolCall],
    before: Option<Streak>,
    shares: Shares,
    /// Where output is kept whole that does not fit.
    spill: Option<&'a SpillFolder>,
    /// Of each call that was told.
    streaks: Vec<Option<Streak>>,
    waiting: Vec<Ended>,
}

impl<'a> Wave<'a> {
    pub(super) fn new(calls: &'a [ToolCall], guard: &RepeatGuard, room: ResultRoom) -> Self {
        Self {
            calls,
            before: guard.last().cloned(),
            shares: Shares::new(room, calls.len()),
            spill: None,
            streaks: calls.iter().map(|_| None).collect(),
            waiting: Vec::new(),
        }
    }

    pub(super) fn keeping(self, spill: Option<&'a SpillFolder>) -> Self {
        Self { spill, ..self }
    }

    pub(super) fn end(&mut self, ended: Ended) {
        self.waiting.push(ended);
    }

    /// The next one that may be told, fitted into the room, and whether the turn has gone in circles with it.
    pub(super) fn next(&mut self) -> Option<(&'a ToolCall, Finish, bool)> {
        let ready = self.waiting.iter().position(|ended| self.may_tell(ended))?;
        let Ended { at, finish } = self.waiting.swap_remove(ready);
        let (call, output) = (&self.calls[at], finish.output);
        let output = match self.shares.cuts(&output) {
            true => kept_whole(output, call, self.spill),
            false => output,
        };
        let output = self.shares.fit(output, &call.name);
        let before = match at.checked_sub(1) {
            None => self.before.as_ref(),
            Some(before) => self.streaks[before].as_ref().filter(|_| self.repeats(at)),
        };
        let (streak, repeat) = Streak::after(before, call, &output);
        let output = match repeat {
            Repeat::Fine => output,
            Repeat::Tell | Repeat::Stop => streak.annotate(output),
        };
        self.streaks[at] = Some(streak);
        Some((call, Finish { output, ..finish }, repeat == Repeat::Stop))
    }

    fn may_tell(&self, ended: &Ended) -> bool {
        let told = |at: usize| self.streaks[at].is_some();
        let follows = match ended.at.checked_sub(1) {
            Some(before) => told(before) || !self.repeats(ended.at),
            None => true,
        };
        follows && (self.shares.holds(&ended.finish.output) || self.comes_next(ended.at))
    }

    /// All have ended, and nothing else is left to be told before this one.
    fn comes_next(&self, at: usize) -> bool {
        let told = self.streaks.iter().flatten().count();
        let all_ended = told + self.waiting.len() == self.calls.len();
        // A small one that waits follows a large one that it repeats: it does not stand in the way.
        let large = |other: &&Ended| !self.shares.holds(&other.finish.output);
        all_ended && self.waiting.iter().filter(large).all(|other| other.at >= at)
    }

    /// Whether this call is the one before it once more.
    fn repeats(&self, at: usize) -> bool {
        let [before, this] = [at.wrapping_sub(1), at].map(|at| self.calls.get(at));
        before
            .zip(this)
            .is_some_and(|(one, other)| one.name == other.name && one.arguments == other.arguments)
    }

    /// What the next wave goes on from.
    pub(super) fn close(self) -> (Option<Streak>, ResultRoom) {
        (self.streaks.into_iter().next_back().flatten(), self.shares.close())
    }
}

/// What a command printed, or a server answered, and the context has no room for goes to its file, like what is too long
/// for any context. What else is long can be had again.
fn kept_whole(output: ToolOutput, call: &ToolCall, spill: Option<&SpillFolder>) -> ToolOutput {
    let (ToolOutput::Ok(mut data), Some(folder)) = (output.clone(), spill) else { return output };
    let is_servers = facts(&call.name).is_none() || MCP_CALL.is(&call.name);
    let kept: &[&str] = if is_servers { &["content", "structured"] } else { &["stdout", "stderr"] };
    for stream in kept {
        let field = format!("{stream}_file");
        let text =
            data[*stream].as_str().filter(|text| text.len() > LEAST_KEPT && data.get(&field).is_none());
        if let Some(text) = text.filter(|text| data["truncated"] == true && is_cut(text)) {
            // This is no whole, and there is none: the reason stands in a line that may be cut away.
            if text.contains(&spill::full_note()) {
                data["not_kept"] = json!(spill::full_note());
            }
            continue;
        }
        match text.map(|text| folder.keep(&spill::name(&call.id, stream), text)) {
            Some(Ok(file)) => data[field] = json!(path_text::encode(&file)),
            Some(Err(SpillError::Full)) => data["not_kept"] = json!(spill::full_note()),
            Some(Err(SpillError::Failed)) | None => {}
        }
    }
    ToolOutput::Ok(data)
}

fn is_cut(text: &str) -> bool {
    text.lines().any(|line| Gap::read(line).is_some())
}

#[cfg(test)]
mod tests {
    use zdx_protocol::{Arguments, ToolCode, ToolError};

    use super::*;

    fn call(id: &str, path: &str) -> ToolCall {
        let arguments = Arguments::parse(&json!({ "path": path }).to_string());
        ToolCall { id: id.to_owned(), name: "read".to_owned(), arguments, signature: None }
    }

    fn ended(at: usize, bytes: usize) -> Ended {
        let output = ToolOutput::Ok(json!({ "content": "x".repeat(bytes) }));
        Ended { at, finish: Finish { output, ..Finish::nothing(ToolError::new(ToolCode::Internal, "")) } }
    }

    /// The calls in the order in which they are told, and what the model reads, by call.
    fn told(calls: &[ToolCall], order: &[(usize, usize)], quarter: usize) -> (Vec<usize>, Vec<String>) {
        let guard = RepeatGuard::default();
        let mut wave = Wave::new(calls, &guard, ResultRoom::new(quarter));
        let (mut order_told, mut outputs) = (Vec::new(), vec![String::new(); calls.len()]);
        for (at, bytes) in order {
            wave.end(ended(*at, *bytes));
            while let Some((call, Finish { output, .. }, _)) = wave.next() {
                let at = calls.iter().position(|known| known.id == call.id).unwrap();
                order_told.push(at);
                outputs[at] = serde_json::to_string(&output).unwrap();
            }
        }
        (order_told, outputs)
    }

    #[test]
    fn whoever_ends_first_is_told_first() {
        let calls = [call("a", "a"), call("b", "b"), call("c", "c")];
        assert_eq!(told(&calls, &[(2, 10), (0, 10), (1, 10)], 10_000).0, [2, 0, 1]);
    }

    #[test]
    fn what_the_model_reads_does_not_depend_on_who_ended_first() {
        let calls = [call("a", "a"), call("b", "b"), call("c", "c"), call("d", "c"), call("e", "c")];
        let sizes = [6_000, 200, 9_000, 300, 300];
        let orders = [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 4, 1, 0, 3]];
        let outcomes = orders.map(|order| told(&calls, &order.map(|at| (at, sizes[at])), 4_000));
        assert!(outcomes.iter().all(|(told, _)| told.len() == calls.len()), "{:?}", outcomes.map(|o| o.0));
        assert_eq!(outcomes[0].1, outcomes[1].1);
        assert_eq!(outcomes[0].1, outcomes[2].1);
        let all: usize = outcomes[0].1.iter().map(String::len).sum();
        assert!(all < 2 * 4_000 + 5 * 900, "{all}");
    }

    /// As a command's output is cut when the session keeps no more, though a shorter text still fits.
    #[test]
    fn an_excerpt_is_never_kept_as_the_whole() {
        let dir = tempfile::tempdir().unwrap();
        let folder = SpillFolder::new(dir.path()).limited(1 << 20);
        let line = "one line of the output\n".repeat(1_000);
        let gap =
            Gap { bytes: 2_000_000, lines: None }.in_output(2_050_000, &format!("; {}", spill::full_note()));
        let data = json!({
            "stdout": format!("{line}{gap}\n{line}"), "stderr": line.clone(), "exit_code": 0, "truncated": true
        });
        let calls = [ToolCall { name: "bash".to_owned(), ..call("a", "a") }];
        let mut wave =
            Wave::new(&calls, &RepeatGuard::default(), ResultRoom::new(6_000)).keeping(Some(&folder));
        let output = ToolOutput::Ok(data);
        wave.end(Ended { at: 0, finish: Finish { output, ..ended(0, 0).finish } });
        let ToolOutput::Ok(data) = wave.next().unwrap().1.output else { panic!("it failed") };
        assert_eq!(data.get("stdout_file"), None);
        assert_eq!(data["not_kept"], spill::full_note());
        let whole = "the whole output is in the file";
        assert!(!data["stdout"].as_str().unwrap().contains(whole), "{data}");
        assert!(data["stderr"].as_str().unwrap().contains(whole), "{data}");
        let kept = std::fs::read_to_string(data["stderr_file"].as_str().unwrap()).unwrap();
        assert_eq!(kept, line);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_repeated_call_waits_for_the_one_it_repeats() {
        let calls = [call("a", "x"), call("b", "x"), call("c", "x")];
        let (order, outputs) = told(&calls, &[(2, 10), (1, 10), (0, 10)], 10_000);
        assert_eq!(order, [0, 1, 2]);
        assert!(outputs[2].contains("call 3 in a row"), "{}", outputs[2]);
    }
}
