//! A turn to its end, what it showed, and one that is called off.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use zdx_acp::Frame;
use zdx_acp::shapes::StopReason;

use super::line::{Answer, Line};
use super::record::updates;
use super::report::{Outcome, Report};
use super::wellformed;

/// How long a turn may take to show something before it is called off all the same.
const BEGINS: Duration = Duration::from_secs(2);
const LONG: &str = "Count from 1 to 500, one number a line. Use no tool.";

fn prompt(session: &str, text: &str) -> Value {
    json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]})
}

pub(super) async fn play<A>(report: &mut Report, line: &Line<'_, A>, session: &str) {
    let from = line.record.here();
    let (id, limit) = (line.peer.next_id(), line.ground.turn_limit);
    let answer = line.ask_as(&id, "session/prompt", prompt(session, &line.ground.prompt), limit).await;
    report.add("session/prompt ends with a stop reason", ended(&answer));
    let said = line.record.between(from, answer.at);
    let told = updates(&said, session);
    report.add(
        "updates are well-formed",
        match told.is_empty() {
            true => Outcome::Skipped("the turn showed nothing".to_owned()),
            false => fault(told.iter().map(|(update, line)| (wellformed::update(update), line))),
        },
    );
    report.add(
        "a tool call is told before its updates",
        match wellformed::unannounced(&told) {
            Some(line) => Outcome::by("an update of a call that nobody told of", line),
            None => Outcome::Pass,
        },
    );
    let asked = said.iter().filter_map(|line| match Frame::read(line.as_bytes()) {
        Ok(Frame::Request { method, params, .. }) => Some((wellformed::request(&method, &params), line)),
        Ok(_) | Err(_) => None,
    });
    report.add("requests of the agent are well-formed", fault(asked));
}

/// The first of what was looked at that is wrong.
fn fault<'a>(mut looked_at: impl Iterator<Item = (Result<(), String>, &'a String)>) -> Outcome {
    let wrong = looked_at.find_map(|(result, line)| result.err().map(|why| (why, line)));
    wrong.map_or(Outcome::Pass, |(why, line)| Outcome::by(why, line.clone()))
}

fn ended(answer: &Answer) -> Outcome {
    match answer.good().map(StopReason::read) {
        Err(outcome) => outcome,
        Ok(StopReason::Other(other)) if other.is_empty() => answer.wrong("the answer has no `stopReason`"),
        Ok(StopReason::Other(_)) => answer.wrong("a stop reason that the protocol does not have"),
        Ok(StopReason::Cancelled) => answer.wrong("nobody called it off"),
        Ok(
            StopReason::EndTurn | StopReason::MaxTokens | StopReason::MaxTurnRequests | StopReason::Refusal,
        ) => Outcome::Pass,
    }
}

pub(super) async fn cancel<A>(report: &mut Report, line: &Line<'_, A>, session: &str) {
    let from = line.record.here();
    let id = line.peer.next_id();
    let called_off = async {
        let deadline = Instant::now() + BEGINS;
        let begun = || !updates(&line.record.since(from), session).is_empty();
        while !begun() && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let over = line.record.answer(&id, from).is_some();
        let sent = line.peer.notify("session/cancel", json!({"sessionId": session})).await;
        (over, sent)
    };
    let turn = line.ask_as(&id, "session/prompt", prompt(session, LONG), BEGINS + line.ground.limit);
    let (answer, (over, sent)) = tokio::join!(turn, called_off);
    report.add(
        "session/cancel ends the turn as cancelled",
        match (answer.good().map(StopReason::read), over) {
            (Ok(StopReason::Cancelled), _) if sent.is_ok() => Outcome::Pass,
            (_, true) => Outcome::Skipped("the turn was over before it could be called off".to_owned()),
            (Err(outcome), false) => outcome,
            (Ok(other), false) => answer.wrong(format!("called off, it ends as {other}")),
        },
    );
}
