use super::*;
use crate::look::Look;
use crate::theme::{Depth, Theme};

fn candidate(text: &str, shown: &str, detail: &str, matched: &[u32], then: Then) -> Candidate {
    Candidate { text: text.into(), shown: shown.into(), detail: detail.into(), matched: matched.into(), then }
}

fn found(replace: Range<usize>, texts: &[(&str, Then)]) -> Completions {
    let candidates = texts.iter().map(|(text, then)| candidate(text, text, "", &[], *then)).collect();
    Completions { replace, candidates, timed_out: false }
}

/// With this text, and this answer to it.
fn popup(line: &str, found: Completions) -> Popup {
    let mut popup = Popup::default();
    let (generation, query) = popup.ask(line, line.len()).expect("asks");
    assert_eq!(query, Query::Completions { line: line.to_owned(), cursor: line.len() });
    assert_eq!(popup.answer(generation, found), Answered::default());
    popup
}

fn text(replace: Range<usize>, text: &str) -> Option<Chosen> {
    Some(Chosen::Text { replace, text: text.to_owned() })
}

const TAB: Key = Key::plain(KeyCode::Tab);
const ENTER: Key = Key::plain(KeyCode::Enter);
const DOWN: Key = Key::plain(KeyCode::Down);
const ESC: Key = Key::plain(KeyCode::Esc);

#[test]
fn it_asks_only_where_something_can_stand() {
    for (line, asks) in [
        ("", false),
        ("hello", false),
        ("/", true),
        (" /mo", true),
        ("/model la", true),
        ("a\n/model", false),
        ("see @", true),
        ("看看@ma", true),
        ("me@host", false),
        ("@file is", false),
        ("@\"my no", true),
        ("@x\ny", false),
        ("/export @x y", true),
    ] {
        assert_eq!(Popup::default().ask(line, line.len()).is_some(), asks, "{line}");
    }
    assert!(Popup::default().ask("é", 1).is_none());
}

#[test]
fn a_folder_that_is_typed_already_is_not_offered_again() {
    let (folder, file) = (("@src/", Then::Part), ("@src/a.rs", Then::Word));
    let mut open = popup("@src/", found(0..5, &[folder, file]));
    assert_eq!(open.key(TAB), text(0..5, "@src/a.rs "));
    // Where it is all there is, it stays in sight.
    assert!(popup("@src/", found(0..5, &[folder])).is_open());
}

#[test]
fn what_does_not_fit_is_counted() {
    let names: Vec<String> = (0..30).map(|n| format!("@{n}.rs")).collect();
    let all: Vec<(&str, Then)> = names.iter().map(|name| (name.as_str(), Then::Word)).collect();
    let mut open = popup("@", found(0..1, &all));
    let theme = Theme::new(Depth::None, false);
    let rows = |open: &Popup, most| -> Vec<String> {
        open.draw(Look { width: 40, theme: &theme }, most).iter().map(ToString::to_string).collect()
    };
    assert_eq!(rows(&open, 4), ["▸ @0.rs", "  @1.rs", "  @2.rs", "  27 more"]);
    assert_eq!(rows(&open, 3), ["▸ @0.rs", "  @1.rs", "  @2.rs"]);
    (0..29).for_each(|_| assert_eq!(open.key(DOWN), Some(Chosen::Nothing)));
    assert_eq!(rows(&open, 4), ["  @27.rs", "  @28.rs", "▸ @29.rs", "  27 more"]);
}

#[test]
fn only_the_last_question_is_answered() {
    let mut popup = Popup::default();
    let (old, _) = popup.ask("@a", 2).unwrap();
    let (new, _) = popup.ask("@ab", 3).unwrap();
    popup.answer(old, found(0..2, &[("@a.rs", Then::Word)]));
    assert!(!popup.is_open());
    popup.answer(new, found(0..3, &[("@ab.rs", Then::Word)]));
    assert!(popup.is_open());
    // What is still in sight is not taken for another text.
    popup.ask("@abc", 4).unwrap();
    assert!(popup.is_open());
    assert_eq!(popup.key(ENTER), None);
}

#[test]
fn while_the_engine_still_looks_it_is_asked_again() {
    let mut popup = Popup::default();
    let (mut generation, _) = popup.ask("@a", 2).unwrap();
    let mut asked = 0;
    let partial =
        Completions { timed_out: true, ..found(0..2, &[("@a.rs", Then::Word), ("@b.rs", Then::Word)]) };
    while let Some((next, _)) = popup.answer(generation, partial.clone()).again {
        // Who chose a row keeps it.
        if asked == 0 {
            popup.key(DOWN);
        }
        (generation, asked) = (next, asked + 1);
        assert_eq!(popup.selected, 1);
    }
    assert_eq!(asked, MOST_AGAIN);
}

