//! The main screen as the rest of the front end knows it: frames go in, one write comes out. While the terminal is being
//! resized, or another page is shown, frames are kept, and no line of history is lost.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use ratatui_core::text::Line;
use rustix::termios::tcgetwinsize;

use super::capabilities::Reflow;
use super::clipboard::{self, Copied};
use super::cover::Recent;
use super::input::Input;
use super::mend::{Mended, Misplaced, Sent};
use super::modes::Modes;
use super::page::Page;
use super::painter::Painter;
use super::settle::{Phase, Question, Sizes};
use super::{Capabilities, Environment, Report, stop};

/// Mode 2026, background, kitty keys, name, size; and at last what everybody answers.
const QUESTIONS: &str = "\x1b[?2026$p\x1b]11;?\x1b\\\x1b[?u\x1b[>q\x1b[18t\x1b[c";
/// So many lines are not kept longer, whatever the terminal does.
const MOST_HELD: usize = 20_000;
const LONGEST_TITLE: usize = 200;
/// Rows of history that go out in one frame to one that is behind.
const MOST_AT_ONCE: usize = 24;

/// What shall be on the screen. Lines are no wider than it, and safe to print.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frame {
    /// Goes above the live region, once and for ever.
    pub history: Vec<Line<'static>>,
    pub live: Vec<Line<'static>>,
    /// Column and row of the caret within the live region; None: not shown.
    pub cursor: Option<(u16, u16)>,
    /// The live region is a question: gone when it is answered. A tall one is shown on a screen of its own.
    pub modal: bool,
}

pub(crate) struct Screen {
    pub(super) modes: Arc<Modes>,
    pub(super) capabilities: Capabilities,
    pub(super) painter: Painter,
    /// To be written before the next frame.
    pub(super) first: Vec<u8>,
    pub(super) phase: Phase,
    pub(super) sizes: Sizes,
    /// Frames that met another size than they were made for.
    pub(super) wrong: Vec<Misplaced>,
    /// They were taken away, and where from is not answered yet.
    pub(super) mended: Option<Mended>,
    /// How wide the terminal said it is, until the kernel says so too.
    pub(super) told_columns: Option<u16>,
    /// Questions for the cursor that are not answered yet; the last answer counts.
    pub(super) asking: u16,
    /// A frame waits until the terminal has caught up.
    pub(super) waiting: bool,
    /// History that could not be printed yet.
    pub(super) held: Vec<Line<'static>>,
    /// What the live region shows, or will.
    pub(super) live: Vec<Line<'static>>,
    pub(super) cursor: Option<(u16, u16)>,
    pub(super) modal: bool,
    /// A question came that nobody can have read yet.
    pub(super) unseen: bool,
    pub(super) page: Option<Page>,
    /// The live region, while it is on a screen of its own.
    pub(super) cover: Option<Page>,
    pub(super) recent: Recent,
    pub(super) resized_behind_page: bool,
    pub(super) title: String,
    pub(super) asked: bool,
    /// The kernel tells that we go on after we did.
    pub(super) went_on: bool,
}

impl Screen {
    /// Takes the terminal: raw, pastes marked, focus told. Nothing is written before the first frame.
    pub(crate) fn open(env: &Environment) -> io::Result<Self> {
        let capabilities = Capabilities::new(env);
        Self::on(Modes::find(capabilities.tmux)?, capabilities)
    }

    pub(super) fn on(modes: Arc<Modes>, capabilities: Capabilities) -> io::Result<Self> {
        let first = modes.take()?.into_bytes();
        let (columns, rows) = size(modes.tty());
        let mut painter = Painter::new(columns, rows, capabilities.depth, capabilities.insert_lines);
        painter.keeps_blanks = capabilities.reflow == Reflow::Written;
        Ok(Self {
            modes,
            capabilities,
            painter,
            first,
            phase: Phase::Steady,
            sizes: Sizes::default(),
            wrong: Vec::new(),
            mended: None,
            told_columns: None,
            asking: 0,
            waiting: false,
            held: Vec::new(),
            live: Vec::new(),
            cursor: None,
            modal: false,
            unseen: false,
            page: None,
            cover: None,
            recent: Recent::default(),
            resized_behind_page: false,
            title: String::new(),
            asked: false,
            went_on: false,
        })
    }

    /// Columns and rows, as the terminal has them now.
    pub(crate) fn size(&self) -> (u16, u16) {
        size(self.modes.tty())
    }

    pub(crate) fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    pub(super) fn tty(&self) -> io::Result<File> {
        self.modes.tty().try_clone()
    }

