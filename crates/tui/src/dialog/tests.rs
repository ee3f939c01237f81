mod batch;
mod change;
mod queue;
mod scope;
mod typed;

use std::path::PathBuf;
use std::time::Duration;

use proptest::prelude::*;
use ratatui_core::text::Line;
use zdx_protocol::{
    Action, Danger, GrantScope, Operation, Origin, Preview, Reason, ReasonCode, Standing, Target, TrustState,
    Want,
};

use super::*;
use crate::sample::screen;
use crate::theme::{Depth, Theme};
use zdx_protocol::display::approval::ANSWER_PAUSE;

const MOST: usize = 20;

fn command(number: u64, text: &str) -> ApprovalRequest {
    ApprovalRequest {
        request: RequestId(number),
        agent: None,
        task: None,
        id: format!("call_{number}"),
        tool: "bash".to_owned(),
        action: Action::Command {
            command: text.to_owned(),
            cwd: "/home/u/work".into(),
            origin: Origin::Model,
        },
        preview: Preview::Command { command: text.to_owned() },
        danger: Danger::Ask,
        reason: Reason {
            code: ReasonCode::ApprovalRequired,
            message: "it runs what a file of the workspace says; the rules ask first".to_owned(),
            rule: Some("bash = ask (built-in)".to_owned()),
        },
        grant: Some(format!("bash {text}")),
        wider: Some("every cargo test #ab12 Cargo.toml .".to_owned()),
        approval: Some(Approval::Balanced),
    }
}

fn dangerous(lines: usize) -> ApprovalRequest {
    let script: String = (1..=lines).map(|line| format!("echo step {line}\n")).collect();
    ApprovalRequest {
        danger: Danger::Confirm,
        grant: None,
        wider: None,
        approval: None,
        agent: Some("tester".to_owned()),
        ..command(7, &format!("{script}rm -rf \x1b[1A\x1b[2K build/\u{202e}"))
    }
}

fn edit() -> ApprovalRequest {
    let path = PathBuf::from("/home/u/work/src/shape.py");
    let removed: String = (1..=6).map(|n| format!("-    old = {n}\n")).collect();
    let added: String = (1..=6).map(|n| format!("+    neu = {n}  # 漢字\n")).collect();
    ApprovalRequest {
        action: Action::Write {
            tool: "write".to_owned(),
            targets: vec![Target { path: path.clone(), inside: true, exists: true, led_out: false }],
        },
        preview: Preview::Change {
            path,
            operation: Operation::Updated,
            additions: 6,
            deletions: 6,
            diff: format!("--- a\n+++ b\n@@ -10,8 +10,8 @@\n def area():\n{removed}{added}     return old\n"),
        },
        reason: Reason {
            code: ReasonCode::ApprovalRequired,
            message: "it changes a file; the rules ask first".to_owned(),
            rule: Some("write = ask (built-in)".to_owned()),
        },
        grant: Some("write /home/u/work/src/shape.py".to_owned()),
        wider: Some("edits".to_owned()),
        ..command(3, "")
    }
}

fn patch() -> ApprovalRequest {
    let target = |name: &str, inside| Target {
        path: format!("/home/u/work/{name}").into(),
        inside,
        exists: true,
        led_out: !inside,
    };
    let text =
        "a.txt (updated, +1 -1)\n@@ -1 +1 @@\n-one\n+two\nb.txt (deleted, +0 -1)\n@@ -1 +0,0 @@\n-gone\n";
    ApprovalRequest {
        action: Action::Write {
            tool: "patch".to_owned(),
            targets: vec![target("a.txt", true), target("../b.txt", false)],
        },
        preview: Preview::Text { text: text.to_owned() },
        grant: Some("patch a b".to_owned()),
        ..edit()
    }
}

fn other(action: Action, text: &str) -> ApprovalRequest {
    ApprovalRequest {
        action,
        preview: Preview::Text { text: text.to_owned() },
        wider: None,
        ..command(1, "")
    }
}

