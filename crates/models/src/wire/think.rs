//! Thinking that a server leaves in the text of an answer, because it has no parser for it: a leading `<think>…</think>`
//! is taken out and told as thinking, whatever pieces it comes in. Stands between a wire's decoder and everybody else;
//! a server that tells thinking apart itself is left alone.

use zdx_protocol::Reasoning;

use super::{Decode, Frame, Wire};
use crate::{ModelError, ModelEvent};

#[cfg(test)]
mod tests;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

pub(super) struct ThinkSplit {
    inner: Box<dyn Decode>,
    /// What the inner decoder made of the last frame.
    decoded: Vec<ModelEvent>,
    wire: Wire,
    model: String,
    state: State,
    /// What cannot be told apart yet: white space and pieces of a tag.
    held: String,
    thought: String,
    /// In [`State::Text`]: what was said last ended its line, or nothing was said.
    line_start: bool,
    /// In [`State::Text`]: so much of [`OPEN`] was said last.
    opening: usize,
    said: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing but white space came.
    Before,
    Inside,
    /// The block is closed: the white space behind it belongs to it.
    After,
    /// The answer began as text. Templates that open the block themselves (DeepSeek-R1, Qwen's thinking models) leave only
    /// its end to the model: a `</think>` alone on its line, with no `<think>` before it, says what the text was.
    Text,
    /// There is nothing left to look for.
    Settled,
}

type Out<'a> = &'a mut Vec<ModelEvent>;

impl Decode for ThinkSplit {
    fn frame(&mut self, frame: &Frame, out: Out) -> Result<(), ModelError> {
        let result = self.inner.frame(frame, &mut self.decoded);
        self.split(out);
        result
    }

    fn whole(&mut self, body: &[u8], out: Out) -> Result<(), ModelError> {
        let result = self.inner.whole(body, &mut self.decoded);
        self.split(out);
        result
    }

    fn finish(&mut self, out: Out) -> Result<(), ModelError> {
        let result = self.inner.finish(&mut self.decoded);
        self.split(out);
        result
    }
}

impl ThinkSplit {
    pub fn new(inner: Box<dyn Decode>, wire: Wire, model: &str) -> Self {
        Self {
            inner,
            decoded: Vec::new(),
            wire,
            model: model.to_owned(),
            state: State::Before,
            held: String::new(),
            thought: String::new(),
            line_start: true,
            opening: 0,
            said: false,
        }
    }

    fn split(&mut self, out: Out) {
        for event in std::mem::take(&mut self.decoded) {
            match event {
                ModelEvent::Text(text) if self.state == State::Settled => out.push(ModelEvent::Text(text)),
                ModelEvent::Text(text) => self.push(&text, out),
                event => {
                    self.settle(out);
                    out.push(event);
                }
            }
        }
    }

    fn push(&mut self, text: &str, out: Out) {
        self.held.push_str(text);
        loop {
            let before = self.state;
            match before {
                State::Before => self.begin(),
                State::Inside => self.think(out),
                State::After => self.skip(),
                State::Text => self.read_on(out),
                State::Settled => self.say(self.held.len(), out),
            }
            if self.state == before {
                return;
            }
        }
    }

    fn begin(&mut self) {
        let start = self.held.trim_start();
        if let Some(rest) = start.strip_prefix(OPEN) {
            (self.held, self.state) = (rest.to_owned(), State::Inside);
        } else if let Some(rest) = start.strip_prefix(CLOSE) {
            (self.held, self.state) = (rest.to_owned(), State::After);
        } else if !OPEN.starts_with(start) && !CLOSE.starts_with(start) {
            self.state = State::Text;
        }
    }

