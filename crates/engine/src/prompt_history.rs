//! The file that keeps typed lines across restarts: JSON objects, one a line, shared by every zdx that runs. The caller
//! redacts a line before it is written. A damaged line is skipped, and nothing waits for the file.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use zdx_protocol::prompt_history::{LONG, LONGEST, MOST, MOST_LONG};

use zdx_workspace::own_files::ensure_dir;

/// The file is made small again when it holds so many lines more than are kept, or so much.
const SLACK: usize = 200;
const MOST_BYTES: u64 = 8 << 20;
/// Of what is not long.
const MOST_SHORT: usize = 2 << 20;
/// How a file begins that rustyline wrote, as zdx once did.
const OLD: &str = "#V2";

#[derive(Clone, Debug)]
pub struct PromptHistory {
    path: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    text: String,
    /// When it was typed, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time: Option<Timestamp>,
}

impl PromptHistory {
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Oldest first, at most [`MOST`]. Blocks on the disk; without a file there is nothing.
    pub fn load(&self) -> Vec<String> {
        let entries = File::open(&self.path).and_then(|file| read(&file)).unwrap_or_default();
        newest(entries).into_iter().map(|entry| entry.text).collect()
    }

    /// Writes a line, unless it is empty, too long, begins with a blank or repeats the last one.
    pub(crate) fn append(&self, text: &str, now: Timestamp) -> io::Result<()> {
        if text.trim().is_empty() || text.len() > LONGEST || text.starts_with(' ') {
            return Ok(());
        }
        self.path.parent().map_or(Ok(()), ensure_dir)?;
        let mut file = self.locked()?;
        let entries = read(&file)?;
        if entries.last().is_some_and(|last| last.text == text) {
            return Ok(());
        }
        let entry = Entry { text: text.to_owned(), time: Some(now) };
        let size = file.metadata()?.len();
        if entries.len() >= MOST + SLACK || size > MOST_BYTES || is_old(&mut file)? {
            let entries: Vec<Entry> = entries.into_iter().chain([entry]).collect();
            return self.rewrite(&newest(entries));
        }
        let mut line = line(&entry)?;
        // A line that was broken off must not swallow this one.
        if size > 0 && !ends_a_line(&mut file)? {
            line.insert(0, '\n');
        }
        file.write_all(line.as_bytes())
    }

    /// The file, for nobody else until it is closed.
    fn locked(&self) -> io::Result<File> {
        loop {
            let file =
                OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(&self.path)?;
            flock(&file, FlockOperation::LockExclusive)?;
            // Another zdx may have put a smaller one in its place meanwhile.
            let same = std::fs::metadata(&self.path).is_ok_and(|now| {
                file.metadata().is_ok_and(|ours| now.ino() == ours.ino() && now.dev() == ours.dev())
            });
            if same {
                return Ok(file);
            }
        }
    }

    /// Whole or not at all. Called with the lock held.
    fn rewrite(&self, entries: &[Entry]) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        // Made with 0600.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        let lines = entries.iter().map(line).collect::<io::Result<String>>()?;
        file.write_all(lines.as_bytes())?;
        file.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}

fn line(entry: &Entry) -> io::Result<String> {
    Ok(serde_json::to_string(entry)? + "\n")
}

/// Those that are kept, by number and by size.
fn newest(entries: Vec<Entry>) -> Vec<Entry> {
    let (mut short, mut long) = (0, 0);
    let fits = |entry: &Entry| {
        let (bytes, most) =
            if entry.text.len() > LONG { (&mut long, MOST_LONG) } else { (&mut short, MOST_SHORT) };
        *bytes += entry.text.len();
        *bytes <= most
    };
    let mut kept: Vec<Entry> = entries.into_iter().rev().filter(fits).take(MOST).collect();
    kept.reverse();
    kept
}

/// What can be read of it; of a file that is far too large, the end.
fn read(mut file: &File) -> io::Result<Vec<Entry>> {
    let skipped = file.metadata()?.len().saturating_sub(2 * MOST_BYTES);
    file.seek(SeekFrom::Start(skipped))?;
    let mut bytes = Vec::new();
    file.take(2 * MOST_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines();
    if text.starts_with(OLD) {
        lines.next();
        return Ok(lines.map(old).collect());
    }
    Ok(lines.filter_map(|line| serde_json::from_str(line).ok()).collect())
}

/// A line as rustyline wrote it.
fn old(line: &str) -> Entry {
    let mut text = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (c, if c == '\\' { chars.next() } else { None }) {
            ('\\', Some('n')) => text.push('\n'),
            ('\\', Some('\\') | None) => text.push('\\'),
            ('\\', Some(other)) => text.extend(['\\', other]),
            (c, _) => text.push(c),
        }
    }
    Entry { text, time: None }
}

