//! What is typed (the input box, prompt editor): a text with chips, a caret, undo, history and its search. Keys go in, and what
//! became of them comes out; it sends nothing and reads no file.

mod draw;
mod history;
mod keys;
mod layout;
mod search;
mod text;
mod undo;

#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::Range;

use zdx_protocol::ImageInfo;
use zdx_protocol::prompt_history::{LONG, LONGEST};
use zdx_protocol::slash::{Line, parse};

pub(crate) use history::History;
use search::Search;
use text::Text;
use undo::{Kind, Undo};

/// A paste that is longer becomes a chip.
const MOST_PASTED_LINES: usize = 10;
const MOST_PASTED_CHARS: usize = 1_000;
/// A text from elsewhere that is longer is a chip as a whole: what is drawn with every key stays small.
const MOST_SHOWN: usize = 32 << 10;
/// An entry of the history with more lines, or bytes, is shown by its first line and a chip.
const MOST_RECALLED_LINES: usize = 100;
const MOST_FIRST: usize = 200;
/// More is no message.
const MOST: usize = 16 << 20;
/// So many prompts with chips come back with them.
const MOST_SENT: usize = 20;
const PLACEHOLDER: &str = "describe a task · @ files · / commands · ! shell";

/// What became of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// Ours, but the text is the same: the caret may have moved.
    Nothing,
    Edited,
    /// The text is to be sent: take the draft.
    Submit,
    /// Means nothing here.
    Unused,
}

/// A text that was put aside, chips and all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Draft {
    text: Text,
    caret: usize,
}

impl From<&str> for Draft {
    fn from(text: &str) -> Self {
        Self { text: Text::from(text), caret: text.len() }
    }
}

impl Draft {
    /// What it says, chips expanded.
    pub(crate) fn text(&self) -> String {
        self.text.expanded()
    }

    /// How it looks, chips collapsed.
    pub(crate) fn shown(&self) -> &str {
        self.text.shown()
    }
}

#[derive(Debug)]
pub(crate) struct Composer {
    text: Text,
    caret: usize,
    undo: Undo,
    killed: Text,
    /// The last key killed: the next kill adds to it.
    killing: bool,
    /// The column that Up and Down keep to.
    goal: Option<usize>,
    history: History,
    walk: Option<Walk>,
    /// The text was typed some time ago, and nothing was changed in it since.
    recalled: bool,
    search: Option<Search>,
    stash: Option<Draft>,
    /// What was sent with chips in it, so that it comes back as it was: the history holds but its text.
    sent: VecDeque<Text>,
    pastes: usize,
    /// How it was drawn last: rows depend on it.
    seen: Cell<Seen>,
}

/// Going through history, with what was typed before.
#[derive(Debug)]
struct Walk {
    at: usize,
    draft: Draft,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    /// Columns for text.
    width: usize,
    /// The first row shown.
    top: usize,
}

impl Composer {
    pub(crate) fn new(history: History) -> Self {
        Self {
            text: Text::default(),
            caret: 0,
            undo: Undo::default(),
            killed: Text::default(),
            killing: false,
            goal: None,
            history,
            walk: None,
            recalled: false,
            search: None,
            stash: None,
            sent: VecDeque::new(),
            pastes: 0,
            seen: Cell::new(Seen { width: 77, top: 0 }),
        }
    }

