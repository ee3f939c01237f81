//! From a verdict to a yes or a no, asking a person where the verdict says so.

use zdx_protocol::{
    Action, ApprovalRequest, Danger, Decision, Event, Preview, Reason, ToolCall, ToolError, TurnState,
    Verdict,
};

use super::TurnIo;
use crate::policy;

/// What is about to happen, without the part that does it.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    pub action: &'a Action,
    pub preview: &'a Preview,
    pub doomed: Option<&'a ToolError>,
}

pub enum Gate {
    Run,
    /// The model hears why, and the turn goes on.
    Refused(ToolError),
    /// It could not have worked, so it was not even asked about.
    Failed(ToolError),
    Interrupted,
}

pub async fn gate(io: &mut TurnIo<'_>, call: &ToolCall, plan: Plan<'_>) -> Gate {
    let (danger, reason) = match policy::judge(plan.action, io.policy) {
        Verdict::Allow => return Gate::Run,
        Verdict::Deny(reason) => return Gate::Refused(refusal(reason)),
        Verdict::Ask(reason) => (Danger::Ask, reason),
        Verdict::Confirm(reason) => (Danger::Confirm, reason),
    };
    // Nobody should be asked about a call that cannot succeed.
    if let Some(error) = plan.doomed {
        return Gate::Failed(error.clone());
    }
    ask(io, call, plan, danger, reason).await
}

async fn ask(io: &mut TurnIo<'_>, call: &ToolCall, plan: Plan<'_>, danger: Danger, reason: Reason) -> Gate {
    let (request, answer) = io.approvals.open();
    io.emit.emit(Event::StateChanged { state: TurnState::AwaitingPermission }).await;
    let question = ApprovalRequest {
        request,
        id: call.id.clone(),
        tool: call.name.clone(),
        action: plan.action.clone(),
        preview: plan.preview.clone(),
        danger,
        reason,
        grant: None,
    };
    io.emit.emit(Event::ApprovalRequested(question)).await;
    let decision = tokio::select! {
        biased;
        () = io.cancel.cancelled() => return Gate::Interrupted,
        // A front end that drops the question has gone: nothing runs without an answer.
        decision = answer => decision.unwrap_or(Decision::Deny { word: None }),
    };
    io.emit.emit(Event::ApprovalResolved { request, id: call.id.clone(), decision: decision.clone() }).await;
    match decision {
        Decision::AllowOnce | Decision::AllowAlways { .. } => Gate::Run,
        Decision::Deny { word } => {
            let said = word.map(|word| format!("the user said no: {word}"));
            Gate::Refused(ToolError::new("rejected", said.unwrap_or_else(|| "the user said no".to_owned())))
        }
    }
}

fn refusal(reason: Reason) -> ToolError {
    ToolError { code: reason.code.into(), message: reason.message }
}
