//! What a session itself says about its work: prompts, answers, files, commands and todos, short and bounded.
//! Asks nobody and judges nothing; what a revert took back is left out.

use std::path::PathBuf;

use zdx_protocol::facts::{self, Touches};
use zdx_protocol::record::{Shell, ShellEnd, ToolUse, ToolUseOrigin};
use zdx_protocol::transcript::{Entries, Entry, Turns};
use zdx_protocol::{Record, Todo, TodoStatus, ToolOutput, path_text};

use zdx_workspace::text::first;

/// What is kept of one prompt or answer.
const TEXT: usize = 4 << 10;
/// So many of the latest turns keep their texts, and the first one.
const RECENT: usize = 64;

#[derive(Default)]
pub struct SessionDigest {
    pub id: Option<String>,
    pub root: Option<PathBuf>,
    pub model: Option<String>,
    pub todos: Vec<Todo>,
    /// With the todos as they were when some were taken back.
    turns: Turns<Turn, Vec<Todo>>,
    entries: Entries,
}

#[derive(Default)]
struct Turn {
    prompt: String,
    answer: String,
    /// It was a command that the user ran, and nothing was asked.
    typed: bool,
    /// In the order they were first touched.
    read: Vec<PathBuf>,
    changed: Vec<PathBuf>,
    /// Those that ended well.
    commands: Vec<String>,
    todos_before: Vec<Todo>,
}

impl SessionDigest {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn note(&mut self, record: Record) {
        self.entries.read(record);
        self.take_all();
    }

    /// All of it was noted.
    pub fn end(&mut self) {
        self.entries.end();
        self.take_all();
    }

    fn take_all(&mut self) {
        while let Some(entry) = self.entries.next() {
            self.take(entry);
        }
    }

    fn take(&mut self, entry: Entry) {
        self.turns.follow(&entry, || Turn { todos_before: self.todos.clone(), ..Turn::default() });
        match entry {
            Entry::Meta(meta) => {
                self.id = meta.id;
                self.root = meta.root;
                self.model = meta.model;
            }
            Entry::Model(model) => self.model = Some(model),
            Entry::Prompt { text } => self.begin(&text),
            Entry::Said { text, .. } => self.answer(&text),
            Entry::Ran { shell, .. } => self.ran(shell),
            Entry::Result { call: Some(call), result } if result.origin != ToolUseOrigin::Check => {
                self.result(&call, &result.output)
            }
            Entry::FileChanged(record) => self.touch(record.change.path, true),
            Entry::Todos(items) => self.todos = items,
            Entry::Reverted(revert) => self
                .turns
                .revert(revert.turn, |first| std::mem::replace(&mut self.todos, first.todos_before.clone())),
            Entry::Redone(_) => {
                if let Some(todos) = self.turns.redo() {
                    self.todos = todos;
                }
            }
            Entry::Compacted(compaction) => self.turns.settle(compaction.state.turns),
            Entry::Attached { .. }
            | Entry::Reminder { .. }
            | Entry::Thought(_)
            | Entry::Call(_)
            | Entry::Result { .. }
            | Entry::FileChangeIntended(_)
            | Entry::FileChangeDropped(_)
            | Entry::Remote(_)
            | Entry::Checked(_)
            | Entry::Asked(_)
            | Entry::Noted(_)
            | Entry::Ended(_)
            | Entry::Interrupted
            | Entry::Error(_)
            | Entry::Agent(_)
            | Entry::Approval(_)
            | Entry::Revoked(_)
            | Entry::FolderAdded(_)
            | Entry::Preset(_)
            | Entry::Usage(_)
            | Entry::Pruned(_)
            | Entry::Cut(_)
            | Entry::Unknown(_) => {}
        }
    }

    fn begin(&mut self, prompt: &str) {
        if let Some(turn) = self.turns.last_mut() {
            turn.prompt = first(prompt, TEXT).to_owned();
        }
        if self.turns.iter().len() > RECENT + 1
            && let Some(old) = self.turns.before_last_mut(RECENT)
        {
            old.prompt.clear();
            old.answer.clear();
        }
    }

