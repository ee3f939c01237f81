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
use super::keys::{Keys, Pressed, UNMARK_PASTES};

/// Longer than the pause between two letters of somebody who types without looking.
const SILENCE: Duration = Duration::from_millis(200);

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

    /// What was typed and nobody has read yet.
    pub async fn typed(&self) -> io::Result<Vec<u8>> {
        self.listen(|terminal| terminal.until_silent(Duration::ZERO)).await
    }

    /// Comes back when nothing was typed for a while, with what was typed until then. Whoever is in the middle of a word
    /// must notice a question before a letter of it can answer.
    pub async fn silence(&self) -> io::Result<Vec<u8>> {
        self.listen(|terminal| terminal.until_silent(SILENCE)).await
    }

    /// The next key pressed. Cancelled, it leaves the key for whoever reads next.
    pub async fn pressed(&self) -> io::Result<Pressed> {
        self.listen(|terminal| {
            let mut keys = Keys::default();
            loop {
                terminal.wait(None)?;
                match keys.read(&terminal.burst()?) {
                    Some(pressed) => return Ok(pressed),
                    // The rest of a paste may be on its way.
                    None => terminal.drain(&mut keys)?,
                }
            }
        })
        .await
    }

    async fn listen<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Listener) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let tty = self.tty.try_clone()?;
        // Dropping our end wakes the thread up.
        let (stop, _running) = io::pipe()?;
        let (send, heard) = oneshot::channel();
        std::thread::Builder::new().name("keys".into()).spawn(move || {
            // Nobody may be waiting any more.
            let _ = send.send(work(&Listener { tty, stop }));
        })?;
        heard.await.unwrap_or_else(|_| Err(io::ErrorKind::UnexpectedEof.into()))
    }
}

struct Listener {
    tty: File,
    stop: PipeReader,
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

    fn drain(&self, keys: &mut Keys) -> io::Result<()> {
        while self.wait(Some(SILENCE))? {
            keys.read(&self.burst()?);
        }
        Ok(())
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // An editor or a question may have been cut off. The terminal may be gone (SIGHUP): then there is
        // nothing to put back.
        let _ = crate::output::write_all(self.tty.as_fd(), UNMARK_PASTES.as_bytes());
        let _ = tcsetattr(&self.tty, OptionalActions::Drain, &self.before);
    }
}
