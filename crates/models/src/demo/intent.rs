//! The few sentences the demo knows. Anything else means: look around.

#[derive(Debug, PartialEq)]
pub(super) enum Intent {
    Look,
    Read { path: String },
    Write { path: String, content: String },
    Run { command: String },
}

pub(super) fn of(prompt: &str) -> Intent {
    let line = prompt.trim().lines().next().unwrap_or_default().trim();
    let line = ["please ", "can you ", "could you "]
        .iter()
        .fold(line, |line, word| after(line, word).unwrap_or(line));
    if let Some(command) = first_of(line, &["run ", "execute ", "$ "]) {
        let command = command.trim().trim_matches(['`', '"']).trim();
        if !command.is_empty() {
            return Intent::Run { command: command.to_owned() };
        }
    }
    if let Some(rest) = first_of(line, &["write ", "create ", "make ", "save ", "add "])
        && let Some(intent) = writing(rest)
    {
        return intent;
    }
    match line.split_whitespace().find_map(file_name) {
        Some(path) => Intent::Read { path: path.to_owned() },
        None => Intent::Look,
    }
}

/// `X with TEXT`, `a file X`, `TEXT to X`.
fn writing(rest: &str) -> Option<Intent> {
    for joint in [" with ", " containing ", " saying ", ": "] {
        if let Some((target, text)) = split_once(rest, joint)
            && let Some(path) = target_name(target)
        {
            let text =
                first_of(text, &["the text ", "the content ", "the words ", "content "]).unwrap_or(text);
            return Some(write(path, text));
        }
    }
    for joint in [" to ", " into "] {
        if let Some((text, target)) = split_once(rest, joint)
            && let Some(path) = target_name(target)
        {
            return Some(write(path, text));
        }
    }
    target_name(rest).map(|path| write(path, "hello from zdx"))
}

fn write(path: &str, text: &str) -> Intent {
    let text = text.trim().trim_matches(['"', '\'', '`']);
    Intent::Write { path: path.to_owned(), content: format!("{text}\n") }
}

/// The file meant by words like `a file named notes`.
fn target_name(words: &str) -> Option<&str> {
    let named = || {
        let mut words =
            words.split_whitespace().skip_while(|word| !matches!(*word, "file" | "named" | "called"));
        words
            .find(|word| !matches!(*word, "file" | "named" | "called"))
            .map(bare)
            .filter(|name| is_path(name))
    };
    words.split_whitespace().find_map(file_name).or_else(named)
}

/// A word that can only be a file: it has an ending, or folders before it.
fn file_name(word: &str) -> Option<&str> {
    let word = bare(word);
    let (stem, ending) = word.rsplit_once('.')?;
    let real = !stem.is_empty()
        && (1..=8).contains(&ending.len())
        && ending.bytes().all(|b| b.is_ascii_alphanumeric());
    let a_number = word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    (real && !a_number && is_path(word)).then_some(word)
}

fn is_path(word: &str) -> bool {
    !word.is_empty() && !word.contains("://") && !word.chars().any(char::is_control)
}

fn bare(word: &str) -> &str {
    word.trim_matches(['"', '\'', '`', ',', ';', ':', '?', '!', '(', ')', '@']).trim_end_matches('.')
}

fn first_of<'a>(text: &'a str, openings: &[&str]) -> Option<&'a str> {
    openings.iter().find_map(|opening| after(text, opening))
}

/// What follows `opening`, in whatever case it is written.
fn after<'a>(text: &'a str, opening: &str) -> Option<&'a str> {
    let head = text.get(..opening.len())?;
    head.eq_ignore_ascii_case(opening).then(|| &text[opening.len()..])
}

fn split_once<'a>(text: &'a str, joint: &str) -> Option<(&'a str, &'a str)> {
    let at = text.to_ascii_lowercase().find(joint)?;
    Some((&text[..at], &text[at + joint.len()..]))
}
