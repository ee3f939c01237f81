//! What one file has to show: matching lines, and those around them.
//! Bounded in number and in length, whatever the file holds.

use std::io;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};

use zdx_workspace::text::{LIMIT, after_cut, before_cut, decode};

/// Of a long line so much is shown, around the first match.
const LINE: usize = 400;
const BEFORE_MATCH: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinePiece {
    Match,
    Context,
    /// Lines left out in between.
    Gap,
}

/// A line, or a gap, as it is shown.
pub struct ShownPiece {
    pub piece: LinePiece,
    pub text: String,
    /// Bytes of it that are not UTF-8 are shown as U+FFFD.
    pub lossy: bool,
}

pub struct LineSink<'m> {
    matcher: &'m RegexMatcher,
    most: usize,
    pub pieces: Vec<ShownPiece>,
    pub matches: usize,
    pub bytes: usize,
}

impl<'m> LineSink<'m> {
    /// One match more than is shown is kept, as the sign that there are more.
    pub fn new(matcher: &'m RegexMatcher, limit: usize) -> Self {
        Self { matcher, most: limit + 1, pieces: Vec::new(), matches: 0, bytes: 0 }
    }

    fn add(&mut self, piece: LinePiece, number: Option<u64>, line: &[u8]) -> bool {
        let text = match piece {
            LinePiece::Gap => "--\n".to_owned(),
            LinePiece::Match => format!("{}:{}\n", number.unwrap_or_default(), self.cut(line)),
            LinePiece::Context => format!("{}-{}\n", number.unwrap_or_default(), self.cut(line)),
        };
        self.bytes += text.len();
        self.matches += usize::from(piece == LinePiece::Match);
        let lossy = std::str::from_utf8(line).is_err();
        self.pieces.push(ShownPiece { piece, text, lossy });
        self.matches < self.most && self.bytes <= LIMIT
    }

    fn cut(&self, line: &[u8]) -> String {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() <= LINE {
            return decode(line);
        }
        let found = self.matcher.find(line).ok().flatten().map_or(0, |found| found.start());
        let start = if found + BEFORE_MATCH > LINE { found - BEFORE_MATCH.min(found) } else { 0 };
        let end = (start + LINE).min(line.len());
        let middle = decode(before_cut(after_cut(&line[start..end])));
        let dots = if start > 0 { "…" } else { "" };
        format!("{dots}{middle}… [{} bytes in this line]", line.len())
    }
}

impl Sink for &mut LineSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        Ok(self.add(LinePiece::Match, found.line_number(), found.bytes()))
    }

    fn context(&mut self, _: &Searcher, around: &SinkContext<'_>) -> io::Result<bool> {
        Ok(self.add(LinePiece::Context, around.line_number(), around.bytes()))
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        Ok(self.add(LinePiece::Gap, None, b""))
    }

    /// What was found before a file turned out to be binary is no text either.
    fn finish(&mut self, searcher: &Searcher, end: &SinkFinish) -> io::Result<()> {
        if end.binary_byte_offset().is_some() && searcher.binary_detection().quit_byte().is_some() {
            self.pieces.clear();
            (self.matches, self.bytes) = (0, 0);
        }
        Ok(())
    }
}
