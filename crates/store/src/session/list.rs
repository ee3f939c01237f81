//! The folder of session files: which there are, which one is meant, and how one is removed.
//! Reads no more of a file than `head` does; what a whole session holds is `load`'s business.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use zdx_protocol::query::SessionSummary;
use zdx_protocol::{Event, Record};

use super::file::{SessionFileHandle, file_path};
use super::head::{PROMPT_CHARS, SessionFault, SessionHead};
use super::load::{ResumedSession, ScanReport, SessionContents, SessionOpenError};
use super::log::SessionLog;
use super::{SessionId, load, reason};
use zdx_workspace::BlobStore;

/// Among so many of the newest sessions those of a folder are looked for, or among as many as are wanted.
const LOOKED_AT: usize = 500;
/// How many sessions an ambiguous prefix names.
const NAMED: usize = 5;

#[derive(Clone, Debug)]
pub struct SessionStore {
    dir: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionFindError {
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
pub enum SessionDeleteError {
    #[error("there is no session {0}; `zdx sessions list` shows what there is")]
    NotFound(SessionId),
    #[error("session {0} is open in a running zdx; leave it there first")]
    InUse(SessionId),
    #[error("session {id} could not be deleted: {why}")]
    Failed { id: SessionId, why: String },
}

/// The session that was used last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatestSession {
    pub id: SessionId,
    /// What the user should know of newer files.
    pub notices: Vec<String>,
}

/// Which session is meant by the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One that somebody talked in.
    Chat,
    Any,
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
    pub fn blobs(&self, id: SessionId) -> BlobStore {
        BlobStore::new(self.companion_dir(id).join("blobs"))
    }

    /// A new session; its file appears with the first thing said.
    pub fn create(&self, id: SessionId) -> SessionLog {
        SessionLog::create(&self.dir, id)
    }

    pub fn open(&self, id: SessionId) -> Result<ResumedSession, SessionOpenError> {
        self.open_retelling(id, 0)
    }

    /// The same, with so many of the last turns to be told again.
    pub fn open_retelling(&self, id: SessionId, turns: usize) -> Result<ResumedSession, SessionOpenError> {
        load::open_existing(&self.dir, id, turns)
    }

    /// What happened in so many of its last turns.
    pub fn retold(&self, id: SessionId, turns: usize) -> Result<Vec<Event>, SessionOpenError> {
        load::retold(&self.dir, id, turns)
    }

    pub fn read(&self, id: SessionId) -> Result<SessionContents, SessionOpenError> {
        load::read_existing(&self.dir, id)
    }

    pub fn scan(&self, id: SessionId, each: impl FnMut(Record)) -> Result<ScanReport, SessionOpenError> {
        load::scan(&self.dir, id, each)
    }

    /// Newest first, at most `limit`, without those of tasks. A file that cannot be read is listed with what its name and
    /// size tell.
    pub fn list(&self, limit: Option<usize>) -> Result<Vec<SessionSummary>, SessionFindError> {
        let all = self.newest_first()?.into_iter().map(|entry| self.summary(entry));
        let own = all.filter(|summary| summary.works_for.is_none());
        Ok(own.take(limit.unwrap_or(usize::MAX)).collect())
    }

    /// The same for who wants to go on with one in `root`: those that were had there come first, and conversations
    /// before runs of one prompt.
    pub fn list_for(
        &self,
        root: &Path,
        limit: Option<usize>,
    ) -> Result<Vec<SessionSummary>, SessionFindError> {
        let mut found = self.list(limit.map(|limit| limit.max(LOOKED_AT)))?;
        let here = |summary: &SessionSummary| summary.root.as_deref().is_some_and(|r| is_same_root(r, root));
        found.sort_by_key(|summary| (!here(summary), summary.one_prompt));
        found.truncate(limit.unwrap_or(usize::MAX));
        Ok(found)
    }

    /// The same with those of tasks, each below the session that it works for.
    pub fn list_all(&self, limit: Option<usize>) -> Result<Vec<SessionSummary>, SessionFindError> {
        let all: Vec<_> = self.newest_first()?.into_iter().map(|entry| self.summary(entry)).collect();
        let known: HashSet<String> = all.iter().map(|summary| summary.id.clone()).collect();
        let above = |summary: &SessionSummary| summary.works_for.clone().filter(|id| known.contains(id));
        let (below, own): (Vec<_>, Vec<_>) = all.into_iter().partition(|summary| above(summary).is_some());
        let mut children: HashMap<String, Vec<SessionSummary>> = HashMap::new();
        for child in below {
            children.entry(child.works_for.clone().unwrap_or_default()).or_default().push(child);
        }
        let shown = own.into_iter().take(limit.unwrap_or(usize::MAX)).flat_map(|session| {
            let below = children.remove(&session.id).unwrap_or_default();
            std::iter::once(session).chain(below)
        });
        Ok(shown.collect())
    }

    /// Those that work for a session.
    pub fn children(&self, id: SessionId) -> Result<Vec<SessionId>, SessionFindError> {
        let wanted = id.to_string();
        let mine = |id: &SessionId| self.head(*id).works_for() == Some(&wanted);
        Ok(self.ids()?.into_iter().filter(mine).collect())
    }

