//! Parses a typed line: a prompt with its mentions, a shell command, a slash command, or a choice of agent. One parser for
//! every place that reads typed text or markdown with mentions; it opens no file.

use std::ops::Range;

use crate::image::IMAGE_ENDINGS;

const LONGEST_PATH: usize = 4096;

/// One line, or pasted lines, as the user sent them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypedInput {
    Empty,
    /// The text goes to the model as it is; mentioned files go before it.
    Prompt {
        text: String,
        mentions: Vec<Mention>,
    },
    /// `!cmd` or `@!cmd`.
    Shell(String),
    /// `/name args`; arguments as typed. Whether there is such a command is for the caller to say.
    Command {
        name: String,
        args: String,
    },
    /// `@agent:name` and nothing else.
    Agent(String),
}

/// Reason why a line cannot be carried out.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypedInputError {
    #[error("there is no command after `!`; type one, as in `!ls`")]
    EmptyShell,
}

/// The author of a text with mentions; decides which files it may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MentionAuthor {
    User,
    /// A file that came with the project: it may mention the project's own files only.
    File,
}

/// A mention in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// The whole of it in the text, `@` included.
    pub span: Range<usize>,
    /// Only the name in it.
    pub name: Range<usize>,
    pub what: MentionTarget,
    pub author: MentionAuthor,
}

/// The thing that a mention names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MentionTarget {
    Path {
        path: String,
        form: MentionForm,
    },
    /// Never fetched.
    Link(String),
    Agent(String),
}

/// The way in which a path was mentioned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MentionForm {
    /// `@path`: only counts when there is such a file, else it is ordinary text; worth a word if it looks like one.
    Bare,
    /// `@file:path`: its absence is worth a word.
    Named,
    /// A path without `@`, as it is typed when a picture is pasted or dragged into a terminal: only counts when there is
    /// such an image.
    Dropped,
}

pub fn parse(line: &str) -> Result<TypedInput, TypedInputError> {
    let text = line.trim();
    if text.is_empty() {
        return Ok(TypedInput::Empty);
    }
    if let Some(command) = text.strip_prefix('!').or_else(|| text.strip_prefix("@!")) {
        let command = command.trim();
        return if command.is_empty() {
            Err(TypedInputError::EmptyShell)
        } else {
            Ok(TypedInput::Shell(command.to_owned()))
        };
    }
    if let Some((name, args)) = slash(text) {
        return Ok(TypedInput::Command { name: name.to_owned(), args: args.trim().to_owned() });
    }
    let mut mentions = mentions_in(text);
    mentions.extend(dropped_images(text));
    match mentions.as_slice() {
        [Mention { span, what: MentionTarget::Agent(name), .. }] if *span == (0..text.len()) => {
            Ok(TypedInput::Agent(name.clone()))
        }
        _ => Ok(TypedInput::Prompt { text: text.to_owned(), mentions }),
    }
}

/// `/name` and what follows; a path such as `/usr/bin` is no command.
fn slash(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix('/')?;
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (name, args) = rest.split_at(end);
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ':' | '.');
    let fits = name.starts_with(char::is_alphanumeric) && name.chars().all(plain);
    fits.then_some((name, args))
}

/// Everything that may be a mention, in order, none of it in code. All are taken for the user's words.
pub fn mentions_in(text: &str) -> Vec<Mention> {
    let mut mentions = Vec::new();
    let mut fenced = false;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let fence = line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
        if fence {
            fenced = !fenced;
        } else if !fenced {
            in_line(text, start..start + line.len(), &mut mentions);
        }
        start += line.len();
    }
    mentions
}

fn in_line(text: &str, line: Range<usize>, mentions: &mut Vec<Mention>) {
    let mut at = line.start;
    while let Some(found) = text[at..line.end].find(['@', '`']) {
        at += found;
        let rest = &text[at + 1..line.end];
        if text[at..].starts_with('`') {
            // To the end of the code span, if it is one.
            at += 1 + rest.find('`').map_or(0, |end| end + 1);
            continue;
        }
        let mention = may_start(&text[..at]).then(|| mention(text, at, line.end)).flatten();
        at = mention.as_ref().map_or(at + 1, |mention| mention.span.end);
        mentions.extend(mention);
    }
}

/// Whether `@` after this text begins a word: not in an address, not in code such as `a@b`.
pub fn may_start(before: &str) -> bool {
    match before.chars().next_back() {
        None => true,
        // Not every script puts blanks between words.
        Some(c) => {
            c.is_whitespace() || !c.is_ascii() || matches!(c, '(' | '[' | '{' | '"' | '\'' | ',' | ';')
        }
    }
}

