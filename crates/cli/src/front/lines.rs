//! Lines of a change or of an output, dressed for line mode. What they say is `zdx_protocol::display`'s business.

use std::borrow::Cow;

use zdx_protocol::display::diff::{Line, LineKind};

use crate::style::Style;

/// What stands before a line that belongs to the one above it.
pub const INDENT: &str = "  ";

pub fn dressed(kind: LineKind, text: &str, style: Style) -> Cow<'_, str> {
    match kind {
        LineKind::Add => style.green(text),
        LineKind::Remove => style.red(text),
        LineKind::Hunk | LineKind::Note | LineKind::LeftOut => style.dim(text),
        LineKind::Context => text.into(),
    }
}

/// Whole lines, each a little further in.
pub fn block(lines: &[Line], style: Style) -> String {
    lines.iter().map(|line| format!("{INDENT}{}\n", dressed(line.kind, &line.text, style))).collect()
}
