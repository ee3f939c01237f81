//! Turns that can be taken back: where each began, what it did to files, and what a revert put aside.
//! Knows no file: what lies on the disk is the engine's business.

use std::collections::HashMap;
use std::path::PathBuf;

use super::{Entry, Transcript, Turns};
use crate::change::{FileChange, FileState};
use crate::conversation::{Message, Part, Role, Usage};
use crate::event::LastTurn;
use crate::record;
use crate::todo::Todo;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct History {
    /// Those since the last compaction.
    turns: Turns<Mark, Reverted>,
    changes: Vec<TurnChange>,
}

/// Where a turn began.
#[derive(Clone, Debug, PartialEq)]
struct Mark {
    messages: usize,
    /// Of the last of those messages: a prompt may have joined one that was there.
    parts: usize,
    /// The message and the part that its prompt is.
    prompt: (usize, usize),
    /// The user had the check run, and nothing else was asked in it.
    began_with_check: bool,
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
    parts: Vec<Part>,
    messages: Vec<Message>,
    changes: Vec<TurnChange>,
    todos: Vec<Todo>,
    last_usage: Option<Usage>,
    /// If it was among what was taken back.
    first_prompt: Option<String>,
}

/// Input that nothing has answered yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenInput {
    /// There is nothing before it.
    pub first: bool,
    /// Each piece of content by its message and part.
    pub content: Vec<(usize, usize)>,
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
        self.history.turns.get(turn)?;
        let mut undos: Vec<Undo> = Vec::new();
        let mut known: HashMap<PathBuf, usize> = HashMap::new();
        for TurnChange { change, interleaved, .. } in self.history.changes.iter().filter(|c| c.turn >= turn) {
            let back = change.clone().inverse();
            match known.get(&change.path) {
                Some(at) => {
                    let undo = &mut undos[*at];
                    let met = FileState::same_content(undo.change.before.as_ref(), change.before.as_ref());
                    // What it was before is what it becomes: nothing of that is lost.
                    let back_then =
                        FileState::same_content(undo.change.after.as_ref(), change.before.as_ref());
                    undo.interleaved |= interleaved | !(met || back_then);
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
        let last = self.history.turns.put_aside()?;
        Some(last.files.iter().rev().cloned().map(FileChange::inverse).collect())
    }

    /// How many turns there are when the last revert is taken back.
    pub fn redo_turns(&self) -> Option<u32> {
        self.history.turns.redo_count()
    }

    /// Earlier turns are no longer there as they were: none of them can be gone back to.
    pub fn forget_history(&mut self) {
        self.history = History { turns: Turns::after(self.turns), changes: Vec::new() };
    }

    /// What the user said since the last compaction, oldest first.
    pub fn prompts_since_compaction(&self) -> Vec<&str> {
        self.history.turns.iter().filter_map(|mark| self.text_at(mark.prompt)).collect()
    }

    /// What the user said and attached in the turn that has just begun: as long as nothing answers it, it is all the model
    /// has of it.
    pub fn open_input(&self) -> Option<OpenInput> {
        let mark = self.history.turns.last()?;
        let fresh = self.messages.get(mark.messages..)?;
        if fresh.iter().any(|message| message.role == Role::Assistant) {
            return None;
        }
        let joined = mark.messages.checked_sub(1).map(|at| (at, mark.parts)).into_iter();
        let places = joined.chain((mark.messages..self.messages.len()).map(|at| (at, 0)));
        let content = places.flat_map(|(at, from)| {
            let parts = self.messages[at].parts.iter().enumerate().skip(from);
            parts.filter(|(_, part)| matches!(part, Part::Content(_))).map(move |(part, _)| (at, part))
        });
        let content: Vec<_> = content.collect();
        let begins = *content.first()?;
        Some(OpenInput { first: begins == (0, 0), content })
    }

    /// Where the conversation stands: nothing before the first prompt, or right after a compaction.
    pub fn last_turn(&self) -> Option<LastTurn> {
        let prompt = self.history.turns.last()?.prompt;
        let after = self.messages.get(prompt.0 + 1..).unwrap_or_default().iter().rev();
        let said = after.filter(|message| message.role == Role::Assistant);
        let texts = said.flat_map(|message| message.parts.iter().rev()).filter_map(Part::as_text);
        let answer = texts.into_iter().find(|text| !text.trim().is_empty()).map(str::to_owned);
        Some(LastTurn { prompt: self.text_at(prompt)?.to_owned(), answer: answer.unwrap_or_default() })
    }

    /// Whether the last turn is one for which the user had the check run.
    pub fn last_turn_began_with_check(&self) -> bool {
        self.history.turns.last().is_some_and(|mark| mark.began_with_check)
    }

    /// A check that comes before any answer was not made by a model's turn.
    pub(super) fn mark_check(&mut self) {
        let messages = &self.messages;
        if let Some(mark) = self.history.turns.last_mut() {
            let after = messages.get(mark.prompt.0 + 1..).unwrap_or_default();
            mark.began_with_check |= after.iter().all(|message| message.role != Role::Assistant);
        }
    }

    fn text_at(&self, (message, part): (usize, usize)) -> Option<&str> {
        self.messages.get(message)?.parts.get(part)?.as_text()
    }

    /// Before the entry is applied: a turn begins where the context stands now.
    pub(super) fn follow_turns(&mut self, entry: &Entry) {
        self.history.turns.follow(entry, || Mark {
            messages: self.messages.len(),
            parts: self.messages.last().map_or(0, |last| last.parts.len()),
            prompt: (0, 0),
            began_with_check: false,
            todos: self.todos.clone(),
            last_usage: self.last_usage,
        });
    }

    /// The last part of the last message is the prompt of the turn that began.
    pub(super) fn mark_prompt(&mut self) {
        self.turns = self.history.turns.count();
        let Some(last) = self.messages.last() else { return };
        let prompt = (self.messages.len() - 1, last.parts.len().saturating_sub(1));
        if let Some(mark) = self.history.turns.last_mut() {
            mark.prompt = prompt;
        }
    }

    /// Changes of which the records do not say whether they happened. What lies on the disk now tells it.
    pub fn open_intents(&self) -> &[record::Change] {
        &self.intents
    }

    pub(super) fn note_intent(&mut self, intent: record::Change) {
        self.end_intent(&intent.change);
        self.intents.push(intent);
    }

    /// Tools change a file one at a time, so the path alone says which intent is meant.
    pub(super) fn end_intent(&mut self, change: &FileChange) {
        self.intents.retain(|open| open.change.path != change.path);
    }

    pub(super) fn note_change(&mut self, change: FileChange) {
        let turn = self.turns;
        let mut same_turn = self.history.changes.iter_mut().rev().take_while(|known| known.turn == turn);
        match same_turn.find(|known| known.change.path == change.path) {
            Some(known) => {
                let found = change.before.as_ref();
                known.interleaved |= !FileState::same_content(known.change.after.as_ref(), found)
                    && !FileState::same_content(known.change.before.as_ref(), found);
                known.change.after = change.after;
                known.change.folders = known.change.folders.max(change.folders);
            }
            None => self.history.changes.push(TurnChange { turn, change, interleaved: false }),
        }
    }

    pub(super) fn apply_revert(&mut self, turn: u32, files: Vec<FileChange>) {
        if !self.history.turns.may_revert(turn) {
            return;
        }
        self.answer_open_calls();
        self.history.turns.revert(turn, |first| {
            let messages = self.messages.split_off(first.messages.min(self.messages.len()));
            let parts = self.messages.last_mut().map_or_else(Vec::new, |last| {
                let kept = first.parts.min(last.parts.len());
                last.parts.split_off(kept)
            });
            let changes = &mut self.history.changes;
            let first_change = changes.partition_point(|change| change.turn < turn);
            Reverted {
                files,
                parts,
                messages,
                changes: changes.split_off(first_change),
                todos: std::mem::replace(&mut self.todos, first.todos.clone()),
                last_usage: std::mem::replace(&mut self.last_usage, first.last_usage),
                first_prompt: self.first_prompt.take_if(|_| turn == 1),
            }
        });
        self.turns = self.history.turns.count();
    }

    pub(super) fn apply_redo(&mut self) {
        let Some(back) = self.history.turns.redo() else { return };
        if let Some(last) = self.messages.last_mut() {
            last.parts.extend(back.parts);
        }
        self.messages.extend(back.messages);
        self.history.changes.extend(back.changes);
        self.turns = self.history.turns.count();
        self.todos = back.todos;
        self.last_usage = back.last_usage;
        self.first_prompt = self.first_prompt.take().or(back.first_prompt);
    }
}

#[cfg(test)]
mod tests;
