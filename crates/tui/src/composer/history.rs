//! What was typed before, to walk through and to search in. The engine keeps it across restarts.

use std::ops::Range;

use zdx_protocol::prompt_history::{LONG, LONGEST, MOST, MOST_LONG};

/// Oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    entries: Vec<String>,
}

impl History {
    /// What earlier sessions left, which comes to be known behind the first frame: it is older than all that is here.
    pub(crate) fn loaded(&mut self, older: Vec<String>) {
        let since = std::mem::take(&mut self.entries);
        for entry in older.into_iter().chain(since) {
            self.push(entry);
        }
    }

    pub(crate) fn push(&mut self, entry: String) {
        let kept = !entry.trim().is_empty() && entry.len() <= LONGEST && !entry.starts_with(' ');
        if !kept || self.entries.last() == Some(&entry) {
            return;
        }
        if self.entries.len() == MOST {
            self.entries.remove(0);
        }
        self.entries.push(entry);
        self.forget_long();
    }

    /// Of pastes only the last ones stay.
    fn forget_long(&mut self) {
        let is_long = |entry: &&String| entry.len() > LONG;
        let mut bytes: usize = self.entries.iter().filter(is_long).map(String::len).sum();
        while bytes > MOST_LONG
            && let Some(at) = self.entries.iter().position(|entry| is_long(&entry))
        {
            bytes -= self.entries.remove(at).len();
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn get(&self, at: usize) -> Option<&str> {
        self.entries.get(at).map(String::as_str)
    }

    pub(crate) fn has(&self, text: &str) -> bool {
        self.entries.iter().rev().any(|entry| entry == text)
    }

    /// The next one before `before` that differs from `but`.
    pub(crate) fn older(&self, before: usize, but: &str) -> Option<usize> {
        (0..before.min(self.len())).rev().find(|at| self.entries[*at] != but)
    }

    pub(crate) fn newer(&self, after: usize, but: &str) -> Option<usize> {
        (after + 1..self.len()).find(|at| self.entries[*at] != but)
    }

    /// The next one before `before` with these letters in it, and where. What was sent several times is found once, the last time.
    pub(crate) fn search(&self, letters: &str, before: usize) -> Option<(usize, Range<usize>)> {
        let is_last = |at: &usize| !self.entries[at + 1..].contains(&self.entries[*at]);
        (0..before.min(self.len()))
            .rev()
            .filter_map(|at| found(&self.entries[at], letters).map(|place| (at, place)))
            .find(|(at, _)| is_last(at))
    }
}

/// The last place of these letters, small ones standing for capitals too.
fn found(entry: &str, letters: &str) -> Option<Range<usize>> {
    if letters.is_empty() {
        return None;
    }
    let exact = letters.contains(char::is_uppercase);
    let same = |one: char, other: char| one == other || !exact && one.to_lowercase().eq(other.to_lowercase());
    let begins = |at: usize| {
        let mut rest = entry[at..].char_indices();
        for letter in letters.chars() {
            rest.next().filter(|(_, c)| same(*c, letter))?;
        }
        Some(at..rest.next().map_or(entry.len(), |(end, _)| at + end))
    };
    entry.char_indices().rev().find_map(|(at, _)| begins(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(entries: &[&str]) -> History {
        let mut history = History::default();
        history.loaded(entries.iter().map(|entry| (*entry).to_owned()).collect());
        history
    }

    #[test]
    fn what_is_loaded_late_is_older() {
        let mut history = History::default();
        history.push("typed meanwhile".into());
        history.loaded(vec!["old".into(), " hidden".into(), "old".into()]);
        assert_eq!(history.entries, ["old", "typed meanwhile"]);
        (0..2 * MOST).for_each(|n| history.push(n.to_string()));
        assert_eq!((history.len(), history.get(0)), (MOST, Some("1000")));
    }

    #[test]
    fn long_ones_push_out_each_other_only() {
        let mut history = History::default();
        for n in 0..5 {
            history.push(format!("{n}"));
            history.push(format!("{n}{}", "x".repeat(LONGEST - 1)));
        }
        let begins: Vec<&str> = history.entries.iter().map(|entry| &entry[..1]).collect();
        assert_eq!(begins, ["0", "1", "2", "3", "3", "4", "4"]);
    }

    #[test]
    fn a_search_goes_from_new_to_old() {
        let history = history(&["Cargo test", "看看 cargo", "other", "看看 cargo"]);
        assert_eq!(history.search("cargo", 4), Some((3, 7..12)));
        assert_eq!(history.search("cargo", 3), Some((0, 0..5)));
        assert_eq!(history.search("Cargo", 4), Some((0, 0..5)));
        assert_eq!(history.search("看", 4), Some((3, 3..6)));
        let often = super::tests::history(&["cargo a", "cargo b", "cargo a", "cargo b"]);
        assert_eq!(
            (often.search("cargo", 3), often.search("cargo", 2)),
            (Some((2, 0..5)), None),
            "once each"
        );
        assert_eq!((history.search("", 4), history.search("nope", 4)), (None, None));
    }
}
