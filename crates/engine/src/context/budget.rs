//! How much a request may use: the model's context, what is in it already, and what is left for the answer.
//! Measures nothing itself: the transcript keeps its size, servers say what a token weighs.
//! (The field says context window, token budget.)

use zdx_protocol::compaction::Measured;
use zdx_protocol::transcript::{ContextSize, of_value};
use zdx_protocol::{Breakdown, ContextUsage, ToolSpec, Usage};

use super::refusal;
use crate::config::Config;
use crate::models::Chosen;

/// Measured over code and prose, three bytes a token is a cautious guess for all tokenizers we meet.
const BYTES_PER_TOKEN: f64 = 3.0;
/// A report outside of this is a server that does not count, or counts something else.
const CREDIBLE: std::ops::RangeInclusive<f64> = 1.0..=16.0;
/// An answer shorter than this is of no use; rather let the server refuse.
const LEAST_ANSWER: u64 = 256;
/// When nobody knows what a model can hold.
const ASSUMED_LIMIT: u64 = 32_768;
/// A server that refuses less than this objects to something else than the length of the conversation.
const LEAST_LIMIT: u64 = 2_048;
/// Servers pad a context to a multiple of this many tokens, and stop so near to its end.
const ROUND: u64 = 256;
const SLACK: u64 = 2;
const PRUNE_PERCENT: u64 = 70;
const COMPACT_PERCENT: u64 = 85;

pub(crate) struct Budget {
    /// Tokens the model can hold, when somebody knows.
    limit: Option<u64>,
    /// The most an answer may use.
    max_tokens: u32,
    /// The server was asked for the limit: once is enough.
    asked: bool,
    /// What a token weighs by a refusal's own count.
    refused_ratio: Option<f64>,
}

/// What a refusal as too long calls for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lesson {
    /// The conversation fits; only the room asked for the answer did not.
    AskForLess(u32),
    /// The conversation itself is too long.
    TooFull,
}

impl Budget {
    pub(crate) fn new(config: &Config, chosen: &Chosen) -> Self {
        let endpoint = &chosen.endpoint;
        let entry = config.model_entry(&endpoint.provider, &endpoint.model);
        Self {
            limit: entry.context_limit.or(chosen.context_limit),
            max_tokens: entry.max_tokens.unwrap_or(config.max_tokens),
            asked: false,
            refused_ratio: None,
        }
    }

    /// Whether it is time to ask the server what its model can hold. True once.
    pub(crate) fn wants_limit(&mut self, gauge: &Gauge) -> bool {
        let wants = self.limit.is_none() && !self.asked && gauge.should_prune();
        self.asked |= wants;
        wants
    }

    pub(crate) fn set_limit(&mut self, limit: u64) {
        self.limit = Some(limit);
    }

    /// An answer stopped for want of room, before it had the tokens that it was given: the context it was written into
    /// is full, if what is in it by the server's own count makes up one. Learns its size then.
    pub(crate) fn learn_full(&mut self, usage: Usage, given: u32) -> Option<u64> {
        let Usage { input_tokens: read, output_tokens: written, .. } = usage;
        if read == 0 || written == 0 || written >= u64::from(given) {
            return None;
        }
        let used = read + written;
        if let Some(limit) = self.limit.filter(|limit| used + SLACK >= *limit) {
            return Some(limit);
        }
        // Contexts come in round sizes; an answer of a round size met a limit of answers.
        let size = used.next_multiple_of(ROUND);
        let is_size = size - used <= SLACK && size >= LEAST_LIMIT && !written.is_multiple_of(ROUND);
        is_size.then(|| *self.limit.insert(size))
    }

    /// Learns from a server's refusal: the limit if it names one, else that it is less than what was sent.
    pub(crate) fn learn(&mut self, message: &str, gauge: &Gauge) -> Lesson {
        let said = refusal::read(message);
        let used = said.used.unwrap_or(gauge.used);
        if let Some(used) = said.used.filter(|used| *used > 0) {
            self.refused_ratio = Some((gauge.bytes_sent() as f64 / used as f64).max(*CREDIBLE.start()));
        }
        let Some(limit) = said.limit else {
            let less = gauge.used.saturating_sub(gauge.used / 10).max(LEAST_LIMIT);
            self.limit = Some(gauge.limit.min(less));
            return Lesson::TooFull;
        };
        self.limit = Some(limit);
        let left = limit.saturating_sub(used);
        if left < LEAST_ANSWER || left >= u64::from(self.max_tokens) {
            return Lesson::TooFull;
        }
        // A margin, since the server counts its own template too.
        Lesson::AskForLess(u32::try_from(left - left / 16).unwrap_or(self.max_tokens))
    }
}

