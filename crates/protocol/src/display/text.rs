//! Fitting text to columns, counted as a terminal counts them and never inside a grapheme.
//! Everything here cleans what it is given: the results are safe to print and carry no colours.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::sanitize::plain;

const ELLIPSIS: &str = "…";
const TAB: &str = "    ";

/// Columns that a line takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// One line: every run of blanks and line breaks becomes a space, and what does not fit is cut with `…`.
pub fn one_line(text: &str, max_width: usize) -> String {
    let clean = plain(text);
    let mut line = String::new();
    for word in clean.split_whitespace() {
        // A word more than fits is enough to know that it must be cut; a long text is not read to its end.
        if line.len() > max_width.saturating_mul(8) {
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    truncate_width(&line, max_width)
}

/// Cuts a line to `max_width` columns, the last one `…` when something is missing.
pub fn truncate_width(text: &str, max_width: usize) -> String {
    let mut text = plain(text);
    if text.contains(['\n', '\t']) {
        text = text.replace('\n', " ").replace('\t', TAB).into();
    }
    if text.len() <= max_width || text.width() <= max_width {
        return text.into_owned();
    }
    let Some(room) = max_width.checked_sub(ELLIPSIS.width()) else { return String::new() };
    let (kept, _) = split_at_width(&text, room);
    format!("{}{ELLIPSIS}", kept.trim_end())
}

/// Breaks a text into lines of at most `width` columns, at blanks where there are any.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    plain(text).lines().flat_map(|line| wrap_words(line, width)).collect()
}

fn wrap_words(line: &str, width: usize) -> Vec<String> {
    let mut lines = wrap_exact(line, width);
    for (at, line) in lines.iter_mut().enumerate() {
        let trimmed = if at == 0 { line.trim_end() } else { line.trim() };
        *line = trimmed.to_owned();
    }
    // A piece of blanks alone, at the end of a line that was full.
    lines.retain(|line| !line.is_empty());
    if lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

/// Breaks one line so that nothing is lost: the pieces together are the line, tabs apart.
pub fn wrap_exact(line: &str, width: usize) -> Vec<String> {
    let width = width.max(2);
    let line = plain(line).replace('\t', TAB);
    let mut rest = line.as_str();
    let mut pieces = Vec::new();
    while rest.width() > width {
        let (fits, _) = split_at_width(rest, width);
        // Not at a blank so early that most of the line stays empty.
        let at = match fits.rfind(' ') {
            Some(blank) if fits[..blank].width() * 2 > width => blank + 1,
            _ if fits.is_empty() => rest.graphemes(true).next().map_or(rest.len(), str::len),
            _ => fits.len(),
        };
        pieces.push(rest[..at].to_owned());
        rest = &rest[at..];
    }
    if !rest.is_empty() || pieces.is_empty() {
        pieces.push(rest.to_owned());
    }
    pieces
}

/// The longest start of whole graphemes within `max` columns, and the rest.
fn split_at_width(text: &str, max: usize) -> (&str, &str) {
    let mut used = 0;
    let end = text.grapheme_indices(true).find(|(_, grapheme)| {
        used += grapheme.width();
        used > max
    });
    text.split_at(end.map_or(text.len(), |(at, _)| at))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_are_cut_by_columns_not_by_characters() {
        assert_eq!(truncate_width("漢字漢字", 8), "漢字漢字");
        assert_eq!(truncate_width("漢字漢字", 7), "漢字漢…");
        assert_eq!(truncate_width("漢字漢字", 6), "漢字…");
        assert_eq!(truncate_width("a👩\u{200d}🚀b", 3), "a…");
        assert_eq!(truncate_width("abc", 0), "");
        assert_eq!(truncate_width("a\tb\nc", 8), "a    b c");
        assert_eq!(truncate_width("a\tb\nc", 7), "a    b…");
        assert_eq!(one_line("  a\n\n  b\tc\x1b[2J\x1b[31md  ", 20), "a b cd");
        assert_eq!(one_line(&"word ".repeat(1_000), 12), "word word w…");
    }

    #[test]
    fn wrapping_breaks_at_blanks_and_inside_long_words_only() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("a\n\nbcdefgh", 4), ["a", "", "bcde", "fgh"]);
        assert_eq!(wrap("漢字漢字漢", 4), ["漢字", "漢字", "漢"]);
        assert_eq!(wrap("", 10), Vec::<String>::new());
        assert_eq!(wrap_exact("rm -rf  /very/long/path", 10), ["rm -rf  ", "/very/long", "/path"]);
    }

    proptest! {
        #[test]
        fn nothing_is_too_wide_and_nothing_is_lost(text in "[a-z 漢👩é\\t]{0,80}", columns in 2usize..30) {
            let pieces = wrap_exact(&text, columns);
            prop_assert_eq!(pieces.concat(), text.replace('\t', TAB));
            for line in pieces.iter().chain(&wrap(&text, columns)).chain([&one_line(&text, columns)]) {
                prop_assert!(width(line) <= columns, "{line:?}");
            }
            prop_assert!(width(&truncate_width(&text.replace('\t', TAB), columns)) <= columns);
        }
    }
}
