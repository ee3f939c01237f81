//! Where a chat's lines come from: a line editor on a terminal, plain reading everywhere else.

use std::io::{BufRead, Read};

use tokio::sync::mpsc;

use super::editor::Editor;
use crate::exit::reason;

/// A line longer than this is not something a person typed, nor something a model can use.
const LINE_LIMIT: u64 = 10 << 20;

#[derive(Debug, PartialEq, Eq)]
pub enum Entry {
    Line(String),
    /// Ctrl-C on an empty line.
    Interrupt,
    End,
    Failed(String),
}

pub enum Input {
    Editor(Editor),
    Lines(Lines),
}

impl Input {
    /// Whether a person sits there, who can be asked.
    pub fn is_editor(&self) -> bool {
        matches!(self, Self::Editor(_))
    }

    pub async fn next(&mut self) -> Entry {
        match self {
            Self::Editor(editor) => editor.line().await,
            Self::Lines(lines) => lines.next().await,
        }
    }
}

/// Plain reading: each line is an entry, until the end.
pub struct Lines {
    entries: mpsc::Receiver<Entry>,
}

impl Lines {
    pub fn start() -> std::io::Result<Self> {
        let (send, entries) = mpsc::channel(1);
        std::thread::Builder::new().name("stdin".into()).spawn(move || {
            let mut stdin = std::io::stdin().lock();
            loop {
                let entry = read_line(&mut stdin);
                let last = !matches!(entry, Entry::Line(_));
                if send.blocking_send(entry).is_err() || last {
                    return;
                }
            }
        })?;
        Ok(Self { entries })
    }

    async fn next(&mut self) -> Entry {
        self.entries.recv().await.unwrap_or(Entry::End)
    }
}

fn read_line(stdin: &mut impl BufRead) -> Entry {
    let mut line = Vec::new();
    match stdin.take(LINE_LIMIT).read_until(b'\n', &mut line) {
        Ok(0) => Entry::End,
        Ok(count) if count as u64 == LINE_LIMIT && line.last() != Some(&b'\n') => {
            Entry::Failed(format!("a line of stdin is longer than {} MiB", LINE_LIMIT >> 20))
        }
        Ok(_) => Entry::Line(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned()),
        Err(error) => Entry::Failed(format!("cannot read stdin: {}", reason(&error))),
    }
}
