//! The terminal's own modes while a chat runs. Whatever was changed is put back when this is dropped.

use std::fs::File;
use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr,
    tcsetattr,
};
use tokio::sync::oneshot;

/// What an editor may have left switched on when it was cut off: bracketed paste.
const RESET: &[u8] = b"\x1b[?2004l";

/// Typed characters neither show up in the middle of an answer nor wait for Enter: they are kept for the next
/// question, while Ctrl-C still interrupts.
pub struct Quiet {
    tty: File,
    before: Termios,
}

impl Quiet {
    pub fn enter() -> io::Result<Self> {
        let tty = File::options().read(true).write(true).open("/dev/tty")?;
        let before = tcgetattr(&tty)?;
        let mut quiet = before.clone();
        quiet.local_modes -= LocalModes::ECHO | LocalModes::ICANON;
        // Enter must arrive as what the editor knows as Enter.
        quiet.input_modes -= InputModes::ICRNL;
        quiet.special_codes[SpecialCodeIndex::VMIN] = 1;
        quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&tty, OptionalActions::Drain, &quiet)?;
        Ok(Self { tty, before })
    }

    /// Throws away what was typed and not read yet.
    pub fn forget_typed(&self) {
        // A terminal that cannot do this has nothing queued.
        let _ = tcflush(&self.tty, QueueSelector::IFlush);
    }

    /// The next key pressed. Cancelled, it leaves the key for whoever reads next.
    pub async fn key(&self) -> io::Result<u8> {
        let tty = self.tty.try_clone()?;
        // Dropping our end wakes the thread up.
        let (stop, _running) = io::pipe()?;
        let (send, pressed) = oneshot::channel();
        std::thread::Builder::new().name("key".into()).spawn(move || send.send(read_key(&tty, &stop)))?;
        pressed.await.unwrap_or_else(|_| Err(io::ErrorKind::UnexpectedEof.into()))
    }
}

fn read_key(tty: &File, stop: &PipeReader) -> io::Result<u8> {
    loop {
        let mut wanted = [PollFd::new(tty, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
        match poll(&mut wanted, None) {
            Ok(_) if !wanted[1].revents().is_empty() => return Err(io::ErrorKind::Interrupted.into()),
            Ok(_) => {
                let mut key = [0];
                let mut tty = tty;
                return tty.read_exact(&mut key).map(|()| key[0]);
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // The terminal may be gone (SIGHUP): then there is nothing to put back.
        let _ = crate::output::write_all(self.tty.as_fd(), RESET);
        let _ = tcsetattr(&self.tty, OptionalActions::Drain, &self.before);
    }
}
