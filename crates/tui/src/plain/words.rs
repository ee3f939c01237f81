//! Words that are printed as they come, and still never broken at the edge of a terminal: one that turns out to cross
//! it is taken back and put on the next line.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthChar;

const TAB: usize = 8;

/// Where the cursor stands, and the word before it.
#[derive(Debug, Default)]
pub struct Words {
    column: usize,
    /// Since the last blank, as it was printed, and the columns that it takes.
    word: String,
    width: usize,
    /// The last character was a blank.
    blank: bool,
    /// Inside a colour code, which takes no room.
    in_code: bool,
}

impl Words {
    /// Something else put the cursor at the margin.
    pub fn at_margin(&mut self) {
        *self = Self::default();
    }

    /// What to print for a piece of clean text; colours may be in it.
    pub fn push(&mut self, text: &str, columns: usize) -> String {
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            self.put(c, columns.max(1), &mut out);
        }
        out
    }

    fn put(&mut self, c: char, columns: usize, out: &mut String) {
        if self.in_code || c == '\x1b' {
            self.in_code = !c.is_ascii_alphabetic();
            self.word.push(c);
            out.push(c);
            return;
        }
        match c {
            '\n' => {
                self.at_margin();
                out.push(c);
            }
            '\t' => {
                let stop = (self.column / TAB + 1) * TAB;
                self.column = stop.min(columns.saturating_sub(1)).max(self.column);
                self.begin();
                out.push(c);
            }
            // A blank at the edge is the break itself.
            ' ' if self.column >= columns => {
                self.at_margin();
                out.push('\n');
            }
            ' ' => {
                self.column += 1;
                self.begin();
                self.blank = true;
                out.push(c);
            }
            c => self.letter(c, columns, out),
        }
    }

    fn letter(&mut self, c: char, columns: usize, out: &mut String) {
        let width = c.width().unwrap_or(0);
        if self.column + width > columns {
            let start = self.column.saturating_sub(self.width);
            if self.width > 0 && start > 0 && self.width + width <= columns {
                // To where the word began, and away with it.
                let _ = write!(out, "\x1b[{}G\x1b[K\n{}", start + 1, self.word);
                self.column = self.width;
            } else {
                // Inside a word the terminal breaks it by itself.
                if self.blank {
                    out.push('\n');
                }
                self.column = 0;
                self.begin();
            }
        }
        out.push(c);
        self.column += width;
        self.blank = false;
        match width {
            // Between such characters a line may be broken anywhere.
            2.. => self.begin(),
            _ => {
                self.word.push(c);
                self.width += width;
            }
        }
        // No line has room for it.
        if self.width > columns {
            self.begin();
        }
    }

    fn begin(&mut self) {
        self.word.clear();
        self.width = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn screen(pieces: &[&str], columns: u16) -> Vec<String> {
        let mut words = Words::default();
        let sized = |n| std::num::NonZero::new(n).unwrap();
        let (rows, wide) = (sized(60), sized(columns));
        let mut parser = vt100::Parser::new(rows, wide, 0);
        for piece in pieces {
            let out = words.push(piece, usize::from(columns)).replace('\n', "\r\n");
            parser.process(out.as_bytes());
        }
        let rows = parser.screen().rows(0, columns).map(|row| row.trim_end().to_owned());
        let mut rows: Vec<String> = rows.collect();
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        rows
    }

    #[test]
    fn a_word_that_crosses_the_edge_moves_to_the_next_line() {
        assert_eq!(screen(&["one two thr", "ee four"], 10), ["one two", "three four"]);
        assert_eq!(screen(&["one two ab cd"], 10), ["one two ab", "cd"]);
        assert_eq!(screen(&["see abcdefghijklmnop"], 10), ["see", "abcdefghij", "klmnop"]);
        assert_eq!(screen(&["漢字漢字漢字"], 5), ["漢字", "漢字", "漢字"]);
        assert_eq!(screen(&["a \x1b[31mred\x1b[0m words"], 6), ["a red", "words"]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_no_word_is_broken_that_fits(
            text in "([a-zé]{1,12}[ \n]){1,30}", columns in 12u16..40, cut in 1usize..9,
        ) {
            let chars: Vec<char> = text.chars().collect();
            let pieces: Vec<String> = chars.chunks(cut).map(|chunk| chunk.iter().collect()).collect();
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            let rows = screen(&pieces, columns);
            let shown: Vec<&str> = rows.iter().flat_map(|row| row.split_whitespace()).collect();
            prop_assert_eq!(shown, text.split_whitespace().collect::<Vec<_>>());
        }
    }
}
