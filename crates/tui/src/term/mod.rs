//! The terminal: its modes, what is typed on it, what is drawn on it. The one owner of stdout (terminal driver, renderer).
//! Knows nothing of conversations; everything it is given is already laid out and safe to print.

mod capabilities;
mod cells;
mod clipboard;
mod cover;
mod decode;
mod input;
mod mend;
mod modes;
mod out;
mod outlet;
mod page;
mod painter;
mod resize;
mod screen;
mod settle;
mod stop;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use capabilities::Capabilities;
pub use capabilities::Environment;
pub(crate) use clipboard::Copied;
pub(crate) use input::Input;
pub(crate) use screen::{Frame, Screen};

use crate::key::Key;

/// What comes from the terminal, or from the kernel about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TermInput {
    Key(Key),
    /// Lines end in `\n`. Cut at a bound nobody types.
    Paste(String),
    Focus(bool),
    Resize,
    Report(Report),
    /// Somebody wants us to stop for a while: Ctrl-Z, or `kill -TSTP`. Answer with [`Screen::suspend`].
    Stop,
    /// We were stopped behind our back and go on. Answer with [`Screen::resume`].
    Continue,
    /// The terminal is closed; nothing follows.
    Gone,
}

/// What the terminal answers when asked. Give it to [`Screen::reported`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// DA1: every terminal answers this one, so all earlier questions are answered or never will be.
    Attributes,
    /// Mode 2026 is known.
    Synchronised(bool),
    Background(u8, u8, u8),
    /// The kitty keyboard protocol is known; its flags now.
    KittyKeys(u8),
    /// XTVERSION: name and version.
    Version(String),
    /// Row and column of the cursor, counted from 1.
    Cursor(u16, u16),
    /// How large the terminal was when it came to the question. Some give columns first.
    Size(u16, u16),
}
