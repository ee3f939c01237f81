//! What is read on a screen of its own, and what it is made of: the whole conversation, help, warnings, a long answer to a
//! command; and lists to choose from.

use std::sync::Arc;
use std::time::Instant;

use ratatui_core::text::Line;
use zdx_protocol::display::format::count;
use zdx_protocol::display::text::hang;
use zdx_protocol::display::visible_line;
use zdx_protocol::query::SpilledOutput;
use zdx_protocol::{Query, Reply};

use super::overlay::Overlay;
use super::pager::Paged;
use super::view::Size;
use super::{Effect, Purpose, State, ask};
use crate::conversation::{NoteKind, PageRows};
use crate::look::{Drawn, Look};

/// Bytes of long outputs that are read at a time for the whole conversation, those of the last calls first.
const MOST_OUTPUT_BYTES: u64 = 128 << 20;

impl State {
    pub(super) fn show_help(&mut self) {
        self.overlays.show(Paged::Help);
    }

    pub(super) fn show_conversation(&mut self) -> Vec<Effect> {
        self.overlays.show_conversation();
        self.ask_for_outputs()
    }

    /// Long outputs are read when somebody wants to see them, those of the last calls.
    pub(super) fn ask_for_outputs(&mut self) -> Vec<Effect> {
        let files = self.conversation.unread_outputs(MOST_OUTPUT_BYTES).into_iter();
        files.flat_map(|file| ask(Purpose::Output, Query::SpilledOutput { file })).collect()
    }

    pub(super) fn show_output(&mut self, read: SpilledOutput) {
        if self.overlays.is_conversation() {
            self.conversation.read_output(&Arc::new(read));
            self.overlays.outdate();
        }
    }

    /// What a command brought, where it can be read. A page must not cover a question, nor take the keys of somebody who types.
    pub(super) fn show_answer(&mut self, reply: &Reply) {
        let lines = self.listed(reply);
        // The composer and what stands around it take some rows.
        const AROUND: usize = 4;
        let long = lines.len() + AROUND > usize::from(self.height);
        if !long || self.dialogs.is_open() || !self.composer.is_empty() {
            return self.conversation.note(lines, NoteKind::Said);
        }
        if !matches!(reply, Reply::Config(_)) {
            self.say(&format!("{}, on a page of their own", count(lines.len(), "line")));
        }
        self.overlays.show(Paged::Answer(Box::new(reply.clone())));
    }

    pub(super) fn show_warnings(&mut self) {
        self.overlays.show(Paged::Warnings);
        self.status.read();
    }

    /// The text on a screen of its own, when there is one.
    pub fn page(&mut self, size: Size, now: Instant) -> Option<Drawn> {
        let theme = self.theme.clone();
        let look = Look { width: size.columns.max(1), theme: &theme };
        let mut overlay = self.overlays.take(self.dialogs.is_open())?;
        // What is final meanwhile is kept as rows, to be printed when the page is left.
        let settled = self.conversation.settled(look);
        self.before.extend(settled);
        let drawn = match &mut overlay {
            Overlay::Page(pager) => {
                if pager.is_stale(look.width, self.overlays.grown, now) {
                    self.overlays.grown = false;
                    pager.refresh(self.paged(&pager.what, look, now), look.width, now);
                }
                pager.draw(look, size.rows)
            }
            Overlay::Picker(_, picker) => picker.draw(look, usize::from(size.rows)),
        };
        self.overlays.put_back(overlay);
        Some(drawn)
    }

    /// As wide as the screen is now.
    fn paged(&self, what: &Paged, look: Look<'_>, now: Instant) -> Vec<PageRows> {
        let lines = match what {
            Paged::Conversation => return self.conversation.whole(look, now),
            Paged::Help => super::keys::help(look),
            Paged::Warnings => self.status.warning_lines(look),
            Paged::Answer(reply) => {
                let lines = self.listed(reply);
                let rows = lines.iter().flat_map(|line| hang(&visible_line(line), usize::from(look.width)));
                rows.map(|row| Line::styled(row, look.theme.text)).collect()
            }
        };
        vec![PageRows::Lines(lines)]
    }
}
