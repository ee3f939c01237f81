//! How the end of a turn is worded: what it took, what was denied, why it failed when nobody said it in more words.

use crate::conversation::Usage;
use crate::event::{Outcome, TurnSummary};
use crate::typeset::format::{self, tokens};

pub fn denials(count: u32) -> String {
    format!("{} denied", format::count(count as usize, "tool call"))
}

/// Why a turn failed, when nobody said it in more words.
pub fn failed(outcome: Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Completed | Outcome::Interrupted => None,
        Outcome::MaxSteps => Some("stopped at the step limit; ask to go on, or raise --max-steps"),
        Outcome::RepeatedCalls => {
            Some("stopped because the model kept repeating one call; rephrase, or try another model")
        }
        Outcome::CheckFailed => Some("the work does not pass its check"),
        Outcome::Error => Some("the turn failed"),
    }
}

/// Not worth a line of its own.
pub fn is_short(summary: &TurnSummary) -> bool {
    summary.usage.input_tokens + summary.usage.output_tokens == 0 && summary.duration_ms < 1_000
}

/// What a turn took: time, the context as it was last sent, with the tokens the cache served told apart, and all tokens
/// that were written.
pub fn cost(summary: &TurnSummary) -> Option<String> {
    let usage =
        Usage { output_tokens: summary.usage.output_tokens, ..summary.last_request.unwrap_or(summary.usage) };
    let time = format::duration(summary.duration_ms);
    if usage.input_tokens == 0 && usage.output_tokens == 0 {
        // Of a turn that was told again nobody may know it.
        return (summary.duration_ms > 0).then_some(time);
    }
    let cached = match usage.cache_read_tokens {
        0 => String::new(),
        cached => format!(" ({} cached)", tokens(cached)),
    };
    let (input, output) = (tokens(usage.input_tokens), tokens(usage.output_tokens));
    Some(format!("{time} · {input} in{cached} · {output} out"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_tells_cached_tokens_apart() {
        let mut summary = TurnSummary {
            outcome: Outcome::Completed,
            text: String::new(),
            usage: Usage::default(),
            last_request: None,
            denied: 0,
            duration_ms: 1_234,
            cut_short: None,
            begun: false,
        };
        assert_eq!(cost(&summary).as_deref(), Some("1.2 s"));
        summary.duration_ms = 20;
        assert_eq!(cost(&summary).as_deref(), Some("0.02 s"), "of a short one too");
        summary.duration_ms = 1_234;
        summary.usage =
            Usage { input_tokens: 12_345, output_tokens: 20, cache_read_tokens: 999, ..Usage::default() };
        assert_eq!(cost(&summary).as_deref(), Some("1.2 s · 12.3k in (999 cached) · 20 out"));
        summary.last_request = Some(Usage { input_tokens: 7_000, output_tokens: 5, ..Usage::default() });
        assert_eq!(cost(&summary).as_deref(), Some("1.2 s · 7.0k in · 20 out"), "the context as last sent");
    }
}
