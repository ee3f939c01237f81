//! What somebody may want to copy: the last answer or draft, or a block of code.

use super::Conversation;
use super::cell::{Cell, NoteKind};

impl Conversation {
    /// As the model wrote it.
    pub(crate) fn last_answer(&self) -> Option<&str> {
        self.texts().next()
    }

    /// The code of the n-th fenced block from the end, from 1.
    pub(crate) fn code_block(&self, n: usize) -> Option<String> {
        self.texts().flat_map(|text| blocks(text).into_iter().rev()).nth(n.checked_sub(1)?)
    }

    /// The last first.
    fn texts(&self) -> impl Iterator<Item = &str> {
        self.cells.iter().rev().filter_map(|cell| match cell {
            Cell::Text(text) if !text.source.trim().is_empty() => Some(text.source.as_str()),
            // Whoever had it drafted wants that.
            Cell::Note(NoteKind::Drafted, text) => Some(text.as_str()),
            _ => None,
        })
    }
}

/// One that is still open counts as far as it goes.
fn blocks(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut open: Option<(&str, usize)> = None;
    for line in text.lines() {
        let body = line.trim_start();
        let indent = line.len() - body.len();
        match open {
            Some((fence, _))
                if body.starts_with(fence) && body.trim_end().trim_start_matches(&fence[..1]).is_empty() =>
            {
                open = None;
            }
            Some((_, inner)) => {
                if let Some(block) = found.last_mut() {
                    let blanks = line.len() - line.trim_start_matches(' ').len();
                    block.push_str(&line[blanks.min(inner)..]);
                    block.push('\n');
                }
            }
            None => {
                let sign = body.chars().next().filter(|sign| matches!(sign, '`' | '~'));
                let length = body.len() - sign.map_or(body.len(), |sign| body.trim_start_matches(sign).len());
                if sign.is_some() && length >= 3 {
                    open = Some((&body[..length], indent));
                    found.push(String::new());
                }
            }
        }
    }
    found
}
