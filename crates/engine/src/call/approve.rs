//! From a verdict to a yes or a no, asking a person where the verdict says so.

use std::path::Path;
use std::sync::Arc;

use serde_json::Map;
use zdx_guard::{Explanation, PartFinding, PolicyContext, grant_key, weigh, wider_grant};
use zdx_protocol::{
    Action, Approval, ApprovalRequest, Arguments, Danger, Decision, Event, GrantScope, Granting, Level,
    NoticeLevel, Preview, Reason, ReasonCode, RequestId, ToolCall, ToolCode, ToolError, TurnState, Verdict,
};

use crate::call::TurnIo;
use crate::session_policy::SessionPolicy;

/// A call as it is judged and shown, without the part that runs it.
#[derive(Clone, Copy)]
pub(crate) struct Proposed<'a> {
    pub action: &'a Action,
    pub preview: &'a Preview,
    pub doomed: Option<&'a ToolError>,
}

pub(crate) enum Gate {
    /// It is proven to only read, or it is not.
    Run {
        reads: bool,
    },
    /// Refused by the guard. The model is told why, and the turn goes on.
    Denied(ToolError),
    /// Refused by a person. The model is told their reason, if any, and the turn goes on.
    Rejected(ToolError),
    /// It could not have worked, so it was not even asked about.
    Failed(ToolError),
    Interrupted,
}

/// The answer to an approval request, or why there is none.
enum Asked {
    Allowed,
    /// Carries the message of the person.
    Rejected(Option<String>),
    /// Other rules hold since it was asked.
    Overtaken,
    Interrupted,
}

pub(crate) async fn gate(io: &TurnIo, call: &ToolCall, plan: Proposed<'_>) -> Gate {
    let mut policy = io.session.policy.clone();
    let mut answered: Option<Explanation> = None;
    loop {
        let context = policy.seen();
        let Judged { explanation: judged, wider, granted } = judge(io, plan.action, context.clone()).await;
        if answered.is_some_and(|answered| answered.covers(&judged)) {
            return Gate::Run { reads: judged.reads };
        }
        let (danger, reason) = match judged.verdict.clone() {
            Verdict::Allow => {
                if passes_by_option(&judged, &context, granted) {
                    note_option(io, call).await;
                }
                return Gate::Run { reads: judged.reads };
            }
            Verdict::Deny(reason) => {
                return Gate::Denied(refusal(reason));
            }
            Verdict::Ask(reason) => (Danger::Ask, reason),
            Verdict::Confirm(reason) => (Danger::Confirm, reason),
        };
        // Nobody should be asked about a call that cannot succeed.
        if let Some(error) = plan.doomed {
            return Gate::Failed(error.clone());
        }
        // What would be remembered is written to files, where no secret belongs.
        let known = |grant: &String| danger == Danger::Ask && !io.session.events.holds_secret(grant);
        let wider = wider.filter(known);
        let exact = grant_key(plan.action, &context).filter(known);
        let offered = Offered { exact: exact.filter(|_| !adds_folder(plan.action, wider.as_deref())), wider };
        let question = Question { danger, reason, context, offered };
        match ask(io, call, plan, question, &mut policy).await {
            // A file may have come, gone or turned into a link while the question stood. What was answered is
            // what runs; anything else is a new question.
            Asked::Allowed => answered = Some(judged),
            Asked::Overtaken => answered = None,
            Asked::Rejected(word) => return Gate::Rejected(rejection(word)),
            Asked::Interrupted => return Gate::Interrupted,
        }
    }
}

/// A file outside is allowed by the folder that it lies in: the one file alone need not be offered beside that.
fn adds_folder(action: &Action, wider: Option<&str>) -> bool {
    matches!(action, Action::Read { .. } | Action::Write { .. })
        && matches!(wider.map(Granting::of), Some(Granting::Folder(_)))
}

/// Whether a person would have been asked, and the command line answered in his place.
fn passes_by_option(judged: &Explanation, context: &PolicyContext, granted: bool) -> bool {
    let asks = |part: &&PartFinding| part.verdict == Level::Ask;
    context.allow_dangerous
        && !context.person
        && judged.verdict == Verdict::Allow
        && match judged.strictest() {
            Level::Confirm => true,
            Level::Ask if granted => false,
            Level::Ask => judged.parts.iter().filter(asks).all(|part| part.code == ReasonCode::Instructions),
            Level::Allow | Level::Deny => false,
        }
}

/// Nobody was asked, but who reads the session must find why it ran.
async fn note_option(io: &TurnIo, call: &ToolCall) {
    let (request, id, decision) =
        (io.session.policy.approvals.number(), call.id.clone(), Decision::AllowOnce);
    let by = Some("--allow-dangerous".to_owned());
    io.session.events.emit(Event::ApprovalResolved { request, id, decision, grant: None, by }).await;
}

