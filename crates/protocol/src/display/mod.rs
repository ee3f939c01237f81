//! What a user reads, and what may reach a terminal: labels, summaries and the one sanitiser for foreign text.
//! Every front end uses these; none of them words a tool call or cleans a string on its own.

pub mod approval;
pub mod context;
pub mod diff;
pub mod format;
pub mod history;
pub mod labels;
mod sanitize;
pub mod text;

pub use sanitize::{
    Colours, Sanitizer, is_invisible, is_obeyed, json_safe, plain, sanitize, visible, visible_line,
};
