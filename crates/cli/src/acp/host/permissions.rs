//! `session/request_permission`: what the call is about decides, and the answer is the option of that *kind*. Names and
//! order of options mean nothing.

use serde_json::Value;
use zdx_acp::Params;
use zdx_acp::shapes::{Answer, PermissionOption, outcome, pick};
use zdx_engine::agents::{Proposal, RawShape};
use zdx_protocol::Target;

use super::judged::{Judged, Refusal, Touch};
use super::{Events, HostEvent};

/// Always an answer: what cannot be answered is `cancelled`.
pub(super) fn answer(judged: &Judged, events: &Events, params: &Params, cancelled: bool) -> Value {
    if cancelled {
        return outcome(None);
    }
    let call = &params.0["toolCall"];
    let decision = decide(judged, call);
    let options = PermissionOption::of(&params.0);
    let chosen = pick(&options, if decision.is_ok() { Answer::Allow } else { Answer::Reject });
    let named = named(call);
    let what = match (&decision, chosen) {
        (Ok(()), Some(_)) => named,
        (Err(why), _) => format!("{named}: {why}"),
        (Ok(()), None) => format!("{named}: it offers no option that allows it"),
    };
    events.tell(HostEvent::Permission { allowed: decision.is_ok() && chosen.is_some(), what });
    outcome(chosen)
}

/// `edit Write b.txt`.
fn named(call: &Value) -> String {
    let kind = call["kind"].as_str().unwrap_or("other");
    match call["title"].as_str().map(str::trim).filter(|title| !title.is_empty()) {
        Some(title) => format!("{kind} {title}"),
        None => kind.to_owned(),
    }
}

fn decide(judged: &Judged, call: &Value) -> Result<(), Refusal> {
    Proposal::readings(call).into_iter().try_for_each(|reading| decide_reading(judged, reading))?;
    if RawShape::of(&call["rawInput"]) == RawShape::Unknown {
        judged.unknown_input()?;
    }
    if Proposal::is_stated(call) { Ok(()) } else { judged.title_alone() }
}

fn decide_reading(judged: &Judged, reading: Proposal) -> Result<(), Refusal> {
    match reading {
        Proposal::Read(named) => judged.files(Touch::Read, targets(judged, &named)?),
        Proposal::Write(named) => judged.files(Touch::Write, targets(judged, &named)?),
        Proposal::Run { command: Some(command), folder } => {
            judged.command(&command, judged.folder(folder.as_deref())?)
        }
        Proposal::Titled { readings, folder } => {
            let folder = judged.folder(folder.as_deref())?;
            readings.iter().find_map(|line| judged.perhaps_command(line, &folder)).unwrap_or(Ok(()))
        }
        Proposal::Run { command: None, .. } | Proposal::Other => Ok(()),
    }
}

fn targets(judged: &Judged, named: &[String]) -> Result<Vec<Target>, Refusal> {
    let resolve = |named: &String| judged.workspace.resolve(named).map_err(|error| error.to_string());
    named.iter().map(resolve).collect()
}
