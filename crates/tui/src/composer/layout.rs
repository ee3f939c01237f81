//! A text as rows on a screen: broken at words, between ideographs, and inside a word only when it is longer than a row. Says
//! which byte stands in which column, so that the cursor is exactly where the caret is.

use std::borrow::Cow;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;
use zdx_protocol::display::{plain, visible_line};

use super::text::Text;

const TAB: &str = "    ";
/// Stands for what is wider than the whole row.
const TOO_WIDE: &str = "·";

/// What is drawn as one and never split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell<'a> {
    /// Bytes of the text.
    pub place: Range<usize>,
    pub drawn: Cow<'a, str>,
    pub width: usize,
    pub look: CellLook,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CellLook {
    Text,
    Chip,
    /// Not what was typed, but its name: a control character.
    Spelled,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row<'a> {
    pub cells: Vec<Cell<'a>>,
    pub place: Range<usize>,
}

impl Row<'_> {
    pub(crate) fn width(&self) -> usize {
        self.cells.iter().map(|cell| cell.width).sum()
    }

    fn column(&self, at: usize) -> usize {
        self.cells.iter().take_while(|cell| cell.place.end <= at).map(|cell| cell.width).sum()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout<'a> {
    pub rows: Vec<Row<'a>>,
}

impl<'a> Layout<'a> {
    /// Rows of `width` columns, and one more that only a blank may use: there the caret stands behind a full row.
    /// Bytes before `from` are not drawn.
    pub(crate) fn new(text: &'a Text, width: usize, from: usize) -> Self {
        let width = width.max(1);
        let mut rows = Vec::new();
        let mut start = from;
        loop {
            let end = text.line_end(start);
            wrap(cells(text, start..end, width), start..end, width, &mut rows);
            if end == text.len() {
                return Self { rows };
            }
            start = end + 1;
        }
    }

    /// Column and row of a place.
    pub(crate) fn position(&self, at: usize) -> (usize, usize) {
        let row = self.rows.iter().rposition(|row| row.place.start <= at).unwrap_or_default();
        (self.rows.get(row).map_or(0, |row| row.column(at)), row)
    }

    /// The place nearest to a column of a row.
    pub(crate) fn place(&self, text: &Text, column: usize, row: usize) -> usize {
        let Some(found) = self.rows.get(row) else { return text.len() };
        let mut reached = 0;
        let mut at = found.place.start;
        for cell in &found.cells {
            if reached + cell.width > column {
                break;
            }
            reached += cell.width;
            at = cell.place.end;
        }
        // Behind the last blank of a wrapped row is the next row already.
        let goes_on = self.rows.get(row + 1).is_some_and(|next| next.place.start == found.place.end);
        if goes_on && at == found.place.end {
            at = text.prev(at).max(found.place.start);
        }
        text.snap(at)
    }
}

fn cells<'a>(text: &'a Text, line: Range<usize>, width: usize) -> Vec<Cell<'a>> {
    let mut cells = Vec::new();
    let mut at = line.start;
    for (place, _) in text.chips().filter(|(place, _)| place.start >= line.start && place.end <= line.end) {
        segment(text, at..place.start, width, CellLook::Text, &mut cells);
        segment(text, place.clone(), width, CellLook::Chip, &mut cells);
        at = place.end;
    }
    segment(text, at..line.end, width, CellLook::Text, &mut cells);
    cells
}

fn segment<'a>(text: &'a Text, range: Range<usize>, width: usize, look: CellLook, out: &mut Vec<Cell<'a>>) {
    let from = range.start;
    for (at, grapheme) in text.shown()[range].grapheme_indices(true) {
        let place = from + at..from + at + grapheme.len();
        out.push(cell(grapheme, place, width, look));
    }
}

fn cell(grapheme: &str, place: Range<usize>, most: usize, look: CellLook) -> Cell<'_> {
    let (drawn, look) = match grapheme {
        "\t" => (Cow::Borrowed(TAB), look),
        _ if grapheme.width() > 0 && *plain(grapheme) == *grapheme => (Cow::Borrowed(grapheme), look),
        _ => (Cow::Owned(visible_line(grapheme)), CellLook::Spelled),
    };
    let width = drawn.width();
    let (drawn, width) = if width > most { (Cow::Borrowed(TOO_WIDE), 1) } else { (drawn, width) };
    Cell { place, drawn, width, look }
}

