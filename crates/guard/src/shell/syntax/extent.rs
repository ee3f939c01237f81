//! Where a word, a quote or an expansion ends, in every context that the shell knows.
//! Refuses what shells end in different places.

use crate::limits::MAX_EXPANSION;
use crate::shell::syntax::lexer::{LexError, Result, command_end};

/// The end of the unquoted word that starts at `at`.
pub(crate) fn word_end(source: &str, mut at: usize, depth: usize) -> Result<usize> {
    let bytes = source.as_bytes();
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b' ' | b'\t' | b'\n' | b'(' | b')' | b'<' | b'>' | b'|' | b'&' | b';' => break,
            _ => at = step(source, at, depth, false)?,
        }
    }
    Ok(at)
}

/// One character, quote or expansion further. Shared by every context that expands.
pub(crate) fn step(source: &str, at: usize, depth: usize, in_quotes: bool) -> Result<usize> {
    let bytes = source.as_bytes();
    match bytes.get(at) {
        None => Err(LexError::Unterminated),
        Some(b'\\') => match source[at + 1..].chars().next() {
            Some(c) => Ok(at + 1 + c.len_utf8()),
            None => Err(LexError::Unterminated),
        },
        Some(b'\'') if !in_quotes => find(bytes, at + 1, b'\''),
        Some(b'"') if !in_quotes => double_quote_end(source, at + 1, depth),
        Some(b'`') => backquote_end(source, at + 1),
        Some(b'$') => dollar_end(source, at, depth, in_quotes),
        Some(_) => Ok(at + source[at..].chars().next().map_or(1, char::len_utf8)),
    }
}

fn find(bytes: &[u8], from: usize, wanted: u8) -> Result<usize> {
    bytes[from..].iter().position(|b| *b == wanted).map(|n| from + n + 1).ok_or(LexError::Unterminated)
}

/// The index after the closing quote.
pub(crate) fn double_quote_end(source: &str, mut at: usize, depth: usize) -> Result<usize> {
    loop {
        match source.as_bytes().get(at) {
            None => return Err(LexError::Unterminated),
            Some(b'"') => return Ok(at + 1),
            Some(_) => at = step(source, at, depth, true)?,
        }
    }
}

/// The index after the closing backquote.
pub(crate) fn backquote_end(source: &str, mut at: usize) -> Result<usize> {
    loop {
        match source.as_bytes().get(at) {
            None => return Err(LexError::Unterminated),
            Some(b'`') => return Ok(at + 1),
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
        }
    }
}

/// The index after the closing quote of `$'…'`, given the index after its opening one.
pub(crate) fn ansi_end(source: &str, mut at: usize) -> Result<usize> {
    loop {
        match source.as_bytes().get(at) {
            None => return Err(LexError::Unterminated),
            Some(b'\'') => return Ok(at + 1),
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
        }
    }
}

/// The index after the expansion that the `$` at `at` begins.
pub(crate) fn dollar_end(source: &str, at: usize, depth: usize, in_quotes: bool) -> Result<usize> {
    if depth > MAX_EXPANSION {
        return Err(LexError::TooDeep);
    }
    let bytes = source.as_bytes();
    match bytes.get(at + 1) {
        Some(b'(') => {
            if bytes.get(at + 2) == Some(&b'(')
                && let Some(end) = arithmetic_end(source, at + 3, depth + 1)?
            {
                return Ok(end);
            }
            command_end(source, at + 2, depth + 1)
        }
        Some(b'{') => brace_end(source, at + 2, depth + 1, in_quotes),
        // bash reads old arithmetic, dash two plain characters.
        Some(b'[') => Err(LexError::Ambiguous),
        Some(b'\'') if !in_quotes => {
            let end = ansi_end(source, at + 2)?;
            // dash knows no $'…': for it the quote behind a backslash ends the word.
            if source[at + 2..end].replace("\\\\", "").contains("\\'") {
                Err(LexError::Ambiguous)
            } else {
                Ok(end)
            }
        }
        Some(b'"') if !in_quotes => double_quote_end(source, at + 2, depth),
        Some(c) if c.is_ascii_alphabetic() || *c == b'_' => {
            let name =
                bytes[at + 1..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
            Ok(at + 1 + name)
        }
        Some(b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!') => Ok(at + 2),
        _ => Ok(at + 1),
    }
}

/// The index after the `}` that closes `${`.
pub(crate) fn brace_end(source: &str, mut at: usize, depth: usize, in_quotes: bool) -> Result<usize> {
    if depth > MAX_EXPANSION {
        return Err(LexError::TooDeep);
    }
    loop {
        match source.as_bytes().get(at) {
            None => return Err(LexError::Unterminated),
            Some(b'}') => return Ok(at + 1),
            // Inside double quotes shells disagree on what a quote in here means.
            Some(b'\'') if in_quotes => return Err(LexError::Ambiguous),
            Some(b'"') => at = double_quote_end(source, at + 1, depth)?,
            Some(_) => at = step(source, at, depth, in_quotes)?,
        }
    }
}

/// The index after `))` when the text from `from` on is arithmetic; nothing when its parentheses close apart.
pub(crate) fn arithmetic_end(source: &str, from: usize, depth: usize) -> Result<Option<usize>> {
    if depth > MAX_EXPANSION {
        return Err(LexError::TooDeep);
    }
    let bytes = source.as_bytes();
    let mut open = 0;
    let mut at = from;
    loop {
        match bytes.get(at) {
            None => return Ok(None),
            Some(b'(') => {
                open += 1;
                if open > MAX_EXPANSION {
                    return Err(LexError::TooDeep);
                }
                at += 1;
            }
            Some(b')') if open > 0 => {
                open -= 1;
                at += 1;
            }
            Some(b')') if bytes.get(at + 1) != Some(&b')') => return Ok(None),
            // Shells do not agree on what quotes mean in arithmetic.
            Some(b')') if source[from..at].contains('\'') || !balanced(&source[from..at]) => {
                return Err(LexError::Ambiguous);
            }
            Some(b')') => return Ok(Some(at + 2)),
            Some(_) => match step(source, at, depth, false) {
                Ok(next) => at = next,
                Err(LexError::Unterminated) => return Ok(None),
                Err(other) => return Err(other),
            },
        }
    }
}

/// bash counts bare parentheses once more before it calculates, and runs a command when they do not match.
fn balanced(text: &str) -> bool {
    let mut open = 0usize;
    let mut chars = text.chars();
    let mut quoted = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '"' => quoted = !quoted,
            '(' if !quoted => open += 1,
            ')' if !quoted => match open.checked_sub(1) {
                Some(less) => open = less,
                None => return false,
            },
            _ => {}
        }
    }
    open == 0
}
