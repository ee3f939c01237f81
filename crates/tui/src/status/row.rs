//! A row of parts that gives way: what matters least gets shorter first, then goes.

use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use zdx_protocol::display::text::{truncate_width, width};

use crate::look::Look;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    State,
    Hints,
    Stops,
    Tokens,
    Queue,
    Warnings,
    Model,
    Agent,
    Preset,
    Branch,
    Saved,
    Context,
}

/// Who gives way, in this order; each time to its next shorter form.
const STEPS: [What; 27] = [
    What::Hints,
    What::Model,
    What::Branch,
    What::Saved,
    What::Tokens,
    What::Agent,
    What::Stops,
    What::Branch,
    What::Hints,
    What::Model,
    What::Tokens,
    What::State,
    What::Context,
    What::Queue,
    What::Warnings,
    What::Model,
    What::State,
    What::Model,
    What::Hints,
    What::Model,
    What::Queue,
    What::Saved,
    What::Saved,
    What::Preset,
    What::Warnings,
    What::Context,
    What::State,
];

#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) what: What,
    /// The longest first; an empty one is not shown.
    pub(super) forms: Vec<String>,
    pub(super) style: Style,
    pub(super) right: bool,
}

impl Piece {
    fn text(&self) -> &str {
        self.forms.first().map_or("", String::as_str)
    }
}

const GAP: usize = 2;
/// Below this the parts stand closer.
const NARROW: u16 = 60;

pub(super) fn fitted(mut pieces: Vec<Piece>, look: Look<'_>) -> Line<'static> {
    let columns = usize::from(look.width);
    let between = if look.width < NARROW { "  " } else { " · " };
    let mut gone = Vec::new();
    for step in STEPS {
        if needed(&pieces, between) <= columns {
            break;
        }
        if let Some(at) = pieces.iter().position(|piece| piece.what == step && !piece.forms.is_empty()) {
            gone.push((at, pieces[at].forms.remove(0)));
        }
    }
    // The last one may have made more room than it took: what gave way before comes back, the last first.
    for (at, form) in gone.into_iter().rev() {
        pieces[at].forms.insert(0, form);
        if needed(&pieces, between) > columns {
            pieces[at].forms.remove(0);
        }
    }
    let (right, left): (Vec<Piece>, Vec<Piece>) = pieces.into_iter().partition(|piece| piece.right);
    let (mut spans, used) = side(&left, between, look, columns);
    let (right, needs) = side(&right, between, look, columns.saturating_sub(used + usize::from(used > 0)));
    spans.push(Span::raw(" ".repeat(columns.saturating_sub(used + needs))));
    spans.extend(right);
    Line::from(spans)
}

fn needed(pieces: &[Piece], between: &str) -> usize {
    let side = |right: bool| {
        let shown = pieces.iter().filter(|piece| piece.right == right && !piece.text().is_empty());
        let widths: Vec<usize> = shown.map(|piece| width(piece.text())).collect();
        widths.iter().sum::<usize>() + widths.len().saturating_sub(1) * width(between)
    };
    match (side(false), side(true)) {
        (left, 0) => left,
        (0, right) => right,
        (left, right) => left + GAP + right,
    }
}

/// At most so many columns: what even the shortest forms do not fit into is cut.
fn side(pieces: &[Piece], between: &str, look: Look<'_>, columns: usize) -> (Vec<Span<'static>>, usize) {
    let (mut spans, mut used) = (Vec::new(), 0);
    for piece in pieces.iter().filter(|piece| !piece.text().is_empty()) {
        let gap = if spans.is_empty() { "" } else { between };
        let text = truncate_width(piece.text(), columns.saturating_sub(used + width(gap)));
        if text.is_empty() {
            break;
        }
        used += width(gap) + width(&text);
        spans.extend([Span::styled(gap.to_owned(), look.theme.dim), Span::styled(text, piece.style)]);
    }
    (spans, used)
}
