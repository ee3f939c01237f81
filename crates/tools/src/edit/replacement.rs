//! Where `old` stands in a file, and what takes its place. Matches bytes; only line ends may differ. Every byte outside of
//! the matches stays as it is.

use std::ops::Range;

use memchr::{memchr, memmem, memrchr};
use zdx_protocol::compare::{DiffOp, differences};

/// Places of `old` that an error names.
const NAMED: usize = 11;

/// Text to be replaced, as the model wrote it.
pub(super) struct Replacement {
    pub old: String,
    pub new: String,
    pub expected: u64,
}

/// A file's content after the replacement.
pub(super) struct EditedContent {
    pub content: Vec<u8>,
    pub count: usize,
    /// Line ends of `new` were written as CRLF, like those around them.
    pub crlf: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReplacementError {
    NotFound,
    /// With where the first few of them begin.
    Count(usize, Vec<usize>),
}

impl Replacement {
    /// Exact bytes first; then LF in `old` may be CRLF in the file.
    pub(super) fn apply(&self, content: &[u8]) -> Result<EditedContent, ReplacementError> {
        let exact = memmem::find_iter(content, &self.old).count();
        let loose = match exact as u64 == self.expected || !self.may_differ_in_line_ends(content) {
            true => Vec::new(),
            false => but_for_line_ends(content, &self.old),
        };
        let is_loose = exact == 0 || loose.len() as u64 == self.expected;
        let count = if is_loose { loose.len() } else { exact };
        let exact = || memmem::find_iter(content, &self.old).map(|at| at..at + self.old.len());
        let starts =
            |found: &mut dyn Iterator<Item = Range<usize>>| found.take(NAMED).map(|at| at.start).collect();
        match count {
            0 => Err(ReplacementError::NotFound),
            _ if count as u64 != self.expected => Err(ReplacementError::Count(
                count,
                match is_loose {
                    true => starts(&mut loose.into_iter()),
                    false => starts(&mut exact()),
                },
            )),
            _ if is_loose => Ok(self.replace(content, loose)),
            _ => Ok(self.replace(content, exact().collect())),
        }
    }

    fn may_differ_in_line_ends(&self, content: &[u8]) -> bool {
        self.old.contains('\n') && !self.old.contains('\r') && memmem::find(content, b"\r\n").is_some()
    }

