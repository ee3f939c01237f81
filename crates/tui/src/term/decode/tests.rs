use proptest::prelude::*;

use super::*;
use crate::term::Report;

fn decoded(bytes: &[u8]) -> Vec<TermInput> {
    let mut decoder = Decoder::default();
    let mut events = Vec::new();
    decoder.feed(bytes, &mut events);
    decoder.flush(&mut events);
    events
}

fn keys(bytes: &[u8]) -> Vec<Key> {
    let only = |event| match event {
        TermInput::Key(key) => key,
        other => panic!("{other:?}"),
    };
    decoded(bytes).into_iter().map(only).collect()
}

fn held(code: KeyCode, ctrl: bool, alt: bool, shift: bool) -> Key {
    Key { code, ctrl, alt, shift }
}

#[test]
fn every_way_to_send_a_key_is_understood() {
    use KeyCode::{Char, Down, Enter, Esc, F, Home, Left, Tab, Up};
    let cases: [(&[u8], Key); 36] = [
        (b"a", Key::char('a')),
        ("é".as_bytes(), Key::char('é')),
        ("中".as_bytes(), Key::char('中')),
        ("🦀".as_bytes(), Key::char('🦀')),
        (b"\r", Key::plain(Enter)),
        (b"\n", Key::ctrl('j')),
        (b"\x1b\r", held(Enter, false, true, false)),
        (b"\x1b\n", held(Char('j'), true, true, false)),
        (b"\x03", Key::ctrl('c')),
        (b"\x1a", Key::ctrl('z')),
        (b"\0", Key::ctrl(' ')),
        (b"\x1f", Key::ctrl('_')),
        (b"\x7f", Key::plain(KeyCode::Backspace)),
        (b"\x1b\x7f", held(KeyCode::Backspace, false, true, false)),
        (b"\x1b", Key::plain(Esc)),
        (b"\x1bb", Key::alt('b')),
        ("\x1bé".as_bytes(), Key::alt('é')),
        (b"\x1b[", Key::alt('[')),
        (b"\x1bO", Key::alt('O')),
        (b"\x1b[A", Key::plain(Up)),
        (b"\x1bOB", Key::plain(Down)),
        (b"\x1b[1;5D", held(Left, true, false, false)),
        (b"\x1b[1;3A", held(Up, false, true, false)),
        (b"\x1b\x1b[A", held(Up, false, true, false)),
        (b"\x1b[Z", Key::shift(Tab)),
        (b"\x1b[H", Key::plain(Home)),
        (b"\x1b[7~", Key::plain(Home)),
        (b"\x1b[3;5~", held(KeyCode::Delete, true, false, false)),
        (b"\x1bOP", Key::plain(F(1))),
        (b"\x1b[24~", Key::plain(F(12))),
        (b"\x1b[[C", Key::plain(F(3))),
        (b"\x1b[13;2u", held(Enter, false, false, true)),
        (b"\x1b[99;5u", Key::ctrl('c')),
        (b"\x1b[27u", Key::plain(Esc)),
        (b"\x1b[27;5;106~", Key::ctrl('j')),
        (b"\x1b[27;2;65~", Key::char('A')),
    ];
    for (bytes, key) in cases {
        assert_eq!(keys(bytes), [key], "{}", bytes.escape_ascii());
    }
    assert_eq!(keys(b"\x1b\x1b"), [Key::plain(Esc), Key::plain(Esc)]);
    assert_eq!(keys(b"\x1b[97:65;4u"), [Key::alt('A')]);
    assert_eq!(keys(b"\x1b[27;6;67~"), [held(Char('c'), true, false, true)]);
    // Let go, or held with the window manager's key.
    assert_eq!(keys(b"\x1b[97;1:3u\x1b[99;9u\x1b[1;1:3A"), []);
    // A sequence that is cut off takes nothing of what follows with it.
    assert_eq!(keys(b"\x1b[1;\x1b[Ax"), [Key::plain(Up), Key::char('x')]);
    assert_eq!(keys(b"\xff\xc3x"), [Key::char('x')]);
    assert_eq!(keys(b"\x1bPx"), [Key::alt('P'), Key::char('x')]);
}

