//! For tests of what is drawn: rows as a real terminal of that width shows them.

use std::num::NonZero;

use ratatui_core::text::Line;

use crate::look::Look;
use crate::theme::{Depth, Theme};

/// Runs `draw` at a width and gives back the screen. A row that is too wide, or holds what a terminal obeys, shows.
pub(crate) fn screen(width: u16, draw: impl FnOnce(Look<'_>) -> Vec<Line<'static>>) -> String {
    let theme = Theme::new(Depth::Sixteen, false);
    let lines = draw(Look { width, theme: &theme });
    let rows: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let height = u16::try_from(rows.len().max(1) * 2).unwrap();
    let mut parser = vt100::Parser::new(NonZero::new(height).unwrap(), NonZero::new(width).unwrap(), 0);
    parser.process(rows.join("\r\n").as_bytes());
    let shown = parser.screen().contents();
    let plain: Vec<&str> = rows.iter().map(|row| row.trim_end()).collect();
    let seen: Vec<&str> = shown.lines().map(str::trim_end).collect();
    assert_eq!(
        seen.join("\n").trim_end(),
        plain.join("\n").trim_end(),
        "a row is too wide for {width} columns"
    );
    rows.iter().map(|row| row.trim_end()).collect::<Vec<_>>().join("\n")
}
