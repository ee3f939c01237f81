//! Reads session files back, whatever happened to them: torn, damaged, of a newer zdx.
//! Never deletes or rewrites a byte; the most it adds is a newline and results for calls that were cut off.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use jiff::Timestamp;
use serde::Deserialize;
use zdx_protocol::Event;
use zdx_protocol::record::{self, Meta, Record, SCHEMA_VERSION};
use zdx_protocol::{Retold, Transcript};

use super::file::{SessionFileHandle, file_path};
use super::log::SessionLog;
use super::{SessionId, reason, tail};

/// A longer line is damage, and must not be held in memory.
pub(super) const LINE_CAP: usize = 64 << 20;
const READ_BUFFER: usize = 256 << 10;
/// The header is looked for in this much of a file whose beginning is not read otherwise.
const HEAD: u64 = 64 << 10;
/// What is read before a compaction for the turns that stand there.
const LOOK_BACK: u64 = 1 << 20;

#[derive(Debug, thiserror::Error)]
pub enum SessionOpenError {
    #[error("there is no session {0}; `zdx sessions list` shows what there is")]
    NotFound(SessionId),
    #[error("session {0} is open in another zdx; close it there, or start a new session")]
    InUse(SessionId),
    #[error(
        "session {id} was written by a newer zdx (schema {found}, this one knows {SCHEMA_VERSION}): it can be shown, \
         not continued"
    )]
    Newer { id: SessionId, found: u64 },
    #[error("session {id} cannot be continued: {why}; it can still be shown")]
    Unwritable { id: SessionId, why: String },
    #[error("session {id} cannot be read: {why}")]
    Unreadable { id: SessionId, why: String },
}

/// A session read back to go on with.
#[derive(Debug)]
pub struct ResumedSession {
    pub log: SessionLog,
    pub transcript: Transcript,
    /// What happened in the last turns, to be told again.
    pub past: Vec<Event>,
    /// What the user should know, a line each.
    pub notices: Vec<String>,
    pub bad_lines: u64,
    /// When something happened in it last.
    pub left: Option<Timestamp>,
    /// No line of it says what it is.
    headless: bool,
}

impl ResumedSession {
    /// Gives a file its header back that lost it, or never came to have one.
    pub fn give_header(&mut self, root: &Path) {
        if !std::mem::take(&mut self.headless) {
            return;
        }
        self.notices.push("the file of this session had no header; it has one now".to_owned());
        let root = Some(root.to_owned());
        self.append_header(Meta { root, parent: None, task: None, ..self.header() });
    }

    /// From here on it is a conversation, whatever it was begun as.
    pub fn become_chat(&mut self) {
        if self.transcript.one_prompt {
            self.append_header(self.header());
        }
    }

    fn header(&self) -> Meta {
        let Transcript { root, model, parent, task, .. } = &self.transcript;
        Meta {
            schema_version: SCHEMA_VERSION,
            id: Some(self.log.id().to_string()),
            root: root.clone(),
            model: model.clone(),
            parent: parent.clone(),
            task: task.clone(),
            one_prompt: false,
            ts: record::now(),
        }
    }

    fn append_header(&mut self, meta: Meta) {
        let meta = Record::Meta(meta);
        self.notices.extend(self.log.append(&meta).notice());
        self.transcript.absorb(meta);
    }
}

/// A session read back to look at.
#[derive(Debug)]
pub struct SessionContents {
    pub transcript: Transcript,
    pub scan: ScanReport,
    pub notices: Vec<String>,
}

/// What was met in a file besides its records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanReport {
    pub records: u64,
    /// Lines that are no record, a torn last one included. They stay in the file.
    pub bad_lines: u64,
    /// The last line has no newline.
    pub torn: bool,
    /// The highest one any header names.
    pub schema_version: Option<u64>,
}

impl ScanReport {
    fn is_newer(&self) -> Option<u64> {
        self.schema_version.filter(|found| *found > u64::from(SCHEMA_VERSION))
    }

    fn notices(&self) -> Vec<String> {
        let mut notices = Vec::new();
        match self.bad_lines {
            0 => {}
            1 => {
                notices.push("one damaged line of this session was skipped; it stays in the file".to_owned())
            }
            n => {
                notices.push(format!("{n} damaged lines of this session were skipped; they stay in the file"))
            }
        }
        if let Some(found) = self.is_newer() {
            notices.push(format!(
                "this session was written by a newer zdx (schema {found}, this one knows {SCHEMA_VERSION}); some of it \
                 may not be shown"
            ));
        }
        notices
    }
}

