mod calls;
mod folds;
mod stopped;
mod thoughts;
mod todos;
mod words;

use std::time::{Duration, Instant};

use proptest::prelude::*;
use ratatui_core::text::Line;
use serde_json::{Value, json};
use zdx_protocol::{
    CallKind, CallOrigin, Decision, Event, Outcome, Preview, Reasoning, RequestId, Todo, TodoStatus,
    ToolCode, ToolOutput, TurnSummary, Usage,
};

use super::*;
use crate::theme::{Depth, Theme};

fn theme() -> Theme {
    Theme::new(Depth::None, false)
}

fn text(rows: &[Line<'_>]) -> Vec<String> {
    let row = |row: &Line<'_>| row.spans.iter().map(|span| span.content.as_ref()).collect::<String>();
    rows.iter().map(|line| row(line).trim_end().to_owned()).collect()
}

struct Shown {
    conversation: Conversation,
    now: Instant,
    theme: Theme,
    width: u16,
    settled: Vec<String>,
}

impl Shown {
    fn new(width: u16) -> Self {
        let (conversation, settled) = (Conversation::default(), Vec::new());
        Self { conversation, now: Instant::now(), theme: theme(), width, settled }
    }

    fn tell(&mut self, events: impl IntoIterator<Item = Event>) -> &mut Self {
        for event in events {
            // What took its time took it.
            if let Event::ToolFinished { duration_ms, .. } = &event {
                self.now += Duration::from_millis(*duration_ms);
            }
            self.conversation.apply(&event, self.now);
            let rows = self.conversation.settled(Look { width: self.width, theme: &self.theme });
            self.settled.extend(text(&rows));
        }
        self
    }

    fn live(&self) -> Vec<String> {
        text(&self.conversation.live(Look { width: self.width, theme: &self.theme }, self.now, 40))
    }

    fn whole(&self) -> Vec<String> {
        let parts = self.conversation.whole(Look { width: self.width, theme: &self.theme }, self.now);
        let lines: Vec<_> = parts.iter().flat_map(|part| part.rows(0..part.len())).collect();
        text(&lines.into_iter().map(|(_, line)| line).collect::<Vec<_>>())
    }
}

fn delta(text: &str) -> Event {
    Event::AssistantDelta { text: text.into() }
}

fn said(text: &str) -> Event {
    Event::AssistantFinal { text: text.into(), partial: false, continues: false }
}

fn prompt(text: &str) -> Event {
    Event::TurnStarted { turn: 1, prompt: text.into() }
}

fn over(outcome: Outcome) -> Event {
    let (text, usage) = (String::new(), Usage::default());
    Event::TurnFinished(TurnSummary {
        outcome,
        text,
        usage,
        last_request: None,
        denied: 0,
        duration_ms: 10,
        cut_short: None,
        begun: false,
    })
}

fn requested(id: &str, name: &str, input: Value) -> Event {
    let (id, name, origin) = (id.to_owned(), name.to_owned(), CallOrigin::Model);
    Event::ToolRequested { id, name, input, raw: None, signature: None, origin, parent: None }
}

fn started(id: &str, name: &str) -> Event {
    let (id, name, origin) = (id.to_owned(), name.to_owned(), CallOrigin::Model);
    Event::ToolStarted {
        id,
        name,
        origin,
        kind: CallKind::Other,
        locations: Vec::new(),
        preview: Preview::None,
    }
}

fn finished(id: &str, name: &str, result: ToolOutput, diff: Option<&str>) -> Event {
    let (id, name, origin) = (id.to_owned(), name.to_owned(), CallOrigin::Model);
    Event::ToolFinished {
        id,
        name,
        origin,
        result,
        diff: diff.map(str::to_owned),
        content: Vec::new(),
        duration_ms: 2_100,
        reads: None,
        beside: None,
    }
}

fn call(id: &str, name: &str, input: Value, data: Value) -> Vec<Event> {
    vec![requested(id, name, input), started(id, name), finished(id, name, ToolOutput::Ok(data), None)]
}

fn printed(stdout: &str, code: i64) -> Value {
    json!({"stdout": stdout, "stderr": "", "exit_code": code, "timed_out": false})
}

fn ran(id: &str, command: &str, stdout: &str, code: i64) -> Vec<Event> {
    call(id, "bash", json!({"command": command}), printed(stdout, code))
}

/// A command that is known to only read.
fn looked(id: &str, command: &str, stdout: &str) -> Vec<Event> {
    let mut events = ran(id, command, stdout, 0);
    if let Some(Event::ToolFinished { reads, .. }) = events.last_mut() {
        *reads = Some(CallKind::Execute);
    }
    events
}

fn read(id: &str, path: &str) -> Vec<Event> {
    let mut events = call(id, "read", json!({"path": path}), json!({"content": "a\nb\n"}));
    if let Some(Event::ToolFinished { duration_ms, .. }) = events.last_mut() {
        *duration_ms = 3;
    }
    events
}

const DIFF: &str = "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n";

fn a_turn() -> Vec<Event> {
    let many: String = (1..=58).map(|n| format!("line {n}\n")).collect();
    let edited = json!({"replacements": 1, "additions": 1, "deletions": 1});
    let missing = ToolOutput::error(ToolCode::Enoent, "no such file: gone.rs");
    [
        vec![prompt("mend the parser\nand test it"), delta("I look at the **parser** first."), said("")],
        read("1", "src/a.rs"),
        read("2", "src/b.rs"),
        call("3", "grep", json!({"pattern": "fn parse"}), json!({"matches": 12, "files": 4})),
        vec![requested("4", "read", json!({"path": "gone.rs"})), finished("4", "read", missing, None)],
        vec![
            requested("5", "edit", json!({"path": "src/a.rs"})),
            finished("5", "edit", ToolOutput::Ok(edited), Some(DIFF)),
        ],
        ran("6", "cargo test --workspace --all-features -- --nocapture the_whole_suite_of_them", &many, 101),
        vec![delta("Done."), said("Done."), over(Outcome::Completed)],
    ]
    .concat()
}

#[test]
fn a_turn_at_three_widths() {
    for width in [40, 80, 120] {
        let mut shown = Shown::new(width);
        shown.tell(a_turn());
        assert!(shown.live().is_empty(), "{:?}", shown.live());
        for row in &shown.settled {
            assert!(zdx_protocol::display::text::width(row) <= usize::from(width), "{row:?}");
        }
        insta::assert_snapshot!(format!("a_turn_{width}"), shown.settled.join("\n"));
        if width == 80 {
            insta::assert_snapshot!("a_turn_whole", shown.whole().join("\n"));
        }
    }
}

#[test]
fn told_again_it_looks_as_it_looked() {
    let (mut first, mut again) = (Shown::new(80), Shown::new(80));
    first.tell(a_turn());
    let saved = |event: &Event| {
        !matches!(event, Event::AssistantDelta { .. } | Event::ToolStarted { .. } | Event::TurnFinished(_))
    };
    let text = |event: Event| match event {
        Event::AssistantFinal { ref text, .. } if text.is_empty() => said("I look at the **parser** first."),
        event => event,
    };
    let events = a_turn().into_iter().filter(saved).map(text);
    again.tell(events.map(|event| Event::Replayed { event: Box::new(event) }));
    again.tell([Event::StateChanged { state: zdx_protocol::TurnState::Idle }]);
    let without_time = |rows: &[String]| -> Vec<String> {
        rows.iter().map(|row| row.replace(" · 2.1 s", "").replace(" · 0.01 s", "")).collect()
    };
    let (first, again) = (without_time(&first.settled), without_time(&again.settled));
    // Without its time a long command has more room.
    let short = |rows: Vec<String>| -> Vec<String> {
        rows.into_iter().filter(|row| !row.contains("cargo")).collect()
    };
    assert_eq!(short(first), short(again));
}

fn announced(name: &str, path: Option<&str>, bytes: Option<u64>) -> Event {
    match bytes {
        Some(bytes) => Event::ToolGrew { id: "1".into(), path: path.map(str::to_owned), bytes },
        None => Event::ToolAnnounced { id: "1".into(), name: name.into() },
    }
}

#[test]
fn the_end_of_a_turn_is_said_in_a_line() {
    let ended = |outcome, denied| {
        let (text, usage) = (String::new(), Usage::default());
        Event::TurnFinished(TurnSummary {
            outcome,
            text,
            usage,
            last_request: None,
            denied,
            duration_ms: 2_000,
            cut_short: None,
            begun: false,
        })
    };
    let mut shown = Shown::new(60);
    shown.tell([prompt("go"), requested("1", "bash", json!({"command": "make"}))]);
    assert_eq!(shown.live(), ["", "• Run make · waiting"]);
    shown.tell([Event::Interrupted, ended(Outcome::Interrupted, 1)]);
    assert_eq!(shown.settled[2..], ["✗ Run make · interrupted", "⚠ interrupted · 2.0 s"]);

    let mut stopped = Shown::new(60);
    stopped.tell([prompt("go"), requested("1", "bash", json!({"command": "make"})), started("1", "bash")]);
    stopped.tell([Event::ToolProgress { id: "1".into(), chunk: "half\n".into() }, Event::Interrupted]);
    stopped.tell([ended(Outcome::Interrupted, 0)]);
    assert_eq!(stopped.settled[2..4], ["✗ Run make · interrupted", "    half"]);

    let mut failed = Shown::new(60);
    let message = "the server answered 500".to_owned();
    let kind = zdx_protocol::ErrorKind::Provider;
    let error = Event::Error { command: None, kind, message, details: None };
    failed.tell([prompt("go"), error, ended(Outcome::Error, 0)]);
    let said = failed.settled[2..].join(" ");
    assert_eq!(
        said.split_whitespace().collect::<Vec<_>>().join(" "),
        "✗ the server answered 500 took 2.0 s · /retry asks again"
    );
}

#[test]
fn an_answer_that_went_on_after_a_break_says_so_once() {
    let piece =
        |text: &str, partial, continues| Event::AssistantFinal { text: text.into(), partial, continues };
    let retrying = || Event::Retrying {
        attempt: 1,
        of: 10,
        delay_ms: 500,
        reason: "the connection broke: reset".into(),
        continues: true,
    };
    let mut shown = Shown::new(100);
    shown.tell([prompt("go"), delta("One,"), piece("One,", true, false), retrying()]);
    shown.tell([delta(" two,"), piece(" two,", true, true), retrying()]);
    shown.tell([delta(" three."), piece(" three.", false, true), over(Outcome::Completed)]);
    let all = shown.settled.join("\n");
    assert!(all.contains("One, two, three."), "{all}");
    assert_eq!(all.matches("the connection broke").count(), 1, "{all}");
}

#[test]
fn what_was_pruned_is_one_figure_of_the_turn() {
    let pruned = |id: &str| Event::Pruned {
        calls: vec![id.to_owned(), format!("{id}2")],
        images: Vec::new(),
        bytes: 10,
    };
    let mut shown = Shown::new(100);
    shown.tell([
        prompt("go"),
        pruned("a"),
        pruned("b"),
        delta("Done."),
        said("Done."),
        over(Outcome::Completed),
    ]);
    let all = shown.settled.join("\n");
    assert_eq!(all.matches("pruned").count(), 1, "{all}");
    assert!(all.contains("pruned 4 old tool outputs"), "{all}");
}

#[test]
fn memory_stays_bounded_and_the_lines_of_calls_stay() {
    let mut shown = Shown::new(80);
    shown.tell([prompt("go")]);
    let large = "0123456789abcdef\n".repeat(1 << 14);
    for n in 0..300 {
        shown.tell(ran(&n.to_string(), "seq", &large, 0));
    }
    let bytes: usize = shown.conversation.cells.iter().map(Cell::bytes).sum();
    assert!(bytes <= MOST_BYTES + (1 << 20), "{bytes}");
    let calls = shown.conversation.cells.iter().flat_map(Cell::calls).count();
    assert_eq!(calls, 300);
    let first = text(&shown.conversation.whole_part(1, Look { width: 80, theme: &shown.theme }));
    assert_eq!(first[0], "• Ran seq · 2.1 s · exit 0");
    assert!(first[1].contains("no longer kept"), "{first:?}");
}

#[test]
fn a_remark_before_a_call_needs_no_mark() {
    let mut shown = Shown::new(80);
    shown.tell([prompt("go"), delta("Let me look."), said("Let me look.")]).tell(read("1", "a"));
    shown.tell([delta("First this.\n\nThen that."), said("First this.\n\nThen that.")]).tell(read("2", "b"));
    let wanted =
        ["› go", "", "Let me look.", "", "• Read a · 2 lines", "", "First this.", "", "Then that.", "— PLAN"];
    assert_eq!(shown.settled, wanted);
}

#[test]
fn answers_and_their_code_can_be_found() {
    let mut shown = Shown::new(80);
    shown.tell([prompt("go"), said("a\n```rust\nfn a() {}\n```\n- x\n  ```\n  two\n    three\n  ```\n")]);
    assert_eq!(shown.conversation.code_block(1).as_deref(), Some("two\n  three\n"));
    assert_eq!(shown.conversation.code_block(2).as_deref(), Some("fn a() {}\n"));
    assert_eq!(shown.conversation.code_block(3), None);
    assert!(shown.conversation.last_answer().unwrap().starts_with("a\n"));
}

#[test]
fn what_is_foreign_cannot_steer_the_terminal() {
    let mut shown = Shown::new(80);
    let bad = "a\x1b[2J\x07b\tc";
    shown.tell([prompt(bad), delta(bad), said(bad)]);
    shown.tell(ran("1", bad, &format!("{bad}\n"), 1));
    shown.tell([Event::Notice {
        level: zdx_protocol::NoticeLevel::Warning,
        message: bad.into(),
        kept: false,
    }]);
    shown.tell(call("2", bad, json!({bad: bad}), json!({bad: bad})));
    shown.tell([over(Outcome::Error)]);
    for row in shown.settled.iter().chain(&shown.whole()) {
        assert!(!row.chars().any(char::is_control), "{row:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    /// Whatever way an answer streams and however often it is drawn, its words are all there, in order and once.
    #[test]
    fn nothing_of_an_answer_is_lost(
        words in proptest::collection::vec("[a-z漢é]{1,12}[ \n]{1,2}", 1..60),
        cuts in proptest::collection::vec(1usize..40, 1..40),
        width in 10u16..100,
    ) {
        let source = words.concat();
        let mut shown = Shown::new(width);
        shown.tell([prompt("go")]);
        let mut rest: &str = &source;
        for cut in cuts.iter().cycle() {
            let at = rest.ceil_char_boundary((*cut).min(rest.len()));
            shown.tell([delta(&rest[..at])]);
            rest = &rest[at..];
            let letters = |text: &str| text.split_whitespace().collect::<String>();
            let drawn = [shown.settled[1..].join("\n"), shown.live().join("\n")].concat();
            let told = &source[..source.len() - rest.len()];
            if shown.live().len() < 40 {
                prop_assert_eq!(letters(&drawn), letters(told));
            }
            if rest.is_empty() {
                break;
            }
        }
        shown.tell([over(Outcome::Interrupted)]);
        let drawn: String = shown.settled[1..].iter().flat_map(|row| row.split_whitespace()).collect();
        let letters: String = source.split_whitespace().collect();
        prop_assert_eq!(drawn, letters);
    }
}

/// `cargo test --release -p zdx-tui figures -- --ignored --nocapture`
#[test]
#[ignore = "prints how long things take"]
fn figures() {
    let mut shown = Shown::new(100);
    shown.tell([prompt("go")]);
    let begun = Instant::now();
    for n in 0..20_000 {
        let end = if n % 12 == 11 { "\n\n" } else { " " };
        shown.tell([delta(&format!("word{n}{end}"))]);
        if n % 80 == 0 {
            let _ = shown.live();
        }
    }
    eprintln!("20,000 deltas: {:?}", begun.elapsed());
    let begun = Instant::now();
    let rows = shown.whole().len();
    eprintln!("{rows} rows for the pager: {:?}", begun.elapsed());
}