#[test]
fn answers_are_not_keys() {
    let all = b"\x1b[?2026;2$y\x1b]11;rgb:ffff/8080/0000\x1b\\\x1b[?1u\x1bP>|tmux 3.3a\x1b\\\x1b[12;40R\x1b[8;24;80t\x1b[?62;22c";
    let reports = [
        Report::Synchronised(true),
        Report::Background(255, 128, 0),
        Report::KittyKeys(1),
        Report::Version("tmux 3.3a".into()),
        Report::Cursor(12, 40),
        Report::Size(24, 80),
        Report::Attributes,
    ];
    assert_eq!(decoded(all), reports.map(TermInput::Report));
    assert_eq!(decoded(b"\x1b[?2026;0$y"), [TermInput::Report(Report::Synchronised(false))]);
    assert_eq!(decoded(b"\x1b]11;rgb:f/0/0\x07"), [TermInput::Report(Report::Background(255, 0, 0))]);
    assert_eq!(decoded(b"\x1b[I\x1b[O"), [TermInput::Focus(true), TermInput::Focus(false)]);
    assert_eq!(decoded(b"\x1b[<0;3;4M\x1b[?1;2$y\x1b]52;c;x\x07"), []);
}

#[test]
fn a_paste_is_one_thing_whatever_is_in_it() {
    let text = "a\rb\r\nc\u{3}\u{1b}[A中";
    let bytes = format!("x\x1b[200~{text}\x1b[201~y");
    let paste = TermInput::Paste("a\nb\nc\u{3}\u{1b}[A中".into());
    let typed = |c| TermInput::Key(Key::char(c));
    assert_eq!(decoded(bytes.as_bytes()), [typed('x'), paste, typed('y')]);
    // One that never ends is given up after a while, and loses nothing.
    assert_eq!(decoded(b"\x1b[200~abc"), [TermInput::Paste("abc".into())]);
}

#[test]
fn a_paste_is_bounded() {
    let mut decoder = Decoder::default();
    let mut events = Vec::new();
    decoder.feed(b"\x1b[200~", &mut events);
    for _ in 0..12 {
        decoder.feed(&vec![b'x'; 1 << 20], &mut events);
        assert!(decoder.waiting.len() < 10);
    }
    decoder.feed(b"\x1b[201~", &mut events);
    let [TermInput::Paste(text)] = events.as_slice() else { panic!("{}", events.len()) };
    assert_eq!(text.len(), PASTE_LIMIT);
}

#[test]
fn only_what_is_incomplete_waits() {
    let mut decoder = Decoder::default();
    let mut patience = |bytes: &[u8]| {
        decoder.flush(&mut Vec::new());
        decoder.feed(bytes, &mut Vec::new());
        decoder.patience()
    };
    assert_eq!(patience(b"abc\x1b[A"), None);
    assert_eq!(patience(b"\x1b"), Some(LONE_ESC));
    assert_eq!(patience(b"\x1b[1;"), Some(HALF_SEQUENCE));
    assert_eq!(patience(b"\x1b[200~"), Some(HALF_PASTE));
}

/// Pieces of what terminals send, and noise.
fn streams() -> impl Strategy<Value = Vec<u8>> {
    let known: Vec<&'static [u8]> = vec![
        b"\x1b",
        b"\x1b[",
        b"\x1bO",
        b"A",
        b"\x1b[1;5C",
        b"\x1b[200~",
        b"\x1b[201~",
        b"\x1b[27;5;99~",
        b"\x1b]11;",
        b"rgb:1/2/3",
        b"\x07",
        b"\x1b\\",
        b"\x1b[97;5u",
        "中🦀é".as_bytes(),
        b"\r",
        b"\x1b[?2026;2$y",
        b"\x1bP>|x",
        b"\x1b[5;6R",
        b"\x1b[[B",
        b"\xff",
        b"\xe4\xb8",
    ];
    let piece = prop_oneof![
        4 => prop::sample::select(known).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 1..4),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_split_gives_the_same(bytes in streams(), cuts in prop::collection::vec(0_usize..64, 0..8)) {
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.sort_unstable();
        let mut from = 0;
        for to in cuts.into_iter().chain([bytes.len()]) {
            decoder.feed(&bytes[from..to], &mut events);
            from = to;
        }
        decoder.flush(&mut events);
        prop_assert_eq!(events, decoded(&bytes));
    }
}

#[test]
fn esc_is_not_lost_when_the_terminal_answers_in_the_same_moment() {
    let esc = TermInput::Key(Key::plain(KeyCode::Esc));
    for (answer, means) in [
        ("\x1b[8;30;100t", TermInput::Report(Report::Size(30, 100))),
        ("\x1b[7;3R", TermInput::Report(Report::Cursor(7, 3))),
        ("\x1b[?62;22c", TermInput::Report(Report::Attributes)),
        ("\x1b[I", TermInput::Focus(true)),
        ("\x1b[200~x\x1b[201~", TermInput::Paste("x".into())),
    ] {
        assert_eq!(decoded(format!("\x1b{answer}").as_bytes()), [esc.clone(), means]);
    }
}