/// Opens a session to go on with it: locked for this process, its tail mended, cut-off calls answered. So many of its last
/// turns are kept to be told again.
pub(super) fn open_existing(
    dir: &Path,
    id: SessionId,
    retold: usize,
) -> Result<ResumedSession, SessionOpenError> {
    let path = file_path(dir, id);
    let Some(open) = SessionFileHandle::locked(open_for_append(&path, id)?, true) else {
        return Err(SessionOpenError::InUse(id));
    };
    // Deleted between opening and locking: what we would append to is no longer a session.
    let key = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    if std::fs::metadata(&path).map(key).ok() != open.file().metadata().map(key).ok() {
        return Err(SessionOpenError::NotFound(id));
    }
    let mut retold = (retold > 0).then(|| Retold::of(retold));
    let SessionContents { mut transcript, scan, mut notices } = fold_tail(open.file(), id, &mut retold)?;
    if let Some(found) = scan.is_newer() {
        return Err(SessionOpenError::Newer { id, found });
    }
    let (mut log, mended) = SessionLog::resume(id, path, open, scan.torn);
    notices.extend(mended.notice());
    let left = transcript.last;
    let cut_off = transcript.interrupted_results(record::now());
    if !cut_off.is_empty() {
        let calls = if cut_off.len() == 1 { "a tool call was" } else { "tool calls were" };
        notices
            .push(format!("{calls} cut off when this session last ended; not run again, the model is told"));
    }
    for result in cut_off {
        notices.extend(log.append(&result).notice());
        fold_one(&mut transcript, &mut retold, result);
    }
    // What is put right now was not said now.
    transcript.last = left;
    let past = retold.map(Retold::events).unwrap_or_default();
    let headless = scan.schema_version.is_none();
    Ok(ResumedSession { log, transcript, past, notices, left, bad_lines: scan.bad_lines, headless })
}

/// Reads a session without touching it: to show it, or when it cannot be continued.
pub(super) fn read_existing(dir: &Path, id: SessionId) -> Result<SessionContents, SessionOpenError> {
    let file = open_to_read(dir, id)?;
    fold(&file, id, &mut None)
}

/// What happened in the last turns of a session, without touching it.
pub(super) fn retold(dir: &Path, id: SessionId, turns: usize) -> Result<Vec<Event>, SessionOpenError> {
    let file = open_to_read(dir, id)?;
    let mut retold = Some(Retold::of(turns));
    fold_tail(&file, id, &mut retold)?;
    Ok(retold.map(Retold::events).unwrap_or_default())
}

/// Every readable record of a session, in order, one at a time.
pub(super) fn scan(
    dir: &Path,
    id: SessionId,
    each: impl FnMut(Record),
) -> Result<ScanReport, SessionOpenError> {
    let file = open_to_read(dir, id)?;
    scan_lines(BufReader::with_capacity(READ_BUFFER, &file), each).map_err(|error| unreadable(id, &error))
}

fn fold_one(transcript: &mut Transcript, retold: &mut Option<Retold>, record: Record) {
    if let Some(retold) = retold {
        retold.note(record.clone());
    }
    transcript.absorb(record);
}

fn fold(
    file: &File,
    id: SessionId,
    retold: &mut Option<Retold>,
) -> Result<SessionContents, SessionOpenError> {
    let mut transcript = Transcript::default();
    let reader = BufReader::with_capacity(READ_BUFFER, file);
    let scan = scan_lines(reader, |record| fold_one(&mut transcript, retold, record))
        .map_err(|error| unreadable(id, &error))?;
    let notices = scan.notices();
    Ok(SessionContents { transcript, scan, notices })
}

/// What is needed to go on: all of a session, or its header and what follows its last compaction.
fn fold_tail(
    file: &File,
    id: SessionId,
    retold: &mut Option<Retold>,
) -> Result<SessionContents, SessionOpenError> {
    let failed = |error: io::Error| unreadable(id, &error);
    let Some(start) = tail::last_compaction(file).map_err(failed)? else {
        return fold(file, id, retold);
    };
    let mut transcript = Transcript::default();
    let head = scan_lines(BufReader::new(file).take(HEAD.min(start)), |record| {
        if let Record::Meta(_) = record {
            transcript.absorb(record);
        }
    });
    let head = head.map_err(failed)?;
    let told = match retold.take() {
        Some(turns) => {
            let (turns, any) = retell_before(file, start, turns).map_err(failed)?;
            *retold = Some(turns);
            any
        }
        None => true,
    };
    let mut at_tail = file;
    at_tail.seek(SeekFrom::Start(start)).map_err(failed)?;
    let reader = BufReader::with_capacity(READ_BUFFER, file);
    let mut scan = scan_lines(reader, |record| fold_one(&mut transcript, retold, record)).map_err(failed)?;
    scan.schema_version = scan.schema_version.max(head.schema_version);
    let mut notices = scan.notices();
    if !told {
        notices.push(format!(
            "what was said before the compaction is not shown; `zdx sessions show {id}` has it"
        ));
    }
    Ok(SessionContents { transcript, scan, notices })
}

