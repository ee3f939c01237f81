//! What calls that are told in one line are about, as far as there is room: programs, files, patterns.

use super::call::Call;

/// What commands are counted in.
pub(super) const COMMAND: &str = "command";

/// What they do is said by their second word.
const WITH_VERBS: [&str; 16] = [
    "apt",
    "brew",
    "bundle",
    "cargo",
    "docker",
    "gh",
    "git",
    "go",
    "kubectl",
    "npm",
    "pip",
    "pip3",
    "pnpm",
    "systemctl",
    "uv",
    "yarn",
];

/// `· cargo test, src/a.rs`; empty where nothing has a name.
pub(super) fn of(calls: &[&Call]) -> String {
    let names = distinct(calls);
    if names.is_empty() { String::new() } else { format!("· {}", names.join(", ")) }
}

/// Each once, in order.
pub(super) fn distinct(calls: &[&Call]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in calls.iter().filter_map(|call| name(call)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn name(call: &Call) -> Option<String> {
    let (verb, counted) = call.only_read()?;
    let subject = call.title.about();
    match counted {
        COMMAND => program(subject),
        _ => {
            let about = subject.strip_prefix(verb).filter(|rest| rest.starts_with(' ')).unwrap_or(subject);
            match place(about.trim()) {
                "." | "./" => Some("the project folder".to_owned()),
                place => Some(place.to_owned()),
            }
        }
    }
}

/// Two parts of one file are one file.
fn place(subject: &str) -> &str {
    match subject.rsplit_once(':') {
        Some((path, line)) if line.bytes().all(|byte| byte.is_ascii_digit()) => path,
        Some(_) | None => subject,
    }
}

/// `cargo test` of `cd web && RUST_LOG=debug /usr/bin/cargo test -q`, `cat` of `if [ -e a ]; then cat a; fi`: the first
/// program that a line runs, whatever the shell itself does around it.
fn program(line: &str) -> Option<String> {
    line.split([';', '&', '|', '\n', '⏎']).find_map(simple)
}

fn simple(command: &str) -> Option<String> {
    let is_set = |word: &str| {
        word.split_once('=').is_some_and(|(name, _)| {
            name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && !name.is_empty()
        })
    };
    let leads = |word: &&str| {
        is_set(word)
            || matches!(
                *word,
                "!" | "time"
                    | "if"
                    | "then"
                    | "elif"
                    | "else"
                    | "while"
                    | "until"
                    | "do"
                    | "{"
                    | "("
                    | "command"
                    | "exec"
            )
    };
    let mut words = command.split_whitespace().map(|word| word.trim_start_matches('(')).skip_while(leads);
    let name = words.next()?.trim_end_matches(')');
    let name = name.rsplit('/').find(|part| !part.is_empty())?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.+".contains(&byte);
    let of_shell = matches!(
        name,
        "for"
            | "case"
            | "select"
            | "function"
            | "in"
            | "fi"
            | "done"
            | "esac"
            | "cd"
            | "test"
            | "set"
            | "export"
    );
    if of_shell || !name.bytes().all(is_name) || !name.bytes().any(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let mut verb = words.next();
    while let Some(option) = verb.filter(|word| word.starts_with('-')) {
        // These have a value behind them.
        verb = words.nth(usize::from(matches!(option, "-C" | "-c")));
    }
    let verb = verb.map(|verb| verb.trim_end_matches(')'));
    let is_verb =
        |verb: &&str| !verb.is_empty() && verb.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    match verb.filter(|verb| WITH_VERBS.contains(&name) && is_verb(verb)) {
        Some(verb) => Some(format!("{name} {verb}")),
        None => Some(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_named_by_the_first_program_it_runs() {
        for (line, name) in [
            ("cd web && RUST_LOG=debug /usr/bin/cargo test -q", Some("cargo test")),
            ("time ls -l", Some("ls")),
            ("! grep -q x a", Some("grep")),
            ("if [ -e a ]; then cat a; fi", Some("cat")),
            ("[ -d src ] && ls src", Some("ls")),
            ("for f in *.rs; do wc -l $f; done", Some("wc")),
            ("test -e a || echo none", Some("echo")),
            ("(git log --oneline | head)", Some("git log")),
            ("git status", Some("git status")),
            ("git -C x --no-pager log -3", Some("git log")),
            ("git 'log'", Some("git")),
            ("cd web ⏎ make", Some("make")),
            ("[ -e a ]", None),
            ("cd web", None),
        ] {
            assert_eq!(program(line).as_deref(), name, "{line}");
        }
    }
}
