//! Files beside a session that keep whole what a model is shown in part, up to a limit for all of them together.
//! Decides nothing about what is too long.

use std::borrow::Cow;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{Mode, OFlags};
use zdx_protocol::query::SpilledOutput;

use super::text::{after_cut, before_cut, decode};

/// Limit on all spilled outputs of a session together. What is there stays, since the conversation names it; once it is
/// reached nothing more is spilled.
const SESSION_LIMIT: u64 = 512 << 20;
/// Bytes of a spilled output that a front end is given: of a longer one its beginning and its end.
const SHOWN_HEAD: u64 = 64 << 20;
const SHOWN_TAIL: u64 = 1 << 20;
/// `read` goes by lines: a longer one could only be seen whole or not at all.
const LONGEST_LINE: usize = 1_000;
/// What such a line is broken into, between words where it has any.
const BROKEN_LINE: usize = 200;

/// The name of a file for one stream or text of a call or turn.
pub fn name(id: &str, what: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' };
    let mut id: String = id.chars().take(64).map(plain).collect();
    if id.is_empty() {
        id.push_str("call");
    }
    format!("{id}.{what}")
}

/// The folder of a session's spilled outputs. Clones share one account of how much lies there.
#[derive(Clone, Debug)]
pub struct SpillFolder {
    dir: PathBuf,
    limit: u64,
    /// Bytes of all spilled files; none until somebody looked.
    used: Arc<Mutex<Option<u64>>>,
}

/// Reason for which an output is not kept whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpillError {
    /// The session's spilled outputs have reached their limit.
    Full,
    Failed,
}

/// Words for an output that is not kept because of the limit.
pub fn full_note() -> String {
    format!(
        "the whole is not kept, because the long outputs of this session take up {} MiB",
        SESSION_LIMIT >> 20
    )
}

impl SpillFolder {
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), limit: SESSION_LIMIT, used: Arc::default() }
    }

    #[cfg(any(test, feature = "testing"))]
    pub fn limited(self, limit: u64) -> Self {
        Self { limit, ..self }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Never over a file that is there: an id may come again in a resumed session.
    pub fn create(&self, name: &str) -> Result<SpillFile, SpillError> {
        let failed = |_| SpillError::Failed;
        DirBuilder::new().recursive(true).mode(0o700).create(&self.dir).map_err(failed)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        for number in 1..1000 {
            let path = match number {
                1 => self.dir.join(name),
                _ => self.dir.join(format!("{name}.{number}")),
            };
            match options.open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
                Ok(file) => return Ok(SpillFile { folder: self.clone(), path, file, written: 0 }),
            }
        }
        Err(SpillError::Failed)
    }

    /// Keeps a text whole, or not at all: half a file called whole would mislead.
    pub fn keep(&self, name: &str, text: &str) -> Result<PathBuf, SpillError> {
        let mut file = self.create(name)?;
        match file.write(text.as_bytes()) {
            Ok(()) => Ok(file.path),
            Err(error) => {
                file.remove();
                Err(error)
            }
        }
    }

    /// A spilled output, or its two ends. Only a file that lies right here is opened, and no link is followed.
    pub fn read(&self, path: &Path) -> io::Result<SpilledOutput> {
        let name =
            path.file_name().filter(|_| path.parent() == Some(&self.dir)).ok_or(ErrorKind::NotFound)?;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::open(self.dir.join(name), flags, Mode::empty())?);
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(ErrorKind::InvalidInput.into());
        }
        let whole = found.len() <= SHOWN_HEAD + SHOWN_TAIL;
        let (mut head, mut tail) = (Vec::new(), Vec::new());
        let most = if whole { found.len() } else { SHOWN_HEAD };
        (&mut file).take(most).read_to_end(&mut head)?;
        if !whole {
            file.seek(SeekFrom::End(-(SHOWN_TAIL as i64)))?;
            file.take(SHOWN_TAIL).read_to_end(&mut tail)?;
        }
        // A line that is cut in two is of no use.
        let head = if whole { &head[..] } else { before_cut(&head) };
        let tail = after_cut(&tail);
        let left_out = found.len().saturating_sub((head.len() + tail.len()) as u64);
        Ok(SpilledOutput { file: path.to_owned(), head: decode(head), left_out, tail: decode(tail) })
    }

    fn reserve(&self, bytes: u64) -> bool {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let now = used.get_or_insert_with(|| files_size(&self.dir));
        let fits = now.saturating_add(bytes) <= self.limit;
        *now += if fits { bytes } else { 0 };
        fits
    }

    fn give_back(&self, bytes: u64) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(used) = used.as_mut() {
            *used = used.saturating_sub(bytes);
        }
    }
}

