//! Code in colours (syntax highlighting): syntect's grammars, our own few styles. Loaded once and late, for loading takes
//! tens of milliseconds: never on the way to the first frame. What is too long to be coloured quickly stays plain.

mod scopes;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use ratatui_core::text::Span;
use syntect::parsing::{ParseState, ScopeStack, SyntaxReference, SyntaxSet};

use crate::{Depth, Theme};

/// Before code that was only folded.
pub(crate) const FOLDED: &str = "↪ ";
/// A longer line stays plain: what has lines like this is minified or data.
const LONGEST_LINE: usize = 2_000;
/// The lines of a block past these stay plain.
const MOST_LINES: usize = 2_000;
/// In an answer that still comes, painted bytes are counted too: a line full of tokens takes 0.3 ms.
pub(crate) const MOST_STREAMED: usize = 20 * 1024;
const TAB_STOP: usize = 4;

static SYNTAXES: OnceLock<SyntaxSet> = OnceLock::new();

/// Loads what a [`Painter`] needs; for a thread that has nothing else to do.
pub(crate) fn warm() {
    let _ = syntaxes();
    scopes::warm();
}

fn syntaxes() -> &'static SyntaxSet {
    SYNTAXES.get_or_init(two_face::syntax::extra_newlines)
}

/// Whether code is shown as this, plain text included.
pub(crate) fn is_language(word: &str) -> bool {
    word.is_empty() || NO_CODE.contains(&word.to_ascii_lowercase().as_str()) || find(word).is_some()
}

/// Tabs as blanks, up to the next stop.
pub(crate) fn expand_tabs(line: &str) -> std::borrow::Cow<'_, str> {
    if !line.contains('\t') {
        return line.into();
    }
    let mut out = String::with_capacity(line.len() + 16);
    let mut column = 0;
    for c in line.chars() {
        let columns = if c == '\t' { TAB_STOP - column % TAB_STOP } else { 1 };
        column += columns;
        match c {
            '\t' => out.extend(std::iter::repeat_n(' ', columns)),
            _ => out.push(c),
        }
    }
    out.into()
}

/// Paints one block, line by line in order; a clone goes on from where the first one stands.
#[derive(Clone)]
pub(crate) struct Painter {
    grammar: Option<(ParseState, ScopeStack)>,
    /// How many lines and bytes are still painted.
    lines: usize,
    bytes: usize,
}

impl Painter {
    /// By the word behind a fence, or by a file's name.
    pub(crate) fn new(language: &str, most_bytes: usize) -> Self {
        let state = |syntax| (ParseState::new(syntax), ScopeStack::new());
        Self { grammar: find(language).map(state), lines: MOST_LINES, bytes: most_bytes }
    }

    /// Clean and without tabs or line breaks in, the same in colours out.
    pub(crate) fn line(&mut self, line: &str, theme: &Theme) -> Vec<Span<'static>> {
        match (self.lines.checked_sub(1), self.bytes.checked_sub(line.len())) {
            (Some(lines), Some(bytes)) => (self.lines, self.bytes) = (lines, bytes),
            (None, _) | (_, None) => self.grammar = None,
        }
        let plain =
            || if line.is_empty() { Vec::new() } else { vec![Span::styled(line.to_owned(), theme.text)] };
        let Some((state, stack)) = &mut self.grammar else { return plain() };
        // Without colours there is nothing to tell.
        if line.len() > LONGEST_LINE || theme.depth == Depth::None {
            return plain();
        }
        let Ok(changes) = state.parse_line(&format!("{line}\n"), syntaxes()) else {
            // What is left of the stacks is worth nothing.
            self.grammar = None;
            return plain();
        };
        let mut spans: Vec<Span<'static>> = Vec::new();
        let mut from = 0;
        let mut push = |to: usize, from: &mut usize, stack: &ScopeStack| {
            let to = to.min(line.len());
            if to <= *from {
                return;
            }
            let style = scopes::style(stack, theme);
            let text = &line[*from..to];
            match spans.last_mut() {
                Some(last) if last.style == style => last.content.to_mut().push_str(text),
                _ => spans.push(Span::styled(text.to_owned(), style)),
            }
            *from = to;
        };
        for (at, change) in changes {
            push(at, &mut from, stack);
            if stack.apply(&change).is_err() {
                break;
            }
        }
        push(line.len(), &mut from, stack);
        spans
    }
}

/// The grammar for a fence's word or a file's name; none for text. Unknown words load nothing twice.
fn find(language: &str) -> Option<&'static SyntaxReference> {
    let word = language.trim().to_ascii_lowercase();
    if word.is_empty() || NO_CODE.contains(&word.as_str()) {
        return None;
    }
    let known = ALIASES.iter().find(|(alias, _)| *alias == word).map_or(word.as_str(), |(_, name)| name);
    let set = syntaxes();
    let by = |word: &str| set.find_syntax_by_token(word);
    by(language.trim()).or_else(|| by(known)).or_else(|| by(known.rsplit('.').next()?))
}

const NO_CODE: &[&str] = &["text", "txt", "plain", "plaintext", "none", "output", "log"];

/// What people write behind a fence, and grammars are not called.
const ALIASES: &[(&str, &str)] = &[
    ("bashrc", "sh"),
    ("console", "sh"),
    ("cpp", "c++"),
    ("csharp", "cs"),
    ("cts", "ts"),
    ("docker", "dockerfile"),
    ("elisp", "lisp"),
    ("golang", "go"),
    ("json5", "json"),
    ("jsonc", "json"),
    ("jsonl", "json"),
    ("jsx", "js"),
    ("mts", "ts"),
    ("node", "js"),
    ("patch", "diff"),
    ("proto", "protobuf"),
    ("py3", "py"),
    ("python3", "py"),
    ("shell", "sh"),
    ("shell-session", "sh"),
    ("shellscript", "sh"),
    ("terminal", "sh"),
    ("udiff", "diff"),
    ("viml", "vim"),
    ("yml", "yaml"),
    ("zsh", "sh"),
];
