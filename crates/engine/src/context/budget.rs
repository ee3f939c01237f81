//! How much a request may use: the model's context, what is in it already, and what is left for the answer.

use zdx_protocol::{Message, Part, Transcript};

use crate::backend::native::Native;
use crate::config::Config;
use crate::models::Chosen;

/// Measured over code and prose, three bytes a token is a cautious guess for all tokenizers we meet.
const BYTES_PER_TOKEN: u64 = 3;
/// An answer shorter than this is of no use; rather let the server refuse.
const LEAST_ANSWER: u64 = 256;

pub struct Budget {
    /// Tokens the model can hold, when somebody knows.
    limit: Option<u64>,
    /// The most an answer may use.
    max_tokens: u32,
}

impl Budget {
    pub fn new(config: &Config, chosen: &Chosen) -> Self {
        let endpoint = &chosen.endpoint;
        let entry = config.model_entry(&endpoint.provider, &endpoint.model);
        Self {
            limit: entry.context_limit.or(chosen.context_limit),
            max_tokens: entry.max_tokens.unwrap_or(config.max_tokens),
        }
    }

    /// Never more than the context leaves: servers refuse a request that asks for more.
    pub fn max_tokens(&self, native: &Native, transcript: &Transcript) -> u32 {
        let Some(limit) = self.limit else { return self.max_tokens };
        let tools: usize = native.tools.iter().map(|tool| tool.description.len() + 200).sum();
        let fixed = native.system.len() + tools;
        let used = estimate(fixed, transcript);
        let left = limit.saturating_sub(used).max(LEAST_ANSWER);
        u32::try_from(left).unwrap_or(u32::MAX).min(self.max_tokens)
    }

    /// Learns a limit from a server's refusal ("maximum context length is 4096 tokens … 100 in the messages").
    /// True when asking again with a smaller answer can work.
    pub fn learn(&mut self, message: &str, transcript: &Transcript) -> bool {
        let Some(limit) = number_after(message, "maximum context length is") else { return false };
        let used = number_before(message, "in the messages")
            .or_else(|| number_before(message, "input tokens"))
            .unwrap_or_else(|| estimate(0, transcript));
        let left = limit.saturating_sub(used);
        if left < LEAST_ANSWER || left >= u64::from(self.max_tokens) {
            return false;
        }
        self.limit = Some(limit);
        // A margin, since the server counts its own template too.
        self.max_tokens = u32::try_from(left - left / 16).unwrap_or(self.max_tokens);
        true
    }
}

fn estimate(fixed: usize, transcript: &Transcript) -> u64 {
    let bytes: usize = transcript.messages().iter().map(message_bytes).sum();
    (fixed + bytes) as u64 / BYTES_PER_TOKEN
}

fn message_bytes(message: &Message) -> usize {
    let part = |part: &Part| match part {
        Part::Text(text) => text.len(),
        Part::Reasoning(reasoning) => reasoning.text.len(),
        Part::ToolUse { name, arguments, .. } => name.len() + arguments.input().to_string().len(),
        Part::ToolResult { output, .. } => serde_json::to_string(output).map_or(0, |text| text.len()),
    };
    message.parts.iter().map(part).sum()
}

fn number_after(text: &str, phrase: &str) -> Option<u64> {
    let rest = &text[text.find(phrase)? + phrase.len()..];
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn number_before(text: &str, phrase: &str) -> Option<u64> {
    let before = text[..text.find(phrase)?].trim_end();
    let start = before.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
    before[start..].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_teaches_what_is_left() {
        let mut budget = Budget { limit: None, max_tokens: 8192 };
        let message = "This model's maximum context length is 4096 tokens. However, you requested 8292 tokens \
                       (100 in the messages, 8192 in the completion).";
        assert!(budget.learn(message, &Transcript::default()));
        assert_eq!(budget.limit, Some(4096));
        assert!((3000..3996).contains(&budget.max_tokens), "{}", budget.max_tokens);
        assert!(!budget.learn(message, &Transcript::default()), "the second refusal is final");
    }

    #[test]
    fn a_full_context_is_not_asked_again() {
        let mut budget = Budget { limit: None, max_tokens: 8192 };
        let message = "maximum context length is 4096 tokens, 4090 in the messages";
        assert!(!budget.learn(message, &Transcript::default()));
        assert!(!budget.learn("prompt is too long", &Transcript::default()));
    }
}
