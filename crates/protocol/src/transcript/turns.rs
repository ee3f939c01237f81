//! Which turns of a session still count: a prompt begins one, a revert takes some back, a redo brings them back, and the
//! next prompt forgets what was taken back. Whoever numbers turns keeps them in here, so that all numbers agree.

use super::entry::{Entry, Place};

/// Turns with what a reader keeps of each (`T`), and what it put aside at each revert (`A`).
#[derive(Clone, Debug, PartialEq)]
pub struct Turns<T, A = ()> {
    /// Turns before those held here.
    earlier: u32,
    held: Vec<T>,
    /// So many of them cannot be taken back any more.
    settled: usize,
    /// Begun by what leads in to a prompt that is still to come.
    opening: Option<T>,
    /// The last revert last.
    reverted: Vec<(Vec<T>, A)>,
}

impl<T, A> Default for Turns<T, A> {
    fn default() -> Self {
        Self::after(0)
    }
}

impl<T, A> Turns<T, A> {
    /// None yet, after so many of which nothing is known.
    pub fn after(earlier: u32) -> Self {
        Self { earlier, held: Vec::new(), settled: 0, opening: None, reverted: Vec::new() }
    }

    pub fn count(&self) -> u32 {
        self.earlier.saturating_add(number(self.held.len()))
    }

    pub fn get(&self, turn: u32) -> Option<&T> {
        self.held.get(self.index(turn)?)
    }

    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.held.iter()
    }

    pub fn last(&self) -> Option<&T> {
        self.held.last()
    }

    pub fn last_mut(&mut self) -> Option<&mut T> {
        self.held.last_mut()
    }

    /// The one before the last `back` turns.
    pub fn before_last_mut(&mut self, back: usize) -> Option<&mut T> {
        self.held.iter_mut().rev().nth(back)
    }

    /// Begins a turn at a prompt, or where what leads in to it began: there and then `here` is asked for.
    pub fn follow(&mut self, entry: &Entry, here: impl FnOnce() -> T) {
        match entry.place() {
            Place::LeadIn => {
                self.opening.get_or_insert_with(here);
            }
            Place::Prompt => {
                self.reverted.clear();
                let turn = self.opening.take().unwrap_or_else(here);
                self.held.push(turn);
            }
            Place::Within => self.opening = None,
            Place::Beside => {}
        }
    }

    /// Whether this turn is there and can be taken back.
    pub fn may_revert(&self, turn: u32) -> bool {
        self.index(turn).is_some_and(|at| (self.settled..self.held.len()).contains(&at))
    }

    /// Takes back this turn and all after it, and keeps what `aside` makes of the first of them. A turn that cannot be
    /// taken back can only stand in a damaged file: nothing happens.
    pub fn revert(&mut self, turn: u32, aside: impl FnOnce(&T) -> A) {
        let at = self.index(turn).filter(|at| *at >= self.settled);
        let Some((at, first)) = at.and_then(|at| Some((at, self.held.get(at)?))) else { return };
        let kept = aside(first);
        let gone = self.held.split_off(at);
        self.reverted.push((gone, kept));
    }

    /// Takes back the last revert; nothing when none stands.
    pub fn redo(&mut self) -> Option<A> {
        let (turns, aside) = self.reverted.pop()?;
        self.held.extend(turns);
        Some(aside)
    }

    /// What the last revert put aside.
    pub fn put_aside(&self) -> Option<&A> {
        self.reverted.last().map(|(_, aside)| aside)
    }

    /// How many turns there are when the last revert is taken back.
    pub fn redo_count(&self) -> Option<u32> {
        self.reverted.last().map(|(gone, _)| self.count().saturating_add(number(gone.len())))
    }

    /// A compaction: the turns so far stay as they are, `turns` by its own count.
    pub fn settle(&mut self, turns: u32) {
        self.earlier = turns.saturating_sub(number(self.held.len()));
        self.settled = self.held.len();
        self.reverted.clear();
    }

    fn index(&self, turn: u32) -> Option<usize> {
        usize::try_from(turn.checked_sub(self.earlier)?.checked_sub(1)?).ok()
    }
}

impl<T> Turns<T> {
    /// Everything that an entry does to turns, for a reader that puts nothing aside.
    pub fn fold(&mut self, entry: &Entry, here: impl FnOnce() -> T) {
        self.follow(entry, here);
        if let Entry::Reverted(revert) = entry {
            self.revert(revert.turn, |_| ());
        }
        if let Entry::Redone(_) = entry {
            self.redo();
        }
        if let Entry::Compacted(compaction) = entry {
            self.settle(compaction.state.turns);
        }
    }
}

fn number(turns: usize) -> u32 {
    u32::try_from(turns).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt() -> Entry {
        Entry::Prompt { text: String::new() }
    }

    fn reminder() -> Entry {
        Entry::Reminder { text: String::new() }
    }

    /// Turns of a session with these entries, each known by where it began.
    fn told(entries: &[Entry]) -> Turns<usize> {
        let mut turns = Turns::default();
        for (at, entry) in entries.iter().enumerate() {
            turns.follow(entry, || at);
        }
        turns
    }

    fn starts(turns: &Turns<usize>) -> Vec<usize> {
        turns.iter().copied().collect()
    }

    #[test]
    fn a_turn_begins_with_what_leads_in_to_its_prompt() {
        let said = || Entry::Said { text: String::new(), partial: false, continues: false };
        let attached = || Entry::Attached { content: crate::content::Content::Text(String::new()) };
        let turns = told(&[
            attached(),
            reminder(),
            Entry::Todos(Vec::new()),
            prompt(),
            said(),
            // A check failed: this one belongs to the turn that goes on.
            reminder(),
            said(),
            prompt(),
            Entry::Interrupted,
            Entry::Model(String::new()),
            prompt(),
        ]);
        assert_eq!((starts(&turns), turns.count()), (vec![0, 7, 10], 3));
    }

    #[test]
    fn reverts_stand_until_they_are_taken_back_or_something_is_said() {
        let mut turns = told(&[prompt(), prompt(), prompt(), prompt()]);
        turns.revert(3, |_| ());
        turns.revert(5, |_| ());
        turns.revert(0, |_| ());
        turns.revert(2, |_| ());
        assert_eq!((starts(&turns), turns.redo_count()), (vec![0], Some(2)));
        assert_eq!(turns.redo(), Some(()));
        assert_eq!((starts(&turns), turns.redo_count()), (vec![0, 1], Some(4)));
        turns.follow(&prompt(), || 9);
        assert_eq!((starts(&turns), turns.redo()), (vec![0, 1, 9], None));
        assert_eq!((turns.get(3), turns.get(4), turns.get(0)), (Some(&9), None, None));
    }

    #[test]
    fn what_was_before_a_compaction_counts_and_stays() {
        let mut turns = told(&[prompt(), prompt()]);
        turns.revert(2, |_| ());
        turns.settle(5);
        assert_eq!((turns.count(), turns.redo(), turns.may_revert(5)), (5, None, false));
        turns.follow(&prompt(), || 7);
        turns.revert(5, |_| ());
        assert_eq!((turns.count(), turns.get(6), turns.may_revert(6)), (6, Some(&7), true));
        assert_eq!(Turns::<usize>::after(5).count(), 5);
    }
}