fn trust() -> TrustRequest {
    let want = |line, what: &str| Want {
        file: ".zdx/config.toml".into(),
        line,
        key: "k".to_owned(),
        what: what.to_owned(),
    };
    TrustRequest {
        request: RequestId(9),
        state: TrustState {
            root: "/home/u/work".into(),
            standing: Standing::Unknown,
            changed: Vec::new(),
            wants: vec![
                want(3, "check every change with `make test`"),
                want(7, "start the MCP server `db\x1b[2J`"),
            ],
        },
    }
}

/// Dialogs that were drawn at `start`, and the first instant at which they can be answered.
fn shown(requests: Vec<ApprovalRequest>) -> (Dialogs, Instant) {
    let mut dialogs = empty();
    requests.into_iter().for_each(|request| dialogs.approval(request));
    let now = Instant::now();
    show(&mut dialogs, now);
    (dialogs, now + ANSWER_PAUSE)
}

fn empty() -> Dialogs {
    let mut dialogs = Dialogs::new(Some("/home/u".into()));
    dialogs.root = Some("/home/u/work".into());
    dialogs.approval = Some(Approval::Balanced);
    dialogs
}

fn show(dialogs: &mut Dialogs, now: Instant) -> Drawn {
    let theme = Theme::new(Depth::None, false);
    let focus = dialogs.focus(true, now);
    let drawn = dialogs.draw(Look { width: 80, theme: &theme }, MOST, focus);
    dialogs.drawn(now);
    drawn
}

