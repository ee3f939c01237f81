//! From the bytes of a command line to words and a tree: exactly as a shell reads them, or a refusal.
//! Knows no command and no file.

pub mod ansi;
pub mod braces;
pub mod extent;
pub mod lexer;
pub mod normal;
pub mod parse;
pub mod text;
pub mod word;
