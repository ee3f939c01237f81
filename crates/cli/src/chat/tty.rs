//! The terminal's own modes while a chat runs. Whatever was changed is put back when this is dropped.

use std::fs::File;
use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use tokio::sync::oneshot;

use super::ahead::MOST_AHEAD;
/// Makes a terminal mark what is pasted, so that it cannot pass for typed lines.
pub const MARK_PASTES: &str = "\x1b[?2004h";
pub const UNMARK_PASTES: &str = "\x1b[?2004l";

/// Typed characters neither show up in the middle of an answer nor wait for Enter: they are kept for the next
/// question, while Ctrl-C still interrupts.
pub struct Quiet {
    tty: File,
    before: Termios,
    smart: bool,
}

impl Quiet {
    /// `smart`: the terminal understands cursor movement.
    pub fn enter(smart: bool) -> io::Result<Self> {
        let tty = File::options().read(true).write(true).open("/dev/tty")?;
        let before = tcgetattr(&tty)?;
        let mut quiet = before.clone();
        quiet.local_modes -= LocalModes::ECHO | LocalModes::ICANON;
        // Enter must arrive as what the editor knows as Enter.
        quiet.input_modes -= InputModes::ICRNL;
        quiet.special_codes[SpecialCodeIndex::VMIN] = 1;
        quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&tty, OptionalActions::Drain, &quiet)?;
        Ok(Self { tty, before, smart })
    }

    pub fn is_smart(&self) -> bool {
        self.smart
    }

    /// Whether the terminal showed what is typed before its modes were changed.
    pub fn echoes(&self) -> bool {
        self.before.local_modes.contains(LocalModes::ECHO)
    }

    /// What was typed and nobody has read yet.
    pub async fn typed(&self) -> io::Result<Vec<u8>> {
        self.listen(|terminal| terminal.until_silent(Duration::ZERO)).await
    }

    /// Returns once nothing was typed for this long, with what was typed until then.
    pub async fn silence(&self, pause: Duration) -> io::Result<Vec<u8>> {
        self.listen(move |terminal| terminal.until_silent(pause)).await
    }

    /// Waits for the next key or paste.
    pub async fn burst(&self) -> io::Result<Vec<u8>> {
        self.listen(|terminal| {
            terminal.wait(None)?;
            terminal.burst()
        })
        .await
    }

    async fn listen<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Listener) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let (tty, newline_is_enter) = (self.tty.try_clone()?, !self.smart);
        // Dropping our end wakes the thread up.
        let (stop, _running) = io::pipe()?;
        let (send, heard) = oneshot::channel();
        std::thread::Builder::new().name("keys".into()).spawn(move || {
            // Nobody may be waiting any more.
            let _ = send.send(work(&Listener { tty, stop, newline_is_enter }));
        })?;
        heard.await.unwrap_or_else(|_| Err(io::ErrorKind::UnexpectedEof.into()))
    }
}

struct Listener {
    tty: File,
    stop: PipeReader,
    /// A program around a simple terminal ends its lines with a newline.
    newline_is_enter: bool,
}

impl Listener {
    /// Whether something was typed before the time was over.
    fn wait(&self, time: Option<Duration>) -> io::Result<bool> {
        let time = time.map(Timespec::try_from).transpose().map_err(io::Error::other)?;
        loop {
            let mut wanted = [PollFd::new(&self.tty, PollFlags::IN), PollFd::new(&self.stop, PollFlags::IN)];
            match poll(&mut wanted, time.as_ref()) {
                Ok(0) => return Ok(false),
                Ok(_) if !wanted[1].revents().is_empty() => return Err(io::ErrorKind::Interrupted.into()),
                Ok(_) => return Ok(true),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// All that waits to be read.
    fn burst(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; 4 << 10];
        match (&self.tty).read(&mut bytes)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                bytes.truncate(count);
                if self.newline_is_enter {
                    bytes.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b'\r');
                }
                Ok(bytes)
            }
        }
    }

    /// All that is typed until nothing comes for this long. What is longer than anybody types is cut.
    fn until_silent(&self, silence: Duration) -> io::Result<Vec<u8>> {
        let mut typed = Vec::new();
        while self.wait(Some(silence))? {
            typed.extend(self.burst()?);
            typed.truncate(MOST_AHEAD);
        }
        Ok(typed)
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // An editor or a question may have been cut off. The terminal may be gone (SIGHUP): then there is
        // nothing to put back.
        if self.smart {
            let _ = crate::output::write_all(self.tty.as_fd(), UNMARK_PASTES.as_bytes());
        }
        let _ = tcsetattr(&self.tty, OptionalActions::Drain, &self.before);
    }
}
