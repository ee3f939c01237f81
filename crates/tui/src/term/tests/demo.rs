//! A small program on a real terminal, for the tests beside this one: they run this very binary again, on a terminal of
//! theirs. Without its variable it does nothing.

use std::time::{Duration, Instant};

use ratatui_core::text::Line;
use tokio::signal::unix::{SignalKind, signal};

use crate::key::{Key, KeyCode};
use crate::look::Drawn;
use crate::term::{Environment, Frame, Input, Screen, TermInput};

pub(super) const VARIABLE: &str = "ZDX_TERM_DEMO";
/// So many full rows more in the live region.
pub(super) const ROWS: &str = "ZDX_TERM_DEMO_ROWS";

/// What makes this binary run the demo and nothing else.
pub(super) const ARGUMENTS: [&str; 4] =
    ["term::tests::demo::run", "--exact", "--nocapture", "--test-threads=1"];

#[derive(Default)]
struct Demo {
    typed: String,
    streamed: usize,
    of: usize,
    history: Vec<Line<'static>>,
    page: bool,
    /// A question that fills the window, whatever its height.
    question: bool,
    rows: usize,
    focused: Option<bool>,
}

#[test]
fn run() {
    let Ok(of) = std::env::var(VARIABLE) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let number = |text: &str| text.parse().unwrap_or(0);
    let rows = std::env::var(ROWS).map_or(0, |rows| number(&rows));
    runtime.block_on(Demo { of: number(&of), rows, ..Demo::default() }.run());
}

/// A streamed line: its number, and as much text as makes lines of many lengths.
pub(super) fn marker(n: usize) -> String {
    format!("marker {n:05} {}", "word ".repeat(n * 7 % 13)).trim_end().to_owned()
}

impl Demo {
    async fn run(mut self) {
        let env = Environment::from(|name| std::env::var(name).ok());
        let mut screen = Screen::open(&env).unwrap();
        let (mut input, mut events) = Input::start(&screen).unwrap();
        let mut terminate = signal(SignalKind::terminate()).unwrap();
        let mut hang_up = signal(SignalKind::hangup()).unwrap();
        let mut pulse = tokio::time::interval(Duration::from_millis(8));
        screen.title("zdx demo").unwrap();
        loop {
            if self.page {
                let lines =
                    vec![Line::from("a page of its own"), Line::from(format!("typed {}", self.typed))];
                screen.page(Some(&Drawn { lines, cursor: None })).unwrap();
            }
            let frame = self.frame(screen.size());
            if screen.draw(&frame).is_err() {
                return;
            }
            tokio::select! {
                event = events.recv() => match event {
                    Some(event) => if !self.event(&mut screen, &mut input, event) { return },
                    None => return,
                },
                _ = terminate.recv() => return,
                _ = hang_up.recv() => return,
                () = screen.settles() => screen.settle(Instant::now()).unwrap(),
                _ = pulse.tick(), if self.streamed < self.of => self.stream(),
            }
        }
    }

    fn stream(&mut self) {
        self.streamed += 1;
        self.history.push(Line::from(marker(self.streamed)));
    }

    fn frame(&mut self, (columns, rows): (u16, u16)) -> Frame {
        let width = usize::from(columns);
        let tail = "tail of what is being written ".repeat(self.streamed % 9);
        let tail: String = tail.chars().take(width).collect();
        let status: String =
            format!("live region {columns}x{rows} {}", "= ".repeat(200)).chars().take(width).collect();
        let composer = format!("> {}", self.typed);
        let caret = u16::try_from(composer.len()).unwrap();
        let focus = self.focused.map(|on| Line::from(format!("focus {on}")));
        let mut live =
            vec![Line::from(tail), Line::from("─".repeat(width)), Line::from(composer), Line::from(status)];
        live.extend(focus);
        let more = if self.question { usize::from(rows).saturating_sub(1 + live.len()) } else { self.rows };
        live.splice(0..0, (0..more).map(|_| Line::from("+".repeat(width))));
        let row = u16::try_from(more + 2).unwrap();
        let history = std::mem::take(&mut self.history);
        Frame { history, live, cursor: Some((caret, row)), modal: self.question }
    }

    /// Whether to go on.
    fn event(&mut self, screen: &mut Screen, input: &mut Input, event: TermInput) -> bool {
        match event {
            TermInput::Key(key) => return self.key(screen, input, key),
            TermInput::Paste(text) => self.typed.push_str(&format!("[{}]", text.len())),
            TermInput::Focus(on) => self.focused = Some(on),
            TermInput::Resize => screen.resized(Instant::now()),
            TermInput::Report(report) => {
                screen.reported(&report).unwrap();
            }
            TermInput::Stop => screen.suspend(input).unwrap(),
            TermInput::Continue => screen.resume().unwrap(),
            TermInput::Gone => return false,
        }
        true
    }

    fn key(&mut self, screen: &mut Screen, input: &mut Input, key: Key) -> bool {
        if key == Key::ctrl('z') {
            let stops = screen.ask_to_stop();
            self.typed.push_str(if stops { "" } else { "(nobody would wake us)" });
        } else if key == Key::ctrl('g') {
            screen.hand_over(input).unwrap();
            let script = "echo editor begins; read line; echo editor got $line";
            std::process::Command::new("sh").args(["-c", script]).status().unwrap();
            screen.take_back(input).unwrap();
        } else if key == Key::ctrl('y') {
            let copied = screen.copy("text for the clipboard").unwrap();
            self.typed.push_str(&format!("{copied:?}"));
        } else if key == Key::ctrl('t') {
            self.question = !self.question;
        } else if key == Key::ctrl('o') {
            self.page = !self.page;
            if !self.page {
                screen.page(None).unwrap();
            }
        } else if let KeyCode::Char(c) = key.code {
            match c {
                'q' => return false,
                '!' => panic!("as asked"),
                '?' => assert!(std::thread::spawn(|| panic!("elsewhere")).join().is_err()),
                _ => self.typed.push(c),
            }
        } else {
            self.typed.push_str(&format!("<{:?}>", key.code));
        }
        true
    }
}
