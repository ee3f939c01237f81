//! The conversation as it is shown: events become cells, cells become rows. Rows that will not change any more are given
//! once, for the terminal's own scrollback; the rest is drawn anew whenever it is asked for.
//! Pure: no clock, no terminal. Bounded: of what is old only the lines of calls stay.

mod announced;
mod call;
mod called;
mod calls;
mod cell;
mod draw;
mod events;
mod find;
mod folds;
mod names;
mod page_rows;
mod rows;
mod spilled;
mod tail;
mod task;
#[cfg(test)]
mod tests;
mod thoughts;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use ratatui_core::text::Line;
use zdx_protocol::display::context::PrunedTotals;
use zdx_protocol::query::SpilledOutput;
use zdx_protocol::{Todo, TodoStatus};

use self::announced::Announced;
use self::call::Call;
use self::cell::{Cell, Group, Item, Known, Text, Thought};
use self::page_rows::OutputRows;
use self::rows::{Manner, PLAIN, SCREEN, WHOLE, row};
use self::spilled::{SpilledPieces, placeholder_of};
use crate::look::Look;

pub(crate) use self::cell::NoteKind;
pub(crate) use self::page_rows::PageRows;

/// Of all that is kept to be read again.
const MOST_BYTES: usize = 32 << 20;
/// Rows of diffs in a row of calls; then little of each is shown.
const MOST_BELOW: usize = 60;
/// Of the diff of a call that comes after those.
const LITTLE: usize = 6;
/// Of a list of todos that is pinned.
const MOST_TODOS: usize = 8;

/// Where it is shown.
#[derive(Clone, Copy, Debug)]
struct Place {
    manner: Manner,
    /// Line by line: what is over is told at once, texts and the output of typed commands are shown elsewhere.
    in_lines: bool,
    /// What a text was is said below it.
    marks: bool,
}

pub(crate) struct Conversation {
    place: Place,
    root: Option<PathBuf>,
    /// Never removed, so that each has its number for good.
    cells: Vec<Cell>,
    /// So many cells were given whole.
    given: usize,
    /// Rows of the next one were given already.
    begun: bool,
    /// What the last row that was given belongs to.
    last: Option<Group>,
    /// Rows of diffs below the calls of the present run.
    below: usize,
    /// The text that is being written.
    text: Option<usize>,
    thought: Option<Thought>,
    /// What streamed of the present answer's thought stands there already.
    thought_told: bool,
    /// Calls whose arguments still stream.
    announced: Vec<Announced>,
    retry: Option<String>,
    /// Old outputs that left the context in this turn: told once, at its end.
    pruned: PrunedTotals,
    todos: Vec<Todo>,
    /// Turns that began since anybody changed them: a list that nobody works on is not pinned for ever.
    todos_untouched: usize,
    /// The last turn was stopped: what it had planned is perhaps not wanted any more.
    stopped: bool,
    /// Came before the prompt that they belong to.
    attached: Vec<String>,
    in_turn: bool,
    /// An error was told in this turn, so its outcome needs no second sentence.
    told: bool,
    /// What came of this turn so far.
    did: Did,
    /// What is told happened before the session was resumed.
    past: bool,
    bytes: usize,
    /// So many cells gave back what made them large.
    forgotten: usize,
}

/// What a turn has done, the most of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Did {
    Nothing,
    /// It said or called something.
    Something,
    /// A file was changed that taking it back puts back.
    Files,
}

impl Default for Conversation {
    fn default() -> Self {
        Self::shown(Place { manner: SCREEN, in_lines: false, marks: true })
    }
}

impl Conversation {
    /// For line mode; `marks` where texts stand on the same screen.
    pub(crate) fn in_lines(marks: bool) -> Self {
        Self::shown(Place { manner: PLAIN, in_lines: true, marks })
    }

    fn shown(place: Place) -> Self {
        Self {
            place,
            root: None,
            cells: Vec::new(),
            given: 0,
            begun: false,
            last: None,
            below: 0,
            text: None,
            thought: None,
            thought_told: false,
            announced: Vec::new(),
            retry: None,
            pruned: PrunedTotals::default(),
            todos: Vec::new(),
            todos_untouched: 0,
            stopped: false,
            attached: Vec::new(),
            in_turn: false,
            told: false,
            did: Did::Nothing,
            past: false,
            bytes: 0,
            forgotten: 0,
        }
    }