/// A decision, and the wider grant with which it would not have to be asked for.
struct Judged {
    explanation: Explanation,
    wider: Option<String>,
    /// Exactly this was allowed for good.
    granted: bool,
}

impl From<Explanation> for Judged {
    fn from(explanation: Explanation) -> Self {
        Self { explanation, wider: None, granted: false }
    }
}

/// The decision looks at files, which can hang on a dead mount: not on the thread that hears Ctrl-C.
async fn judge(io: &TurnIo, action: &Action, context: PolicyContext) -> Judged {
    let action = action.clone();
    let broken = || {
        let reason = Reason {
            code: ReasonCode::Internal,
            message: "the guard broke down; this is a defect of zdx, and nothing was run".to_owned(),
            rule: None,
        };
        Explanation { verdict: Verdict::Deny(reason), parts: Vec::new(), reads: false }.into()
    };
    let granted = io.session.policy.grants.clone();
    let weighing = move || {
        let mut context = PolicyContext { grants: Arc::default(), ..context };
        let judged = weigh(&action, &context);
        if matches!(judged.strictest(), Level::Allow | Level::Deny) {
            return judged.into();
        }
        // Only here do grants count: they are looked up when they do.
        context.grants = Arc::new(granted.now(&context.root));
        let explanation = weigh(&action, &context);
        let asks = explanation.verdict.level() == Level::Ask;
        let granted = grant_key(&action, &context).is_some_and(|key| context.grants.contains(&key));
        Judged { wider: asks.then(|| wider_grant(&action, &context)).flatten(), explanation, granted }
    };
    tokio::task::spawn_blocking(weighing).await.unwrap_or_else(|_| broken())
}

/// An approval request, and the rules that require it.
struct Question {
    danger: Danger,
    reason: Reason,
    context: PolicyContext,
    offered: Offered,
}

/// The grants that a yes may be remembered as.
#[derive(Default)]
struct Offered {
    exact: Option<String>,
    wider: Option<String>,
}

impl Offered {
    /// Returns the grant that this answer is remembered as, and for how long: only an offered one, and never longer than it may hold.
    fn taken(self, decision: &mut Decision, danger: Danger) -> Option<(String, GrantScope)> {
        match (decision, danger) {
            (Decision::AllowAlways { scope, wider }, Danger::Ask) => {
                let grant = if *wider { self.wider } else { self.exact }?;
                if Granting::of(&grant).longest() == GrantScope::Session {
                    *scope = GrantScope::Session;
                }
                Some((grant, *scope))
            }
            // What must be confirmed is never remembered, whatever a front end answers.
            (Decision::AllowAlways { .. }, Danger::Confirm)
            | (Decision::AllowOnce | Decision::Deny { .. }, _) => None,
        }
    }
}

/// Something that another agent will do itself, if it may. Its own program runs it: our rules can ask, not guard.
pub struct Permission {
    /// The call it is about, as that agent names it.
    pub id: String,
    pub tool: String,
    pub action: Action,
    /// That agent's input says all that is done: only then it may pass unasked because the rules let it.
    pub proven: bool,
    pub preview: Preview,
    /// Why it is asked about, in that agent's words.
    pub reason: String,
}

/// Whether what another agent does itself is proven to only read.
pub(crate) async fn only_reads(io: &TurnIo, action: &Action) -> bool {
    judge(io, action, io.session.policy.now()).await.explanation.reads
}

/// The action that is judged the hardest; the first of several.
pub(crate) async fn strictest(io: &TurnIo, actions: Vec<Action>) -> Option<Action> {
    let mut worst: Option<(Level, Action)> = None;
    for action in actions {
        let level = judge(io, &action, io.session.policy.now()).await.explanation.strictest();
        if worst.as_ref().is_none_or(|(known, _)| level > *known) {
            worst = Some((level, action));
        }
    }
    worst.map(|(_, action)| action)
}

/// Returns why the guard forbids it: a forbidden action is not asked about.
pub(crate) async fn denied(io: &TurnIo, action: &Action) -> Option<ToolError> {
    match judge(io, action, io.session.policy.now()).await.explanation.verdict {
        Verdict::Deny(reason) => Some(refusal(reason)),
        Verdict::Allow | Verdict::Ask(_) | Verdict::Confirm(_) => None,
    }
}

