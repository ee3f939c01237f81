//! A prompt that is being answered, and how that ends in the words of the protocol.

use serde_json::json;
use zdx_acp::{Asked, RpcError, code};
use zdx_protocol::display::{plain, turns};
use zdx_protocol::{CommandId, CutShort, ErrorKind, Event, Outcome, TurnSummary};

pub struct Pending {
    pub asked: Asked,
    pub command: CommandId,
    pub cancelled: bool,
    pub summary: Option<TurnSummary>,
    pub fault: Option<RpcError>,
}

/// What could not be done, for the person.
pub fn failure(kind: ErrorKind, message: &str) -> RpcError {
    RpcError::new(code::INTERNAL, plain(message)).with(json!({"kind": kind}))
}

pub fn busy() -> RpcError {
    RpcError::new(code::INVALID_REQUEST, "a prompt of this session is still being answered")
}

/// What the protocol has no word for is an error.
pub fn stop_reason(pending: &Pending, end: &Event) -> Result<&'static str, RpcError> {
    if pending.cancelled {
        return Ok("cancelled");
    }
    if let Event::Error { kind, message, .. } = end {
        return Err(failure(*kind, message));
    }
    let Some(summary) = &pending.summary else { return Ok("end_turn") };
    match (summary.outcome, summary.cut_short) {
        (Outcome::Completed, None) => Ok("end_turn"),
        (Outcome::Completed, Some(CutShort::MaxTokens)) => Ok("max_tokens"),
        (Outcome::Completed, Some(CutShort::Refusal)) => Ok("refusal"),
        (Outcome::Interrupted, _) => Ok("cancelled"),
        (Outcome::MaxSteps, _) => Ok("max_turn_requests"),
        (outcome @ (Outcome::RepeatedCalls | Outcome::CheckFailed | Outcome::Error), _) => {
            let words = turns::failed(outcome).unwrap_or("the turn failed");
            Err(pending.fault.clone().unwrap_or_else(|| RpcError::new(code::INTERNAL, words)))
        }
    }
}