/// The files of a folder together, without those in folders below it.
fn files_size(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| entry.metadata().ok()).filter(std::fs::Metadata::is_file);
    files.map(|file| file.len()).sum()
}

/// A spilled output that is being written.
#[derive(Debug)]
pub struct SpillFile {
    folder: SpillFolder,
    pub path: PathBuf,
    file: File,
    pub written: u64,
}

impl SpillFile {
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), SpillError> {
        if !self.folder.reserve(bytes.len() as u64) {
            return Err(SpillError::Full);
        }
        self.written += bytes.len() as u64;
        self.file.write_all(bytes).map_err(|_| SpillError::Failed)
    }

    pub fn remove(self) {
        let _ = std::fs::remove_file(&self.path);
        self.folder.give_back(self.written);
    }
}

pub fn has_long_line(text: &str) -> bool {
    text.split('\n').any(|line| line.len() > LONGEST_LINE)
}

/// The text in lines that can be read in parts.
pub fn readable(text: &str) -> Cow<'_, str> {
    if !has_long_line(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + text.len() / BROKEN_LINE + 1);
    for line in text.split_inclusive('\n') {
        let mut rest = line;
        while rest.len() > BROKEN_LINE && line.len() > LONGEST_LINE {
            let window = &rest[..rest.floor_char_boundary(BROKEN_LINE)];
            let end = window.rfind(' ').map_or(window.len(), |at| at + 1);
            out.push_str(&rest[..end]);
            out.push('\n');
            rest = &rest[end..];
        }
        out.push_str(rest);
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_long_line_becomes_many_between_words_and_characters() {
        assert_eq!(readable("a\nb"), "a\nb");
        for text in [
            "12345 678 ".repeat(300),
            "x".repeat(3_000),
            "汉字".repeat(900),
            format!("short\n{}\nend\n", "word ".repeat(400)),
        ] {
            let broken = readable(&text);
            assert!(broken.lines().all(|line| line.len() <= BROKEN_LINE), "{broken}");
            assert_eq!(broken.replace('\n', ""), text.replace('\n', ""), "nothing is lost");
        }
        assert!(
            readable(&"12345 678 ".repeat(300)).lines().all(|line| line.ends_with(' ')),
            "no number is broken"
        );
    }

    #[test]
    fn a_file_that_is_there_stays() {
        let dir = tempfile::tempdir().unwrap();
        let folder = SpillFolder::new(dir.path());
        let one = folder.keep(&name("turn 1", "input"), "a").unwrap();
        let two = folder.keep(&name("turn 1", "input"), "b").unwrap();
        assert_eq!(one.file_name().unwrap(), "turn_1.input");
        assert_eq!(two.file_name().unwrap(), "turn_1.input.2");
        assert_eq!(std::fs::read_to_string(one).unwrap(), "a");
    }

    #[test]
    fn a_front_end_is_given_files_of_this_folder_alone_and_the_ends_of_a_long_one() {
        let dir = tempfile::tempdir().unwrap();
        let folder = SpillFolder::new(dir.path().join("own"));
        let short = folder.keep("a.stdout", "one\ntwo\n").unwrap();
        let read = folder.read(&short).unwrap();
        assert_eq!((read.head.as_str(), read.left_out, read.tail.as_str()), ("one\ntwo\n", 0, ""));
        let line = "0123456789012345678901234567890\n";
        let many = 70 * (1 << 20) / line.len();
        let long = folder.keep("b.stdout", &line.repeat(many)).unwrap();
        let read = folder.read(&long).unwrap();
        let all = (read.head.len() + read.tail.len()) as u64 + read.left_out;
        assert_eq!((all, read.head.starts_with(line)), ((many * line.len()) as u64, true));
        assert!(read.tail.ends_with(line) && read.tail.len() > 1_000_000 && read.left_out > 0);
        let other = dir.path().join("other");
        std::fs::write(&other, "secret").unwrap();
        std::os::unix::fs::symlink(&other, dir.path().join("own/c.stdout")).unwrap();
        for path in
            [other, dir.path().join("own/c.stdout"), dir.path().join("own"), dir.path().join("own/../other")]
        {
            assert!(folder.read(&path).is_err(), "{}", path.display());
        }
    }

    #[test]
    fn outputs_of_earlier_runs_count_and_what_does_not_fit_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        SpillFolder::new(dir.path()).keep("c0.stdout", &"x".repeat(60)).unwrap();
        let folder = SpillFolder::new(dir.path()).limited(100);
        assert_eq!(folder.keep("c1.stdout", &"y".repeat(41)), Err(SpillError::Full));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        folder.clone().keep("c2.stdout", &"y".repeat(40)).unwrap();
        assert_eq!(folder.keep("c3.stdout", "z"), Err(SpillError::Full));
    }
}
