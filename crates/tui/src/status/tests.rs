use std::time::Duration;

use zdx_protocol::{
    Breakdown, CallKind, CallOrigin, ContextUsage, Outcome, Preview, ToolOutput, TurnState, TurnSummary,
    Usage,
};

use super::*;
use crate::sample::screen;
use crate::theme::{Depth, Theme};

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
        content: Vec::new(),
        duration_ms: 1,
        reads: None,
        beside: None,
    }
}

fn ended() -> Event {
    let usage = Usage::default();
    let outcome = Outcome::Completed;
    Event::TurnFinished(TurnSummary {
        outcome,
        text: String::new(),
        usage,
        last_request: None,
        denied: 0,
        duration_ms: 1,
        cut_short: None,
        begun: false,
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
        Event::Retrying { attempt: 2, of: 5, delay_ms: 8_000, reason: "busy".to_owned(), continues: false };
    let thought = Event::ReasoningDelta { text: "hm".to_owned() };
    let table: [(&[Event], &str, &str); 10] = [
        (&[begun()], "waiting for the model 3 s", "waiting for the model"),
        (&[begun(), state(TurnState::ModelGenerating), thought], "thinking 3 s", "thinking"),
        (&[begun(), state(TurnState::ModelGenerating), text("hi")], "writing 3 s", "writing"),
        (&[begun(), retry], "Retrying in 5 s (2 of 5) · busy", "retrying"),
        (&[begun(), state(TurnState::ToolRunning)], "working 3 s", "working"),
        (&[begun(), running("1", "cargo  test\n-q")], "running 3 s", "running"),
        (&[begun(), running("1", "a"), running("2", "b")], "running 3 s", "running"),
        (&[begun(), running("1", "a"), running("2", "b"), finished("1")], "running 3 s", "running"),
        (&[begun(), asked(1)], "waiting for you", "waiting for you"),
        // A command of the user's begins without a turn.
        (&[state(TurnState::ToolRunning), running("1", "ls")], "running 3 s", "running"),
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
    assert_eq!(after(&[begun()], start).state(seconds(65)).unwrap()[0], "waiting for the model 1 min 05 s");
    assert_eq!(
        after(&[begun()], start).state(seconds(3_725)).unwrap()[0],
        "waiting for the model 1 h 02 min"
    );
}

#[test]
fn a_step_has_its_own_clock_beside_the_turns() {
    let start = Instant::now();
    let seconds = |count| start + Duration::from_secs(count);
    let mut status = after(&[begun()], start);
    status.apply(&running("1", "cargo test"), seconds(62));
    let words = status.state(seconds(65)).unwrap();
    assert_eq!(words[0], "running 3 s · turn 1 min 05 s");
    assert_eq!(words.last().map(String::as_str), Some("running 3 s"));
    status.apply(&finished("1"), seconds(66));
    assert_eq!(status.state(seconds(67)).unwrap()[0], "waiting for the model 1 s · turn 1 min 07 s");
}

#[test]
fn both_clocks_change_at_once() {
    let start = Instant::now();
    let at = |tenths: u64| start + Duration::from_millis(tenths * 100);
    let changes = |writes: u64| {
        let mut status = after(&[Event::SessionStarted(info()), begun()], start);
        status.apply(&Event::AssistantDelta { text: "a".to_owned() }, at(writes));
        let told: Vec<_> = (writes..writes + 50).map(|tenths| status.state(at(tenths)).unwrap()).collect();
        (told[20][0].clone(), told.windows(2).filter(|pair| pair[0] != pair[1]).count())
    };
    assert_eq!(changes(7), ("writing 2 s".to_owned(), 4));
    assert_eq!(changes(37), ("writing 2 s · turn 5 s".to_owned(), 4));
}

#[test]
fn a_server_that_says_nothing_is_told_from_a_model_that_thinks() {
    let start = Instant::now();
    let seconds = |count| start + Duration::from_secs(count);
    let said = |status: &Status, at| status.state(seconds(at)).unwrap()[0].clone();
    let mut status = after(&[begun(), state(TurnState::ModelGenerating)], start);
    assert_eq!(said(&status, 9), "waiting for the model 9 s");
    // The block that shows the thought counts from here too, also over a retry.
    let thought = Event::ReasoningDelta { text: "hm".to_owned() };
    status.apply(&thought, seconds(9));
    let retry =
        Event::Retrying { attempt: 1, of: 2, delay_ms: 1, reason: "busy".to_owned(), continues: false };
    status.apply(&retry, seconds(11));
    assert_eq!(said(&status, 12), "Retrying in 0 s (1 of 2) · busy");
    status.apply(&thought, seconds(13));
    assert_eq!(said(&status, 15), "thinking 6 s · turn 15 s");
    status.apply(&Event::AssistantDelta { text: "So".to_owned() }, seconds(16));
    assert_eq!(said(&status, 20), "writing 4 s · turn 20 s");
    assert_eq!(said(&status, 46), "writing · nothing for 30 s · turn 46 s");
    status.apply(&Event::AssistantDelta { text: "So".to_owned() }, seconds(47));
    assert_eq!(said(&status, 48), "writing 32 s · turn 48 s");
    // Nothing of a call comes before all of it.
    status.apply(&Event::ToolAnnounced { id: "1".to_owned(), name: "write".to_owned() }, seconds(48));
    assert_eq!(said(&status, 58), "writing 42 s · turn 58 s");
}

#[test]
fn a_retry_is_counted_down_and_its_reason_is_cut_last() {
    let start = Instant::now();
    let retrying = |of, reason: &str| Event::Retrying {
        attempt: 2,
        of,
        delay_ms: 8_400,
        reason: reason.to_owned(),
        continues: false,
    };
    let status = after(&[begun(), retrying(10, "overloaded (529): too many people ask at once")], start);
    let theme = Theme::new(Depth::None, false);
    let row = |status: &Status, width, at: u64| {
        let look = Look { width, theme: &theme };
        status.row(look, start + Duration::from_millis(at)).to_string()
    };
    for (at, seconds) in [(0, 9), (400, 8), (1_300, 8), (8_300, 1), (20_000, 0)] {
        let expected = format!("Retrying in {seconds} s (2 of 10) · overloaded (529)");
        assert!(row(&status, 160, at).contains(&expected), "{}", row(&status, 160, at));
    }
    assert!(row(&status, 160, 0).contains("esc stops"), "{}", row(&status, 160, 0));
    for width in [40, 64, 80, 100] {
        assert!(row(&status, width, 400).contains("overloaded (529)"), "{}", row(&status, width, 400));
    }
    assert!(status.needs_tick());
    let loading = after(&[begun(), retrying(0, "loading its model (503)")], start);
    assert!(row(&loading, 120, 400).contains("Retrying in 8 s · loading its model (503)"));
}

#[test]
fn tokens_are_those_of_the_context_and_move_while_an_answer_streams() {
    let start = Instant::now();
    let reported = |input_tokens, output_tokens| {
        Event::UsageReported(Usage { input_tokens, output_tokens, ..Usage::default() })
    };
    let text = |bytes: usize| Event::AssistantDelta { text: "x".repeat(bytes) };
    let mut status = after(&[begun(), state(TurnState::ModelGenerating)], start);
    let told = |status: &Status| status.doing.as_ref().map(Doing::tokens).unwrap();
    for (event, expected) in [
        (text(400), (0, 100)),
        (text(400), (0, 200)),
        (reported(10_000, 190), (10_000, 190)),
        (Event::ReasoningDelta { text: "x".repeat(40) }, (10_000, 200)),
        (reported(10_500, 50), (10_500, 240)),
    ] {
        status.apply(&event, start);
        assert_eq!(told(&status), expected, "{event:?}");
    }
    let theme = Theme::new(Depth::None, false);
    let row = status.row(Look { width: 140, theme: &theme }, start).to_string();
    assert!(row.contains("10.5k in, 240 out"), "{row}");
}

#[test]
fn the_time_of_a_question_is_not_the_turns() {
    let start = Instant::now();
    let seconds = |count| start + Duration::from_secs(count);
    let mut status = after(&[begun()], start);
    status.apply(&state(TurnState::AwaitingPermission), seconds(4));
    status.apply(&asked(1), seconds(4));
    status.apply(&Event::TrustResolved { request: RequestId(1), trusted: true }, seconds(64));
    status.apply(&running("1", "make"), seconds(64));
    assert_eq!(status.state(seconds(66)).unwrap()[0], "running 2 s · turn 6 s");
}

/// What stands right of the gap.
fn right_half(row: &str) -> String {
    row.trim_start().split_once("  ").map(|(_, right)| right.trim_start().to_owned()).unwrap_or_default()
}

#[test]
fn a_turn_has_one_layout() {
    let start = Instant::now();
    let theme = Theme::new(Depth::None, false);
    let branch =
        Event::Reply { id: zdx_protocol::CommandId(1), answer: Reply::GitBranch(Some("main".to_owned())) };
    let spent = |input_tokens, output_tokens| {
        Event::UsageReported(Usage { input_tokens, output_tokens, ..Usage::default() })
    };
    let text = Event::AssistantDelta { text: "x".to_owned() };
    let steps = [
        (1, begun()),
        (3, running("1", "cargo test --workspace --all-features -- --nocapture")),
        (70, finished("1")),
        (71, spent(999, 9)),
        (72, text),
        (130, spent(12_345, 450)),
        (131, running("2", "ls")),
        (132, asked(1)),
        (140, Event::TrustResolved { request: RequestId(1), trusted: true }),
        (141, running("3", "ls")),
        (700, spent(345_678, 4_500)),
    ];
    for columns in [64, 80, 100, 120, 160] {
        let look = Look { width: columns, theme: &theme };
        let mut status = after(&[context(9), branch.clone()], start);
        let idle = right_half(&status.row(look, start).to_string());
        let mut tokens = Vec::new();
        for (at, event) in &steps {
            let now = start + Duration::from_secs(*at);
            status.apply(event, now);
            for later in [0, 9, 31] {
                let row = status.row(look, now + Duration::from_secs(later)).to_string();
                assert_eq!(right_half(&row), idle, "{columns} at {at}: {row}");
                assert!(!row.contains("cargo"), "{row}");
                tokens.extend((*at > 71).then(|| (row.contains(" in"), row.contains(" out"))));
            }
        }
        assert!(tokens.iter().all(|shown| *shown == tokens[0] && shown.0), "{columns}: {tokens:?}");
    }
}

#[test]
fn what_was_read_is_warned_of_no_longer() {
    let start = Instant::now();
    let theme = Theme::new(Depth::None, false);
    let warn = |message: &str| Event::Notice {
        level: NoticeLevel::Warning,
        message: message.to_owned(),
        kept: false,
    };
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
    assert_eq!(status.title(), "zdx · 项目 · waiting for the model");
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
    let warning = Event::Notice { level: NoticeLevel::Warning, message: "no".to_owned(), kept: false };
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
    let warn = |message: &str| Event::Notice {
        level: NoticeLevel::Warning,
        message: message.to_owned(),
        kept: false,
    };
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
fn a_context_is_nearly_full_from_eighty_percent_on() {
    let start = Instant::now();
    let theme = Theme::new(Depth::Many, false);
    let look = Look { width: 120, theme: &theme };
    for (percent, warns) in [(79, false), (80, true)] {
        let (style, forms) = after(&[context(percent)], start).filled(look);
        assert_eq!(forms[0].contains("nearly full"), warns, "{forms:?}");
        assert_eq!(style == theme.warning, warns);
    }
}

#[test]
fn no_screen_is_too_narrow() {
    let start = Instant::now();
    let status = after(&[context(99), begun(), running("1", "漢字漢字")], start);
    for columns in 1..140 {
        let theme = Theme::new(Depth::None, false);
        let row = status.row(Look { width: columns, theme: &theme }, start);
        assert!(row.width() <= usize::from(columns), "{columns}: {row}");
    }
}
