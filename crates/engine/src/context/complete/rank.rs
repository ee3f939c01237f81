//! Which of many is meant by a few letters (fuzzy matching): a file's name counts more than its path, the beginning more than the
//! middle, the shorter more than the longer.

use std::cmp::Reverse;

use nucleo_matcher::pattern::{Atom, AtomKind, CaseMatching, Normalization};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// How well something fits; the smallest is the best.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fit {
    class: Class,
    depth: usize,
    score: Reverse<u16>,
    len: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    /// It is what was typed.
    Same,
    /// Its name begins so; with a `/` typed, its path.
    Begins,
    /// Its name holds it in one piece; with a `/` typed, its path behind a `/`.
    Holds,
    /// The letters stand in its name, in this order.
    InName,
    InPath,
}

pub(super) struct Ranker<'a> {
    typed: &'a str,
    atom: Atom,
    matcher: Matcher,
    buffer: Vec<char>,
}

impl<'a> Ranker<'a> {
    pub(super) fn new(typed: &'a str) -> Self {
        let atom = Atom::new(typed, CaseMatching::Smart, Normalization::Smart, AtomKind::Fuzzy, false);
        Self { typed, atom, matcher: Matcher::new(Config::DEFAULT.match_paths()), buffer: Vec::new() }
    }

    /// Nothing when a letter is missing. A folder's path ends with `/`.
    pub(super) fn path(&mut self, path: &str) -> Option<Fit> {
        let whole = self.score(path)?;
        let bare = path.trim_end_matches('/');
        let name = bare.rsplit_once('/').map_or(bare, |(_, name)| name);
        let (class, score) = match self.typed.contains('/') {
            true => (self.path_class(path), whole),
            false => match self.score(name) {
                Some(score) => (self.name_class(name), score),
                None => (Class::InPath, whole),
            },
        };
        let listed = self.typed.is_empty() || self.typed.ends_with('/');
        Some(Fit {
            class,
            // A folder that is looked into shows what lies right in it first.
            depth: if listed { bare.matches('/').count() } else { 0 },
            // Among those that begin alike, or hold it in one piece, the shorter is meant.
            score: Reverse(if class <= Class::Holds { 0 } else { score }),
            len: if listed { 0 } else { path.len() },
        })
    }

    fn name_class(&self, name: &str) -> Class {
        match () {
            () if name.eq_ignore_ascii_case(self.typed) => Class::Same,
            () if begins(name, self.typed) => Class::Begins,
            () if holds(name, self.typed) => Class::Holds,
            () => Class::InName,
        }
    }

    fn path_class(&self, path: &str) -> Class {
        let at_slash = || path.match_indices('/').any(|(at, _)| begins(&path[at + 1..], self.typed));
        match () {
            () if path.eq_ignore_ascii_case(self.typed) => Class::Same,
            () if begins(path, self.typed) => Class::Begins,
            () if at_slash() => Class::Holds,
            () => Class::InPath,
        }
    }

    fn score(&mut self, text: &str) -> Option<u16> {
        self.atom.score(Utf32Str::new(text, &mut self.buffer), &mut self.matcher)
    }

    /// Which letters were meant, by grapheme: in the name if they all stand there, and in one piece if they do.
    pub(super) fn letters(&mut self, path: &str) -> Option<Vec<u32>> {
        let bare = path.trim_end_matches('/');
        let from = if self.typed.contains('/') { 0 } else { bare.rfind('/').map_or(0, |at| at + 1) };
        let offset = Utf32Str::new(&path[..from], &mut Vec::new()).len();
        let mut found = Vec::new();
        let mut within = |kind, text: &str, offset: usize| {
            found.clear();
            let atom = Atom::new(self.typed, CaseMatching::Smart, Normalization::Smart, kind, false);
            atom.indices(Utf32Str::new(text, &mut self.buffer), &mut self.matcher, &mut found)?;
            let offset = u32::try_from(offset).unwrap_or(u32::MAX);
            let mut letters: Vec<u32> = found.iter().map(|at| at.saturating_add(offset)).collect();
            letters.sort_unstable();
            letters.dedup();
            Some(letters)
        };
        within(AtomKind::Prefix, &path[from..], offset)
            .or_else(|| within(AtomKind::Substring, &path[from..], offset))
            .or_else(|| within(AtomKind::Fuzzy, &path[from..], offset))
            .or_else(|| within(AtomKind::Fuzzy, path, 0))
    }
}

pub(super) fn begins(text: &str, typed: &str) -> bool {
    text.get(..typed.len()).is_some_and(|head| head.eq_ignore_ascii_case(typed))
}

pub(super) fn holds(text: &str, typed: &str) -> bool {
    typed.is_empty() || text.char_indices().any(|(at, _)| begins(&text[at..], typed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranked<'a>(typed: &str, paths: &[&'a str]) -> Vec<&'a str> {
        let mut ranker = Ranker::new(typed);
        let mut fits: Vec<(Fit, &str)> =
            paths.iter().filter_map(|path| ranker.path(path).map(|fit| (fit, *path))).collect();
        fits.sort();
        fits.into_iter().map(|(_, path)| path).collect()
    }

    #[test]
    fn a_name_beats_a_path_and_a_beginning_the_middle() {
        let paths = [
            "main/other.rs",
            "src/domain.rs",
            "src/m_a_i_n.rs",
            "src/deep/main.rs",
            "src/main.rs",
            "src/x.rs",
            "main",
        ];
        assert_eq!(
            ranked("main", &paths),
            ["main", "src/main.rs", "src/deep/main.rs", "src/domain.rs", "src/m_a_i_n.rs", "main/other.rs"]
        );
        assert_eq!(
            ranked("src/m", &["lib/src/main.rs", "src/my/x", "src/main.rs"]),
            ["src/my/x", "src/main.rs", "lib/src/main.rs"]
        );
        assert_eq!(
            ranked("src/", &["src/a/b/c", "src/zeta.rs", "src/a/", "x/src/y"]),
            ["src/a/", "src/zeta.rs", "src/a/b/c", "x/src/y"]
        );
    }

    #[test]
    fn capitals_are_meant_when_they_are_typed() {
        assert_eq!(ranked("readme", &["README.md", "other"]), ["README.md"]);
        assert_eq!(ranked("READ", &["readme.md", "README.md"]), ["README.md"]);
        assert_eq!(ranked("文档", &["docs/中文文档.md", "docs/x.md"]), ["docs/中文文档.md"]);
    }

    #[test]
    fn the_letters_that_were_meant_are_told() {
        assert_eq!(Ranker::new("mai").letters("src/main.rs"), Some(vec![4, 5, 6]));
        assert_eq!(Ranker::new("sm").letters("src/main.rs"), Some(vec![0, 4]));
        assert_eq!(Ranker::new("文").letters("中/e\u{301}文.md"), Some(vec![3]));
        assert_eq!(Ranker::new("zz").letters("src"), None);
    }
}
