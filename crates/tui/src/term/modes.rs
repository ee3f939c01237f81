//! The terminal's modes while we have it, and how to undo them: from the screen itself, from a panic, once.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering::SeqCst};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::termios::{OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

use super::outlet::Outlet;
use super::stop::Unstoppable;

/// Pastes are marked, and so is the focus.
const ON: &str = "\x1b[?2004h\x1b[?1004h";
const OFF: &str = "\x1b[?2004l\x1b[?1004l";
/// tmux: tell modified keys apart.
const TMUX_KEYS_ON: &str = "\x1b[>4;2m";
const TMUX_KEYS_OFF: &str = "\x1b[>4;0m";
/// Tell Esc from sequences, and Shift-Enter from Enter.
const KITTY_KEYS_ON: &str = "\x1b[>1u";
const KITTY_KEYS_OFF: &str = "\x1b[<u";
/// Kept and set; the title that was there comes back, where a terminal keeps titles.
const TITLE_KEEP: &str = "\x1b[22;2t";
const TITLE_BACK: &str = "\x1b]2;\x1b\\\x1b[23;2t";
const PAGE_ON: &str = "\x1b[?1049h";
const PAGE_OFF: &str = "\x1b[?1049l";
/// Whatever a frame may have been in the middle of.
const SAFE: &str = "\x1b[?2026l\x1b[m\x1b[?7h\x1b[?25h";

/// What a slow line gets to take what is left.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How long the answers to what was asked last are waited for, so that the shell does not get them.
const LAST_ANSWERS: Duration = Duration::from_millis(100);

/// The one terminal that a panic must give back.
static TAKEN: Mutex<Option<Arc<Modes>>> = Mutex::new(None);
static HOOK: Once = Once::new();

pub(super) struct Modes {
    tty: File,
    outlet: Outlet,
    before: Termios,
    tmux: bool,
    taken: AtomicBool,
    kitty: AtomicBool,
    title: AtomicBool,
    page: AtomicBool,
    /// Rows of ours below the cursor, which what is printed next must not run into.
    below: AtomicU16,
    /// Answers that have not come yet.
    asked: AtomicU16,
}

