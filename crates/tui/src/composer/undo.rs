//! What was done to a text, so that it can be taken back. Letters typed in a row are one step.

use super::text::Text;

/// Steps that are kept.
const MOST: usize = 500;

#[derive(Clone, Debug, Default)]
pub(crate) struct Undo {
    done: Vec<Edit>,
    undone: Vec<Edit>,
}

#[derive(Clone, Debug)]
struct Edit {
    at: usize,
    removed: Text,
    inserted: Text,
    /// Where the caret was, and where it was put.
    caret: (usize, usize),
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Goes together with what was typed right before.
    Typed,
    /// Goes together with a text that took the place of all just before: a walk through history.
    Whole,
    Alone,
}

impl Undo {
    pub(crate) fn done(
        &mut self,
        at: usize,
        removed: Text,
        inserted: Text,
        caret: (usize, usize),
        kind: Kind,
    ) {
        self.undone.clear();
        if let Some(last) = self.done.last_mut().filter(|last| last.kind == kind) {
            match kind {
                Kind::Typed
                    if removed.is_empty()
                        && last.at + last.inserted.len() == at
                        && !ends(last, &inserted) =>
                {
                    let end = last.inserted.len();
                    last.inserted.splice(end..end, &inserted);
                    last.caret.1 = caret.1;
                    return;
                }
                Kind::Whole => {
                    (last.inserted, last.caret.1) = (inserted, caret.1);
                    return;
                }
                Kind::Typed | Kind::Alone => {}
            }
        }
        if self.done.len() == MOST {
            self.done.remove(0);
        }
        self.done.push(Edit { at, removed, inserted, caret, kind });
    }

    /// What is typed next is a step of its own.
    pub(crate) fn pause(&mut self) {
        if let Some(last) = self.done.last_mut() {
            last.kind = Kind::Alone;
        }
    }

    /// Where the caret was before.
    pub(crate) fn undo(&mut self, text: &mut Text) -> Option<usize> {
        let edit = self.done.pop()?;
        text.splice(edit.at..edit.at + edit.inserted.len(), &edit.removed);
        let caret = edit.caret.0;
        self.undone.push(Edit { kind: Kind::Alone, ..edit });
        Some(caret)
    }

    pub(crate) fn redo(&mut self, text: &mut Text) -> Option<usize> {
        let edit = self.undone.pop()?;
        text.splice(edit.at..edit.at + edit.removed.len(), &edit.inserted);
        let caret = edit.caret.1;
        self.done.push(edit);
        Some(caret)
    }
}

/// A word is over when a blank was typed and then something else.
fn ends(last: &Edit, next: &Text) -> bool {
    last.inserted.shown().ends_with(char::is_whitespace) && !next.shown().starts_with(char::is_whitespace)
}
