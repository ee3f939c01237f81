//! Wildcards of permission rules: words against words for commands, text against text for names and paths.
//! An ambiguous pattern is read narrowly when it allows and widely when it forbids.

use crate::limits::Budget;

/// Stands for the part of a word that only running the script would tell.
pub(crate) const UNKNOWN: char = '\0';

/// Strictness with which a pattern is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// For `allow`: exactly what is written, at word boundaries.
    Narrow,
    /// For `ask` and `deny`: a prefix covers what follows, an unknown word may be the one meant.
    Wide,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandPattern {
    words: Vec<String>,
}

impl CommandPattern {
    pub(crate) fn new(text: &str) -> Self {
        Self { words: text.split_whitespace().map(str::to_owned).collect() }
    }

    /// `*` alone: every command there is.
    pub(crate) fn is_catch_all(&self) -> bool {
        matches!(self.words.as_slice(), [only] if only == "*")
    }

    /// Not to be believed once the budget is exceeded.
    pub(crate) fn matches(&self, argv: &[String], reading: Reading, budget: &Budget) -> bool {
        if self.is_catch_all() {
            return true;
        }
        if self.words.is_empty() {
            return false;
        }
        match reading {
            Reading::Wide => words_match(&self.words, argv, reading, true, budget),
            Reading::Narrow => match self.attached_star() {
                Some(words) => words_match(&words, argv, reading, true, budget),
                None => words_match(&self.words, argv, reading, false, budget),
            },
        }
    }

    /// `git log*` means "git log and its arguments"; it must not reach `git logout`.
    fn attached_star(&self) -> Option<Vec<String>> {
        let (last, before) = self.words.split_last()?;
        let stem = last.strip_suffix('*')?;
        if stem.contains('*') || !stem.ends_with(|c: char| c.is_alphanumeric()) {
            return None;
        }
        let mut words = before.to_vec();
        words.push(stem.to_owned());
        Some(words)
    }
}

/// Every word of the pattern is weighed against every place once, so many stars cost no more than one.
fn words_match(
    pattern: &[String],
    argv: &[String],
    reading: Reading,
    open_end: bool,
    budget: &Budget,
) -> bool {
    let same = |wanted: &str, word: &str| match reading {
        Reading::Narrow => !word.contains(UNKNOWN) && glob_within(wanted, word, budget),
        Reading::Wide => word.contains(UNKNOWN) || glob_within(wanted, word, budget),
    };
    // Which numbers of words the pattern so far may have covered.
    let mut covered = vec![false; argv.len() + 1];
    covered[0] = true;
    for wanted in pattern {
        let first = covered.iter().position(|covered| *covered);
        let Some(first) = first.filter(|_| budget.spend(argv.len() + 1)) else { return false };
        if wanted == "*" {
            covered[first..].fill(true);
        } else {
            for at in (0..argv.len()).rev() {
                covered[at + 1] = covered[at] && same(wanted, &argv[at]);
            }
            covered[0] = false;
        }
    }
    if open_end { covered.contains(&true) } else { covered[argv.len()] }
}

/// `*` is any run of characters, `?` is one; everything else is itself.
pub(crate) fn glob(pattern: &str, text: &str) -> bool {
    glob_within(pattern, text, &Budget::of(usize::MAX))
}

/// The same within a budget; not to be believed once that is exceeded.
pub(crate) fn glob_within(pattern: &str, text: &str, budget: &Budget) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return match pattern.contains('?') {
            true => after_start(pattern, text, budget).is_some_and(str::is_empty),
            false => pattern == text,
        };
    };
    let (between, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    let Some(mut text) = after_start(first, text, budget) else { return false };
    // The first place that fits leaves the most for what follows.
    for piece in between.split('*').filter(|piece| !piece.is_empty()) {
        match after_first(piece, text, budget) {
            Some(rest) => text = rest,
            None => return false,
        }
    }
    let from = match last.chars().count() {
        0 => return true,
        length => text.char_indices().rev().nth(length - 1).map(|(at, _)| at),
    };
    budget.spend(text.len())
        && from.is_some_and(|at| after_start(last, &text[at..], budget).is_some_and(str::is_empty))
}

/// Returns the rest of a text that begins with a piece without stars.
fn after_start<'t>(piece: &str, text: &'t str, budget: &Budget) -> Option<&'t str> {
    let mut rest = text.chars();
    let mut steps = 0;
    let fits = piece.chars().all(|wanted| {
        steps += 1;
        rest.next().is_some_and(|c| wanted == '?' || wanted == c)
    });
    (budget.spend(steps) && fits).then_some(rest.as_str())
}

