//! Appends records to a session file so that an acknowledged one survives a crash and a failed one waits in memory.
//! Never fails a turn: trouble with the disk is told once, and once more when it is over.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};

use zdx_protocol::record::{self, Meta, Record, SCHEMA_VERSION};

use super::file::{SessionFileHandle, file_path};
use super::load::LINE_CAP;
use super::{SessionId, reason};

/// What may wait in memory while the file cannot be written.
const QUEUE_CAP: usize = 8 << 20;

/// What became of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SaveOutcome {
    Yes,
    /// Held in memory on purpose: a session in which nothing was said leaves no file.
    Held,
    /// This session is not saved by choice.
    Off,
    /// Saving just began to fail, or fails for another reason than before. The record waits and is retried.
    Not {
        why: String,
    },
    /// Still failing, and already told.
    Waiting,
    /// Too much waits: from now on the oldest waiting records are given up.
    Losing {
        why: String,
    },
    /// This one record can never be saved, whatever the disk does; the others are not touched by it.
    Dropped {
        why: String,
    },
    /// Saving works again and what waited is in the file, but for `lost` records.
    Again {
        lost: u64,
    },
}

impl SaveOutcome {
    /// What the user should be told about it; said once for each change.
    pub fn notice(&self) -> Option<String> {
        match self {
            Self::Yes | Self::Held | Self::Off | Self::Waiting => None,
            Self::Not { why } => {
                Some(format!("session not saved: {why}; zdx goes on and tries again with every step"))
            }
            Self::Losing { why } => Some(format!(
                "session not saved: {why}; too much is waiting, so its oldest records are now dropped"
            )),
            Self::Dropped { why } => Some(format!("one step of this session is not saved: {why}")),
            Self::Again { lost: 0 } => Some("session saved again: nothing is missing".to_owned()),
            Self::Again { lost } => Some(format!(
                "session saved again, but {lost} records were dropped meanwhile and are not in the file"
            )),
        }
    }
}

#[derive(Debug)]
pub struct SessionLog {
    id: SessionId,
    path: PathBuf,
    sink: LogSink,
    /// Whole lines that are not in the file yet, oldest first.
    queue: VecDeque<Vec<u8>>,
    queued_bytes: usize,
    /// Something was said: from here on the session is worth a file.
    started: bool,
    trouble: Option<LogTrouble>,
    lost: u64,
}

#[derive(Debug)]
enum LogSink {
    Off,
    /// The file is created with the first record worth keeping.
    Unborn,
    Open(SessionFileHandle),
}

#[derive(Debug, PartialEq, Eq)]
enum LogTrouble {
    Write(String),
    /// Written, but perhaps not on the disk.
    Sync(String),
}

impl SessionLog {
    /// A new session in `dir`. Touches nothing yet.
    pub fn create(dir: &Path, id: SessionId) -> Self {
        Self::over(id, file_path(dir, id), LogSink::Unborn)
    }

    /// For `--no-save`, and for a session that can only be read.
    pub fn disabled(id: SessionId) -> Self {
        Self::over(id, PathBuf::new(), LogSink::Off)
    }

    /// Goes on with a file that is there. A torn last line gets its newline first.
    pub(super) fn resume(
        id: SessionId,
        path: PathBuf,
        open: SessionFileHandle,
        torn: bool,
    ) -> (Self, SaveOutcome) {
        let mut log = Self::over(id, path, LogSink::Open(open));
        log.started = true;
        if torn {
            log.enqueue(b"\n".to_vec());
        }
        let saved = log.flush();
        (log, saved)
    }

    fn over(id: SessionId, path: PathBuf, sink: LogSink) -> Self {
        let queue = VecDeque::new();
        Self { id, path, sink, queue, queued_bytes: 0, started: false, trouble: None, lost: 0 }
    }

    pub fn id(&self) -> SessionId {
        self.id
    }

    /// Where the session is, or will be, saved.
    pub fn path(&self) -> Option<&Path> {
        match self.sink {
            LogSink::Off => None,
            LogSink::Unborn | LogSink::Open(_) => Some(&self.path),
        }
    }

    /// Records that are not in the file: what is lost if zdx ends now.
    #[cfg(test)]
    pub(super) fn unsaved(&self) -> u64 {
        if self.started { self.queue.len() as u64 + self.lost } else { 0 }
    }

    #[cfg(test)]
    pub(super) fn queued_bytes(&self) -> usize {
        self.queued_bytes
    }

