use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;

const SECRETS: [&str; 5] =
    ["planted-value-1", "planted-value-1-and-more", "sk-known-1", "ünïcödé-sëcret", "two\nlines of it"];

fn redactor() -> &'static Redactor {
    static REDACTOR: LazyLock<Redactor> = LazyLock::new(|| Redactor::new(SECRETS).unwrap());
    &REDACTOR
}

/// What comes out of these pieces, as it comes and then at the end.
fn pieces_of(redactor: &Redactor, pieces: &[&str]) -> Vec<String> {
    let mut live = LiveMask::default();
    let mut told: Vec<String> = pieces.iter().map(|piece| live.push(redactor, (*piece).to_owned())).collect();
    told.push(live.flush(redactor));
    assert!(!live.holds_back());
    told
}

fn whole(redactor: &Redactor, text: &str) -> String {
    pieces_of(redactor, &[text]).concat()
}

/// The text in two, at every place, and in single characters.
fn splits(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let characters: Vec<&str> = places.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
    places.into_iter().map(|at| vec![&text[..at], &text[at..]]).chain([characters])
}

#[test]
fn a_secret_is_found_wherever_it_is_split() {
    let redactor = redactor();
    for (text, masked) in [
        ("a planted-value-1 b", "a [redacted] b"),
        ("planted-value-1-and-more", "[redacted]"),
        ("planted-value-1-and-mor", "[redacted]-and-mor"),
        ("two\nlines of it", "[redacted]"),
        ("sk-ant-api03-AbCd1234efgh5678 end", "[redacted] end"),
        ("(AKIAIOSFODNN7EXAMPLE)", "([redacted])"),
        ("AKIAIOSFODNN7EXAMPLELONGER", "AKIAIOSFODNN7EXAMPLELONGER"),
        ("glpat-0123456789abcdefghij,xoxb-1234567890-abc", "[redacted],[redacted]"),
        ("x eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl.", "x [redacted]"),
        ("Bearer abcdef0123456789abcdef.", "Bearer [redacted]"),
        (
            "sk-only-words-and-dashes-here and task-runner-1234567890123456",
            "sk-only-words-and-dashes-here and task-runner-1234567890123456",
        ),
        ("K=1 API_KEY=\"abcdefgh12\" x", "K=1 API_KEY=\"[redacted]\" x"),
        ("export DB_PASSWORD=hunter2hunter2;", "export DB_PASSWORD=[redacted];"),
        (
            "API_KEY=os.environ['KEY_1'] TOKEN=$(cat t1) KEY=\n",
            "API_KEY=os.environ['KEY_1'] TOKEN=$(cat t1) KEY=\n",
        ),
        (
            "+-----BEGIN RSA PRIVATE KEY-----\nMII/+1\n-----END RSA PRIVATE KEY-----\nafter PRIVATE KEY-----",
            "+[redacted]\nafter PRIVATE KEY-----",
        ),
        ("-----BEGIN PRIVATE KEY-----\\nMIIEabc\\n-----END PRIVATE KEY-----\\n\"", "[redacted]\\n\""),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\\nabc\\x", "[redacted]\\x"),
        ("-----BEGIN CERTIFICATE-----\nMIIE\n", "-----BEGIN CERTIFICATE-----\nMIIE\n"),
        ("sk-ab\x1b[31mcdef0123456789ab\x1b[0m end", "[redacted]\x1b[31m\x1b[0m end"),
        ("\x1b[1mghp_0123456789\x1b(B\x1b[mabcdefghijABCDEF", "\x1b[1m[redacted]\x1b(B\x1b[m"),
        ("id\x1b[31msk-abcdef0123456789 x", "id\x1b[31m[redacted] x"),
        ("pla\x1b[4mnted-val\x1b[0mue-1!", "[redacted]\x1b[4m\x1b[0m!"),
        ("\x1b[sk-abcdef0123456789", "\x1b[[redacted]"),
        ("\u{9b}31mplanted-\u{9b}0mvalue-1", "\u{9b}31m[redacted]\u{9b}0m"),
    ] {
        assert_eq!(redactor.redact(text), masked, "the whole of {text:?}");
        assert_eq!(redactor.redact(masked), masked, "twice");
        for split in splits(text) {
            assert_eq!(pieces_of(redactor, &split).concat(), masked, "{split:?}");
        }
    }
}

