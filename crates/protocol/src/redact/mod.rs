//! Keeps secrets out of what zdx writes: logs, session files, mirrors.
//! Masks known values and what has the shape of a token; never decides what is written.

mod assigned;
mod codes;
mod inside;
mod live;
mod shapes;
mod starts;
mod stream;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::{Map, Value};

use assigned::is_filler;
use codes::{Codes, Piece};
pub use live::LiveMask;
use shapes::Shapes;
use starts::Starts;
pub use stream::RedactStream;

pub const MASK: &str = "[redacted]";

/// Shorter values stand in too much harmless text.
const SHORTEST_SECRET: usize = 8;

#[derive(Debug, thiserror::Error)]
#[error("too many secrets to look for at once: {0}")]
pub struct RedactError(#[from] aho_corasick::BuildError);

pub struct Redactor {
    known: AhoCorasick,
    known_starts: Starts,
    shapes: Shapes,
}

/// Without the values: they must not reach a log this way either.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("known", &self.known.patterns_len()).finish()
    }
}

impl Redactor {
    /// `secrets` are values that must not be written anywhere: keys of the environment, values of a `.env`.
    pub fn new<S: AsRef<str>>(secrets: impl IntoIterator<Item = S>) -> Result<Self, RedactError> {
        let mut known: Vec<String> = Vec::new();
        for secret in secrets {
            let secret = secret.as_ref().trim();
            if secret.len() >= SHORTEST_SECRET {
                known.push(secret.to_owned());
                known.extend(disguises(secret));
            }
        }
        known.sort_unstable();
        known.dedup();
        let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&known)?;
        Ok(Self { known: automaton, known_starts: Starts::new(known), shapes: Shapes::new()? })
    }

    /// Borrowed when there is nothing to mask. A line of JSON stays JSON, but [`Redactor::redact_value`] sees
    /// through its escapes. Colours do not hide a secret.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let known = mask(text, self.known.find_iter(text).map(|found| found.range()));
        let masked = match known {
            Cow::Borrowed(text) => mask(text, self.shapes.find_iter(text, |_| false)),
            Cow::Owned(text) => {
                let masked = mask(&text, self.shapes.find_iter(&text, |_| false)).into_owned();
                Cow::Owned(masked)
            }
        };
        match Codes::begin_in(&masked).then(|| self.redact_seen(&masked)).flatten() {
            Some(seen) => Cow::Owned(seen),
            None => masked,
        }
    }

    /// Text as a terminal shows it; none when there is nothing to mask.
    fn redact_seen(&self, text: &str) -> Option<String> {
        let seen = Codes::default().part(text);
        let known: Vec<_> = self.known.find_iter(&seen.text).map(|found| found.range()).collect();
        let masked = !known.is_empty();
        let seen = seen.mask(known);
        let shaped: Vec<_> = self.shapes.find_iter(&seen.text, |at| seen.coded(at)).collect();
        (masked || !shaped.is_empty()).then(|| seen.mask(shaped).weave())
    }

    /// Masks every string in a JSON value, keys of objects too. Says whether anything was masked.
    pub fn redact_value(&self, value: &mut Value) -> bool {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
            Value::String(text) => match self.redact(text) {
                Cow::Borrowed(_) => false,
                Cow::Owned(masked) => {
                    *text = masked;
                    true
                }
            },
            Value::Array(items) => self.redact_all(items.iter_mut()),
            Value::Object(fields) => {
                let keys = self.redact_keys(fields);
                self.redact_all(fields.values_mut()) || keys
            }
        }
    }

    /// Where the secret, or the colour, begins that lies on both sides of `at`, if there is one.
    fn secret_across(&self, text: &str, at: usize) -> Option<usize> {
        let plain = self.across(&Piece::from(text.to_owned()), at);
        if !Codes::begin_in(text) {
            return plain;
        }
        let seen = Codes::default().part(text);
        let code = seen.woven_codes().find(|code| code.start < at && at < code.end);
        plain.into_iter().chain(self.across(&seen, at)).chain(code.map(|code| code.start)).min()
    }

    fn across(&self, seen: &Piece, at: usize) -> Option<usize> {
        let known = self.known.find_iter(&seen.text).map(|found| seen.woven(found.range()));
        // Shapes are found anew after each other's end, so they are looked for on their own.
        let shaped = self.shapes.find_iter(&seen.text, |at| seen.coded(at)).map(|range| seen.woven(range));
        let before = |range: &Range<usize>| range.start < at;
        let found = known.take_while(before).chain(shaped.take_while(before));
        found.filter(|range| range.end > at).map(|range| range.start).min()
    }

    fn redact_all<'a>(&self, values: impl Iterator<Item = &'a mut Value>) -> bool {
        values.filter_map(|value| self.redact_value(value).then_some(())).count() > 0
    }

    fn redact_keys(&self, fields: &mut Map<String, Value>) -> bool {
        if !fields.keys().any(|key| matches!(self.redact(key), Cow::Owned(_))) {
            return false;
        }
        let mut masked = Map::with_capacity(fields.len());
        for (key, value) in std::mem::take(fields) {
            let mut name = self.redact(&key).into_owned();
            // Two keys may look the same once masked; neither value is lost for it.
            while masked.contains_key(&name) {
                name.push('_');
            }
            masked.insert(name, value);
        }
        *fields = masked;
        true
    }
}