/// The turns before a compaction, for who looks back: the context begins behind it. So much of the file is read for
/// that, and whether any whole turn was found.
fn retell_before(file: &File, start: u64, retold: Retold) -> io::Result<(Retold, bool)> {
    let from = start.saturating_sub(LOOK_BACK);
    let mut at = file;
    at.seek(SeekFrom::Start(from))?;
    let mut reader = BufReader::with_capacity(READ_BUFFER, at.take(start - from));
    if from > 0 {
        reader.skip_until(b'\n')?;
    }
    let (unread, mut turns) = (retold.clone(), retold);
    // Turns are taken back by their numbers, which are unknown in the middle of a file until a compaction says them.
    let (mut numbered, mut doubtful) = (from == 0, false);
    scan_lines(reader, |record| {
        numbered |= matches!(record, Record::Compaction(_));
        doubtful |= !numbered && matches!(record, Record::Revert(_) | Record::Redo(_));
        turns.note(record);
    })?;
    if doubtful {
        return Ok((unread, false));
    }
    let any = turns.whole_turns_only();
    Ok(if any { (turns, true) } else { (unread, false) })
}

pub(super) fn open_to_read(dir: &Path, id: SessionId) -> Result<File, SessionOpenError> {
    let path = file_path(dir, id);
    check_regular(&path, id)?;
    File::open(&path).map_err(|error| unreadable(id, &error))
}

fn open_for_append(path: &Path, id: SessionId) -> Result<File, SessionOpenError> {
    check_regular(path, id)?;
    OpenOptions::new().read(true).append(true).open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => SessionOpenError::NotFound(id),
        _ => SessionOpenError::Unwritable { id, why: reason(&error) },
    })
}

/// Opening a pipe would wait for its other end.
fn check_regular(path: &Path, id: SessionId) -> Result<(), SessionOpenError> {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(()),
        Ok(_) => Err(SessionOpenError::Unreadable { id, why: "it is no regular file".to_owned() }),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Err(SessionOpenError::NotFound(id))
        }
        Err(error) => Err(unreadable(id, &error)),
    }
}

fn unreadable(id: SessionId, error: &io::Error) -> SessionOpenError {
    SessionOpenError::Unreadable { id, why: reason(error) }
}

pub(super) fn scan_lines(mut reader: impl BufRead, mut each: impl FnMut(Record)) -> io::Result<ScanReport> {
    let mut scan = ScanReport::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        line.shrink_to(READ_BUFFER);
        let read = (&mut reader).take(LINE_CAP as u64).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(scan);
        }
        scan.torn = line.last() != Some(&b'\n');
        if scan.torn && read == LINE_CAP {
            scan.torn = !skip_line(&mut reader)?;
            scan.bad_lines += 1;
            continue;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        match Record::parse(&line) {
            Ok(record) => {
                if let Record::Meta(meta) = &record {
                    scan.schema_version = scan.schema_version.max(Some(meta.schema_version.into()));
                }
                scan.records += 1;
                each(record);
            }
            Err(_) => {
                scan.bad_lines += 1;
                scan.schema_version = scan.schema_version.max(foreign_schema(&line));
            }
        }
    }
}

/// Skips to the next line; false when the file ends first.
fn skip_line(reader: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(false);
        }
        let newline = buffer.iter().position(|byte| *byte == b'\n');
        let used = newline.map_or(buffer.len(), |at| at + 1);
        reader.consume(used);
        if newline.is_some() {
            return Ok(true);
        }
    }
}

/// A header this build cannot read may come from a newer one, and must still forbid appending.
fn foreign_schema(line: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    struct Header {
        #[serde(rename = "type")]
        kind: String,
        schema_version: u64,
    }
    let header: Header = serde_json::from_slice(line).ok()?;
    (header.kind == "meta").then_some(header.schema_version)
}
