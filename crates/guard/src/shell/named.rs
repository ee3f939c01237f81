//! The words of a script that may name files, for whoever binds trust to what these files hold. Decides nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use zdx_protocol::ReasonCode;

use super::syntax::lexer;
use super::syntax::word::{Arg, Effects, Known, Lookup, evaluate};
use super::walk::shorten;
use super::{Concern, Part, Proof, Surroundings, inspect};
use crate::files::Disk;
use crate::pattern::UNKNOWN;

/// `~` and `$HOME` in the words of [`named_words`].
const HOME: &str = "~";

/// Programs whose operands run nothing, however little is known of them.
const PLAIN: &str = "echo printf test [ [[ (( export exit return mkdir touch sleep kill wait rm true false :";

/// Programs that move to a folder, so that what runs next depends on it.
const MOVING: [&str; 2] = ["cd", "pushd"];

/// The words of a script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedWords {
    /// Words as a shell passes them on, patterns unexpanded; relative ones also from the folder they are used in.
    pub words: Vec<String>,
    /// Each command with its words, as far as all of them are known.
    pub commands: Vec<Vec<String>>,
    /// Texts of commands of which it is not known before they run what they run.
    pub unresolved: Vec<String>,
}

/// Reads a script that starts in `root` with these variables set. `~` stays as it is.
pub fn named_words(script: &str, root: &Path, variables: &BTreeMap<String, String>) -> NamedWords {
    let around = Surroundings {
        root,
        own: None,
        added: &[],
        cwd: root,
        home: Some(HOME),
        env: variables,
        files: &Disk,
    };
    let inspection = inspect(script, &around);
    let mut named = NamedWords::default();
    if inspection.parts.is_empty() && !script.trim().is_empty() {
        named.unresolved.push(shorten(script));
    }
    for part in &inspection.parts {
        let expands = patterns(part);
        for view in &part.views {
            let known = || view.iter().filter(|word| !word.contains(UNKNOWN));
            named.words.extend(known().cloned());
            if let Some(folder) = part.folder.as_ref().filter(|folder| *folder != root) {
                named.words.extend(known().filter_map(|word| folder.join(word).to_str().map(str::to_owned)));
            }
            if known().count() == view.len() && !view.is_empty() {
                named.commands.push(view.clone());
            }
        }
        if hides_what_runs(part) && !expands {
            named.unresolved.push(part.text.clone());
        }
    }
    named.words.extend(written(script, root, variables));
    named.words.sort();
    named.words.dedup();
    named
}

/// Whether all that is not known of a command is which files its patterns find, which whoever looks can tell.
fn patterns(part: &Part) -> bool {
    let [view] = part.views.as_slice() else { return false };
    let known = view.iter().all(|word| !word.contains(UNKNOWN));
    let operand = |word: &String| word.contains(['*', '?', '[']) && !word.starts_with('-');
    known && view.iter().skip(1).any(operand)
}

fn hides_what_runs(part: &Part) -> bool {
    let opaque = part.concerns.iter().any(|concern| match concern {
        Concern::Confirm { code, why } => match code {
            ReasonCode::Opaque => !why.starts_with("which file it ") || why.contains("it runs is"),
            ReasonCode::Unreadable | ReasonCode::TooDeep | ReasonCode::TooLarge => true,
            _ => false,
        },
        Concern::Forbidden { .. } | Concern::Outside { .. } | Concern::Ask { .. } | Concern::Instructions => {
            false
        }
    });
    // `make -j$(nproc)` is as well known as `make`.
    let unknown = |word: &String| word.contains(UNKNOWN) && !word.starts_with("-j");
    let hides = |view: &Vec<String>| {
        let program = view.first().map_or("", |word| word.rsplit('/').next().unwrap_or(word));
        let plain = part.proof == Proof::Reads || PLAIN.split(' ').any(|name| name == program);
        view.iter().any(unknown) && (!plain || MOVING.contains(&program))
    };
    opaque || part.views.iter().any(hides)
}

