//! What a running command prints, line by line as a terminal would show it. Bounded, whatever is printed: the end is kept.

use std::collections::VecDeque;

use super::call::Kept;

/// Of all lines together, with what it takes to keep each.
const MOST: usize = 64 << 10;
const LINE: usize = std::mem::size_of::<String>();
/// Of one line.
const BYTES: usize = 2_000;

#[derive(Debug, Default)]
pub(super) struct Tail {
    /// The last one may still be written to.
    lines: VecDeque<String>,
    /// What they take.
    bytes: usize,
    /// Lines that were begun, those that are gone included.
    begun: usize,
    /// The last line has ended.
    ended: bool,
    /// A carriage return came: what follows is written over the line.
    returned: bool,
}

impl Tail {
    pub(super) fn push(&mut self, chunk: &str) {
        let mut rest = chunk;
        while let Some(at) = rest.find(['\n', '\r']) {
            self.put(&rest[..at]);
            match rest.as_bytes()[at] {
                b'\n' => {
                    self.begin();
                    (self.ended, self.returned) = (true, false);
                }
                _ => self.returned = true,
            }
            rest = &rest[at + 1..];
        }
        self.put(rest);
    }

    /// There is a line to write to.
    fn begin(&mut self) {
        if self.lines.is_empty() || self.ended {
            self.ended = false;
            self.begun += 1;
            self.lines.push_back(String::new());
            self.bytes += LINE;
            self.drop_oldest();
        }
    }

    fn put(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.begin();
        let returned = std::mem::take(&mut self.returned);
        let Some(line) = self.lines.back_mut() else { return };
        if returned {
            self.bytes -= line.len();
            line.clear();
        }
        let room = text.floor_char_boundary(BYTES.saturating_sub(line.len()));
        line.push_str(&text[..room]);
        self.bytes += room;
        self.drop_oldest();
    }

    fn drop_oldest(&mut self) {
        while self.bytes > MOST
            && let Some(gone) = self.lines.pop_front()
        {
            self.bytes -= LINE + gone.len();
        }
    }

    /// All that is kept of it, and how much there was.
    pub(super) fn whole(self) -> Kept {
        let (lines, cut) = (self.begun, self.begun > self.lines.len());
        Kept { text: Vec::from(self.lines).join("\n"), lines, left_out: 0, cut }
    }

    /// The last so many lines, as they came.
    pub(super) fn last(&self, most: usize) -> impl Iterator<Item = &str> {
        self.lines.iter().skip(self.lines.len().saturating_sub(most)).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(chunks: &[&str]) -> Vec<String> {
        let mut tail = Tail::default();
        chunks.iter().for_each(|chunk| tail.push(chunk));
        tail.last(3).map(str::to_owned).collect()
    }

    #[test]
    fn lines_are_what_a_terminal_would_show() {
        assert_eq!(tail(&["a\nb", "c\n", "\nd"]), ["bc", "", "d"]);
        assert_eq!(tail(&["10 %\r20 %", "\r", "30 %\r\nnext"]), ["30 %", "next"]);
        assert_eq!(tail(&["x\n"]), ["x"]);
        assert_eq!(tail(&[]), Vec::<String>::new());
    }

    #[test]
    fn however_much_is_printed_little_is_kept() {
        let mut tail = Tail::default();
        for n in 0..100_000 {
            tail.push(&format!("line {n}\n"));
        }
        (0..100_000).for_each(|_| tail.push("x"));
        assert_eq!(tail.begun, 100_001);
        let mut blank = Tail::default();
        (0..100_000).for_each(|_| blank.push("\n"));
        assert!(blank.bytes <= MOST && blank.lines.len() * LINE <= MOST);
        let kept: usize = tail.lines.iter().map(|line| LINE + line.len()).sum();
        assert!(kept == tail.bytes && kept <= MOST && kept > MOST / 2, "{kept}");
        let whole = tail.whole();
        assert!(whole.cut && whole.lines == 100_001 && whole.text.starts_with("line 9"));
    }
}
