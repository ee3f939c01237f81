//! From the bytes of a command line to words and a tree: exactly as a shell reads them, or a refusal.
//! Knows no command and no file.

pub(crate) mod ansi;
pub(crate) mod braces;
pub(crate) mod extent;
pub(crate) mod lexer;
pub(crate) mod normal;
pub(crate) mod parse;
pub(crate) mod text;
pub(crate) mod word;
