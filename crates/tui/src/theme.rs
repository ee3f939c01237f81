//! What things look like, by what they mean. Nothing is said by colour alone.

use ratatui_core::style::{Color, Modifier, Style};

/// How many colours a terminal can show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// `NO_COLOR`: bold, dim and underlined alone.
    #[default]
    None,
    Sixteen,
    Many,
    True,
}

/// Styles by meaning. Backgrounds are left to the terminal, so that any of them will do.
#[derive(Clone, Debug, PartialEq)]
pub struct Theme {
    pub depth: Depth,
    /// The terminal's background is light.
    pub light: bool,
    pub text: Style,
    pub dim: Style,
    pub strong: Style,
    /// The prompt, keys that can be pressed, what is chosen.
    pub accent: Style,
    pub heading: Style,
    pub code: Style,
    pub link: Style,
    pub added: Style,
    pub removed: Style,
    /// The words of a line that differ.
    pub added_word: Style,
    pub removed_word: Style,
    pub good: Style,
    pub warning: Style,
    pub error: Style,
}

impl Theme {
    pub fn new(depth: Depth, light: bool) -> Self {
        let plain = Style::new();
        let bold = plain.add_modifier(Modifier::BOLD);
        let in_colour = |colour: Color| if depth == Depth::None { plain } else { plain.fg(colour) };
        Self {
            depth,
            light,
            text: plain,
            dim: plain.add_modifier(Modifier::DIM),
            strong: bold,
            accent: in_colour(Color::Cyan),
            heading: in_colour(Color::Cyan).add_modifier(Modifier::BOLD),
            code: in_colour(if light { Color::Blue } else { Color::Yellow }),
            link: in_colour(Color::Blue).add_modifier(Modifier::UNDERLINED),
            added: in_colour(Color::Green),
            removed: in_colour(Color::Red),
            added_word: in_colour(Color::Green).add_modifier(Modifier::REVERSED),
            removed_word: in_colour(Color::Red).add_modifier(Modifier::REVERSED),
            good: in_colour(Color::Green),
            warning: in_colour(Color::Yellow),
            error: in_colour(Color::Red).add_modifier(Modifier::BOLD),
        }
    }
}
