//! Reads the answer to a request in line mode: a whole line, begun after the request was printed and a pause. Everything
//! else that is typed is kept for the next prompt.
//!
//! The line editor is not used here: it buffers what was typed behind an Enter, and nobody could tell when that was.

use std::time::Duration;

use zdx_protocol::display::text::width;
use zdx_protocol::display::visible_line;

use super::ahead::Ahead;
use super::editor::Editor;
use super::input::{Lines, Typed};
use super::tty::{MARK_PASTES, UNMARK_PASTES};
use crate::pump::Stage;
use crate::terminal;

/// Time without a typed key, after the request was printed, before a line can answer it.
pub const ANSWER_PAUSE: Duration = Duration::from_millis(600);

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
    editor: &mut Editor,
    choices: &str,
    parse: impl Fn(&str) -> Option<T>,
    stage: &mut Stage,
) -> Result<T, InputEnded> {
    let mut typed = Vec::new();
    loop {
        stage.settle().await;
        typed.extend(editor.quiet.silence(ANSWER_PAUSE).await.map_err(|_| InputEnded)?);
        if keep_early(&typed, &mut editor.ahead, &parse) {
            stage.ask(TOO_EARLY);
        }
        stage.ask(&format!("{choices}\n"));
        let begun = editor.ahead.take_unfinished();
        let (line, rest) = read_line(editor, PROMPT, &begun, stage).await?;
        if let Some(answer) = answer_of(&line, &begun, &parse) {
            editor.ahead.keep(&rest);
            return Ok(answer);
        }
        typed = rest;
        if !line.trim().is_empty() {
            editor.ahead.keep_line(&line);
            stage.ask(KEPT);
        }
    }
}

/// Reads a line and shows it as it is typed. Also returns what was typed behind its Enter.
pub async fn read_line(
    editor: &mut Editor,
    prompt: &str,
    begun: &str,
    stage: &mut Stage,
) -> Result<(String, Vec<u8>), InputEnded> {
    let mut typed = Ahead::default();
    typed.keep(begun.replace('\n', "\x1b\r").as_bytes());
    stage.ask(MARK_PASTES);
    loop {
        stage.ask(&format!("\r\x1b[K{}", line_row(prompt, &typed.clone().begun(), terminal::width())));
        stage.settle().await;
        let burst = editor.quiet.burst().await.map_err(|_| InputEnded)?;
        if burst.first() == Some(&END_OF_INPUT) && typed.is_empty() {
            stage.ask(&format!("{UNMARK_PASTES}\n"));
            return Err(InputEnded);
        }
        typed.keep(&burst);
        let mut rest = typed.clone();
        if let Some(line) = rest.line() {
            let row = line_row(prompt, &line, terminal::width());
            stage.ask(&format!("\r\x1b[K{row}{UNMARK_PASTES}\n"));
            return Ok((line, rest.into_bytes()));
        }
    }
}

/// The prompt with the end of the line that fits behind it.
fn line_row(prompt: &str, line: &str, columns: usize) -> String {
    let room = columns.saturating_sub(prompt.len() + 1).max(1);
    let shown = visible_line(line);
    let mut start = shown.len();
    let mut used = 0;
    for (at, character) in shown.char_indices().rev() {
        used += width(character.encode_utf8(&mut [0; 4]));
        if used > room {
            break;
        }
        start = at;
    }
    format!("{prompt}{}", shown.get(start..).unwrap_or_default())
}

/// Reads a choice on a terminal that knows only lines. It keeps an unfinished line itself, so that one is dropped.
pub async fn read_choice_line<T>(
    lines: &mut Lines,
    choices: &str,
    parse: impl Fn(&str) -> Option<T>,
    stage: &mut Stage,
) -> Result<T, InputEnded> {
    loop {
        stage.settle().await;
        lines.set_aside(ANSWER_PAUSE).await;
        stage.ask(choices);
        stage.settle().await;
        match lines.answer().await {
            Typed::Line(line) => match parse(line.trim()) {
                Some(answer) => return Ok(answer),
                None => {
                    lines.keep(line);
                    stage.ask(KEPT);
                }
            },
            Typed::Interrupt | Typed::End | Typed::Failed(_) | Typed::Complete(_) => return Err(InputEnded),
        }
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

/// The choice that a line makes. A line that still begins with text from before the pause makes none.
fn answer_of<T>(line: &str, begun: &str, parse: &impl Fn(&str) -> Option<T>) -> Option<T> {
    let was_begun_before = !begun.is_empty() && line.starts_with(begun);
    // Only a paste or Alt-Enter brings a newline into it.
    if was_begun_before || line.contains('\n') { None } else { parse(line.trim()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(line: &str) -> Option<char> {
        match line {
            "" | "y" | "yes" => Some('y'),
            "n" | "no" => Some('n'),
            _ => None,
        }
    }

    #[test]
    fn an_early_choice_is_dropped_and_everything_else_is_kept() {
        for (before, typed, early, kept) in [
            ("", "y", true, ""),
            ("", "yes\r", true, ""),
            ("", "\r", false, ""),
            ("", "y\ry", false, "y"),
            ("", "you", false, "you"),
            ("then ", "y", false, "then y"),
        ] {
            let mut ahead = Ahead::default();
            ahead.keep(before.as_bytes());
            assert_eq!(keep_early(typed.as_bytes(), &mut ahead, &parse), early, "{typed:?}");
            assert_eq!(ahead.begun(), kept, "{typed:?}");
        }
    }

    #[test]
    fn a_long_line_shows_its_end() {
        assert_eq!(line_row("> ", "abc", 80), "> abc");
        assert_eq!(line_row("> ", "abcdef", 6), "> def");
        assert_eq!(line_row("> ", "你好吗", 8), "> 好吗");
    }

    #[test]
    fn only_a_line_begun_after_the_pause_answers() {
        for (line, begun, answer) in [
            ("y", "", Some('y')),
            (" no ", "", Some('n')),
            ("", "", Some('y')),
            ("yes please", "", None),
            ("yes", "ye", None),
            ("y\n", "", None),
            ("n", "then remove it", Some('n')),
            ("", "then remove it", Some('y')),
        ] {
            assert_eq!(answer_of(line, begun, &parse), answer, "{line:?} after {begun:?}");
        }
    }

    proptest! {
        /// Of text typed before and during the pause nothing answers, however it is cut, and nothing of it is lost.
        #[test]
        fn text_from_before_the_pause_never_answers(
            before in "[yno \r]{0,8}",
            during in "[a-z \r]{0,12}",
        ) {
            let mut ahead = Ahead::default();
            ahead.keep(before.as_bytes());
            let early = keep_early(during.as_bytes(), &mut ahead, &parse);
            let begun = ahead.take_unfinished();
            prop_assert!(begun.is_empty() || answer_of(&begun, &begun, &parse).is_none());
            let words = |text: &str| text.replace(['\r', ' '], "");
            let mut lines: Vec<String> = std::iter::from_fn(|| ahead.line()).collect();
            lines.push(begun);
            let kept = if early { before } else { format!("{before}{during}") };
            prop_assert_eq!(words(&lines.concat()), words(&kept));
        }
    }
}