fn is_old(file: &mut File) -> io::Result<bool> {
    file.seek(SeekFrom::Start(0))?;
    let mut head = [0; OLD.len()];
    let read = file.read(&mut head)?;
    Ok(&head[..read] == OLD.as_bytes())
}

fn ends_a_line(file: &mut File) -> io::Result<bool> {
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn desk() -> (tempfile::TempDir, PromptHistory) {
        let dir = tempfile::tempdir().unwrap();
        let file = PromptHistory::new(dir.path().join("history"));
        (dir, file)
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn lines_are_kept_in_order_and_for_the_owner_alone() {
        let (_dir, file) = desk();
        assert_eq!(file.load(), Vec::<String>::new());
        assert!(!file.path.exists());
        for text in ["one", "two\nlines", "two\nlines", " secret", "", "三"] {
            file.append(text, at(5)).unwrap();
        }
        file.append(&"x".repeat(LONGEST + 1), at(5)).unwrap();
        assert_eq!(file.load(), ["one", "two\nlines", "三"]);
        let written = std::fs::read_to_string(&file.path).unwrap();
        assert_eq!(written.lines().next(), Some(r#"{"text":"one","time":"1970-01-01T00:00:05Z"}"#));
        assert_eq!(std::fs::metadata(&file.path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn what_is_damaged_is_skipped_and_swallows_nothing() {
        let (_dir, file) = desk();
        std::fs::write(&file.path, b"{\"text\":\"good\"}\n\xff\xfe\nnonsense\n{\"text\":\"bro").unwrap();
        file.append("next", at(1)).unwrap();
        assert_eq!(file.load(), ["good", "next"]);
    }

    #[test]
    fn what_rustyline_wrote_is_read_and_then_rewritten() {
        let (_dir, file) = desk();
        std::fs::write(&file.path, "#V2\nold\\nlines\nc:\\\\x\n").unwrap();
        assert_eq!(file.load(), ["old\nlines", "c:\\x"]);
        file.append("new", at(1)).unwrap();
        assert_eq!(file.load(), ["old\nlines", "c:\\x", "new"]);
        let written = std::fs::read_to_string(&file.path).unwrap();
        assert!(written.starts_with("{\"text\":\"old\\nlines\"}\n"), "{written}");
    }

    #[test]
    fn the_file_is_bounded() {
        let (_dir, file) = desk();
        let lines: String = (0..MOST + SLACK).map(|n| format!("{{\"text\":\"{n}\"}}\n")).collect();
        std::fs::write(&file.path, lines).unwrap();
        file.append("last", at(1)).unwrap();
        let written = std::fs::read_to_string(&file.path).unwrap();
        assert_eq!((written.lines().count(), file.load().last().unwrap().as_str()), (MOST, "last"));
        // By size, too.
        let line = format!("{{\"text\":\"{}\"}}\n", "y".repeat(LONG));
        std::fs::write(&file.path, line.repeat(600)).unwrap();
        file.append("small", at(1)).unwrap();
        assert!(std::fs::metadata(&file.path).unwrap().len() < MOST_BYTES / 2);
        // Long ones push out each other, never the rest.
        for n in 0..9 {
            file.append(&format!("{n}{}", "y".repeat(LONGEST - 1)), at(1)).unwrap();
        }
        assert!(std::fs::metadata(&file.path).unwrap().len() <= MOST_BYTES + (LONGEST as u64) + 100);
        let kept = file.load();
        let long: Vec<&str> = kept.iter().filter(|text| text.len() > LONG).map(|text| &text[..1]).collect();
        assert_eq!((long, kept.contains(&"small".to_owned())), (vec!["7", "8"], true));
        assert_eq!(std::fs::metadata(&file.path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn several_write_at_once_and_nothing_is_lost() {
        let (_dir, file) = desk();
        // So many that it is rewritten on the way.
        let lines: String = (0..MOST + SLACK - 50).map(|n| format!("{{\"text\":\"old {n}\"}}\n")).collect();
        std::fs::write(&file.path, lines).unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let file = &file;
                scope.spawn(move || {
                    (0..50).for_each(|n| file.append(&format!("{writer} {n}"), at(n)).unwrap())
                });
            }
        });
        let kept = file.load();
        for writer in 0..4 {
            let own: Vec<&String> =
                kept.iter().filter(|text| text.starts_with(&format!("{writer} "))).collect();
            assert_eq!(own.len(), 50);
        }
    }
}
