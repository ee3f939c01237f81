//! The way out to the terminal. Nobody waits there: what it does not take now is kept, and offered again. So keys are heard
//! however slow the line is, and a terminal that was stopped stops nothing else.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::net::unix::pipe;

/// A terminal that cannot be watched is offered what is kept this often.
const UNWATCHED: Duration = Duration::from_millis(3);

pub(super) struct Outlet {
    /// Opened for this alone: that it never waits must not reach the shell.
    tty: File,
    rest: Mutex<Vec<u8>>,
}

impl Outlet {
    pub(super) fn new(tty: File) -> Self {
        Self { tty, rest: Mutex::default() }
    }

    fn rest(&self) -> MutexGuard<'_, Vec<u8>> {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = self.rest();
        rest.extend_from_slice(bytes);
        self.offer(&mut rest)
    }

    /// What was kept, once more.
    pub(super) fn flush(&self) -> io::Result<()> {
        self.offer(&mut self.rest())
    }

    fn offer(&self, rest: &mut Vec<u8>) -> io::Result<()> {
        let mut taken = 0;
        let ended = loop {
            if taken == rest.len() {
                break Ok(());
            }
            match (&self.tty).write(&rest[taken..]) {
                Ok(0) => break Err(ErrorKind::WriteZero.into()),
                Ok(some) => taken += some,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        rest.drain(..taken);
        ended
    }

    /// Something is kept.
    pub(super) fn is_full(&self) -> bool {
        !self.rest().is_empty()
    }

    /// Comes back when what is kept may be offered again; never where nothing is.
    pub(super) async fn has_room(&self) {
        if !self.is_full() {
            return std::future::pending().await;
        }
        // Like a pipe, a terminal can be watched from outside the runtime's own kinds of files without a line of unsafe code.
        match self.tty.try_clone().and_then(pipe::Sender::from_file_unchecked) {
            Ok(watched) if watched.writable().await.is_ok() => {}
            _ => tokio::time::sleep(UNWATCHED).await,
        }
    }

    /// Waits after all, for so long at most: what comes next is somebody else's.
    pub(super) fn drain(&self, most: Duration) {
        let until = Instant::now() + most;
        while self.is_full() {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(time) = Timespec::try_from(left) else { return };
            let mut wanted = [PollFd::new(&self.tty, PollFlags::OUT)];
            match poll(&mut wanted, Some(&time)) {
                Ok(1..) if !left.is_zero() && self.flush().is_ok() => {}
                _ => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    /// A socket gets as full as a terminal.
    fn outlet() -> (Outlet, File) {
        let (reader, writer) = UnixStream::pair().unwrap();
        writer.set_nonblocking(true).unwrap();
        (Outlet::new(File::from(OwnedFd::from(writer))), File::from(OwnedFd::from(reader)))
    }

    #[test]
    fn what_is_not_taken_is_kept_in_order() {
        let (outlet, mut reader) = outlet();
        let all: Vec<u8> = (0..400_000_u32).flat_map(u32::to_le_bytes).collect();
        let mut read = Vec::new();
        let mut piece = vec![0; 50_000];
        for part in all.chunks(30_000) {
            outlet.write(part).unwrap();
            if outlet.is_full() {
                let count = reader.read(&mut piece).unwrap();
                read.extend_from_slice(&piece[..count]);
            }
        }
        while read.len() < all.len() {
            outlet.flush().unwrap();
            let count = reader.read(&mut piece).unwrap();
            read.extend_from_slice(&piece[..count]);
        }
        assert!(read == all && !outlet.is_full());
    }

    #[tokio::test]
    async fn there_is_room_when_somebody_read() {
        let (outlet, mut reader) = outlet();
        outlet.write(&vec![b'x'; 1 << 20]).unwrap();
        let soon = Duration::from_millis(50);
        assert!(tokio::time::timeout(soon, outlet.has_room()).await.is_err(), "nobody read");
        let mut piece = vec![0; 1 << 20];
        while outlet.is_full() {
            assert!(reader.read(&mut piece).unwrap() > 0);
            outlet.has_room().await;
            outlet.flush().unwrap();
        }
        assert!(tokio::time::timeout(soon, outlet.has_room()).await.is_err(), "nothing is kept");
    }

    #[test]
    fn nobody_waits_for_ever() {
        let (outlet, reader) = outlet();
        outlet.write(&vec![b'x'; 1 << 20]).unwrap();
        assert!(outlet.is_full());
        outlet.drain(Duration::from_millis(20));
        assert!(outlet.is_full());
        drop(reader);
        outlet.drain(Duration::from_secs(60));
        assert!(outlet.flush().is_err());
    }
}
