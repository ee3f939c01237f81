use super::*;
use crate::key::{Key, KeyCode};
use crate::look::{Drawn, Look};
use crate::theme::{Depth, Theme};

mod drawn;
mod random;

pub(super) fn composer() -> Composer {
    let mut history = History::default();
    history.loaded(["first", "second\nof two lines", "第三"].map(str::to_owned).to_vec());
    Composer::new(history)
}

pub(super) fn typed(text: &str) -> Composer {
    let mut composer = composer();
    for c in text.chars() {
        composer.key(if c == '\n' { Key::ctrl('j') } else { Key::char(c) });
    }
    composer
}

pub(super) fn draw(composer: &Composer, width: u16, rows: usize) -> Drawn {
    let theme = Theme::new(Depth::None, false);
    composer.draw(Look { width, theme: &theme }, rows)
}

const fn plain(code: KeyCode) -> Key {
    Key::plain(code)
}

fn press(composer: &mut Composer, keys: &[Key]) -> Typed {
    keys.iter().fold(Typed::Unused, |_, key| composer.key(*key))
}

/// The text with the caret in it.
fn with_caret(composer: &Composer) -> String {
    let (mut line, at) = composer.line_and_cursor();
    line.insert(at, '|');
    line
}

const ENTER: Key = plain(KeyCode::Enter);
const UP: Key = plain(KeyCode::Up);
const DOWN: Key = plain(KeyCode::Down);
const ALT_BACKSPACE: Key = Key { alt: true, ..plain(KeyCode::Backspace) };

#[test]
fn only_what_is_typed_is_a_command() {
    let pasted = |text: &str| {
        let mut composer = composer();
        composer.paste(text.to_owned());
        (parse(&composer.text()), composer.is_shell())
    };
    let many = format!("!{}", "rm -rf x\n".repeat(20));
    for text in ["![diagram](a.png)", " !important in CSS", "@!ls", "!", "/new\nx", many.as_str()] {
        let (line, shell) = pasted(text);
        assert!(matches!(&line, Line::Prompt(prompt) if *prompt == format!("\\{text}")), "{line:?}");
        assert!(!shell, "{text}");
    }
    for text in ["/new\n", "/etc/hosts\nwhat?", "no!"] {
        assert!(!matches!(pasted(text).0, Line::Prompt(text) if text.starts_with('\\')), "{text}");
    }
    // Behind what is typed it is part of that.
    let mut composer = typed("!");
    composer.paste("!ls".to_owned());
    assert_eq!(composer.text(), "!!ls");
}

#[test]
fn what_was_sent_with_a_paste_comes_back_as_it_was() {
    let mut composer = typed("look: ");
    composer.paste("line of it\n".repeat(30));
    press(&mut composer, &[Key::char('?')]);
    let shown = composer.line_and_cursor().0;
    assert_eq!(shown, "look: [pasted 30 lines #1]?");
    let draft = composer.take_draft();
    composer.sent(&draft);
    composer.remember(draft.text());
    press(&mut composer, &[UP]);
    assert_eq!((composer.line_and_cursor().0, composer.text()), (shown, draft.text()));
}

#[test]
fn enter_sends_and_other_ways_make_a_newline() {
    let mut composer = typed("one");
    for key in [Key::ctrl('j'), Key { alt: true, ..ENTER }, Key::shift(KeyCode::Enter)] {
        assert_eq!(composer.key(key), Typed::Edited);
    }
    press(&mut composer, &[Key::char('\\')]);
    assert_eq!(composer.key(ENTER), Typed::Edited);
    assert_eq!(composer.text(), "one\n\n\n\n");
    assert_eq!(composer.key(ENTER), Typed::Submit);
    assert_eq!(composer.take_draft().text(), "one\n\n\n\n");
    assert!(composer.is_empty());
    assert_eq!(typed(" \n").key(ENTER), Typed::Nothing);
}