impl Modes {
    /// The terminal as it is; nothing is changed yet.
    pub(super) fn find(tmux: bool) -> io::Result<Arc<Self>> {
        let modes = Self::on(open(OFlags::empty())?, open(OFlags::NONBLOCK)?, tmux)?;
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&modes));
        HOOK.call_once(hook);
        Ok(modes)
    }

    /// A panic does not give this one back. `outlet` is the same terminal, opened so that writing never waits.
    pub(super) fn on(tty: File, outlet: File, tmux: bool) -> io::Result<Arc<Self>> {
        let outlet = Outlet::new(outlet);
        let before = tcgetattr(&tty)?;
        let off = || AtomicBool::new(false);
        let (below, asked) = (AtomicU16::new(0), AtomicU16::new(0));
        Ok(Arc::new(Self {
            tty,
            outlet,
            before,
            tmux,
            taken: off(),
            kitty: off(),
            title: off(),
            page: off(),
            below,
            asked,
        }))
    }

    pub(super) fn tty(&self) -> &File {
        &self.tty
    }

    /// Raw at once; returns what is to be written with the first frame.
    pub(super) fn take(&self) -> io::Result<String> {
        let mut raw = self.before.clone();
        raw.make_raw();
        // Nobody waits in a read: in a panic two may have seen the same byte come.
        raw.special_codes[SpecialCodeIndex::VMIN] = 0;
        tcsetattr(&self.tty, OptionalActions::Now, &raw)?;
        self.taken.store(true, SeqCst);
        self.asked.store(0, SeqCst);
        let kitty = if self.kitty.load(SeqCst) { KITTY_KEYS_ON } else { "" };
        let tmux = if self.tmux { TMUX_KEYS_ON } else { "" };
        // What was typed before we took it was echoed, and stands where the first row goes.
        Ok(format!("\r{ON}{tmux}{kitty}"))
    }

    pub(super) fn is_taken(&self) -> bool {
        self.taken.load(SeqCst)
    }

    /// Gives the terminal back as it was found. Once; a terminal that is gone cannot be helped.
    pub(super) fn give_back(&self) {
        if !self.taken.swap(false, SeqCst) {
            return;
        }
        let _unstoppable = Unstoppable::new();
        let mut bytes = SAFE.to_owned();
        if self.page.swap(false, SeqCst) {
            bytes.push_str(PAGE_OFF);
        }
        if self.kitty.load(SeqCst) {
            bytes.push_str(KITTY_KEYS_OFF);
        }
        if self.tmux {
            bytes.push_str(TMUX_KEYS_OFF);
        }
        if self.title.swap(false, SeqCst) {
            bytes.push_str(TITLE_BACK);
        }
        bytes.push_str(OFF);
        bytes.push_str(&"\n".repeat(usize::from(self.below.swap(0, SeqCst))));
        bytes.push('\r');
        let _ = self.outlet.write(bytes.as_bytes());
        self.outlet.drain(LAST_WORDS);
        self.swallow_answers();
        let _ = tcsetattr(&self.tty, OptionalActions::Now, &self.before);
    }

    /// For good: a panic later has nothing to give back.
    pub(super) fn leave(&self) {
        self.give_back();
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn swallow_answers(&self) {
        let until = Instant::now() + LAST_ANSWERS;
        // The thread that reads may be quicker; then this merely waits for nothing.
        while self.asked.load(SeqCst) > 0 {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(time) = Timespec::try_from(left) else { return };
            let mut wanted = [PollFd::new(&self.tty, PollFlags::IN)];
            match poll(&mut wanted, Some(&time)) {
                Ok(1..) if !left.is_zero() => {
                    let mut bytes = [0; 1 << 10];
                    let read = rustix::io::read(&self.tty, &mut bytes).unwrap_or(0);
                    let ends = bytes[..read].iter().filter(|byte| matches!(byte, b'c' | b't' | b'R')).count();
                    let ends = u16::try_from(ends).unwrap_or(u16::MAX);
                    let before = self.asked.load(SeqCst);
                    self.asked.store(if read == 0 { 0 } else { before.saturating_sub(ends) }, SeqCst);
                }
                _ => return,
            }
        }
    }

    pub(super) fn asked(&self) {
        self.asked.fetch_add(1, SeqCst);
    }

    pub(super) fn answered(&self) {
        let _ = self.asked.fetch_update(SeqCst, SeqCst, |asked| asked.checked_sub(1));
    }

    pub(super) fn set_below(&self, rows: usize) {
        self.below.store(u16::try_from(rows).unwrap_or(u16::MAX), SeqCst);
    }

    /// What turns it on, unless it is.
    pub(super) fn kitty_keys(&self) -> &'static str {
        if self.kitty.swap(true, SeqCst) { "" } else { KITTY_KEYS_ON }
    }

    /// What keeps the title that is there, before the first of ours.
    pub(super) fn keep_title(&self) -> &'static str {
        if self.title.swap(true, SeqCst) { "" } else { TITLE_KEEP }
    }

    /// What enters or leaves the alternate screen, if that is not where we are.
    pub(super) fn page(&self, on: bool) -> &'static str {
        match (self.page.swap(on, SeqCst), on) {
            (false, true) => PAGE_ON,
            (true, false) => PAGE_OFF,
            (true, true) | (false, false) => "",
        }
    }

    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() { Ok(()) } else { self.outlet.write(bytes) }
    }

    pub(super) fn outlet(&self) -> &Outlet {
        &self.outlet
    }
}

/// By the name of what stdout or stdin is: opened anew, so that no other program's flags reach us.
fn open(flags: OFlags) -> io::Result<File> {
    let (stdin, stdout) = (io::stdin(), io::stdout());
    let name = match (stdout.is_terminal(), stdin.is_terminal()) {
        (true, _) => rustix::termios::ttyname(&stdout, Vec::new()).ok(),
        (false, true) => rustix::termios::ttyname(&stdin, Vec::new()).ok(),
        (false, false) => None,
    };
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let both = |path: &Path| File::options().read(true).write(true).custom_flags(flags).open(path);
    let named = name.and_then(|name| both(Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()))).ok());
    named.map_or_else(|| both(Path::new("/dev/tty")), Ok)
}

/// Whatever panics, its words go to a terminal that shows them.
fn hook() {
    let next = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // Not waiting: the one that panics may hold it.
        if let Ok(Some(modes)) = TAKEN.try_lock().map(|taken| taken.clone()) {
            modes.give_back();
        }
        next(panic);
    }));
}
