//! Folds records or messages into what a session did. Summary, handoff and compaction read this fold.
//! Asks no model and judges nothing. Turns that a revert took back are left out.

mod calls;

use std::path::PathBuf;

use zdx_protocol::compaction::Touch;
use zdx_protocol::record::{Shell, ShellEnd, ToolUseOrigin};
use zdx_protocol::transcript::{Entries, Entry, Turns};
use zdx_protocol::{Record, Todo, TodoStatus, path_text};
use zdx_store::{SessionId, SessionOpenError, SessionStore};
use zdx_workspace::text::first;

use calls::PathSource;
pub(crate) use calls::{CALL_COLUMNS, CallActivity};

/// Bytes kept of one prompt or answer.
const TEXT: usize = 4 << 10;
/// Latest turns that keep their texts; the first one does too.
const RECENT: usize = 64;

/// The activity of a session, turn by turn, short and bounded.
#[derive(Default)]
pub struct SessionActivity {
    pub id: Option<String>,
    pub root: Option<PathBuf>,
    pub model: Option<String>,
    pub todos: Vec<Todo>,
    /// With the todos as they were when some were taken back.
    turns: Turns<TurnActivity, Vec<Todo>>,
    entries: Entries,
}

#[derive(Default)]
struct TurnActivity {
    prompt: String,
    answer: String,
    /// The prompt is a command that the user ran; no model was asked.
    typed: bool,
    calls: CallActivity,
    todos_before: Vec<Todo>,
}

impl SessionActivity {
    /// Reads a whole session file.
    pub fn read(store: &SessionStore, id: SessionId) -> Result<Self, SessionOpenError> {
        let mut activity = Self::default();
        store.scan(id, |record| activity.note(record))?;
        activity.end();
        Ok(activity)
    }

    pub(crate) fn note(&mut self, record: Record) {
        self.entries.read(record);
        self.take_all();
    }

    /// No record follows.
    pub(crate) fn end(&mut self) {
        self.entries.end();
        self.take_all();
    }

    fn take_all(&mut self) {
        while let Some(entry) = self.entries.next() {
            self.take(entry);
        }
    }

    fn take(&mut self, entry: Entry) {
        self.turns
            .follow(&entry, || TurnActivity { todos_before: self.todos.clone(), ..TurnActivity::default() });
        match entry {
            Entry::Meta(meta) => {
                self.id = meta.id;
                self.root = meta.root;
                self.model = meta.model;
            }
            Entry::Model(model) => self.model = Some(model),
            Entry::Prompt { text } => self.begin(&text),
            Entry::Said { text, .. } => {
                if let Some(turn) = self.turns.last_mut().filter(|_| !text.trim().is_empty()) {
                    turn.answer = first(&text, TEXT).to_owned();
                }
            }
            Entry::Ran { shell, .. } => self.note_shell(shell),
            Entry::Result { call: Some(call), result } if result.origin != ToolUseOrigin::Check => {
                if let Some(turn) = self.turns.last_mut() {
                    turn.calls.note_effects(&call.name, &call.input, &result.output, PathSource::Result);
                }
            }
            Entry::FileChanged(record) => {
                if let Some(turn) = self.turns.last_mut() {
                    turn.calls.touch(path_text::encode(&record.change.path).into_owned(), Touch::Changed);
                }
            }
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

    fn note_shell(&mut self, shell: Shell) {
        let Some(turn) = self.turns.last_mut() else { return };
        turn.typed = true;
        if shell.end == (ShellEnd::Exited { exit_code: 0 }) {
            turn.calls.commands.push(shell.command);
        }
    }

    /// What the user asked for first.
    pub fn first_prompt(&self) -> Option<&str> {
        self.prompts().next()
    }

    /// The latest request, unless it is the first one again.
    pub fn last_prompt(&self) -> Option<&str> {
        self.prompts().next_back().filter(|last| self.first_prompt() != Some(last))
    }

    /// Prompts whose text is still there, oldest first; commands the user typed are none.
    fn prompts(&self) -> impl DoubleEndedIterator<Item = &str> {
        let asked = self.turns.iter().filter(|turn| !turn.typed);
        asked.map(|turn| turn.prompt.trim()).filter(|text| !text.is_empty())
    }

    pub fn last_answer(&self) -> Option<&str> {
        self.turns.iter().rev().map(|turn| turn.answer.trim()).find(|answer| !answer.is_empty())
    }

    /// Files that tools changed, the latest first.
    pub fn changed(&self) -> Vec<PathBuf> {
        self.touched(Touch::Changed)
    }

    /// Files that tools read or changed, those changed first, the latest of each first.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files = self.changed();
        for path in self.touched(Touch::Read) {
            if !files.contains(&path) {
                files.push(path);
            }
        }
        files
    }

    fn touched(&self, change: Touch) -> Vec<PathBuf> {
        latest(self.turns.iter().flat_map(|turn| turn.calls.paths(change)))
    }

    /// Commands that succeeded, the latest first.
    pub fn commands(&self) -> Vec<String> {
        latest(self.turns.iter().flat_map(|turn| turn.calls.commands.iter().cloned()))
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
fn latest<T: Clone + Eq + std::hash::Hash>(items: impl DoubleEndedIterator<Item = T>) -> Vec<T> {
    let mut seen = std::collections::HashSet::new();
    items.rev().filter(|item| seen.insert(item.clone())).collect()
}
