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

use super::pager::{Paged, Pager};
use super::view::Size;
use super::{Effect, Purpose, State, ask};
use crate::conversation::{NoteKind, PageRows};
use crate::look::{Drawn, Look};

/// Bytes of long outputs that are read at a time for the whole conversation, those of the last calls first.
const MOST_OUTPUT_BYTES: u64 = 128 << 20;

#[derive(Debug, Default)]
pub(super) struct Pages {
    /// The one that is read.
    pub(super) open: Option<Pager>,
    /// The conversation, as somebody read it when a question came up.
    left: Option<Pager>,
    /// Something was told since it was laid out.
    pub(super) grown: bool,
}

impl Pages {
    pub(super) fn is_conversation(&self) -> bool {
        self.open.as_ref().is_some_and(|pager| pager.what == Paged::Conversation)
    }

    pub(super) fn close(&mut self) {
        self.open = None;
    }

    /// A question came up: whoever reads the conversation comes back to where he was.
    pub(super) fn interrupt(&mut self) {
        self.left = self.open.take().filter(|pager| pager.what == Paged::Conversation);
    }

    /// Another conversation.
    pub(super) fn forget(&mut self) {
        self.left = None;
    }
}

impl State {
    pub(super) fn show_help(&mut self) {
        self.pages.open = Some(Pager::new(Paged::Help));
    }

    pub(super) fn show_conversation(&mut self) -> Vec<Effect> {
        let left = self.pages.left.take();
        self.pages.open = Some(left.unwrap_or_else(|| Pager::new(Paged::Conversation)));
        self.pages.grown = true;
        self.ask_for_outputs()
    }

    /// Long outputs are read when somebody wants to see them, those of the last calls.
    pub(super) fn ask_for_outputs(&mut self) -> Vec<Effect> {
        let files = self.conversation.unread_outputs(MOST_OUTPUT_BYTES).into_iter();
        files.flat_map(|file| ask(Purpose::Output, Query::SpilledOutput { file })).collect()
    }

    pub(super) fn show_output(&mut self, read: SpilledOutput) {
        if self.pages.is_conversation() {
            self.conversation.read_output(&Arc::new(read));
            self.pages.open.iter_mut().for_each(Pager::outdate);
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
        self.pages.open = Some(Pager::new(Paged::Answer(Box::new(reply.clone()))));
    }

    pub(super) fn show_warnings(&mut self) {
        self.pages.open = Some(Pager::new(Paged::Warnings));
        self.status.read();
    }

    /// The text on a screen of its own, when there is one.
    pub fn page(&mut self, size: Size, now: Instant) -> Option<Drawn> {
        let theme = self.theme.clone();
        let look = Look { width: size.columns.max(1), theme: &theme };
        if self.pages.open.is_none() && (self.picker.is_none() || self.dialogs.is_open()) {
            return None;
        }
        // What is final meanwhile is kept as rows, to be printed when the page is left.
        let settled = self.conversation.settled(look);
        self.before.extend(settled);
        let Some(mut pager) = self.pages.open.take() else {
            return self.picker.as_mut().map(|(_, picker)| picker.draw(look, usize::from(size.rows)));
        };
        if pager.is_stale(look.width, self.pages.grown, now) {
            self.pages.grown = false;
            pager.refresh(self.paged(&pager.what, look, now), look.width, now);
        }
        let drawn = pager.draw(look, size.rows);
        self.pages.open = Some(pager);
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
