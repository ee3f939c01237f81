//! Turns that can be taken back: where each began, what it did to files, and what a revert put aside.
//! Knows no file: what lies on the disk is the engine's business.

use std::collections::HashMap;
use std::path::PathBuf;

use super::Transcript;
use crate::change::{FileChange, FileState};
use crate::conversation::{Message, Part, Role, Usage};
use crate::todo::Todo;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct History {
    marks: Vec<Mark>,
    changes: Vec<TurnChange>,
    /// What reverts put aside, the last one last; gone when something is said.
    reverted: Vec<Reverted>,
}

/// Where a turn began.
#[derive(Clone, Debug, PartialEq)]
struct Mark {
    turn: u32,
    messages: usize,
    /// Of the last of those messages: a prompt may have joined one that was there.
    parts: usize,
    todos: Vec<Todo>,
    last_usage: Option<Usage>,
}

/// What the tools of one turn did to one file, from its first state to its last.
#[derive(Clone, Debug, PartialEq)]
struct TurnChange {
    turn: u32,
    change: FileChange,
    /// Somebody else changed the file in between.
    interleaved: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct Reverted {
    files: Vec<FileChange>,
    turns: u32,
    parts: Vec<Part>,
    messages: Vec<Message>,
    marks: Vec<Mark>,
    changes: Vec<TurnChange>,
    todos: Vec<Todo>,
    last_usage: Option<Usage>,
    /// If it was among what was taken back.
    first_prompt: Option<String>,
}

/// What taking back some turns means for one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undo {
    /// From what tools left behind to what they found.
    pub change: FileChange,
    /// Somebody else changed the file between two changes of ours: going back would lose that.
    pub interleaved: bool,
}

impl Transcript {
    /// What it takes to go back to before this turn, in the order files were first changed. Nothing when the turn is
    /// not known here: it does not exist, or what was before it has been folded away.
    pub fn undo_since(&self, turn: u32) -> Option<Vec<Undo>> {
        self.history.marks.iter().find(|mark| mark.turn == turn)?;
        let mut undos: Vec<Undo> = Vec::new();
        let mut known: HashMap<PathBuf, usize> = HashMap::new();
        for TurnChange { change, interleaved, .. } in self.history.changes.iter().filter(|c| c.turn >= turn) {
            let back = change.clone().inverse();
            match known.get(&change.path) {
                Some(at) => {
                    let undo = &mut undos[*at];
                    let met = FileState::same_content(undo.change.before.as_ref(), change.before.as_ref());
                    undo.interleaved |= interleaved | !met;
                    undo.change.before = back.before;
                    undo.change.folders = undo.change.folders.max(back.folders);
                }
                None => {
                    known.insert(change.path.clone(), undos.len());
                    undos.push(Undo { change: back, interleaved: *interleaved });
                }
            }
        }
        Some(undos)
    }

    /// What taking back the last revert means for files; nothing when there is none to take back.
    pub fn redo_files(&self) -> Option<Vec<FileChange>> {
        let last = self.history.reverted.last()?;
        Some(last.files.iter().rev().cloned().map(FileChange::inverse).collect())
    }

    /// How many turns there are when the last revert is taken back.
    pub fn redo_turns(&self) -> Option<u32> {
        self.history.reverted.last().map(|last| last.turns)
    }

    /// Earlier turns are no longer there as they were: none of them can be gone back to.
    pub fn forget_history(&mut self) {
        self.history = History::default();
    }

    pub(super) fn marked_turns(&self) -> usize {
        self.history.marks.len()
    }

    /// A prompt is about to be added. What was attached to it belongs to its turn.
    pub(super) fn mark_turn(&mut self) {
        self.history.reverted.clear();
        let attached = self.messages.iter().rev().take_while(|message| message.role == Role::System).count();
        let messages = self.messages.len() - attached;
        let parts = self.messages[..messages].last().map_or(0, |last| last.parts.len());
        self.history.marks.push(Mark {
            turn: self.turns,
            messages,
            parts,
            todos: self.todos.clone(),
            last_usage: self.last_usage,
        });
    }

    pub(super) fn note_change(&mut self, change: FileChange) {
        let turn = self.turns;
        let mut same_turn = self.history.changes.iter_mut().rev().take_while(|known| known.turn == turn);
        match same_turn.find(|known| known.change.path == change.path) {
            Some(known) => {
                known.interleaved |=
                    !FileState::same_content(known.change.after.as_ref(), change.before.as_ref());
                known.change.after = change.after;
                known.change.folders = known.change.folders.max(change.folders);
            }
            None => self.history.changes.push(TurnChange { turn, change, interleaved: false }),
        }
    }

    pub(super) fn apply_revert(&mut self, turn: u32, files: Vec<FileChange>) {
        // A turn that is not known here can only stand in a damaged file.
        let Some(at) = self.history.marks.iter().position(|mark| mark.turn == turn) else { return };
        self.answer_open_calls();
        let marks = self.history.marks.split_off(at);
        let (kept, parts) = (marks[0].messages, marks[0].parts);
        let messages = self.messages.split_off(kept.min(self.messages.len()));
        let parts = self.messages.last_mut().map_or_else(Vec::new, |last| {
            let kept = parts.min(last.parts.len());
            last.parts.split_off(kept)
        });
        let first = self.history.changes.partition_point(|change| change.turn < turn);
        let Mark { todos, last_usage, .. } = marks[0].clone();
        let reverted = Reverted {
            files,
            turns: std::mem::replace(&mut self.turns, turn.saturating_sub(1)),
            parts,
            messages,
            marks,
            changes: self.history.changes.split_off(first),
            todos: std::mem::replace(&mut self.todos, todos),
            last_usage: std::mem::replace(&mut self.last_usage, last_usage),
            first_prompt: self.first_prompt.take_if(|_| turn == 1),
        };
        self.history.reverted.push(reverted);
    }

    pub(super) fn apply_redo(&mut self) {
        let Some(back) = self.history.reverted.pop() else { return };
        if let Some(last) = self.messages.last_mut() {
            last.parts.extend(back.parts);
        }
        self.messages.extend(back.messages);
        self.history.marks.extend(back.marks);
        self.history.changes.extend(back.changes);
        self.turns = back.turns;
        self.todos = back.todos;
        self.last_usage = back.last_usage;
        self.first_prompt = self.first_prompt.take().or(back.first_prompt);
    }
}

#[cfg(test)]
mod tests;
