use proptest::prelude::*;
use ratatui_core::style::{Color, Style};

use super::*;

fn rows(text: &str, width: u16, first: usize, hang: usize) -> Vec<String> {
    wrap_in(Line::raw(text.to_owned()), width, &Margin::blank(first, hang))
        .iter()
        .map(Line::to_string)
        .collect()
}

fn folded(text: &str, width: u16) -> Vec<String> {
    let margin = Margin::default();
    fold_in(Line::raw(text.to_owned()), width, &margin).iter().map(Line::to_string).collect()
}

#[test]
fn words_stay_whole_and_rows_hang() {
    assert_eq!(rows("one two three", 8, 0, 0), ["one two", "three"]);
    assert_eq!(rows("one two three", 7, 0, 0), ["one two", "three"]);
    assert_eq!(rows("one  two   three  ", 12, 1, 3), [" one  two", "   three"]);
    assert_eq!(rows("  code stays in", 9, 0, 0), ["  code", "stays in"]);
    assert_eq!(rows("", 9, 2, 2), [""]);
    assert_eq!(rows("     ", 3, 0, 0), [""]);
}

#[test]
fn a_long_word_is_broken_only_when_no_row_holds_it() {
    assert_eq!(rows("see /very/long", 12, 0, 0), ["see", "/very/long"]);
    assert_eq!(
        rows("at https://example.com/a/b/c?d=e&f=g now", 16, 0, 0),
        ["at https://", "example.com/a/b/", "c?d=e&f=g now"]
    );
    assert_eq!(rows("abcdefghijkl", 5, 0, 0), ["abcde", "fghij", "kl"]);
}

#[test]
fn chinese_breaks_between_characters_but_not_before_closing_marks() {
    assert_eq!(rows("漢字漢字漢", 4, 0, 0), ["漢字", "漢字", "漢"]);
    assert_eq!(rows("一二三，四五。", 6, 0, 0), ["一二", "三，四", "五。"]);
    assert_eq!(rows("一二（三）四", 6, 0, 0), ["一二", "（三）", "四"]);
    assert_eq!(rows("使用cargo测试", 9, 0, 0), ["使用cargo", "测试"]);
    assert_eq!(rows("使用cargo测试", 8, 0, 0), ["使用", "cargo测", "试"]);
    assert_eq!(rows("한국어 단어", 8, 0, 0), ["한국어", "단어"]);
}

#[test]
fn a_family_is_never_torn_apart() {
    let family = "👩\u{200d}👩\u{200d}👧";
    let text = family.repeat(3);
    assert_eq!(rows(&text, 4, 0, 0), [family.repeat(2), family.to_owned()]);
    assert_eq!(rows("e\u{301}e\u{301}e\u{301}", 2, 0, 0), ["e\u{301}e\u{301}", "e\u{301}"]);
}

#[test]
fn styles_and_margins_go_on_over_a_break() {
    let red = Style::new().fg(Color::Red);
    let line = Line::from(vec![Span::raw("a "), Span::styled("bb cc", red)]);
    let bar = vec![Span::raw("│ ")];
    let margin = Margin { first: bar.clone(), rest: bar };
    let out = wrap_in(line, 6, &Margin::default());
    assert_eq!(out[0], Line::from(vec![Span::raw("a "), Span::styled("bb", red)]));
    assert_eq!(out[1], Line::from(Span::styled("cc", red)));
    let out = wrap_in(Line::raw("one two"), 12, &margin);
    assert_eq!(out.len(), 1);
    assert_eq!(wrap_in(Line::raw(""), 12, &margin)[0].to_string(), "│");
    let deep = Margin::blank(30, 30);
    assert_eq!(wrap_in(Line::raw("one two"), 10, &deep)[0].to_string(), "  one two");
}

#[test]
fn code_is_folded_between_tokens_and_nothing_is_dropped() {
    assert_eq!(folded("let x = call(alpha, beta);", 14), ["let x = ", "call(alpha, ", "beta);"]);
    assert_eq!(folded("aaaaaaaa", 3), ["aaa", "aaa", "aa"]);
    assert_eq!(folded("", 3), [""]);
}

#[test]
fn a_row_is_cut_by_columns() {
    assert_eq!(cut(Line::raw("漢字漢字"), 7).to_string(), "漢字漢…");
    assert_eq!(cut(Line::raw("abc"), 3).to_string(), "abc");
    assert_eq!(cut(Line::raw("abcd"), 0).to_string(), "");
}

#[test]
fn nothing_that_a_terminal_obeys_gets_past() {
    assert_eq!(rows("a\x1b[2Jb\tc\u{202e}d\r", 40, 0, 0), ["ab    cd"]);
}

#[test]
fn blanks_before_a_first_row_leave_it_its_room() {
    let all = wrap_in(Line::raw(" 👩}한a-(ー(漢"), 10, &Margin::blank(1, 0));
    assert!(all.iter().all(|row| row.width() <= 10), "{all:?}");
}

proptest! {
    #[test]
    fn nothing_is_too_wide_and_nothing_is_lost(text in "[a-z (){}/.\\-漢字，。（）「」ー👩é한]{0,90}", width in 2u16..40, first in 0usize..9, hang in 0usize..9) {
        let all = wrap_in(Line::raw(text.clone()), width, &Margin::blank(first, hang));
        for row in &all {
            prop_assert!(row.width() <= usize::from(width), "{row:?}");
            prop_assert_eq!(row.to_string().trim_end_matches(' ').len(), row.to_string().len());
        }
        let letters = |text: &str| text.replace(' ', "");
        let joined: String = all.iter().map(Line::to_string).collect();
        prop_assert_eq!(letters(&joined), letters(&text));
        prop_assert_eq!(folded(&text, width).concat(), text);
    }
}
