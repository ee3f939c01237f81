//! A row in two halves that gives way. What stands on the right depends on the window and on what it says, never on what goes
//! on: the left has its room kept for it. So a turn has one layout, whatever its counters come to.

use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use zdx_protocol::display::text::{truncate_width, width};

use crate::look::Look;

/// What stands on the right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Warnings,
    Model,
    Agent,
    Preset,
    Branch,
    Saved,
    Context,
}

/// Who gives way, in this order; each time to its next shorter form.
const STEPS: [What; 16] = [
    What::Model,
    What::Branch,
    What::Saved,
    What::Agent,
    What::Branch,
    What::Model,
    What::Context,
    What::Warnings,
    What::Model,
    What::Model,
    What::Model,
    What::Saved,
    What::Saved,
    What::Preset,
    What::Warnings,
    What::Context,
];

#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) what: What,
    /// The longest first; an empty one is not shown.
    pub(super) forms: Vec<String>,
    pub(super) style: Style,
    /// So many columns are kept for it, unless it is gone.
    pub(super) kept: usize,
}

/// What stands on the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    State,
    Hints,
    Tokens,
    Queue,
    Stops,
}

/// The room on the left is dealt out in this order, by so many columns in all; whoever cannot have that much keeps what he has.
const DEALT: [(Slot, usize); 18] = [
    (Slot::State, 14),
    (Slot::Hints, 5),
    (Slot::Hints, 20),
    (Slot::Hints, 39),
    (Slot::Tokens, 9),
    (Slot::State, 20),
    (Slot::State, 24),
    (Slot::State, 26),
    (Slot::Queue, 9),
    (Slot::Tokens, 18),
    (Slot::State, 28),
    (Slot::Stops, 9),
    (Slot::State, 32),
    (Slot::Tokens, 20),
    (Slot::State, 42),
    (Slot::State, 50),
    (Slot::State, 60),
    (Slot::State, 90),
];

/// It has its columns whether it needs them now or not, and shows the first form that fits.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) slot: Slot,
    pub(super) forms: Vec<String>,
    pub(super) style: Style,
}

const GAP: usize = 2;
/// Below this the parts stand closer.
const NARROW: u16 = 60;
/// So many columns are kept for the left at least where it is not, and at most.
const LEFT: (usize, usize) = (28, 61);

pub(super) fn fitted(left: Vec<Part>, right: Vec<Piece>, look: Look<'_>) -> Line<'static> {
    let columns = usize::from(look.width);
    let narrow = look.width < NARROW;
    let between = if narrow { "  " } else { " · " };
    let kept = if narrow { columns / 3 + 1 } else { (columns * 3 / 8).clamp(LEFT.0, LEFT.1) };
    let right = right_half(right, between, columns.saturating_sub(kept + GAP));
    let needs = half_width(right.iter().map(|(text, _)| text.as_str()), between);
    let room = columns.saturating_sub(needs + if needs > 0 { GAP } else { 0 });
    let left = left_half(left, between, room);
    let used = half_width(left.iter().map(|(text, _)| text.as_str()), between);
    let mut spans = joined(left, between, look);
    spans.push(Span::raw(" ".repeat(columns.saturating_sub(used + needs))));
    spans.extend(joined(right, between, look));
    Line::from(spans)
}

fn right_half(mut pieces: Vec<Piece>, between: &str, room: usize) -> Vec<(String, Style)> {
    let mut gone = Vec::new();
    for step in STEPS {
        if needed(&pieces, between) <= room {
            break;
        }
        if let Some(at) = pieces.iter().position(|piece| piece.what == step && !piece.forms.is_empty()) {
            gone.push((at, pieces[at].forms.remove(0)));
        }
    }
    // The last one may have made more room than it took: what gave way before comes back, the last first.
    for (at, form) in gone.into_iter().rev() {
        pieces[at].forms.insert(0, form);
        if needed(&pieces, between) > room {
            pieces[at].forms.remove(0);
        }
    }
    let shown = pieces.into_iter().filter_map(|piece| Some((piece.forms.into_iter().next()?, piece.style)));
    shown.filter(|(text, _)| !text.is_empty()).collect()
}

fn needed(pieces: &[Piece], between: &str) -> usize {
    let shown = pieces.iter().filter_map(|piece| Some((piece.forms.first()?, piece)));
    let kept = shown.filter(|(text, piece)| !text.is_empty() || piece.forms.len() > 1 && piece.kept > 0);
    let widths: Vec<usize> = kept.map(|(text, piece)| width(text).max(piece.kept)).collect();
    widths.iter().sum::<usize>() + widths.len().saturating_sub(1) * width(between)
}

/// What waits is worth more than what a turn used so far; where there is no room even so, its own rows say it.
fn left_half(parts: Vec<Part>, between: &str, room: usize) -> Vec<(String, Style)> {
    let between = width(between);
    let of = |slot: Slot| parts.iter().position(|part| part.slot == slot);
    let mut sizes = dealt(&parts, between, room, None);
    if of(Slot::Queue).is_some_and(|at| sizes[at] == 0) {
        let without = dealt(&parts, between, room, Some(Slot::Tokens));
        if of(Slot::Queue).is_some_and(|at| without[at] > 0) {
            sizes = without;
        }
    }
    let fitted = parts.into_iter().zip(sizes).filter_map(|(part, size)| {
        let last = part.forms.last().map(|text| truncate_width(text, size));
        let text = part.forms.into_iter().find(|text| width(text) <= size).or(last)?;
        (!text.is_empty()).then_some((text, part.style))
    });
    fitted.collect()
}

/// How many columns each part has, one of them left out.
fn dealt(parts: &[Part], between: usize, room: usize, without: Option<Slot>) -> Vec<usize> {
    let mut sizes = vec![0; parts.len()];
    let mut used = 0;
    for (slot, size) in DEALT.into_iter().filter(|(slot, _)| Some(*slot) != without) {
        let Some(at) = parts.iter().position(|part| part.slot == slot) else { continue };
        // What goes on is cut rather than left out.
        let size = if slot == Slot::State && used == 0 { size.min(room) } else { size };
        let gap = if sizes[at] == 0 && used > 0 { between } else { 0 };
        let more = gap + size - sizes[at];
        if used + more <= room {
            (sizes[at], used) = (size, used + more);
        }
    }
    sizes
}

fn half_width<'a>(texts: impl Iterator<Item = &'a str>, between: &str) -> usize {
    let widths: Vec<usize> = texts.map(width).collect();
    widths.iter().sum::<usize>() + widths.len().saturating_sub(1) * width(between)
}

fn joined(texts: Vec<(String, Style)>, between: &str, look: Look<'_>) -> Vec<Span<'static>> {
    let mut spans = Vec::new();
    for (text, style) in texts {
        let gap = if spans.is_empty() { "" } else { between };
        spans.extend([Span::styled(gap.to_owned(), look.theme.dim), Span::styled(text, style)]);
    }
    spans
}
