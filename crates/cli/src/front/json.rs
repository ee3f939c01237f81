//! The JSON event stream: one object a line on stdout and nothing else there; the last one is the result.
//! The shape is a contract, see `docs/SPEC.md`.

use std::time::Instant;

use jiff::Timestamp;
use serde::Serialize;
use zdx_protocol::display::{json_safe, plain};
use zdx_protocol::record::millis;
use zdx_protocol::{ErrorKind, Event, Outcome, Usage, record};

use super::{Closing, Why};
use crate::output::Page;
use crate::terminal::Terminal;
use crate::words;

const VERSION: u32 = 1;

pub struct Json {
    seq: u64,
    session: Option<String>,
    started: Instant,
    terminal: Terminal,
    /// The last error of the turn.
    failed: Option<Why>,
}

#[derive(Serialize)]
struct Line<T> {
    v: u32,
    seq: u64,
    #[serde(serialize_with = "record::stamp")]
    ts: Timestamp,
    #[serde(flatten)]
    body: T,
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "result")]
struct RunResult<'a> {
    outcome: Outcome,
    text: &'a str,
    usage: Usage,
    session: Option<&'a str>,
    denied: u32,
    duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Why>,
}

impl Json {
    pub fn new(terminal: Terminal) -> Self {
        Self { seq: 0, session: None, started: Instant::now(), terminal, failed: None }
    }

    pub fn show(&mut self, event: &Event, page: &mut Page) {
        match event {
            // Answers to commands are for whoever sent them, and a reader of this stream sends none.
            Event::Done { .. } | Event::Reply { .. } => return,
            Event::SessionStarted(info) => self.session = Some(info.session.clone()),
            Event::TurnStarted { .. } => self.failed = None,
            Event::Error { kind, message, details, .. } => {
                self.fail(message, page);
                if let Some(details) = details {
                    self.say(details, page);
                }
                self.failed = Some(Why { kind: *kind, message: message.clone(), details: details.clone() });
            }
            _ => {}
        }
        self.line(event, page);
    }

    pub fn say(&mut self, text: &str, page: &mut Page) {
        page.err(format!("{}\n", plain(text)));
    }

    pub fn fail(&mut self, message: &str, page: &mut Page) {
        let line = format!("zdx: {}", plain(message));
        page.err(format!("{}\n", self.terminal.style.red(&line)));
    }

    pub fn close(&mut self, closing: &Closing<'_>, page: &mut Page) {
        let session = self.session.clone();
        let elapsed = millis(self.started.elapsed());
        let cut = if closing.interrupted { Outcome::Interrupted } else { Outcome::Error };
        let outcome = closing.summary.map_or(cut, |summary| summary.outcome);
        let result = RunResult {
            outcome,
            text: closing.summary.map_or("", |summary| &summary.text),
            usage: closing.summary.map_or_else(Usage::default, |summary| summary.usage),
            session: session.as_deref(),
            denied: closing.summary.map_or(0, |summary| summary.denied),
            duration_ms: closing.summary.map_or(elapsed, |summary| summary.duration_ms),
            error: closing.error.clone().or_else(|| self.failed(outcome)),
        };
        self.line(&result, page);
    }

    /// Why a run with this outcome failed.
    fn failed(&mut self, outcome: Outcome) -> Option<Why> {
        let message = words::failed(outcome)?;
        let kind = match outcome {
            Outcome::MaxSteps | Outcome::RepeatedCalls => ErrorKind::Limit,
            Outcome::CheckFailed => ErrorKind::Check,
            Outcome::Completed | Outcome::Interrupted | Outcome::Error => ErrorKind::Internal,
        };
        Some(self.failed.take().unwrap_or_else(|| Why::new(kind, message)))
    }

    /// The whole stream of a run that failed before there was anything to tell.
    pub fn stillborn(error: Why) -> Vec<u8> {
        let mut page = Page::default();
        let closing = Closing { summary: None, interrupted: false, error: Some(error) };
        Self::new(Terminal::default()).close(&closing, &mut page);
        page.into_out()
    }

    fn line(&mut self, body: impl Serialize, page: &mut Page) {
        let line = Line { v: VERSION, seq: self.seq, ts: record::now(), body };
        // Our own types always serialise; if one ever did not, a gap in `seq` would show it.
        if let Ok(text) = serde_json::to_string(&line) {
            page.out(json_safe(&text).as_bytes());
            page.out(b"\n");
        }
        self.seq += 1;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use zdx_protocol::{SessionInfo, TurnSummary};

    use super::*;
    use crate::output::Channel;

    fn lines(page: &Page) -> Vec<Value> {
        page.text(Channel::Out).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn without_ts(mut value: Value) -> Value {
        let ts = value.as_object_mut().unwrap().remove("ts").unwrap();
        ts.as_str().unwrap().parse::<Timestamp>().unwrap();
        value
    }

    #[test]
    fn events_are_numbered_lines_and_the_result_is_last() {
        let mut json = Json::new(Terminal::default());
        let mut page = Page::default();
        json.show(
            &Event::SessionStarted(SessionInfo {
                session: "s1".into(),
                root: "/w".into(),
                model: "lab/m".into(),
                agent: "build".into(),
                approval: zdx_protocol::Approval::Yolo,
                context_limit: None,
                resumed: false,
                saved: true,
                parent: None,
                task: None,
                one_prompt: false,
                last: None,
            }),
            &mut page,
        );
        json.show(&Event::AssistantDelta { text: "hi\n".into() }, &mut page);
        let summary = TurnSummary {
            outcome: Outcome::MaxSteps,
            text: "hi\n".into(),
            usage: Usage { input_tokens: 3, ..Usage::default() },
            last_request: None,
            denied: 2,
            duration_ms: 7,
            cut_short: None,
            begun: false,
        };
        json.close(&Closing { summary: Some(&summary), interrupted: false, error: None }, &mut page);
        let lines: Vec<Value> = lines(&page).into_iter().map(without_ts).collect();
        assert_eq!(
            lines,
            [
                json!({"v":1,"seq":0,"type":"session_started","session":"s1","root":"/w","model":"lab/m",
                       "agent":"build","approval":"yolo","resumed":false,"saved":true}),
                json!({"v":1,"seq":1,"type":"assistant_delta","text":"hi\n"}),
                json!({"v":1,"seq":2,"type":"result","outcome":"max_steps","text":"hi\n",
                       "usage":{"input_tokens":3,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,
                                "reasoning_tokens":0},
                       "session":"s1","denied":2,"duration_ms":7,
                       "error":{"kind":"limit","message":"stopped at the step limit; ask to go on, or raise --max-steps"}}),
            ]
        );
        assert!(page.text(Channel::Out).starts_with("{\"v\":1,\"seq\":0,\"ts\":\""));
        assert_eq!(page.text(Channel::Err), "");
    }

    #[test]
    fn a_full_second_is_written_with_all_its_digits() {
        let line = Line { v: VERSION, seq: 0, ts: Timestamp::UNIX_EPOCH, body: json!({}) };
        assert_eq!(serde_json::to_value(&line).unwrap()["ts"], "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn a_run_that_never_started_still_has_a_result() {
        let mut json = Json::new(Terminal::default());
        let mut page = Page::default();
        let error = Some(Why::new(ErrorKind::Auth, "no key"));
        json.close(&Closing { summary: None, interrupted: false, error }, &mut page);
        let result = &lines(&page)[0];
        assert_eq!(result["type"], "result");
        assert_eq!(result["outcome"], "error");
        assert_eq!(result["error"], json!({"kind": "auth", "message": "no key"}));
        assert_eq!(result["session"], Value::Null);
    }
}