/// The path that a text consists of, if it is one of an image as terminals write it.
pub fn dropped_image(text: &str) -> Option<String> {
    let text = text.trim();
    match dropped_images(text).as_slice() {
        [Mention { span, what: MentionTarget::Path { path, .. }, .. }] if *span == (0..text.len()) => {
            Some(path.clone())
        }
        _ => None,
    }
}

/// Absolute paths of images that stand in a text as terminals write them: bare, in quotes, or with blanks escaped.
fn dropped_images(text: &str) -> Vec<Mention> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(|c: char| !c.is_whitespace()).map(|skip| at + skip) {
        let (path, length) = dropped_word(&text[start..]);
        let is_absolute = path.starts_with('/') || path.starts_with("~/");
        let ending = path.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        if is_absolute
            && path.len() <= LONGEST_PATH
            && ending.is_some_and(|ending| IMAGE_ENDINGS.contains(&ending.as_str()))
        {
            let what = MentionTarget::Path { path, form: MentionForm::Dropped };
            found.push(Mention {
                span: start..start + length,
                ..Mention::new(start, start..start + length, what)
            });
        }
        at = start + length;
    }
    found
}

/// The first word of a text as a shell would read it, and its length in the text.
fn dropped_word(text: &str) -> (String, usize) {
    if let Some(quote) = text.chars().next().filter(|c| matches!(c, '\'' | '"'))
        && let Some((inside, _)) = text[1..].split_once(quote).filter(|(inside, _)| !inside.contains('\n'))
    {
        return (inside.to_owned(), inside.len() + 2);
    }
    let mut path = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            c if c.is_whitespace() => return (path, at),
            '\\' => path.extend(chars.next().map(|(_, c)| c)),
            c => path.push(c),
        }
    }
    (path, text.len())
}

fn mention(text: &str, at: usize, end: usize) -> Option<Mention> {
    let rest = &text[at + 1..end];
    if rest.starts_with("https://") || rest.starts_with("http://") {
        let link = trimmed(word(rest));
        return Some(Mention::new(at, at + 1..at + 1 + link.len(), MentionTarget::Link(link.to_owned())));
    }
    if let Some(after) = rest.strip_prefix("agent:") {
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
        let name = after.find(|c| !plain(c)).map_or(after, |end| &after[..end]).trim_end_matches('.');
        let from = at + 1 + "agent:".len();
        let mention = Mention::new(at, from..from + name.len(), MentionTarget::Agent(name.to_owned()));
        return (!name.is_empty()).then_some(mention);
    }
    let (form, from) = match rest.starts_with("file:") {
        true => (MentionForm::Named, at + 1 + "file:".len()),
        false => (MentionForm::Bare, at + 1),
    };
    let rest = &text[from..end];
    if let Some(quoted) = rest.strip_prefix('"') {
        let (path, length) = unquoted(quoted)?;
        let name = from + 1..from + 1 + length;
        let mention = Mention::new(at, name, MentionTarget::Path { path, form });
        return Some(Mention { span: at..mention.name.end + 1, ..mention });
    }
    let path = word(rest);
    let says_something = path.chars().any(|c| !matches!(c, '.')) && path.len() <= LONGEST_PATH;
    let mention =
        Mention::new(at, from..from + path.len(), MentionTarget::Path { path: path.to_owned(), form });
    says_something.then_some(mention)
}

impl Mention {
    fn new(at: usize, name: Range<usize>, what: MentionTarget) -> Self {
        Self { span: at..name.end, name, what, author: MentionAuthor::User }
    }
}

fn word(text: &str) -> &str {
    let end = text.find(|c: char| c.is_whitespace() || c.is_control() || c == '`').unwrap_or(text.len());
    &text[..end]
}

/// Without the punctuation that belongs to the sentence around it.
pub fn trimmed(word: &str) -> &str {
    word.trim_end_matches([
        '.', ',', ';', ':', '!', '?', ')', ']', '}', '>', '"', '\'', '，', '。', '、', '；', '：', '！',
        '？', '）', '】', '」', '』', '”', '’',
    ])
}

/// Up to the closing quote; also how many bytes that took.
fn unquoted(text: &str) -> Option<(String, usize)> {
    let mut path = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (!path.is_empty() && path.len() <= LONGEST_PATH).then_some((path, at)),
            '\n' => return None,
            '\\' => path.push(chars.next()?.1),
            c => path.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests;
