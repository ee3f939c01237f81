//! The folder of session files: which there are, which one is meant, and how one is removed.
//! Reads no more than the head of a file; what a whole session holds is `load`'s business.

use std::cmp::Reverse;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use zdx_protocol::query::SessionSummary;
use zdx_protocol::{Event, Record, Transcript};

use super::file::{OpenFile, file_path};
use super::load::{Loaded, OpenError, Opened, Scan};
use super::log::SessionLog;
use super::{SessionId, load, reason, tail};
use crate::files::Blobs;

/// The header and the first prompt are looked for in this much of a file.
const HEAD: u64 = 32 << 10;
const PROMPT_CHARS: usize = 200;
/// How many sessions an ambiguous prefix names.
const NAMED: usize = 5;

#[derive(Clone, Debug)]
pub struct SessionStore {
    dir: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    #[error("no session begins with `{0}`; `zdx sessions list` shows what there is")]
    None(String),
    #[error("{total} sessions begin with `{prefix}`: {}; give more of the id", list_ids(.candidates, *.total))]
    Ambiguous { prefix: String, candidates: Vec<SessionId>, total: usize },
    #[error("there is no session yet in {0}")]
    Empty(PathBuf),
    #[error("no session was started in {0}; `zdx sessions list` shows those of other folders")]
    NoneIn(PathBuf),
    #[error("the folder of sessions cannot be read: {0}")]
    Unreadable(String),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeleteError {
    #[error("there is no session {0}; `zdx sessions list` shows what there is")]
    NotFound(SessionId),
    #[error("session {0} is open in a running zdx; leave it there first")]
    InUse(SessionId),
    #[error("session {id} could not be deleted: {why}")]
    Failed { id: SessionId, why: String },
}

struct SessionFile {
    id: SessionId,
    when: Timestamp,
    bytes: u64,
}

impl SessionStore {
    /// Over the folder `<base>/sessions`. It need not exist.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where a session keeps what does not belong into its log, such as the whole output of long commands.
    pub fn companion_dir(&self, id: SessionId) -> PathBuf {
        self.dir.join(id.to_string())
    }

    /// What files held before tools changed them.
    pub fn blobs(&self, id: SessionId) -> Blobs {
        Blobs::new(self.companion_dir(id).join("blobs"))
    }

    /// A new session; its file appears with the first thing said.
    pub fn create(&self, id: SessionId) -> SessionLog {
        SessionLog::create(&self.dir, id)
    }

    pub fn open(&self, id: SessionId) -> Result<Opened, OpenError> {
        self.open_retelling(id, 0)
    }

    /// The same, with so many of the last turns to be told again.
    pub fn open_retelling(&self, id: SessionId, turns: usize) -> Result<Opened, OpenError> {
        load::open_existing(&self.dir, id, turns)
    }

    /// What happened in so many of its last turns.
    pub fn retold(&self, id: SessionId, turns: usize) -> Result<Vec<Event>, OpenError> {
        load::retold(&self.dir, id, turns)
    }

    pub fn read(&self, id: SessionId) -> Result<Loaded, OpenError> {
        load::read_existing(&self.dir, id)
    }

    pub fn scan(&self, id: SessionId, each: impl FnMut(Record)) -> Result<Scan, OpenError> {
        load::scan(&self.dir, id, each)
    }

    /// Newest first, at most `limit`. A file that cannot be read is listed with what its name and size tell.
    pub fn list(&self, limit: Option<usize>) -> Result<Vec<SessionSummary>, FindError> {
        let entries = self.newest_first()?;
        let shown = limit.unwrap_or(entries.len());
        Ok(entries.into_iter().take(shown).map(|entry| self.summary(entry)).collect())
    }

    /// The session a user means by a whole id or the beginning of one.
    pub fn find(&self, prefix: &str) -> Result<SessionId, FindError> {
        let wanted = prefix.trim().to_ascii_lowercase();
        let none = || FindError::None(prefix.chars().take(60).collect());
        if let Ok(id) = wanted.parse::<SessionId>() {
            return if file_path(&self.dir, id).is_file() { Ok(id) } else { Err(none()) };
        }
        let mut candidates = self.ids()?;
        candidates.retain(|id| id.to_string().starts_with(&wanted));
        match candidates.as_slice() {
            [] => Err(none()),
            [id] => Ok(*id),
            [..] => {
                candidates.sort_unstable();
                let total = candidates.len();
                candidates.truncate(NAMED);
                Err(FindError::Ambiguous { prefix: wanted, candidates, total })
            }
        }
    }

    /// The session last written to, of those started in `root` if one is given.
    pub fn latest(&self, root: Option<&Path>) -> Result<SessionId, FindError> {
        let entries = self.newest_first()?;
        let Some(root) = root else {
            return entries.first().map(|entry| entry.id).ok_or_else(|| FindError::Empty(self.dir.clone()));
        };
        // Records hold text, so a folder whose name is none is compared as the text it was saved as.
        let wanted = root.to_string_lossy();
        let of_root = |id: SessionId| {
            let head = read_head(&file_path(&self.dir, id)).unwrap_or_default();
            head.root.is_some_and(|recorded| recorded.to_string_lossy() == wanted)
        };
        let found = entries.iter().map(|entry| entry.id).find(|id| of_root(*id));
        found.ok_or_else(|| FindError::NoneIn(root.to_owned()))
    }