#[test]
fn the_motions_of_readline() {
    let mut composer = typed("ab cd\n你好 e\u{301}f");
    for (key, expected) in [
        (Key::ctrl('a'), "ab cd\n|你好 e\u{301}f"),
        (Key::alt('f'), "ab cd\n你|好 e\u{301}f"),
        (Key::ctrl('f'), "ab cd\n你好| e\u{301}f"),
        (Key::ctrl('e'), "ab cd\n你好 e\u{301}f|"),
        (Key::ctrl('b'), "ab cd\n你好 e\u{301}|f"),
        (plain(KeyCode::Left), "ab cd\n你好 |e\u{301}f"),
        (plain(KeyCode::Right), "ab cd\n你好 e\u{301}|f"),
        (Key { ctrl: true, ..plain(KeyCode::Home) }, "|ab cd\n你好 e\u{301}f"),
        (Key { ctrl: true, ..plain(KeyCode::Right) }, "ab| cd\n你好 e\u{301}f"),
        (plain(KeyCode::End), "ab cd|\n你好 e\u{301}f"),
        (Key::alt('b'), "ab |cd\n你好 e\u{301}f"),
        (DOWN, "ab cd\n你|好 e\u{301}f"),
        (UP, "ab |cd\n你好 e\u{301}f"),
    ] {
        assert_eq!(composer.key(key), Typed::Nothing, "{key:?}");
        assert_eq!(with_caret(&composer), expected, "{key:?}");
    }
}

#[test]
fn what_was_killed_comes_back() {
    let mut composer = typed("one two-three");
    press(&mut composer, &[ALT_BACKSPACE]);
    assert_eq!(composer.text(), "one two-");
    press(&mut composer, &[Key::ctrl('w')]);
    assert_eq!(composer.text(), "one ");
    press(&mut composer, &[Key::ctrl('y')]);
    assert_eq!(composer.text(), "one two-three");
    press(&mut composer, &[Key::ctrl('a'), Key::alt('d'), Key::ctrl('k'), Key::ctrl('y'), Key::ctrl('u')]);
    assert_eq!(composer.text(), "");
    press(&mut composer, &[Key::ctrl('y')]);
    assert_eq!(composer.text(), "one two-three");
    // Ctrl-D leaves when there is nothing to delete.
    assert_eq!(self::composer().key(Key::ctrl('d')), Typed::Unused);
}

#[test]
fn undo_goes_back_by_words_and_redo_forward() {
    let mut composer = typed("one two");
    press(&mut composer, &[Key::ctrl('_')]);
    assert_eq!(with_caret(&composer), "one |");
    press(&mut composer, &[Key::ctrl('_'), Key::ctrl('_')]);
    assert_eq!(composer.text(), "");
    press(&mut composer, &[Key::alt('_'), Key { shift: true, ..Key::ctrl('z') }]);
    assert_eq!(with_caret(&composer), "one two|");
    press(&mut composer, &[Key::ctrl('a'), Key::ctrl('k'), Key::ctrl('_')]);
    assert_eq!(with_caret(&composer), "|one two");
}

fn long(lines: usize) -> String {
    (0..lines).map(|n| format!("line {n}\r")).collect()
}

#[test]
fn a_large_paste_is_a_chip_and_a_small_one_is_text() {
    let mut composer = typed("see ");
    assert!(composer.paste("a\r\nb\rc".into()));
    assert_eq!(composer.text.shown(), "see a\nb\nc");
    composer.set("see ");
    composer.paste(long(312));
    composer.paste(" 字".repeat(600));
    assert_eq!(composer.text.shown(), "see [pasted 312 lines #1][pasted 1200 characters #2]");
    assert!(composer.text().starts_with("see line 0\nline 1\n"));
    press(&mut composer, &[plain(KeyCode::Left)]);
    assert_eq!(with_caret(&composer), "see [pasted 312 lines #1]|[pasted 1200 characters #2]");
    press(&mut composer, &[plain(KeyCode::Backspace)]);
    assert_eq!(with_caret(&composer), "see |[pasted 1200 characters #2]");
    press(&mut composer, &[Key::ctrl('_')]);
    assert_eq!(composer.text().len(), "see ".len() + long(312).len() + " 字".repeat(600).len());
    press(&mut composer, &[Key::ctrl('u'), Key::ctrl('y')]);
    assert_eq!(with_caret(&composer), "see [pasted 312 lines #1]|[pasted 1200 characters #2]");
}

#[test]
fn a_megabyte_is_pasted_at_once_and_more_than_a_message_is_refused() {
    let mut composer = composer();
    let began = std::time::Instant::now();
    assert!(composer.paste("0123456789abcde\n".repeat(65_536)));
    draw(&composer, 80, 10);
    press(&mut composer, &[Key::char('x'), plain(KeyCode::Left), plain(KeyCode::Left)]);
    // Minutes where something grows with the square; a moment otherwise, and a longer one on a busy machine.
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
    assert_eq!(with_caret(&composer), "|[pasted 65536 lines #1]x");
    assert_eq!(composer.text().len(), (1 << 20) + 1);
    assert!(!composer.paste("x".repeat(MOST)));
    assert_eq!(composer.text().len(), (1 << 20) + 1);
}

