//! `session/request_permission` of an agent: a question to the person, where our rules do not decide it.

use serde_json::Value;
use zdx_acp::shapes::{Answer, PermissionOption, outcome, pick};
use zdx_protocol::display::titles;
use zdx_protocol::facts::{READ, WRITE};
use zdx_protocol::{Action, Decision, NoticeLevel, Origin, Preview, Target};

use super::change::{self, Ledger};
use super::event_mapping;
use super::output::cut;
use super::turn_host::RequestOutcome;
use crate::acp::{Proposal, RawShape, short, unknown_keys};
use crate::call::TurnIo;
use crate::call::approve::{Permission, denied, strictest};

/// Returns the answer, and its outcome for the turn.
pub(super) async fn answer(
    turn: u32,
    params: &Value,
    io: &TurnIo,
    ledger: &Ledger,
) -> (Value, RequestOutcome) {
    let (answer, denied, word) = decide(turn, params, io, ledger).await;
    let call = params["toolCall"]["toolCallId"].as_str().map(str::to_owned);
    (answer, RequestOutcome { denied, call, word })
}

async fn decide(turn: u32, params: &Value, io: &TurnIo, ledger: &Ledger) -> (Value, bool, Option<String>) {
    let options = PermissionOption::of(params);
    let no = |word| (outcome(pick(&options, Answer::Reject)), true, word);
    let call = &params["toolCall"];
    let title = short(call["title"].as_str().or(call["kind"].as_str()).unwrap_or("something"));
    let title = titles::own_words(&title, Some(io.session.root()));
    let actions = actions(call, &title, io);
    for action in &actions {
        if let Some(error) = denied(io, action).await {
            io.session
                .events
                .notice(NoticeLevel::Warning, format!("{title}: not allowed: {}", error.message))
                .await;
            return no(None);
        }
    }
    // Nobody says for good what a person says once.
    let Some(once) = options.iter().find(|option| option.kind == "allow_once") else {
        let message = format!("{title}: the agent offers no way to allow it once, so it was not allowed");
        io.session.events.notice(NoticeLevel::Warning, message).await;
        return no(None);
    };
    let changes = change::shown(call, false, io).await;
    let Some(action) = strictest(io, actions).await else { return no(None) };
    let preview = match &action {
        Action::Command { command, .. } => Preview::Command { command: command.clone() },
        _ => match event_mapping::question(call, &changes) {
            Preview::None => input_preview(call),
            shown => shown,
        },
    };
    let permission = Permission {
        id: event_mapping::id(turn, call["toolCallId"].as_str().unwrap_or_default()),
        tool: event_mapping::name(call).0,
        proven: is_proven(call, &action, io),
        action,
        preview,
        reason: reason(call, &title),
    };
    match io.ask(permission).await {
        None => (outcome(None), false, None),
        Some(Decision::AllowOnce | Decision::AllowAlways { .. }) => {
            ledger.allow(&changes);
            (outcome(Some(once)), false, None)
        }
        Some(Decision::Deny { word }) => no(word),
    }
}

/// The raw input as it came, where nothing else shows what would be done.
fn input_preview(call: &Value) -> Preview {
    match RawShape::of(&call["rawInput"]) {
        RawShape::Absent => Preview::None,
        RawShape::Unknown | RawShape::Command | RawShape::Change | RawShape::Names => {
            let text = serde_json::to_string_pretty(&call["rawInput"]).unwrap_or_default();
            Preview::Text { text: cut(&text) }
        }
    }
}

/// The words of the question: what the agent says of the call, and what of its input zdx does not understand.
fn reason(call: &Value, title: &str) -> String {
    let asks = format!("the agent asks: {title}");
    match unknown_keys(&call["rawInput"]).as_slice() {
        [] => asks,
        unknown => format!("{asks}; zdx does not understand {}", short(&unknown.join(", "))),
    }
}

