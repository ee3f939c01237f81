//! What each key does to the text: the motions and kills of readline, rows up and down, history beyond the first and last.

use super::layout::Layout;
use super::{Composer, Kind, Text, Typed};
use crate::key::{Key, KeyCode};

impl Composer {
    pub(crate) fn key(&mut self, key: Key) -> Typed {
        if self.search.is_some() {
            return self.search_key(key);
        }
        let (goal, killing) = (self.goal.take(), std::mem::take(&mut self.killing));
        match (key.ctrl, key.alt) {
            (false, false) => self.plain_key(key, goal),
            (true, false) => self.ctrl_key(key, goal, killing),
            (false, true) => self.alt_key(key, killing),
            (true, true) => Typed::Unused,
        }
    }

    fn plain_key(&mut self, key: Key, goal: Option<usize>) -> Typed {
        match key.code {
            KeyCode::Char(c) => self.typed(c),
            KeyCode::Enter if key.shift => self.newline(),
            KeyCode::Enter => self.enter(),
            KeyCode::Backspace => self.delete(self.text.prev(self.caret), self.caret),
            KeyCode::Delete => self.delete(self.caret, self.text.next(self.caret)),
            KeyCode::Left => self.go(self.text.prev(self.caret)),
            KeyCode::Right => self.go(self.text.next(self.caret)),
            KeyCode::Home => self.go(self.text.line_start(self.caret)),
            KeyCode::End => self.go(self.text.line_end(self.caret)),
            KeyCode::Up => self.up(goal),
            KeyCode::Down => self.down(goal),
            KeyCode::Tab
            | KeyCode::Esc
            | KeyCode::PageUp
            | KeyCode::PageDown
            | KeyCode::Insert
            | KeyCode::F(_) => Typed::Unused,
        }
    }

    fn ctrl_key(&mut self, key: Key, goal: Option<usize>, killing: bool) -> Typed {
        let (at, end) = (self.caret, self.text.len());
        match key.code {
            KeyCode::Char('z') if key.shift => self.redo(),
            // One byte, which terminals send for several keys.
            KeyCode::Char('_' | '/' | '7' | '-') => self.undo(),
            KeyCode::Char('a') => self.go(self.text.line_start(at)),
            KeyCode::Char('e') => self.go(self.text.line_end(at)),
            KeyCode::Char('b') => self.go(self.text.prev(at)),
            KeyCode::Char('f') => self.go(self.text.next(at)),
            KeyCode::Char('p') => self.up(goal),
            KeyCode::Char('n') => self.down(goal),
            KeyCode::Left => self.go(self.text.word_start(at)),
            KeyCode::Right => self.go(self.text.word_end(at)),
            KeyCode::Home => self.go(0),
            KeyCode::End => self.go(end),
            KeyCode::Char('j') => self.newline(),
            KeyCode::Char('h') => self.delete(self.text.prev(at), at),
            KeyCode::Char('d') if !self.is_empty() => self.delete(at, self.text.next(at)),
            KeyCode::Char('k') => {
                let line_end = self.text.line_end(at);
                // At the end of a line, its newline.
                let upto = if line_end == at { self.text.next(at) } else { line_end };
                self.kill(at, upto, killing)
            }
            KeyCode::Char('u') => {
                let start = self.text.line_start(at);
                self.kill(if start == at { self.text.prev(at) } else { start }, at, killing)
            }
            KeyCode::Char('w') => self.kill(self.text.blank_before(at), at, killing),
            KeyCode::Backspace => self.kill(self.text.word_start(at), at, killing),
            KeyCode::Delete => self.kill(at, self.text.word_end(at), killing),
            KeyCode::Char('y') => self.yank(),
            KeyCode::Char('r') => self.search_begin(),
            KeyCode::Char(_)
            | KeyCode::Enter
            | KeyCode::Tab
            | KeyCode::Esc
            | KeyCode::Up
            | KeyCode::Down
            | KeyCode::PageUp
            | KeyCode::PageDown
            | KeyCode::Insert
            | KeyCode::F(_) => Typed::Unused,
        }
    }

