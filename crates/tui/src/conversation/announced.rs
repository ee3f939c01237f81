//! A call that the model is still writing (its arguments stream): what is known of it, in a row.

use std::time::Instant;

use ratatui_core::text::Line;
use zdx_protocol::display::format::{path_from, size};
use zdx_protocol::display::plain;
use zdx_protocol::display::text::{one_line_ends, truncate_width, width};

use super::Conversation;
use super::rows::row;
use crate::look::Look;

/// Of names of tools.
const NAME_COLUMNS: usize = 40;
/// Less than this comes at once: to count it would only flicker.
const WORTH_COUNTING: u64 = 1_000;

#[derive(Debug)]
pub(super) struct Announced {
    pub(super) id: String,
    name: String,
    /// The file that it changes, from the folder on.
    path: Option<String>,
    bytes: u64,
}

impl Announced {
    /// `• preparing write src/a.rs · 12 kB`; of a long path the middle goes.
    pub(super) fn row(&self, look: Look<'_>) -> Line<'static> {
        let begins = format!("• preparing {}", self.name);
        let ends = match self.bytes {
            WORTH_COUNTING.. => format!(" · {}", size(self.bytes)),
            _ => " …".to_owned(),
        };
        let room = usize::from(look.width).saturating_sub(width(&begins) + width(&ends) + 1);
        let path = self.path.as_deref().map(|path| format!(" {}", one_line_ends(path, room)));
        row("", &format!("{begins}{}{ends}", path.unwrap_or_default()), look.theme.dim, look)
    }
}

impl Conversation {
    pub(super) fn announce(&mut self, id: &str, name: &str, now: Instant) {
        self.retry = None;
        self.thought_over(now);
        let name = truncate_width(&plain(name), NAME_COLUMNS);
        self.announced.push(Announced { id: id.to_owned(), name, path: None, bytes: 0 });
    }

    pub(super) fn grew_to(&mut self, id: &str, path: Option<&str>, bytes: u64) {
        if let Some(announced) = self.announced.iter_mut().find(|announced| announced.id == id) {
            announced.path = path.map(|path| path_from(path.as_ref(), self.root.as_deref()));
            announced.bytes = bytes;
        }
    }
}
