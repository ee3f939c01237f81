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
    pub syntax: Syntax,
}

/// Code, by what its parts are.
#[derive(Clone, Debug, PartialEq)]
pub struct Syntax {
    pub keyword: Style,
    pub string: Style,
    pub comment: Style,
    /// Numbers and other constants.
    pub number: Style,
    pub function: Style,
    /// Types, classes, tags, keys of a table.
    pub kind: Style,
    /// Attributes, macros, directives.
    pub attribute: Style,
}

impl Syntax {
    /// The eight colours that every terminal has, and of those only such as can be read on its background.
    fn new(light: bool, in_colour: impl Fn(Color) -> Style) -> Self {
        let either = |on_light, on_dark| in_colour(if light { on_light } else { on_dark });
        Self {
            keyword: in_colour(Color::Magenta),
            string: in_colour(Color::Green),
            comment: Style::new().add_modifier(Modifier::DIM),
            number: in_colour(Color::Cyan),
            function: either(Color::Blue, Color::LightBlue),
            kind: either(Color::Cyan, Color::Yellow),
            attribute: either(Color::Blue, Color::Cyan),
        }
    }
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
            // Yellow on white is what nobody sees.
            warning: in_colour(if light { Color::Magenta } else { Color::Yellow }),
            error: in_colour(Color::Red).add_modifier(Modifier::BOLD),
            syntax: Syntax::new(light, in_colour),
        }
    }
}
