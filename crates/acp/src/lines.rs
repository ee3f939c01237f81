//! A stream of bytes as lines of bounded length.

use memchr::memchr;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// An image in a prompt or a whole file fits; what is longer is nobody's message.
pub(crate) const LONGEST: usize = 64 << 20;

pub(crate) struct Lines<R> {
    from: BufReader<R>,
    longest: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Whole(Vec<u8>),
    /// Too long: how it begins.
    Cut(Vec<u8>),
}

/// Of a line that is too long, what is kept to tell what it was.
const KEPT: usize = 4 << 10;

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(from: R, longest: usize) -> Self {
        Self { from: BufReader::with_capacity(64 << 10, from), longest }
    }

    /// `None` at the end of the stream, or when it breaks. A last line without an end is one, too: an agent that dies writes
    /// such.
    pub(crate) async fn next(&mut self) -> Option<Line> {
        let (mut line, mut cut) = (Vec::new(), false);
        loop {
            let piece = match self.from.fill_buf().await {
                Ok([]) | Err(_) => break,
                Ok(piece) => piece,
            };
            let end = memchr(b'\n', piece);
            let taken = end.map_or(piece.len(), |at| at + 1);
            let text = &piece[..end.unwrap_or(piece.len())];
            if !cut && line.len() + text.len() > self.longest {
                cut = true;
                line.extend_from_slice(text);
                line.truncate(KEPT);
                line.shrink_to_fit();
            } else if !cut {
                line.extend_from_slice(text);
            }
            self.from.consume(taken);
            if end.is_some() {
                return Some(if cut { Line::Cut(line) } else { Line::Whole(line) });
            }
        }
        match (cut, line.is_empty()) {
            (true, _) => Some(Line::Cut(line)),
            (false, false) => Some(Line::Whole(line)),
            (false, true) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(input: &[u8], longest: usize) -> Vec<Line> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (mut lines, mut found) = (Lines::new(input, longest), Vec::new());
            while let Some(line) = lines.next().await {
                found.push(line);
            }
            found
        })
    }

    #[test]
    fn every_line_comes_whole_and_so_does_a_last_half() {
        let whole = |text: &str| Line::Whole(text.as_bytes().to_vec());
        assert_eq!(lines(b"a\n\nbc\nhalf", 100), [whole("a"), whole(""), whole("bc"), whole("half")]);
        assert_eq!(lines(b"", 100), []);
    }

    #[test]
    fn what_is_too_long_is_skipped_and_the_next_is_read() {
        let long = [b'x'; 300_000];
        let input = [long.as_slice(), b"\nnext\n", &long].concat();
        let found = lines(&input, 200_000);
        assert_eq!(found[1], Line::Whole(b"next".to_vec()));
        let cut = |line: &Line| matches!(line, Line::Cut(kept) if kept.len() == KEPT);
        assert!(cut(&found[0]) && cut(&found[2]) && found.len() == 3);
    }
}
