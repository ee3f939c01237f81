//! One markdown file with YAML front matter: its fields, its body, and what was wrong with it.
//! Patient with what people really write, and never silent about what could not be read.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::yaml::{YamlEntry, YamlFault, table};
use crate::trust::ContentHash;
use zdx_workspace::workspace::{FileError, Workspace};

mod repair;

/// A file that is longer is no instruction, it is a book.
pub const LARGEST_FILE: u64 = 256 * 1024;
const LARGEST_FRONT: usize = 64 * 1024;

/// Why a file, or a field of it, cannot be used. Reads as `path:line: what to do`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct LibraryError {
    /// `path:line`, `path`, or the configuration key.
    pub place: String,
    pub message: String,
}

/// The fields of a front matter, or of a table in configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrontMatterFields {
    /// What a message calls the whole: a path, or a configuration key.
    place: String,
    entries: Vec<YamlEntry>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct MarkdownDocument {
    pub path: PathBuf,
    pub fields: FrontMatterFields,
    /// What follows the front matter, without blank lines around it.
    pub body: String,
    /// The line of the file that the body begins on, counted from 1.
    pub body_line: usize,
    /// Of the very bytes that all this was read from.
    pub digest: ContentHash,
    /// The front matter is damaged; `fields` holds what could be read of it all the same.
    pub fault: Option<LibraryError>,
}

impl MarkdownDocument {
    /// A file in `folder`, whatever links lead to it now.
    pub fn read(folder: &Workspace, path: &Path) -> Result<Self, LibraryError> {
        let refused = |message: String| LibraryError { place: path.display().to_string(), message };
        let target = folder.locate(path).map_err(|error| refused(plainly(&error)))?;
        if !target.inside {
            let outside = folder.root().display();
            return Err(refused(format!("it is a link that leads out of {outside}")));
        }
        let bytes = folder.read_file(&target, LARGEST_FILE).map_err(|error| refused(plainly(&error)))?;
        if bytes.contains(&0) {
            return Err(refused("it is not a text file".to_owned()));
        }
        match std::str::from_utf8(&bytes) {
            Ok(text) => Ok(Self::parse(path, text)),
            Err(error) => {
                let line = 1 + bytes[..error.valid_up_to()].iter().filter(|&&b| b == b'\n').count();
                let place = format!("{}:{line}", path.display());
                Err(LibraryError { place, message: "it is not UTF-8; save it as UTF-8".to_owned() })
            }
        }
    }

    pub fn parse(path: &Path, text: &str) -> Self {
        let digest = ContentHash::of(text.as_bytes());
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
        let place = path.display().to_string();
        let (entries, fault, body) = match split(&text) {
            FrontMatterSplit::Absent => (Vec::new(), None, text.as_str()),
            FrontMatterSplit::Unclosed => {
                let fault =
                    YamlFault { line: 1, message: "the front matter has no closing `---`".to_owned() };
                (Vec::new(), Some(fault), text.as_str())
            }
            FrontMatterSplit::Found { front, body } => {
                let (entries, fault) = entries(front);
                (entries, fault, body)
            }
        };
        let fault = fault
            .map(|fault| LibraryError { place: format!("{place}:{}", fault.line), message: fault.message });
        let trimmed = body.trim_start_matches('\n');
        let before = &text[..text.len() - trimmed.len()];
        Self {
            path: path.to_owned(),
            fields: FrontMatterFields { place, entries },
            body: trimmed.trim_end().to_owned(),
            body_line: 1 + before.matches('\n').count(),
            digest,
            fault,
        }
    }
}

enum FrontMatterSplit<'a> {
    Absent,
    /// The first line opens a front matter that never ends.
    Unclosed,
    Found {
        front: &'a str,
        body: &'a str,
    },
}

fn split(text: &str) -> FrontMatterSplit<'_> {
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else {
        return FrontMatterSplit::Absent;
    };
    let mut at = first.len();
    for line in lines {
        if matches!(line.trim_end(), "---" | "...") {
            return FrontMatterSplit::Found { front: &text[first.len()..at], body: &text[at + line.len()..] };
        }
        at += line.len();
    }
    FrontMatterSplit::Unclosed
}

/// As written, else with the usual slips repaired, else what can be read key by key.
fn entries(front: &str) -> (Vec<YamlEntry>, Option<YamlFault>) {
    let below_the_fence = |mut fault: YamlFault| {
        fault.line += 1;
        fault
    };
    if front.len() > LARGEST_FRONT {
        let message = "the front matter is longer than 64 KiB; move text into the body".to_owned();
        return (Vec::new(), Some(YamlFault { line: 1, message }));
    }
    let (mut entries, fault) = match table(front) {
        Ok(entries) => (entries, None),
        Err(fault) => match repair::quoted(front) {
            Some(entries) => (entries, None),
            None => (repair::salvaged(front), Some(below_the_fence(fault))),
        },
    };
    for entry in &mut entries {
        entry.line = entry.line.map(|line| line + 1);
    }
    (entries, fault)
}

