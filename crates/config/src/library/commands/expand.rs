//! A template and arguments become a prompt with slots for what commands say.
//! The template is cut into pieces before anything is put in: an argument never becomes a command, and the output of a
//! command never becomes a mention.

use std::ops::Range;

use super::CustomCommand;
use zdx_protocol::mentions::{Mention, MentionAuthor, mentions_in, trimmed};

const LONGEST: usize = 1024 * 1024;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpandError {
    #[error("/{0} with these arguments is longer than 1 MiB; pass a file's name instead of its text")]
    TooLong(String),
}

/// A place in the text that the output of a command goes into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OutputSlot {
    at: usize,
    /// What to run, arguments put in; goes through the guard like any other command.
    pub command: String,
}

/// What a slash command was expanded to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpandedCommand {
    /// Without the slots' content.
    text: String,
    slots: Vec<OutputSlot>,
    /// Parts of the text that the user typed.
    typed: Vec<Range<usize>>,
    /// Of the rest of it.
    template: MentionAuthor,
    /// How many commands stay text because the project is not trusted.
    pub withheld: usize,
    pub agent: Option<String>,
    pub model: Option<String>,
}

impl ExpandedCommand {
    /// The commands to run, in order.
    pub fn shells(&self) -> impl Iterator<Item = &str> {
        self.slots.iter().map(|slot| slot.command.as_str())
    }

    /// The prompt. `outputs` stand in for the commands in order; where there is none, the command stays as it was written.
    pub fn fill(&self, outputs: &[String]) -> String {
        let mut filled =
            String::with_capacity(self.text.len() + outputs.iter().map(String::len).sum::<usize>());
        let mut from = 0;
        for (n, slot) in self.slots.iter().enumerate() {
            filled.push_str(&self.text[from..slot.at]);
            match outputs.get(n) {
                Some(output) => filled.push_str(output),
                None => filled.push_str(&as_written(&slot.command)),
            }
            from = slot.at;
        }
        filled.push_str(&self.text[from..]);
        filled
    }

    /// Files that the text mentions, each with whose word it is: what a project's file mentions is not what the user
    /// typed, but his arguments are.
    pub fn mentions(&self) -> Vec<Mention> {
        let mut mentions = mentions_in(&self.text);
        for mention in &mut mentions {
            // Punctuation of the template's may follow.
            let end = mention.name.start + trimmed(&self.text[mention.name.clone()]).len();
            let typed = self.typed.iter().any(|part| part.start <= mention.name.start && end <= part.end);
            mention.author = if typed { MentionAuthor::User } else { self.template };
        }
        mentions
    }
}

fn as_written(command: &str) -> String {
    format!("!`{command}`")
}

enum TemplatePiece<'a> {
    Text(&'a str),
    Shell(&'a str),
}

/// The commands in a template, each with where it begins.
pub(super) fn shells(template: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    pieces(template).into_iter().filter_map(move |piece| {
        let start = at;
        match piece {
            TemplatePiece::Text(text) => {
                at += text.len();
                None
            }
            TemplatePiece::Shell(command) => {
                at += command.len() + "!``".len();
                Some((start, command))
            }
        }
    })
}

/// `` !`cmd` `` on one line, not directly after a letter or digit.
fn pieces(template: &str) -> Vec<TemplatePiece<'_>> {
    let mut pieces = Vec::new();
    let mut from = 0;
    let mut search = 0;
    while let Some(found) = template[search..].find("!`") {
        let at = search + found;
        search = at + 2;
        if template[..at].chars().next_back().is_some_and(char::is_alphanumeric) {
            continue;
        }
        let rest = &template[search..];
        let Some(end) = rest.find(['`', '\n']).filter(|end| rest[*end..].starts_with('`')) else { continue };
        if rest[..end].trim().is_empty() {
            continue;
        }
        pieces.push(TemplatePiece::Text(&template[from..at]));
        pieces.push(TemplatePiece::Shell(&rest[..end]));
        search += end + 1;
        from = search;
    }
    pieces.push(TemplatePiece::Text(&template[from..]));
    pieces
}