    /// What is meant, chips expanded.
    pub(crate) fn text(&self) -> String {
        self.text.expanded()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// A command for the shell is typed.
    pub(crate) fn is_shell(&self) -> bool {
        self.text.shown().starts_with('!')
    }

    pub(crate) fn is_searching(&self) -> bool {
        self.search.is_some()
    }

    /// What stands there was taken from the history as it is: there is nothing to complete in it.
    pub(crate) fn is_recalled(&self) -> bool {
        self.recalled
    }

    /// The shown text, and the caret as a byte of it: what completions are asked for.
    pub(crate) fn line_and_cursor(&self) -> (String, usize) {
        (self.text.shown().to_owned(), self.caret)
    }

    /// Puts something in a place of the shown text, and the caret behind it.
    pub(crate) fn replace(&mut self, range: Range<usize>, new: &str) {
        self.edit(range, Text::from(&*newlines(new)), Kind::Alone);
    }

    /// The whole text with its chips, to be sent or queued; what is left is an empty composer that remembers only what was killed.
    pub(crate) fn take_draft(&mut self) -> Draft {
        let draft = Draft { text: std::mem::take(&mut self.text), caret: self.caret };
        (self.caret, self.undo, self.walk, self.search) = (0, Undo::default(), None, None);
        (self.goal, self.killing, self.recalled) = (None, false, false);
        draft
    }

    pub(crate) fn set_draft(&mut self, draft: Draft) {
        self.edit(0..self.text.len(), draft.text, Kind::Alone);
        self.caret = self.text.snap(draft.caret);
        (self.walk, self.search) = (None, None);
    }

    /// Puts a text before what is there, which is a paragraph of its own then.
    pub(crate) fn put_before(&mut self, draft: Draft) {
        if self.is_empty() {
            return self.set_draft(draft);
        }
        let mut text = draft.text;
        text.splice(text.len()..text.len(), &Text::from("\n\n"));
        self.edit(0..0, text, Kind::Alone);
        self.caret = self.text.snap(draft.caret);
        (self.walk, self.search) = (None, None);
    }

    /// Another text instead, say from an editor. What is still there of chips is collapsed again.
    pub(crate) fn set(&mut self, new: &str) {
        let new = newlines(new);
        let mut text = Text::from(&*new);
        for (place, content) in self.text.chips() {
            if let Some(at) = text.shown().find(content) {
                let label = &self.text.shown()[place];
                text.splice(at..at + content.len(), &Text::chip(label, content));
            }
        }
        if text.len() > MOST_SHOWN {
            let whole = text.expanded();
            text = self.chip(&whole);
        }
        self.edit(0..self.text.len(), text, Kind::Alone);
        (self.walk, self.search) = (None, None);
    }

    /// A prompt that was sent before instead: of one with a paste in it a chip.
    pub(crate) fn recall(&mut self, sent: &str) {
        let text = self.as_recalled(newlines(sent).into_owned());
        self.edit(0..self.text.len(), text, Kind::Alone);
        (self.walk, self.search) = (None, None);
    }

    /// Puts the text aside, if there is any: an interrupt or a message from elsewhere takes its place.
    pub(crate) fn stash(&mut self) {
        if !self.is_empty() {
            self.stash = Some(self.take_draft());
        }
    }

    /// What was put aside is no longer the next thing that is wanted: it is an earlier prompt like the others.
    pub(crate) fn file_stash(&mut self) {
        if let Some(draft) = self.stash.take() {
            self.history.push(draft.text());
        }
    }

    /// Something was put aside that can be had again.
    pub(crate) fn has_stash(&self) -> bool {
        self.stash.is_some()
    }

    /// Brings back what was put aside, unless something else was typed meanwhile.
    pub(crate) fn unstash(&mut self) -> bool {
        if !self.is_empty() {
            return false;
        }
        let stashed = self.stash.take();
        let found = stashed.is_some();
        stashed.into_iter().for_each(|draft| self.set_draft(draft));
        found
    }

    /// What earlier sessions left.
    pub(crate) fn loaded(&mut self, older: Vec<String>) {
        let before = self.history.len();
        self.history.loaded(older);
        // Who walks already goes on from the same entry; who searches sees what there is now.
        let grown = self.history.len().saturating_sub(before);
        if let Some(walk) = &mut self.walk {
            walk.at += grown;
        }
        self.search_more("");
    }

    /// Keeps a line for Up and Ctrl-R; whoever calls it sees to it that no secret is in it.
    pub(crate) fn remember(&mut self, line: String) {
        self.history.push(line);
    }

    /// This was sent: of one with chips it is remembered where they stood.
    pub(crate) fn sent(&mut self, draft: &Draft) {
        if draft.text.chips().next().is_none() || draft.text.expanded_len() > LONGEST {
            return;
        }
        self.sent.truncate(MOST_SENT - 1);
        self.sent.push_front(draft.text.clone());
    }

    /// Whether it was sent like this, and nothing in it had to be masked.
    pub(crate) fn has_sent(&self, text: &str) -> bool {
        self.history.has(text)
    }

    /// False when it is too much to be a message, and nothing was taken.
    pub(crate) fn paste(&mut self, pasted: String) -> bool {
        if self.text.expanded_len() + pasted.len() > MOST {
            return false;
        }
        if self.search.is_some() {
            self.search_more(pasted.lines().next().unwrap_or_default());
            return true;
        }
        let pasted = newlines(&pasted);
        // Counted no further than it takes to know.
        let large = pasted.len() > MOST_PASTED_CHARS && pasted.chars().nth(MOST_PASTED_CHARS).is_some()
            || pasted.lines().nth(MOST_PASTED_LINES).is_some();
        let mut text = if large { self.chip(&pasted) } else { Text::from(&*pasted) };
        if self.text.shown().trim().is_empty() && is_only_text(&pasted) {
            text.splice(0..0, &Text::from("\\"));
        }
        self.edit(self.caret..self.caret, text, Kind::Alone);
        true
    }

    /// Shows a pasted path of an image as a chip, if it is still there.
    pub(crate) fn show_image(&mut self, pasted: &str, image: ImageInfo) {
        if let Some(at) = self.text.shown().rfind(pasted) {
            let label = format!("[Image {}×{}]", image.width, image.height);
            let behind = self.caret.saturating_sub(at + pasted.len());
            let caret = (self.caret >= at + pasted.len()).then_some(at + label.len() + behind);
            let back = self.caret;
            self.edit(at..at + pasted.len(), Text::chip(&label, pasted), Kind::Alone);
            self.caret = self.text.snap(caret.unwrap_or(back));
        }
    }

    fn chip(&mut self, content: &str) -> Text {
        if self.text.chips().next().is_none() {
            self.pastes = 0;
        }
        self.pastes += 1;
        let size = match content.lines().count() {
            1 => format!("{} characters", content.chars().count()),
            lines => format!("{lines} lines"),
        };
        Text::chip(&format!("[pasted {size} #{}]", self.pastes), content)
    }

    /// An earlier prompt as it is shown: of one that holds a paste, its first line and a chip.
    fn as_recalled(&mut self, entry: String) -> Text {
        let is_it = |sent: &&Text| sent.expanded_len() == entry.len() && sent.expanded() == entry;
        if let Some(sent) = self.sent.iter().find(is_it) {
            return sent.clone();
        }
        if entry.len() <= LONG && entry.lines().nth(MOST_RECALLED_LINES).is_none() {
            return Text::from(entry.as_str());
        }
        let first = entry.find('\n').map_or(0, |at| at + 1);
        let first = if first > MOST_FIRST { 0 } else { first };
        let mut text = Text::from(&entry[..first]);
        text.splice(first..first, &self.chip(&entry[first..]));
        text
    }

    /// The one way in which the text changes.
    fn edit(&mut self, range: Range<usize>, new: Text, kind: Kind) {
        let (before, end) = (self.caret, new.len());
        let (at, removed) = self.text.splice(range, &new);
        self.caret = self.text.snap(at + end);
        self.undo.done(at, removed, new, (before, self.caret), kind);
        (self.goal, self.recalled) = (None, false);
        if kind != Kind::Whole {
            self.walk = None;
        }
    }

    fn older(&mut self) -> Typed {
        let from = self.walk.as_ref().map_or(self.history.len(), |walk| walk.at);
        let Some(at) = self.history.older(from, self.text.shown()) else { return Typed::Nothing };
        let draft = match self.walk.take() {
            Some(walk) => walk.draft,
            None => {
                self.undo.pause();
                Draft { text: self.text.clone(), caret: self.caret }
            }
        };
        self.walked(at, draft);
        // Up goes on through history, not through the rows of what it found.
        self.caret = self.text.line_end(0);
        Typed::Edited
    }

    fn newer(&mut self) -> Typed {
        let Some(Walk { at, draft }) = self.walk.take() else { return Typed::Unused };
        match self.history.newer(at, self.text.shown()) {
            Some(at) => self.walked(at, draft),
            None => {
                self.edit(0..self.text.len(), draft.text, Kind::Whole);
                self.caret = self.text.snap(draft.caret);
                self.walk = None;
            }
        }
        Typed::Edited
    }

    fn walked(&mut self, at: usize, draft: Draft) {
        let found = self.as_recalled(self.history.get(at).unwrap_or_default().to_owned());
        self.edit(0..self.text.len(), found, Kind::Whole);
        (self.walk, self.recalled) = (Some(Walk { at, draft }), true);
    }
}

/// Whether a paste reads like a command and cannot be meant as one: only a `!` that is typed runs something, and no command has
/// several lines. A backslash before it makes it a prompt, wherever it is read again.
fn is_only_text(pasted: &str) -> bool {
    match parse(pasted) {
        Line::Shell(_) | Line::NoCommand => true,
        Line::Slash(_) | Line::Misused(_) | Line::Custom { .. } => pasted.trim().contains('\n'),
        Line::Empty | Line::Prompt(_) => false,
    }
}

/// Terminals paste a line's end as a carriage return.
fn newlines(text: &str) -> std::borrow::Cow<'_, str> {
    match text.contains('\r') {
        true => text.replace("\r\n", "\n").replace('\r', "\n").into(),
        false => text.into(),
    }
}
