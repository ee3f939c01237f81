//! How much a request may use: the model's context, what is in it already, and what is left for the answer.
//! Measures nothing itself: the transcript keeps its size, servers say what a token weighs.
//! (The field says context window, token budget.)

use zdx_protocol::compaction::Measured;
use zdx_protocol::facts;
use zdx_protocol::transcript::{ContextSize, of_value};
use zdx_protocol::{Action, Breakdown, ContextUsage, ToolSpec, Usage};

use super::refusal::{self, Counted};
use crate::models::Chosen;
use zdx_config::Config;

/// Measured over code and prose, three bytes a token is a cautious guess for all tokenizers we meet.
const BYTES_PER_TOKEN: f64 = 3.0;
/// Prose at its lightest: what is too long even so certainly does not fit.
const LIGHTEST: f64 = 5.0;
/// A report of fewer tokens than this allows is a server that does not count, or counts only what its cache had not.
const LIGHTEST_REPORTED: f64 = 16.0;
/// Digits and signs are a token each. Below this it is not the text that is heavy.
const DENSEST: f64 = 0.5;
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
    /// Nobody said so who should know.
    guessed: bool,
    /// Never more than this, whatever a server says: the user's own word.
    configured: Option<u64>,
    /// The most an answer may use.
    max_tokens: u32,
    /// Bytes a token of this conversation, where refusals showed that it is denser than thought.
    dense: Option<f64>,
    /// A request of this size was refused without a number. It holds until a server takes another one: less is known
    /// from it than from whoever named a limit.
    refused: Option<u64>,
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
            guessed: entry.context_limit.is_none() && chosen.by_name,
            configured: entry.context_limit,
            max_tokens: entry.max_tokens.unwrap_or(config.max_tokens),
            dense: None,
            refused: None,
        }
    }

    pub(crate) fn knows_limit(&self) -> bool {
        self.limit.is_some() && !self.guessed
    }

    pub(crate) fn set_limit(&mut self, limit: u64) {
        self.limit = Some(self.configured.map_or(limit, |most| most.min(limit)));
        self.guessed = false;
    }

    /// A limit to begin with, until whoever should know is asked.
    pub(crate) fn assume_limit(&mut self, limit: u64) {
        self.set_limit(limit);
        self.guessed = true;
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

    /// A server took the request.
    pub(crate) fn accept(&mut self) {
        self.refused = None;
    }

    /// A server took what came since a refusal: bit by bit its count is believed again.
    pub(crate) fn relax(&mut self) {
        self.dense = self.dense.map(|dense| dense * 1.25).filter(|dense| *dense < BYTES_PER_TOKEN);
    }

    /// Whether a refusal says how much the model can hold.
    pub(crate) fn is_named(message: &str) -> bool {
        refusal::read(message).limit.is_some()
    }

    /// Learns from a server's refusal: the limit if it names one, else that this request has to become smaller; and what a
    /// token weighs, if the request was refused although it should have fitted. Also the limit as the server named it.
    pub(crate) fn learn(&mut self, message: &str, gauge: &Gauge) -> (Lesson, Option<u64>) {
        let said = refusal::read(message);
        let Some(named) = said.limit else {
            let less = gauge.used.saturating_sub(gauge.used / 10).max(LEAST_LIMIT);
            self.refused = Some(gauge.limit.min(less));
            self.learn_density(said.used, less, gauge);
            return (Lesson::TooFull, None);
        };
        self.set_limit(named);
        let used = match said.used {
            Some(counted) => counted.least(),
            None => gauge.used,
        };
        let left = named.saturating_sub(used);
        if said.only_answer {
            return (Lesson::AskForLess(self.shorter_answer(left.max(LEAST_ANSWER))), Some(named));
        }
        if left < LEAST_ANSWER || left >= u64::from(self.max_tokens) {
            self.learn_density(said.used, named, gauge);
            return (Lesson::TooFull, Some(named));
        }
        (Lesson::AskForLess(self.shorter_answer(left)), Some(named))
    }

    /// A margin, since the server counts its own template too.
    fn shorter_answer(&self, left: u64) -> u32 {
        u32::try_from(left - left / 16).unwrap_or(u32::MAX).min(self.max_tokens)
    }

    /// By the server's own count, less what system text and tools take; where it named only a bound that was thought
    /// to be kept, half of what would just have reached it.
    fn learn_density(&mut self, counted: Option<Counted>, limit: u64, gauge: &Gauge) {
        let bytes = gauge.size.total() as f64;
        let of_rest =
            |tokens: u64| bytes / tokens.saturating_sub(gauge.fixed_tokens()).max(tokens / 8).max(1) as f64;
        let dense = match counted {
            Some(Counted::Exactly(tokens)) => of_rest(tokens),
            Some(Counted::AtLeast(_)) | None if gauge.used <= limit => of_rest(limit).min(gauge.ratio) / 2.0,
            Some(Counted::AtLeast(_)) | None => return,
        };
        self.dense = Some(dense.max(DENSEST)).filter(|dense| *dense < BYTES_PER_TOKEN).or(self.dense);
    }
}

/// How full the context of the next request is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gauge {
    pub limit: u64,
    pub used: u64,
    /// As few as they can be.
    at_least: u64,
    assumed: bool,
    max_tokens: u32,
    system: u64,
    tools: u64,
    /// Of these, those of MCP servers.
    mcp: u64,
    size: ContextSize,
    /// Bytes a token: of the conversation, and of system text and tools.
    ratio: f64,
    fixed_ratio: f64,
}

