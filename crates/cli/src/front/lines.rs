//! Lines of a change or of an output, dressed for line mode. What they say is `zdx_protocol::display`'s business.

use std::borrow::Cow;

use zdx_protocol::display::diff::LineKind;

use crate::style::Style;

pub fn dressed(kind: LineKind, text: &str, style: Style) -> Cow<'_, str> {
    match kind {
        LineKind::Add => style.green(text),
        LineKind::Remove => style.red(text),
        LineKind::Hunk | LineKind::Note | LineKind::LeftOut => style.dim(text),
        LineKind::Context => text.into(),
    }
}