    pub fn append(&mut self, record: &Record) -> SaveOutcome {
        if matches!(self.sink, LogSink::Off) {
            return SaveOutcome::Off;
        }
        let line = match record.to_line() {
            Ok(line) if line.len() <= LINE_CAP => line,
            Ok(line) => {
                return SaveOutcome::Dropped {
                    why: format!("a record of {} MiB is too large", line.len() >> 20),
                };
            }
            Err(error) => {
                return SaveOutcome::Dropped {
                    why: format!("a record could not be written as JSON ({error})"),
                };
            }
        };
        if matches!(self.sink, LogSink::Unborn) && self.queue.is_empty() && !matches!(record, Record::Meta(_))
        {
            // The first line of a file says what it is, even if nobody told us more than the id.
            self.enqueue_bare_meta();
        }
        self.enqueue(line);
        self.started |= !is_preamble(record);
        if self.started { self.flush() } else { SaveOutcome::Held }
    }

    /// Makes everything appended so far survive a power cut. For the moment before an approved side effect, and
    /// the end of a turn.
    pub fn sync(&mut self) -> SaveOutcome {
        match self.sink {
            LogSink::Off => return SaveOutcome::Off,
            LogSink::Unborn | LogSink::Open(_) if !self.started => return SaveOutcome::Held,
            LogSink::Unborn | LogSink::Open(_) => {}
        }
        let written = self.flush();
        let LogSink::Open(open) = &mut self.sink else { return written };
        if !self.queue.is_empty() {
            return written;
        }
        match open.sync(&self.path) {
            Ok(()) if self.trouble.take().is_some() => {
                SaveOutcome::Again { lost: std::mem::take(&mut self.lost) }
            }
            Ok(()) => written,
            Err(why) => self.note(LogTrouble::Sync(why)),
        }
    }

    fn flush(&mut self) -> SaveOutcome {
        match self.write_queue() {
            Ok(()) => match self.trouble.take() {
                Some(LogTrouble::Write(_)) => SaveOutcome::Again { lost: std::mem::take(&mut self.lost) },
                sync => {
                    self.trouble = sync;
                    SaveOutcome::Yes
                }
            },
            Err(error) => {
                let why = format!("{}: {}", self.path.display(), reason(&error));
                let was_lossless = self.lost == 0;
                self.shrink_queue();
                if was_lossless && self.lost > 0 {
                    self.trouble = Some(LogTrouble::Write(why.clone()));
                    return SaveOutcome::Losing { why };
                }
                self.note(LogTrouble::Write(why))
            }
        }
    }

    fn write_queue(&mut self) -> io::Result<()> {
        if matches!(self.sink, LogSink::Unborn) {
            self.sink = LogSink::Open(SessionFileHandle::create(&self.path)?);
        }
        let LogSink::Open(open) = &mut self.sink else { return Ok(()) };
        while let Some(line) = self.queue.front() {
            open.append(line)?;
            self.queued_bytes -= line.len();
            self.queue.pop_front();
        }
        Ok(())
    }

    /// Tells a trouble once, until it changes.
    fn note(&mut self, trouble: LogTrouble) -> SaveOutcome {
        if self.trouble.as_ref() == Some(&trouble) {
            return SaveOutcome::Waiting;
        }
        let (LogTrouble::Write(why) | LogTrouble::Sync(why)) = &trouble;
        let why = why.clone();
        self.trouble = Some(trouble);
        SaveOutcome::Not { why }
    }

    fn enqueue(&mut self, line: Vec<u8>) {
        self.queued_bytes += line.len();
        self.queue.push_back(line);
    }

    fn enqueue_bare_meta(&mut self) {
        let meta = Record::Meta(Meta {
            schema_version: SCHEMA_VERSION,
            id: Some(self.id.to_string()),
            root: None,
            model: None,
            parent: None,
            task: None,
            one_prompt: false,
            ts: record::now(),
        });
        if let Ok(line) = meta.to_line() {
            self.enqueue(line);
        }
    }

    /// Gives up the oldest lines but the very first, which may be the header or the newline that mends the tail.
    fn shrink_queue(&mut self) {
        while self.queued_bytes > QUEUE_CAP && self.queue.len() > 2 {
            if let Some(line) = self.queue.remove(1) {
                self.queued_bytes -= line.len();
                self.lost += 1;
            }
        }
    }
}

/// Says what a session is, not that anything happened in it.
fn is_preamble(record: &Record) -> bool {
    matches!(
        record,
        Record::Meta(_)
            | Record::Model(_)
            | Record::Agent(_)
            | Record::Preset(_)
            | Record::Remote(_)
            | Record::Error(_)
    )
}
