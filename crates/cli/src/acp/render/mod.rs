//! What a run of `zdx acp` puts on stdout and stderr. Nothing is held back while there is nothing else to do; what arrives
//! while the last page is still being written goes out with the next one (the field says coalescing).

mod text;

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use zdx_acp::shapes::{Block, Call, Update};
use zdx_protocol::display::{Colours, Sanitizer, json_safe, sanitize, visible_line};
use zdx_protocol::redact::Redactor;

use self::text::Text;
use super::host::HostEvent;
use crate::args::Shown;
use crate::output::{Output, Page};
use crate::terminal::Terminal;

/// While this much waits to be written, the agent waits too.
const PAGE_LIMIT: usize = 64 << 10;
/// Lines of an agent that are no frames: so many are shown.
const MOST_STRAYS: usize = 5;
const LONGEST_STRAY: usize = 200;

/// Everything that is said, and what carries it away.
pub struct Stage {
    screen: Screen,
    pub page: Page,
    pub output: Output,
    terminal: Terminal,
    strays: usize,
    /// Once it is known what must not be shown.
    redactor: Option<Arc<Redactor>>,
}

enum Screen {
    Text(Box<Text>),
    Simple(Box<Prose>),
    /// The frames alone, byte for byte.
    Frames,
}

impl Stage {
    pub fn new(shown: Shown, terminal: Terminal) -> io::Result<Self> {
        let screen = match shown {
            Shown::Text => Screen::Text(Box::new(Text::new(terminal))),
            Shown::Simple => Screen::Simple(Box::new(Prose::new(terminal))),
            Shown::Json | Shown::Jsonl => Screen::Frames,
        };
        Ok(Self {
            screen,
            page: Page::default(),
            output: Output::start()?,
            terminal,
            strays: 0,
            redactor: None,
        })
    }

    /// From now on neither warnings nor lists have these. What the agent says itself is its own.
    pub fn hide(&mut self, redactor: Arc<Redactor>) {
        self.redactor = Some(redactor);
    }

    fn hidden<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.redactor.as_ref().map_or(Cow::Borrowed(text), |redactor| redactor.redact(text))
    }

    pub fn mirrors(&self) -> bool {
        matches!(self.screen, Screen::Frames)
    }

    pub fn has_room(&self) -> bool {
        self.page.len() < PAGE_LIMIT
    }

    /// A call is all that is known of it by now.
    pub fn update(&mut self, update: Update) {
        let page = &mut self.page;
        match (&mut self.screen, update) {
            (_, Update::Notice { severity, text }) => {
                let severity = severity.unwrap_or_else(|| "notice".to_owned());
                self.notice(&format!(
                    "the agent says ({}): {}",
                    visible_line(&severity),
                    visible_line(&text)
                ));
            }
            (Screen::Text(text), update) => text.update(update, page),
            (Screen::Simple(prose), Update::Message(Block::Text(text))) => prose.write(&text, page),
            (Screen::Simple(prose), Update::Call(_)) => prose.pause(),
            (Screen::Simple(_), _) | (Screen::Frames, _) => {}
        }
    }

    pub fn host(&mut self, event: &HostEvent) {
        if let HostEvent::Warning(text) = event {
            return self.notice(&visible_line(text));
        }
        if let Screen::Text(text) = &mut self.screen {
            text.host(event, &mut self.page);
        }
    }

    /// One line of the wire, or of ours about it.
    pub fn frame(&mut self, line: &[u8]) {
        if self.terminal.stdout {
            self.page.out(json_safe(&String::from_utf8_lossy(line)).as_bytes());
        } else {
            self.page.out(line);
        }
        self.page.out("\n");
    }

    /// What was asked for without a prompt; frames speak for themselves.
    pub fn list(&mut self, lines: &[String]) {
        match &self.screen {
            Screen::Text(_) | Screen::Simple(_) => {
                for line in lines {
                    let line = format!("{}\n", sanitize(&self.hidden(line)));
                    self.page.out(line);
                }
            }
            Screen::Frames => {}
        }
    }

    /// On stderr.
    pub fn notice(&mut self, text: &str) {
        self.leave_line();
        let line = self.terminal.fit(&format!("warning: {}", self.hidden(text)));
        self.page.err(format!("{}\n", self.terminal.style.yellow(&line)));
    }

    /// A line that is no frame.
    pub fn stray(&mut self, line: &str) {
        self.strays += 1;
        if self.strays > MOST_STRAYS {
            return;
        }
        let more = if self.strays == MOST_STRAYS { " (more of it is not shown)" } else { "" };
        // Before it is cut: half a secret is one, too.
        let begin: String = self.hidden(line).chars().take(LONGEST_STRAY).collect();
        self.notice(&format!("the agent wrote what is no message: {}{more}", visible_line(&begin)));
    }

    /// Comes back when everything said so far was written.
    pub async fn settle(&mut self) {
        self.output.pages.settle(&mut self.page).await;
    }

    /// The turn is over: its line is closed, and what it left undone is told.
    pub fn close_turn(&mut self, cancelled: &[Call]) {
        match &mut self.screen {
            Screen::Text(text) => text.close(cancelled, &mut self.page),
            Screen::Simple(prose) => prose.close(&mut self.page),
            Screen::Frames => {}
        }
    }

    /// Where both are one screen, what is told stands on a line of its own.
    fn leave_line(&mut self) {
        if !self.terminal.shared {
            return;
        }
        match &mut self.screen {
            Screen::Text(text) => text.leave_line(&mut self.page),
            Screen::Simple(prose) => prose.close(&mut self.page),
            Screen::Frames => {}
        }
    }
}

/// The agent's own words, as they come: into a pipe byte for byte, to a terminal without what it would obey.
struct Prose {
    sanitizer: Option<Sanitizer>,
    /// The last line has no end yet.
    open: bool,
    /// Something else happened since: what follows is another message.
    paused: bool,
}

impl Prose {
    fn new(terminal: Terminal) -> Self {
        let colours = if terminal.coloured_text { Colours::Keep } else { Colours::Strip };
        Self { sanitizer: terminal.stdout.then(|| Sanitizer::new(colours)), open: false, paused: false }
    }

    fn write(&mut self, text: &str, page: &mut Page) {
        if text.is_empty() {
            return;
        }
        if std::mem::take(&mut self.paused) {
            self.close(page);
        }
        match &mut self.sanitizer {
            Some(sanitizer) => page.out(sanitizer.push(text)),
            None => page.out(text),
        }
        self.open = !text.ends_with('\n');
    }

    fn pause(&mut self) {
        self.paused = self.open;
    }

    fn close(&mut self, page: &mut Page) {
        if let Some(sanitizer) = &mut self.sanitizer {
            page.out(sanitizer.finish());
        }
        if std::mem::take(&mut self.open) {
            page.out("\n");
        }
    }
}
