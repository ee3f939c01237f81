//! Where a chat's lines come from: a line editor on a terminal, a simpler reader on one that
//! knows no cursor movement, plain reading everywhere else.

use std::io::{BufRead, Read};

use tokio::sync::mpsc;

use super::editor::Editor;
use super::keyboard::ChatKeyboard;
use super::tab::Asked;
use crate::exit::reason;
use crate::pump::Stage;

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
    /// A terminal that knows no cursor movement.
    Keyboard(ChatKeyboard),
    /// Nobody is asked there.
    Lines(Lines),
}

impl Input {
    pub fn is_editor(&self) -> bool {
        matches!(self, Self::Editor(_))
    }

    /// The terminal of a person who can be asked.
    pub fn keyboard(&mut self) -> Option<&mut ChatKeyboard> {
        match self {
            Self::Editor(editor) => Some(&mut editor.keyboard),
            Self::Keyboard(keyboard) => Some(keyboard),
            Self::Lines(_) => None,
        }
    }

    /// A whole line that was typed before a request came. A plain reader gives it as the next one.
    pub fn typed_ahead(&mut self) -> Option<String> {
        self.keyboard()?.ahead.line()
    }

    pub async fn next(&mut self, stage: &mut Stage) -> Typed {
        match self {
            Self::Editor(editor) => editor.prompt().await,
            Self::Keyboard(keyboard) => keyboard.prompt(stage).await,
            Self::Lines(lines) => lines.next().await,
        }
    }
}

/// Plain reading: each line is an entry, until the end.
pub struct Lines {
    entries: mpsc::Receiver<Typed>,
}

impl Lines {
    pub fn start() -> std::io::Result<Self> {
        let (send, entries) = mpsc::channel(1);
        std::thread::Builder::new().name("stdin".into()).spawn(move || {
            let mut stdin = std::io::stdin().lock();
            loop {
                let entry = read_line(&mut stdin);
                let last = !matches!(entry, Typed::Line(_));
                if send.blocking_send(entry).is_err() || last {
                    return;
                }
            }
        })?;
        Ok(Self { entries })
    }

    async fn next(&mut self) -> Typed {
        self.entries.recv().await.unwrap_or(Typed::End)
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
