//! What an agent said, in words for a person.

use zdx_acp::shapes::StopReason;
use zdx_acp::{AcpError, PROTOCOL_VERSION, RpcError};
use zdx_protocol::display::visible_line;

use super::AgentProcess;

/// The words for an answer that is an error.
pub fn refusal(who: &str, method: &str, error: &RpcError) -> String {
    format!("{who} refuses {method}: {} ({})", short(&error.message), error.code)
}

/// Why an agent gave no usable answer, with its last output where it ended or is late. `who` is what the agent is called.
pub async fn explain<S>(error: &AcpError<S>, who: &str, agent: &mut AgentProcess) -> String {
    match error {
        AcpError::Stopped { .. } => "interrupted".to_owned(),
        AcpError::Refused { method, error } => refusal(who, method, error),
        AcpError::LoginRequired { message, methods } => {
            let ids: Vec<String> = methods.iter().map(|method| visible_line(&method.id)).collect();
            let ways = if ids.is_empty() { String::new() } else { format!("; it knows: {}", ids.join(", ")) };
            format!(
                "{who} wants a log-in first ({}){ways}; log in with its own program, or see how by `zdx acp -a {who} hi`",
                short(message)
            )
        }
        AcpError::Gone { method } => format!("no answer of {who} to {method}: {}", agent.fate().await),
        AcpError::Late { method, limit } => {
            agent.excuse(format!("{who} did not answer {method} within {} s", limit.as_secs()))
        }
        AcpError::Version { answered } => format!(
            "{who} speaks version {} of the protocol, and zdx none below {PROTOCOL_VERSION}; update the agent",
            visible_line(&answered.to_string())
        ),
        AcpError::NoSessionId => format!("{who} made a session without an id"),
    }
}

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