    fn answer(&mut self, text: &str) {
        if let Some(turn) = self.turns.last_mut().filter(|_| !text.trim().is_empty()) {
            turn.answer = first(text, TEXT).to_owned();
        }
    }

    fn ran(&mut self, shell: Shell) {
        let Some(turn) = self.turns.last_mut() else { return };
        turn.typed = true;
        if shell.end == (ShellEnd::Exited { exit_code: 0 }) {
            turn.commands.push(shell.command);
        }
    }

    fn result(&mut self, call: &ToolUse, output: &ToolOutput) {
        let (Some(facts), ToolOutput::Ok(data)) = (facts::facts(&call.name), output) else { return };
        let path = || data["path"].as_str().map(path_text::decode);
        match facts.touches {
            Touches::Runs(command) if data["exit_code"] == 0 => {
                let command = facts.given(&call.input).text(command);
                if let (Some(turn), Some(command)) = (self.turns.last_mut(), command) {
                    turn.commands.push(command.into_owned());
                }
            }
            Touches::Reads(_) => path().into_iter().for_each(|path| self.touch(path, false)),
            Touches::Changes(_) => path().into_iter().for_each(|path| self.touch(path, true)),
            // The journal tells which files a patch changed.
            Touches::Patches(_) | Touches::Runs(_) | Touches::Nothing => {}
        }
    }

    fn touch(&mut self, path: PathBuf, changes: bool) {
        let Some(turn) = self.turns.last_mut() else { return };
        let list = if changes { &mut turn.changed } else { &mut turn.read };
        if !list.contains(&path) {
            list.push(path);
        }
    }

    /// What the user asked for first.
    pub fn first_prompt(&self) -> Option<&str> {
        self.prompts().next()
    }

    /// Prompts whose text is still there, oldest first; commands the user typed are none.
    pub fn prompts(&self) -> impl DoubleEndedIterator<Item = &str> {
        let asked = self.turns.iter().filter(|turn| !turn.typed);
        asked.map(|turn| turn.prompt.trim()).filter(|text| !text.is_empty())
    }

    pub fn last_answer(&self) -> Option<&str> {
        self.turns.iter().rev().map(|turn| turn.answer.trim()).find(|answer| !answer.is_empty())
    }

    /// Files that tools changed, the latest first.
    pub fn changed(&self) -> Vec<PathBuf> {
        latest(self.turns.iter().flat_map(|turn| &turn.changed))
    }

    /// Files that tools read or changed, those changed first, the latest of each first.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files = self.changed();
        for path in latest(self.turns.iter().flat_map(|turn| &turn.read)) {
            if !files.contains(&path) {
                files.push(path);
            }
        }
        files
    }

    /// Commands that ended well, the latest first.
    pub fn commands(&self) -> Vec<String> {
        latest(self.turns.iter().flat_map(|turn| &turn.commands))
    }

    pub fn open_todos(&self) -> impl Iterator<Item = &Todo> {
        self.todos.iter().filter(|todo| todo.status != TodoStatus::Completed)
    }

    /// The last turns as they went, newest last, in at most `limit` bytes.
    pub fn recent(&self, limit: usize) -> String {
        let mut shown: Vec<String> = Vec::new();
        let mut left = limit;
        for turn in self.turns.iter().rev() {
            let (prompt, answer) = (turn.prompt.trim(), turn.answer.trim());
            if prompt.is_empty() && answer.is_empty() {
                continue;
            }
            let text = format!("USER: {prompt}\nASSISTANT: {answer}\n");
            if text.len() > left {
                if shown.is_empty() {
                    shown.push(first(&text, left).to_owned());
                }
                break;
            }
            left -= text.len();
            shown.push(text);
        }
        shown.reverse();
        shown.join("\n")
    }
}

/// Each one once, the latest first.
fn latest<'a, T: Clone + Eq + std::hash::Hash + 'a>(items: impl DoubleEndedIterator<Item = &'a T>) -> Vec<T> {
    let mut seen = std::collections::HashSet::new();
    items.rev().filter(|item| seen.insert(*item)).cloned().collect()
}
