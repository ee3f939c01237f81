//! What an agent said, in words for a person.

use zdx_acp::shapes::StopReason;
use zdx_protocol::display::visible_line;

/// Why a turn did not end well.
pub fn stopped(reason: &StopReason) -> String {
    match reason {
        StopReason::MaxTokens => "the agent stopped: max_tokens, its answer grew too long".to_owned(),
        StopReason::MaxTurnRequests => {
            "the agent stopped: max_turn_requests, it took more steps than it may".to_owned()
        }
        StopReason::Refusal => "the agent stopped: refusal, it will not do this".to_owned(),
        StopReason::Other(other) if other.is_empty() => "the agent stopped and does not say why".to_owned(),
        StopReason::Other(other) => format!("the agent stopped: {}", short(other)),
        StopReason::EndTurn | StopReason::Cancelled => format!("the agent stopped: {reason}"),
    }
}

/// Foreign words on one line, and not too long.
pub fn short(text: &str) -> String {
    visible_line(&text.chars().take(1000).collect::<String>())
}