    /// The session a user means by a whole id or the beginning of one.
    pub fn find(&self, prefix: &str) -> Result<SessionId, SessionFindError> {
        let wanted = prefix.trim().to_ascii_lowercase();
        let none = || SessionFindError::None(prefix.chars().take(60).collect());
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
                Err(SessionFindError::Ambiguous { prefix: wanted, candidates, total })
            }
        }
    }

    /// The session last written to, of those started in `root` if one is given; never one of a task. Who wants to talk gets
    /// a conversation, and a run of one prompt only where there is none.
    pub fn latest(&self, root: Option<&Path>, kind: Kind) -> Result<LatestSession, SessionFindError> {
        self.latest_of(root, kind, |_| true)
    }

    /// The same of those that nobody has open.
    pub fn latest_free(&self, root: Option<&Path>, kind: Kind) -> Option<SessionId> {
        self.latest_of(root, kind, |id| !self.is_in_use(id)).ok().map(|latest| latest.id)
    }

    /// Whether a running zdx has it open.
    pub fn is_in_use(&self, id: SessionId) -> bool {
        SessionFileHandle::is_in_use(&file_path(&self.dir, id))
    }

    fn latest_of(
        &self,
        root: Option<&Path>,
        kind: Kind,
        wanted: impl Fn(SessionId) -> bool,
    ) -> Result<LatestSession, SessionFindError> {
        let mut passed_over = Vec::new();
        let mut second_best = None;
        for SessionFile { id, .. } in self.newest_first()? {
            let head = self.head(id);
            if let Some(fault) = head.fault {
                passed_over.push((id, fault));
                continue;
            }
            let began_in = head.meta.as_ref().and_then(|meta| meta.root.as_deref());
            let here = |root| began_in.is_some_and(|began| is_same_root(began, root));
            if head.works_for().is_some() || !root.is_none_or(here) || !wanted(id) {
                continue;
            }
            let notices = || passed_over.iter().copied().map(passed).collect();
            match kind == Kind::Chat && head.meta.as_ref().is_some_and(|meta| meta.one_prompt) {
                false => return Ok(LatestSession { id, notices: notices() }),
                true => second_best = second_best.or_else(|| Some(LatestSession { id, notices: notices() })),
            }
        }
        if let Some(latest) = second_best {
            return Ok(latest);
        }
        Err(root.map_or_else(
            || SessionFindError::Empty(self.dir.clone()),
            |root| SessionFindError::NoneIn(root.to_owned()),
        ))
    }

    /// Removes a session and everything beside it. One that a running zdx writes to is left alone.
    pub fn delete(&self, id: SessionId) -> Result<(), SessionDeleteError> {
        let path = file_path(&self.dir, id);
        let failed = |error: io::Error| match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => SessionDeleteError::NotFound(id),
            _ => SessionDeleteError::Failed { id, why: reason(&error) },
        };
        if !std::fs::symlink_metadata(&path).map_err(failed)?.is_file() {
            return Err(SessionDeleteError::Failed { id, why: "it is no regular file".to_owned() });
        }
        // Held until the entry is gone, so that nobody resumes what is being deleted.
        let file = File::open(&path).map_err(failed)?;
        let Some(_held) = SessionFileHandle::locked(file, true) else {
            return Err(SessionDeleteError::InUse(id));
        };
        std::fs::remove_file(&path).map_err(failed)?;
        match std::fs::remove_dir_all(self.companion_dir(id)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn ids(&self) -> Result<Vec<SessionId>, SessionFindError> {
        Ok(self.names()?.filter_map(|entry| session_id(&entry)).collect())
    }

    fn names(&self) -> Result<impl Iterator<Item = std::fs::DirEntry>, SessionFindError> {
        let entries = match std::fs::read_dir(&self.dir) {
            Ok(entries) => Some(entries),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(SessionFindError::Unreadable(reason(&error))),
        };
        Ok(entries.into_iter().flatten().flatten())
    }

    fn newest_first(&self) -> Result<Vec<SessionFile>, SessionFindError> {
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

    fn head(&self, id: SessionId) -> SessionHead {
        SessionHead::read(&file_path(&self.dir, id))
    }

    fn summary(&self, SessionFile { id, when, bytes }: SessionFile) -> SessionSummary {
        let head = self.head(id);
        SessionSummary {
            id: id.to_string(),
            when,
            bytes,
            works_for: head.works_for().map(str::to_owned),
            one_prompt: head.meta.as_ref().is_some_and(|meta| meta.one_prompt),
            in_use: self.is_in_use(id),
            fault: head.fault.map(|fault| fault.words().to_owned()),
            first_prompt: head.first_prompt.as_deref().map(one_line),
            root: head.meta.and_then(|meta| meta.root),
            model: head.model,
        }
    }
}

/// Older records hold U+FFFD in the place of what is not UTF-8.
pub fn is_same_root(recorded: &Path, root: &Path) -> bool {
    recorded == root || (recorded.to_str().is_some_and(|recorded| recorded == root.to_string_lossy()))
}

fn session_id(entry: &std::fs::DirEntry) -> Option<SessionId> {
    let name = entry.file_name();
    name.to_str()?.strip_suffix(".jsonl")?.parse().ok()
}

fn passed((id, fault): (SessionId, SessionFault)) -> String {
    format!("session {id} was passed over: {}; `zdx sessions delete {id}` removes it", fault.words())
}

fn list_ids(ids: &[SessionId], total: usize) -> String {
    let mut text = ids.iter().map(SessionId::to_string).collect::<Vec<_>>().join(", ");
    if total > ids.len() {
        text.push_str(", …");
    }
    text
}

/// The first line: what follows is data or detail, and tells sessions apart less well.
fn one_line(text: &str) -> String {
    let first = text.trim_start().lines().next().unwrap_or_default();
    let words: Vec<&str> = first.split_whitespace().take(PROMPT_CHARS).collect();
    let mut line = words.join(" ");
    if let Some((end, _)) = line.char_indices().nth(PROMPT_CHARS) {
        line.truncate(end);
        line.push('…');
    }
    line
}
