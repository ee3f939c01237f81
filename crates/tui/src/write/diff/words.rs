//! Which words of a changed line differ: pairs of a removed and an added line that are alike, compared word by word.

use std::ops::Range;

use ratatui_core::style::Style;
use ratatui_core::text::Span;
use zdx_protocol::compare::{DiffTag, differences};
use zdx_protocol::display::diff::LineKind;

use super::{Numbered, body};

/// A longer line, or a longer change, is marked as a whole.
const LONGEST: usize = 1_000;
const MOST: usize = 200;
/// How many lines further on the other half of a pair is looked for.
const AHEAD: usize = 3;

/// The stretches that differ, in order.
#[derive(Debug, PartialEq)]
pub(super) struct Words(Vec<Range<usize>>);

impl Words {
    pub(super) fn spans(&self, text: &str, style: Style, word: Style) -> Vec<Span<'static>> {
        let mut spans = Vec::with_capacity(self.0.len() * 2 + 1);
        let mut from = 0;
        let mut push = |range: Range<usize>, style| {
            if let Some(text) = text.get(range).filter(|text| !text.is_empty()) {
                spans.push(Span::styled(text.to_owned(), style));
            }
        };
        for range in &self.0 {
            push(from..range.start, style);
            push(range.clone(), word);
            from = range.end;
        }
        push(from..text.len(), style);
        spans
    }
}

pub(super) fn mark(lines: &mut [Numbered<'_>]) {
    let mut at = 0;
    while at < lines.len() {
        let run =
            |from: usize, kind: LineKind| lines[from..].iter().take_while(|line| line.kind == kind).count();
        let removed = run(at, LineKind::Remove);
        let added = run(at + removed, LineKind::Add);
        if removed > 0 && added > 0 && removed + added <= MOST {
            pair(&mut lines[at..at + removed + added], removed);
        }
        at += (removed + added).max(1);
    }
}

/// Goes through both halves in order; a line without a likeness stays alone.
fn pair(lines: &mut [Numbered<'_>], removed: usize) {
    let mut next = removed;
    for old in 0..removed {
        let candidates = next..(next + AHEAD).min(lines.len());
        let found = candidates
            .into_iter()
            .find_map(|new| Some((new, compare(body(&lines[old]), body(&lines[new]))?)));
        if let Some((new, (gone, come))) = found {
            lines[old].words = Some(gone);
            lines[new].words = Some(come);
            next = new + 1;
        }
    }
}

/// What differs on either side; nothing when the two have little in common.
fn compare(old: &str, new: &str) -> Option<(Words, Words)> {
    if old.len().max(new.len()) > LONGEST {
        return None;
    }
    let (old_words, new_words) = (split(old), split(new));
    let olds: Vec<&str> = old_words.iter().map(|word| &old[word.clone()]).collect();
    let news: Vec<&str> = new_words.iter().map(|word| &new[word.clone()]).collect();
    let (mut gone, mut come, mut same) = (Vec::new(), Vec::new(), 0);
    for op in differences(&olds, &news, None) {
        if op.tag() == DiffTag::Equal {
            same += olds[op.old_range()].iter().map(|word| word.trim().len()).sum::<usize>();
            continue;
        }
        push(&mut gone, &old_words[op.old_range()], old);
        push(&mut come, &new_words[op.new_range()], new);
    }
    let letters = |text: &str| text.bytes().filter(|byte| *byte != b' ').count();
    let alike = same * 2 * 2 >= letters(old) + letters(new) && same > 0;
    alike.then_some((Words(gone), Words(come)))
}

/// One stretch for words that stand together; two with nothing but a blank between them are one.
fn push(out: &mut Vec<Range<usize>>, words: &[Range<usize>], text: &str) {
    let (Some(first), Some(last)) = (words.first(), words.last()) else { return };
    match out.last_mut() {
        Some(before) if text[before.end..first.start].trim().is_empty() => before.end = last.end,
        _ => out.push(first.start..last.end),
    }
}

/// Names and numbers, runs of blanks, and every other character alone.
fn split(text: &str) -> Vec<Range<usize>> {
    #[derive(PartialEq)]
    enum Sort {
        Name,
        Blank,
        Other,
    }
    let sort = |c: char| match c {
        ' ' => Sort::Blank,
        '_' => Sort::Name,
        c if c.is_alphanumeric() && c < '\u{2e80}' => Sort::Name,
        _ => Sort::Other,
    };
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut before = Sort::Other;
    for (at, c) in text.char_indices() {
        let now = sort(c);
        match out.last_mut() {
            Some(last) if now == before && now != Sort::Other => last.end = at + c.len_utf8(),
            _ => out.push(at..at + c.len_utf8()),
        }
        before = now;
    }
    out
}
