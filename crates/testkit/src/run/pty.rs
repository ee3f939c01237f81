//! The binary on a pseudo terminal, with a screen that shows what a person would see.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::process::{Signal, kill_process};
use vt100::Screen;

use super::ending::{pid, wait_for_end};
use crate::TerminalEmulator;

/// How long the terminal of a process that ended is listened to.
const AFTER_EXIT: Duration = Duration::from_secs(2);

const SCROLLBACK: usize = 2_000;

/// How the end of a frame is told by a program that writes each in one piece.
const FRAME_END: &[u8] = b"\x1b[?2026l";
/// Frames that are remembered.
const FRAMES: usize = 500;

type Keyboard = Arc<Mutex<Box<dyn Write + Send>>>;

/// Answers what programs ask a terminal: where the cursor is, how large and what kind of terminal it is, what it can do.
struct Answers {
    keyboard: Keyboard,
    /// Some do not say how large they are.
    tells_size: bool,
}

impl Answers {
    fn say(&self, answer: &str) {
        let _ = self.keyboard.lock().unwrap_or_else(PoisonError::into_inner).write_all(answer.as_bytes());
    }
}

impl vt100::Callbacks for Answers {
    fn unhandled_csi(
        &mut self,
        screen: &mut Screen,
        i1: Option<u8>,
        i2: Option<u8>,
        params: &[&[u16]],
        c: char,
    ) {
        let answer = match (i1, c, params.first().and_then(|param| param.first())) {
            // Synchronised output is known, and off.
            (Some(b'?'), 'p', Some(2026)) if i2 == Some(b'$') => "\x1b[?2026;2$y".to_owned(),
            (Some(b'?'), 'u', _) => "\x1b[?0u".to_owned(),
            (None, 't', Some(18)) if self.tells_size => {
                let (rows, cols) = screen.size();
                format!("\x1b[8;{rows};{cols}t")
            }
            (None, 'n', Some(6)) => {
                let ((row, col), (_, cols)) = (screen.cursor_position(), screen.size());
                format!("\x1b[{};{}R", row + 1, (col + 1).min(cols.get()))
            }
            (None, 'n', Some(5)) => "\x1b[0n".to_owned(),
            (None, 'c', _) => "\x1b[?62;22c".to_owned(),
            _ => return,
        };
        self.say(&answer);
    }

    fn unhandled_osc(&mut self, _: &mut Screen, params: &[&[u8]]) {
        // A dark background.
        if params == [b"11".as_slice(), b"?"] {
            self.say("\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\");
        }
    }
}

struct Terminal {
    parser: TerminalEmulator<Answers>,
    raw: Vec<u8>,
    /// What stood on the screen when something was typed and since then, frame by frame.
    frames: VecDeque<String>,
    open: bool,
    /// Nothing is taken from the program, as by a line that is stuck.
    stuck: bool,
}

impl Terminal {
    fn take(&mut self, piece: &[u8]) {
        let mut from = self.raw.len();
        // The end of a frame may have begun in the piece before.
        let mut look = from.saturating_sub(FRAME_END.len() - 1);
        self.raw.extend_from_slice(piece);
        while let Some(at) = self.raw[look..].windows(FRAME_END.len()).position(|bytes| bytes == FRAME_END) {
            look += at + FRAME_END.len();
            self.parser.process(&self.raw[from..look]);
            from = look;
            self.remember();
        }
        self.parser.process(&self.raw[from..]);
        self.remember();
    }