/// Returns the answer of the person, or of the preset in their place. None when the turn was interrupted.
pub(crate) async fn permit(io: &TurnIo, permission: Permission) -> Option<Decision> {
    let Permission { id, tool, action, proven, preview, reason } = permission;
    let call = ToolCall { id, name: tool, arguments: Arguments::Object(Map::new()), signature: None };
    let plan = Proposed { action: &action, preview: &preview, doomed: None };
    let mut policy = io.session.policy.clone();
    loop {
        let context = policy.seen();
        let Judged { explanation, granted, .. } = judge(io, &action, context.clone()).await;
        let certain = proven || context.approval == Approval::Yolo;
        if certain && passes_by_option(&explanation, &context, granted) {
            return Some(Decision::AllowOnce);
        }
        let danger = match explanation.strictest() {
            Level::Allow | Level::Ask => Danger::Ask,
            Level::Confirm | Level::Deny => Danger::Confirm,
        };
        // What a tool of ours would do unasked.
        if certain && explanation.verdict == Verdict::Allow {
            return Some(Decision::AllowOnce);
        }
        match (context.approval, danger) {
            (Approval::Yolo, Danger::Ask) => return Some(Decision::AllowOnce),
            (Approval::Yolo | Approval::Balanced | Approval::Paranoid, _) if !context.person => {
                return Some(Decision::Deny { word: None });
            }
            (Approval::Yolo | Approval::Balanced | Approval::Paranoid, _) => {}
        }
        let mut message = reason.clone();
        if let Verdict::Confirm(why) = &explanation.verdict {
            message = format!("{message}; {}", why.message);
        }
        let reason = Reason { code: ReasonCode::ApprovalRequired, message, rule: None };
        // What it does is not ours to guard, so it cannot be ours to remember either.
        let question = Question { danger, reason, context, offered: Offered::default() };
        match ask(io, &call, plan, question, &mut policy).await {
            Asked::Allowed => return Some(Decision::AllowOnce),
            Asked::Rejected(word) => return Some(Decision::Deny { word }),
            Asked::Interrupted => return None,
            Asked::Overtaken => {}
        }
    }
}

async fn ask(
    io: &TurnIo,
    call: &ToolCall,
    plan: Proposed<'_>,
    question: Question,
    policy: &mut SessionPolicy,
) -> Asked {
    let Question { danger, reason, context, offered } = question;
    let (request, answer) = io.session.policy.approvals.open();
    io.session.events.emit(Event::StateChanged { state: TurnState::AwaitingPermission }).await;
    let asked = ApprovalRequest {
        request,
        agent: None,
        task: None,
        id: call.id.clone(),
        tool: call.name.clone(),
        action: plan.action.clone(),
        preview: plan.preview.clone(),
        danger,
        reason,
        grant: offered.exact.clone(),
        wider: offered.wider.clone(),
        // No preset lifts what has to be confirmed.
        approval: (danger == Danger::Ask).then_some(context.approval),
    };
    io.session.events.emit(Event::ApprovalRequested(asked)).await;
    let withdrawn = tokio::select! {
        biased;
        () = io.cancel.cancelled() => Asked::Interrupted,
        // A front end that drops the question has gone: nothing runs without an answer.
        decision = answer => {
            let decision = decision.unwrap_or(Decision::Deny { word: None });
            return settle(io, call, request, decision, offered, danger, &context.root).await;
        }
        () = policy.changed() => Asked::Overtaken,
    };
    io.session.policy.approvals.withdraw(request);
    io.session.events.emit(Event::ApprovalWithdrawn { request, id: call.id.clone() }).await;
    io.session.events.emit(Event::StateChanged { state: TurnState::ToolRunning }).await;
    withdrawn
}

/// Remembers what is to be remembered, and tells what was decided.
async fn settle(
    io: &TurnIo,
    call: &ToolCall,
    request: RequestId,
    mut decision: Decision,
    offered: Offered,
    danger: Danger,
    root: &Path,
) -> Asked {
    let taken = offered.taken(&mut decision, danger);
    if let Some((grant, scope)) = &taken {
        // Another zdx may be writing the file: that is waited for elsewhere.
        let (granted, root, grant, scope) =
            (io.session.policy.grants.clone(), root.to_owned(), grant.clone(), *scope);
        let kept = tokio::task::spawn_blocking(move || granted.remember(&root, &grant, scope)).await;
        if let Ok(Err(error)) = kept {
            io.session.events.notice(NoticeLevel::Warning, error.to_string()).await;
        }
    }
    let grant = taken.map(|(grant, _)| grant);
    io.session
        .events
        .emit(Event::ApprovalResolved {
            request,
            id: call.id.clone(),
            decision: decision.clone(),
            grant,
            by: None,
        })
        .await;
    io.session.events.emit(Event::StateChanged { state: TurnState::ToolRunning }).await;
    match decision {
        Decision::AllowOnce | Decision::AllowAlways { .. } => Asked::Allowed,
        Decision::Deny { word } => Asked::Rejected(word),
    }
}

/// The wording for the model.
fn rejection(word: Option<String>) -> ToolError {
    let said = word.map_or_else(|| "the user said no".to_owned(), |word| format!("the user said no: {word}"));
    ToolError::new(ToolCode::Rejected, said)
}

fn refusal(reason: Reason) -> ToolError {
    let message = match reason.rule {
        Some(rule) => format!("{} (rule: {rule})", reason.message),
        None => reason.message,
    };
    ToolError { code: reason.code.into(), message }
}
