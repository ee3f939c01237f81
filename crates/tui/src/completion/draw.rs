//! The popup on a screen: a row a candidate, the chosen one marked by a sign, the letters that were meant strong.

use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;
use zdx_protocol::display::text::one_line;
use zdx_protocol::display::visible_line;
use zdx_protocol::query::Candidate;

use super::{MOST_ROWS, Popup};
use crate::look::Look;
use crate::theme::Theme;

const SIGN: &str = "▸ ";
const NO_SIGN: &str = "  ";
/// Between a candidate and what it is.
const GAP: usize = 2;
/// With less room than this nothing is said of a candidate.
const LEAST_DETAIL: usize = 12;
/// With fewer rows than this none is given away to a number.
const LEAST_COUNTED: usize = 4;

impl Popup {
    /// At most so many rows, those around the chosen one; none when it is closed.
    pub(crate) fn draw(&self, look: Look<'_>, most_rows: usize) -> Vec<Line<'static>> {
        let candidates = &self.found.candidates;
        let most = most_rows.min(MOST_ROWS);
        let (width, theme) = (usize::from(look.width.max(1)), look.theme);
        if most == 0 || width <= SIGN.width() {
            return Vec::new();
        }
        // The last row says that there is more, where it is not needed more.
        let counted = candidates.len() > most && most >= LEAST_COUNTED;
        let most = most - usize::from(counted);
        // The chosen one comes to the bottom and then takes the rows along.
        let top = (self.selected + 1).saturating_sub(most).min(candidates.len().saturating_sub(most));
        let shown: Vec<&Candidate> = candidates.iter().skip(top).take(most).collect();
        let room = width.saturating_sub(SIGN.width());
        let widest = shown.iter().map(|one| one.shown.width()).max().unwrap_or_default();
        // Names line up as long as something can be said of them.
        let names = widest.min(if room > 2 * LEAST_DETAIL { room * 2 / 3 } else { room });
        let rows = shown.iter().enumerate().map(|(n, candidate)| {
            let chosen = top + n == self.selected;
            let mut line = Line::from(Span::styled(if chosen { SIGN } else { NO_SIGN }, theme.accent));
            let has_detail = !candidate.detail.is_empty();
            let most = if has_detail { names } else { room };
            let used = name(candidate, chosen, most, theme, &mut line);
            let left = room.saturating_sub(names + GAP);
            if has_detail && left >= LEAST_DETAIL {
                line.push_span(Span::raw(" ".repeat(names + GAP - used)));
                line.push_span(Span::styled(one_line(&candidate.detail, left), theme.dim));
            }
            line
        });
        let mut rows: Vec<Line<'static>> = rows.collect();
        if counted {
            let more = one_line(&format!("{} more", candidates.len() - rows.len()), room);
            rows.push(Line::from(vec![Span::raw(NO_SIGN), Span::styled(more, theme.dim)]));
        }
        rows
    }
}

/// The end of a path says more than its beginning, so that is where it is cut. How wide it came to be.
fn name(candidate: &Candidate, chosen: bool, most: usize, theme: &Theme, line: &mut Line<'static>) -> usize {
    let style = if chosen { theme.accent } else { theme.text };
    let matched = if chosen { theme.accent.patch(theme.strong) } else { theme.strong };
    let letters: Vec<(String, Style)> = candidate
        .shown
        .graphemes(true)
        .zip(0_u32..)
        .map(|(letter, at)| {
            let meant = candidate.matched.binary_search(&at).is_ok();
            (cleaned(letter), if meant { matched } else { style })
        })
        .collect();
    let width: usize = letters.iter().map(|(letter, _)| letter.width()).sum();
    if width <= most {
        push(line, letters);
        return width;
    }
    let mut used = 1;
    let fits = letters.iter().rev().take_while(|(letter, _)| {
        used += letter.width();
        used <= most
    });
    let kept = letters.len() - fits.count();
    let tail: Vec<(String, Style)> = letters.into_iter().skip(kept).collect();
    let width = 1 + tail.iter().map(|(letter, _)| letter.width()).sum::<usize>();
    if most > 0 {
        push(line, std::iter::once(("…".to_owned(), style)).chain(tail));
    }
    width.min(most)
}

/// As it is, or what a terminal would obey spelled out.
fn cleaned(letter: &str) -> String {
    if letter == "\u{3000}" { letter.to_owned() } else { visible_line(letter) }
}

fn push(line: &mut Line<'static>, letters: impl IntoIterator<Item = (String, Style)>) {
    let mut run = String::new();
    let mut style = Style::new();
    for (letter, next) in letters {
        if next != style && !run.is_empty() {
            line.push_span(Span::styled(std::mem::take(&mut run), style));
        }
        style = next;
        run.push_str(&letter);
    }
    if !run.is_empty() {
        line.push_span(Span::styled(run, style));
    }
}