#[test]
fn tab_takes_what_is_common_and_then_the_chosen_one() {
    let both = [("@src/main.rs", Then::Word), ("@src/map.rs", Then::Word), ("@x/s", Then::Word)];
    assert_eq!(popup("see @s", found(4..6, &both)).key(TAB), text(4..6, "@src/ma"));
    assert_eq!(popup("see @src/ma", found(4..11, &both)).key(TAB), text(4..11, "@src/main.rs "));
    let mut moved = popup("see @s", found(4..6, &both));
    assert_eq!(moved.key(DOWN), Some(Chosen::Nothing));
    assert_eq!(moved.key(TAB), text(4..6, "@src/map.rs "));
    assert_eq!(moved.key(TAB), None);
    // A folder goes on.
    assert_eq!(popup("@sr", found(0..3, &[("@src/", Then::Part)])).key(TAB), text(0..3, "@src/"));
}

#[test]
fn tab_before_the_answer_waits_for_it() {
    let mut popup = Popup::default();
    let (generation, _) = popup.ask("@ma", 3).unwrap();
    assert_eq!(popup.key(TAB), Some(Chosen::Nothing));
    let answered = popup.answer(generation, found(0..3, &[("@main.rs", Then::Word)]));
    assert_eq!(answered.chosen, text(0..3, "@main.rs "));
}

#[test]
fn enter_sends_a_command_that_needs_no_more_and_completes_anything_else() {
    let send = |line: &str, to: &str, then| popup(line, found(0..line.len(), &[(to, then)])).key(ENTER);
    assert_eq!(send("/he", "/help", Then::Line), Some(Chosen::Send { replace: 0..3, text: "/help".into() }));
    assert_eq!(send("/hand", "/handoff", Then::Word), text(0..5, "/handoff "));
    assert_eq!(send("@ma", "@main.rs", Then::Word), text(0..3, "@main.rs "));
    // Typed out already: Enter means the text.
    assert_eq!(send("@main.rs", "@main.rs", Then::Word), None);
    assert_eq!(send("@src/", "@src/", Then::Part), None);
    // A folder behind a command is whole without its slash; a mention is completed.
    let folders = |line: &str, at: usize, all: &[&str]| {
        let all: Vec<_> = all.iter().map(|folder| (*folder, Then::Part)).collect();
        popup(line, found(at..line.len(), &all)).key(ENTER)
    };
    assert_eq!(folders("/add-dir /etc", 9, &["/etc/"]), None);
    assert_eq!(folders("/add-dir /etc", 9, &["/etc-old/", "/etc/"]), None);
    assert_eq!(folders("/add-dir /et", 9, &["/etc/"]), text(9..12, "/etc/"));
    assert_eq!(folders("@src", 0, &["@src/"]), text(0..4, "@src/"));
    // What only might be meant is put in, to be seen before it is sent.
    assert_eq!(send("/k", "/fork", Then::Line), text(0..2, "/fork "));
    let both = || popup("/ex", found(0..3, &[("/exit", Then::Line), ("/export", Then::Line)]));
    assert_eq!(both().key(ENTER), text(0..3, "/exit "));
    let mut chosen = both();
    chosen.key(DOWN);
    assert_eq!(chosen.key(ENTER), Some(Chosen::Send { replace: 0..3, text: "/export".into() }));
    let mut whole = popup("/new", found(0..4, &[("/new", Then::Line), ("/newer", Then::Line)]));
    assert_eq!(whole.key(ENTER), Some(Chosen::Send { replace: 0..4, text: "/new".into() }));
    // Nothing is chosen that nobody looked for.
    let mut presets =
        popup("/approval ", found(10..10, &[("paranoid", Then::Line), ("balanced", Then::Line)]));
    assert_eq!(presets.key(ENTER), None);
    presets.key(DOWN);
    assert_eq!(presets.key(ENTER), Some(Chosen::Send { replace: 10..10, text: "balanced".into() }));
}

#[test]
fn esc_closes_it_for_this_word() {
    let mut popup = popup("see @s", found(4..6, &[("@src/", Then::Part)]));
    assert_eq!(popup.key(ESC), Some(Chosen::Nothing));
    assert!(!popup.is_open());
    assert_eq!(popup.key(ESC), None);
    assert!(popup.ask("see @sr", 7).is_none());
    assert!(popup.ask("see @sr ", 8).is_none());
    assert!(popup.ask("see @sr @", 9).is_some());
    assert!(popup.ask("see @sr", 7).is_some());
}