    fn alt_key(&mut self, key: Key, killing: bool) -> Typed {
        let at = self.caret;
        match key.code {
            KeyCode::Enter => self.newline(),
            KeyCode::Char('b' | 'B') | KeyCode::Left => self.go(self.text.word_start(at)),
            KeyCode::Char('f' | 'F') | KeyCode::Right => self.go(self.text.word_end(at)),
            KeyCode::Char('d' | 'D') => self.kill(at, self.text.word_end(at), killing),
            KeyCode::Backspace => self.kill(self.text.word_start(at), at, killing),
            KeyCode::Char('<') => self.go(0),
            KeyCode::Char('>') => self.go(self.text.len()),
            KeyCode::Char('_') => self.redo(),
            KeyCode::Char(_)
            | KeyCode::Tab
            | KeyCode::Delete
            | KeyCode::Esc
            | KeyCode::Up
            | KeyCode::Down
            | KeyCode::Home
            | KeyCode::End
            | KeyCode::PageUp
            | KeyCode::PageDown
            | KeyCode::Insert
            | KeyCode::F(_) => Typed::Unused,
        }
    }

    fn typed(&mut self, c: char) -> Typed {
        self.edit(self.caret..self.caret, Text::from(&*c.encode_utf8(&mut [0; 4])), Kind::Typed);
        Typed::Edited
    }

    fn newline(&mut self) -> Typed {
        self.edit(self.caret..self.caret, Text::from("\n"), Kind::Alone);
        Typed::Edited
    }

    /// A backslash before it makes a newline of it.
    fn enter(&mut self) -> Typed {
        if self.text.shown()[..self.caret].ends_with('\\') {
            self.edit(self.caret - 1..self.caret, Text::from("\n"), Kind::Alone);
            return Typed::Edited;
        }
        if self.text.shown().trim().is_empty() { Typed::Nothing } else { Typed::Submit }
    }

    fn delete(&mut self, from: usize, upto: usize) -> Typed {
        if from == upto {
            return Typed::Nothing;
        }
        self.edit(from..upto, Text::default(), Kind::Alone);
        Typed::Edited
    }

    fn kill(&mut self, from: usize, upto: usize, adds: bool) -> Typed {
        self.killing = true;
        if from == upto {
            return Typed::Nothing;
        }
        let gone = self.text.slice(from..upto);
        let killed = &mut self.killed;
        match adds {
            true if from == self.caret => drop(killed.splice(killed.len()..killed.len(), &gone)),
            true => drop(killed.splice(0..0, &gone)),
            false => *killed = gone,
        }
        self.delete(from, upto)
    }

    fn yank(&mut self) -> Typed {
        if self.killed.is_empty() || self.text.expanded_len() + self.killed.expanded_len() > super::MOST {
            return Typed::Nothing;
        }
        self.edit(self.caret..self.caret, self.killed.clone(), Kind::Alone);
        Typed::Edited
    }

    fn undo(&mut self) -> Typed {
        let Some(caret) = self.undo.undo(&mut self.text) else { return Typed::Nothing };
        self.restored(caret)
    }

    fn redo(&mut self) -> Typed {
        let Some(caret) = self.undo.redo(&mut self.text) else { return Typed::Nothing };
        self.restored(caret)
    }

    fn restored(&mut self, caret: usize) -> Typed {
        (self.caret, self.walk) = (self.text.snap(caret), None);
        Typed::Edited
    }

    fn go(&mut self, at: usize) -> Typed {
        self.caret = at;
        self.undo.pause();
        Typed::Nothing
    }

    fn up(&mut self, goal: Option<usize>) -> Typed {
        self.vertical(goal, |row, _| row.checked_sub(1)).unwrap_or_else(|| self.older())
    }

    fn down(&mut self, goal: Option<usize>) -> Typed {
        self.vertical(goal, |row, rows| Some(row + 1).filter(|row| *row < rows))
            .unwrap_or_else(|| self.newer())
    }

    /// Up has no row to go to, and no history is being gone through.
    pub(crate) fn is_at_top(&self) -> bool {
        let (_, row) = self.layout().position(self.caret);
        row == 0 && self.walk.is_none() && self.search.is_none()
    }

    fn layout(&self) -> Layout<'_> {
        Layout::new(&self.text, self.seen.get().width, usize::from(self.is_shell()))
    }

    /// To another row, as near to the column as it has letters.
    fn vertical(&mut self, goal: Option<usize>, to: fn(usize, usize) -> Option<usize>) -> Option<Typed> {
        let layout = self.layout();
        let (column, row) = layout.position(self.caret);
        let column = goal.unwrap_or(column);
        let at = layout.place(&self.text, column, to(row, layout.rows.len())?);
        self.go(at);
        self.goal = Some(column);
        Some(Typed::Nothing)
    }
}
