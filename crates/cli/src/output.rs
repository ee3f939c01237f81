//! The only writer of stdout and stderr during a conversation: one thread, so that a reader who stops reading
//! (a paused pager, Ctrl-S) stalls the writing and never the signals. Decides nothing about what is written.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tokio::sync::{mpsc, oneshot};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    Out,
    Err,
}

/// What waits to be written, in order, with neighbours of one channel joined into one write.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Page {
    pieces: Vec<(Channel, Vec<u8>)>,
    len: usize,
}

impl Page {
    pub fn out(&mut self, bytes: impl AsRef<[u8]>) {
        self.push(Channel::Out, bytes.as_ref());
    }

    pub fn err(&mut self, bytes: impl AsRef<[u8]>) {
        self.push(Channel::Err, bytes.as_ref());
    }

    fn push(&mut self, channel: Channel, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.len += bytes.len();
        match self.pieces.last_mut() {
            Some((last, buffer)) if *last == channel => buffer.extend_from_slice(bytes),
            _ => self.pieces.push((channel, bytes.to_vec())),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Only what is for stdout.
    pub fn into_out(self) -> Vec<u8> {
        self.pieces
            .into_iter()
            .filter(|(channel, _)| *channel == Channel::Out)
            .flat_map(|(_, bytes)| bytes)
            .collect()
    }

    #[cfg(test)]
    pub fn text(&self, channel: Channel) -> String {
        let bytes: Vec<u8> =
            self.pieces.iter().filter(|(c, _)| *c == channel).flat_map(|(_, b)| b.clone()).collect();
        String::from_utf8(bytes).unwrap()
    }

    /// Both channels as one terminal would show them.
    #[cfg(test)]
    pub fn screen(&self) -> String {
        let bytes: Vec<u8> = self.pieces.iter().flat_map(|(_, b)| b.clone()).collect();
        String::from_utf8(bytes).unwrap()
    }
}

enum Message {
    Page(Page),
    Barrier(oneshot::Sender<()>),
}

/// The writer's two ends are apart so that one can be waited for while the other is used.
pub struct Output {
    pub pages: Pages,
    pub failures: Failures,
}

pub struct Pages(mpsc::Sender<Message>);

pub struct Failures(mpsc::Receiver<io::Error>);

impl Output {
    pub fn start() -> io::Result<Self> {
        // One page in flight: while it is written, the next one grows, and that is all the batching there is.
        let (pages, queue) = mpsc::channel(1);
        let (report, failures) = mpsc::channel(1);
        std::thread::Builder::new().name("output".into()).spawn(move || write_pages(queue, &report))?;
        Ok(Self { pages: Pages(pages), failures: Failures(failures) })
    }
}

impl Pages {
    /// Waits until the writer can take a page; cancelling loses nothing.
    pub async fn ready(&self) -> Slot<'_> {
        Slot(self.0.reserve().await.ok())
    }

    /// Comes back when everything given so far was written.
    pub async fn settle(&self, page: &mut Page) {
        self.ready().await.send(page);
        let (done, written) = oneshot::channel();
        if self.0.send(Message::Barrier(done)).await.is_ok() {
            // An error means that the writer is gone, and nothing is left to wait for.
            let _ = written.await;
        }
    }
}

impl Failures {
    /// Why stdout cannot be written any more. Told once; pending for ever when all is well.
    pub async fn next(&mut self) -> io::Error {
        match self.0.recv().await {
            Some(error) => error,
            None => std::future::pending().await,
        }
    }

    /// A failure that nobody has seen yet.
    pub fn take(&mut self) -> Option<io::Error> {
        self.0.try_recv().ok()
    }
}

pub struct Slot<'a>(Option<mpsc::Permit<'a, Message>>);

impl Slot<'_> {
    pub fn send(self, page: &mut Page) {
        let page = std::mem::take(page);
        if let Some(permit) = self.0 {
            permit.send(Message::Page(page));
        }
    }
}

fn write_pages(mut queue: mpsc::Receiver<Message>, report: &mpsc::Sender<io::Error>) {
    let mut out_works = true;
    while let Some(message) = queue.blocking_recv() {
        match message {
            Message::Page(page) => {
                for (channel, bytes) in page.pieces {
                    match channel {
                        Channel::Out if out_works => {
                            if let Err(error) = write_all(rustix::stdio::stdout(), &bytes) {
                                out_works = false;
                                // Full means that an earlier failure still waits to be seen: one is enough.
                                let _ = report.try_send(error);
                            }
                        }
                        Channel::Out => {}
                        // Nobody can be told that stderr does not work.
                        Channel::Err => drop(write_all(rustix::stdio::stderr(), &bytes)),
                    }
                }
            }
            // The waiting side may have given up.
            Message::Barrier(done) => drop(done.send(())),
        }
    }
}

/// Whether something can be written without waiting longer than this.
pub fn has_room(fd: BorrowedFd<'_>, most: Duration) -> bool {
    let Ok(time) = Timespec::try_from(most) else { return false };
    let mut wanted = [PollFd::new(&fd, PollFlags::OUT)];
    matches!(poll(&mut wanted, Some(&time)), Ok(1..))
}

/// Writes everything, past interruptions and past a terminal that somebody else made non-blocking.
pub fn write_all(fd: BorrowedFd<'_>, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(fd, bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let mut wanted = [PollFd::new(&fd, PollFlags::OUT)];
                match poll(&mut wanted, None) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
