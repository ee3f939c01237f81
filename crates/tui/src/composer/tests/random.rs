//! Whatever is pressed and pasted, at whatever width.

use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

use super::super::layout::Layout;
use super::*;

#[derive(Clone, Debug)]
enum Act {
    Key(Key),
    Paste(String),
    Set(String),
    Replace(usize, usize, String),
    Stash,
    Unstash,
    Draw(u16, usize),
}

fn piece() -> impl Strategy<Value = String> {
    let parts = [
        "a",
        "word ",
        " ",
        "\n",
        "你",
        "好，",
        "e\u{301}",
        "\u{301}",
        "👩‍👩‍👧",
        "🇩🇪",
        "🇫",
        "\t",
        "\x1b",
        "\u{200d}",
        "\u{202e}",
        "ก็",
        "한",
        "!",
        "/",
        "@",
        "\\",
        "\r",
    ];
    prop::collection::vec(prop::sample::select(parts.to_vec()), 0..8).prop_map(|parts| parts.concat())
}

fn key() -> impl Strategy<Value = Key> {
    let codes = [
        KeyCode::Enter,
        KeyCode::Tab,
        KeyCode::Backspace,
        KeyCode::Delete,
        KeyCode::Esc,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::PageUp,
        KeyCode::F(1),
    ];
    let letters = "abdefhjknpruwyz_<>你é\u{301}🇩👩\u{200d} ";
    let code = prop_oneof![
        prop::sample::select(codes.to_vec()),
        prop::sample::select(letters.chars().collect::<Vec<_>>()).prop_map(KeyCode::Char),
    ];
    (code, prop::bool::weighted(0.4), prop::bool::weighted(0.2), any::<bool>())
        .prop_map(|(code, ctrl, alt, shift)| Key { code, ctrl, alt, shift })
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        12 => key().prop_map(Act::Key),
        4 => piece().prop_map(Act::Paste),
        1 => (11_usize..14).prop_map(|lines| Act::Paste("pasted\n".repeat(lines))),
        1 => piece().prop_map(Act::Set),
        1 => (0_usize..40, 0_usize..40, piece()).prop_map(|(from, len, text)| Act::Replace(from, len, text)),
        1 => Just(Act::Stash),
        1 => Just(Act::Unstash),
        3 => (1_u16..30, 0_usize..6).prop_map(|(width, rows)| Act::Draw(width, rows)),
    ]
}

fn perform(composer: &mut Composer, act: Act) {
    match act {
        Act::Key(key) => {
            composer.key(key);
        }
        Act::Paste(text) => {
            composer.paste(text);
        }
        Act::Set(text) => composer.set(&text),
        Act::Replace(from, len, text) => composer.replace(from..from + len, &text),
        Act::Stash => composer.stash(),
        Act::Unstash => {
            composer.unstash();
        }
        Act::Draw(width, rows) => drop(draw(composer, width, rows)),
    }
}

/// The caret stands where it may, and what is drawn is what is there.
fn check(composer: &Composer, width: u16) {
    let text = &composer.text;
    assert!(composer.caret <= text.len());
    assert_eq!(text.snap(composer.caret), composer.caret, "{:?}", with_caret(composer));
    if text.chips().next().is_none() {
        let ends: Vec<usize> =
            text.shown().grapheme_indices(true).map(|(at, _)| at).chain([text.len()]).collect();
        assert!(ends.contains(&composer.caret), "{:?}", with_caret(composer));
    }
    let layout = Layout::new(text, width.into(), 0);
    let mut at = 0;
    for row in &layout.rows {
        // A newline is between rows, and nothing else.
        if row.place.start != at {
            assert_eq!(&text.shown()[at..row.place.start], "\n");
        }
        let cells: String = row.cells.iter().map(|cell| &text.shown()[cell.place.clone()]).collect();
        assert_eq!(cells, text.shown()[row.place.clone()]);
        // A blank may stand in the caret's column.
        assert!(row.width() <= usize::from(width) + 1, "{row:?}");
        at = row.place.end;
    }
    assert_eq!(at, text.len());
    let drawn = draw(composer, width, usize::MAX);
    assert!(drawn.lines.iter().all(|line| line.width() <= usize::from(width)), "{drawn:?}");
    let bad = |c: char| c.is_control() || c == '\u{202e}';
    assert!(drawn.lines.iter().all(|line| !line.to_string().contains(bad)), "{drawn:?}");
    let (column, row) = drawn.cursor.expect("a cursor");
    assert!(column < width && usize::from(row) < drawn.lines.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nothing_breaks_it(acts in prop::collection::vec(act(), 0..60), width in 1_u16..30) {
        let mut composer = composer();
        for act in acts {
            perform(&mut composer, act);
            check(&composer, width);
        }
    }

    #[test]
    fn all_can_be_taken_back_and_done_again(pieces in prop::collection::vec((key(), piece()), 0..30)) {
        let mut composer = composer();
        for (key, piece) in pieces {
            // Neither search nor undo itself: those are not edits.
            let search_or_undo = key.ctrl && matches!(key.code, KeyCode::Char('r' | '_' | 'z'));
            let redo = key.alt && key.code == KeyCode::Char('_');
            if !search_or_undo && !redo {
                composer.key(key);
            }
            composer.paste(piece);
        }
        let last = composer.text.clone();
        while composer.key(Key::ctrl('_')) == Typed::Edited {}
        prop_assert_eq!(composer.text(), "");
        while composer.key(Key::alt('_')) == Typed::Edited {}
        prop_assert_eq!(&composer.text, &last);
    }

    #[test]
    fn drawn_text_is_the_text(text in "[a-z 你好。]{1,60}", width in 8_u16..30) {
        let mut composer = composer();
        composer.set(&text);
        let drawn = draw(&composer, width, usize::MAX);
        let rows = drawn.lines.iter().map(|line| line.to_string().chars().skip(2).collect::<String>());
        let shown: String = rows.collect();
        prop_assert_eq!(shown, text);
    }
}