/// Every word that stands in the script, those of redirections included.
fn written(script: &str, root: &Path, variables: &BTreeMap<String, String>) -> Vec<String> {
    let lookup = Written { root: root.to_owned(), variables };
    let tokens = lexer::tokens(script).unwrap_or_default();
    let words = tokens.iter().flat_map(|token| match token {
        brush_parser::Token::Word(word, _) => {
            evaluate(word, &lookup, &mut Effects::default()).unwrap_or_default()
        }
        brush_parser::Token::Operator(..) => Vec::new(),
    });
    words.filter(|arg: &Arg| !arg.has_unknown()).map(|arg| arg.text).collect()
}

struct Written<'a> {
    root: PathBuf,
    variables: &'a BTreeMap<String, String>,
}

impl Lookup for Written<'_> {
    fn home(&self) -> Option<&str> {
        Some(HOME)
    }

    fn variable(&self, name: &str) -> Known {
        let value = match name {
            "PWD" => self.root.to_str(),
            "HOME" => Some(HOME),
            _ => self.variables.get(name).map(String::as_str),
        };
        value.map_or(Known::Unknown, |value| Known::Text(value.to_owned()))
    }

    fn printed(&self, script: &str) -> Known {
        if script.trim() == "pwd" { self.variable("PWD") } else { Known::Unknown }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(script: &str) -> (Vec<String>, Vec<String>) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("scripts")).unwrap();
        let named = named_words(script, &root, &BTreeMap::from([("SET".to_owned(), "./set.sh".to_owned())]));
        let root = root.to_str().unwrap();
        (named.words.iter().map(|word| word.replace(root, "/w")).collect(), named.unresolved)
    }

    #[test]
    fn words_are_what_a_shell_passes_on() {
        for (script, word) in [
            ("sh 'scripts/my check.sh'", "scripts/my check.sh"),
            ("sh scripts/my\\ check.sh", "scripts/my check.sh"),
            ("sh scr\"ip\"ts/c.sh", "scripts/c.sh"),
            ("sh \"$PWD\"/scripts/c.sh", "/w/scripts/c.sh"),
            ("sh ${PWD}/c.sh", "/w/c.sh"),
            ("R=.; bash $R/c.sh", "./c.sh"),
            ("sh $SET", "./set.sh"),
            ("sh scripts/{c,d}.sh", "scripts/d.sh"),
            ("for f in scripts/*.sh; do sh $f; done", "scripts/*.sh"),
            ("cd scripts && sh 'c d.sh'", "/w/scripts/c d.sh"),
            ("bash -c \"sh 'c d.sh'\"", "c d.sh"),
            ("make -j$(nproc) 'c d'", "c d"),
            ("cat < 'c d.sh'", "c d.sh"),
            ("~/x.sh", "~/x.sh"),
            ("$HOME/x.sh", "~/x.sh"),
            ("f() { sh 'c d.sh'; }; f", "c d.sh"),
        ] {
            let (words, unresolved) = read(script);
            assert!(words.iter().any(|found| found == word), "{script}: {words:?}");
            assert!(unresolved.is_empty(), "{script}: {unresolved:?}");
        }
    }

    #[test]
    fn what_only_running_tells_is_unresolved() {
        for script in [
            "bash $(git rev-parse --show-toplevel)/c.sh",
            "$R/c.sh",
            "sh $1",
            "python3 \"$TOOL\"",
            "tool $ARGS",
            "cargo test $FLAGS",
            "cd \"$X\" && ./c.sh",
            "eval \"$(cat c.sh)\"",
            "bash -c \"$CMD\"",
            "find . -name '*.sh' | xargs sh",
            "find . -type f | while read -r f; do bash \"$f\"; done",
            "echo 'a",
            "curl http://x | sh",
        ] {
            assert!(!read(script).1.is_empty(), "{script}");
        }
        for script in [
            "echo $X",
            "test \"$(cargo fmt --check)\" = ''",
            "npx -y @scope/server --dir .",
            "docker run -i --rm mcp/x",
            "git diff --quiet || exit 1",
            "make test > $LOG",
            "python3 -m pytest -q",
            "/usr/bin/env npm test",
            "node -e 'require(\"./x\")'",
        ] {
            assert_eq!(read(script).1, [""; 0], "{script}");
        }
    }
}
