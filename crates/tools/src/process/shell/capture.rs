//! One stream of a command: all of it read, little of it held, the whole on disk when it is too long to show.
//! Secrets are masked before anything is kept, so that no cut leaves half of one. Memory stays bounded whatever comes; a disk that is full costs the file, never the command.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use zdx_protocol::display::Gap;
use zdx_protocol::path_text;
use zdx_protocol::redact::RedactStream;

use self::progress::OutputProgress;
use super::order::{OutputStream, StreamOrder};
use zdx_workspace::spill::{self, SpillError, SpillFile, SpillFolder};
use zdx_workspace::text::{LIMIT, after_cut, before_cut, decode, first, last};

mod progress;

const HEAD: usize = 24 * 1024;
/// With the head a little under the limit: the rest is for the line that says what was cut.
const TAIL: usize = 25 * 1024;
/// What is kept on disk, at most.
const SPILL_LIMIT: u64 = 64 * 1024 * 1024;
/// Last line of a file that has no more.
const CUT_FILE: &str = "\n[zdx: no more than the first 64 MiB of this output are kept]\n";
const CHUNK: usize = 64 * 1024;
/// How long the end of a stream may take to be told; a command's result waits for it.
const LAST_WORD: Duration = Duration::from_millis(100);

/// One stream as a model may see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedStream {
    pub text: String,
    /// All bytes that came, secrets masked, also those not in `text`.
    pub bytes: u64,
    pub truncated: bool,
    pub binary: bool,
    /// The whole stream, when `text` is not or when more may still come.
    pub file: Option<PathBuf>,
    /// `file` has the first 64 MiB alone.
    pub is_file_cut: bool,
}

/// A capture and the task that feeds it, which goes on for as long as somebody holds the pipe's other end.
pub(super) struct StreamPump {
    capture: Arc<Mutex<StreamCapture>>,
    task: JoinHandle<()>,
    closed: bool,
}

impl StreamPump {
    /// Returns at the stream's end.
    pub(super) async fn closed(&mut self) {
        if !self.closed {
            let _ = (&mut self.task).await;
            self.closed = true;
        }
    }

    /// What came so far. A stream that is still open goes on into its file, and reports no more progress.
    pub(super) fn finish(self) -> CapturedStream {
        let mut capture = lock(&self.capture);
        capture.progress = None;
        capture.finish(!self.closed)
    }
}

fn lock(capture: &Mutex<StreamCapture>) -> MutexGuard<'_, StreamCapture> {
    capture.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) struct StreamCapture {
    /// Everything up to the limit; the first part of it once more came.
    head: Vec<u8>,
    /// The end, once there is more than the limit.
    tail: Vec<u8>,
    total: u64,
    /// Newlines, as far as anybody looked.
    newlines: usize,
    nul: bool,
    spill: SpillSink,
    mask: RedactStream,
    progress: Option<OutputProgress>,
    /// Where its lines stand among those of the other stream.
    order: (StreamOrder, OutputStream),
}

impl StreamCapture {
    /// Starts reading.
    pub(super) fn pump(
        mut from: impl AsyncRead + Unpin + Send + 'static,
        spill: SpillSink,
        mask: RedactStream,
        progress: Option<mpsc::Sender<String>>,
        order: (StreamOrder, OutputStream),
    ) -> StreamPump {
        let capture = Arc::new(Mutex::new(Self::new(spill, mask, progress, order)));
        let fed = Arc::clone(&capture);
        let task = tokio::spawn(async move {
            let mut buffer = vec![0; CHUNK];
            while let Ok(count @ 1..) = from.read(&mut buffer).await {
                lock(&fed).push(&buffer[..count]);
                // A flood always has more: whoever is to stop it gets a turn between two pieces of it.
                tokio::task::yield_now().await;
            }
            let rest = {
                let mut capture = lock(&fed);
                capture.flush();
                capture.progress.take().and_then(OutputProgress::finish)
            };
            // Nothing more comes: now there is time to have the end told, to whoever still listens.
            if let Some((to, rest)) = rest {
                let _ = tokio::time::timeout(LAST_WORD, to.send(rest)).await;
            }
        });
        StreamPump { capture, task, closed: false }
    }

    fn new(
        spill: SpillSink,
        mask: RedactStream,
        progress: Option<mpsc::Sender<String>>,
        order: (StreamOrder, OutputStream),
    ) -> Self {
        let progress = progress.map(|to| OutputProgress::new(to, mask.redactor()));
        let (head, tail) = (Vec::new(), Vec::new());
        Self { head, tail, total: 0, newlines: 0, nul: false, spill, mask, progress, order }
    }

    fn push(&mut self, bytes: &[u8]) {
        if let Some(progress) = &mut self.progress {
            progress.push(bytes);
        }
        // Not behind the mask, which holds some of it back.
        self.order.0.add(self.order.1, newlines(bytes));
        self.nul |= bytes.contains(&0);
        if self.total > SPILL_LIMIT {
            // Neither file nor head takes more: only the end is still of use, and a flood must not cost what it is not worth.
            self.total += self.mask.skip(bytes) as u64;
            return;
        }
        let masked = self.mask.push(bytes);
        self.keep(&masked);
    }

