//! A question of the guard to the person behind the client: what is offered, and what was answered. What must be asked
//! every time is never offered for good, and silence or nonsense is a no.

use serde_json::{Value, json};
use zdx_acp::CallError;
use zdx_protocol::display::approval::{Answer, choice};
use zdx_protocol::{ApprovalRequest, Danger, Decision, GrantScope, Granting};

const ONCE: &str = "allow_once";
const SESSION: &str = "allow_session";
const PROJECT: &str = "allow_project";
const WIDER: &str = "allow_wider_session";
const REJECT: &str = "reject_once";

/// What came of a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    pub decision: Decision,
    /// The person has had enough of the turn.
    pub cancelled: bool,
}

pub fn options(request: &ApprovalRequest) -> Value {
    let option = |id: &str, name: &str, kind: &str| json!({"optionId": id, "name": name, "kind": kind});
    let always = |id: &str, answer: Answer, long: &str| {
        option(id, &format!("{}, {long}", choice(request, answer)), "allow_always")
    };
    let mut options = vec![option(ONCE, "yes, once", "allow_once")];
    if request.danger == Danger::Ask {
        if let Some(grant) = &request.grant {
            options.push(always(SESSION, Answer::Always, "for this session"));
            if Granting::of(grant).longest() == GrantScope::Project {
                options.push(always(PROJECT, Answer::Always, "for this project"));
            }
        }
        if request.wider.is_some() {
            options.push(always(WIDER, Answer::Wider, "for this session"));
        }
    }
    options.push(option(REJECT, "no", "reject_once"));
    Value::Array(options)
}

/// Only what was offered counts.
pub fn answered(request: &ApprovalRequest, answer: &Result<Value, CallError>) -> Answered {
    let no = Decision::Deny { word: None };
    let Ok(answer) = answer else { return Answered { decision: no, cancelled: false } };
    let outcome = &answer["outcome"];
    if outcome["outcome"] != "selected" {
        return Answered { decision: no, cancelled: outcome["outcome"] == "cancelled" };
    }
    let offered = options(request);
    let chosen = outcome["optionId"].as_str().filter(|chosen| {
        offered.as_array().is_some_and(|offered| offered.iter().any(|option| option["optionId"] == **chosen))
    });
    let always = |scope, wider| Decision::AllowAlways { scope, wider };
    let decision = match chosen {
        Some(ONCE) => Decision::AllowOnce,
        Some(SESSION) => always(GrantScope::Session, false),
        Some(PROJECT) => always(GrantScope::Project, false),
        Some(WIDER) => always(GrantScope::Session, true),
        Some(_) | None => no,
    };
    Answered { decision, cancelled: false }
}

#[cfg(test)]
mod tests {
    use zdx_protocol::{Action, Origin, Preview, Reason, ReasonCode, RequestId};

    use super::*;

    fn request(danger: Danger, grant: Option<&str>, wider: Option<&str>) -> ApprovalRequest {
        ApprovalRequest {
            request: RequestId(1),
            agent: None,
            task: None,
            id: "c".into(),
            tool: "bash".into(),
            action: Action::Command { command: "ls".into(), cwd: "/w".into(), origin: Origin::Model },
            preview: Preview::None,
            danger,
            reason: Reason { code: ReasonCode::ALL[0], message: "why".into(), rule: None },
            grant: grant.map(str::to_owned),
            wider: wider.map(str::to_owned),
            approval: None,
        }
    }

    fn ids(request: &ApprovalRequest) -> Vec<String> {
        let options = options(request);
        options
            .as_array()
            .unwrap()
            .iter()
            .map(|option| option["optionId"].as_str().unwrap().to_owned())
            .collect()
    }

    fn selected(request: &ApprovalRequest, id: &str) -> Decision {
        answered(request, &Ok(json!({"outcome": {"outcome": "selected", "optionId": id}}))).decision
    }

    #[test]
    fn for_good_is_offered_only_where_it_may_be_granted() {
        assert_eq!(ids(&request(Danger::Ask, None, None)), [ONCE, REJECT]);
        assert_eq!(ids(&request(Danger::Confirm, Some("bash ls"), Some("every ls"))), [ONCE, REJECT]);
        let all = request(Danger::Ask, Some("bash ls"), Some("every ls"));
        assert_eq!(ids(&all), [ONCE, SESSION, PROJECT, WIDER, REJECT]);
        assert_eq!(ids(&request(Danger::Ask, Some("edits"), None)), [ONCE, SESSION, REJECT]);
    }

    #[test]
    fn what_was_not_offered_is_a_no() {
        let (no, confirm) = (Decision::Deny { word: None }, request(Danger::Confirm, Some("bash ls"), None));
        assert_eq!(selected(&confirm, ONCE), Decision::AllowOnce);
        assert_eq!(selected(&confirm, SESSION), no);
        assert_eq!(selected(&confirm, "yes"), no);
        assert_eq!(
            answered(&confirm, &Err(CallError::Gone)),
            Answered { decision: no.clone(), cancelled: false }
        );
        let cancelled = answered(&confirm, &Ok(json!({"outcome": {"outcome": "cancelled"}})));
        assert_eq!(cancelled, Answered { decision: no, cancelled: true });
        let always = Decision::AllowAlways { scope: GrantScope::Project, wider: false };
        assert_eq!(selected(&request(Danger::Ask, Some("bash ls"), None), PROJECT), always);
    }
}
