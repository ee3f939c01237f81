//! Reads from its text what a command line does: every command in it, what each would touch, and what
//! cannot be known. Decides nothing; `judge` weighs the concerns named here.
//!
//! `syntax` reads the text into a tree, `walk` visits every command in it and knows where it would run and what feeds it,
//! `programs` says what each does with its words.

mod named;
mod programs;
pub(crate) mod syntax;
mod walk;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use zdx_protocol::ReasonCode;

use super::files::FileView;
use super::limits::{Budget, MAX_CONCERNS, MAX_STEPS};
use syntax::text;

pub use named::{NamedWords, named_words};
pub(crate) use programs::says::says;
pub(crate) use syntax::normal::normalise;
pub use walk::selects_helper;

/// Where the command would run.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    pub root: &'a Path,
    /// zdx's own folder.
    pub own: Option<&'a Path>,
    /// Folders outside that count like the root.
    pub added: &'a [&'a Path],
    pub cwd: &'a Path,
    pub home: Option<&'a str>,
    /// The variables that the command would start with.
    pub env: &'a BTreeMap<String, String>,
    pub files: &'a dyn FileView,
}

/// Something about a part that a rule alone would not tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Concern {
    /// Never for a model.
    Forbidden { why: String },
    /// A person's word every time.
    Confirm { code: ReasonCode, why: String },
    /// Touches a path outside the workspace.
    Outside { path: PathBuf, write: bool },
    /// Keeps an allowing pattern from covering the part.
    Ask { why: String },
    /// Changes what agents are told, which is at least asked about.
    Instructions,
}

/// One simple command of the script, or one construct that has an effect of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    pub text: String,
    /// The ways to read its words: itself without transparent wrappers first, then the outer forms.
    pub views: Vec<Vec<String>>,
    /// An allowing pattern may cover it: its words are literal and nothing is hidden in it.
    pub plain: bool,
    pub proof: Proof,
    /// The folder it runs in, where that is certain.
    pub folder: Option<PathBuf>,
    pub concerns: Vec<Concern>,
}

/// Whether a part can be shown to only read, inside the workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Proof {
    /// Nobody said so yet.
    #[default]
    Missing,
    Reads,
    /// Something in it may do more.
    Broken,
}

impl Part {
    fn of(text: impl Into<String>) -> Self {
        Self { text: text.into(), plain: true, ..Self::default() }
    }

    fn confirm(&mut self, code: ReasonCode, why: impl Into<String>) {
        self.add(Concern::Confirm { code, why: why.into() });
    }

    fn ask(&mut self, why: impl Into<String>) {
        self.add(Concern::Ask { why: why.into() });
    }

    fn forbid(&mut self, why: impl Into<String>) {
        self.add(Concern::Forbidden { why: why.into() });
    }

    /// It reads, unless something else is found in it.
    fn affirm(&mut self) {
        if self.proof == Proof::Missing {
            self.proof = Proof::Reads;
        }
    }

    /// It cannot be shown to only read.
    fn doubt(&mut self) {
        self.proof = Proof::Broken;
    }

    fn add(&mut self, concern: Concern) {
        let forbids = matches!(concern, Concern::Forbidden { .. });
        match self.concerns.len() {
            _ if self.concerns.contains(&concern) => {}
            // What forbids counts however much else there is; of all the rest there is enough.
            count if count < MAX_CONCERNS || (forbids && count < 2 * MAX_CONCERNS) => {
                self.concerns.push(concern);
            }
            _ => {
                self.proof = Proof::Broken;
                let why = "it does more than can be judged".to_owned();
                let too_much = Concern::Confirm { code: ReasonCode::TooLarge, why };
                if !self.concerns.contains(&too_much) {
                    self.concerns.push(too_much);
                }
            }
        }
    }
}

/// A command line as far as it can be read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inspection {
    /// The fault of the text as such, if it has one.
    pub raw: Option<text::Raw>,
    pub parts: Vec<Part>,
}

impl Inspection {
    /// Each part of it is proven to only read; nothing is proven of a text that could not be read.
    pub(crate) fn only_reads(&self) -> bool {
        let reads = |concern: &Concern| match concern {
            Concern::Outside { write, .. } => !write,
            Concern::Ask { .. } => true,
            Concern::Forbidden { .. } | Concern::Confirm { .. } | Concern::Instructions => false,
        };
        let proven = |part: &Part| part.proof == Proof::Reads && part.concerns.iter().all(reads);
        self.raw.is_none() && !self.parts.is_empty() && self.parts.iter().all(proven)
    }
}

/// Reads a command line. Text that is too long or no text at all has no parts; anything else has all of them,
/// hidden characters or not: they must not hide what is worse.
pub(crate) fn inspect(command: &str, around: &Surroundings<'_>) -> Inspection {
    inspect_within(command, around, &Budget::of(MAX_STEPS))
}

fn inspect_within(command: &str, around: &Surroundings<'_>, budget: &Budget) -> Inspection {
    let raw = text::check(command);
    if matches!(raw, Some(text::Raw::Nul | text::Raw::TooLong)) {
        return Inspection { raw, ..Inspection::default() };
    }
    let (mut facts, listings) = (walk::Facts::default(), walk::Listings::default());
    let (mut parts, mut found) = walk::Walker::new(around, &facts, &listings, budget).script(command);
    // Aliases, functions and changes of folder reach back and forth: what the first reading found is known to
    // the second, and a script may define them in text that only the second reads.
    for _ in 0..3 {
        if found == facts || budget.is_exceeded() {
            break;
        }
        facts = found;
        let again = walk::Walker::new(around, &facts, &listings, budget).script(command);
        found = again.1;
        // A reading that was not finished takes nothing back.
        if !budget.is_exceeded() {
            parts.clear();
        }
        parts.extend(again.0);
    }
    Inspection { raw, parts }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::MapView;

    fn steps(command: &str) -> usize {
        let (files, env) = (MapView::default(), BTreeMap::new());
        let (root, home) = (Path::new("/w"), Some("/home/me"));
        let around = Surroundings { root, own: None, added: &[], cwd: root, home, env: &env, files: &files };
        let budget = Budget::of(MAX_STEPS);
        inspect_within(command, &around, &budget);
        budget.spent()
    }

    /// The limits are far from what people write.
    #[test]
    fn everyday_commands_take_few_steps() {
        let tables =
            [include_str!("../../tests/cases/everyday.tsv"), include_str!("../../tests/cases/verdicts.tsv")];
        let commands =
            tables.iter().flat_map(|table| table.lines().filter_map(|line| line.rsplit_once('\t')));
        for (_, command) in commands {
            let taken = steps(&command.replace("\\n", "\n"));
            assert!(taken < MAX_STEPS / 4, "{taken} steps: {command}");
        }
        let file = "x = '$(ls)' `a`\n".repeat(3_500);
        let script = format!("cat > x.py <<'E'\n{file}E\npython3 x.py");
        assert!(steps(&script) < MAX_STEPS / 4, "{}", steps(&script));
    }

    #[test]
    fn no_command_takes_more_steps_than_there_are() {
        let doubled = format!("a=xx; {}", "a=$a$a; ".repeat(30));
        let globs = format!("cat {}", "*/".repeat(8_000));
        let nested = format!("{}[[ a ]];{}", "for i in 1 2 3 4; do ".repeat(23), " done;".repeat(23));
        let holes = format!("a=('{}'); touch {}", "x".repeat(30_000), "$x".repeat(15_000));
        for command in [doubled, globs, nested, holes] {
            assert!(steps(&command) <= MAX_STEPS, "{}", command.chars().take(40).collect::<String>());
        }
    }
}