/// Text goes out in the very piece it came in, but for what may begin a secret.
#[test]
fn only_what_may_begin_a_secret_is_held_back() {
    let redactor = &Redactor::new(["planted-value-1", "ünïcödé-sëcret"]).unwrap();
    for (pieces, told) in [
        (&["hello, ", "world: ask", " task-", "z"][..], &["hello, ", "world: ask", " task", "-z", ""][..]),
        (&["the plan", "ed ", "s", "ky"], &["the ", "planed ", "", "sky", ""]),
        (&["a sk", "-", "learn ", "d"], &["a ", "", "sk-learn ", "d", ""]),
        (&["API_KEY=", "x1", "2345678 y"], &["API_", "", "KEY=[redacted] y", ""]),
        (&["-----BEGIN PRIVATE KEY-----", "\nab1", "\n.\n"], &["[redacted]", "", ".\n", ""]),
        (&["sk-0123456789abcdef", "0123", " on"], &["[redacted]", "", " on", ""]),
        (&["x \x1b", "[3", "1mred"], &["x \x1b", "[3", "1mred", ""]),
        (&["end with gh"], &["end with ", "gh"]),
        (&["é", "ü", "x"], &["é", "", "üx", ""]),
    ] {
        assert_eq!(pieces_of(redactor, pieces), told);
    }
}

#[test]
fn what_looks_like_a_token_is_not_held_back_without_end() {
    let redactor = redactor();
    for (start, piece) in [
        ("sk-", "word-"),
        ("eyJ", "abc"),
        ("eyJ.", "abc"),
        ("Bearer ", "a/b/"),
        ("KEY=", "abc"),
        ("KEY=", "ab1"),
        ("-----BEGIN ", "KEY "),
    ] {
        let mut live = LiveMask::default();
        live.push(redactor, start.to_owned());
        let told: usize = (0..2_000).map(|_| live.push(redactor, piece.to_owned()).len()).sum();
        assert!(told > 0, "{start}");
    }
}

/// With time in the square of the length this would not come back.
#[test]
fn a_long_piece_costs_no_more_than_its_length() {
    let redactor = redactor();
    for piece in ["planted-value-1 ", "KEY=a1b2c3d4 ", "pla\x1b[1mnted-value-1 ", "sk-", "\x1b[1m-"] {
        let times = 300_000 / piece.len();
        let told = whole(redactor, &piece.repeat(times));
        assert_eq!(
            told.matches(crate::redact::MASK).count(),
            if piece.len() > 8 { times } else { 0 },
            "{piece}"
        );
    }
}

fn text() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        "KEY=",
        "_TOKEN=",
        "'",
        "-----BEGIN ",
        "RSA ",
        "PRIVATE KEY-----",
        "-----END ",
        "\\n",
        "\\",
        "sk-",
        "ghp_",
        "AKIA",
        "eyJ",
        ".",
        "Bearer ",
        "xoxb-",
        "glpat-",
        "planted-",
        "value-1",
        "-and-",
        "more",
        "known-1",
        "0123456789",
        "abcdefghij",
        "AKIAIOSFODNN7EXAMPLE ",
        "ün",
        "ïcödé-sëcret",
        "two\n",
        "lines of it",
        " ",
        "\n",
        "漢",
        "s",
        "p",
        "-",
    ]);
    let planted = prop::sample::select(SECRETS.to_vec());
    let piece = prop_oneof![4 => fixed.prop_map(str::to_owned), 1 => planted.prop_map(str::to_owned), 1 => "[a-zA-Z0-9 ]{0,12}"];
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

fn coloured() -> impl Strategy<Value = String> {
    let code = prop::sample::select(vec!["\x1b[31m", "\x1b[0m", "\x1b(B", "\x1b", "\u{9b}1m", "\x1b[", "["]);
    let piece = prop_oneof![2 => text(), 1 => code.prop_map(str::to_owned)];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

/// A text and where it is split.
fn split(text: impl Strategy<Value = String>) -> impl Strategy<Value = (String, Vec<prop::sample::Index>)> {
    (text, prop::collection::vec(any::<prop::sample::Index>(), 0..12))
}

fn cut<'a>(text: &'a str, places: &[prop::sample::Index]) -> Vec<&'a str> {
    let mut places: Vec<usize> =
        places.iter().map(|place| text.floor_char_boundary(place.index(text.len() + 1))).collect();
    places.extend([0, text.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(800))]

    #[test]
    fn any_split_is_masked_like_the_whole((text, places) in split(text())) {
        let redactor = redactor();
        let told = pieces_of(redactor, &cut(&text, &places)).concat();
        prop_assert_eq!(told, redactor.redact(&text));
    }

    #[test]
    fn colours_change_nothing_about_that((text, places) in split(coloured())) {
        let redactor = redactor();
        let told = pieces_of(redactor, &cut(&text, &places)).concat();
        prop_assert_eq!(&told, &whole(redactor, &text));
        prop_assert_eq!(told, redactor.redact(&text));
    }
}
