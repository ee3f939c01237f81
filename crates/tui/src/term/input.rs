//! What is typed: a thread of its own that sleeps until the terminal has bytes, or until it is told to stop. While it is
//! paused another program may read the terminal, and loses no key to us.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{self, Receiver, Sender, error::TrySendError};
use tokio::task::AbortHandle;

use super::decode::Decoder;
use super::stop::{Unstoppable, is_in_background};
use super::{Screen, TermInput};

/// More than a person gets ahead; behind it the terminal itself keeps what is typed.
const AHEAD: usize = 1_024;
/// How often a full queue is looked at again.
const FULL: Duration = Duration::from_millis(10);
/// How often a terminal is looked at again that a shell has taken from us.
const TAKEN: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
const PIECE: usize = 64 << 10;

pub(crate) struct Input {
    tty: File,
    send: Sender<TermInput>,
    running: Option<(PipeWriter, JoinHandle<()>)>,
    signals: Vec<AbortHandle>,
}

impl Input {
    /// Begins to listen. Needs a runtime with signals.
    pub(crate) fn start(screen: &Screen) -> io::Result<(Self, Receiver<TermInput>)> {
        let (send, receive) = mpsc::channel(AHEAD);
        let signals = vec![
            forward(SignalKind::window_change(), TermInput::Resize, &send)?,
            forward(SignalKind::from_raw(Signal::TSTP.as_raw()), TermInput::Stop, &send)?,
            forward(SignalKind::from_raw(Signal::CONT.as_raw()), TermInput::Continue, &send)?,
        ];
        let mut input = Self { tty: screen.tty()?, send, running: None, signals };
        input.go_on()?;
        Ok((input, receive))
    }

    /// Nothing is read any more when this returns.
    pub(crate) fn pause(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            drop(stop);
            // It panicked, then: nothing reads either.
            let _ = thread.join();
        }
    }

    pub(crate) fn go_on(&mut self) -> io::Result<()> {
        if self.running.is_some() {
            return Ok(());
        }
        let (stopped, stop) = io::pipe()?;
        let reader = Reader { tty: self.tty.try_clone()?, stopped, send: self.send.clone() };
        let thread = std::thread::Builder::new().name("terminal".into()).spawn(move || reader.run())?;
        self.running = Some((stop, thread));
        Ok(())
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        self.signals.iter().for_each(AbortHandle::abort);
        self.pause();
    }
}

fn forward(kind: SignalKind, what: TermInput, to: &Sender<TermInput>) -> io::Result<AbortHandle> {
    let mut signal = signal(kind)?;
    let to = to.clone();
    let task =
        tokio::spawn(
            async move { while signal.recv().await.is_some() && to.send(what.clone()).await.is_ok() {} },
        );
    Ok(task.abort_handle())
}

struct Reader {
    tty: File,
    stopped: PipeReader,
    send: Sender<TermInput>,
}

/// Somebody told us to stop, or nobody listens.
struct Stopped;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Come {
    Nothing,
    Bytes,
    /// And perhaps bytes before it.
    End,
}

impl Reader {
    fn run(self) {
        let _unstoppable = Unstoppable::new();
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        let mut bytes = vec![0; PIECE];
        loop {
            match self.wait(decoder.patience()) {
                Err(Stopped) | Ok(Come::Nothing) => decoder.flush(&mut events),
                Ok(come @ (Come::Bytes | Come::End)) => match rustix::io::read(&self.tty, &mut bytes) {
                    Ok(count @ 1..) => decoder.feed(&bytes[..count], &mut events),
                    Err(Errno::INTR | Errno::AGAIN) => {}
                    // Somebody else took them.
                    Ok(0) if come == Come::Bytes => {}
                    Err(Errno::IO) if is_in_background(&self.tty) => {
                        self.is_stopped_within(TAKEN);
                    }
                    Ok(0) | Err(_) => {
                        decoder.flush(&mut events);
                        events.push(TermInput::Gone);
                    }
                },
            }
            let gone = events.last() == Some(&TermInput::Gone);
            for event in events.drain(..) {
                if self.give(event).is_err() {
                    return;
                }
            }
            if gone || self.is_stopped() {
                return;
            }
        }
    }