/// How full the context of the next request is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gauge {
    pub limit: u64,
    pub used: u64,
    assumed: bool,
    max_tokens: u32,
    system: u64,
    tools: u64,
    size: ContextSize,
    /// Bytes a token.
    ratio: f64,
}

/// What of the next request does not depend on the conversation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Frame {
    limit: Option<u64>,
    max_tokens: u32,
    refused_ratio: Option<f64>,
    system: u64,
    tools: u64,
}

impl Frame {
    pub(crate) fn limit(&self) -> Option<u64> {
        self.limit
    }

    pub(crate) fn new(budget: &Budget, system: &str, tools: &[ToolSpec]) -> Self {
        let tool = |tool: &ToolSpec| tool.name.len() + tool.description.len() + of_value(&tool.schema) + 60;
        let Budget { limit, max_tokens, refused_ratio, .. } = *budget;
        let (system, tools) = (system.len() as u64, tools.iter().map(tool).sum::<usize>() as u64);
        Self { limit, max_tokens, refused_ratio, system, tools }
    }

    /// With a conversation of this size in it.
    pub(crate) fn gauge(self, size: ContextSize) -> Gauge {
        let Self { limit, max_tokens, refused_ratio, system, tools } = self;
        let fixed = system + tools;
        let by_report = size.learnt.and_then(|Measured { bytes, tokens }| {
            let ratio = (fixed + bytes) as f64 / tokens.max(1) as f64;
            CREDIBLE.contains(&ratio).then_some(ratio)
        });
        let ratio = by_report.unwrap_or(BYTES_PER_TOKEN);
        let ratio = refused_ratio.map_or(ratio, |refused| ratio.min(refused));
        let used = match size.reported.filter(|_| by_report.is_some()) {
            Some(Measured { bytes, tokens }) => {
                // Less than was reported when something left the context since.
                let since = size.total() as f64 - bytes as f64;
                (tokens as f64 + since / ratio).max(0.0)
            }
            None => (fixed + size.total()) as f64 / ratio,
        };
        Gauge {
            limit: limit.unwrap_or(ASSUMED_LIMIT),
            used: used.ceil() as u64,
            assumed: limit.is_none(),
            max_tokens,
            system,
            tools,
            size,
            ratio,
        }
    }
}

impl Gauge {
    #[cfg(test)]
    pub(crate) fn new(budget: &Budget, system: &str, tools: &[ToolSpec], size: ContextSize) -> Self {
        Frame::new(budget, system, tools).gauge(size)
    }

    pub(crate) fn should_prune(&self) -> bool {
        self.used * 100 >= self.limit * PRUNE_PERCENT
    }

    pub(crate) fn should_compact(&self) -> bool {
        self.used * 100 >= self.limit * COMPACT_PERCENT
    }

    /// What so many tokens weigh.
    pub(crate) fn bytes(&self, tokens: u64) -> usize {
        (tokens as f64 * self.ratio) as usize
    }

    pub(crate) fn tokens(&self, bytes: usize) -> u64 {
        (bytes as f64 / self.ratio).ceil() as u64
    }

    /// System text and tools: what no compaction can make smaller.
    pub(crate) fn fixed_tokens(&self) -> u64 {
        self.tokens(usize::try_from(self.system + self.tools).unwrap_or(usize::MAX))
    }

    fn bytes_sent(&self) -> u64 {
        self.system + self.tools + self.size.total()
    }

    /// What is left for an answer, less a margin for what an estimate cannot know.
    pub(crate) fn left(&self) -> u64 {
        self.limit.saturating_sub(self.used + self.limit / 32)
    }

    /// Never more than the context leaves: servers refuse a request that asks for more.
    pub(crate) fn max_tokens(&self) -> u32 {
        let left = self.left().max(LEAST_ANSWER);
        u32::try_from(left).unwrap_or(u32::MAX).min(self.max_tokens)
    }

    /// What one result may weigh: a quarter of the context, at the cautious rate, since nobody knows its own.
    pub(crate) fn result_bytes(&self) -> usize {
        (self.limit as f64 / 4.0 * self.ratio.min(BYTES_PER_TOKEN)) as usize
    }

    pub(crate) fn usage(&self) -> ContextUsage {
        let sizes = [self.system, self.tools, self.size.messages, self.size.tool_results, self.size.summary];
        let all = sizes.iter().sum::<u64>().max(1);
        let [system, tools, messages, tool_results, summary] =
            sizes.map(|bytes| (bytes as f64 / all as f64 * self.used as f64).round() as u64);
        ContextUsage {
            used: self.used,
            limit: self.limit,
            percent: (self.used * 100).div_ceil(self.limit.max(1)),
            assumed: self.assumed,
            breakdown: Breakdown { system, tools, messages, tool_results, summary },
        }
    }
}

