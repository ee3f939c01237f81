//! Cuts what is too large for the context, with a marker that says how much went and how to get it.
//! Nothing else is allowed to shorten a result.

use serde_json::{Value, json};
use zdx_protocol::ToolOutput;
use zdx_protocol::facts;
use zdx_protocol::transcript::{of_output, of_value};
use zdx_workspace::text::shorten;

/// Strings cut shorter than this say nothing any more.
pub(super) const LEAST_TEXT: usize = 240;
/// What a result gets when the others of its answer have used everything up.
const LEAST_RESULT: usize = 800;

/// What the results of one answer may weigh.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResultRoom {
    each: usize,
    left: usize,
}

impl ResultRoom {
    /// One result may take a quarter of the context; those of one answer together two quarters.
    pub(crate) fn new(quarter: usize) -> Self {
        Self { each: quarter, left: quarter * 2 }
    }
}

/// The room of calls that run side by side. A result within its share passes whole, whenever it comes; a larger one is
/// fitted when all have ended, into what the others left. So nothing depends on which of them ends first.
#[derive(Clone, Debug)]
pub(crate) struct Shares {
    room: ResultRoom,
    share: usize,
}

impl Shares {
    pub(crate) fn new(room: ResultRoom, calls: usize) -> Self {
        Self { room, share: (room.left / calls.max(1)).min(room.each) }
    }

    /// Whether a result takes no more than its share.
    pub(crate) fn holds(&self, output: &ToolOutput) -> bool {
        of_output(output) <= self.share
    }

    /// Whether `fit` would leave something out.
    pub(crate) fn cuts(&self, output: &ToolOutput) -> bool {
        of_output(output) > self.most()
    }

    fn most(&self) -> usize {
        self.room.each.min(self.room.left).max(LEAST_RESULT).max(self.share)
    }

    /// To be called for those within their share as they come, then for the larger ones in the order of the calls.
    pub(crate) fn fit(&mut self, output: ToolOutput, tool: &str) -> ToolOutput {
        let output = fit(output, self.most(), tool);
        self.room.left = self.room.left.saturating_sub(of_output(&output));
        output
    }

    /// What is left for the calls after these.
    pub(crate) fn close(self) -> ResultRoom {
        self.room
    }
}

impl Default for ResultRoom {
    fn default() -> Self {
        Self { each: usize::MAX, left: usize::MAX }
    }
}

/// The result in at most about so many bytes.
pub(crate) fn fit(output: ToolOutput, bytes: usize, tool: &str) -> ToolOutput {
    if of_output(&output) <= bytes {
        return output;
    }
    match output {
        ToolOutput::Err(mut error) => {
            error.message = shorten(&error.message, bytes.saturating_sub(100), "");
            ToolOutput::Err(error)
        }
        ToolOutput::Ok(data) => ToolOutput::Ok(fit_data(data, bytes, tool)),
    }
}

fn fit_data(mut data: Value, bytes: usize, tool: &str) -> Value {
    let usual = facts::facts(tool).map_or(facts::LESS, |facts| facts.when_cut);
    let mut lengths = Vec::new();
    lengths_of(&data, &mut lengths);
    let around = of_value(&data) - lengths.iter().sum::<usize>();
    match longest_allowed(&lengths, bytes.saturating_sub(around + 40)) {
        Some(longest) => {
            let hints = Spilled::of(&data);
            match &mut data {
                Value::Object(fields) => {
                    for (name, value) in fields {
                        shorten_all(value, longest, hints.hint(name).unwrap_or(usual));
                    }
                }
                other => shorten_all(other, longest, usual),
            }
        }
        // Many small things: what they say can only be cut as the text they make.
        None => {
            let hint = Spilled::of(&data).0.first().map_or(usual, |(_, hint)| hint);
            data = json!({ "partial": shorten(&data.to_string(), bytes.saturating_sub(60), hint) });
        }
    }
    if let Value::Object(map) = &mut data {
        map.insert("truncated".to_owned(), Value::Bool(true));
    }
    data
}

/// Fields of a result whose whole text is in a file, each with how the model gets the rest of it.
struct Spilled(Vec<(&'static str, &'static str)>);

impl Spilled {
    const WHOLE: &str =
        "; the whole output is in the file named in this result: read it with offset and limit";
    const BEGINNING: &str =
        "; the beginning of it is in the file named in this result: read it with offset and limit";

    fn of(data: &Value) -> Self {
        let is_part = |file: &str| data["not_kept"].as_str().is_some_and(|why| why.contains(file));
        let hint = |(field, file)| {
            data.get(file).map(|_| (field, if is_part(file) { Self::BEGINNING } else { Self::WHOLE }))
        };
        let fields = [
            ("stdout", "stdout_file"),
            ("stderr", "stderr_file"),
            ("content", "content_file"),
            ("structured", "structured_file"),
        ];
        Self(fields.into_iter().filter_map(hint).collect())
    }

