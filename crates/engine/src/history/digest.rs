//! What a session itself says about its work: prompts, answers, files, commands and todos, short and bounded.
//! Asks nobody and judges nothing; what a revert took back is left out.

use std::collections::HashMap;
use std::path::PathBuf;

use zdx_protocol::record::ToolResult;
use zdx_protocol::{Record, Role, Todo, TodoStatus, ToolOutput};

use crate::tools::text::first;
use crate::tools::{Registry, called_command};

/// What is kept of one prompt or answer.
const TEXT: usize = 4 << 10;
/// So many of the latest turns keep their texts, and the first one.
const RECENT: usize = 64;
/// Calls whose results are still to come.
const OPEN_CALLS: usize = 1000;

#[derive(Default)]
pub struct Digest {
    pub id: Option<String>,
    pub root: Option<PathBuf>,
    pub model: Option<String>,
    pub todos: Vec<Todo>,
    turns: Vec<Turn>,
    reverted: Vec<(Vec<Turn>, Vec<Todo>)>,
    open: HashMap<String, Call>,
    registry: Registry,
}

#[derive(Default)]
struct Turn {
    prompt: String,
    answer: String,
    /// In the order they were first touched.
    read: Vec<PathBuf>,
    changed: Vec<PathBuf>,
    /// Those that ended well.
    commands: Vec<String>,
    todos_before: Vec<Todo>,
}

enum Call {
    Command(String),
    File { changes: bool },
}

impl Digest {
    pub fn new() -> Self {
        Self { registry: Registry::standard(), ..Self::default() }
    }

    pub fn note(&mut self, record: &Record) {
        match record {
            Record::Meta(meta) => {
                self.id.clone_from(&meta.id);
                self.root.clone_from(&meta.root);
                self.model.clone_from(&meta.model);
            }
            Record::Model(change) => self.model = Some(change.model.clone()),
            Record::Message(message) => match message.role {
                Role::User => self.begin(&message.text),
                Role::Assistant => self.answer(&message.text),
                Role::System => {}
            },
            Record::ToolUse(call) => self.call(&call.id, &call.name, &call.input),
            Record::ToolResult(result) => self.result(result),
            Record::Change(change) => self.touch(change.change.path.clone(), true),
            Record::Todos(todos) => self.todos.clone_from(&todos.items),
            Record::Revert(revert) => {
                let kept = (revert.turn as usize).saturating_sub(1).min(self.turns.len());
                let gone = self.turns.split_off(kept);
                let before =
                    gone.first().map_or_else(|| self.todos.clone(), |turn| turn.todos_before.clone());
                self.reverted.push((gone, std::mem::replace(&mut self.todos, before)));
            }
            Record::Redo(_) => {
                if let Some((turns, todos)) = self.reverted.pop() {
                    self.turns.extend(turns);
                    self.todos = todos;
                }
            }
            _ => {}
        }
    }

    fn begin(&mut self, prompt: &str) {
        self.reverted.clear();
        if self.turns.len() > RECENT {
            let old = self.turns.len() - RECENT;
            self.turns[old].prompt.clear();
            self.turns[old].answer.clear();
        }
        let prompt = first(prompt, TEXT).to_owned();
        self.turns.push(Turn { prompt, todos_before: self.todos.clone(), ..Turn::default() });
    }

    fn answer(&mut self, text: &str) {
        let Some(turn) = self.turns.last_mut() else { return };
        // A command the user typed is answered with how it ended.
        if let Some(command) = turn.prompt.trim().trim_start_matches('@').strip_prefix('!') {
            let command = command.trim();
            if text
                .strip_prefix(&format!("$ {command}\n"))
                .is_some_and(|rest| rest.starts_with("exit code 0"))
            {
                turn.commands.push(command.to_owned());
            }
        } else if !text.trim().is_empty() {
            turn.answer = first(text, TEXT).to_owned();
        }
    }

    fn call(&mut self, id: &str, name: &str, input: &serde_json::Value) {
        let Some(tool) = self.registry.find(name) else { return };
        let call = match tool.spec().name.as_ref() {
            "bash" => called_command(input).map(Call::Command),
            "read" => Some(Call::File { changes: false }),
            "write" | "edit" => Some(Call::File { changes: true }),
            _ => None,
        };
        if let Some(call) = call.filter(|_| self.open.len() < OPEN_CALLS) {
            self.open.insert(id.to_owned(), call);
        }
    }

    fn result(&mut self, result: &ToolResult) {
        let (Some(call), ToolOutput::Ok(data)) = (self.open.remove(&result.tool_use_id), &result.output)
        else {
            return;
        };
        match call {
            Call::Command(command) if data["exit_code"] == 0 => {
                if let Some(turn) = self.turns.last_mut() {
                    turn.commands.push(command);
                }
            }
            Call::Command(_) => {}
            Call::File { changes } => {
                if let Some(path) = data["path"].as_str() {
                    self.touch(PathBuf::from(path), changes);
                }
            }
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
        let typed = |text: &&str| !text.is_empty() && !text.starts_with('!') && !text.starts_with("@!");
        self.turns.iter().map(|turn| turn.prompt.trim()).filter(typed)
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

    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
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
