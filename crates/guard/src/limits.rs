//! Limits on the work that reading one command line may take, all in one place. A command beyond them cannot be read
//! whole: a person confirms it, and with nobody to ask it is denied, since something forbidden may stand in the rest.

use std::cell::Cell;

/// Longest command that is read at all, and longest text that is read as a script.
pub(crate) const MAX_BYTES: usize = 64 * 1024;
/// Tokens of one script. The grammar keeps some hundred bytes for each.
pub(crate) const MAX_TOKENS: usize = 4_000;
/// Nesting of expansions inside words; of groups and loops; of parentheses and of words such as `!` and `time`.
pub(crate) const MAX_EXPANSION: usize = 8;
pub(crate) const MAX_NESTING: usize = 24;
pub(crate) const MAX_PARENS: usize = 8;
/// Nesting of `case`: the grammar reads a last item without `;;` once more at each level.
pub(crate) const MAX_CASES: usize = 4;
/// `&&` and `||` inside one `[[ … ]]`: the tree grows one level deeper with each.
pub(crate) const MAX_TEST_OPERATORS: usize = 64;
/// Words that may be elements of arrays (`name[index]=value`), and the longest index: the grammar tries each several times.
pub(crate) const MAX_ELEMENTS: usize = 64;
pub(crate) const MAX_INDEX: usize = 128;

/// Scripts inside scripts, and simple commands in all of them.
pub(crate) const MAX_DEPTH: usize = 8;
pub(crate) const MAX_COMMANDS: usize = 200;
/// Groups, loops, tests and simple commands that are visited, over all readings of a script.
pub(crate) const MAX_VISITS: usize = 3_000;
/// Commands that run commands that run commands.
pub(crate) const MAX_WRAPPED: usize = 16;
/// Words of one command once braces are expanded.
pub(crate) const MAX_WORDS: usize = 1_000;
/// Findings about one command.
pub(crate) const MAX_CONCERNS: usize = 1_000;

/// Words that one brace expansion makes, and the longest word in which braces are expanded; beyond, the word is unknown.
pub(crate) const MAX_BRACE_WORDS: usize = 64;
pub(crate) const MAX_BRACE_LENGTH: usize = 1_024;
/// Longest value of a variable that is followed; a longer one is unknown.
pub(crate) const MAX_VALUE: usize = 8 * 1024;
/// Longest text that expansions make of one word; beyond, the rest of it is unknown.
pub(crate) const MAX_EXPANDED: usize = MAX_BYTES;
/// Substitutions in substitutions are read again for each: what a longer one prints is unknown.
pub(crate) const MAX_PRINTED: usize = 400;
/// Literals of a script that are tried in place of what is not known.
pub(crate) const MAX_LITERALS: usize = 32;
/// Words of a loop that is read once for each of them; of a longer one the word is unknown.
pub(crate) const MAX_UNROLLED: usize = 4;
/// Folders that a command may run in; beyond, the folder is unknown.
pub(crate) const MAX_STAYED: usize = 8;
/// Names below listed folders that are looked at, over a whole script; beyond, they may be anything.
pub(crate) const MAX_NAMES: usize = 2_000;
/// Names in a folder that is listed; those of a fuller one are not known.
pub(crate) const MAX_FOLDER_NAMES: usize = 10_000;
/// Words that `parallel` puts into its command one by one; of more, the word is unknown.
pub(crate) const MAX_LISTED: usize = 16;
/// Commands without quotes that are looked at in one piece of code of another language, for each word that begins one.
pub(crate) const MAX_TEXTS: usize = 64;
/// Longest path that the kernel takes. A longer one is shortened first, as shells do.
pub(crate) const MAX_PATH: usize = 4_096;
/// Longest pattern whose files are looked up, and the names looked at for one; beyond, they are unknown.
pub(crate) const MAX_GLOB: usize = 512;
pub(crate) const MAX_GLOB_NAMES: usize = 2_000;

/// Steps of reading one command line; about one for each byte that is read or made. Everyday commands take
/// some thousand.
pub(crate) const MAX_STEPS: usize = 1_200_000;
/// Steps of one visit, of one parse whatever its length, of one effect, of looking at one part of a path on the disk, and of
/// reading one name in a folder.
pub(crate) const VISIT: usize = MAX_STEPS / MAX_VISITS;
pub(crate) const PARSE: usize = 100;
pub(crate) const EFFECT: usize = 40;
pub(crate) const LOOK: usize = 32;
pub(crate) const LISTED_NAME: usize = 2;
/// Steps of comparing a command with rules and patterns.
pub(crate) const MAX_RULE_STEPS: usize = 4_000_000;
/// Families of commands, or folders, of one command line that are tried as a wider grant; each is judged anew.
pub(crate) const MAX_WIDER_GRANTS: usize = 4;
/// Longest pattern of a rule, in bytes.
pub(crate) const MAX_RULE_PATTERN: usize = 1_000;

/// The steps that are left. Whoever does work in a loop spends them first, and gives the answer that assumes the least
/// once there are none.
#[derive(Debug)]
pub(crate) struct Budget {
    left: Cell<usize>,
    exceeded: Cell<bool>,
    #[cfg(test)]
    granted: usize,
}

impl Budget {
    pub(crate) fn of(steps: usize) -> Self {
        Self {
            left: Cell::new(steps),
            exceeded: Cell::new(false),
            #[cfg(test)]
            granted: steps,
        }
    }

    /// Takes steps; false, from then on, when there are not enough.
    pub(crate) fn spend(&self, steps: usize) -> bool {
        match self.left.get().checked_sub(steps) {
            Some(left) if !self.exceeded.get() => self.left.set(left),
            _ => self.exceeded.set(true),
        }
        !self.exceeded.get()
    }

    /// Notes that something is beyond another limit.
    pub(crate) fn exceed(&self) {
        self.exceeded.set(true);
    }

    pub(crate) fn is_exceeded(&self) -> bool {
        self.exceeded.get()
    }

    #[cfg(test)]
    pub(crate) fn spent(&self) -> usize {
        self.granted - self.left.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_that_is_exceeded_stays_so() {
        let budget = Budget::of(10);
        assert!(budget.spend(4) && budget.spend(6) && !budget.is_exceeded());
        assert!(!budget.spend(1) && !budget.spend(0) && budget.is_exceeded());
        assert_eq!(budget.spent(), 10);
    }
}