#[test]
fn an_editor_gets_all_and_chips_are_found_again() {
    let mut composer = typed("see ");
    composer.paste(long(20));
    let edited = composer.text() + " and more";
    composer.set(&edited);
    assert_eq!(composer.text.shown(), "see [pasted 20 lines #1] and more");
    assert_eq!(composer.text(), edited);
    composer.set(&"much text ".repeat(10_000));
    assert_eq!(composer.text.shown(), "[pasted 100000 characters #2]");
}

#[test]
fn drafts_are_kept() {
    let mut composer = typed("a draft");
    composer.paste(long(20));
    let text = composer.text();
    composer.stash();
    assert!(composer.is_empty());
    press(&mut composer, &[Key::char('x')]);
    assert!(!composer.unstash());
    composer.take_draft();
    assert!(composer.unstash());
    assert_eq!((composer.text(), composer.text.shown()), (text, "a draft[pasted 20 lines #1]"));
    let draft = composer.take_draft();
    assert_eq!(draft.shown(), "a draft[pasted 20 lines #1]");
    composer.set_draft(draft);
    assert_eq!(composer.text.shown(), "a draft[pasted 20 lines #1]");
}

#[test]
fn up_goes_through_history_and_down_back_to_the_draft() {
    let mut composer = typed("draft");
    assert_eq!(composer.key(DOWN), Typed::Unused);
    assert_eq!(composer.key(UP), Typed::Edited);
    assert_eq!(with_caret(&composer), "第三|");
    composer.key(UP);
    assert_eq!(with_caret(&composer), "second|\nof two lines");
    composer.key(UP);
    assert_eq!(composer.key(UP), Typed::Nothing);
    assert_eq!(composer.text(), "first");
    composer.loaded(vec!["older still".into()]);
    composer.key(UP);
    assert_eq!(composer.text(), "older still");
    for expected in ["first", "second\nof two lines", "第三", "draft"] {
        composer.key(DOWN);
        assert_eq!(composer.text(), expected);
    }
    // One step back from the whole walk.
    press(&mut composer, &[UP, UP, Key::ctrl('_')]);
    assert_eq!(with_caret(&composer), "draft|");
}

#[test]
fn what_was_typed_is_found_letter_by_letter() {
    let mut composer = typed("draft");
    composer.remember("cargo test".into());
    composer.remember("cargo build".into());
    press(&mut composer, &[Key::ctrl('r')]);
    press(&mut composer, &"car".chars().map(Key::char).collect::<Vec<_>>());
    assert!(composer.is_searching());
    press(&mut composer, &[Key::ctrl('r')]);
    assert_eq!(composer.key(ENTER), Typed::Edited);
    assert_eq!(with_caret(&composer), "car|go test");
    press(&mut composer, &[Key::ctrl('_'), Key::ctrl('r'), Key::char('f'), plain(KeyCode::Esc)]);
    assert_eq!((composer.text().as_str(), composer.is_searching()), ("draft", false));
    // Any other key goes on with what was found.
    press(&mut composer, &[Key::ctrl('r'), Key::char('f'), Key::char('i'), Key::ctrl('e'), Key::char('!')]);
    assert_eq!(composer.text(), "first!");
}

#[test]
fn a_candidate_takes_the_place_of_what_was_typed() {
    let mut composer = typed("看看@ma 再");
    composer.caret = "看看@ma".len();
    composer.replace(6..9, "@src/main.rs");
    assert_eq!(with_caret(&composer), "看看@src/main.rs| 再");
}

#[test]
fn an_earlier_prompt_with_a_paste_in_it_is_a_chip() {
    let pasted: String = (1..=2000).map(|n| format!("line {n}\n")).collect();
    let whole = format!("what is this?\n{pasted}");
    let mut history = History::default();
    history.push("before".into());
    history.push(whole.clone());
    let mut composer = Composer::new(history);
    composer.key(Key::plain(KeyCode::Up));
    assert_eq!(composer.text.shown(), "what is this?\n[pasted 2000 lines #1]");
    assert_eq!(composer.text(), whole);
    composer.key(Key::plain(KeyCode::Up));
    assert_eq!(composer.text(), "before");
    // Found by its letters, of a long one the line is shown.
    composer.key(Key::ctrl('r'));
    for c in "line 1234".chars() {
        composer.key(Key::char(c));
    }
    let (looked_at, place) = composer.looked_at().unwrap();
    assert_eq!((looked_at.shown(), place), ("line 1234", 0..9));
    composer.key(Key::plain(KeyCode::Enter));
    assert_eq!(composer.text(), whole);
}
