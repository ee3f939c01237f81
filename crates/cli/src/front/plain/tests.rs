use serde_json::json;
use zdx_protocol::{CheckResult, Checked, ErrorKind, Outcome, ToolOutput, Usage};

use super::*;
use crate::output::Channel;

fn delta(text: &str) -> Event {
    Event::AssistantDelta { text: text.into() }
}

fn message(text: &str) -> Event {
    Event::AssistantFinal { text: text.into(), partial: false, continues: false }
}

fn finished(outcome: Outcome, denied: u32) -> Event {
    Event::TurnFinished(TurnSummary {
        outcome,
        text: String::new(),
        usage: Usage::default(),
        last_request: None,
        denied,
        duration_ms: 0,
        cut_short: None,
        begun: false,
    })
}

fn call(command: &str) -> [Event; 2] {
    let input = json!({"command": command});
    let result = ToolOutput::Ok(json!({"stdout":"","stderr":"","exit_code":0,"timed_out":false}));
    [
        Event::ToolRequested {
            id: "1".into(),
            name: "bash".into(),
            input,
            raw: None,
            signature: None,
            origin: CallOrigin::Model,
            parent: None,
        },
        Event::ToolFinished {
            id: "1".into(),
            name: "bash".into(),
            origin: CallOrigin::Model,
            result,
            content: Vec::new(),
            diff: None,
            duration_ms: 20,
            reads: None,
            beside: None,
        },
    ]
}

fn show(terminal: Terminal, events: &[Event]) -> Page {
    let mut plain = Plain::new(terminal, None);
    let mut page = Page::default();
    for event in events {
        plain.show(event, &mut page);
    }
    page
}

const PIPE: Terminal = Terminal {
    stdin: false,
    stdout: false,
    stderr: false,
    shared: false,
    smart: false,
    coloured_text: false,
    style: crate::style::Style { colour: false },
};
const DUMB: Terminal = Terminal { stdin: true, stdout: true, stderr: true, shared: true, ..PIPE };

#[test]
fn only_assistant_text_is_on_stdout_and_each_message_is_a_line_of_its_own() {
    let [requested, done] = call("ls");
    let events = [delta("I "), delta("look."), message("I look."), requested, done, delta("Two files.\n")];
    let page =
        show(PIPE, &[&events[..], &[message("Two files.\n"), finished(Outcome::Completed, 0)]].concat());
    assert_eq!(page.text(Channel::Out), "I look.\nTwo files.\n");
    let err = page.text(Channel::Err);
    assert!(err.starts_with("Tool requested: bash"), "{err}");
    assert!(err.ends_with("Done. (0.02s)\n"), "{err}");
}

#[test]
fn a_pipe_gets_the_bytes_and_a_terminal_gets_them_cleaned() {
    let events = [delta("a\x1b[2Jb\x07"), message("a\x1b[2Jb\x07")];
    assert_eq!(show(PIPE, &events).text(Channel::Out), "a\x1b[2Jb\x07\n");
    let cleaned = show(DUMB, &events).text(Channel::Out);
    assert!(!cleaned.contains('\x1b') && !cleaned.contains('\x07'), "{cleaned:?}");
}

#[test]
fn a_message_that_did_not_stream_is_shown_whole_and_once() {
    assert_eq!(show(PIPE, &[message("all of it")]).text(Channel::Out), "all of it\n");
    let masked = [delta("KEY=a1b2c3d4"), message("KEY=[redacted]")];
    assert_eq!(show(PIPE, &masked).text(Channel::Out), "KEY=a1b2c3d4\n");
    assert_eq!(show(PIPE, &[message("")]).text(Channel::Out), "");
}

#[test]
fn a_status_line_does_not_stick_to_unfinished_text_on_a_shared_screen() {
    let notice = Event::Notice { level: NoticeLevel::Warning, message: "careful".into(), kept: false };
    let events = [delta("half"), notice, delta(" whole"), message("half whole")];
    let over = [&events[..], &[finished(Outcome::Completed, 0)]].concat();
    assert_eq!(show(DUMB, &over).screen(), "half whole\n— ANSWER\n⚠ careful\n");
    let page = show(PIPE, &events);
    assert_eq!(page.text(Channel::Out), "half whole\n");
    assert_eq!(page.text(Channel::Err), "warning: careful\n");
}

#[test]
fn what_a_text_was_is_said_where_it_ends() {
    let [requested, done] = call("ls");
    let steps = [delta("I look."), message("I look."), requested.clone(), done.clone(), requested, done];
    let end = [delta("Two "), delta("files."), message("Two files."), finished(Outcome::Completed, 0)];
    let tools = "• Ran ls · exit 0\n";
    assert_eq!(
        show(DUMB, &[&steps[..], &end[..]].concat()).screen(),
        format!("I look.\n— PLAN\n{tools}{tools}Two files.\n— ANSWER\n")
    );
    // What was broken off is neither, and what does not stand on the screen needs no mark.
    let cut = [delta("Two "), finished(Outcome::Interrupted, 0)];
    assert_eq!(show(DUMB, &cut).screen(), "Two \n");
    assert_eq!(show(Terminal { stderr: true, ..PIPE }, &end).screen(), "Two files.\n");
}

#[test]
fn an_answer_that_fails_its_check_is_no_answer_until_the_last() {
    let checked = |result| {
        let (id, command) = ("check-1-1".into(), "make test".into());
        Event::Checked(Checked { id, command, result, attempt: 1, attempts: 1 })
    };
    let error = Event::Error {
        command: None,
        kind: ErrorKind::Check,
        message: "check still fails after 1 attempt: make test (exit code 2)".into(),
        details: Some("no rule".into()),
    };
    let said = |text| [delta(text), message(text)];
    let events = [
        &said("done 0")[..],
        &[checked(CheckResult::Failed)],
        &said("done 1"),
        &[checked(CheckResult::GivenUp), error, finished(Outcome::CheckFailed, 0)],
    ];
    assert_eq!(
        show(DUMB, &events.concat()).screen(),
        "done 0\n⚠ check failed: make test\ndone 1\n— ANSWER\n\
         ✗ check still fails after 1 attempt: make test (exit code 2)\n"
    );
}

#[test]
fn an_unfinished_message_still_ends_its_line() {
    let page = show(PIPE, &[delta("cut"), finished(Outcome::Completed, 0)]);
    assert_eq!(page.text(Channel::Out), "cut\n");
}

#[test]
fn the_end_counts_denials_and_explains_itself_once() {
    let page = show(PIPE, &[finished(Outcome::Completed, 2)]);
    assert_eq!(page.text(Channel::Err), "2 tool calls denied\n");
    let page = show(PIPE, &[finished(Outcome::MaxSteps, 0)]);
    assert!(page.text(Channel::Err).contains("--max-steps"));
    let error =
        Event::Error { command: None, kind: ErrorKind::Limit, message: "200 steps".into(), details: None };
    let page = show(PIPE, &[error, finished(Outcome::MaxSteps, 0)]);
    assert_eq!(page.text(Channel::Err), "zdx: 200 steps\n");
}

#[test]
fn colour_dresses_stderr_only() {
    let terminal = Terminal { style: crate::style::Style { colour: true }, stderr: true, ..PIPE };
    let error = Event::Error {
        command: None,
        kind: ErrorKind::Provider,
        message: "gone\x1b[0m".into(),
        details: None,
    };
    let page = show(terminal, &[delta("text"), error]);
    assert_eq!(page.text(Channel::Out), "text");
    assert_eq!(page.text(Channel::Err), "\x1b[1;31m✗ \x1b[0m\x1b[1;31mgone\x1b[0m\n");
}
