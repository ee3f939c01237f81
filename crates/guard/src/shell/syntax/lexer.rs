//! Cuts a script into tokens exactly as bash does, with the source text of every word kept.
//! The grammar's own tokenizer rewrites what it reads; a guard must see the very bytes that run.
//! Where shells disagree about where something ends, this refuses instead of choosing.

use brush_parser::{SourcePosition, SourceSpan, Token};
use zdx_protocol::ReasonCode;

use crate::limits::{
    MAX_CASES, MAX_ELEMENTS, MAX_EXPANSION, MAX_INDEX, MAX_NESTING, MAX_PARENS, MAX_TEST_OPERATORS,
    MAX_TOKENS,
};
use crate::shell::syntax::extent::{arithmetic_end, word_end};

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LexError {
    #[error("a quote or an expansion is never closed")]
    Unterminated,
    #[error("it nests too deeply to be read")]
    TooDeep,
    #[error("it has more words than can be read")]
    TooLong,
    #[error("a here-document's end is not clear")]
    HereDocument,
    #[error("it uses a form that shells read differently")]
    Ambiguous,
}

impl LexError {
    /// A text beyond a limit may be a script; any other one that cannot be read may as well be none.
    pub(crate) fn code(self) -> ReasonCode {
        match self {
            Self::TooDeep => ReasonCode::TooDeep,
            Self::TooLong => ReasonCode::TooLarge,
            Self::Unterminated | Self::HereDocument | Self::Ambiguous => ReasonCode::Unreadable,
        }
    }
}

pub(crate) type Result<T> = std::result::Result<T, LexError>;

/// All tokens of a script, ready for the grammar.
pub(crate) fn tokens(source: &str) -> Result<Vec<Token>> {
    // A line break that is taken away joins a `$` with what it then expands, even inside quotes.
    if source.contains("$\\\n") {
        return Err(LexError::Ambiguous);
    }
    let mut lexer = Lexer {
        source,
        bytes: source.as_bytes(),
        at: 0,
        depth: 0,
        out: Vec::new(),
        pending: Vec::new(),
        elements: 0,
    };
    lexer.run(false)?;
    check_nesting(&lexer.out)?;
    Ok(lexer.out)
}

/// Where the `$(` whose inside starts at `from` is closed: the index after its parenthesis.
pub(crate) fn command_end(source: &str, from: usize, depth: usize) -> Result<usize> {
    if depth > MAX_EXPANSION {
        return Err(LexError::TooDeep);
    }
    let mut lexer = Lexer {
        source,
        bytes: source.as_bytes(),
        at: from,
        depth,
        out: Vec::new(),
        pending: Vec::new(),
        elements: 0,
    };
    lexer.run(true)?;
    Ok(lexer.at)
}

struct Here {
    delimiter: String,
    quoted: bool,
    strip_tabs: bool,
    /// Where in `out` the body belongs.
    slot: usize,
}

struct Lexer<'a> {
    source: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    out: Vec<Token>,
    pending: Vec<Here>,
    /// Words so far that look like an element of an array.
    elements: usize,
}

const OPERATORS: &[&str] = &[
    "&>>", "<<-", "<<<", ";;&", "&&", "||", ";;", ";&", "|&", "<<", ">>", "<&", ">&", "<>", ">|", "&>", "(",
    ")", "<", ">", "|", "&", ";",
];