pub(super) fn expand(command: &CustomCommand, arguments: &str) -> Result<ExpandedCommand, ExpandError> {
    let arguments = arguments.trim();
    let only_text = !command.scope.may_grant();
    let mut filler = TemplateFiller { arguments, words: words(arguments), placeholders: 0, longest: LONGEST };
    let mut expanded = ExpandedCommand {
        text: String::new(),
        slots: Vec::new(),
        typed: Vec::new(),
        template: if only_text { MentionAuthor::File } else { MentionAuthor::User },
        withheld: 0,
        agent: command.agent.clone(),
        model: command.model.clone().filter(|_| !only_text),
    };
    let too_long = |()| ExpandError::TooLong(command.name.clone());
    for piece in pieces(&command.template) {
        match piece {
            TemplatePiece::Text(text) => {
                filler.fill(text, &mut expanded.text, &mut expanded.typed).map_err(too_long)?;
            }
            TemplatePiece::Shell(text) => {
                let mut line = String::new();
                filler.fill(text, &mut line, &mut Vec::new()).map_err(too_long)?;
                if only_text {
                    expanded.withheld += 1;
                    expanded.text.push_str(&as_written(&line));
                } else {
                    expanded.slots.push(OutputSlot { at: expanded.text.len(), command: line });
                }
            }
        }
    }
    if filler.placeholders == 0 && !arguments.is_empty() {
        if !expanded.text.is_empty() {
            expanded.text.push_str("\n\n");
        }
        filler.put(arguments, &mut expanded.text, &mut expanded.typed).map_err(too_long)?;
    }
    Ok(expanded)
}

struct TemplateFiller<'a> {
    arguments: &'a str,
    words: Vec<String>,
    placeholders: usize,
    /// What may still be written, over all pieces.
    longest: usize,
}

impl TemplateFiller<'_> {
    fn fill(&mut self, text: &str, out: &mut String, typed: &mut Vec<Range<usize>>) -> Result<(), ()> {
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            self.spend(at)?;
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let digits = rest[1..].bytes().take_while(u8::is_ascii_digit).count();
            if let Some(after) = rest.strip_prefix("$ARGUMENTS") {
                self.placeholders += 1;
                self.put(self.arguments, out, typed)?;
                rest = after;
            } else if (1..=2).contains(&digits) && !rest[1..].starts_with('0') {
                self.placeholders += 1;
                // A missing one is empty.
                let number: usize = rest[1..=digits].parse().unwrap_or(usize::MAX);
                let word = self.words.get(number.saturating_sub(1)).cloned().unwrap_or_default();
                self.put(&word, out, typed)?;
                rest = &rest[1 + digits..];
            } else {
                out.push('$');
                rest = &rest[1..];
            }
        }
        self.spend(rest.len())?;
        out.push_str(rest);
        Ok(())
    }

    fn put(&mut self, typed: &str, out: &mut String, ranges: &mut Vec<Range<usize>>) -> Result<(), ()> {
        self.spend(typed.len())?;
        ranges.push(out.len()..out.len() + typed.len());
        out.push_str(typed);
        Ok(())
    }

    fn spend(&mut self, bytes: usize) -> Result<(), ()> {
        self.longest = self.longest.checked_sub(bytes).ok_or(())?;
        Ok(())
    }
}

/// As a shell would split them: quotes hold words together, a backslash takes the next character as it is. A quote that
/// never closes is an apostrophe.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' | '"' if closes(&text[at + 1..], c) => {
                let word = word.get_or_insert_default();
                while let Some((_, inner)) = chars.next() {
                    match inner {
                        inner if inner == c => break,
                        '\\' if c == '"' => word.extend(chars.next().map(|(_, escaped)| escaped)),
                        inner => word.push(inner),
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(chars.next().map(|(_, escaped)| escaped)),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

fn closes(rest: &str, quote: char) -> bool {
    let mut chars = rest.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' if quote == '"' => {
                chars.next();
            }
            c if c == quote => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn arguments_are_split_as_a_shell_would() {
        for (text, expected) in [
            ("", vec![]),
            ("a  b", vec!["a", "b"]),
            ("'a b' \"c d\"e", vec!["a b", "c de"]),
            (r#"a\ b "x\"y" 'z\'"#, vec!["a b", "x\"y", "z\\"]),
            ("don't break", vec!["don't", "break"]),
            ("'' x", vec!["", "x"]),
            ("über straße", vec!["über", "straße"]),
            ("end\\", vec!["end"]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }
}
