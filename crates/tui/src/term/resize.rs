//! The screen while its size changes: see [`super::settle`] for what is known and what is asked.

use std::io;
use std::time::Instant;

use super::Screen;
use super::mend::{CaretNow, Mended};
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
            Phase::Unquiet(until) if now >= until && self.capabilities.answers => self.ask_where(now, &[]),
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

    /// Asks where the caret is, and writes this behind the question.
    fn ask_where(&mut self, now: Instant, behind: &[u8]) -> io::Result<()> {
        self.phase = Phase::asked(now, self.sizes.are_told());
        self.asking += 1;
        self.modes.asked();
        self.write(&[WHERE.as_bytes(), behind].concat())
    }

    /// The answer to that. Nobody asked: it is of no interest.
    pub(super) fn stands_at(&mut self, row: u16, column: u16) -> io::Result<()> {
        self.asking = self.asking.saturating_sub(1);
        self.print_mended(Some(usize::from(row).saturating_sub(1)));
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
        let follows = !self.wrong.is_empty();
        let Some(wrong) = self.sizes.told(first, second, self.size(), follows, Instant::now()) else {
            return self.has_come();
        };
        self.wrong.push(wrong);
        self.told_columns = self.sizes.columns(first, second);
        if self.is_covered() {
            self.resized_behind_page = true;
            return Ok(());
        }
        // At once: before it changes again.
        self.ask_where(Instant::now(), &[])
    }

    /// Takes the region from where the terminal put it, and draws all that was kept.
    pub(super) fn repaint(&mut self, cursor: Option<(u16, u16)>) -> io::Result<()> {
        let (columns, rows) = self.size();
        // The terminal may know before the kernel does.
        let columns = self.told_columns.take().unwrap_or(columns).max(1);
        self.print_mended(None);
        let above = if self.wrong.is_empty() {
            rows_above(&self.painter.shape(), columns, self.capabilities.reflow, cursor)
        } else {
            let mended = self.mend(columns, cursor);
            let above = mended.above;
            self.mended = Some(mended);
            if cursor.is_some() {
                // The window may get lower before this comes, and what leaves it at the top stays: what is to be printed again
                // is known when it is known from which row on all was taken away.
                let erase = self.painter.erase(above);
                self.asking = 0;
                return self.ask_where(Instant::now(), &erase);
            }
            self.print_mended(None);
            above
        };
        (self.painter.columns, self.painter.rows) = (columns, rows.max(1));
        let erase = self.painter.erase(above);
        self.first.extend_from_slice(&erase);
        self.sizes.forget();
        self.phase = Phase::Steady;
        self.asking = 0;
        self.paint()
    }

    /// Returns the frames that went to wrong rows, as far as they can be taken away.
    fn mend(&mut self, columns: u16, cursor: Option<(u16, u16)>) -> Mended {
        let mut wrong = std::mem::take(&mut self.wrong);
        wrong.extend(self.sizes.take_untold(columns));
        let caret = CaretNow {
            columns,
            reflow: self.capabilities.reflow,
            ever: self.painter.caret_ever(),
            above: self.painter.rows_above_caret(),
            row: cursor.map(|(row, _)| usize::from(row).saturating_sub(1)),
        };
        Mended::new(wrong, &caret)
    }

    /// `row` is where the caret was when they were taken away, counted from 0.
    pub(super) fn print_mended(&mut self, row: Option<usize>) {
        if let Some(mended) = self.mended.take() {
            self.held.splice(0..0, mended.into_history(row));
        }
    }
}