fn text(drawn: &Drawn) -> String {
    drawn.lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Presses a key with an empty composer, after a pause.
fn tap(dialogs: &mut Dialogs, key: Key, now: Instant) -> Option<Answered> {
    if dialogs.claims(key, true, now) { dialogs.key(key, now) } else { None }
}

/// The same for several; `\r` is Enter.
fn press(dialogs: &mut Dialogs, keys: &str, now: Instant) -> Option<Answered> {
    let mut answer = None;
    for key in keys.chars() {
        assert_eq!(answer, None, "answered before {key}");
        let key = if key == '\r' { Key::plain(KeyCode::Enter) } else { Key::char(key) };
        answer = tap(dialogs, key, now);
        show(dialogs, now);
    }
    answer
}

fn decided(number: u64, decision: Decision) -> Option<Answered> {
    Some(Answered::Decision { request: RequestId(number), decision })
}

#[test]
fn every_key_leads_where_it_says() {
    let always = |scope, wider| decided(1, Decision::AllowAlways { scope, wider });
    let table = [
        ("y", decided(1, Decision::AllowOnce)),
        ("Y", decided(1, Decision::AllowOnce)),
        ("n", decided(1, Decision::Deny { word: None })),
        ("a", None),
        ("a\rs", None),
        ("a\rs\r", always(GrantScope::Session, false)),
        ("a\rp\r", always(GrantScope::Project, false)),
        ("w\r\r", always(GrantScope::Session, true)),
        ("w\rba\rp\r", always(GrantScope::Project, false)),
        ("w\rp\r", always(GrantScope::Project, true)),
        ("p\r3", None),
        ("p\r3\r", Some(Answered::SetApproval(Approval::Paranoid))),
        ("p\r1\ry", None),
        ("p\r1\ry\r", Some(Answered::SetApproval(Approval::Yolo))),
        ("p\r1\rnby", decided(1, Decision::AllowOnce)),
        ("x", None),
        ("e", None),
    ];
    for (keys, expected) in table {
        let (mut dialogs, armed) = shown(vec![command(1, "cargo test")]);
        assert_eq!(press(&mut dialogs, keys, armed), expected, "{keys}");
    }
    let (mut dialogs, armed) = shown(vec![edit()]);
    let all = Decision::AllowAlways { scope: GrantScope::Session, wider: true };
    assert_eq!(press(&mut dialogs, "e\r", armed), decided(3, all));
    let (mut dialogs, armed) = shown(vec![edit()]);
    assert_eq!(tap(&mut dialogs, Key::shift(KeyCode::Tab), armed), None);
    assert!(text(&show(&mut dialogs, armed)).contains("which approval mode from now on?"));
}

#[test]
fn a_preset_leaves_the_question_until_the_engine_takes_it_back() {
    let (mut dialogs, armed) = shown(vec![command(1, "make")]);
    assert!(press(&mut dialogs, "p\r3\r", armed).is_some());
    assert!(dialogs.is_open());
    assert_eq!(tap(&mut dialogs, Key::char('y'), armed + Duration::from_millis(100)), None, "it stands anew");
    dialogs.withdrawn(RequestId(1));
    assert!(!dialogs.is_open());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_word_of_a_command_can_be_scrolled_to(
        lines in prop::collection::vec(1usize..30, 1..30), columns in 20u16..120, rows in 8usize..40, danger: bool,
    ) {
        let mut word = 0;
        let mut line = |words: usize| {
            let text: Vec<String> = (word..word + words).map(|at| format!("w{at}\u{1b}")).collect();
            word += words;
            text.join(" ")
        };
        let text: Vec<String> = lines.into_iter().map(&mut line).collect();
        let danger = if danger { Danger::Confirm } else { Danger::Ask };
        let mut dialogs = empty();
        dialogs.approval(ApprovalRequest { danger, ..command(1, &text.join("\n")) });
        let theme = Theme::new(Depth::None, false);
        let now = Instant::now();
        let mut seen = String::new();
        for _ in 0..1_000 {
            let drawn = dialogs.draw(Look { width: columns, theme: &theme }, rows, KeyFocus::Request);
            dialogs.drawn(now);
            prop_assert!(drawn.lines.len() <= rows);
            prop_assert!(drawn.lines.iter().all(|line| line.width() <= usize::from(columns)));
            seen.push_str(&self::text(&drawn));
            seen.push('\n');
            if dialogs.front.as_ref().is_some_and(|front| front.read) {
                break;
            }
            tap(&mut dialogs, Key::plain(KeyCode::PageDown), now + ANSWER_PAUSE);
        }
        for at in 0..word {
            let spelled = format!("w{at}\\x1b");
            prop_assert!(seen.contains(&spelled), "{} is never shown", spelled);
        }
    }
}

#[test]
fn escape_goes_back_and_then_stops_the_turn() {
    let (mut dialogs, armed) = shown(vec![command(1, "make"), command(2, "ls")]);
    press(&mut dialogs, "a\r", armed);
    assert_eq!(tap(&mut dialogs, Key::plain(KeyCode::Esc), armed), None);
    assert_eq!(tap(&mut dialogs, Key::plain(KeyCode::Esc), armed), Some(Answered::Interrupt));
    assert!(!dialogs.is_open(), "all that the turn asked is over");
    // Who wants to stop is heard at once.
    let (mut dialogs, armed) = shown(vec![command(1, "make")]);
    assert_eq!(tap(&mut dialogs, Key::ctrl('c'), armed - ANSWER_PAUSE), Some(Answered::Interrupt));
}

#[test]
fn what_is_dangerous_is_read_to_its_end_before_it_is_allowed() {
    let (mut dialogs, armed) = shown(vec![dangerous(30)]);
    let first = text(&show(&mut dialogs, armed));
    assert!(first.contains("more lines: read to the end (PgDn)"), "{first}");
    assert_eq!(press(&mut dialogs, "y", armed), None);
    assert!(text(&show(&mut dialogs, armed)).contains("scroll to the end first"));
    let mut seen = String::new();
    for _ in 0..20 {
        assert_eq!(tap(&mut dialogs, Key::plain(KeyCode::PageDown), armed), None);
        seen.push_str(&text(&show(&mut dialogs, armed)));
    }
    for line in 1..=30 {
        assert!(format!("{first}{seen}").contains(&format!("echo step {line}\n")), "{line}");
    }
    assert!(seen.contains(r"rm -rf \x1b[1A\x1b[2K build/\u{202e}"), "{seen}");
    assert_eq!(press(&mut dialogs, "y", armed), decided(7, Decision::AllowOnce));
    // It can be refused at any time.
    let (mut dialogs, armed) = shown(vec![dangerous(30)]);
    assert_eq!(press(&mut dialogs, "n", armed), decided(7, Decision::Deny { word: None }));
}

#[test]
fn the_end_of_a_long_ordinary_command_is_in_view_before_it_is_allowed() {
    let filler = "# nothing to see here\n".repeat(40);
    for script in [format!("{filler}make install"), format!("cat <<'END'\n{filler}END\nmake install")] {
        let (mut dialogs, armed) = shown(vec![command(1, &script)]);
        assert!(!text(&show(&mut dialogs, armed)).contains("make install"));
        for keys in ["y", "a\r", "w\r", "\r", "p\r1\ry\r"] {
            assert_eq!(press(&mut dialogs, keys, armed), None, "{keys:?}");
            assert!(text(&show(&mut dialogs, armed)).contains("scroll to the end first"), "{keys:?}");
        }
        tap(&mut dialogs, Key::plain(KeyCode::End), armed);
        assert!(text(&show(&mut dialogs, armed)).contains("make install"));
        assert_eq!(press(&mut dialogs, "y", armed), decided(1, Decision::AllowOnce));
    }
}

fn mcp() -> Action {
    Action::Mcp { server: "db".to_owned(), tool: "query".to_owned(), digest: String::new() }
}

#[test]
fn questions_on_screens() {
    let yolo = || {
        let mut dialogs = empty();
        dialogs.confirm_yolo();
        dialogs
    };
    let trusting = || {
        let mut dialogs = empty();
        dialogs.trust(trust());
        dialogs
    };
    let asking = |requests: Vec<ApprovalRequest>| {
        let mut dialogs = empty();
        requests.into_iter().for_each(|request| dialogs.approval(request));
        dialogs
    };
    type Make<'a> = (&'a str, Box<dyn Fn() -> Dialogs + 'a>);
    let table: Vec<Make<'_>> = vec![
        (
            "command",
            Box::new(|| asking(vec![command(1, "cargo test --lib"), command(2, "ls"), command(3, "ls")])),
        ),
        ("dangerous", Box::new(|| asking(vec![dangerous(30)]))),
        ("edit", Box::new(|| asking(vec![edit()]))),
        ("patch", Box::new(|| asking(vec![patch()]))),
        (
            "task",
            Box::new(|| {
                asking(vec![other(Action::Task { agent: "explore".to_owned() }, "find out why\nit fails")])
            }),
        ),
        ("mcp", Box::new(|| asking(vec![other(mcp(), "{\"query\": \"drop table x\"}")]))),
        ("skill", Box::new(|| asking(vec![other(Action::Skill { name: "pdf\x1b[2J".to_owned() }, "")]))),
        ("trust", Box::new(trusting)),
        ("yolo", Box::new(yolo)),
    ];
    for (name, make) in &table {
        for (columns, rows) in [(40, 10), (80, 20), (120, 40)] {
            let shown = screen(columns, |look| {
                let drawn = make().draw(look, rows, KeyFocus::Request);
                assert!(drawn.lines.len() <= rows, "{name} {columns}");
                drawn.lines
            });
            insta::assert_snapshot!(format!("{name}_{columns}"), shown);
        }
    }
}