/// Whether it may pass unasked where the rules let it: its input says all that it does, and where.
fn is_proven(call: &Value, action: &Action, io: &TurnIo) -> bool {
    let near = match action {
        // A command that lists the folder it runs in names no path.
        Action::Command { cwd, .. } => cwd.starts_with(io.session.root()),
        Action::Write { targets, .. } => !targets.is_empty(),
        Action::Read { .. }
        | Action::Mcp { .. }
        | Action::Fetch { .. }
        | Action::Remote { .. }
        | Action::Skill { .. }
        | Action::Task { .. }
        | Action::Todo => false,
    };
    near && Proposal::is_proven(call) && Proposal::readings(call).iter().all(|reading| resolves(reading, io))
}

/// Whether everything that it names can be found.
fn resolves(reading: &Proposal, io: &TurnIo) -> bool {
    let found = |named: &String| io.session.workspace().resolve(named).is_ok();
    match reading {
        Proposal::Read(named) | Proposal::Write(named) => named.iter().all(found),
        Proposal::Run { folder, .. } | Proposal::Titled { folder, .. } => folder.iter().all(found),
        Proposal::Other => true,
    }
}

/// What it may do itself, as far as it says. Of one that does not say on what, or names what cannot be found, there is nothing
/// to judge.
fn actions(call: &Value, title: &str, io: &TurnIo) -> Vec<Action> {
    let readings = Proposal::readings(call);
    let whole = readings.iter().all(|reading| resolves(reading, io));
    let mut all: Vec<Action> = readings.into_iter().filter_map(|reading| action(reading, io)).collect();
    // What is known to run or to change something is what is shown, with what is not understood of it beside it.
    let known = all.iter().any(|action| matches!(action, Action::Command { .. } | Action::Write { .. }));
    if !whole || all.is_empty() || (!known && RawShape::of(&call["rawInput"]) == RawShape::Unknown) {
        all.push(undescribed(call, title));
    }
    all
}

/// The action of a call whose title is all that can be judged.
fn undescribed(call: &Value, title: &str) -> Action {
    let title = title.to_owned();
    match call["kind"].as_str() {
        Some("fetch") => Action::Fetch { title },
        Some(_) | None => Action::Remote { title },
    }
}

fn action(reading: Proposal, io: &TurnIo) -> Option<Action> {
    let workspace = io.session.workspace();
    let targets = |named: Vec<String>| -> Option<Vec<Target>> {
        // A name that leads nowhere takes nothing from what the others are judged by.
        let mut all: Vec<Target> = named.iter().filter_map(|named| workspace.resolve(named).ok()).collect();
        // Many name a file twice, from the root and from the folder.
        all.sort_by(|one, other| one.path.cmp(&other.path));
        all.dedup_by(|one, other| one.path == other.path);
        Some(all).filter(|all| !all.is_empty())
    };
    let command = |command, folder: Option<String>| {
        let cwd = match folder {
            Some(folder) => workspace.resolve(&folder).ok()?.path,
            None => workspace.root().to_owned(),
        };
        Some(Action::Command { command, cwd, origin: Origin::Model })
    };
    match reading {
        Proposal::Read(named) => {
            targets(named).map(|targets| Action::Read { tool: READ.permission.key.to_owned(), targets })
        }
        Proposal::Write(named) => {
            targets(named).map(|targets| Action::Write { tool: WRITE.permission.key.to_owned(), targets })
        }
        Proposal::Run { command: Some(line), folder } => command(line, folder),
        // Whether it is one or words about it, it is judged as one.
        Proposal::Titled { readings, folder } => {
            readings.into_iter().next().and_then(|line| command(line, folder))
        }
        Proposal::Run { command: None, .. } | Proposal::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_fetch_is_told_from_what_has_a_title_alone() {
        let title = || "Look it up".to_owned();
        let action = |kind: Value| undescribed(&json!({"kind": kind}), &title());
        assert_eq!(action(json!("fetch")), Action::Fetch { title: title() });
        assert_eq!(action(json!("switch_mode")), Action::Remote { title: title() });
        assert_eq!(action(Value::Null), Action::Remote { title: title() });
    }
}