impl Lexer<'_> {
    /// Reads to the end of the text, or past the `)` that closes a substitution.
    fn run(&mut self, to_paren: bool) -> Result<()> {
        let mut open = Vec::new();
        loop {
            self.skip_blanks();
            if self.out.len() > MAX_TOKENS {
                return Err(LexError::TooLong);
            }
            let Some(&byte) = self.bytes.get(self.at) else { break };
            if byte == b'\n' {
                self.newline()?;
            } else if byte == b'#' {
                while self.bytes.get(self.at).is_some_and(|b| *b != b'\n') {
                    self.at += 1;
                }
            } else if let Some(operator) = self.operator() {
                if open.len() > MAX_PARENS {
                    return Err(LexError::TooDeep);
                }
                if to_paren && self.closes(operator, &mut open) {
                    self.at += 1;
                    return if self.pending.is_empty() { Ok(()) } else { Err(LexError::HereDocument) };
                }
                self.take_operator(operator)?;
            } else {
                let command_position = self.at_command_position();
                let word = self.take_word()?;
                match word.as_str() {
                    "case" if command_position => open.push("case"),
                    "esac" if open.last() == Some(&"case") && command_position => {
                        open.pop();
                    }
                    _ => {}
                }
            }
        }
        if to_paren {
            return Err(LexError::Unterminated);
        }
        if self.pending.is_empty() { Ok(()) } else { self.newline() }
    }

    /// Follows parentheses inside a substitution; true when this one closes it.
    fn closes(&self, operator: &str, open: &mut Vec<&'static str>) -> bool {
        match operator {
            "(" => open.push("("),
            ")" => match open.last() {
                Some(&"(") => {
                    open.pop();
                }
                // The `)` after a case pattern.
                Some(_) => {}
                None => return true,
            },
            _ => {}
        }
        false
    }

    fn at_command_position(&self) -> bool {
        match self.out.last() {
            None => true,
            Some(Token::Operator(operator, _)) => {
                !operator.starts_with(['<', '>']) && !operator.starts_with("&>")
            }
            Some(Token::Word(word, _)) => {
                matches!(
                    word.as_str(),
                    "then" | "do" | "else" | "elif" | "if" | "while" | "until" | "!" | "{" | "in" | "time"
                )
            }
        }
    }

    fn skip_blanks(&mut self) {
        loop {
            match (self.bytes.get(self.at), self.bytes.get(self.at + 1)) {
                (Some(b' ' | b'\t'), _) => self.at += 1,
                (Some(b'\\'), Some(b'\n')) => self.at += 2,
                _ => return,
            }
        }
    }

    fn operator(&self) -> Option<&'static str> {
        OPERATORS.iter().find(|operator| self.bytes[self.at..].starts_with(operator.as_bytes())).copied()
    }

    fn push(&mut self, from: usize, token: fn(String, SourceSpan) -> Token, text: String) {
        let span = span(from, self.at);
        self.out.push(token(text, span));
    }

    fn take_operator(&mut self, operator: &'static str) -> Result<()> {
        let from = self.at;
        if operator == "(" && self.bytes.get(from + 1) == Some(&b'(') && self.take_arithmetic()? {
            return Ok(());
        }
        self.at += operator.len();
        self.push(from, Token::Operator, operator.to_owned());
        if operator == "<<" || operator == "<<-" {
            self.here_tag(operator == "<<-")?;
        }
        Ok(())
    }

    /// `((…))`: its inside is one word for the grammar, or three in a `for`. Otherwise two subshells.
    fn take_arithmetic(&mut self) -> Result<bool> {
        let from = self.at;
        let Some(end) = arithmetic_end(self.source, from + 2, self.depth + 1)? else { return Ok(false) };
        let in_for = matches!(self.out.last(), Some(Token::Word(word, _)) if word == "for");
        for at in [from, from + 1] {
            self.out.push(Token::Operator("(".to_owned(), span(at, at + 1)));
        }
        let inside = &self.source[from + 2..end - 2];
        let mut start = from + 2;
        for (index, part) in inside.split(';').enumerate() {
            if index > MAX_TOKENS {
                return Err(LexError::TooLong);
            }
            if index > 0 {
                self.out.push(Token::Operator(";".to_owned(), span(start - 1, start)));
            }
            if !part.trim().is_empty() {
                self.out.push(Token::Word(part.to_owned(), span(start, start + part.len())));
            }
            start += part.len() + 1;
        }
        if !in_for && inside.contains(';') {
            // Not arithmetic after all for any shell that accepts it.
            return Err(LexError::Ambiguous);
        }
        for at in [end - 2, end - 1] {
            self.out.push(Token::Operator(")".to_owned(), span(at, at + 1)));
        }
        self.at = end;
        Ok(true)
    }

    fn take_word(&mut self) -> Result<String> {
        let from = self.at;
        let end = word_end(self.source, from, self.depth)?;
        self.at = end;
        let text = join_lines(&self.source[from..end]);
        // The grammar looks for `name[index]=` in every word, and follows each bracket.
        if text.bytes().filter(|b| *b == b'[').count() > MAX_EXPANSION
            && text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        {
            return Err(LexError::TooDeep);
        }
        if let Some(index) = element_index(&text) {
            self.elements += 1;
            if self.elements > MAX_ELEMENTS || index.len() > MAX_INDEX {
                return Err(LexError::TooLong);
            }
        }
        let next_redirects = self.bytes.get(end).is_some_and(|b| matches!(b, b'<' | b'>'));
        if next_redirects && text.len() > 6 && text.bytes().all(|b| b.is_ascii_digit()) {
            return Err(LexError::Ambiguous);
        }
        self.push(from, Token::Word, text.clone());
        Ok(text)
    }

    fn here_tag(&mut self, strip_tabs: bool) -> Result<()> {
        self.skip_blanks();
        let from = self.at;
        let end = word_end(self.source, from, self.depth)?;
        let raw = &self.source[from..end];
        let (delimiter, quoted) = plain_delimiter(raw).ok_or(LexError::HereDocument)?;
        self.at = end;
        self.push(from, Token::Word, raw.to_owned());
        // The grammar wants the body and the closing tag right behind the opening one.
        let slot = self.out.len();
        self.out.push(Token::Word(String::new(), span(end, end)));
        self.out.push(Token::Word(raw.to_owned(), span(end, end)));
        self.pending.push(Here { delimiter, quoted, strip_tabs, slot });
        Ok(())
    }

    fn newline(&mut self) -> Result<()> {
        let from = self.at;
        if self.at < self.bytes.len() {
            self.at += 1;
            self.push(from, Token::Operator, "\n".to_owned());
        }
        for here in std::mem::take(&mut self.pending) {
            let body = self.here_body(&here)?;
            let location = span(self.at, self.at);
            if let Some(slot) = self.out.get_mut(here.slot) {
                *slot = Token::Word(body, location);
            }
        }
        Ok(())
    }

    /// Lines up to the delimiter. Shells differ on a delimiter reached through a joined line: refused.
    fn here_body(&mut self, here: &Here) -> Result<String> {
        let mut body = String::new();
        let mut joined = String::new();
        loop {
            if self.at >= self.bytes.len() {
                return Err(LexError::HereDocument);
            }
            let rest = &self.source[self.at..];
            let line = rest.split('\n').next().unwrap_or(rest);
            self.at = (self.at + line.len() + 1).min(self.bytes.len());
            let shown = if here.strip_tabs { line.trim_start_matches('\t') } else { line };
            if shown == here.delimiter && joined.is_empty() {
                return Ok(body);
            }
            let continues = !here.quoted && line.bytes().rev().take_while(|b| *b == b'\\').count() % 2 == 1;
            let whole = format!("{joined}{shown}");
            if !joined.is_empty() && (shown == here.delimiter || whole == here.delimiter) {
                return Err(LexError::HereDocument);
            }
            if continues {
                joined.push_str(&shown[..shown.len() - 1]);
                // A joined line that is the delimiter's beginning may become it.
                if joined.is_empty() {
                    joined.push('\u{1}');
                }
            } else {
                joined.clear();
            }
            body.push_str(shown);
            body.push('\n');
        }
    }
}

