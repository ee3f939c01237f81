//! Where a chat's lines come from: a line editor on a terminal, plain reading everywhere else.

use std::collections::VecDeque;
use std::io::{BufRead, IsTerminal, Read};
use std::time::{Duration, Instant};

use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::mpsc;

use super::editor::Editor;
use super::tab::Asked;
use crate::exit::reason;

/// A line longer than this is not something a person typed, nor something a model can use.
const LINE_LIMIT: u64 = 10 << 20;
/// More lines than anybody types without looking.
const LINES_AHEAD: usize = 256;

#[derive(Debug, PartialEq, Eq)]
pub enum Typed {
    Line(String),
    /// Ctrl-C on an empty line.
    Interrupt,
    End,
    Failed(String),
    /// Tab was pressed, and the editor waits to be told what could stand there.
    Complete(Asked),
}

pub enum Input {
    Editor(Editor),
    Lines(Lines),
}

impl Input {
    pub fn is_editor(&self) -> bool {
        matches!(self, Self::Editor(_))
    }

    /// A whole line that was typed before a question came. A plain reader gives it as the next one.
    pub fn typed_ahead(&mut self) -> Option<String> {
        match self {
            Self::Editor(editor) => editor.ahead.line(),
            Self::Lines(_) => None,
        }
    }

    pub async fn next(&mut self) -> Typed {
        match self {
            Self::Editor(editor) => editor.prompt().await,
            Self::Lines(lines) => lines.next().await,
        }
    }
}

/// Plain reading: each line is an entry, until the end.
pub struct Lines {
    /// With the moment at which each was read.
    entries: mpsc::Receiver<(Instant, Typed)>,
    /// What was read earlier answers no question.
    asked: Instant,
    /// That, for the next prompts.
    ahead: VecDeque<String>,
}

impl Lines {
    pub fn start() -> std::io::Result<Self> {
        // A pipe is read as it is needed; what a person types is read as it comes, to know when that was.
        let stdin = std::io::stdin();
        let (send, entries) = mpsc::channel(if stdin.is_terminal() { LINES_AHEAD } else { 1 });
        std::thread::Builder::new().name("stdin".into()).spawn(move || {
            let mut stdin = stdin.lock();
            loop {
                let entry = read_line(&mut stdin);
                let last = !matches!(entry, Typed::Line(_));
                if send.blocking_send((Instant::now(), entry)).is_err() || last {
                    return;
                }
            }
        })?;
        Ok(Self { entries, asked: Instant::now(), ahead: VecDeque::new() })
    }

    async fn next(&mut self) -> Typed {
        if let Some(line) = self.ahead.pop_front() {
            return Typed::Line(line);
        }
        self.entries.recv().await.map_or(Typed::End, |(_, entry)| entry)
    }

    /// Puts lines aside for the next prompts until none was typed for this long. A line without its Enter is still the
    /// terminal's: it goes, or an Enter would make an answer of it.
    pub async fn set_aside(&mut self, pause: Duration) {
        while let Ok(Some((_, Typed::Line(line)))) = tokio::time::timeout(pause, self.entries.recv()).await {
            self.keep(line);
        }
        // What a pipe holds cannot be flushed, but nobody is asked through a pipe.
        let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
        self.asked = Instant::now();
    }

    /// The next line typed since then.
    pub async fn answer(&mut self) -> Typed {
        loop {
            match self.entries.recv().await {
                Some((read, Typed::Line(line))) if read < self.asked => self.keep(line),
                Some((_, entry)) => return entry,
                None => return Typed::End,
            }
        }
    }

    pub fn keep(&mut self, line: String) {
        if self.ahead.len() < LINES_AHEAD {
            self.ahead.push_back(line);
        }
    }
}

fn read_line(stdin: &mut impl BufRead) -> Typed {
    let mut line = Vec::new();
    match stdin.take(LINE_LIMIT).read_until(b'\n', &mut line) {
        Ok(0) => Typed::End,
        Ok(count) if count as u64 == LINE_LIMIT && line.last() != Some(&b'\n') => {
            Typed::Failed(format!("a line of stdin is longer than {} MiB", LINE_LIMIT >> 20))
        }
        Ok(_) => Typed::Line(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned()),
        Err(error) => Typed::Failed(format!("cannot read stdin: {}", reason(&error))),
    }
}