#[test]
fn pages_behind_a_choice_on_screens() {
    for (name, keys) in [("scope", "a\r"), ("wider", "w\r"), ("preset", "p\r"), ("message", "mno, 用 make")]
    {
        let (mut dialogs, armed) = shown(vec![command(1, "cargo test --lib")]);
        press(&mut dialogs, keys, armed);
        for columns in [40, 80] {
            let shown = screen(columns, |look| dialogs.draw(look, 16, KeyFocus::Request).lines);
            insta::assert_snapshot!(format!("{name}_{columns}"), shown);
        }
    }
}

#[test]
fn no_screen_is_too_small() {
    for columns in [1, 2, 7, 20, 40] {
        for rows in 1..12 {
            for request in [command(1, "cargo test 漢字漢字漢字"), dangerous(3), edit()] {
                let mut dialogs = empty();
                dialogs.approval(request);
                let theme = Theme::new(Depth::None, false);
                let drawn = dialogs.draw(Look { width: columns, theme: &theme }, rows, KeyFocus::Request);
                assert!(drawn.lines.len() <= rows, "{columns}×{rows}");
                let widest = drawn.lines.iter().map(Line::width).max();
                assert!(widest <= Some(usize::from(columns)), "{columns}×{rows}");
            }
        }
    }
}