    /// Keeps what the mask still held back.
    fn flush(&mut self) {
        let masked = self.mask.finish();
        self.keep(&masked);
    }

    fn keep(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let over = self.total + bytes.len() as u64 > LIMIT as u64;
        if over && self.total <= LIMIT as u64 {
            self.spill.open(&self.head);
        }
        self.total += bytes.len() as u64;
        self.newlines += newlines(bytes);
        self.spill.write(bytes);
        if !over {
            self.head.extend_from_slice(bytes);
            return;
        }
        if self.head.len() > HEAD || self.tail.is_empty() {
            self.head.extend_from_slice(bytes);
            self.tail = self.head.split_off(HEAD);
            self.head.shrink_to_fit();
        } else {
            self.tail.extend_from_slice(bytes);
        }
        // Now and then rather than every time, so that a flood of small writes does not move the tail for each.
        if self.tail.len() > 2 * TAIL {
            self.tail.drain(..self.tail.len() - TAIL);
        }
    }

    fn finish(&mut self, open: bool) -> CapturedStream {
        self.flush();
        let whole =
            (self.total <= LIMIT as u64).then(|| decode(&self.head)).filter(|text| text.len() <= LIMIT);
        let truncated = whole.is_none();
        if (truncated || open) && self.total <= LIMIT as u64 {
            self.spill.open(&self.head);
        }
        CapturedStream {
            text: whole.unwrap_or_else(|| self.cut()),
            bytes: self.total,
            truncated,
            binary: self.nul,
            file: self.spill.path(),
            is_file_cut: self.spill.path().is_some() && self.total > SPILL_LIMIT,
        }
    }

    /// Beginning and end, and between them a line that says what is missing and where it is.
    fn cut(&self) -> String {
        let (head, tail) = match self.tail.is_empty() {
            true => self.head.split_at(self.head.len().min(HEAD)),
            false => (&self.head[..], &self.tail[..]),
        };
        let tail = &tail[tail.len().saturating_sub(TAIL)..];
        let missing = self.total - (head.len() + tail.len()) as u64;
        let whole = match &self.spill {
            SpillSink::File(file) if self.total > SPILL_LIMIT => {
                let path = path_text::encode(&file.path);
                format!("; the first {} MiB are in {path}", SPILL_LIMIT / (1024 * 1024))
            }
            SpillSink::File(file) => format!("; the whole is in {}", path_text::encode(&file.path)),
            SpillSink::Full => format!("; {}", spill::full_note()),
            SpillSink::None | SpillSink::Waiting { .. } => String::new(),
        };
        let (head, tail) = (decode(before_cut(head)), decode(after_cut(tail)));
        let shown = head.matches('\n').count() + tail.matches('\n').count();
        // A line of which the beginning is shown is not left out. In a flood nobody counts.
        let shown = shown + usize::from(!head.ends_with('\n'));
        let lines = (self.total <= SPILL_LIMIT).then(|| self.newlines.saturating_sub(shown));
        let gap = Gap { bytes: missing, lines }.in_output(self.total, &whole);
        format!("{}\n{gap}\n{}", first(&head, HEAD), last(&tail, TAIL))
    }
}

fn newlines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

/// The file for output that is too long; made only when needed.
pub(super) enum SpillSink {
    None,
    Waiting {
        folder: SpillFolder,
        name: String,
    },
    File(SpillFile),
    /// The session keeps no more of them.
    Full,
}

impl SpillSink {
    pub(super) fn new(folder: Option<&SpillFolder>, id: &str, stream: &str) -> Self {
        let Some(folder) = folder else { return Self::None };
        Self::Waiting { folder: folder.clone(), name: spill::name(id, stream) }
    }

    fn open(&mut self, so_far: &[u8]) {
        let Self::Waiting { folder, name } = self else { return };
        *self = folder.create(name).map_or_else(Self::given_up, Self::File);
        self.write(so_far);
    }

    fn write(&mut self, bytes: &[u8]) {
        let Self::File(file) = self else { return };
        let Some(room) = SPILL_LIMIT.checked_sub(file.written) else { return };
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        let mut written = file.write(&bytes[..bytes.len().min(room)]);
        if bytes.len() > room {
            // Whoever reads the file to its end must not take it for the whole.
            written = written.and_then(|()| file.write(CUT_FILE.as_bytes()));
        }
        let Err(error) = written else { return };
        // Half a file called whole would mislead.
        if let Self::File(file) = std::mem::replace(self, Self::given_up(error)) {
            file.remove();
        }
    }

    fn given_up(error: SpillError) -> Self {
        match error {
            SpillError::Full => Self::Full,
            SpillError::Failed => Self::None,
        }
    }

    fn path(&self) -> Option<PathBuf> {
        match self {
            Self::File(file) => Some(file.path.clone()),
            Self::None | Self::Waiting { .. } | Self::Full => None,
        }
    }
}

#[cfg(test)]
mod tests;
