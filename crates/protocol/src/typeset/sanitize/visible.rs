//! Text that a person must judge: nothing in it may be invisible, reordered or taken for something else.
//! Unlike the sanitiser it drops nothing: what cannot be seen is spelled out.

use std::fmt::Write as _;

use super::chars::{self, Class, Shape};
use super::filter::MAX_MARKS;

/// Spells out control, bidi, zero-width and tag characters and blanks that are no space. Line breaks stay.
pub fn visible(text: &str) -> String {
    spell(text, LineBreaks::Keep)
}

/// Like [`visible`], on one line: a newline is spelled `\n`.
pub fn visible_line(text: &str) -> String {
    spell(text, LineBreaks::Spell)
}

#[derive(Clone, Copy, PartialEq)]
enum LineBreaks {
    Keep,
    Spell,
}

fn spell(text: &str, breaks: LineBreaks) -> String {
    let mut out = String::with_capacity(text.len());
    let mut marks = 0;
    let mut has_base = false;
    let mut before = Shape::Other;
    for c in text.chars() {
        let class = chars::classify(c);
        let shown = match class {
            Class::Plain => c != '\u{3000}' && c != '\u{2800}',
            Class::Mark => has_base && marks < MAX_MARKS,
            // The emoji style of a pictograph, once; anywhere else a selector can only hide.
            Class::Selector => matches!(c, '\u{fe0e}' | '\u{fe0f}') && before == Shape::Pictograph,
            Class::Control => c == '\n' && breaks == LineBreaks::Keep,
            Class::Joiner | Class::Tag | Class::Space | Class::Break | Class::Hidden | Class::Invalid => {
                false
            }
        };
        if shown {
            out.push(c);
        } else {
            push_escape(c, &mut out);
        }
        marks = if class == Class::Mark { marks + 1 } else { 0 };
        has_base = c != '\n';
        before = if class == Class::Plain { chars::shape(c) } else { Shape::Other };
    }
    out
}

fn push_escape(c: char, out: &mut String) {
    let _ = match c {
        '\n' => write!(out, "\\n"),
        '\r' => write!(out, "\\r"),
        '\t' => write!(out, "\\t"),
        '\0'..='\x7f' => write!(out, "\\x{:02x}", u32::from(c)),
        _ => write!(out, "\\u{{{:x}}}", u32::from(c)),
    };
}
