//! Sessions: made, unknown, listed, loaded, resumed, closed, deleted. What is advertised is served.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use zdx_acp::shapes::Welcome;
use zdx_acp::{Host, code};

use super::line::{Answer, Fault, Line};
use super::record::updates;
use super::report::{Outcome, Report};
use super::{Dial, Ground};

/// What late news of a session get to arrive.
const A_MOMENT: Duration = Duration::from_millis(300);
const LOADS: &str = "session/load replays, then answers";
const RESUMES: &str = "session/resume does not replay";
/// No agent has one of this name.
const NOBODYS: &str = "zdx-no-such-session";

/// The id of a new one, and all that was said of it.
pub(super) async fn new<A>(report: &mut Report, line: &Line<'_, A>) -> Option<(String, Value)> {
    let answer = line.ask("session/new", json!({"cwd": line.ground.cwd, "mcpServers": []})).await;
    if let Err(Fault::Refused(error)) = &answer.result
        && error.code == code::AUTH_REQUIRED
    {
        let why = "it wants a login first: give --auth METHOD; everything that needs a session is left out";
        report.add("session/new", Outcome::Skipped(why.to_owned()));
        return None;
    }
    let session = answer.result.as_ref().ok().and_then(|answer| answer["sessionId"].as_str());
    let session = session.filter(|id| !id.is_empty()).map(str::to_owned);
    report.add(
        "session/new",
        match (answer.good(), &session) {
            (Err(outcome), _) => outcome,
            (Ok(_), Some(_)) => Outcome::Pass,
            (Ok(_), None) => answer.wrong("the answer has no `sessionId`"),
        },
    );
    Some((session?, answer.result.unwrap_or_default()))
}

/// A session that nobody made is an error everywhere.
pub(super) async fn strangers<A>(report: &mut Report, line: &Line<'_, A>, welcome: &Welcome) {
    let cwd = &line.ground.cwd;
    let opened = || json!({"sessionId": NOBODYS, "cwd": cwd, "mcpServers": []});
    let prompt = json!({"sessionId": NOBODYS, "prompt": [{"type": "text", "text": "hello"}]});
    let answer = line.ask("session/prompt", prompt).await;
    report.add("unknown session: session/prompt", answer.refused("an unknown session"));
    for (name, method, offered) in [
        ("unknown session: session/load", "session/load", welcome.loads()),
        ("unknown session: session/resume", "session/resume", welcome.offers("resume")),
    ] {
        report.add(
            name,
            match offered {
                true => line.ask(method, opened()).await.refused("an unknown session"),
                false => Outcome::not_advertised(),
            },
        );
    }
}

pub(super) async fn list<A>(report: &mut Report, line: &Line<'_, A>, welcome: &Welcome) {
    if !welcome.offers("list") {
        return report.add("session/list", Outcome::not_advertised());
    }
    let answer = line.ask("session/list", json!({"cwd": line.ground.cwd})).await;
    let is_listed = |session: &Value| session["sessionId"].is_string() && session["cwd"].is_string();
    report.add(
        "session/list",
        match answer.good().map(|answer| answer["sessions"].as_array()) {
            Err(outcome) => outcome,
            Ok(None) => answer.wrong("the answer has no `sessions`"),
            Ok(Some(all)) if all.iter().all(is_listed) => Outcome::Pass,
            Ok(Some(_)) => answer.wrong("a session lacks `sessionId` or `cwd`"),
        },
    );
}

pub(super) async fn close<A>(report: &mut Report, line: &Line<'_, A>, welcome: &Welcome, session: &str) {
    let outcome = match welcome.offers("close") {
        true => {
            let closed = line.ask("session/close", json!({"sessionId": session})).await;
            closed.good().map_or_else(|outcome| outcome, |_| Outcome::Pass)
        }
        false => Outcome::not_advertised(),
    };
    report.add("session/close", outcome);
}

/// The same session in a new process each: loaded with all that was said, resumed without, deleted at last.
pub(super) async fn again(
    report: &mut Report,
    dial: &impl Dial,
    host: &Arc<impl Host>,
    ground: &Ground,
    welcome: &Welcome,
    session: &str,
) -> Vec<String> {
    let mut strays = Vec::new();
    let mut delete = match welcome.offers("delete") {
        true => Outcome::Skipped("the session could not be opened again".to_owned()),
        false => Outcome::not_advertised(),
    };
    for (name, method, offered) in
        [(LOADS, "session/load", welcome.loads()), (RESUMES, "session/resume", welcome.offers("resume"))]
    {
        if !offered {
            report.add(name, Outcome::not_advertised());
            continue;
        }
        let line = match Line::greeted(dial, host, ground).await {
            Ok(line) => line,
            Err(outcome) => {
                report.add(name, outcome);
                continue;
            }
        };
        let (outcome, open) = reopened(&line, method, session).await;
        report.add(name, outcome);
        let is_last = name == RESUMES || !welcome.offers("resume");
        if open && is_last && welcome.offers("delete") {
            delete = deleted(&line, method, session).await;
        }
        strays.extend(line.hang_up(dial).await);
    }
    report.add("session/delete", delete);
    strays
}

async fn reopened<A>(line: &Line<'_, A>, method: &str, session: &str) -> (Outcome, bool) {
    let from = line.record.here();
    let params = json!({"sessionId": session, "cwd": line.ground.cwd, "mcpServers": []});
    let answer = line.ask(method, params).await;
    if let Err(outcome) = answer.good() {
        return (outcome, false);
    }
    tokio::time::sleep(A_MOMENT).await;
    let before = line.record.between(from, answer.at);
    let after = line.record.since(answer.at);
    (replayed(&before, &after, session, method == "session/load", &answer), true)
}

fn replayed(before: &[String], after: &[String], session: &str, replays: bool, answer: &Answer) -> Outcome {
    let said = |lines: &[String]| {
        let said = updates(lines, session).into_iter().find(|(update, _)| {
            matches!(
                update["sessionUpdate"].as_str(),
                Some("user_message_chunk" | "agent_message_chunk" | "tool_call")
            )
        });
        said.map(|(_, line)| line)
    };
    match (replays, said(before), said(after)) {
        (true, None, None) => answer.wrong("nothing of the conversation was told again"),
        (true, _, Some(late)) => Outcome::by("it went on telling after its answer", late),
        (true, Some(_), None) | (false, None, None) => Outcome::Pass,
        (false, Some(told), _) | (false, None, Some(told)) => {
            Outcome::by("it tells the conversation again", told)
        }
    }
}

/// What is deleted cannot be opened any more.
async fn deleted<A>(line: &Line<'_, A>, method: &str, session: &str) -> Outcome {
    let answer = line.ask("session/delete", json!({"sessionId": session})).await;
    if let Err(outcome) = answer.good() {
        return outcome;
    }
    let params = json!({"sessionId": session, "cwd": line.ground.cwd, "mcpServers": []});
    line.ask(method, params).await.refused("a deleted session")
}
