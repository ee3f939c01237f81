//! What a user reads, and what may reach a terminal: labels, summaries and the one sanitiser for foreign text.
//! Every front end uses these; none of them words a tool call or cleans a string on its own.

pub mod approval;
pub mod context;
pub mod demo;
mod details;
pub mod history;
pub mod labels;
pub mod listing;
pub mod servers;
pub mod sessions;
pub mod titles;
pub mod trust;
pub mod turns;

pub use crate::typeset::{
    Colours, Gap, Sanitizer, diff, format, is_invisible, is_obeyed, json_safe, plain, sanitize, text,
    visible, visible_line,
};
pub use details::{details, typed_command};