/// What of the next request does not depend on the conversation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Frame {
    limit: Option<u64>,
    max_tokens: u32,
    dense: Option<f64>,
    system: u64,
    tools: u64,
    mcp: u64,
}

impl Frame {
    pub(crate) fn limit(&self) -> Option<u64> {
        self.limit
    }

    pub(crate) fn new(budget: &Budget, system: &str, tools: &[ToolSpec]) -> Self {
        let tool = |tool: &ToolSpec| tool.name.len() + tool.description.len() + of_value(&tool.schema) + 60;
        let Budget { max_tokens, dense, .. } = *budget;
        let limit = match budget.refused {
            Some(refused) => Some(budget.limit.unwrap_or(ASSUMED_LIMIT).min(refused)),
            None => budget.limit,
        };
        let all =
            |wanted: &dyn Fn(&&ToolSpec) -> bool| tools.iter().filter(wanted).map(tool).sum::<usize>() as u64;
        let of_servers = |facts: &facts::ToolFacts| facts.permission.key == Action::MCP_KEY;
        let mcp = all(&|spec| facts::facts(&spec.name).is_none_or(of_servers));
        Self { limit, max_tokens, dense, system: system.len() as u64, tools: all(&|_| true), mcp }
    }

    /// With a conversation of this size in it.
    pub(crate) fn gauge(self, size: ContextSize) -> Gauge {
        let Self { limit, max_tokens, dense, system, tools, mcp } = self;
        let fixed = system + tools;
        let by_report = size.learnt.and_then(|Measured { bytes, tokens }| {
            let ratio = (fixed + bytes) as f64 / tokens.max(1) as f64;
            // More tokens than we know of (a long template, an image) are tokens all the same.
            (ratio <= LIGHTEST_REPORTED).then_some(ratio.max(DENSEST))
        });
        let fixed_ratio = by_report.unwrap_or(BYTES_PER_TOKEN);
        let ratio = dense.map_or(fixed_ratio, |dense| fixed_ratio.min(dense));
        let used = |ratio: f64, fixed_ratio: f64| match size.reported.filter(|_| by_report.is_some()) {
            Some(Measured { bytes, tokens }) => {
                // Less than was reported when something left the context since.
                let since = size.total() as f64 - bytes as f64;
                (tokens as f64 + since / ratio).max(0.0)
            }
            None => fixed as f64 / fixed_ratio + size.total() as f64 / ratio,
        };
        let lightest = fixed_ratio.max(LIGHTEST);
        Gauge {
            limit: limit.unwrap_or(ASSUMED_LIMIT),
            used: used(ratio, fixed_ratio).ceil() as u64,
            at_least: used(lightest, lightest) as u64,
            assumed: limit.is_none(),
            max_tokens,
            system,
            tools,
            mcp,
            size,
            ratio,
            fixed_ratio,
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
        ((self.system + self.tools) as f64 / self.fixed_ratio).ceil() as u64
    }

    /// There is room for an answer.
    pub(crate) fn fits(&self) -> bool {
        self.used + LEAST_ANSWER <= self.limit
    }

    /// Somebody knows the limit, and however light the text is it does not fit.
    pub(crate) fn certainly_too_long(&self) -> bool {
        !self.assumed && self.at_least > self.limit
    }

    /// What the input of one turn may weigh, prompt and attachments together, so that it can stay as it is while a model
    /// works on it: at most half of the context, less where system text and tools leave less.
    pub(crate) fn input_bytes(&self) -> usize {
        let left = (self.limit * COMPACT_PERCENT / 100).saturating_sub(self.fixed_tokens());
        let tokens = left.clamp(self.limit / 10, self.limit / 2);
        (tokens as f64 * self.ratio.min(BYTES_PER_TOKEN)) as usize
    }

    /// What may come in at once beside all that is there: what leaves an answer its room and needs no compaction.
    pub(crate) fn spare_bytes(&self) -> usize {
        let answer = u64::from(self.max_tokens).min(self.limit / 4);
        let most = (self.limit * COMPACT_PERCENT / 100).min(self.limit - answer);
        (most.saturating_sub(self.used + 1) as f64 * self.ratio.min(BYTES_PER_TOKEN)) as usize
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
        let ContextSize { messages, tool_results, summary, .. } = self.size;
        let sizes = [self.system, self.tools - self.mcp, self.mcp, messages, tool_results, summary];
        let all = sizes.iter().sum::<u64>().max(1);
        let [system, tools, mcp, messages, tool_results, summary] =
            sizes.map(|bytes| (bytes as f64 / all as f64 * self.used as f64).round() as u64);
        ContextUsage {
            used: self.used,
            limit: self.limit,
            percent: (self.used * 100).div_ceil(self.limit.max(1)),
            assumed: self.assumed,
            breakdown: Breakdown { system, tools, mcp, messages, tool_results, summary },
        }
    }
}

#[cfg(test)]
pub(super) fn limited(limit: u64) -> Budget {
    Budget {
        limit: Some(limit),
        guessed: false,
        configured: None,
        max_tokens: 8192,
        dense: None,
        refused: None,
    }
}

#[cfg(test)]
mod tests;
