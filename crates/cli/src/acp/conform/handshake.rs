//! The greeting, and manners that need no session.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use zdx_acp::shapes::Welcome;
use zdx_acp::{Frame, Host, Id, code};

use super::line::{Answer, Fault, Line};
use super::report::{Outcome, Report};
use super::{Dial, Ground};

/// What an agent gets to complain about what it should ignore.
const A_MOMENT: Duration = Duration::from_millis(300);

pub(super) async fn initialize<A>(report: &mut Report, line: &mut Line<'_, A>) -> Option<Welcome> {
    let answer = line.ask("initialize", line.greeting(1)).await;
    let outcome = greeted(&answer);
    let passed = outcome == Outcome::Pass;
    report.add("initialize", outcome);
    let welcome = answer.result.ok().map(|answer| Welcome::read(&answer)).filter(|_| passed)?;
    if let Some(outcome) = line.log_in(&welcome).await {
        report.add("authenticate", outcome);
    }
    Some(welcome)
}

fn greeted(answer: &Answer) -> Outcome {
    let result = match answer.good() {
        Ok(result) => result,
        Err(outcome) => return outcome,
    };
    let is = |field: &str, kind: fn(&Value) -> bool| {
        result.get(field).is_none_or(|value| value.is_null() || kind(value))
    };
    if result["protocolVersion"] != 1 {
        return answer.wrong("asked for protocol version 1, it answers another");
    }
    if !is("agentCapabilities", Value::is_object) {
        return answer.wrong("`agentCapabilities` is no object");
    }
    let methods = result["authMethods"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !is("authMethods", Value::is_array) || !methods.iter().all(|method| method["id"].is_string()) {
        return answer.wrong("`authMethods` is no array of objects that have an `id`");
    }
    if !is("agentInfo", |info| info["name"].is_string() && info["version"].is_string()) {
        return answer.wrong("`agentInfo` lacks `name` or `version`");
    }
    Outcome::Pass
}

pub(super) async fn manners<A>(report: &mut Report, line: &Line<'_, A>) {
    // As some clients count: the answer has to bring it back as it was.
    let id = Id::read(&json!("zdx-\u{e4}-\"1\"")).unwrap_or_else(|| Id::number(u64::MAX));
    let limit = line.ground.limit;
    let answer = line.ask_as(&id, "zdx/nothing_of_this_name", json!({}), limit).await;
    report.add(
        "unknown method is refused",
        match &answer.result {
            Err(Fault::Refused(error)) if error.code == code::METHOD_NOT_FOUND => Outcome::Pass,
            Err(Fault::Refused(error)) => answer.wrong(format!("with {}, not -32601", error.code)),
            Err(fault @ (Fault::Gone | Fault::Late(_))) => answer.wrong(fault.words()),
            Ok(_) => answer.wrong("it answers as if there were one"),
        },
    );
    report.add(
        "ids are echoed, text too",
        match (&answer.frame, &answer.result) {
            (Some(_), _) => Outcome::Pass,
            (None, Err(fault)) => Outcome::fail(fault.words()),
            (None, Ok(_)) => Outcome::fail("its answer was not recorded"),
        },
    );
    report.add("unknown notification is ignored", ignored(line).await);
}

async fn ignored<A>(line: &Line<'_, A>) -> Outcome {
    let from = line.record.here();
    if line.peer.notify("zdx/nothing_of_this_name", json!({"x": 1})).await.is_err() {
        return Outcome::fail("it ended");
    }
    tokio::time::sleep(A_MOMENT).await;
    let answers = |frame: &String| matches!(Frame::read(frame.as_bytes()), Ok(Frame::Response { .. }));
    match line.record.since(from).into_iter().find(answers) {
        Some(frame) => Outcome::by("it answers what is no request", frame),
        None => Outcome::Pass,
    }
}

/// Asked for a version that nobody speaks, it offers one of its own.
pub(super) async fn versions(
    report: &mut Report,
    dial: &impl Dial,
    host: &Arc<impl Host>,
    ground: &Ground,
) -> Vec<String> {
    const NAME: &str = "version negotiation";
    let line = match Line::open(dial, host, ground).await {
        Ok(line) => line,
        Err(why) => {
            report.add(NAME, Outcome::fail(why));
            return Vec::new();
        }
    };
    let answer = line.ask("initialize", line.greeting(60_000)).await;
    report.add(
        NAME,
        match answer.good() {
            Ok(result) => match result["protocolVersion"].as_u64() {
                Some(1..60_000) => Outcome::Pass,
                Some(_) | None => answer.wrong("asked for version 60000, it offers none of its own"),
            },
            Err(outcome) => outcome,
        },
    );
    line.hang_up(dial).await
}

/// Lines that are no frame cost nobody the connection.
pub(super) async fn garbage(
    report: &mut Report,
    dial: &impl Dial,
    host: &Arc<impl Host>,
    ground: &Ground,
) -> Vec<String> {
    let mut strays = Vec::new();
    for (name, garbage) in [
        ("a line that is no JSON is survived", ["hello", "{\"jsonrpc\": \"2.0\", \"id\": 7, \"method\"", ""]),
        ("JSON that is no frame is survived", ["[]", "null", "{}"]),
    ] {
        match Line::greeted(dial, host, ground).await {
            Ok(line) => {
                report.add(name, survived(&line, garbage).await);
                strays.extend(line.hang_up(dial).await);
            }
            Err(outcome) => report.add(name, outcome),
        }
    }
    strays
}

async fn survived<A>(line: &Line<'_, A>, garbage: [&str; 3]) -> Outcome {
    for garbage in garbage {
        if line.peer.say(garbage).await.is_err() {
            return Outcome::fail("it ended");
        }
    }
    let answer = line.ask("zdx/nothing_of_this_name", json!({})).await;
    match &answer.result {
        Ok(_) | Err(Fault::Refused(_)) => Outcome::Pass,
        Err(fault @ (Fault::Gone | Fault::Late(_))) => Outcome::fail(fault.words()),
    }
}
