//! From a verdict to a yes or a no, asking a person where the verdict says so.

use std::sync::Arc;

use zdx_protocol::{
    Action, ApprovalRequest, Danger, Decision, Event, Level, NoticeLevel, Preview, Reason, ReasonCode,
    ToolCall, ToolCode, ToolError, TurnState, Verdict,
};

use super::TurnIo;
use crate::policy::{self, Explanation, PolicyContext};

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
    let mut answered: Option<Explanation> = None;
    loop {
        let judged = judge(io, plan.action).await;
        if answered.is_some_and(|answered| answered.covers(&judged)) {
            return Gate::Run;
        }
        let (danger, reason) = match judged.verdict.clone() {
            Verdict::Allow => return Gate::Run,
            Verdict::Deny(reason) => return Gate::Refused(refusal(reason)),
            Verdict::Ask(reason) => (Danger::Ask, reason),
            Verdict::Confirm(reason) => (Danger::Confirm, reason),
        };
        // Nobody should be asked about a call that cannot succeed.
        if let Some(error) = plan.doomed {
            return Gate::Failed(error.clone());
        }
        match ask(io, call, plan, danger, reason).await {
            // A file may have come, gone or turned into a link while the question stood. What was answered is
            // what runs; anything else is a new question.
            Gate::Run => answered = Some(judged),
            other => return other,
        }
    }
}

/// The decision looks at files, which can hang on a dead mount: not on the thread that hears Ctrl-C.
async fn judge(io: &TurnIo<'_>, action: &Action) -> Explanation {
    let (action, context) = (action.clone(), io.policy.clone());
    let broken = || {
        let reason = Reason {
            code: ReasonCode::Internal,
            message: "the guard broke down; this is a defect of zdx, and nothing was run".to_owned(),
            rule: None,
        };
        Explanation { verdict: Verdict::Deny(reason), parts: Vec::new() }
    };
    let granted = io.grants.clone();
    let weigh = move || {
        let mut context = PolicyContext { grants: Arc::default(), ..context };
        let judged = policy::weigh(&action, &context);
        if judged.strictest() != Level::Ask {
            return judged;
        }
        // Only here do grants count: they are looked up when they do.
        context.grants = Arc::new(granted.now(&context.root));
        policy::weigh(&action, &context)
    };
    tokio::task::spawn_blocking(weigh).await.unwrap_or_else(|_| broken())
}

async fn ask(io: &mut TurnIo<'_>, call: &ToolCall, plan: Plan<'_>, danger: Danger, reason: Reason) -> Gate {
    let (request, answer) = io.approvals.open();
    let grant = match danger {
        // What would be remembered is written to files, where no secret belongs.
        Danger::Ask => policy::grant_key(plan.action, io.policy).filter(|key| !io.emit.holds_secret(key)),
        Danger::Confirm => None,
    };
    io.emit.emit(Event::StateChanged { state: TurnState::AwaitingPermission }).await;
    let question = ApprovalRequest {
        request,
        agent: None,
        id: call.id.clone(),
        tool: call.name.clone(),
        action: plan.action.clone(),
        preview: plan.preview.clone(),
        danger,
        reason,
        grant: grant.clone(),
    };
    io.emit.emit(Event::ApprovalRequested(question)).await;
    let decision = tokio::select! {
        biased;
        () = io.cancel.cancelled() => return Gate::Interrupted,
        // A front end that drops the question has gone: nothing runs without an answer.
        decision = answer => decision.unwrap_or(Decision::Deny { word: None }),
    };
    let scope = match (&decision, danger) {
        (Decision::AllowAlways { scope }, Danger::Ask) => Some(*scope),
        // What must be confirmed is never remembered, whatever a front end answers.
        (Decision::AllowAlways { .. }, Danger::Confirm)
        | (Decision::AllowOnce | Decision::Deny { .. }, _) => None,
    };
    let grant = grant.filter(|_| scope.is_some());
    if let (Some(grant), Some(scope)) = (&grant, scope) {
        // Another zdx may be writing the file: that is waited for elsewhere.
        let (granted, root, grant) = (io.grants.clone(), io.policy.root.clone(), grant.clone());
        let kept = tokio::task::spawn_blocking(move || granted.remember(&root, &grant, scope)).await;
        if let Ok(Err(error)) = kept {
            io.emit.notice(NoticeLevel::Warning, error.to_string()).await;
        }
    }
    io.emit
        .emit(Event::ApprovalResolved { request, id: call.id.clone(), decision: decision.clone(), grant })
        .await;
    io.emit.emit(Event::StateChanged { state: TurnState::ToolRunning }).await;
    match decision {
        Decision::AllowOnce | Decision::AllowAlways { .. } => Gate::Run,
        Decision::Deny { word } => {
            let said = word.map_or_else(
                || "the user said no; go on without it, or ask what to do instead".to_owned(),
                |word| format!("the user said no: {word}"),
            );
            Gate::Refused(ToolError::new(ToolCode::Rejected, said))
        }
    }
}

fn refusal(reason: Reason) -> ToolError {
    let message = match reason.rule {
        Some(rule) => format!("{} (rule: {rule})", reason.message),
        None => reason.message,
    };
    ToolError { code: reason.code.into(), message }
}
