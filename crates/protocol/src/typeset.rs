//! Text as people read it: cleaned for a terminal, measured, cut, counted, compared line by line.
//! Below everything that words something; knows no call, record or event. Seen from outside as part of `display`.

pub mod diff;
pub mod format;
mod gap;
mod sanitize;
pub mod text;

pub use gap::Gap;
pub use sanitize::{
    Colours, Sanitizer, is_invisible, is_obeyed, json_safe, plain, sanitize, visible, visible_line,
};
