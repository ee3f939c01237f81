//! Line mode: the same conversation as lines that are printed once and never touched again, and the words of an answer
//! broken between words although they are printed as they come. Pure: gives text to print, prints nothing.

mod words;

use std::fmt::Write as _;
use std::time::Instant;

use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::Line;
use zdx_protocol::Event;

use crate::conversation::Conversation;
use crate::look::Look;
use crate::theme::{Depth, Theme};

pub use words::Words;

/// What is told of a conversation besides the words of answers.
pub struct Lines {
    conversation: Conversation,
    theme: Theme,
    colour: bool,
}

impl Lines {
    /// `marks`: answers stand on the same screen, so what each was is said below it.
    pub fn new(colour: bool, marks: bool) -> Self {
        let depth = if colour { Depth::Sixteen } else { Depth::None };
        Self { conversation: Conversation::in_lines(marks), theme: Theme::new(depth, false), colour }
    }

    pub fn apply(&mut self, event: &Event, now: Instant) {
        self.conversation.apply(event, now);
    }

    /// What is to be printed since this was asked last: whole lines, safe to print.
    pub fn settled(&mut self, columns: usize) -> String {
        let width = u16::try_from(columns.max(1)).unwrap_or(u16::MAX);
        let rows = self.conversation.settled(Look { width, theme: &self.theme });
        let mut text = String::new();
        // What stands apart on a full screen need not here: there is no room for nothing.
        for row in rows.iter().filter(|row| row.width() > 0) {
            dress(row, self.colour, &mut text);
            text.push('\n');
        }
        text
    }

    /// What runs, in words: `running cargo test`.
    pub fn doing(&self) -> Option<String> {
        let doing = self.conversation.doing()?;
        let mut chars = doing.chars();
        chars.next().map(|first| first.to_lowercase().chain(chars).collect())
    }
}

fn dress(row: &Line<'_>, colour: bool, text: &mut String) {
    for span in &row.spans {
        let codes = if colour { codes(row.style.patch(span.style)) } else { String::new() };
        match codes.is_empty() {
            true => text.push_str(&span.content),
            false => {
                let _ = write!(text, "\x1b[{codes}m{}\x1b[0m", span.content);
            }
        }
    }
}

fn codes(style: Style) -> String {
    let attributes = [
        (Modifier::BOLD, "1"),
        (Modifier::DIM, "2"),
        (Modifier::ITALIC, "3"),
        (Modifier::UNDERLINED, "4"),
        (Modifier::REVERSED, "7"),
        (Modifier::CROSSED_OUT, "9"),
    ];
    let set = attributes.into_iter().filter(|(one, _)| style.add_modifier.contains(*one));
    let codes = set.map(|(_, code)| code).chain(style.fg.and_then(foreground));
    codes.collect::<Vec<_>>().join(";")
}

/// The sixteen that every terminal has.
fn foreground(colour: Color) -> Option<&'static str> {
    match colour {
        Color::Black => Some("30"),
        Color::Red => Some("31"),
        Color::Green => Some("32"),
        Color::Yellow => Some("33"),
        Color::Blue => Some("34"),
        Color::Magenta => Some("35"),
        Color::Cyan => Some("36"),
        Color::Gray => Some("37"),
        Color::DarkGray => Some("90"),
        Color::LightRed => Some("91"),
        Color::LightGreen => Some("92"),
        Color::LightYellow => Some("93"),
        Color::LightBlue => Some("94"),
        Color::LightMagenta => Some("95"),
        Color::LightCyan => Some("96"),
        Color::White => Some("97"),
        Color::Reset | Color::Rgb(..) | Color::Indexed(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use zdx_protocol::NoticeLevel;

    use super::*;

    #[test]
    fn lines_are_dressed_only_where_colours_are_wanted() {
        let notice =
            Event::Notice { level: NoticeLevel::Warning, message: "care\x1b[2Jful".into(), kept: false };
        for (colour, text) in [(false, "⚠ careful\n"), (true, "\x1b[33m⚠ \x1b[0m\x1b[33mcareful\x1b[0m\n")]
        {
            let mut lines = Lines::new(colour, true);
            lines.apply(&notice, Instant::now());
            assert_eq!(lines.settled(80), text);
            assert_eq!(lines.settled(80), "");
        }
    }
}