/// The values of a `.env` that are worth keeping out of files. What every project says there is no secret.
pub fn dotenv_secrets(text: &str) -> Vec<String> {
    text.lines()
        .filter_map(dotenv_entry)
        .filter(|(name, value)| names_secret_value(name, value) || (is_secret(value) && !is_wordlike(value)))
        .map(|(_, value)| value.to_owned())
        .collect()
}

fn dotenv_entry(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let (name, value) = line.strip_prefix("export ").unwrap_or(line).split_once('=')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    let name = name.trim();
    if !name.chars().all(is_name) {
        return None;
    }
    let value = value.trim();
    let value = match value.chars().next()? {
        quote @ ('"' | '\'' | '`') => value[1..].split(quote).next(),
        _ => value.split(" #").next().map(str::trim_end),
    };
    value.map(|value| (name, value))
}

/// Whether a variable of this name holds a secret, as far as names tell.
pub fn names_secret(name: &str) -> bool {
    const WORDS: [&str; 10] = [
        "KEY",
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "PASSPHRASE",
        "PASS",
        "CREDENTIAL",
        "CREDENTIALS",
        "AUTH",
    ];
    let name = name.to_ascii_uppercase();
    // `GIT_AUTHOR_NAME` is none, `npm_config_authToken` is one.
    name.split(['_', '-', '.']).any(|word| {
        let word = word.strip_suffix('S').unwrap_or(word);
        WORDS.contains(&word) || ["KEY", "TOKEN", "SECRET", "PASSWORD"].iter().any(|end| word.ends_with(end))
    })
}

/// Whether a variable of this name and value holds a secret. How to authenticate (`AUTH_TYPE=internal`) is none.
pub fn names_secret_value(name: &str, value: &str) -> bool {
    let manner = || {
        let name = name.to_ascii_uppercase();
        !names_secret(
            &name.split(['_', '-', '.']).filter(|word| *word != "AUTH").collect::<Vec<_>>().join("_"),
        )
    };
    names_secret(name) && is_secret(value) && !(is_wordlike(value) && manner())
}

/// Whether a value may be a secret at all: a path, a number or an address without password is none.
pub fn is_secret(value: &str) -> bool {
    const WORDS: [&str; 7] =
        ["development", "production", "localhost", "127.0.0.1", "disabled", "postgres", "memory"];
    let starts = |starts: &[&str]| starts.iter().any(|start| value.starts_with(start));
    let commonplace = value.len() < SHORTEST_SECRET
        || is_filler(value)
        || WORDS.contains(&value)
        || starts(&["$", "/", "./", "../", "~/"])
        || (starts(&["http://", "https://", "redis://", "postgres://"]) && !value.contains(['@', '?']))
        || value.chars().all(|c| c.is_ascii_digit() || c == '.' || c == ':');
    !commonplace
}

/// A name of a service, a region, a database: masked, they would blind a model to half of a project.
fn is_wordlike(value: &str) -> bool {
    const LONGEST: usize = 15;
    let one_word = value.len() <= 24 && value.chars().all(|c| c.is_ascii_lowercase());
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.');
    one_word || (value.len() <= LONGEST && value.chars().all(plain))
}

/// Other spellings of one value: inside JSON text, inside a URL.
fn disguises(secret: &str) -> Vec<String> {
    let json = Value::from(secret).to_string();
    let percent = secret.bytes().fold(String::new(), |mut out, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(byte.into()),
            _ => _ = write!(out, "%{byte:02X}"),
        }
        out
    });
    vec![json[1..json.len() - 1].to_owned(), percent]
}

fn mask(text: &str, found: impl Iterator<Item = Range<usize>>) -> Cow<'_, str> {
    let mut found = found.peekable();
    if found.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for range in found {
        out.push_str(&text[at..range.start]);
        out.push_str(MASK);
        at = range.end;
    }
    out.push_str(&text[at..]);
    Cow::Owned(out)
}