    fn remember(&mut self) {
        let shown = self.parser.screen().contents();
        if self.frames.back() != Some(&shown) {
            self.frames.push_back(shown);
        }
        if self.frames.len() > FRAMES {
            self.frames.pop_front();
        }
    }
}

#[derive(Clone)]
struct Shared(Arc<(Mutex<Terminal>, Condvar)>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Terminal> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Killed when dropped.
pub struct Pty {
    shared: Shared,
    keyboard: Keyboard,
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
    exit: Option<u32>,
}

impl Pty {
    pub(super) fn start(command: CommandBuilder, rows: u16, cols: u16) -> Self {
        let pair = native_pty_system().openpty(size(rows, cols)).expect("a pseudo terminal");
        let tells_size =
            command.get_env("TERM").is_none_or(|term| !term.to_string_lossy().starts_with("st-"));
        let child = pair.slave.spawn_command(command).expect("running the binary on a terminal");
        // The terminal ends when the child's side is closed everywhere, here too.
        drop(pair.slave);
        let keyboard: Keyboard = Arc::new(Mutex::new(pair.master.take_writer().expect("one writer")));
        let answers = Answers { keyboard: Arc::clone(&keyboard), tells_size };
        let parser = TerminalEmulator::with_callbacks(rows, cols, SCROLLBACK, answers);
        let terminal =
            Terminal { parser, raw: Vec::new(), frames: VecDeque::new(), open: true, stuck: false };
        let shared = Shared(Arc::new((Mutex::new(terminal), Condvar::new())));
        let mut output = pair.master.try_clone_reader().expect("a reader");
        std::thread::spawn({
            let shared = shared.clone();
            move || {
                let mut piece = [0; 16 << 10];
                while let Ok(count @ 1..) = output.read(&mut piece) {
                    shared.lock().take(&piece[..count]);
                    shared.0.1.notify_all();
                    let stuck = |terminal: &mut Terminal| terminal.stuck;
                    drop(shared.0.1.wait_while(shared.lock(), stuck));
                }
                shared.lock().open = false;
                shared.0.1.notify_all();
            }
        });
        Self { shared, keyboard, master: pair.master, child, exit: None }
    }

    /// From the next piece on nothing is read any more, or again.
    pub fn stick(&self, stuck: bool) {
        self.shared.lock().stuck = stuck;
        self.shared.0.1.notify_all();
    }

    /// Types this; Enter is `\r`, Ctrl-C is `\x03`, Ctrl-D is `\x04`.
    pub fn send(&self, keys: impl AsRef<[u8]>) {
        let mut terminal = self.shared.lock();
        terminal.frames.clear();
        terminal.remember();
        drop(terminal);
        let mut keyboard = self.keyboard.lock().unwrap_or_else(PoisonError::into_inner);
        keyboard.write_all(keys.as_ref()).and_then(|()| keyboard.flush()).expect("typing into the terminal");
    }

    /// Waits until the screen satisfies this; fails with the screen otherwise.
    #[track_caller]
    pub fn wait_for(&self, seen: impl Fn(&Screen) -> bool, timeout: Duration) {
        let (terminal, changed) = &*self.shared.0;
        let terminal = terminal.lock().unwrap_or_else(PoisonError::into_inner);
        let (terminal, _) = changed
            .wait_timeout_while(terminal, timeout, |terminal| {
                terminal.open && !seen(terminal.parser.screen())
            })
            .unwrap_or_else(PoisonError::into_inner);
        let screen = terminal.parser.screen();
        assert!(seen(screen), "not on the screen within {timeout:?}:\n{}", screen.contents());
    }

    #[track_caller]
    pub fn wait_for_text(&self, text: &str, timeout: Duration) {
        self.wait_for(|screen| screen.contents().contains(text), timeout);
    }

    /// Whether this comes up on the screen in time; for tests that do something about it if not.
    pub fn saw_text(&self, text: &str, timeout: Duration) -> bool {
        let (terminal, changed) = &*self.shared.0;
        let terminal = terminal.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = |terminal: &Terminal| terminal.parser.screen().contents().contains(text);
        let (terminal, _) = changed
            .wait_timeout_while(terminal, timeout, |terminal| terminal.open && !seen(terminal))
            .unwrap_or_else(PoisonError::into_inner);
        seen(&terminal)
    }

    /// Whether this comes up on the screen in time, or stood there since something was typed: for what goes by itself,
    /// and may be gone before anybody looks.
    pub fn glimpsed(&self, text: &str, timeout: Duration) -> bool {
        let (terminal, changed) = &*self.shared.0;
        let terminal = terminal.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = |terminal: &Terminal| terminal.frames.iter().any(|frame| frame.contains(text));
        let (terminal, _) = changed
            .wait_timeout_while(terminal, timeout, |terminal| terminal.open && !seen(terminal))
            .unwrap_or_else(PoisonError::into_inner);
        seen(&terminal)
    }

    /// The same; fails with the screen otherwise.
    #[track_caller]
    pub fn wait_for_glimpse(&self, text: &str, timeout: Duration) {
        assert!(
            self.glimpsed(text, timeout),
            "{text:?} was not seen within {timeout:?}:\n{}",
            self.contents()
        );
    }

    pub fn screen(&self) -> Screen {
        self.shared.lock().parser.screen().clone()
    }

    pub fn contents(&self) -> String {
        self.shared.lock().parser.screen().contents()
    }

    /// Every line there is, those that left the screen at its top first, without the blanks at their ends.
    pub fn lines(&self) -> Vec<String> {
        lines_with_scrollback(&self.screen())
    }

    /// Waits until the lines of screen and scrollback satisfy this; fails with the lines otherwise.
    #[track_caller]
    pub fn wait_for_lines(&self, seen: impl Fn(&[String]) -> bool, timeout: Duration) {
        let (terminal, changed) = &*self.shared.0;
        let lines = |terminal: &Terminal| lines_with_scrollback(terminal.parser.screen());
        let terminal = terminal.lock().unwrap_or_else(PoisonError::into_inner);
        let (terminal, _) = changed
            .wait_timeout_while(terminal, timeout, |terminal| terminal.open && !seen(&lines(terminal)))
            .unwrap_or_else(PoisonError::into_inner);
        let lines = lines(&terminal);
        assert!(seen(&lines), "not there within {timeout:?}:\n{lines:#?}");
    }

    /// Every byte the program wrote.
    pub fn raw(&self) -> Vec<u8> {
        self.shared.lock().raw.clone()
    }

    pub fn resize(&self, rows: u16, cols: u16) {
        self.shared.lock().parser.set_size(rows, cols);
        self.master.resize(size(rows, cols)).expect("resizing the terminal");
    }

    pub fn pid(&self) -> u32 {
        self.child.process_id().expect("the child was started")
    }

    pub fn signal(&mut self, signal: Signal) {
        if self.poll_exit().is_none() {
            kill_process(pid(self.pid()), signal).expect("signalling our own child");
        }
    }

    /// Waits for the end and returns the exit code (1 after a signal).
    #[track_caller]
    pub fn wait_exit(&mut self, timeout: Duration) -> u32 {
        if self.poll_exit().is_none() {
            wait_for_end(pid(self.pid()), timeout);
        }
        let Some(code) = self.poll_exit() else {
            panic!("still running after {timeout:?}:\n{}", self.contents())
        };
        self.wait_drained();
        code
    }

    /// The last words may still be on their way to the screen. Bounded, for a background process of the child
    /// may hold the terminal open.
    fn wait_drained(&self) {
        let terminal = self.shared.lock();
        let drained = self.shared.0.1.wait_timeout_while(terminal, AFTER_EXIT, |terminal| terminal.open);
        drop(drained.unwrap_or_else(PoisonError::into_inner));
    }

    fn poll_exit(&mut self) -> Option<u32> {
        if self.exit.is_none() {
            let status = self.child.try_wait().expect("waiting for our own child");
            self.exit = status.map(|status| status.exit_code());
        }
        self.exit
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        if self.exit.is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn size(rows: u16, cols: u16) -> PtySize {
    PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }
}

fn lines_with_scrollback(screen: &Screen) -> Vec<String> {
    let mut screen = screen.clone();
    let (rows, columns) = screen.size();
    let above = screen.scrollback_len();
    let mut lines = Vec::new();
    for from_end in (1..=above).rev() {
        screen.set_scrollback(from_end);
        lines.extend(screen.rows(0, columns.get()).next());
    }
    screen.set_scrollback(0);
    lines.extend(screen.rows(0, columns.get()).take(usize::from(rows.get())));
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}
