//! Where a chat's lines come from: a line editor on a terminal, plain reading everywhere else.

use std::io::{BufRead, Read};
use std::time::Instant;

use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::mpsc;

use super::editor::Editor;
use super::tab::Asked;
use crate::exit::reason;

/// A line longer than this is not something a person typed, nor something a model can use.
const LINE_LIMIT: u64 = 10 << 20;

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

    pub async fn next(&mut self) -> Typed {
        match self {
            Self::Editor(editor) => editor.line().await,
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
}

impl Lines {
    pub fn start() -> std::io::Result<Self> {
        let (send, entries) = mpsc::channel(1);
        std::thread::Builder::new().name("stdin".into()).spawn(move || {
            let mut stdin = std::io::stdin().lock();
            loop {
                let entry = read_line(&mut stdin);
                let last = !matches!(entry, Typed::Line(_));
                if send.blocking_send((Instant::now(), entry)).is_err() || last {
                    return;
                }
            }
        })?;
        Ok(Self { entries, asked: Instant::now() })
    }

    async fn next(&mut self) -> Typed {
        self.entries.recv().await.map_or(Typed::End, |(_, entry)| entry)
    }

    /// Throws away what was typed so far.
    pub fn forget_typed(&mut self) {
        // What a pipe holds cannot be flushed, but nobody is asked through a pipe.
        let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
        self.asked = Instant::now();
    }

    /// The next line typed since then.
    pub async fn answer(&mut self) -> Typed {
        loop {
            match self.entries.recv().await {
                Some((read, Typed::Line(_))) if read < self.asked => {}
                Some((_, entry)) => return entry,
                None => return Typed::End,
            }
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
