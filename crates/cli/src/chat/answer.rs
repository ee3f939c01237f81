//! Reads the answer to a request in line mode: a whole line, begun after the request was printed and a pause. Everything
//! else that is typed is kept for the next prompt.
//!
//! The line editor is not used here: it buffers what was typed behind an Enter, and nobody could tell when that was.

use zdx_protocol::display::approval::ANSWER_PAUSE;

use super::ahead::Ahead;
use super::keyboard::ChatKeyboard;
use crate::pump::Stage;

const PROMPT: &str = "answer: ";
const TOO_EARLY: &str = "ignored: typed too quickly to be an answer; answer again\n";
const KEPT: &str = "not an answer: kept for the next prompt\n";

/// Ctrl-D.
const END_OF_INPUT: u8 = 0x04;

/// The terminal is gone, or its input has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputEnded;

/// Waits for the pause, prints the choices and reads a line that is one of them. `parse` knows the choices: it gets a
/// whole line, an empty one for the default.
pub async fn read_choice<T>(
    keyboard: &mut ChatKeyboard,
    choices: &str,
    parse: impl Fn(&str) -> Option<T>,
    stage: &mut Stage,
) -> Result<T, InputEnded> {
    let mut reader = ChoiceReader::new(parse);
    loop {
        stage.settle().await;
        reader.type_early(&keyboard.quiet.silence(ANSWER_PAUSE).await.map_err(|_| InputEnded)?);
        let (begun, is_too_early) = reader.start(&mut keyboard.ahead);
        if is_too_early {
            stage.ask(TOO_EARLY);
        }
        stage.ask(&format!("{choices}\n"));
        let line = read_line(keyboard, PROMPT, &begun, stage).await?;
        match reader.finish(line, &mut keyboard.ahead) {
            Finished::Answer(answer) => return Ok(answer),
            Finished::Kept => stage.ask(KEPT),
            Finished::Empty => {}
        }
    }
}

/// Reads a line and shows it as it is typed. `begun` stands in it already.
pub async fn read_line(
    keyboard: &mut ChatKeyboard,
    prompt: &str,
    begun: &str,
    stage: &mut Stage,
) -> Result<TypedLine, InputEnded> {
    let mut line = LineReader::new(begun);
    let mut row = keyboard.row();
    stage.ask(row.start());
    loop {
        stage.ask(&row.update(prompt, &line.text()));
        stage.settle().await;
        match line.feed(&keyboard.quiet.burst().await.map_err(|_| InputEnded)?) {
            LineStep::More => {}
            LineStep::End => {
                stage.ask(&row.finish());
                return Err(InputEnded);
            }
            LineStep::Line(typed) => {
                stage.ask(&format!("{}{}", row.update(prompt, &typed.text), row.finish()));
                return Ok(typed);
            }
        }
    }
}

/// A line that Enter ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedLine {
    pub text: String,
    /// The bytes typed behind its Enter.
    pub rest: Vec<u8>,
    /// Nothing of it was typed before it was read: it began empty, or was shown empty since.
    is_begun_here: bool,
}

/// A line while it is typed. Knows no terminal and no clock.
struct LineReader {
    typed: Ahead,
    is_begun_here: bool,
}

enum LineStep {
    More,
    End,
    Line(TypedLine),
}

impl LineReader {
    fn new(begun: &str) -> Self {
        let mut typed = Ahead::default();
        typed.keep(begun.replace('\n', "\x1b\r").as_bytes());
        Self { typed, is_begun_here: begun.is_empty() }
    }

    fn text(&self) -> String {
        self.typed.clone().begun()
    }

    fn feed(&mut self, burst: &[u8]) -> LineStep {
        if burst.first() == Some(&END_OF_INPUT) && self.text().is_empty() {
            return LineStep::End;
        }
        self.typed.keep(burst);
        let mut rest = self.typed.clone();
        if let Some(text) = rest.line() {
            let (rest, is_begun_here) = (rest.into_bytes(), self.is_begun_here);
            return LineStep::Line(TypedLine { text, rest, is_begun_here });
        }
        self.is_begun_here |= self.text().is_empty();
        LineStep::More
    }
}

/// Decides which typed line answers a request. Knows no terminal and no clock: it is told what was typed before the pause
/// was over, and which line was typed then.
struct ChoiceReader<P> {
    parse: P,
    /// The bytes typed while the pause lasts.
    early: Vec<u8>,
}

enum Finished<T> {
    Answer(T),
    /// It was no answer, and is kept for the next prompt.
    Kept,
    Empty,
}

impl<T, P: Fn(&str) -> Option<T>> ChoiceReader<P> {
    fn new(parse: P) -> Self {
        Self { parse, early: Vec::new() }
    }

    fn type_early(&mut self, typed: &[u8]) {
        self.early.extend_from_slice(typed);
    }

    /// Begins a line when the pause is over. Returns the text that stands in it already, and whether a choice came too early.
    fn start(&mut self, ahead: &mut Ahead) -> (String, bool) {
        let is_too_early = keep_early(&std::mem::take(&mut self.early), ahead, &self.parse);
        (ahead.take_unfinished(), is_too_early)
    }

    fn finish(&mut self, line: TypedLine, ahead: &mut Ahead) -> Finished<T> {
        if let Some(answer) = answer_of(&line, &self.parse) {
            ahead.keep(&line.rest);
            return Finished::Answer(answer);
        }
        self.early = line.rest;
        if line.text.trim().is_empty() {
            return Finished::Empty;
        }
        ahead.keep_line(&line.text);
        Finished::Kept
    }
}

/// Keeps what was typed during the pause. A choice alone was meant for the request and came too early: it is dropped, and
/// true is returned.
fn keep_early<T>(typed: &[u8], ahead: &mut Ahead, parse: &impl Fn(&str) -> Option<T>) -> bool {
    let mut alone = Ahead::default();
    alone.keep(typed);
    let text = alone.begun();
    let is_alone = alone.is_empty() && !ahead.has_unfinished();
    if is_alone && text.trim().is_empty() {
        return false;
    }
    let is_choice = is_alone && parse(text.trim()).is_some();
    if !is_choice {
        ahead.keep(typed);
    }
    is_choice
}

/// The choice that a line makes. A line with text from before the pause makes none, however it was edited since.
fn answer_of<T>(line: &TypedLine, parse: &impl Fn(&str) -> Option<T>) -> Option<T> {
    // Only a paste or Alt-Enter brings a newline into it.
    let may_answer = line.is_begun_here && !line.text.contains('\n');
    if may_answer { parse(line.text.trim()) } else { None }
}

#[cfg(test)]
mod tests;