fn span(from: usize, to: usize) -> SourceSpan {
    let position = |index| SourcePosition { index, line: 1, column: 1 };
    SourceSpan { start: position(from).into(), end: position(to).into() }
}

/// A delimiter is a plain name, bare or quoted as a whole; anything else is read differently by shells.
fn plain_delimiter(raw: &str) -> Option<(String, bool)> {
    let (name, quoted) = if let Some(inner) = raw.strip_prefix('\'').and_then(|r| r.strip_suffix('\'')) {
        (inner, true)
    } else if let Some(inner) = raw.strip_prefix('"').and_then(|r| r.strip_suffix('"')) {
        (inner, true)
    } else if let Some(inner) = raw.strip_prefix('\\') {
        (inner, true)
    } else {
        (raw, false)
    };
    let plain =
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.!+=:@%/".contains(c));
    plain.then(|| (name.to_owned(), quoted))
}

/// Drops line continuations outside single quotes, as the shell does before it looks for keywords.
fn join_lines(raw: &str) -> String {
    if !raw.contains("\\\n") || raw.contains(['\'', '`', '(']) {
        return raw.to_owned();
    }
    let mut out = String::with_capacity(raw.len());
    let mut chars = raw.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\\' {
            match chars.next() {
                Some('\n') => {}
                Some(next) => {
                    out.push(c);
                    out.push(next);
                }
                None => out.push(c),
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// The inside of the brackets of `name[index]=value`, as far as the grammar would look for their end.
fn element_index(word: &str) -> Option<&str> {
    let name = word.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let named = name.len() < word.len() && !word.starts_with(|c: char| c.is_ascii_digit());
    let inside = name.strip_prefix('[').filter(|_| named)?;
    Some(inside.split_once("]=").map_or(inside, |(index, _)| index))
}

/// The grammar recurses once per opener: more of them than this at a time is not read at all.
fn check_nesting(tokens: &[Token]) -> Result<()> {
    let (mut depth, mut parens, mut prefixes) = (0usize, 0usize, 0usize);
    let mut cases = 0usize;
    // Operators since the `[[` that is not closed yet.
    let mut operators: Option<usize> = None;
    for token in tokens {
        let text = token.to_str();
        match (token, text) {
            (Token::Word(..), "case") => cases += 1,
            (Token::Word(..), "esac") => cases = cases.saturating_sub(1),
            (Token::Word(..), "[[") => operators = Some(0),
            (Token::Word(..), "]]") => operators = None,
            (Token::Operator(..), "&&" | "||") => operators = operators.map(|count| count + 1),
            _ => {}
        }
        if cases > MAX_CASES || operators.is_some_and(|count| count > MAX_TEST_OPERATORS) {
            return Err(LexError::TooDeep);
        }
        // Words that may stand before a command again and again.
        prefixes = if matches!(text, "!" | "coproc" | "time") { prefixes + 1 } else { 0 };
        match (token, text) {
            (Token::Operator(..), "(") => {
                depth += 1;
                parens += 1;
            }
            (Token::Operator(..), ")") => {
                depth = depth.saturating_sub(1);
                parens = parens.saturating_sub(1);
            }
            (Token::Word(..), "{" | "if" | "while" | "until" | "for" | "case" | "[[" | "select") => {
                depth += 1
            }
            (Token::Word(..), "}" | "fi" | "done" | "esac" | "]]") => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_NESTING || parens > MAX_PARENS || prefixes > MAX_PARENS {
            return Err(LexError::TooDeep);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
