//! What every part needs to know to draw itself, and what it gives back.

use ratatui_core::text::Line;

use crate::theme::Theme;

/// How wide, and in which colours.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    /// Columns, at least one.
    pub width: u16,
    pub theme: &'a Theme,
}

/// Rows from top to bottom, none wider than the look allows, each safe to print: no control character is left in them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawn {
    pub lines: Vec<Line<'static>>,
    /// Where the terminal's own cursor belongs, column and row within these lines: IMEs follow it.
    pub cursor: Option<(u16, u16)>,
}
