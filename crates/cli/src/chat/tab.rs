//! What Tab offers in the line editor. The engine knows; this carries the question there from the editor's thread, and
//! never waits longer than a person would.

use std::borrow::Cow;
use std::sync::mpsc as thread_mpsc;
use std::time::Duration;

use rustyline::completion::Completer as Complete;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};
use tokio::sync::mpsc;
use zdx_protocol::display::is_obeyed;
use zdx_protocol::query::Completions;

/// A little longer than the engine looks for an answer.
const PATIENCE: Duration = Duration::from_millis(2_500);

pub struct Tab {
    questions: mpsc::Sender<Asked>,
}

/// A line on which Tab was pressed, and where the answer goes.
#[derive(Debug)]
pub struct Asked {
    pub line: String,
    pub cursor: usize,
    answer: thread_mpsc::SyncSender<Completions>,
}

impl Asked {
    pub fn answer(self, completions: Completions) {
        // Nobody may be waiting any more.
        let _ = self.answer.try_send(completions);
    }
}

impl PartialEq for Asked {
    fn eq(&self, other: &Self) -> bool {
        (&self.line, self.cursor) == (&other.line, other.cursor)
    }
}

impl Eq for Asked {}

impl Tab {
    pub fn new() -> (Self, mpsc::Receiver<Asked>) {
        let (questions, asked) = mpsc::channel(1);
        (Self { questions }, asked)
    }
}

impl Complete for Tab {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        cursor: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let (answer, answered) = thread_mpsc::sync_channel(1);
        let asked = Asked { line: line.to_owned(), cursor, answer };
        // Without an answer nothing is offered.
        let found = match self.questions.try_send(asked) {
            Ok(()) => answered.recv_timeout(PATIENCE).unwrap_or_default(),
            Err(_) => Completions::default(),
        };
        Ok((found.replace.start, offered(found, line)))
    }
}

/// What begins as typed, which the editor can complete as far as all of it agrees; else whatever has these letters.
fn offered(found: Completions, line: &str) -> Vec<String> {
    let typed = line.get(found.replace).unwrap_or_default();
    let all: Vec<String> = found.candidates.into_iter().map(|candidate| candidate.text).collect();
    match all.iter().any(|text| text.starts_with(typed)) {
        true => all.into_iter().filter(|text| text.starts_with(typed)).collect(),
        false => all,
    }
}

impl Hinter for Tab {
    type Hint = String;
}

/// What is typed or pasted is drawn as it is but for what a terminal would obey: a page may put more on a clipboard than
/// it shows. The line itself stays as it came.
impl Highlighter for Tab {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        if !line.contains(is_obeyed) {
            return Cow::Borrowed(line);
        }
        // As wide as the editor takes the original to be, so that the cursor stays where it belongs.
        let drawn = line.chars().filter_map(|c| match is_obeyed(c) {
            true if c.is_control() => Some(char::REPLACEMENT_CHARACTER),
            true => None,
            false => Some(c),
        });
        Cow::Owned(drawn.collect())
    }

    fn highlight_char(&self, line: &str, _: usize, _: CmdKind) -> bool {
        line.contains(is_obeyed)
    }
}

impl Validator for Tab {}
impl Helper for Tab {}