    /// The answer to a command, or a word of the front end itself.
    pub(crate) fn note(&mut self, lines: Vec<String>, kind: NoteKind) {
        self.push(Cell::Note(kind, lines.join("\n")));
    }

    /// A command that a person typed, above what it brings.
    pub(crate) fn typed(&mut self, text: String) {
        self.push(Cell::Prompt(text));
    }

    /// Rows that are final since this was asked last.
    pub(crate) fn settled(&mut self, look: Look<'_>) -> Vec<Line<'static>> {
        let mut out = Vec::new();
        while self.given < self.cells.len() {
            let over = self.is_final(self.given);
            let rows = self.settle(self.given, over, look);
            let group = self.cells[self.given].group();
            let more = self.begun;
            self.begun = !over && (self.begun || !rows.is_empty());
            add(&mut out, rows, group, &mut self.last, more);
            if !over {
                break;
            }
            self.given += 1;
        }
        out
    }

    fn settle(&mut self, at: usize, over: bool, look: Look<'_>) -> Vec<Line<'static>> {
        let mut manner = self.manner(at);
        let mut rows = Vec::new();
        match &mut self.cells[at] {
            Cell::Text(text) => {
                self.below = 0;
                if let Some(stream) = &mut text.stream {
                    rows = stream.settled(look);
                }
                if over {
                    text.stream = None;
                }
            }
            Cell::Prompt(_) => self.below = 0,
            Cell::Thought(_)
            | Cell::Call(_)
            | Cell::Fold(_)
            | Cell::Todos(_)
            | Cell::Note(..)
            | Cell::Forgotten => {}
        }
        let cell = &self.cells[at];
        if manner.followed && self.below >= MOST_BELOW && !cell.calls().any(Call::failed) {
            manner.diff = manner.diff.map(|lines| lines.min(LITTLE));
        }
        if over {
            let drawn = draw::cell(cell, look, &manner);
            if cell.calls().any(Call::changed) {
                self.below += drawn.len().saturating_sub(1);
            }
            rows.extend(drawn);
        }
        rows
    }

    fn manner(&self, at: usize) -> Manner {
        let followed = !self.place.in_lines && matches!(self.after(at), Some(Cell::Call(_) | Cell::Fold(_)));
        Manner { followed, ..self.place.manner }
    }

    /// What came next, thoughts aside.
    fn after(&self, at: usize) -> Option<&Cell> {
        self.cells[at + 1..].iter().find(|cell| !matches!(cell, Cell::Thought(_)))
    }

    /// Nothing that comes can change how it is told.
    fn is_final(&self, at: usize) -> bool {
        let followed = at + 1 < self.cells.len() || !self.in_turn;
        match &self.cells[at] {
            Cell::Text(text) => text.over && text.known != Known::NotYet,
            Cell::Call(call) => {
                // Whoever changed a file wants it seen, whatever comes next.
                let waits = self.in_turn && !self.place.in_lines && !call.changed();
                call.is_over() && (!waits || self.after(at).is_some())
            }
            Cell::Fold(_) => {
                let seen = followed || self.cells[at].calls().any(Call::changed);
                seen && self.cells[at].calls().all(Call::is_over)
            }
            // What the turn took stands behind the word about its end.
            Cell::Note(NoteKind::Warning, _) => followed || self.place.in_lines,
            // Another one may follow, and be told with it.
            Cell::Thought(_) => followed || self.place.in_lines,
            Cell::Prompt(_) | Cell::Todos(_) | Cell::Note(..) | Cell::Forgotten => true,
        }
    }

    /// What still changes, in its last so many rows.
    pub(crate) fn live(&self, look: Look<'_>, now: Instant, most_rows: usize) -> Vec<Line<'static>> {
        let (mut out, mut last) = (Vec::new(), self.last);
        for at in self.given..self.cells.len() {
            let (cell, manner) = (&self.cells[at], &self.manner(at));
            let rows = match cell {
                Cell::Text(text) => {
                    let mut rows = text.stream.as_ref().map(|stream| stream.tail(look)).unwrap_or_default();
                    rows.extend(draw::cell(cell, look, manner));
                    rows
                }
                Cell::Call(call) => calls::live(call, look, manner, now),
                Cell::Fold(items) => folds::live(items, look, manner, now),
                Cell::Prompt(_) | Cell::Thought(_) | Cell::Todos(_) | Cell::Note(..) | Cell::Forgotten => {
                    draw::cell(cell, look, manner)
                }
            };
            add(&mut out, rows, cell.group(), &mut last, at == self.given && self.begun);
        }
        if let Some(thought) = &self.thought {
            add(
                &mut out,
                draw::thinking(thought, look, now, draw::LAST_OF_THOUGHT),
                Group::Done,
                &mut last,
                false,
            );
        }
        let dim = look.theme.dim;
        let announced = self.announced.iter().map(|announced| announced.row(look)).collect();
        add(&mut out, announced, Group::Done, &mut last, false);
        let retry = self.retry.iter().map(|retry| row("", retry, dim, look)).collect();
        add(&mut out, retry, Group::Done, &mut last, false);
        draw::last_rows(out, most_rows, look)
    }

    /// Whether a second passing changes what is live.
    pub(crate) fn needs_tick(&self) -> bool {
        let running = |cell: &Cell| cell.calls().any(|call| call.is_running());
        self.thought.is_some() || self.cells[self.given..].iter().any(running)
    }

    /// What runs, in words; the last that began.
    pub(crate) fn doing(&self) -> Option<String> {
        let running = self.cells[self.given..].iter().flat_map(Cell::calls).filter(|call| call.is_running());
        running.last().map(|call| format!("{} {}", call.title.doing, call.title.subject))
    }

    /// How many parts there are to read again; see [`Self::whole_part`].
    pub(crate) fn whole_len(&self) -> usize {
        self.cells.len()
    }

    /// One of them with nothing left out, the blank line before it included.
    pub(crate) fn whole_part(&self, at: usize, look: Look<'_>) -> Vec<Line<'static>> {
        let Some(cell) = self.cells.get(at) else { return Vec::new() };
        let mut last = at.checked_sub(1).and_then(|before| self.cells.get(before)).map(Cell::group);
        let mut out = Vec::new();
        add(&mut out, draw::cell(cell, look, &WHOLE), cell.group(), &mut last, false);
        out
    }

    /// All that is known, expanded, and what goes on at the end of it.
    pub(crate) fn whole(&self, look: Look<'_>, now: Instant) -> Vec<PageRows> {
        let mut out: Vec<Line<'static>> =
            (0..self.whole_len()).flat_map(|at| self.whole_part(at, look)).collect();
        let open = self.cells[self.given..].iter().flat_map(Cell::calls).filter(|call| !call.is_over());
        out.extend(open.flat_map(|call| calls::live(call, look, &WHOLE, now)));
        if let Some(thought) = &self.thought {
            out.extend(draw::thinking(thought, look, now, usize::MAX));
        }
        self.with_outputs(out, look)
    }

    /// Puts long outputs in the place of the rows that stand for them.
    fn with_outputs(&self, lines: Vec<Line<'static>>, look: Look<'_>) -> Vec<PageRows> {
        let (mut page, mut part) = (Vec::new(), Vec::new());
        for line in lines {
            match placeholder_of(&line).and_then(|path| self.output_of(&path)) {
                None => part.push(line),
                Some(output) => {
                    page.push(PageRows::Lines(std::mem::take(&mut part)));
                    let rows = OutputRows::new(Arc::clone(output), calls::BELOW, look.theme.dim, look.width);
                    page.push(PageRows::Output(rows));
                }
            }
        }
        page.push(PageRows::Lines(part));
        page
    }

    fn output_of(&self, path: &Path) -> Option<&Arc<SpilledOutput>> {
        let calls = self.cells.iter().flat_map(Cell::calls);
        calls.filter_map(Call::spilled).find_map(|spilled| spilled.find(path))
    }

    /// Files with outputs that are only in part here and that nobody asked for: of the last calls first, as far as they fit
    /// into so many bytes.
    pub(crate) fn unread_outputs(&mut self, mut room: u64) -> Vec<PathBuf> {
        let calls = self.cells.iter_mut().rev().flat_map(Cell::calls_mut);
        let spilled = calls.filter_map(Call::spilled_mut);
        spilled.flat_map(|spilled| spilled.take_unread(&mut room)).collect()
    }

    /// One of them, to be shown in the whole conversation.
    pub(crate) fn read_output(&mut self, read: &Arc<SpilledOutput>) {
        self.each_spilled(|spilled| spilled.set_read(read));
    }

    /// Frees what was read of them.
    pub(crate) fn forget_outputs(&mut self) {
        self.each_spilled(SpilledPieces::forget_read);
    }

    fn each_spilled(&mut self, change: impl FnMut(&mut SpilledPieces)) {
        let calls = self.cells.iter_mut().flat_map(Cell::calls_mut);
        calls.filter_map(Call::spilled_mut).for_each(change);
    }

    /// The list while something on it is left to do.
    pub(crate) fn pinned_todos(&self, look: Look<'_>, room: usize) -> Vec<Line<'static>> {
        let done = |item: &&Todo| item.status == TodoStatus::Completed;
        let finished = self.todos.iter().filter(done).count();
        let most = MOST_TODOS.min(room);
        // A turn that did not touch it has left it behind.
        let stale = self.todos_untouched > usize::from(self.in_turn);
        if finished == self.todos.len() || most < 2 || stale {
            return Vec::new();
        }
        // What is done goes first where there is no room for all.
        let over = (self.todos.len() + 1).saturating_sub(most);
        let skipped = self.todos.iter().take_while(done).count().min(over);
        let head = format!("todo · {}", draw::progress(&self.todos));
        let rest = &self.todos[skipped..];
        let shown = if rest.len() >= most { &rest[..most.saturating_sub(2).max(1)] } else { rest };
        let mut rows = vec![row("", &head, look.theme.dim, look)];
        rows.extend(shown.iter().map(|item| draw::todo(item, "", look)));
        if shown.len() < rest.len() && rows.len() < most {
            rows.push(row("", &format!("    {} more", rest.len() - shown.len()), look.theme.dim, look));
        }
        rows
    }

    fn push(&mut self, cell: Cell) {
        self.bytes += cell.bytes();
        self.cells.push(cell);
        self.forget();
    }

    /// More of a cell is there than when it was pushed.
    fn grew(&mut self, bytes: usize) {
        self.bytes += bytes;
        if self.bytes > MOST_BYTES {
            self.forget();
        }
    }

    fn forget(&mut self) {
        while self.bytes > MOST_BYTES && self.forgotten < self.given {
            let cell = &mut self.cells[self.forgotten];
            let before = cell.bytes();
            cell.forget();
            self.bytes = self.bytes.saturating_sub(before - cell.bytes().min(before));
            self.forgotten += 1;
        }
        // Long runs are not given yet.
        if let Some(Cell::Fold(items)) = self.cells.get_mut(self.given) {
            let kept = items.len().saturating_sub(1);
            for call in items[..kept].iter_mut().filter_map(Item::call_mut) {
                if self.bytes <= MOST_BYTES {
                    break;
                }
                let before = call.bytes();
                call.forget();
                self.bytes = self.bytes.saturating_sub(before - call.bytes());
            }
        }
    }

    fn open_text(&mut self) -> Option<&mut Text> {
        match self.cells.get_mut(self.text?) {
            Some(Cell::Text(text)) => Some(text),
            _ => None,
        }
    }
}

/// Rows of a cell behind those of others: a blank line apart if one of both is said.
fn add(
    out: &mut Vec<Line<'static>>,
    rows: Vec<Line<'static>>,
    group: Group,
    last: &mut Option<Group>,
    goes_on: bool,
) {
    if rows.is_empty() {
        return;
    }
    let apart = last.is_some_and(|last| last == Group::Said || group == Group::Said);
    if apart && !goes_on {
        out.push(Line::default());
    }
    *last = Some(group);
    out.extend(rows);
}