fn wrap<'a>(cells: Vec<Cell<'a>>, line: Range<usize>, width: usize, rows: &mut Vec<Row<'a>>) {
    let mut row = Row { cells: Vec::new(), place: line.start..line.start };
    let mut used = 0;
    for cell in cells {
        let hangs = |used| is_blank(&cell) && used == width && cell.width == 1;
        // What was taken along from a full row may leave too little room again.
        while used + cell.width > width && !hangs(used) {
            let next = break_row(&mut row, &cell);
            used = next.width();
            rows.push(std::mem::replace(&mut row, next));
        }
        used += cell.width;
        row.place.end = cell.place.end;
        row.cells.push(cell);
    }
    let over = (used > width).then_some(row.place.end);
    rows.push(row);
    // A blank in the last column of all leaves none for the caret.
    rows.extend(over.map(|end| Row { cells: Vec::new(), place: end..end }));
}

/// Takes from a full row what goes on with the cell that did not fit.
fn break_row<'a>(row: &mut Row<'a>, next: &Cell<'a>) -> Row<'a> {
    let may = (1..row.cells.len()).rev().find(|at| may_break(&row.cells[at - 1], &row.cells[*at]));
    let at = match row.cells.last() {
        Some(last) if may_break(last, next) => row.cells.len(),
        _ => may.unwrap_or(row.cells.len()),
    };
    let rest = row.cells.split_off(at);
    let start = rest.first().map_or(next.place.start, |cell| cell.place.start);
    row.place.end = start;
    Row { cells: rest, place: start..next.place.start }
}

fn may_break(before: &Cell<'_>, after: &Cell<'_>) -> bool {
    if is_blank(before) || is_blank(after) {
        // Blanks stay together on the row of the word that they follow, as far as they fit.
        return is_blank(before) && !is_blank(after);
    }
    let wide = |cell: &Cell<'_>| cell.width == 2 && cell.look == CellLook::Text;
    (wide(before) || wide(after)) && !opens(&before.drawn) && !closes(&after.drawn)
}

fn is_blank(cell: &Cell<'_>) -> bool {
    cell.drawn.chars().all(|c| c == ' ' || c == '\u{3000}')
}

/// What no row ends with.
fn opens(drawn: &str) -> bool {
    drawn.starts_with(['(', '[', '{', '（', '［', '｛', '「', '『', '【', '〔', '《', '〈', '“', '‘'])
}

/// What no row begins with.
fn closes(drawn: &str) -> bool {
    drawn.starts_with([
        ')', ']', '}', ',', '.', ':', ';', '!', '?', '）', '］', '｝', '」', '』', '】', '〕', '》', '〉',
        '、', '。', '，', '．', '：', '；', '！', '？', '”', '’', '…', '・', 'ー',
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, width: usize) -> Vec<String> {
        let text = Text::from(text);
        let layout = Layout::new(&text, width, 0);
        layout.rows.iter().map(|row| row.cells.iter().map(|cell| &*cell.drawn).collect()).collect()
    }

    #[test]
    fn rows_end_at_words_and_between_ideographs() {
        assert_eq!(rows("the quick brown fox", 10), ["the quick ", "brown fox"]);
        assert_eq!(rows("aaaaaaaaaaaa b", 5), ["aaaaa", "aaaaa", "aa b"]);
        assert_eq!(rows("你好世界，再见", 8), ["你好世", "界，再见"]);
        assert_eq!(rows("你好世界，再见", 7), ["你好世", "界，再", "见"]);
        assert_eq!(rows("see 你好吗", 7), ["see 你", "好吗"]);
        assert_eq!(rows("a\n\nb", 5), ["a", "", "b"]);
        assert_eq!(rows("", 5), [""]);
    }

    #[test]
    fn a_blank_may_stand_behind_a_full_row() {
        assert_eq!(rows("abcde fgh", 5), ["abcde ", "fgh"]);
        assert_eq!(rows("abcde ", 5), ["abcde ", ""]);
        let text = Text::from("abcde ");
        assert_eq!(Layout::new(&text, 5, 0).position(5), (5, 0));
        assert_eq!(Layout::new(&text, 5, 0).position(6), (0, 1));
    }

    #[test]
    fn what_a_terminal_would_obey_is_spelled() {
        assert_eq!(rows("a\x1b[2Jb\u{202e}c", 40), ["a\\x1b[2Jb\\u{202e}c"]);
        assert_eq!(rows("a\tb", 40), ["a    b"]);
        assert_eq!(rows("\u{200b}", 40), ["\\u{200b}"]);
        assert_eq!(rows("👩‍👩‍👧e\u{301}🇩🇪", 40), ["👩‍👩‍👧e\u{301}🇩🇪"]);
        assert_eq!(rows("你", 1), ["·"]);
        // What goes along to the next row may fill it again.
        assert_eq!(rows("x abcdefgh\u{202e}", 10), ["x ", "abcdefgh", "\\u{202e}"]);
    }
}
