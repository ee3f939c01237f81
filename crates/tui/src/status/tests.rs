use std::time::Duration;

use zdx_protocol::{
    Breakdown, CallKind, CallOrigin, ContextUsage, Outcome, Preview, ToolOutput, TurnState, TurnSummary,
    Usage,
};

use super::*;
use crate::sample::screen;

fn info() -> SessionInfo {
    SessionInfo {
        session: "550e8400-e29b-41d4-a716-446655440000".to_owned(),
        root: "/home/u/项目".into(),
        model: "lab/qwen3-coder-30b".to_owned(),
        agent: "build".to_owned(),
        approval: Approval::Balanced,
        context_limit: None,
        resumed: false,
        saved: true,
        parent: None,
        task: None,
        one_prompt: false,
        last: None,
    }
}

fn context(percent: u64) -> Event {
    let breakdown = Breakdown::default();
    Event::ContextUsage(ContextUsage { used: 1, limit: 2, percent, assumed: false, breakdown })
}

fn state(state: TurnState) -> Event {
    Event::StateChanged { state }
}

fn running(id: &str, command: &str) -> Event {
    Event::ToolStarted {
        id: id.to_owned(),
        name: "bash".to_owned(),
        origin: CallOrigin::Model,
        kind: CallKind::Execute,
        locations: Vec::new(),
        preview: Preview::Command { command: command.to_owned() },
    }
}

fn finished(id: &str) -> Event {
    Event::ToolFinished {
        id: id.to_owned(),
        name: "bash".to_owned(),
        origin: CallOrigin::Model,
        result: ToolOutput::Ok(serde_json::Value::Null),
        diff: None,
        duration_ms: 1,
        reads: None,
    }
}

fn ended() -> Event {
    let usage = Usage::default();
    let outcome = Outcome::Completed;
    Event::TurnFinished(TurnSummary {
        outcome,
        text: String::new(),
        usage,
        denied: 0,
        duration_ms: 1,
        cut_short: None,
    })
}

fn begun() -> Event {
    Event::TurnStarted { turn: 1, prompt: "x".to_owned() }
}

fn asked(number: u64) -> Event {
    let request = zdx_protocol::TrustRequest {
        request: RequestId(number),
        state: zdx_protocol::TrustState {
            root: "/".into(),
            standing: zdx_protocol::Standing::Unknown,
            changed: Vec::new(),
            wants: Vec::new(),
        },
    };
    Event::TrustRequested(request)
}

fn after(events: &[Event], start: Instant) -> Status {
    let mut status = Status::new(Some("/home/u".into()));
    status.apply(&Event::SessionStarted(info()), start);
    events.iter().for_each(|event| status.apply(event, start));
    status
}

#[test]
fn states_are_told_in_words() {
    let start = Instant::now();
    let seconds = |count| start + Duration::from_secs(count);
    let text = |text: &str| Event::AssistantDelta { text: text.to_owned() };
    let retry =
        Event::Retrying { attempt: 2, of: 5, delay_ms: 1, reason: "busy".to_owned(), continues: false };
    let table: [(&[Event], &str, &str); 9] = [
        (&[begun()], "thinking 3 s", "thinking"),
        (&[begun(), state(TurnState::ModelGenerating), text("hi")], "writing 3 s", "writing"),
        (&[begun(), retry], "retrying, 2 of 5 3 s", "retrying"),
        (&[begun(), state(TurnState::ToolRunning)], "working 3 s", "working"),
        (&[begun(), running("1", "cargo  test\n-q")], "running cargo test -q 3 s", "running"),
        (&[begun(), running("1", "a"), running("2", "b")], "running 2 calls 3 s", "running"),
        (&[begun(), running("1", "a"), running("2", "b"), finished("1")], "running b 3 s", "running"),
        (&[begun(), asked(1)], "waiting for you", "waiting for you"),
        // A command of the user's begins without a turn.
        (&[state(TurnState::ToolRunning), running("1", "ls")], "running ls 3 s", "running"),
    ];
    for (events, expected, title) in table {
        let status = after(events, start);
        assert_eq!(status.state(seconds(3)).unwrap()[0], expected);
        assert_eq!(status.title(), format!("zdx · 项目 · {title}"));
        assert_eq!(status.needs_tick(), title != "waiting for you", "{expected}");
    }
    for end in [ended(), state(TurnState::Idle)] {
        let status = after(&[begun(), end], start);
        assert_eq!((status.state(start), status.needs_tick()), (None, false));
        assert_eq!(status.title(), "zdx · 项目 · idle");
    }
    assert_eq!(after(&[begun()], start).state(seconds(65)).unwrap()[0], "thinking 1 min 05 s");
    assert_eq!(after(&[begun()], start).state(seconds(3_725)).unwrap()[0], "thinking 1 h 02 min");
}

#[test]
fn a_step_has_its_own_clock_beside_the_turns() {
    let start = Instant::now();
    let seconds = |count| start + Duration::from_secs(count);
    let mut status = after(&[begun()], start);
    status.apply(&running("1", "cargo test"), seconds(62));
    let words = status.state(seconds(65)).unwrap();
    assert_eq!(
        words,
        ["running cargo test 3 s · turn 1 min 05 s", "running 3 s · turn 1 min 05 s", "running 3 s"]
    );
    status.apply(&finished("1"), seconds(66));
    assert_eq!(status.state(seconds(67)).unwrap()[0], "thinking 1 s · turn 1 min 07 s");
}

