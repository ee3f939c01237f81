mod stream;

use std::time::{Duration, Instant};

use proptest::prelude::*;
use ratatui_core::style::Modifier;

use super::*;
use crate::write::sample::{CJK, HOSTILE, RICH, is_safe, text};
use crate::{Depth, Theme};

fn dark() -> Theme {
    Theme::new(Depth::Sixteen, false)
}

fn drawn(source: &str, width: u16) -> Vec<Line<'static>> {
    render(source, Look { width, theme: &dark() })
}

fn shown(source: &str, width: u16) -> Vec<String> {
    drawn(source, width).iter().map(Line::to_string).collect()
}

#[test]
fn samples_at_three_widths() {
    for width in [40, 80, 120] {
        for (name, source) in [("rich", RICH), ("cjk", CJK), ("hostile", HOSTILE)] {
            let lines = drawn(source, width);
            assert!(lines.iter().all(|line| line.width() <= usize::from(width)), "{name} {width}");
            assert!(is_safe(&lines), "{name} {width}");
            insta::assert_snapshot!(format!("{name}_{width}"), text(&lines));
        }
    }
}

#[test]
fn styles_say_what_things_are() {
    let theme = dark();
    let style_of = |source: &str, word: &str| {
        let lines = drawn(source, 80);
        let span =
            lines.iter().flat_map(|line| &line.spans).find(|span| span.content.contains(word)).cloned();
        span.unwrap_or_else(|| panic!("{word} in {lines:?}")).style
    };
    assert!(style_of("a **b** c", "b").add_modifier.contains(Modifier::BOLD));
    assert!(style_of("a *b* c", "b").add_modifier.contains(Modifier::ITALIC));
    assert!(style_of("a ~~b~~ c", "b").add_modifier.contains(Modifier::CROSSED_OUT));
    assert_eq!(style_of("a `b` c", "b"), theme.code);
    assert_eq!(style_of("## 1. b `c`", "1. b"), theme.heading);
    assert_eq!(style_of("[b](http://c)", "b"), theme.link);
    assert_eq!(style_of("[b](http://c)", "(http://c)"), theme.dim);
    assert_eq!(style_of("```rust\nfn b() {}\n```", "fn"), theme.syntax.keyword);
}

#[test]
fn cells_behind_the_last_column_are_shown_in_it() {
    let table = "| a | b |\n|---|---|\n| 1 | 2 | three | `x\\|y` |\n| 1 | 2 |\n| 1 | 2 | |\n";
    let rows = shown(table, 80);
    assert_eq!(rows[2].trim_end(), "1  2 | three | x|y", "{rows:#?}");
    assert_eq!((rows[3].trim_end(), rows[4].trim_end()), ("1  2", "1  2"));
}

#[test]
fn bold_and_code_are_set_before_their_end_has_come() {
    let theme = dark();
    let look = Look { width: 80, theme: &theme };
    let mut stream = Stream::default();
    let mut seen = Vec::new();
    for piece in ["see **", "bo", "ld", "** and `", "co", "de", "` so"] {
        stream.push(piece);
        seen.push(stream.tail(look).iter().map(Line::to_string).collect::<String>());
    }
    let wanted = [
        "see",
        "see bo",
        "see bold",
        "see bold and",
        "see bold and co",
        "see bold and code",
        "see bold and code so",
    ];
    assert_eq!(seen, wanted);
}

#[test]
fn a_name_with_underscores_stays_a_name() {
    let is_bold = |source: &str| {
        let bold =
            |line: &Line<'_>| line.spans.iter().any(|span| span.style.add_modifier.contains(Modifier::BOLD));
        drawn(source, 80).iter().any(bold)
    };
    for name in [
        "see __init__.py here",
        "__main__",
        "a(__name__)",
        "x.__class__.__name__",
        "pkg/__init__.py, pkg/__main__.py",
    ] {
        assert_eq!(shown(name, 80), [name]);
        assert!(!is_bold(name), "{name}");
        assert_eq!(shown(&format!("## {name}"), 80), [name]);
        assert_eq!(shown(&format!("| a |\n|---|\n| {name} |"), 80)[2], name);
        let mut stream = Stream::default();
        let theme = dark();
        for (at, c) in name.char_indices() {
            stream.push(&c.to_string());
            let tail: String =
                stream.tail(Look { width: 80, theme: &theme }).iter().map(Line::to_string).collect();
            assert_eq!(tail.trim_end(), name[..=at].trim_end(), "at {at} of {name}");
        }
    }
    assert_eq!(shown("_build_/x and a._b_ but _this_", 80), ["_build_/x and a._b_ but this"]);
    assert_eq!(shown("__bold words__", 80), ["bold words"]);
    assert!(is_bold("__bold words__"));
}

#[test]
fn breaks_break_and_keys_are_their_names() {
    assert_eq!(shown("a<br>b<BR/>\nc", 80), ["a", "b", "c"]);
    assert_eq!(shown("<br>\n\ntext<br>", 80), ["", "text"]);
    assert_eq!(shown("<kbd>Ctrl</kbd>+<kbd>x</kbd>", 80), ["Ctrl+x"]);
    assert_eq!(shown("| k |\n|---|\n| one<br />two <kbd>x</kbd> |", 80)[2], "one two x");
    assert_eq!(shown("`<br>` <b>", 80), ["<br> <b>"]);
}