fn drawn(popup: &Popup, width: u16, rows: usize) -> String {
    let theme = Theme::new(Depth::None, false);
    let lines = popup.draw(Look { width, theme: &theme }, rows);
    assert!(lines.iter().all(|line| line.width() <= usize::from(width)), "{lines:?}");
    let bold =
        |style: ratatui_core::style::Style| style.add_modifier.contains(ratatui_core::style::Modifier::BOLD);
    let row = |line: &ratatui_core::text::Line<'_>| -> String {
        // Strong letters in asterisks.
        let span = |span: &ratatui_core::text::Span<'_>| match bold(span.style) {
            true => format!("*{}*", span.content),
            false => span.content.to_string(),
        };
        line.spans.iter().map(span).collect::<String>().trim_end().to_owned() + "\n"
    };
    lines.iter().map(row).collect()
}

fn listed() -> Popup {
    let candidates = vec![
        candidate(
            "/model",
            "/model [NAME]",
            "list the models, or switch to one; --default keeps it",
            &[1, 2],
            Then::Line,
        ),
        candidate(
            "/中文",
            "/中文 [名字]",
            "自己的命令，说明很长很长很长很长很长很长很长很长很长很长",
            &[1],
            Then::Line,
        ),
        candidate("/x", "/x\x1b[2J", "evil\x1b[2J\ndetail", &[], Then::Line),
    ];
    popup("/mo", Completions { replace: 0..3, candidates, timed_out: false })
}

#[test]
fn rows_are_told_by_sign_and_strong_letters() {
    insta::assert_snapshot!("popup_80", drawn(&listed(), 80, 8));
    insta::assert_snapshot!("popup_40", drawn(&listed(), 40, 8));
}

#[test]
fn the_chosen_row_stays_in_sight_and_long_paths_keep_their_end() {
    let texts: Vec<String> =
        (0..20).map(|n| format!("@crates/engine/src/context/complete/file{n}.rs")).collect();
    let texts: Vec<(&str, Then)> = texts.iter().map(|text| (text.as_str(), Then::Word)).collect();
    let mut popup = popup("@f", found(0..2, &texts));
    popup.key(Key::plain(KeyCode::Up));
    insta::assert_snapshot!("popup_24", drawn(&popup, 24, 3));
    assert_eq!(drawn(&popup, 80, 50).lines().count(), MOST_ROWS);
    assert_eq!(drawn(&popup, 80, 0), "");
    for width in 1..10 {
        drawn(&popup, width, 3);
        drawn(&listed(), width, 3);
    }
}

#[test]
fn behind_a_folder_that_was_put_in_enter_sends() {
    let inside = || found(4..10, &[("@shop/a.py", Then::Word), ("@shop/b.py", Then::Word)]);
    for key in [ENTER, TAB] {
        let mut open = popup("see @sh", found(4..7, &[("@shop/", Then::Part)]));
        assert_eq!(open.key(key), text(4..7, "@shop/"));
        let (generation, _) = open.ask("see @shop/", 10).unwrap();
        open.answer(generation, inside());
        assert!(open.is_open());
        assert_eq!(open.key(ENTER), None, "nobody chose one of its files");
        assert_eq!(open.key(DOWN), Some(Chosen::Nothing));
        assert_eq!(open.key(ENTER), text(4..10, "@shop/b.py "));
    }
    // Typed on or typed by hand, the first is meant as ever.
    let mut open = popup("see @sh", found(4..7, &[("@shop/", Then::Part)]));
    open.key(ENTER);
    open.ask("see @shop/", 10);
    let (generation, _) = open.ask("see @shop/a", 11).unwrap();
    open.answer(generation, found(4..11, &[("@shop/a.py", Then::Word)]));
    assert_eq!(open.key(ENTER), text(4..11, "@shop/a.py "));
    assert_eq!(popup("see @shop/", inside()).key(ENTER), text(4..10, "@shop/a.py "));
}

#[test]
fn in_a_command_line_tab_completes_and_enter_runs() {
    let asked = |line: &str, files: Completions| {
        let mut popup = Popup::default();
        assert!(popup.ask(line, line.len()).is_none(), "nothing is offered as one types");
        let (generation, _) = popup.ask_shell(line, line.len()).unwrap();
        (popup.answer(generation, files).chosen, popup)
    };
    let one = found(5..11, &[("lib/data.txt", Then::Word)]);
    assert_eq!(asked("!cat lib/da", one).0, text(5..11, "lib/data.txt "));
    let both = || found(5..10, &[("lib/data.txt", Then::Word), ("lib/date.txt", Then::Word)]);
    assert_eq!(asked("!cat lib/d", both()).0, text(5..10, "lib/dat"));
    let both = Completions { replace: 5..12, ..both() };
    let (chosen, mut popup) = asked("!cat lib/dat", both);
    assert_eq!((chosen, popup.is_open()), (None, true), "they are listed");
    assert_eq!(popup.key(ENTER), None, "Enter runs what stands there");
    popup.key(DOWN);
    assert_eq!(popup.key(TAB), text(5..12, "lib/date.txt "));
}