#[test]
fn what_was_read_is_warned_of_no_longer() {
    let start = Instant::now();
    let theme = crate::theme::Theme::new(crate::theme::Depth::None, false);
    let warn = |message: &str| Event::Notice { level: NoticeLevel::Warning, message: message.to_owned() };
    let badge = |status: &Status| {
        let row = status.row(Look { width: 120, theme: &theme }, start).to_string();
        row.contains("⚠ ").then(|| row.contains("⚠ 1 · F2"))
    };
    let mut status = after(&[warn("one"), warn("two")], start);
    assert_eq!(badge(&status), Some(false));
    status.read();
    assert_eq!(badge(&status), None);
    status.apply(&warn("three"), start);
    assert_eq!(badge(&status), Some(true), "only what is new counts");
    assert_eq!(status.warning_lines(Look { width: 120, theme: &theme }).len(), 4, "all can be read again");
    status.apply(&Event::SessionStarted(info()), start);
    assert_eq!(badge(&status), None, "another session begins without");
}

#[test]
fn what_was_told_again_is_not_going_on() {
    let start = Instant::now();
    let status = after(&[Event::Replayed { event: Box::new(begun()) }], start);
    assert!(!status.needs_tick());
}

#[test]
fn a_question_that_is_answered_is_waited_for_no_longer() {
    let start = Instant::now();
    let mut status = after(&[begun(), asked(1), asked(2)], start);
    status.apply(&Event::TrustResolved { request: RequestId(1), trusted: true }, start);
    assert_eq!(status.title(), "zdx · 项目 · waiting for you");
    status.apply(&Event::ApprovalWithdrawn { request: RequestId(2), id: "x".to_owned() }, start);
    assert_eq!(status.title(), "zdx · 项目 · thinking");
}

#[test]
fn rows_on_screens() {
    let start = Instant::now();
    let now = start + Duration::from_secs(12);
    let spent = Usage { input_tokens: 12_345, output_tokens: 450, ..Usage::default() };
    let usage = Event::UsageReported(spent);
    let branch = Event::Reply {
        id: zdx_protocol::CommandId(1),
        answer: Reply::GitBranch(Some("feature/分支-with-a-long-name".to_owned())),
    };
    let warning = Event::Notice { level: NoticeLevel::Warning, message: "no".to_owned() };
    let yolo = Event::ApprovalChanged { approval: Approval::Yolo };
    let long = running("1", "cargo test --workspace --all-features -- --nocapture");
    let unsaved = Event::SessionStarted(SessionInfo { saved: false, ..info() });
    let table: [(&str, Vec<Event>, usize); 9] = [
        ("starting", Vec::new(), 0),
        ("idle", vec![context(12), branch.clone()], 0),
        ("thinking", vec![context(12), branch.clone(), begun(), usage.clone()], 0),
        ("writing", vec![context(12), begun(), Event::AssistantDelta { text: "a".to_owned() }], 1),
        ("running", vec![context(12), branch.clone(), begun(), usage.clone(), long], 2),
        ("waiting", vec![context(12), branch.clone(), begun(), asked(1)], 0),
        ("full", vec![context(83), branch, begun(), usage], 0),
        ("warned", vec![context(12), warning.clone(), warning, begun()], 3),
        ("unsaved_yolo", vec![unsaved, yolo, context(3)], 0),
    ];
    for columns in [40, 80, 120] {
        let mut rows = Vec::new();
        for (name, events, queued) in &table {
            let mut status = match *name {
                "starting" => Status::default(),
                _ => after(events, start),
            };
            status.queued(*queued);
            rows.push(screen(columns, |look| {
                let row = status.row(look, now);
                assert!(row.width() <= usize::from(columns), "{name}");
                vec![row]
            }));
        }
        insta::assert_snapshot!(format!("rows_{columns}"), rows.join("\n"));
    }
}

#[test]
fn welcomes_on_screens() {
    let start = Instant::now();
    let demo = Event::SessionStarted(SessionInfo { model: "demo".to_owned(), ..info() });
    let resumed = Event::SessionStarted(SessionInfo { resumed: true, ..info() });
    for columns in [40, 80, 120] {
        let shown = [vec![], vec![demo.clone()], vec![resumed.clone()]].map(|events| {
            let status = after(&events, start);
            screen(columns, |look| status.welcome(look))
        });
        insta::assert_snapshot!(format!("welcome_{columns}"), shown.join("\n\n"));
    }
}

#[test]
fn warnings_are_listed_whole_and_cleaned() {
    let start = Instant::now();
    let warn = |message: &str| Event::Notice { level: NoticeLevel::Warning, message: message.to_owned() };
    let status =
        after(&[warn("first\x1b[2J"), warn("the second one is longer than the screen is wide")], start);
    insta::assert_snapshot!(screen(40, |look| status.warning_lines(look)), @r#"
    2 warnings
    ⚠ the second one is longer than the
      screen is wide
    ⚠ first\x1b[2J
    "#);
    let many: Vec<Event> = (0..KEPT_WARNINGS + 5).map(|number| warn(&number.to_string())).collect();
    assert_eq!(after(&many, start).warnings.len(), KEPT_WARNINGS);
}

#[test]
fn no_screen_is_too_narrow() {
    let start = Instant::now();
    let status = after(&[context(99), begun(), running("1", "漢字漢字")], start);
    for columns in 1..140 {
        let theme = crate::theme::Theme::new(crate::theme::Depth::None, false);
        let row = status.row(Look { width: columns, theme: &theme }, start);
        assert!(row.width() <= usize::from(columns), "{columns}: {row}");
    }
}