    /// One write; none if nothing changes. Kept while the size changes or a page is shown: then [`Self::settle`] or
    /// [`Self::page`] draws it.
    pub(crate) fn draw(&mut self, frame: &Frame) -> io::Result<()> {
        self.held.extend_from_slice(&frame.history);
        self.unseen |= frame.modal && (!self.modal || self.live != frame.live);
        self.live.clone_from(&frame.live);
        self.cursor = frame.cursor;
        self.modal = frame.modal;
        if !self.modes.is_taken() {
            // Something panicked, said so, and we live on.
            self.take()?;
        }
        if self.page.is_some() {
            return Ok(());
        }
        if self.cover.is_some() {
            return if self.modal && self.held.len() <= MOST_HELD { self.cover() } else { self.uncover() };
        }
        if self.phase == Phase::Steady && self.size() != (self.painter.columns, self.painter.rows) {
            self.resized(Instant::now());
        }
        match self.phase {
            Phase::Steady if self.is_behind(Instant::now()) => self.waiting = true,
            Phase::Steady => self.paint()?,
            Phase::Unquiet(_) | Phase::Asked(_) if self.held.len() > MOST_HELD => self.repaint(None)?,
            Phase::Unquiet(_) | Phase::Asked(_) => {}
        }
        self.ask()
    }

    /// The terminal is behind, and the next frame had better wait for it.
    pub(super) fn is_behind(&self, now: Instant) -> bool {
        self.modes.outlet().is_full() || self.answers_until(now).is_some()
    }

    /// For as long as it may take to answer.
    pub(super) fn answers_until(&self, now: Instant) -> Option<Instant> {
        let behind = self.sizes.behind_until().filter(|until| self.moves() && *until > now);
        self.sizes.full_until(now).or(behind)
    }

    /// It tells when it has shown something.
    pub(crate) fn acknowledges(&self) -> bool {
        self.sizes.question().is_some()
    }

    /// What was drawn last is what a person sees.
    pub(crate) fn is_caught_up(&self, now: Instant) -> bool {
        let sent = !self.waiting && self.phase == Phase::Steady && !self.modes.outlet().is_full();
        sent && self.sizes.are_answered(now)
    }

    /// More than cells change.
    fn moves(&self) -> bool {
        let rows = self.live.len().clamp(1, usize::from(self.painter.rows));
        !self.held.is_empty() || rows != self.painter.live_rows()
    }

    pub(super) fn paint(&mut self) -> io::Result<()> {
        if self.wants_cover() {
            return self.cover();
        }
        let bytes = self.painted();
        self.write(&bytes)
    }

    /// The bytes that bring the main screen up to date.
    pub(super) fn painted(&mut self) -> Vec<u8> {
        let moves = self.moves();
        // The rest waits for its turn.
        let most = if self.sizes.is_slow() { MOST_AT_ONCE } else { usize::MAX };
        let rest = self.held.split_off(self.held.len().min(most));
        let history = std::mem::replace(&mut self.held, rest);
        self.waiting = !self.held.is_empty();
        let columns = self.painter.columns;
        let before =
            (moves && self.sizes.are_told()).then(|| (self.painter.shape(), self.painter.caret_ever()));
        let bytes = self.painter.frame(&history, &self.live, self.cursor);
        self.recent.add(&history);
        if let Some((before, caret_ever)) = before {
            // First: a long frame may be read in pieces, and its beginning is what moves.
            self.first.splice(0..0, Question::Size.code().bytes());
            self.modes.asked();
            let wraps = self.painter.wrapped_history();
            let sent = Sent { columns, before, caret_ever, history, wraps };
            self.sizes.asked(Question::Size, Instant::now(), Some(sent));
        }
        self.modes.set_below(self.painter.rows_to_leave());
        bytes
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.first.extend_from_slice(bytes);
        let mut bytes = std::mem::take(&mut self.first);
        self.sizes.wrote(bytes.len());
        // A question counts as asked when it can be read.
        let unseen = !bytes.is_empty() && self.acknowledges() && std::mem::take(&mut self.unseen);
        let wanted = (unseen || self.sizes.are_wanted()) && self.modes.is_taken();
        if let Some(question) = self.sizes.question().filter(|_| wanted) {
            bytes.extend_from_slice(question.code().as_bytes());
            self.modes.asked();
            self.sizes.asked(question, Instant::now(), None);
        }
        self.modes.write(&bytes)
    }

    /// Once, behind the first frame.
    fn ask(&mut self) -> io::Result<()> {
        if self.asked || !self.capabilities.answers {
            return Ok(());
        }
        self.asked = true;
        self.modes.asked();
        self.modes.asked();
        self.sizes.asked(Question::Size, Instant::now(), None);
        self.sizes.asked(Question::Kind, Instant::now(), None);
        self.write(QUESTIONS.as_bytes())
    }

