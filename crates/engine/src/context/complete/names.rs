//! What can be completed besides files: commands, agents, models, sessions, turns, by how their name begins; when none begins so, by its
//! letters, or by what is said of it.

use zdx_protocol::query::{Candidate, Then};

use super::rank::{Fit, Ranker, begins, holds};

/// What can be completed besides files.
pub(crate) struct Names<'a> {
    pub agents: Vec<Name>,
    /// Built-in and custom ones, without the slash, in the order in which they are listed.
    pub commands: Vec<Name>,
    pub models: Vec<Name>,
    /// `server:uri`, all of a server in a row.
    pub resources: Vec<Name>,
    /// Looked up only where one may stand; the newest first.
    pub sessions: &'a dyn Fn() -> Vec<Name>,
    /// The same of turns that can be gone back to, by number.
    pub turns: &'a dyn Fn() -> Vec<Name>,
    /// What was allowed for good, in words; looked up as those.
    pub grants: &'a dyn Fn() -> Vec<Name>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Name {
    pub name: String,
    /// Other words for it, offered to those who begin to type one.
    pub aliases: &'static [&'static str],
    /// What may stand behind it, as help shows it.
    pub hint: String,
    pub detail: String,
    pub then: Then,
    /// Of those that begin alike, the smallest comes first.
    pub often: usize,
}

impl Names<'_> {
    /// Those that have resources, each once.
    pub(super) fn servers(&self) -> impl Iterator<Item = &str> {
        let name = |at: usize| self.resources[at].name.split(':').next().unwrap_or_default();
        (0..self.resources.len()).filter(move |at| *at == 0 || name(*at) != name(*at - 1)).map(name)
    }
}

impl Name {
    pub(crate) fn new(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { name: name.into(), detail: detail.into(), ..Self::default() }
    }

    /// Which name of it begins so.
    fn begun(&self, typed: &str) -> Option<&str> {
        let names = std::iter::once(self.name.as_str()).chain(self.aliases.iter().copied());
        names.into_iter().find(|name| begins(name, typed))
    }
}

/// Those that begin so; when none does, those that have these letters, in the name or in what is said of it.
pub(super) fn named(mark: &str, names: &[Name], typed: &str) -> Vec<Candidate> {
    let head = mark.len();
    let candidate = |name: &Name, called: &str, matched| Candidate {
        text: format!("{mark}{called}"),
        shown: format!("{mark}{called}{}", name.hint),
        detail: name.detail.clone(),
        matched,
        then: name.then,
    };
    let begun = names.iter().filter_map(|name| {
        let called = name.begun(typed)?;
        Some((name.often, candidate(name, called, letters(head, head + typed.chars().count()))))
    });
    let mut begun: Vec<(usize, Candidate)> = begun.collect();
    if !begun.is_empty() {
        // All of them are listed as in help; of some, the one that is typed out comes first, then what is meant most often.
        if !typed.is_empty() {
            let whole = head + typed.len();
            begun.sort_by_key(|(often, candidate)| (candidate.text.len() != whole, *often));
        }
        return begun.into_iter().map(|(_, candidate)| candidate).collect();
    }
    let mut ranker = Ranker::new(typed);
    let mut fits: Vec<(Option<Fit>, &Name)> = names
        .iter()
        .filter_map(|name| match ranker.path(&name.name) {
            Some(fit) => Some((Some(fit), name)),
            None => holds(&name.detail, typed).then_some((None, name)),
        })
        .collect();
    // Stable, so that those that fit alike stay as they are listed; what only the words say comes last.
    fits.sort_by(|(one, _), (other, _)| one.is_none().cmp(&other.is_none()).then_with(|| one.cmp(other)));
    let found = fits.into_iter().map(|(fit, name)| {
        let matched = fit.and_then(|_| ranker.letters(&name.name)).unwrap_or_default();
        let head = u32::try_from(head).unwrap_or_default();
        candidate(name, &name.name, matched.into_iter().map(|at| at + head).collect())
    });
    found.collect()
}

pub(super) fn letters(from: usize, upto: usize) -> Vec<u32> {
    (from..upto).filter_map(|at| u32::try_from(at).ok()).collect()
}
