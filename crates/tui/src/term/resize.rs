//! The screen while its size changes: see [`super::settle`] for what is known and what is asked.

use std::io;
use std::time::Instant;

use super::Screen;
use super::settle::{Phase, rows_above};

const WHERE: &str = "\x1b[6n";

impl Screen {
    /// The terminal has, or may have, another size.
    pub(crate) fn resized(&mut self, now: Instant) {
        if self.is_covered() {
            self.resized_behind_page = true;
        } else {
            self.phase = Phase::unquiet(now, self.capabilities.tmux);
        }
        self.told_columns = None;
    }

    /// Comes back when [`Self::settle`] wants to be called.
    pub(crate) async fn settles(&self) {
        let due = async {
            match self.settles_at() {
                Some(when) => tokio::time::sleep_until(when.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = due => {}
            () = self.modes.outlet().has_room() => {}
        }
    }

    fn settles_at(&self) -> Option<Instant> {
        let now = Instant::now();
        let waits = self.waiting && !self.modes.outlet().is_full();
        let behind = waits.then(|| self.answers_until(now).unwrap_or(now));
        self.phase.ends().or(behind).filter(|_| !self.is_covered())
    }

    /// Goes on with a change of size, or draws what waited for the terminal to catch up, if it is time.
    pub(crate) fn settle(&mut self, now: Instant) -> io::Result<()> {
        self.modes.outlet().flush()?;
        if self.is_covered() {
            return Ok(());
        }
        match self.phase {
            Phase::Unquiet(until) if now >= until && self.capabilities.answers => self.ask_where(now),
            Phase::Unquiet(until) | Phase::Asked(until) if now >= until => self.repaint(None),
            Phase::Steady if self.waiting && !self.is_behind(now) => {
                // What waited was made for the size that was.
                if self.size() == (self.painter.columns, self.painter.rows) {
                    return self.paint();
                }
                self.resized(now);
                Ok(())
            }
            Phase::Steady | Phase::Unquiet(_) | Phase::Asked(_) => Ok(()),
        }
    }

    fn ask_where(&mut self, now: Instant) -> io::Result<()> {
        self.phase = Phase::asked(now, self.sizes.are_told());
        self.asking += 1;
        self.modes.asked();
        self.write(WHERE.as_bytes())
    }

    /// The answer to that. Nobody asked: it is of no interest.
    pub(super) fn stands_at(&mut self, row: u16, column: u16) -> io::Result<()> {
        self.asking = self.asking.saturating_sub(1);
        match self.phase {
            Phase::Asked(_) if !self.is_covered() && self.asking == 0 => self.repaint(Some((row, column))),
            Phase::Asked(_) | Phase::Unquiet(_) | Phase::Steady => Ok(()),
        }
    }

    /// The terminal has shown more: what waited for that may go out.
    pub(super) fn has_come(&mut self) -> io::Result<()> {
        match self.phase {
            Phase::Steady if self.waiting => self.settle(Instant::now()),
            Phase::Steady | Phase::Unquiet(_) | Phase::Asked(_) => Ok(()),
        }
    }

    /// How large the terminal was when it came to a frame.
    pub(super) fn was_so_large(&mut self, first: u16, second: u16) -> io::Result<()> {
        let wrong = self.sizes.told(first, second, self.size(), Instant::now());
        if wrong.is_empty() {
            return self.has_come();
        }
        self.wrong.extend(wrong);
        self.told_columns = self.sizes.columns(first, second);
        if self.is_covered() {
            self.resized_behind_page = true;
            return Ok(());
        }
        // At once: before it changes again.
        self.ask_where(Instant::now())
    }

    /// Takes the region from where the terminal put it, and draws all that was kept.
    pub(super) fn repaint(&mut self, cursor: Option<(u16, u16)>) -> io::Result<()> {
        let (columns, rows) = self.size();
        // The terminal may know before the kernel does.
        let columns = self.told_columns.take().unwrap_or(columns).max(1);
        let above = if self.wrong.is_empty() {
            rows_above(&self.painter.shape(), columns, self.capabilities.reflow, cursor)
        } else {
            self.mend(columns, cursor)
        };
        (self.painter.columns, self.painter.rows) = (columns, rows.max(1));
        let erase = self.painter.erase(above);
        self.first.extend_from_slice(&erase);
        self.sizes.forget();
        self.phase = Phase::Steady;
        self.asking = 0;
        self.paint()
    }

    /// Frames met a terminal that had just broken the region's rows anew, and went to wrong ones. All from the region before
    /// them on is taken away, and what they had to say about history is said again; but not what left the screen since,
    /// for that stays.
    fn mend(&mut self, columns: u16, cursor: Option<(u16, u16)>) -> usize {
        let wrong = std::mem::take(&mut self.wrong);
        let Some(first) = wrong.first() else { return self.painter.rows_above_caret() };
        let (above, _) = first.before.above_caret(usize::from(columns), self.capabilities.reflow);
        let moved = self.painter.caret_ever().saturating_sub(first.caret_ever);
        let above = above + usize::try_from(moved).unwrap_or(usize::MAX);
        let history: Vec<_> = wrong.into_iter().flat_map(|sent| sent.history).collect();
        let caret = self.painter.rows_above_caret();
        let reached = cursor.map_or(caret, |(row, _)| usize::from(row).saturating_sub(1)).min(above);
        let gone =
            if reached < above { history.len().saturating_sub(reached.saturating_sub(caret)) } else { 0 };
        self.held.splice(0..0, history.into_iter().skip(gone));
        reached
    }
}
