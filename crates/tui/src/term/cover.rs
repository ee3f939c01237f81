//! What hides the conversation for a while: a page to read, or a question too tall to stand below it. Both have a screen of
//! their own, so that the main one neither scrolls for them nor keeps a piece of them, however the window changes meanwhile.

use std::collections::VecDeque;
use std::io;
use std::time::Instant;

use ratatui_core::text::Line;

use super::Screen;
use super::capabilities::Reflow;
use super::settle::Phase;
use crate::look::Drawn;

const HOME: &[u8] = b"\x1b[H";

/// The end of what was printed, as much of it as a screen could show.
#[derive(Default)]
pub(super) struct Recent(VecDeque<Line<'static>>);

impl Recent {
    const MOST: usize = 200;

    pub(super) fn add(&mut self, history: &[Line<'static>]) {
        self.0.extend(history.iter().skip(history.len().saturating_sub(Self::MOST)).cloned());
        self.0.drain(..self.0.len().saturating_sub(Self::MOST));
    }
}

impl Screen {
    /// Something else is shown, and the main screen is out of reach behind it.
    pub(super) fn is_covered(&self) -> bool {
        self.page.is_some() || self.cover.is_some()
    }

    /// Half of the screen: a smaller question leaves the conversation to be read and scrolled while it is answered. xterm loses
    /// rows of the main screen when a window changes that shows another one; it and its like have all on the main one.
    pub(super) fn wants_cover(&self) -> bool {
        let breaks = match self.capabilities.reflow {
            Reflow::Cut => false,
            Reflow::Content | Reflow::Written => true,
        };
        self.modal && breaks && self.live.len() > usize::from(self.size().1) / 2
    }

    /// Shows the live region on a screen of its own, below what was said last. Nothing of it is left on the main one.
    pub(super) fn cover(&mut self) -> io::Result<()> {
        let mut bytes = Vec::new();
        if self.cover.is_none() {
            // kitty forgets which row the cursor was in if there is nothing in it.
            bytes = self.painted_with(vec![Line::from("…")]);
            bytes.extend_from_slice(&self.onto_page());
        }
        let (size, depth) = (self.size(), self.capabilities.depth);
        let drawn = self.covering(usize::from(size.1));
        let page = self.cover.get_or_insert_default();
        bytes.extend_from_slice(&page.draw(&drawn, size, depth));
        self.write(&bytes)
    }

    /// The main screen with this for a live region.
    fn painted_with(&mut self, live: Vec<Line<'static>>) -> Vec<u8> {
        let (live, cursor) = (std::mem::replace(&mut self.live, live), self.cursor.take());
        let bytes = self.painted();
        (self.live, self.cursor) = (live, cursor);
        bytes
    }

    fn covering(&self, rows: usize) -> Drawn {
        // The end is what a person works at.
        let cut = self.live.len().saturating_sub(rows);
        let room = rows.saturating_sub(self.live.len());
        let said = self.recent.0.len() + self.held.len();
        let mut lines = vec![Line::default(); room.saturating_sub(said)];
        let above = self.recent.0.iter().chain(&self.held).skip(said.saturating_sub(room));
        lines.extend(above.chain(&self.live[cut..]).cloned());
        let row = |row: u16| usize::from(row).saturating_sub(cut) + room;
        let cursor = self.cursor.map(|(column, at)| (column, u16::try_from(row(at)).unwrap_or(u16::MAX)));
        Drawn { lines, cursor }
    }

    pub(super) fn uncover(&mut self) -> io::Result<()> {
        let off = self.off_page();
        self.cover = None;
        self.back_to_main(&off)
    }

    /// Shows this on a screen of its own, or goes back to the conversation.
    pub(crate) fn page(&mut self, drawn: Option<&Drawn>) -> io::Result<()> {
        let Some(drawn) = drawn else {
            if self.page.is_none() {
                return Ok(());
            }
            let off = self.off_page();
            self.page = None;
            return self.back_to_main(&off);
        };
        let (size, depth) = (self.size(), self.capabilities.depth);
        let mut bytes = if self.page.is_none() { self.onto_page() } else { Vec::new() };
        self.cover = None;
        let page = self.page.get_or_insert_default();
        bytes.extend_from_slice(&page.draw(drawn, size, depth));
        self.write(&bytes)
    }

    fn back_to_main(&mut self, off: &[u8]) -> io::Result<()> {
        self.unseen |= self.modal;
        self.first.extend_from_slice(off);
        self.first.extend_from_slice(self.painter.cursor_shown());
        if std::mem::take(&mut self.resized_behind_page) {
            self.write(&[])?;
            self.phase = Phase::unquiet(Instant::now(), self.capabilities.tmux);
            return Ok(());
        }
        match self.phase {
            Phase::Steady => self.paint(),
            Phase::Unquiet(_) | Phase::Asked(_) => self.write(&[]),
        }
    }

    pub(super) fn onto_page(&mut self) -> Vec<u8> {
        if self.capabilities.own_screen {
            return self.modes.page(true).as_bytes().to_vec();
        }
        // There is only one. What stands on it goes to the scrollback: from whatever row on, so many line feeds move all that is
        // above it out, and not a row more.
        let mut bytes = self.painted_with(Vec::new());
        bytes.extend_from_slice("\n".repeat(usize::from(self.size().1.saturating_sub(1))).as_bytes());
        bytes.extend_from_slice(HOME);
        bytes
    }

    /// To be asked for before it is forgotten that there is a page.
    pub(super) fn off_page(&mut self) -> Vec<u8> {
        let off = self.modes.page(false).as_bytes();
        // It was drawn on the only screen.
        if self.page.is_some() && off.is_empty() {
            [HOME, &self.painter.erase(0)].concat()
        } else {
            off.to_vec()
        }
    }
}
