//! The terminal of a chat in line mode, as bytes: what is typed, what of it waits for the next prompt, and how a line is
//! shown while it is typed.

use std::io;

use zdx_protocol::display::text::width;
use zdx_protocol::display::visible_line;

use super::ahead::Ahead;
use super::answer::{InputEnded, read_line};
use super::input::Typed;
use super::tty::{MARK_PASTES, Quiet, UNMARK_PASTES};
use crate::pump::Stage;
use crate::terminal;

pub struct ChatKeyboard {
    pub quiet: Quiet,
    /// Text typed before a request came, for the next prompts.
    pub ahead: Ahead,
}

impl ChatKeyboard {
    /// `smart`: the terminal understands cursor movement.
    pub fn open(smart: bool) -> io::Result<Self> {
        Ok(Self { quiet: Quiet::enter(smart)?, ahead: Ahead::default() })
    }

    /// Keeps what was typed so far for the next prompt.
    pub async fn set_aside(&mut self) {
        // A terminal that cannot be read says so when it is asked for more.
        if let Ok(typed) = self.quiet.typed().await {
            self.ahead.keep(&typed);
        }
    }

    /// Reads the next prompt, without the line editor. It begins with what was typed before a request came.
    pub async fn prompt(&mut self, stage: &mut Stage) -> Typed {
        let begun = self.ahead.begun();
        match read_line(self, "> ", &begun, stage).await {
            Ok(line) => {
                self.ahead.keep(&line.rest);
                Typed::Line(line.text)
            }
            Err(InputEnded) => Typed::End,
        }
    }

    pub fn row(&self) -> LineRow {
        let style = match (self.quiet.is_smart(), self.quiet.echoes()) {
            (true, _) => RowStyle::Redrawn,
            (false, true) => RowStyle::Appended,
            (false, false) => RowStyle::PromptOnly,
        };
        LineRow { style, shown: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowStyle {
    Redrawn,
    /// For terminals that know no cursor movement: text is added, or the row is printed again below.
    Appended,
    /// The terminal echoes nothing: an editor around it shows what is typed.
    PromptOnly,
}

/// The row of a line that is being typed, as text to print.
#[derive(Debug)]
pub struct LineRow {
    style: RowStyle,
    shown: Option<String>,
}

impl LineRow {
    pub fn start(&self) -> &'static str {
        if self.style == RowStyle::Redrawn { MARK_PASTES } else { "" }
    }

    pub fn update(&mut self, prompt: &str, line: &str) -> String {
        let shown = visible_line(line);
        match (self.style, self.shown.replace(shown.to_string())) {
            (RowStyle::Redrawn, _) => format!("\r\x1b[K{}", line_row(prompt, line, terminal::width())),
            (RowStyle::PromptOnly, Some(_)) => String::new(),
            (RowStyle::PromptOnly, None) => prompt.to_owned(),
            (RowStyle::Appended, None) => format!("{prompt}{shown}"),
            (RowStyle::Appended, Some(before)) => match shown.strip_prefix(&before) {
                Some(more) => more.to_owned(),
                None => format!("\n{prompt}{shown}"),
            },
        }
    }

    pub fn finish(&self) -> String {
        match self.style {
            RowStyle::Redrawn => format!("{UNMARK_PASTES}\n"),
            RowStyle::Appended => "\n".to_owned(),
            RowStyle::PromptOnly => String::new(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_shows_its_end() {
        assert_eq!(line_row("> ", "abc", 80), "> abc");
        assert_eq!(line_row("> ", "abcdef", 6), "> def");
        assert_eq!(line_row("> ", "你好吗", 8), "> 好吗");
    }

    #[test]
    fn a_terminal_without_cursor_movement_gets_only_what_is_added() {
        let printed = |style, lines: &[&str]| {
            let mut row = LineRow { style, shown: None };
            let rows: String = lines.iter().map(|line| row.update("> ", line)).collect();
            format!("{}{rows}{}", row.start(), row.finish())
        };
        let typed = ["", "y", "ye", "y", "yo"];
        assert_eq!(printed(RowStyle::Appended, &typed), "> ye\n> yo\n");
        assert_eq!(printed(RowStyle::PromptOnly, &typed), "> ");
    }
}