    /// An answer of the terminal's. True: what it can do, or its background, is known better now.
    pub(crate) fn reported(&mut self, report: &Report) -> io::Result<bool> {
        match report {
            Report::Attributes => {
                self.modes.answered();
                self.sizes.kind_told(Instant::now());
                self.has_come()?;
            }
            Report::KittyKeys(_) => {
                let on = self.modes.kitty_keys();
                self.write(on.as_bytes())?;
            }
            Report::Cursor(row, column) => {
                self.modes.answered();
                self.stands_at(*row, *column)?;
            }
            Report::Size(first, second) => {
                self.modes.answered();
                self.was_so_large(*first, *second)?;
            }
            Report::Synchronised(_) | Report::Background(..) | Report::Version(_) => {}
        }
        let learned = self.capabilities.learn(report);
        self.painter.synchronised = self.capabilities.synchronised;
        self.painter.keeps_blanks = self.capabilities.reflow == Reflow::Written;
        Ok(learned)
    }

    /// Ctrl-Z: asks the kernel to stop the whole command, which comes back as [`super::TermInput::Stop`]. False: there is
    /// nobody to wake it up again.
    pub(crate) fn ask_to_stop(&self) -> bool {
        stop::ask()
    }

    /// Stops here, with the terminal as it was found; comes back when somebody wants us to go on.
    pub(crate) fn suspend(&mut self, input: &mut Input) -> io::Result<()> {
        self.hand_over(input)?;
        stop::now();
        self.went_on = true;
        self.take_back(input)
    }

    /// Stops here while another program has the terminal: what stopped that one stops us too.
    pub(crate) fn stop_here(&mut self) {
        stop::now();
        self.went_on = true;
    }

    /// We were stopped without a chance to give the terminal back: others may have used it.
    pub(crate) fn resume(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.went_on) {
            return Ok(());
        }
        self.take()?;
        self.redraw()
    }

    /// Gives the terminal to another program. Nothing is read or written until [`Self::take_back`].
    pub(crate) fn hand_over(&mut self, input: &mut Input) -> io::Result<()> {
        input.pause();
        let mut bytes = self.off_page();
        let above = self.painter.rows_above_caret();
        bytes.extend_from_slice(&self.painter.erase(above));
        self.modes.set_below(0);
        let written = self.write(&bytes);
        self.modes.give_back();
        written
    }

    pub(crate) fn take_back(&mut self, input: &mut Input) -> io::Result<()> {
        self.take()?;
        input.go_on()?;
        self.redraw()
    }

    fn take(&mut self) -> io::Result<()> {
        let on = self.modes.take()?;
        self.first.extend_from_slice(on.as_bytes());
        if self.cover.take().is_some() {
            let off = self.off_page();
            self.first.extend_from_slice(&off);
        }
        let title = std::mem::take(&mut self.title);
        self.set_title(&title);
        self.painter.forget();
        (self.painter.columns, self.painter.rows) = self.size();
        self.phase = Phase::Steady;
        self.sizes.give_up();
        self.wrong.clear();
        self.print_mended(None);
        self.asking = 0;
        Ok(())
    }

    fn redraw(&mut self) -> io::Result<()> {
        if let Some(page) = &mut self.page {
            // Drawn by whoever knows what is on it; until then the screen is theirs already.
            *page = Page::default();
            self.resized_behind_page = false;
            let on = self.onto_page();
            return self.write(&on);
        }
        self.paint()
    }

    pub(crate) fn title(&mut self, title: &str) -> io::Result<()> {
        self.set_title(title);
        self.write(&[])
    }

    fn set_title(&mut self, title: &str) {
        let title: String = title.chars().filter(|c| !c.is_control()).take(LONGEST_TITLE).collect();
        if title != self.title {
            let keep = self.modes.keep_title();
            self.first.extend_from_slice(format!("{keep}\x1b]2;{title}\x1b\\").as_bytes());
            self.title = title;
        }
    }

    /// Into the clipboard of whoever sits there.
    pub(crate) fn copy(&mut self, text: &str) -> io::Result<Copied> {
        if self.capabilities.tmux && clipboard::to_tmux(text) {
            return Ok(Copied::TmuxBuffer);
        }
        match clipboard::osc52(text, self.capabilities.tmux) {
            Some(code) => self.write(code.as_bytes()).map(|()| Copied::Clipboard),
            None => Ok(Copied::TooLong),
        }
    }

    pub(crate) fn bell(&mut self) -> io::Result<()> {
        self.write(b"\x07")
    }

    /// Leaves what is drawn, with the cursor below it, and everything else as it was found.
    pub(crate) fn close(self) {
        drop(self);
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // What could not be drawn in time is drawn all the same.
        if self.modes.is_taken() {
            let off = self.off_page();
            self.first.extend_from_slice(&off);
            self.sizes = Sizes::default();
            (self.page, self.cover, self.modal) = (None, None, false);
            let _ = match self.phase {
                Phase::Steady => self.paint(),
                Phase::Unquiet(_) | Phase::Asked(_) => self.repaint(None),
            };
        }
        self.modes.leave();
    }
}

/// Terminals that do not know (a serial line) are taken for the usual ones.
fn size(tty: &File) -> (u16, u16) {
    match tcgetwinsize(tty) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col, size.ws_row),
        _ => (80, 24),
    }
}
