//! Words that are looked for in a text: where they stand in a row, whatever their case, and how that is shown.

use std::ops::Range;

use ratatui_core::style::Modifier;
use ratatui_core::text::{Line, Span};

#[derive(Debug, Default)]
pub(super) struct Search {
    pub(super) typing: bool,
    pub(super) words: String,
    /// The row that was found last.
    pub(super) found: Option<usize>,
    /// What is to be said about the last step, until the next key.
    pub(super) note: Option<String>,
}

#[derive(Clone, Copy)]
pub(super) enum Way {
    Up,
    Down,
}

pub(super) fn holds(line: &Line<'_>, words: &str) -> bool {
    !places(&line.to_string(), words).is_empty()
}

/// Where the words stand; places do not overlap.
fn places(text: &str, words: &str) -> Vec<Range<usize>> {
    let same = |one: char, other: char| one == other || one.to_lowercase().eq(other.to_lowercase());
    let behind = |at: usize| {
        let mut rest = text[at..].chars();
        words
            .chars()
            .all(|word| rest.next().is_some_and(|c| same(c, word)))
            .then(|| text.len() - rest.as_str().len())
    };
    let (mut found, mut from) = (Vec::new(), 0);
    for (at, _) in text.char_indices() {
        if at >= from
            && let Some(end) = behind(at)
        {
            found.push(at..end);
            from = end;
        }
    }
    found
}

/// The row with the words reversed, those of the row that was found in bold.
pub(super) fn marked(line: &Line<'static>, words: &str, found: bool) -> Line<'static> {
    let places = places(&line.to_string(), words);
    if places.is_empty() {
        return line.clone();
    }
    let how = if found { Modifier::REVERSED | Modifier::BOLD } else { Modifier::REVERSED };
    let mut spans = Vec::new();
    let mut start = 0;
    for span in &line.spans {
        let end = start + span.content.len();
        let mut at = start;
        for place in places.iter().filter(|place| place.start < end && place.end > start) {
            let (from, to) = (place.start.max(start), place.end.min(end));
            spans.push(Span::styled(span.content[at - start..from - start].to_owned(), span.style));
            let style = span.style.add_modifier(how);
            spans.push(Span::styled(span.content[from - start..to - start].to_owned(), style));
            at = to;
        }
        spans.push(Span::styled(span.content[at - start..].to_owned(), span.style));
        start = end;
    }
    spans.retain(|span| !span.content.is_empty());
    Line { spans, ..line.clone() }
}