    /// Removes a session and everything beside it. One that a running zdx writes to is left alone.
    pub fn delete(&self, id: SessionId) -> Result<(), DeleteError> {
        let path = file_path(&self.dir, id);
        let failed = |error: io::Error| match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => DeleteError::NotFound(id),
            _ => DeleteError::Failed { id, why: reason(&error) },
        };
        if !std::fs::symlink_metadata(&path).map_err(failed)?.is_file() {
            return Err(DeleteError::Failed { id, why: "it is no regular file".to_owned() });
        }
        // Held until the entry is gone, so that nobody resumes what is being deleted.
        let file = File::open(&path).map_err(failed)?;
        let Some(_held) = OpenFile::locked(file, true) else { return Err(DeleteError::InUse(id)) };
        std::fs::remove_file(&path).map_err(failed)?;
        match std::fs::remove_dir_all(self.companion_dir(id)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn ids(&self) -> Result<Vec<SessionId>, FindError> {
        Ok(self.names()?.filter_map(|entry| session_id(&entry)).collect())
    }

    fn names(&self) -> Result<impl Iterator<Item = std::fs::DirEntry>, FindError> {
        let entries = match std::fs::read_dir(&self.dir) {
            Ok(entries) => Some(entries),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(FindError::Unreadable(reason(&error))),
        };
        Ok(entries.into_iter().flatten().flatten())
    }

    fn newest_first(&self) -> Result<Vec<SessionFile>, FindError> {
        let entry = |found: std::fs::DirEntry| {
            let id = session_id(&found)?;
            let metadata = found.metadata().ok().filter(std::fs::Metadata::is_file)?;
            let when = metadata.modified().ok().and_then(|time| Timestamp::try_from(time).ok())?;
            Some(SessionFile { id, when, bytes: metadata.len() })
        };
        let mut entries: Vec<SessionFile> = self.names()?.filter_map(entry).collect();
        entries.sort_unstable_by_key(|entry| Reverse((entry.when, entry.id)));
        Ok(entries)
    }

    fn summary(&self, SessionFile { id, when, bytes }: SessionFile) -> SessionSummary {
        let Transcript { root, model, first_prompt, .. } =
            read_head(&file_path(&self.dir, id)).unwrap_or_default();
        SessionSummary {
            id: id.to_string(),
            when,
            bytes,
            root,
            model,
            first_prompt: first_prompt.as_deref().map(one_line),
        }
    }
}

fn session_id(entry: &std::fs::DirEntry) -> Option<SessionId> {
    let name = entry.file_name();
    name.to_str()?.strip_suffix(".jsonl")?.parse().ok()
}

fn list_ids(ids: &[SessionId], total: usize) -> String {
    let mut text = ids.iter().map(SessionId::to_string).collect::<Vec<_>>().join(", ");
    if total > ids.len() {
        text.push_str(", …");
    }
    text
}

/// What the beginning of a session adds up to: as far as its first prompt, or as far as the head goes when a revert in it
/// may have taken that prompt back.
fn read_head(path: &Path) -> io::Result<Transcript> {
    let mut bytes = Vec::new();
    File::open(path)?.take(HEAD).read_to_end(&mut bytes)?;
    let goes_back = memchr::memmem::find(&bytes, tail::REVERT).is_some();
    let mut head = Transcript::default();
    for record in bytes.split(|byte| *byte == b'\n').filter_map(|line| Record::parse(line).ok()) {
        head.absorb(record);
        if head.first_prompt.is_some() && !goes_back {
            return Ok(head);
        }
    }
    let cut_off = bytes.rsplit(|byte| *byte == b'\n').next().filter(|_| bytes.len() as u64 == HEAD);
    head.first_prompt = head.first_prompt.or_else(|| cut_off_prompt(cut_off?));
    Ok(head)
}

/// The beginning of a prompt that is longer than the head. What is hidden is never as long as that.
fn cut_off_prompt(line: &[u8]) -> Option<String> {
    let text = line.strip_prefix(br#"{"type":"message","role":"user","text":""#)?;
    let text = &text[..text.len().min(PROMPT_CHARS * 6)];
    // The cut may be inside a character or an escape: at most the 12 bytes of a surrogate pair.
    (0..=12.min(text.len())).find_map(|drop| {
        let quoted = [b"\"", &text[..text.len() - drop], b"\""].concat();
        serde_json::from_slice(&quoted).ok()
    })
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().take(PROMPT_CHARS).collect();
    let mut line = words.join(" ");
    if let Some((end, _)) = line.char_indices().nth(PROMPT_CHARS) {
        line.truncate(end);
        line.push('…');
    }
    line
}
