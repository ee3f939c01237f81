//! Words of a decision: every reason for it, and the way on for whoever reads it, a person or a model.
//! Decides nothing.

use std::collections::HashSet;

use zdx_protocol::{Level, Origin, Reason, ReasonCode};

use super::{PartFinding, is_unread};
use crate::PolicyContext;

/// More than these make nobody wiser.
const MOST: usize = 4;

/// The end of every reason of a rule that asks; said once when there are several.
pub(crate) const RULES_ASK: &str = "; the rules ask first";
pub(crate) const MODE_ASKS: &str = "; the approval mode paranoid asks about what rules allow";

/// The beginning of a reason that only names a program.
pub(crate) const RUNS: &str = "it runs ";

/// The findings of one level as one reason: the code of the first, the words and rules of all.
pub(crate) fn reason(findings: &[PartFinding], level: Level) -> Option<Reason> {
    let of_level = || findings.iter().filter(|finding| finding.verdict == level);
    // What nothing lifts is said first: the way around anything else would not help.
    let hopeless = |finding: &&PartFinding| finding.code == ReasonCode::Forbidden;
    let equals = || of_level().filter(hopeless).chain(of_level().filter(|finding| !hopeless(finding)));
    let first = equals().next()?;
    let whys = equals().map(|finding| finding.reason.trim_end_matches(RULES_ASK).trim_end_matches(MODE_ASKS));
    // Two parts may have some of their reasons in common.
    let whys = whys.flat_map(|why| why.split("; "));
    let (programs, others): (Vec<&str>, Vec<&str>) =
        distinct(whys).into_iter().partition(|why| program(why).is_some());
    let mut whys: Vec<String> = Vec::new();
    if !programs.is_empty() {
        whys.push(format!("{RUNS}{}", several(programs.into_iter().filter_map(program), ", ")));
    }
    if !others.is_empty() {
        whys.push(several(others.into_iter(), "; "));
    }
    let asked = [RULES_ASK, MODE_ASKS].into_iter();
    let asked = asked.filter(|end| equals().any(|finding| finding.reason.ends_with(end))).collect::<String>();
    let rules = several(equals().filter_map(|finding| finding.rule.as_deref()), "; ");
    Some(Reason {
        code: first.code,
        message: format!("{}{}", whys.join("; "), asked),
        rule: Some(rules).filter(|rules| !rules.is_empty()),
    })
}

/// The program of a reason that says no more than that.
fn program(why: &str) -> Option<&str> {
    why.strip_prefix(RUNS).filter(|name| !name.contains(' '))
}

fn distinct<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = HashSet::new();
    texts.filter(|text| seen.insert(*text)).collect()
}

/// Each text once, in order, as far as anybody reads.
pub(crate) fn several<'a>(texts: impl Iterator<Item = &'a str>, between: &str) -> String {
    let all = distinct(texts);
    let mut out = all.iter().take(MOST).copied().collect::<Vec<_>>().join(between);
    if let Some(more) = all.len().checked_sub(MOST).filter(|more| *more > 0) {
        out.push_str(&format!("{between}and {more} more"));
    }
    out
}

/// A denial that stands, with the way around it: the tool that does the same, or a person.
pub(crate) fn denied(reason: Reason, instead: Option<String>, cx: &PolicyContext) -> Reason {
    let way_out = match (reason.code, &reason.rule) {
        (ReasonCode::Denied, Some(_)) if instead.is_some() => {
            format!("; {}", instead.unwrap_or_default())
        }
        (ReasonCode::PathEscape | ReasonCode::SymlinkEscape, _) => format!(
            "; stay inside {}, or allow the path with `external_directory` in the configuration",
            cx.root.display()
        ),
        (ReasonCode::Forbidden, _) => {
            "; no setting lifts this for a model; only a person may run it".to_owned()
        }
        (ReasonCode::Denied, Some(rule)) => match agent_of(rule) {
            Some("build") => {
                "; this is a rule of the agent build; another one may be allowed to (`/agent`)".to_owned()
            }
            Some(agent) => format!(
                "; this is a rule of the agent {agent}; another one may be allowed to (`/agent build`)"
            ),
            None => "; only a change of the configuration lifts this".to_owned(),
        },
        (ReasonCode::Denied, None)
        | (
            ReasonCode::Allowed
            | ReasonCode::ApprovalRequired
            | ReasonCode::Internal
            | ReasonCode::ProtectedPath
            | ReasonCode::Instructions
            | ReasonCode::ListedCommand
            | ReasonCode::Destructive
            | ReasonCode::Overwrite
            | ReasonCode::Helper
            | ReasonCode::Opaque
            | ReasonCode::Unreadable
            | ReasonCode::HiddenCharacters
            | ReasonCode::TooLarge
            | ReasonCode::TooDeep,
            _,
        ) => String::new(),
    };
    Reason { message: reason.message + &way_out, ..reason }
}

/// The agent whose rule it is, as rules are described.
fn agent_of(rule: &str) -> Option<&str> {
    rule.rsplit_once(" (agent ")?.1.strip_suffix(')')
}

/// A question that nobody is there to answer. Who typed the command himself is not told what a model should do instead.
pub(crate) fn unanswered(
    reason: Reason,
    findings: &[PartFinding],
    level: Level,
    instead: Option<String>,
    origin: Origin,
) -> Reason {
    let all = |codes: &[ReasonCode]| {
        let mut equals = findings.iter().filter(|finding| finding.verdict == level);
        equals.all(|finding| codes.contains(&finding.code))
    };
    let way_out = match level {
        Level::Confirm if is_unread(findings) => {
            "a person must confirm what cannot be read whole and nobody can be asked here: write it plainly and in \
             smaller commands, or run interactively"
        }
        Level::Confirm if origin == Origin::Model && all(&[ReasonCode::Opaque]) => {
            "write the command out plainly; or run interactively, or pass --allow-dangerous"
        }
        Level::Confirm => {
            "a person must confirm it and nobody can be asked here: run interactively, or pass --allow-dangerous"
        }
        Level::Ask if all(&[ReasonCode::PathEscape, ReasonCode::SymlinkEscape]) => {
            "nobody can be asked here: stay inside the workspace, run interactively, or pass --add-dir FOLDER"
        }
        Level::Ask if all(&[ReasonCode::Instructions]) => {
            "a person must agree and nobody can be asked here: run interactively, or pass --allow-dangerous"
        }
        Level::Allow | Level::Ask | Level::Deny => {
            "nobody can be asked here: run interactively, pass --yolo, or allow it in the configuration"
        }
    };
    let instead =
        instead.filter(|_| origin == Origin::Model).map(|tool| format!("{tool}; ")).unwrap_or_default();
    Reason {
        code: ReasonCode::ApprovalRequired,
        message: format!("{}; {instead}{way_out}", reason.message),
        rule: reason.rule,
    }
}