impl FrontMatterFields {
    /// A table of configuration; `place` is what messages call it.
    pub fn from_config(place: impl Into<String>, table: &Map<String, Value>) -> Self {
        let entry = |(key, value): (&String, &Value)| YamlEntry {
            key: key.clone(),
            value: value.clone(),
            line: None,
        };
        Self { place: place.into(), entries: table.iter().map(entry).collect() }
    }

    /// The first of these spellings that is there and not null. Case, `_` and `-` make no difference.
    pub fn get(&self, spellings: &[&str]) -> Option<&Value> {
        self.entry(spellings).map(|entry| &entry.value)
    }

    fn entry(&self, spellings: &[&str]) -> Option<&YamlEntry> {
        let plain = |text: &str| text.to_ascii_lowercase().replace(['_', '-'], "");
        let by = |wanted: &&str| {
            self.entries.iter().find(|entry| !entry.value.is_null() && plain(&entry.key) == plain(wanted))
        };
        spellings.iter().find_map(by)
    }

    /// Text that says something; a number or a flag counts as its text.
    pub fn text(&self, spellings: &[&str]) -> Option<String> {
        let text = match self.get(spellings)? {
            Value::String(text) => text.trim().to_owned(),
            Value::Number(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        (!text.is_empty()).then_some(text)
    }

    /// False when absent.
    pub fn flag(&self, spellings: &[&str]) -> Result<bool, LibraryError> {
        let Some(entry) = self.entry(spellings) else { return Ok(false) };
        let word = match &entry.value {
            Value::Bool(flag) => return Ok(*flag),
            Value::String(word) => word.trim().to_ascii_lowercase(),
            Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => String::new(),
        };
        match word.as_str() {
            "true" | "yes" | "on" => Ok(true),
            "false" | "no" | "off" => Ok(false),
            _ => Err(self.wrong(entry, "must be true or false")),
        }
    }

    pub fn number(&self, spellings: &[&str], range: (f64, f64)) -> Result<Option<f64>, LibraryError> {
        let Some(entry) = self.entry(spellings) else { return Ok(None) };
        let number = match &entry.value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        match number.filter(|number| (range.0..=range.1).contains(number)) {
            Some(number) => Ok(Some(number)),
            None => Err(self.wrong(entry, &format!("must be a number from {} to {}", range.0, range.1))),
        }
    }

    /// A whole number of at least 1.
    pub fn count(&self, spellings: &[&str]) -> Result<Option<u32>, LibraryError> {
        let Some(number) = self.number(spellings, (f64::MIN, f64::MAX))? else { return Ok(None) };
        match u32::try_from(number as i64) {
            Ok(count @ 1..) if number.fract() == 0.0 => Ok(Some(count)),
            Ok(_) | Err(_) => Err(self.error(spellings, "must be a whole number of at least 1")),
        }
    }

    /// Where a field is in its file.
    pub fn line(&self, spellings: &[&str]) -> Option<usize> {
        self.entry(spellings)?.line
    }

    /// An error about a field, naming its line where it has one.
    pub fn error(&self, spellings: &[&str], what: &str) -> LibraryError {
        match self.entry(spellings) {
            Some(entry) => self.wrong(entry, what),
            None => LibraryError { place: self.place.clone(), message: what.to_owned() },
        }
    }

    fn wrong(&self, entry: &YamlEntry, what: &str) -> LibraryError {
        let place = match entry.line {
            Some(line) => format!("{}:{line}", self.place),
            None => self.place.clone(),
        };
        LibraryError { place, message: format!("`{}` {what}", entry.key) }
    }
}

/// The first paragraph of a text that is prose, on one line; a heading when there is nothing else.
pub fn first_paragraph(body: &str) -> Option<String> {
    let prose = |block: &&str| {
        let block = block.trim();
        !block.is_empty() && !block.starts_with("<!--") && !block.starts_with("```") && !is_rule(block)
    };
    let blocks: Vec<String> = body.split("\n\n").filter(prose).take(50).map(without_headings).collect();
    let found = blocks.into_iter().find(|block| !block.is_empty());
    let heading =
        || body.lines().map(|line| line.trim_start_matches('#').trim()).find(|line| !line.is_empty());
    found.or_else(|| heading().map(str::to_owned))
}

fn is_rule(block: &str) -> bool {
    block.chars().all(|c| matches!(c, '-' | '*' | '_' | '=' | ' '))
}

fn without_headings(block: &str) -> String {
    let lines = block.lines().filter(|line| !line.trim_start().starts_with('#'));
    lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

fn plainly(error: &FileError) -> String {
    match error {
        FileError::TooLarge { .. } => "it is longer than 256 KiB; shorten it".to_owned(),
        error => format!("it cannot be read: {error}"),
    }
}

#[cfg(test)]
mod tests;
