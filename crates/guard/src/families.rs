//! Commands that may be granted by their first words, "every `cargo test …`": programs that do the one thing their
//! subcommand says, with the code of the workspace. Data, and the comparison of words with it.
//!
//! Not here, and so never granted wider than word for word: interpreters, shells, wrappers, whatever talks to the network or
//! fetches what it runs. Nor is any option but those listed: what chooses another program, configuration or folder, or
//! writes to a file, is asked about by itself.

/// A program and the ways in which it may be granted.
struct Family {
    program: &'static str,
    /// The words behind it that belong to the grant; [`NAME`] stands for any one plain word, nothing for none.
    starts: &'static [&'static str],
    /// Further words may follow: files, filters, names. Where they would be more things to do, none may.
    operands: bool,
    /// Alone, with digits or with `=value` behind; what goes to a test binary behind `--` is measured by the same list.
    options: &'static str,
    /// Project files that say what it runs, in the folder it runs in and those above it: a grant holds until one of them
    /// changes. The first is the one that everybody knows.
    manifests: &'static [&'static str],
}

/// Of a script or a target.
const NAME: &str = "NAME";

const FAMILIES: &[Family] = &[
    Family {
        program: "cargo",
        starts: &["test", "check", "build", "clippy", "fmt", "doc", "nextest run"],
        operands: true,
        options: "-p --package --workspace --all --exclude --lib --bin --bins --test --tests --example --examples \
                  --bench --benches --doc --all-targets --features -F --all-features --no-default-features --release \
                  -r --profile --cargo-profile -j --jobs --keep-going --no-fail-fast --no-run --no-deps \
                  --document-private-items --offline --locked --frozen -q --quiet -v -vv --verbose \
                  --color --message-format --check --retries --test-threads --nocapture --no-capture --show-output \
                  --ignored --include-ignored --exact --skip --list --format -D -W -A",
        manifests: &[
            "Cargo.toml",
            "build.rs",
            ".cargo/config.toml",
            ".cargo/config",
            ".config/nextest.toml",
            "rust-toolchain.toml",
            "rust-toolchain",
            "clippy.toml",
        ],
    },
    Family {
        program: "go",
        starts: &["test", "build", "vet"],
        operands: true,
        options: GO,
        manifests: &["go.mod", "go.work"],
    },
    Family {
        program: "npm",
        starts: &["test", "run NAME"],
        operands: true,
        options: "-s --silent --if-present --run --watch --watchAll --coverage --verbose --ci -t --testNamePattern --bail",
        manifests: SCRIPT_FILES,
    },
    Family {
        program: "pnpm",
        starts: &["test", "run NAME"],
        operands: true,
        options: SCRIPTS,
        manifests: SCRIPT_FILES,
    },
    // `yarn run` runs any program there is a name for, `node` too.
    Family { program: "yarn", starts: &["test"], operands: true, options: SCRIPTS, manifests: SCRIPT_FILES },
    Family {
        program: "make",
        starts: &[NAME],
        operands: false,
        options: "-j --jobs -k --keep-going -s --silent -B --always-make -n --dry-run",
        manifests: &["Makefile", "makefile", "GNUmakefile"],
    },
    Family {
        program: "pytest",
        starts: &[""],
        operands: true,
        options: "-q -qq -v -vv -x -k -m -s -l -n -ra -rA -rs -rx --quiet --verbose --exitfirst --maxfail --lf --ff \
                  --last-failed --failed-first --tb --durations --no-header --no-summary --collect-only --co \
                  --showlocals --color --disable-warnings --stepwise --sw --cov",
        manifests: &["pyproject.toml", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", "conftest.py"],
    },
    Family {
        program: "git",
        starts: &["add"],
        operands: true,
        options: "-A --all -u --update -v --verbose -n --dry-run -N --intent-to-add",
        manifests: &[".gitattributes"],
    },
    Family {
        program: "git",
        starts: &["commit"],
        operands: true,
        options: "-m --message -a --all -am -q --quiet -s --signoff -v --verbose --allow-empty",
        manifests: HOOK_FILES,
    },
];

const SCRIPT_FILES: &[&str] =
    &["package.json", ".npmrc", "pnpm-workspace.yaml", ".pnpmfile.cjs", ".yarnrc", ".yarnrc.yml"];
/// A commit runs the hooks that these name; the hooks themselves lie in protected folders.
const HOOK_FILES: &[&str] =
    &[".pre-commit-config.yaml", "lefthook.yml", ".lefthook.yml", "lefthook.yaml", ".gitattributes"];
const SCRIPTS: &str =
    "-s --silent --run --watch --watchAll --coverage --verbose --ci -t --testNamePattern --bail";
const GO: &str = "-run -v -count -race -cover -short -timeout -bench -benchmem -benchtime -failfast -json -tags -parallel \
                  -cpu -shuffle -skip -list -p -n -x";

/// The first words of a command that may be granted with any words like the rest of it, and the project files on which
/// the grant depends; nothing where they may not.
pub(crate) fn family(argv: &[String]) -> Option<(String, &'static [&'static str])> {
    FAMILIES.iter().find_map(|family| {
        let (program, behind) = argv.split_first().filter(|(program, _)| *program == family.program)?;
        let (start, rest) = family.starts.iter().find_map(|start| begins(start, behind))?;
        let words = std::iter::once(program).chain(start).map(String::as_str).collect::<Vec<_>>();
        rest.iter().all(|word| family.covers(word)).then(|| (words.join(" "), family.manifests))
    })
}

