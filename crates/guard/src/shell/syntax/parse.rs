//! From text to syntax tree: our tokens, brush-parser's grammar.
//! Everything that could overflow, hang or panic in there is refused before or caught here.

use brush_parser::{ParserOptions, ast};
use zdx_protocol::ReasonCode;

use crate::shell::syntax::lexer::{self, LexError};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("{0}")]
    Lex(#[from] LexError),
    #[error("it is not valid shell syntax")]
    Syntax,
    #[error("it is too long to be read")]
    TooLarge,
}

impl Unreadable {
    pub(crate) fn code(&self) -> ReasonCode {
        match self {
            Self::Lex(error) => error.code(),
            Self::Syntax => ReasonCode::Unreadable,
            Self::TooLarge => ReasonCode::TooLarge,
        }
    }
}

/// Aliases and extended patterns are off in the shells we start, so the grammar must not know them either.
fn options() -> ParserOptions {
    ParserOptions { enable_extended_globbing: false, ..ParserOptions::default() }
}

pub(crate) fn program(source: &str) -> Result<ast::Program, Unreadable> {
    let tokens = lexer::tokens(source)?;
    let parsed = std::panic::catch_unwind(|| brush_parser::parse_tokens(&tokens, &options()));
    match parsed {
        Ok(Ok(program)) => Ok(program),
        Ok(Err(_)) | Err(_) => Err(Unreadable::Syntax),
    }
}