    fn replace(&self, content: &[u8], found: Vec<Range<usize>>) -> EditedContent {
        // Whoever writes the returns of `old` knows of line ends, and files without CRLF have nothing to keep.
        let verbatim = self.old.contains('\r') || memmem::find(content, b"\r\n").is_none();
        let mut edited =
            EditedContent { content: Vec::with_capacity(content.len()), count: found.len(), crlf: false };
        let (mut at, mut behind) = (0, LineEndBehind::default());
        for mut place in found {
            // A line end is replaced as a whole.
            if !verbatim && content[place.start] == b'\n' && content[at..place.start].ends_with(b"\r") {
                place.start -= 1;
            }
            edited.content.extend_from_slice(&content[at..place.start]);
            match verbatim || !self.new.contains('\n') {
                true => edited.content.extend_from_slice(self.new.as_bytes()),
                false => {
                    let around = behind.find(content, &place);
                    edited.crlf |= put(&mut edited.content, &content[place.clone()], &self.new, around);
                }
            }
            at = place.end;
        }
        edited.content.extend_from_slice(&content[at..]);
        edited
    }
}

/// Places that read as `old` when each CRLF of the file is taken for LF.
fn but_for_line_ends(content: &[u8], old: &str) -> Vec<Range<usize>> {
    let mut plain = Vec::with_capacity(content.len());
    // Where in `plain` a line end stands that is CRLF in the file.
    let mut crlf = Vec::new();
    for line in content.split_inclusive(|&byte| byte == b'\n') {
        match line.strip_suffix(b"\r\n") {
            Some(body) => {
                plain.extend_from_slice(body);
                crlf.push(plain.len());
                plain.push(b'\n');
            }
            None => plain.extend_from_slice(line),
        }
    }
    let origin = |at: usize| at + crlf.partition_point(|&end| end < at);
    memmem::find_iter(&plain, old).map(|at| origin(at)..origin(at + old.len())).collect()
}

/// The next line end behind a place, found once for all places before it.
#[derive(Default)]
struct LineEndBehind(Option<usize>);

impl LineEndBehind {
    /// Whether lines around this place end with CRLF: the line it ends in, else the one before it.
    fn find(&mut self, content: &[u8], place: &Range<usize>) -> bool {
        if self.0.is_none_or(|known| known < place.end) {
            self.0 = memchr(b'\n', &content[place.end..]).map(|at| place.end + at);
        }
        let end = self.0.or_else(|| memrchr(b'\n', &content[..place.start]));
        end.is_some_and(|end| content[..end].ends_with(b"\r"))
    }
}

/// A line without its end, and whether that is CRLF; None for a part of a line.
fn split_end(line: &[u8]) -> (&[u8], Option<bool>) {
    match line {
        [body @ .., b'\r', b'\n'] => (body, Some(true)),
        [body @ .., b'\n'] => (body, Some(false)),
        body => (body, None),
    }
}

/// Writes `new` in the place of `old`: a line that stays keeps its end, any other has the end of the line it stands for, or of
/// its neighbour. Tells whether a plain line end became CRLF.
fn put<'a>(out: &mut Vec<u8>, old: &'a [u8], new: &'a str, around: bool) -> bool {
    let lines = |text: &'a [u8]| -> Vec<(&'a [u8], Option<bool>)> {
        text.split_inclusive(|&byte| byte == b'\n').map(split_end).collect()
    };
    let (old, new) = (lines(old), lines(new.as_bytes()));
    let bodies =
        |lines: &[(&'a [u8], Option<bool>)]| -> Vec<&'a [u8]> { lines.iter().map(|line| line.0).collect() };
    let mut converted = false;
    for op in differences(&bodies(&old), &bodies(&new), None) {
        for (nth, at) in op.new_range().enumerate() {
            let (body, end) = new[at];
            out.extend_from_slice(body);
            let Some(explicit) = end else { continue };
            let crlf = explicit || like(&old, &op, nth).unwrap_or(around);
            converted |= crlf && !explicit;
            out.extend_from_slice(if crlf { b"\r\n" } else { b"\n" });
        }
    }
    converted
}

/// Whether the line that the nth line of a difference stands for ends with CRLF, or else a line near it.
fn like(old: &[(&[u8], Option<bool>)], op: &DiffOp, nth: usize) -> Option<bool> {
    let range = op.old_range();
    let at = if range.is_empty() { range.start } else { (range.start + nth + 1).min(range.end) };
    old[..at].iter().rev().chain(&old[at..]).find_map(|(_, end)| *end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Pieces of lines with ends of any kind, some of them not UTF-8.
    fn content() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop::sample::select(vec![
            &b"a"[..],
            b"b",
            b"ab",
            b"\n",
            b"\r\n",
            b"\r\n",
            b"\r",
            b"\xff",
            "é".as_bytes(),
            b" ",
        ]);
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    fn text() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec!["a", "b", "ab", "\n", "\n", "é", " "]);
        prop::collection::vec(piece, 1..6).prop_map(|pieces| pieces.concat())
    }

    fn plain(content: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        for line in content.split_inclusive(|&byte| byte == b'\n') {
            let (body, end) = split_end(line);
            plain.extend_from_slice(body);
            plain.extend(end.map(|_| b'\n'));
        }
        plain
    }

    fn replaced(content: &[u8], old: &str, new: &str) -> Vec<u8> {
        let (mut out, mut at) = (Vec::new(), 0);
        for start in memmem::find_iter(content, old) {
            out.extend_from_slice(&content[at..start]);
            out.extend_from_slice(new.as_bytes());
            at = start + old.len();
        }
        out.extend_from_slice(&content[at..]);
        out
    }

    proptest! {
        /// But for line ends it is the plain replacement of all that was found.
        #[test]
        fn only_what_was_found_is_replaced(content in content(), old in text(), new in text()) {
            let count = but_for_line_ends(&content, &old).len() as u64;
            let is_exact = old.contains('\n') && memmem::find(&content, old.as_bytes()).is_some();
            if count == 0 || is_exact {
                return Ok(());
            }
            let replacement = Replacement { expected: count, old: old.clone(), new: new.clone() };
            let Ok(edited) = replacement.apply(&content) else { return Ok(()) };
            // A return that stood alone may come to stand before a line end, so none of them counts here.
            let without_returns = |mut text: Vec<u8>| {
                text.retain(|&byte| byte != b'\r');
                text
            };
            let expected = replaced(&plain(&content), &old, &new);
            prop_assert_eq!(without_returns(edited.content), without_returns(expected));
        }

        /// Bytes before the first and behind the last place are the same, line ends included.
        #[test]
        fn bytes_outside_are_unchanged(before in content(), after in content(), old in text(), new in text(), crlf: bool) {
            let middle = if crlf { old.replace('\n', "\r\n") } else { old.clone() };
            // Marks that are in no text keep places apart.
            let content = [&before, &b"<"[..], middle.as_bytes(), b">", &after].concat();
            let replacement = Replacement { old: format!("<{old}>"), new: format!("<{new}>"), expected: 1 };
            let edited = replacement.apply(&content).ok().unwrap().content;
            prop_assert!(edited.starts_with(&[&before, &b"<"[..]].concat()));
            prop_assert!(edited.ends_with(&[&b">"[..], &after].concat()));
        }

        /// In a file whose lines all end alike, they still do.
        #[test]
        fn a_file_of_one_kind_stays_one(lines in prop::collection::vec("[ab]{0,2}", 1..8), old in text(), new in text(), crlf: bool) {
            let end = if crlf { "\r\n" } else { "\n" };
            let content = lines.join(end) + end;
            let expected = memmem::find_iter(&plain(content.as_bytes()), &old).count() as u64;
            if expected == 0 {
                return Ok(());
            }
            let replacement = Replacement { old, new, expected };
            let edited = replacement.apply(content.as_bytes()).ok().unwrap().content;
            let ends = edited.split_inclusive(|&byte| byte == b'\n').filter_map(|line| split_end(line).1);
            prop_assert!(ends.into_iter().all(|is_crlf| is_crlf == crlf), "{}", edited.escape_ascii());
            prop_assert!(!edited.windows(2).any(|pair| pair[0] == b'\r' && pair[1] != b'\n'));
        }
    }
}