    fn hint(&self, name: &str) -> Option<&'static str> {
        self.0.iter().find(|(field, _)| *field == name).map(|(_, hint)| *hint)
    }
}

/// The length that strings may have so that all of them fit, if it leaves them something to say.
pub(super) fn longest_allowed(lengths: &[usize], room: usize) -> Option<usize> {
    let fits = |longest: usize| lengths.iter().map(|len| (*len).min(longest)).sum::<usize>() <= room;
    let (mut low, mut high) = (0, room);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle) { low = middle } else { high = middle - 1 }
    }
    (low >= LEAST_TEXT).then_some(low)
}

fn lengths_of(value: &Value, lengths: &mut Vec<usize>) {
    match value {
        Value::String(text) => lengths.push(text.len()),
        Value::Array(items) => items.iter().for_each(|item| lengths_of(item, lengths)),
        Value::Object(map) => map.values().for_each(|item| lengths_of(item, lengths)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn shorten_all(value: &mut Value, longest: usize, hint: &str) {
    match value {
        Value::String(text) if text.len() > longest => *text = shorten(text, longest, hint),
        Value::Array(items) => items.iter_mut().for_each(|item| shorten_all(item, longest, hint)),
        Value::Object(map) => map.values_mut().for_each(|item| shorten_all(item, longest, hint)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(count: usize) -> String {
        (0..count).map(|n| format!("line {n} of the file, which is a long one\n")).collect()
    }

    #[test]
    fn a_small_result_is_left_alone() {
        let output = ToolOutput::Ok(json!({"content": "x", "truncated": false}));
        assert_eq!(fit(output.clone(), 1000, "read"), output);
    }

    #[test]
    fn a_large_file_keeps_head_and_tail_in_whole_lines() {
        let whole = lines(1000);
        let output =
            ToolOutput::Ok(json!({"path": "a", "content": whole, "truncated": false, "bytes": whole.len()}));
        let ToolOutput::Ok(data) = fit(output, 6_000, "read") else { panic!() };
        assert!(of_value(&data) <= 6_000, "{}", of_value(&data));
        let content = data["content"].as_str().unwrap();
        assert!(
            content.starts_with("line 0 of")
                && content.ends_with("line 999 of the file, which is a long one\n")
        );
        assert!(
            content.contains("left out to fit the context; read it with offset and limit ...]\nline "),
            "{content}"
        );
        assert_eq!((&data["truncated"], &data["path"]), (&json!(true), &json!("a")));
    }

    #[test]
    fn many_small_strings_are_cut_as_text() {
        let items: Vec<String> = (0..5_000).map(|n| format!("entry-{n}")).collect();
        let ToolOutput::Ok(data) = fit(ToolOutput::Ok(json!({ "entries": items })), 2_000, "mcp_x") else {
            panic!()
        };
        let text = data["partial"].as_str().unwrap();
        assert!(text.len() <= 2_000 && text.contains("entry-0") && text.contains("entry-4999"), "{text}");
    }

    #[test]
    fn an_error_is_cut_too() {
        let error = ToolOutput::error("x".into(), "e".repeat(9_000));
        assert!(of_output(&fit(error, 1_000, "bash")) <= 1_000);
    }

    #[test]
    fn results_of_one_answer_share_what_there_is() {
        let output = || ToolOutput::Ok(json!({ "stdout": "y".repeat(50_000) }));
        // One after another: whoever comes first takes what he may.
        let mut room = ResultRoom::new(4_000);
        let one = |_| {
            let mut shares = Shares::new(room, 1);
            let size = of_output(&shares.fit(output(), "bash"));
            room = shares.close();
            size
        };
        let sizes: Vec<usize> = (0..4).map(one).collect();
        assert!(sizes[0] > 3_000 && sizes[1] > 3_000 && sizes[3] <= 900, "{sizes:?}");
        // Side by side: what the small ones leave is there for a large one.
        let mut shares = Shares::new(ResultRoom::new(4_000), 8);
        let small = || ToolOutput::Ok(json!({ "stdout": "y" }));
        assert!(shares.holds(&small()) && !shares.holds(&output()));
        (0..7).for_each(|_| drop(shares.fit(small(), "bash")));
        let large = of_output(&shares.fit(output(), "bash"));
        assert!(large > 3_500, "{large}");
        let spilled = json!({"stdout": "y".repeat(50_000), "stdout_file": "/s/1"});
        let ToolOutput::Ok(data) = fit(ToolOutput::Ok(spilled), 4_000, "bash") else { panic!() };
        assert!(data["stdout"].as_str().unwrap().contains("in the file named in this result"));
        assert_eq!(data["stdout_file"], "/s/1");
        let part = json!({"stdout": "y".repeat(50_000), "stdout_file": "/s/1", "not_kept": "stdout_file has a part"});
        let ToolOutput::Ok(data) = fit(ToolOutput::Ok(part), 4_000, "bash") else { panic!() };
        assert!(data["stdout"].as_str().unwrap().contains("the beginning of it is in the file named"));
    }
}