    fn think(&mut self, out: Out) {
        if self.thought.is_empty() {
            self.held = self.held.trim_start().to_owned();
        }
        if let Some(at) = self.held.find(CLOSE) {
            let rest = self.held.split_off(at + CLOSE.len());
            self.held.truncate(at);
            self.end_thought(out);
            (self.held, self.state) = (rest, State::After);
            return;
        }
        // White space before the end of the block is not part of the thought either.
        let kept = self.held[..self.held.len() - begun(&self.held, CLOSE)].trim_end().len();
        let rest = self.held.split_off(kept);
        self.tell_thought(out);
        self.held = rest;
    }

    /// Blank lines go; how far the first line of the answer is indented is its own business.
    fn skip(&mut self) {
        let blank = self.held.len() - self.held.trim_start().len();
        if blank < self.held.len() {
            let start = self.held[..blank].rfind('\n').map_or(blank, |end| end + 1);
            self.held.drain(..start);
            self.state = State::Settled;
        }
    }

    /// Says what came, up to what may be the end of a block that was never opened.
    fn read_on(&mut self, out: Out) {
        let first = self.line_start.then_some(0);
        let lines = self.held.match_indices('\n').map(|(at, _)| at + 1);
        for at in first.into_iter().chain(lines) {
            let line = &self.held[at..];
            let alone = line.strip_prefix(CLOSE).map(|rest| rest.starts_with(['\n', '\r']));
            if alone == Some(true) {
                self.say(at, out);
                if self.opening == OPEN.len() {
                    self.state = State::Settled;
                    return;
                }
                self.held.drain(..CLOSE.len());
                self.was_thinking(out);
                self.state = State::After;
                return;
            }
            if !line.is_empty() && CLOSE.starts_with(line) {
                self.say(at, out);
                return;
            }
        }
        self.say(self.held.len(), out);
    }

    /// Something else comes, or nothing more: what is held back is what it looks like.
    fn settle(&mut self, out: Out) {
        match self.state {
            State::Before | State::Settled => self.say(self.held.len(), out),
            State::Inside => {
                self.held.truncate(self.held.trim_end().len());
                self.end_thought(out);
            }
            State::After => self.held.clear(),
            State::Text if self.held == CLOSE && self.opening < OPEN.len() => {
                self.held.clear();
                self.was_thinking(out);
            }
            State::Text => self.say(self.held.len(), out),
        }
        self.state = State::Settled;
    }

    fn say(&mut self, bytes: usize, out: Out) {
        let rest = self.held.split_off(bytes);
        let text = std::mem::replace(&mut self.held, rest);
        if text.is_empty() {
            return;
        }
        if self.state == State::Text {
            self.line_start = text.ends_with('\n');
            self.note_opening(&text);
        }
        self.said = true;
        out.push(ModelEvent::Text(text));
    }

    /// An answer that speaks of both tags is about them.
    fn note_opening(&mut self, text: &str) {
        for byte in text.bytes() {
            match OPEN.as_bytes().get(self.opening) {
                None => return,
                Some(next) if *next == byte => self.opening += 1,
                Some(_) => self.opening = usize::from(byte == b'<'),
            }
        }
    }

    fn was_thinking(&self, out: Out) {
        if self.said {
            out.push(ModelEvent::WasThinking);
        }
    }

    fn tell_thought(&mut self, out: Out) {
        let text = std::mem::take(&mut self.held);
        self.thought.push_str(&text);
        if !text.is_empty() {
            out.push(ModelEvent::ReasoningDelta(text));
        }
    }

    fn end_thought(&mut self, out: Out) {
        self.held.truncate(self.held.trim_end().len());
        self.tell_thought(out);
        let text = std::mem::take(&mut self.thought);
        if !text.is_empty() {
            let (wire, model) = (self.wire.name().to_owned(), self.model.clone());
            // No server that leaves it in the text reads it anywhere else.
            out.push(ModelEvent::Reasoning(Reasoning { text, wire, model, opaque: None, took_ms: None }));
        }
    }
}

/// How many bytes at the end of `text` may be the beginning of `tag`.
fn begun(text: &str, tag: &str) -> usize {
    (1..tag.len()).rev().find(|length| text.ends_with(&tag[..*length])).unwrap_or_default()
}