#[cfg(test)]
pub(super) fn limited(limit: u64) -> Budget {
    Budget { limit: Some(limit), max_tokens: 8192, asked: false, refused_ratio: None }
}

#[cfg(test)]
mod tests {
    use zdx_protocol::record::{self, Record, UsageRecord};
    use zdx_protocol::{Role, Transcript};

    use super::*;

    fn gauge(budget: &Budget, transcript: &Transcript) -> Gauge {
        Gauge::new(budget, "", &[], transcript.size())
    }

    fn said(role: Role, bytes: usize) -> Record {
        Record::Message(record::Message::new(role, "x".repeat(bytes), record::now()))
    }

    fn reported(input_tokens: u64, output_tokens: u64) -> Record {
        let usage = Usage { input_tokens, output_tokens, ..Usage::default() };
        Record::Usage(UsageRecord { usage, ts: record::now() })
    }

    fn fold(records: &[Record]) -> Transcript {
        let mut transcript = Transcript::default();
        records.iter().for_each(|record| transcript.apply(record));
        transcript
    }

    #[test]
    fn a_refusal_teaches_what_is_left() {
        let mut budget = Budget { limit: None, max_tokens: 8192, asked: false, refused_ratio: None };
        let message = "This model's maximum context length is 4096 tokens. However, you requested 8292 tokens \
                       (100 in the messages, 8192 in the completion).";
        let empty = gauge(&budget, &Transcript::default());
        let Lesson::AskForLess(less) = budget.learn(message, &empty) else { panic!("it fits") };
        assert!((3000..3996).contains(&less), "{less}");
        assert_eq!(budget.limit, Some(4096));
        assert_eq!(
            budget.learn("maximum context length is 4096 tokens, 4090 in the messages", &empty),
            Lesson::TooFull
        );
    }

    #[test]
    fn a_refusal_without_numbers_bounds_the_limit_by_what_was_sent() {
        let mut budget = limited(100_000);
        let full = gauge(&budget, &fold(&[said(Role::User, 60_000)]));
        assert_eq!(budget.learn("prompt is too long", &full), Lesson::TooFull);
        assert!((17_000..20_000).contains(&budget.limit.unwrap()), "{:?}", budget.limit);
    }

    #[test]
    fn a_context_that_was_filled_shows_its_size() {
        let filled = |limit: Option<u64>, read: u64, written: u64| {
            let mut budget = Budget { limit, max_tokens: 8192, asked: false, refused_ratio: None };
            let usage = Usage { input_tokens: read, output_tokens: written, ..Usage::default() };
            (budget.learn_full(usage, 8192), budget.limit)
        };
        let full = |size: u64| (Some(size), Some(size));
        assert_eq!(filled(None, 3009, 1087), full(4096));
        assert_eq!(filled(None, 3009, 1086), full(4096), "some stop one token early");
        assert_eq!(filled(Some(32_768), 3009, 1087), full(4096), "whoever said so was wrong");
        assert_eq!(filled(Some(5000), 4000, 1000), full(5000));
        // max_tokens, a limit of answers, a server that does not count, and sizes of no context.
        for (read, written) in [(0, 4096), (4096, 0), (100, 8192), (2048, 2048), (3000, 1000), (100, 156)] {
            assert_eq!(filled(None, read, written), (None, None), "{read} {written}");
        }
    }

    #[test]
    fn an_estimate_is_the_last_report_and_what_came_since() {
        let budget = limited(8192);
        let before = fold(&[said(Role::User, 3000)]);
        assert!(
            (1000..1020).contains(&gauge(&budget, &before).used),
            "three bytes a token before any report"
        );
        let mut records = vec![said(Role::User, 4000), said(Role::Assistant, 400), reported(1000, 100)];
        assert_eq!(gauge(&budget, &fold(&records)).used, 1100);
        records.push(said(Role::User, 2000));
        let used = gauge(&budget, &fold(&records)).used;
        assert!((1590..1620).contains(&used), "four bytes a token are learnt: {used}");
    }

    #[test]
    fn a_server_that_does_not_count_is_not_believed() {
        let records = [said(Role::User, 30_000), said(Role::Assistant, 30), reported(10, 5)];
        assert!(gauge(&limited(8192), &fold(&records)).used > 10_000);
    }

    #[test]
    fn an_answer_gets_what_is_left() {
        let full = gauge(&limited(8192), &fold(&[said(Role::User, 18_000)]));
        assert!((1500..2000).contains(&full.max_tokens()), "{}", full.max_tokens());
        assert_eq!(gauge(&limited(8192), &fold(&[said(Role::User, 90_000)])).max_tokens(), 256);
    }
}
