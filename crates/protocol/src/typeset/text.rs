//! Fitting text to columns, counted as a terminal counts them and never inside a grapheme.
//! Everything here cleans what it is given: the results are safe to print and carry no colours.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::sanitize::plain;

const ELLIPSIS: &str = "…";
const TAB: &str = "    ";
/// How much further in a line goes on.
const INDENT: usize = 2;
/// With less room than this behind it, an indent does more harm than good.
const NARROWEST: usize = 8;

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

/// One line of at most `max_width` columns that keeps both ends: what is too long loses its middle.
pub fn one_line_ends(text: &str, max_width: usize) -> String {
    let clean = plain(text);
    let line = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.width() <= max_width {
        return line;
    }
    let Some(room) = max_width.checked_sub(ELLIPSIS.width() + 2) else {
        return truncate_width(&line, max_width);
    };
    let (start, rest) = split_at_width(&line, room - room / 3);
    let mut used = 0;
    let end = rest.grapheme_indices(true).rev().take_while(|(_, grapheme)| {
        used += grapheme.width();
        used <= room / 3
    });
    let at = end.last().map_or(rest.len(), |(at, _)| at);
    format!("{} {ELLIPSIS} {}", start.trim_end(), rest[at..].trim_start())
}

/// Breaks a text into lines of at most `width` columns, at blanks where there are any.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    plain(text).lines().flat_map(|line| words(&line.replace('\t', TAB), width, width)).collect()
}

/// The same for lines that stand alone: what was only wrapped is two blanks further in than its line begins, so that
/// nothing in a line can pass for the next one.
pub fn hang(text: &str, width: usize) -> Vec<String> {
    plain(text).lines().flat_map(|line| hang_line(&line.replace('\t', TAB), width)).collect()
}

fn hang_line(line: &str, width: usize) -> Vec<String> {
    let body = line.trim_start_matches(' ');
    let own = (line.len() - body.len()).min(width.saturating_sub(NARROWEST));
    let further = if width >= own + INDENT + NARROWEST { own + INDENT } else { own };
    let pieces = words(body, width - own, width - further).into_iter().enumerate();
    let indented = |(at, piece): (usize, String)| match (at, piece.is_empty()) {
        (_, true) => piece,
        (0, false) => format!("{}{piece}", " ".repeat(own)),
        (_, false) => format!("{}{piece}", " ".repeat(further)),
    };
    pieces.map(indented).collect()
}

/// A line in pieces, the first within `first` columns and all others within `further`; the blanks at a break are gone.
fn words(line: &str, first: usize, further: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let (mut rest, mut width) = (line.trim_end_matches(' '), first.max(2));
    while !rest.is_empty() {
        let (fits, more) = split_at_width(rest, width);
        // Blanks behind a word that just fits need no room.
        let at = if more.starts_with(' ') { fits.len() } else { break_at(rest, width, further.max(2)) };
        pieces.push(rest[..at].trim_end_matches(' ').to_owned());
        rest = rest[at..].trim_start_matches(' ');
        width = further.max(2);
    }
    // A line of blanks alone is an empty one.
    if pieces.is_empty() {
        pieces.push(String::new());
    }
    pieces
}

/// Breaks one line so that nothing is lost: the pieces together are the line, tabs apart.
pub fn wrap_exact(line: &str, width: usize) -> Vec<String> {
    let width = width.max(2);
    let line = plain(line).replace('\t', TAB);
    let mut rest = line.as_str();
    let mut pieces = Vec::new();
    while !rest.is_empty() || pieces.is_empty() {
        let (piece, more) = rest.split_at(break_at(rest, width, width));
        pieces.push(piece.to_owned());
        rest = more;
    }
    pieces
}

/// Where a line of `width` columns ends: behind its last blank, so that a word is whole where the next line, of `next`
/// columns, has room for it. A longer word is broken, and begins where it would leave most of this line empty.
fn break_at(text: &str, width: usize, next: usize) -> usize {
    let (fits, more) = split_at_width(text, width);
    if more.is_empty() {
        return text.len();
    }
    if fits.is_empty() {
        return text.graphemes(true).next().map_or(text.len(), str::len);
    }
    let Some(blank) = fits.rfind(' ').filter(|blank| !fits[..*blank].trim().is_empty()) else {
        return fits.len();
    };
    let word = text[blank + 1..].split(' ').next().unwrap_or_default();
    let (_, too_much) = split_at_width(word, next);
    if too_much.is_empty() || fits[..blank].width() * 2 > width { blank + 1 } else { fits.len() }
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
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("see /very/long", 12), ["see", "/very/long"]);
        assert_eq!(wrap_exact("rm -rf  /very/long/path", 10), ["rm -rf  ", "/very/long", "/path"]);
        assert_eq!(wrap_exact("  /very/long", 10), ["  /very/lo", "ng"]);
    }

    #[test]
    fn a_line_goes_on_further_in_than_it_began() {
        assert_eq!(hang("one two three four", 12), ["one two", "  three four"]);
        assert_eq!(hang("  one two three\nfour", 12), ["  one two", "    three", "four"]);
        assert_eq!(hang("see abcdefghijklmnop", 10), ["see abcdef", "  ghijklmn", "  op"]);
        assert_eq!(hang("ab 漢字漢字漢字", 12), ["ab 漢字漢字", "  漢字"]);
        assert_eq!(hang("a\n\n   \nb", 12), ["a", "", "", "b"]);
        assert_eq!(hang("one two", 4), ["one", "two"]);
    }

    #[test]
    fn the_middle_is_what_a_long_message_loses() {
        assert_eq!(one_line_ends("all of\nit", 9), "all of it");
        assert_eq!(one_line_ends("0123456789 the way out", 18), "0123456789 … y out");
        assert_eq!(one_line_ends("漢字漢字漢字漢字", 12), "漢字漢 … 字");
        assert_eq!(one_line_ends("abcd", 2), "a…");
    }

    proptest! {
        #[test]
        fn nothing_is_too_wide_and_nothing_is_lost(text in "[a-z 漢👩é\\t]{0,80}", columns in 2usize..30) {
            let pieces = wrap_exact(&text, columns);
            prop_assert_eq!(pieces.concat(), text.replace('\t', TAB));
            let lines = [one_line(&text, columns), one_line_ends(&text, columns)];
            let hung = hang(&text, columns);
            for line in pieces.iter().chain(&wrap(&text, columns)).chain(&hung).chain(&lines) {
                prop_assert!(width(line) <= columns, "{line:?}");
            }
            let letters = |text: &str| text.replace([' ', '\t'], "");
            prop_assert_eq!(letters(&hung.concat()), letters(&text));
            prop_assert!(width(&truncate_width(&text.replace('\t', TAB), columns)) <= columns);
        }
    }
}
