use super::*;

struct Home;

impl Lookup for Home {
    fn home(&self) -> Option<&str> {
        Some("/home/me")
    }

    fn variable(&self, name: &str) -> Known {
        match name {
            "HOME" => Known::Text("/home/me".to_owned()),
            "PWD" => Known::Text("/w".to_owned()),
            _ => Known::Unknown,
        }
    }

    fn printed(&self, _script: &str) -> Known {
        Known::Unknown
    }
}

fn words(raw: &str) -> Vec<String> {
    evaluate(raw, &Home, &mut Effects::default()).unwrap().into_iter().map(|arg| arg.text).collect()
}

#[test]
fn quotes_escapes_and_known_variables_are_taken_away() {
    for (raw, expected) in [
        (r"\rm", "rm"),
        ("r''m", "rm"),
        ("\"r\"m", "rm"),
        (r"$'\x72\155'", "rm"),
        (r"$'rm\0zzz'", "rm"),
        ("r\\\nm", "rm"),
        ("~/x", "/home/me/x"),
        ("~root/x", "/home/root/x"),
        ("\"$HOME\"/x", "/home/me/x"),
        ("${PWD}/x", "/w/x"),
        ("'~'/x", "~/x"),
        ("\"a\\$b\"", "a$b"),
        ("$x", "\0"),
        ("a$(id)b", "a\0b"),
        ("[", "["),
    ] {
        assert_eq!(words(raw), [expected], "{raw}");
    }
}

#[test]
fn braces_make_words_and_quoted_ones_do_not() {
    assert_eq!(words("{rm,x}"), ["rm", "x"]);
    assert_eq!(words("a{b,{c,d}}"), ["ab", "ac", "ad"]);
    assert_eq!(words("'{a,b}'"), ["{a,b}"]);
    assert_eq!(words("{}"), ["{}"]);
    assert_eq!(words("{1..3}"), ["\0"]);
}

#[test]
fn what_runs_during_expansion_is_reported() {
    for raw in [
        "$(rm x)",
        "\"`rm x`\"",
        "${a:-$(rm x)}",
        "\"${a:-\"$(rm x)\"}\"",
        "$((1+$(rm x)))",
        "${a:-'$(rm x)'}",
    ] {
        let mut effects = Effects::default();
        evaluate(raw, &Nothing, &mut effects).unwrap();
        assert_eq!(effects.scripts, ["rm x"], "{raw}");
    }
}
