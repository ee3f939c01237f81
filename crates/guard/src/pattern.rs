//! Wildcards of permission rules: words against words for commands, text against text for names and paths.
//! An ambiguous pattern is read narrowly when it allows and widely when it forbids.

/// Stands for the part of a word that only running the script would tell.
pub(crate) const UNKNOWN: char = '\0';

/// How generously a pattern is read.
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

    pub(crate) fn matches(&self, argv: &[String], reading: Reading) -> bool {
        if self.is_catch_all() {
            return true;
        }
        if self.words.is_empty() {
            return false;
        }
        match reading {
            Reading::Wide => words_match(&self.words, argv, reading, true),
            Reading::Narrow => match self.attached_star() {
                Some(words) => words_match(&words, argv, reading, true),
                None => words_match(&self.words, argv, reading, false),
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
fn words_match(pattern: &[String], argv: &[String], reading: Reading, open_end: bool) -> bool {
    let same = |wanted: &str, word: &str| match reading {
        Reading::Narrow => !word.contains(UNKNOWN) && glob(wanted, word),
        Reading::Wide => word.contains(UNKNOWN) || glob(wanted, word),
    };
    // Which numbers of words the pattern so far may have covered.
    let mut covered = vec![false; argv.len() + 1];
    covered[0] = true;
    for wanted in pattern {
        if wanted == "*" {
            let first = covered.iter().position(|covered| *covered).unwrap_or(covered.len());
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
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                retry = Some((p, t));
                p += 1;
            }
            Some(c) if *c == '?' || *c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match retry {
                Some((star, from)) => {
                    retry = Some((star, from + 1));
                    p = star + 1;
                    t = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// Is it one of these words?
pub(crate) fn among(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|other| other == word)
}

/// Names of files are not longer than this.
const MAX_NAME: usize = 255;

/// A shell's pattern, read widely: a list in brackets may be any character, or itself.
pub(crate) fn shell_glob(pattern: &str, text: &str) -> bool {
    // What is longer than any name may be anything.
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
        CommandPattern::new(pattern).matches(&argv, reading)
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