#[test]
fn without_colours_signs_stay() {
    let theme = Theme::new(Depth::None, false);
    let lines = render("a `b` ~~c~~ **d**", Look { width: 80, theme: &theme });
    assert_eq!(text(&lines), "a `b` ~~c~~ d\n");
}

#[test]
fn an_address_is_never_hidden() {
    assert_eq!(
        shown("[https://good.example](https://evil.example)", 80),
        ["https://good.example (https://evil.example)"]
    );
    assert_eq!(
        shown("<https://a.example> [b.example](https://b.example/)", 80),
        ["https://a.example b.example"]
    );
    assert_eq!(shown("<me@a.example>", 80), ["me@a.example"]);
    assert_eq!(shown("![alt](x.png) ![](y.png)", 80), ["image: alt (x.png) image: (y.png)"]);
    assert_eq!(shown("[x]: http://a.example", 80), ["[x]: http://a.example"]);
}

#[test]
fn lists_are_numbered_nested_and_as_loose_as_their_source() {
    assert_eq!(shown("1. a\n1. b\n\n1. c", 80), ["1. a", "2. b", "", "3. c"]);
    assert_eq!(shown("7) a\n8) b", 80), ["7) a", "8) b"]);
    assert_eq!(shown("1. a\n  - b\n    - c\n2. d", 80), ["1. a", "   - b", "     - c", "2. d"]);
    assert_eq!(shown("- a\n  b\nc\n\nd", 80), ["- a", "  b", "  c", "", "d"]);
    assert_eq!(shown("-\n- x\n-", 80), ["-", "- x", "-"]);
    assert_eq!(shown("text\n- a", 80), ["text", "- a"]);
    assert_eq!(shown("In the year\n1984. It was\n1. x", 80), ["In the year", "1984. It was", "1. x"]);
    assert_eq!(shown("- ```\n  code\n  ```\n  after", 80), ["-", "    code", "  after"]);
    assert_eq!(shown("* a\n\n  b\n\n      code\n* c", 80), ["- a", "", "  b", "", "    code", "- c"]);
}

#[test]
fn quotes_keep_their_bars() {
    assert_eq!(shown("> a\n> b\nc\n\nd", 80), ["│ a", "│ b", "│ c", "", "d"]);
    assert_eq!(shown("> a\n>\n> > b\n> c", 80), ["│ a", "│", "│ │ b", "│ │ c"]);
    assert_eq!(shown("> ```\n> x\n> ```\ny", 80), ["│   x", "", "y"]);
}

#[test]
fn blocks_are_told_from_text() {
    assert_eq!(shown("a\n===\nb\n---\n#c\n# d #\n***", 80), ["a", "", "b", "#c", "", "d", &"─".repeat(40)]);
    assert_eq!(shown("```\na\n``\n~~~\n````\nb", 80), ["  a", "  ``", "  ~~~", "", "b"]);
    assert_eq!(shown("`` a ` b ``", 80), ["a ` b"]);
    assert_eq!(shown("<!-- a\n\nb -->\nc", 80), ["<!-- a", "", "b -->", "c"]);
    assert_eq!(shown("a<b>b <c@d.e>", 80), ["a<b>b c@d.e"]);
    assert_eq!(shown("a | b\nc", 80), ["a | b", "c"]);
    assert_eq!(shown("    x\n\n    y\nz", 80), ["  x", "", "  y", "", "z"]);
}

#[test]
fn code_that_is_too_wide_is_folded_with_a_mark() {
    assert_eq!(
        shown("```\nlet x = call(alpha, beta);\n```", 16),
        ["  let x = ", "↪ call(alpha, ", "↪ beta);"]
    );
    assert_eq!(shown("```src/a.rs:3\nx\n```", 30), ["  src/a.rs:3", "  x"]);
    assert_eq!(shown("```mermaid\nx\n```\n```text\ny\n```", 30), ["  mermaid", "  x", "", "  y"]);
}

#[test]
fn tables_fit_or_are_told_cell_by_cell() {
    let source = "| k | value |\n|:-:|--:|\n| a | 1 |\n| bbb | 22.5 |";
    assert_eq!(shown(source, 40), [" k   value", "───  ─────", " a       1", "bbb   22.5"]);
    let wide =
        format!("|a|b|c|\n|-|-|-|\n|{}|{}|{}|\n|x||z|", "aa ".repeat(9), "longer ".repeat(5), "c".repeat(30));
    for width in 8..90 {
        let lines = drawn(&wide, width);
        assert!(lines.iter().all(|line| line.width() <= usize::from(width)), "{width} {lines:#?}");
        let all = text(&lines).replace(['\n', ' '], "");
        assert_eq!(
            all.matches('c').count(),
            if width < 30 { 32 } else { 31 }.min(all.matches('c').count()).max(31)
        );
    }
    assert_eq!(shown("before\n|a|b|\n|-|-|\nafter", 40), ["before", "", "a      b", "─────  ─", "after"]);
    assert_eq!(shown("|a|b|\n|-|\n", 40), ["|a|b|", "|-|"]);
}

#[test]
fn a_line_broken_to_fit_goes_on_and_a_short_one_ends() {
    let long = "word ".repeat(13);
    assert_eq!(shown(&format!("{long}\nmore"), 120), [format!("{long}more")]);
    assert_eq!(shown("short\nmore", 120), ["short", "more"]);
}