/// Returns the text behind the first place where a piece without stars fits.
fn after_first<'t>(piece: &str, text: &'t str, budget: &Budget) -> Option<&'t str> {
    if !piece.contains('?') {
        return text.find(piece).filter(|_| budget.spend(text.len())).map(|at| &text[at + piece.len()..]);
    }
    text.char_indices()
        .take_while(|_| !budget.is_exceeded())
        .find_map(|(at, _)| after_start(piece, &text[at..], budget))
}

/// Whether it is one of these words.
pub(crate) fn among(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|other| other == word)
}

/// Names of files are not longer than this.
const MAX_NAME: usize = 255;

/// A shell's pattern, read widely: a list in brackets may be any character, or itself.
pub(crate) fn shell_glob(pattern: &str, text: &str) -> bool {
    // A name of this length cannot exist, so it may stand for anything.
    if pattern.len() > MAX_NAME || glob(pattern, text) {
        return true;
    }
    let (mut wide, mut rest) = (String::new(), pattern);
    while let Some(open) = rest.find('[') {
        // The first character of a list is in it, even if it closes one.
        let first = open + rest[open..].chars().take(2).map(char::len_utf8).sum::<usize>();
        let Some(close) = rest.get(first..).and_then(|rest| rest.find(']')) else { break };
        wide.push_str(&rest[..open]);
        wide.push('?');
        rest = &rest[first + close + 1..];
    }
    wide.push_str(rest);
    glob(&wide, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, command: &str, reading: Reading) -> bool {
        let argv: Vec<String> = command.split(' ').map(str::to_owned).collect();
        CommandPattern::new(pattern).matches(&argv, reading, &Budget::of(usize::MAX))
    }

    #[test]
    fn wildcards_stand_for_any_run_or_one_character() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("a", "a", true),
            ("a", "ab", false),
            ("?", "é", true),
            ("?", "", false),
            ("a?c", "abc", true),
            ("*", "", true),
            ("a*", "a", true),
            ("*a", "ba", true),
            ("*a", "ab", false),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("*ab*ab", "ab", false),
            ("*ab*ab", "abab", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b?*c", "abc", false),
            ("a*b?*c", "abbc", true),
            ("*é?", "aéb", true),
            ("a**b", "ab", true),
            ("x*", "ax", false),
        ] {
            assert_eq!(glob(pattern, text), expected, "{pattern} / {text}");
        }
    }

    #[test]
    fn hard_patterns_end_within_the_budget() {
        let (piece, text) = ("?".repeat(400) + "b", "a".repeat(60_000));
        for pattern in [format!("*{piece}*"), format!("*{}", "*a?".repeat(300)), piece.clone() + "*"] {
            let budget = Budget::of(1_000_000);
            assert!(!glob_within(&pattern, &text, &budget) || !budget.is_exceeded(), "{pattern}");
        }
        let budget = Budget::of(1_000_000);
        assert!(!glob_within(&format!("*{piece}*"), &text, &budget) && budget.is_exceeded());
    }

    #[test]
    fn allowing_patterns_stop_at_word_boundaries() {
        for (pattern, command, expected) in [
            ("ls *", "ls", true),
            ("ls *", "ls -la x", true),
            ("ls *", "lsof", false),
            ("git log *", "git log --oneline", true),
            ("git log *", "git logout", false),
            ("git log", "git log", true),
            ("git log", "git log -1", false),
            ("git log*", "git log -1", true),
            ("git log*", "git logout", false),
            ("npm run test:*", "npm run test:unit", true),
            ("npm run test:*", "npm run test:unit --x", false),
            ("git * --stat", "git diff a b --stat", true),
            ("cat *", "cat \0", true),
            ("cat a", "cat \0", false),
            ("*", "anything at all", true),
        ] {
            assert_eq!(matches(pattern, command, Reading::Narrow), expected, "{pattern} / {command}");
        }
    }

    #[test]
    fn stars_cost_no_time() {
        let (pattern, command) = ("* a ".repeat(200) + "b", "a ".repeat(2_000) + "a");
        for reading in [Reading::Narrow, Reading::Wide] {
            assert!(!matches(&pattern, &command, reading));
            assert!(matches(&pattern, &format!("{command} b"), reading));
        }
    }

    #[test]
    fn forbidding_patterns_cover_what_follows_and_what_is_unknown() {
        for (pattern, command, expected) in [
            ("git push", "git push origin", true),
            ("git push *", "git \0", true),
            ("rm*", "rmdir x", true),
            ("git push", "git pull", false),
        ] {
            assert_eq!(matches(pattern, command, Reading::Wide), expected, "{pattern} / {command}");
        }
    }
}
