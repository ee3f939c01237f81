//! A session of its own that begins as a copy of another: the other is only read, and may be in use meanwhile.

use std::fs::{DirBuilder, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use zdx_protocol::path_text;
use zdx_protocol::record::{self, Meta, Record, Remote, SCHEMA_VERSION};
use zdx_protocol::transcript::{Entry, Turns};

use super::file::file_path;
use super::load::{self, LINE_CAP, SessionOpenError};
use super::{SessionId, SessionStore, reason};

#[derive(Debug, thiserror::Error)]
pub enum SessionForkError {
    #[error(transparent)]
    Source(#[from] SessionOpenError),
    #[error("there is no turn {turn}; session {id} has {turns}")]
    UnknownTurn { id: SessionId, turn: u32, turns: u32 },
    #[error("session {id} could not be copied: {why}")]
    Failed { id: SessionId, why: String },
}

impl SessionStore {
    /// A copy under a new id, of the whole session or of what was before `turn`. It stands alone: the other one may be
    /// deleted.
    pub fn fork(&self, id: SessionId, turn: Option<u32>) -> Result<SessionId, SessionForkError> {
        let failed = |error: io::Error| SessionForkError::Failed { id, why: reason(&error) };
        // Looked at once, as a whole: what is appended meanwhile is not part of it.
        let file = load::open_to_read(self.dir(), id)?;
        let length = file.metadata().map_err(failed)?.len();
        let source = ForkSource { file: &file, length };
        let outline = source.outline().map_err(failed)?;
        if let Some(found) = outline.schema_version.filter(|found| *found > SCHEMA_VERSION) {
            return Err(SessionOpenError::Newer { id, found: found.into() }.into());
        }
        let end = match turn {
            None => length,
            Some(turn) => {
                let turns = outline.turns.count();
                *outline.turns.get(turn).ok_or(SessionForkError::UnknownTurn { id, turn, turns })?
            }
        };
        let fork = SessionId::random();
        link_companions(&self.companion_dir(id), &self.companion_dir(fork)).map_err(failed)?;
        let meta = Meta {
            schema_version: SCHEMA_VERSION,
            id: Some(fork.to_string()),
            root: outline.root,
            model: outline.model,
            parent: Some(id.to_string()),
            task: None,
            one_prompt: false,
            ts: record::now(),
        };
        let moved = MovedOutputs::new(&self.companion_dir(id), &self.companion_dir(fork));
        source.copy(end, &Record::Meta(meta), &moved, &file_path(self.dir(), fork)).map_err(failed)?;
        Ok(fork)
    }
}

struct ForkSource<'a> {
    file: &'a File,
    length: u64,
}

/// Where the turns of a session begin that still count, and what its header says.
#[derive(Default)]
struct SessionOutline {
    turns: Turns<u64>,
    root: Option<PathBuf>,
    model: Option<String>,
    schema_version: Option<u32>,
}

impl SessionOutline {
    fn note(&mut self, offset: u64, record: Record) {
        let entry = Entry::from(record);
        self.turns.fold(&entry, || offset);
        if let Entry::Meta(meta) = entry {
            self.schema_version = self.schema_version.max(Some(meta.schema_version));
            self.root = meta.root;
            self.model = meta.model;
        }
    }
}

impl ForkSource<'_> {
    fn outline(&self) -> io::Result<SessionOutline> {
        let mut outline = SessionOutline::default();
        self.each_line(self.length, |offset, line| {
            if let Ok(record) = Record::parse(line) {
                outline.note(offset, record);
            }
            Ok(())
        })?;
        Ok(outline)
    }

    /// Under its name only when it is whole.
    fn copy(&self, end: u64, meta: &Record, moved: &MovedOutputs, path: &Path) -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut copy = BufWriter::new(tempfile::NamedTempFile::new_in(folder)?);
        copy.write_all(&meta.to_line()?)?;
        self.each_line(end, |_, line| match Record::parse(line) {
            Ok(Record::Meta(_)) | Err(_) => Ok(()),
            // Two conversations in one session of another agent would each know what only the other was told.
            Ok(Record::Remote(remote)) => {
                copy.write_all(&Record::Remote(Remote { session: String::new(), ..remote }).to_line()?)
            }
            Ok(_) => {
                copy.write_all(&moved.apply(line.trim_ascii_end()))?;
                copy.write_all(b"\n")
            }
        })?;
        let copy = copy.into_inner().map_err(io::IntoInnerError::into_error)?;
        copy.as_file().sync_all()?;
        copy.persist_noclobber(path)?;
        Ok(())
    }

    fn each_line(&self, end: u64, mut each: impl FnMut(u64, &[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut file = self.file;
        io::Seek::seek(&mut file, io::SeekFrom::Start(0))?;
        let mut reader = BufReader::new(file.take(end));
        let (mut offset, mut line) = (0, Vec::new());
        loop {
            line.clear();
            // A longer line is damage; it falls into pieces that are no records either.
            let read = (&mut reader).take(LINE_CAP as u64).read_until(b'\n', &mut line)?;
            if read == 0 {
                return Ok(());
            }
            each(offset, &line)?;
            offset += read as u64;
        }
    }
}

/// Results name files beside their session: in the copy they name the copy's own.
struct MovedOutputs {
    from: Vec<u8>,
    to: Vec<u8>,
}

impl MovedOutputs {
    fn new(from: &Path, to: &Path) -> Self {
        let text = |path: &Path| {
            let quoted = serde_json::to_string(&path_text::encode(path)).unwrap_or_default();
            quoted.trim_matches('"').as_bytes().to_vec()
        };
        Self { from: text(from), to: text(to) }
    }

    fn apply(&self, line: &[u8]) -> Vec<u8> {
        let mut copy = Vec::with_capacity(line.len());
        let mut rest = line;
        while let Some(at) = find(rest, &self.from) {
            copy.extend_from_slice(&rest[..at]);
            copy.extend_from_slice(&self.to);
            rest = &rest[at + self.from.len()..];
        }
        copy.extend_from_slice(rest);
        copy
    }
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = *wanted.first()?;
    let mut start = 0;
    while let Some(at) = text[start..].iter().position(|byte| *byte == first) {
        if text[start + at..].starts_with(wanted) {
            return Some(start + at);
        }
        start += at + 1;
    }
    None
}

/// The same files under the other session's name: links where the disk can, copies where not. They are never written
/// to again, so sharing them is safe.
fn link_companions(from: &Path, to: &Path) -> io::Result<()> {
    let entries = match std::fs::read_dir(from) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    DirBuilder::new().recursive(true).mode(0o700).create(to)?;
    for entry in entries {
        let entry = entry?;
        let (source, copy): (PathBuf, PathBuf) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            link_companions(&source, &copy)?;
        } else if kind.is_file() && std::fs::hard_link(&source, &copy).is_err() {
            std::fs::copy(&source, &copy)?;
        }
    }
    Ok(())
}
