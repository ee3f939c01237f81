//! Markdown as quiet lines, also while it still comes: what is settled is given once, what may change is the tail.
//! A whole text takes the same way as a stream, so both look the same by construction.

mod block;
mod blocks;
mod inline;
mod open;
mod setter;
mod starts;
mod table;
#[cfg(test)]
mod tests;

use ratatui_core::text::Line;
use unicode_segmentation::UnicodeSegmentation;
use zdx_protocol::display::{Colours, Sanitizer};

use super::code::expand_tabs;
use crate::Look;
use block::{Block, What};
use blocks::Blocks;
use setter::Setter;

/// A longer line is not waited for.
const LONGEST_LINE: usize = 4 * 1024;

/// A whole text.
pub(crate) fn render(text: &str, look: Look<'_>) -> Vec<Line<'static>> {
    let mut stream = Stream::default();
    stream.push(text);
    stream.finish();
    stream.settled(look)
}

/// A text that comes in parts; however it is cut, the lines are the same.
pub(crate) struct Stream {
    clean: Sanitizer,
    reader: Reader,
    /// Closed, and not given away yet.
    closed: Vec<Block>,
    setter: Setter,
}

impl Default for Stream {
    fn default() -> Self {
        let clean = Sanitizer::new(Colours::Strip);
        Self { clean, reader: Reader::default(), closed: Vec::new(), setter: Setter::default() }
    }
}

impl Stream {
    pub(crate) fn push(&mut self, delta: &str) {
        self.clean.push_into(delta, &mut self.reader.pending);
        self.reader.read(&mut self.closed);
    }

    /// Lines that will not change any more, each given once.
    pub(crate) fn settled(&mut self, look: Look<'_>) -> Vec<Line<'static>> {
        let mut out = Vec::new();
        for block in self.closed.drain(..) {
            self.setter.set(block, look, &mut out);
        }
        out
    }

    /// The lines behind the settled ones, as if the text ended here, but for a mark whose line has yet to come: by itself it
    /// would make something else of what stands above it, for a moment. Costs what is open, not what was written.
    pub(crate) fn tail(&self, look: Look<'_>) -> Vec<Line<'static>> {
        self.tail_with(look, open::closed)
    }

    /// `end` is what is made of the last text, which may go on.
    fn tail_with(&self, look: Look<'_>, end: impl Fn(&str) -> String) -> Vec<Line<'static>> {
        let mut blocks = self.closed.clone();
        let mut reader = self.reader.clone();
        if !reader.within && is_mark(&reader.pending) {
            reader.pending.clear();
        }
        let closed = blocks.len();
        reader.finish(&mut blocks);
        if let Some(Block {
            what: What::Text(text) | What::MoreText(text) | What::Heading(_, text), ..
        }) = blocks[closed..].last_mut()
        {
            *text = end(text);
        }
        let mut setter = self.setter.clone();
        let mut out = Vec::new();
        blocks.into_iter().for_each(|block| setter.set(block, look, &mut out));
        out
    }

    /// Nothing follows: all of it is settled.
    pub(crate) fn finish(&mut self) {
        self.reader.finish(&mut self.closed);
    }
}

/// Cuts text into lines for the blocks.
#[derive(Clone, Default)]
struct Reader {
    pending: String,
    /// How much of it is known to hold no line end.
    searched: usize,
    /// The start of this line is read already.
    within: bool,
    blocks: Blocks,
}

impl Reader {
    fn read(&mut self, out: &mut Vec<Block>) {
        let mut from = 0;
        loop {
            let rest = &self.pending[from..];
            let head = &rest.as_bytes()[..rest.len().min(LONGEST_LINE)];
            let searched = std::mem::replace(&mut self.searched, head.len());
            let (len, skip) = match head[searched..].iter().position(|byte| *byte == b'\n') {
                Some(at) => (searched + at, 1),
                None if rest.len() > LONGEST_LINE => (piece(rest), 0),
                None => break,
            };
            let line = expand_tabs(&rest[..len]);
            feed(&mut self.blocks, &line, self.within, out);
            self.within = skip == 0;
            self.searched = 0;
            from += len + skip;
        }
        self.pending.drain(..from);
    }

    fn finish(&mut self, out: &mut Vec<Block>) {
        let line = std::mem::take(&mut self.pending);
        if !line.is_empty() {
            feed(&mut self.blocks, &expand_tabs(&line), self.within, out);
        }
        (self.within, self.searched) = (false, 0);
        self.blocks.finish(out);
    }
}

/// The beginning of a row, of an item, or of what underlines: nobody can say yet.
fn is_mark(line: &str) -> bool {
    let line = line.trim();
    line.len() < 3 && line.chars().all(|c| matches!(c, '|' | '-' | '='))
}

fn feed(blocks: &mut Blocks, line: &str, within: bool, out: &mut Vec<Block>) {
    match (within, line.is_empty()) {
        (false, _) => blocks.line(line, out),
        (true, false) => blocks.more(line, out),
        (true, true) => {}
    }
}

/// How much of a line that is too long to take: up to its last blank, else whole graphemes.
fn piece(rest: &str) -> usize {
    let head = &rest[..rest.floor_char_boundary(LONGEST_LINE)];
    let blank = head.rfind(' ').map(|at| at + 1);
    let grapheme = || head.grapheme_indices(true).next_back().map(|(at, _)| at).filter(|at| *at > 0);
    blank.or_else(grapheme).unwrap_or(head.len())
}