    /// What there is to read before the time is over.
    fn wait(&self, time: Option<Duration>) -> Result<Come, Stopped> {
        let time = time.and_then(|time| Timespec::try_from(time).ok());
        loop {
            let mut wanted =
                [PollFd::new(&self.tty, PollFlags::IN), PollFd::new(&self.stopped, PollFlags::IN)];
            match poll(&mut wanted, time.as_ref()) {
                Ok(0) => return Ok(Come::Nothing),
                Ok(_) if !wanted[1].revents().is_empty() => return Err(Stopped),
                Ok(_) if wanted[0].revents() == PollFlags::IN => return Ok(Come::Bytes),
                Ok(_) => return Ok(Come::End),
                Err(Errno::INTR) => {}
                Err(_) => return Err(Stopped),
            }
        }
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped_within(Timespec { tv_sec: 0, tv_nsec: 0 })
    }

    fn is_stopped_within(&self, time: Timespec) -> bool {
        let mut wanted = [PollFd::new(&self.stopped, PollFlags::IN)];
        !matches!(poll(&mut wanted, Some(&time)), Ok(0))
    }

    /// Waits for room, but not past the wish to stop: whoever should make room may be the one that wishes it.
    fn give(&self, mut event: TermInput) -> Result<(), Stopped> {
        loop {
            match self.send.try_send(event) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Closed(_)) => return Err(Stopped),
                Err(TrySendError::Full(_)) if self.is_stopped() => return Err(Stopped),
                Err(TrySendError::Full(back)) => event = back,
            }
            std::thread::sleep(FULL);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::OwnedFd;

    use super::*;
    use crate::key::{Key, KeyCode};

    fn reader() -> (PipeWriter, PipeWriter, Receiver<TermInput>, File, JoinHandle<()>) {
        let ((tty, typing), (stopped, stop)) = (io::pipe().unwrap(), io::pipe().unwrap());
        let tty = File::from(OwnedFd::from(tty));
        let other = tty.try_clone().unwrap();
        let (send, receive) = mpsc::channel(4);
        let thread = std::thread::spawn(move || Reader { tty, stopped, send }.run());
        (typing, stop, receive, other, thread)
    }

    #[test]
    fn a_lone_escape_arrives_without_another_key() {
        let (mut typing, stop, mut receive, _tty, thread) = reader();
        typing.write_all(b"a\x1b").unwrap();
        assert_eq!(receive.blocking_recv(), Some(TermInput::Key(Key::char('a'))));
        assert_eq!(receive.blocking_recv(), Some(TermInput::Key(Key::plain(KeyCode::Esc))));
        // And a terminal that is closed is told.
        drop(typing);
        assert_eq!(receive.blocking_recv(), Some(TermInput::Gone));
        thread.join().unwrap();
        drop(stop);
    }

    #[test]
    fn what_is_typed_after_a_stop_is_left_for_others() {
        let (mut typing, stop, mut receive, mut tty, thread) = reader();
        typing.write_all(b"a").unwrap();
        assert_eq!(receive.blocking_recv(), Some(TermInput::Key(Key::char('a'))));
        drop(stop);
        thread.join().unwrap();
        typing.write_all(b"b").unwrap();
        let mut left = [0; 8];
        assert_eq!(io::Read::read(&mut tty, &mut left).unwrap(), 1);
        assert_eq!(left[0], b'b');
    }

    #[test]
    fn a_full_queue_does_not_keep_it_from_stopping() {
        let (mut typing, stop, receive, _tty, thread) = reader();
        typing.write_all(&[b'x'; 100]).unwrap();
        while receive.len() < 4 {
            std::thread::yield_now();
        }
        drop(stop);
        thread.join().unwrap();
    }
}