/// The words that match, and the rest.
fn begins<'a>(start: &str, words: &'a [String]) -> Option<(&'a [String], &'a [String])> {
    let wanted: Vec<&str> = start.split_whitespace().collect();
    let (first, rest) = words.split_at_checked(wanted.len())?;
    let same = |(wanted, word): (&&str, &String)| match *wanted {
        NAME => is_name(word),
        wanted => word == wanted,
    };
    wanted.iter().zip(first).all(same).then_some((first, rest))
}

/// No option, no assignment, and nothing that would read otherwise where the grant is listed.
fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "_-.:/".contains(c))
}

impl Family {
    fn covers(&self, word: &str) -> bool {
        if word == "--" {
            return true;
        }
        // `@file`: more words, which nobody sees.
        if !word.starts_with('-') {
            return self.operands && !word.starts_with('@');
        }
        let name = word.split_once('=').map_or(word, |(name, _)| name);
        let known = |name: &str| self.options.split_whitespace().any(|option| option == name);
        // `-j8`
        known(name) || (name.starts_with("-j") && known(name.trim_end_matches(|c: char| c.is_ascii_digit())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(command: &str) -> Option<String> {
        family(&command.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).map(|(words, _)| words)
    }

    #[test]
    fn a_family_is_named_by_program_and_subcommand() {
        for (command, expected) in [
            ("cargo test", "cargo test"),
            ("cargo test --lib parser -j8 -- --nocapture", "cargo test"),
            ("cargo nextest run -p guard", "cargo nextest run"),
            ("cargo clippy --all-targets -- -D warnings", "cargo clippy"),
            ("npm run lint:css", "npm run lint:css"),
            ("npm test -- src/a.test.js", "npm test"),
            ("go test ./... -run=TestA -count=1", "go test"),
            ("make -j4", ""),
            ("make test -j4", "make test"),
            ("pytest -q tests/a.py::test_b", "pytest"),
            ("git commit -am message", "git commit"),
        ] {
            assert_eq!(of(command).as_deref().unwrap_or(""), expected, "{command}");
        }
    }

    #[test]
    fn what_chooses_programs_folders_or_files_belongs_to_no_family() {
        for command in [
            "cargo",
            "cargo testament",
            "cargo run",
            "cargo install x",
            "cargo nextest",
            "cargo nextest archive",
            "cargo +nightly test",
            "cargo -C /x test",
            "cargo --config a.b=c test",
            "cargo test --config a.b=c",
            "cargo test --target-dir x",
            "cargo test --manifest-path x/Cargo.toml",
            "npm test -w x",
            "cargo test -Zunstable",
            "cargo test -- --logfile=x",
            "cargo clippy --fix",
            "cargo fmt -- --config-path x",
            "go test -exec x ./...",
            "go build -o x",
            "go vet -vettool=x",
            "go run .",
            "npm install",
            "npm run",
            "npm run --prefix=x lint",
            "npm test --prefix x",
            "npm exec x",
            "npx jest",
            "make -f x test",
            "make test CC=x",
            "make test deploy",
            "make CC=x",
            "make test -C x",
            "pytest -p x",
            "pytest -c x",
            "pytest @more",
            "yarn run node",
            "pytest --basetemp=src",
            "git push",
            "git commit --amend",
            "git commit --no-verify -m x",
            "git -c a.b=c commit -m x",
            "git add -f x",
            "python -m pytest",
            "sh -c x",
            "env cargo test",
            "./cargo test",
        ] {
            assert_eq!(of(command), None, "{command}");
        }
    }

    #[test]
    fn no_row_says_what_no_command_could() {
        for family in FAMILIES {
            for start in family.starts {
                assert!(start.split_whitespace().all(|word| word == NAME || is_name(word)), "{start}");
            }
            assert!(family.options.split_whitespace().all(|option| option.starts_with('-')));
            assert!(!family.manifests.is_empty(), "{}", family.program);
            assert!(!family.manifests.iter().any(|name| name.contains([',', ' ', '#'])));
        }
    }
}
