//! Small things that rows are made of: dimmed lines, signs, cuts. Everything is cleaned before it becomes a span.

use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use zdx_protocol::display::format::{self, count};
use zdx_protocol::display::text::{truncate_width, width};
use zdx_protocol::display::{plain, visible_line};

use crate::look::Look;
use crate::write::wrap::{Margin, wrap_in};

/// What belongs to the line above.
pub(super) const INDENT: &str = "  ";

/// How much is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    /// A call takes one row, however long it is.
    pub(super) one_row: bool,
    /// Of what a command printed.
    pub(super) output: usize,
    /// Of one that failed: why stands somewhere in it.
    pub(super) failed: usize,
    /// Of what a command printed that a person typed.
    pub(super) typed: usize,
    /// Of a message, in rows.
    pub(super) message: usize,
    /// Of a diff; none: all.
    pub(super) diff: Option<usize>,
    /// Of a prompt, in rows.
    pub(super) prompt: usize,
    /// Another call comes behind it. Of many that went well the last lines of each would bury everything else.
    pub(super) followed: bool,
    /// How to see the rest.
    pub(super) rest: &'static str,
    pub(super) whole: bool,
}

pub(super) const SCREEN: Manner = Manner {
    one_row: true,
    output: 5,
    failed: 10,
    typed: 20,
    message: 4,
    diff: Some(24),
    prompt: 12,
    followed: false,
    rest: ", Ctrl-O to expand",
    whole: false,
};
pub(super) const PLAIN: Manner =
    Manner { one_row: false, message: usize::MAX, prompt: usize::MAX, rest: "", ..SCREEN };
pub(super) const WHOLE: Manner = Manner {
    one_row: false,
    output: usize::MAX,
    failed: usize::MAX,
    typed: usize::MAX,
    message: usize::MAX,
    diff: None,
    prompt: usize::MAX,
    followed: false,
    rest: "",
    whole: true,
};

/// Ours, not foreign: what is cleaned already, or cannot be dirty.
pub(super) fn span(text: impl Into<String>, style: Style) -> Span<'static> {
    Span::styled(text.into(), style)
}

/// A text of any length: its lines wrapped between words, below a sign.
pub(super) fn block(
    sign: &str,
    text: &str,
    styles: (Style, Style),
    look: Look<'_>,
    most: usize,
) -> Vec<Line<'static>> {
    let (of_sign, of_text) = styles;
    let clean = plain(text);
    let mut rows = Vec::new();
    for (at, line) in clean.trim_end().lines().enumerate() {
        let margin = " ".repeat(width(sign));
        let first = if at == 0 { span(sign, of_sign) } else { Span::raw(margin.clone()) };
        let margin = Margin { first: vec![first], rest: vec![Span::raw(margin)] };
        let line = Line::from(span(line.replace('\t', "    "), of_text));
        rows.extend(wrap_in(line, look.width, &margin));
        if rows.len() > most {
            break;
        }
    }
    if rows.len() > most {
        rows.truncate(most.saturating_sub(1));
        let more = clean.trim_end().lines().count().saturating_sub(rows.len());
        let more = if more > 1 { format!("… +{}", count(more, "line")) } else { "…".to_owned() };
        rows.push(Line::from(span(format!("{}{more}", " ".repeat(width(sign))), look.theme.dim)));
    }
    rows
}

/// One row, cut where the look ends.
pub(super) fn row(indent: &str, text: &str, style: Style, look: Look<'_>) -> Line<'static> {
    let room = usize::from(look.width).saturating_sub(indent.len());
    let indent = if room == 0 { "" } else { indent };
    Line::from(vec![Span::raw(indent.to_owned()), span(truncate_width(text, room), style)])
}

/// A line that a program printed, as a terminal would have left it.
pub(super) fn printed(line: &str) -> String {
    let last = line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default();
    visible_line(&plain(last).replace('\t', "    "))
}

/// `2.1 s`, `3 min 12 s`.
pub(super) fn seconds(milliseconds: u128) -> String {
    format::duration(u64::try_from(milliseconds).unwrap_or(u64::MAX))
}

/// `3 s`, while something runs.
pub(super) fn ticking(since: std::time::Instant, now: std::time::Instant) -> String {
    format::elapsed(now.saturating_duration_since(since).as_secs())
}
