//! One connection: reads a request, plays its reply step by step, and notices when the client goes away.

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::http::{Incoming, RequestReader};
use super::{LIMIT, Moment, Shared};
use crate::reply::{Framing, Reply, Step};

/// How long a waiting server takes at most to notice an open gate, a gone client or its own end.
const SLICE: Duration = Duration::from_millis(2);

pub(super) fn serve(shared: &Arc<Shared>, stream: TcpStream, number: usize) {
    let Ok(read_side) = stream.try_clone() else { return };
    let mut reader = RequestReader::new(read_side, number);
    let mut player = Player { shared, stream, split: 0 };
    loop {
        if player.stream.set_read_timeout(Some(2 * LIMIT)).is_err() {
            return;
        }
        let request = match reader.next() {
            Incoming::Request(request) => *request,
            Incoming::Gone => return,
            Incoming::Malformed(what) => {
                shared.problem(format!("a request that is no HTTP/1.1: {what}"));
                return;
            }
        };
        let last = request.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
        let reply = shared.answer(request);
        shared.tell(Moment::Answering);
        match player.play(&reply) {
            After::KeepAlive if !last => {}
            After::KeepAlive | After::Close => return,
            After::ClientGone => {
                shared.hangup();
                return;
            }
        }
    }
}

enum After {
    KeepAlive,
    Close,
    ClientGone,
}

struct Player<'a> {
    shared: &'a Shared,
    stream: TcpStream,
    split: usize,
}

impl Player<'_> {
    fn play(&mut self, reply: &Reply) -> After {
        self.split = 0;
        let chunked = reply.framing() == Some(Framing::Chunked);
        if let Some(head) = reply.head_bytes()
            && self.stream.write_all(&head).is_err()
        {
            return After::ClientGone;
        }
        for step in &reply.steps {
            match self.step(step, chunked) {
                Ok(None) => {}
                Ok(Some(end)) => return end,
                Err(_) => return After::ClientGone,
            }
        }
        match reply.framing() {
            Some(Framing::Chunked) if self.stream.write_all(b"0\r\n\r\n").is_err() => After::ClientGone,
            Some(Framing::Chunked | Framing::Length) if !reply.closes() => After::KeepAlive,
            Some(Framing::Chunked | Framing::Length | Framing::Close) | None => After::Close,
        }
    }

    fn step(&mut self, step: &Step, chunked: bool) -> io::Result<Option<After>> {
        match step {
            Step::Bytes(bytes) => self.send(bytes, chunked)?,
            Step::SplitEvery(size) => self.split = *size,
            Step::Pause(time) => {
                if let Waited::ClientGone = self.wait(*time, || false) {
                    return Ok(Some(After::ClientGone));
                }
            }
            Step::Stall => {
                return Ok(Some(match self.wait(LIMIT, || false) {
                    Waited::ClientGone => After::ClientGone,
                    Waited::Done | Waited::TimedOut => After::Close,
                }));
            }
            Step::WaitFor(gate) => {
                gate.reach();
                match self.wait(LIMIT, || gate.is_open()) {
                    Waited::Done => {}
                    Waited::ClientGone => return Ok(Some(After::ClientGone)),
                    Waited::TimedOut => {
                        self.shared.problem(format!("a gate stayed shut for {LIMIT:?}"));
                        return Ok(Some(After::Close));
                    }
                }
            }
            Step::Reset => {
                // Closing with a zero linger time makes the kernel send RST instead of FIN.
                rustix::net::sockopt::set_socket_linger(&self.stream, Some(Duration::ZERO))?;
                return Ok(Some(After::Close));
            }
            Step::Close => return Ok(Some(After::Close)),
        }
        Ok(None)
    }

    fn send(&mut self, bytes: &[u8], chunked: bool) -> io::Result<()> {
        let size = if self.split == 0 { bytes.len().max(1) } else { self.split };
        for piece in bytes.chunks(size) {
            if chunked {
                let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
                chunk.extend_from_slice(piece);
                chunk.extend_from_slice(b"\r\n");
                self.stream.write_all(&chunk)?;
            } else {
                self.stream.write_all(piece)?;
            }
        }
        Ok(())
    }

    fn wait(&self, limit: Duration, done: impl Fn() -> bool) -> Waited {
        let deadline = Instant::now() + limit;
        loop {
            if done() {
                return Waited::Done;
            }
            if self.client_gone() || self.shared.stopping.load(Ordering::SeqCst) {
                return Waited::ClientGone;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Waited::TimedOut;
            }
            std::thread::sleep(SLICE.min(left));
        }
    }

    fn client_gone(&self) -> bool {
        if self.stream.set_nonblocking(true).is_err() {
            return true;
        }
        let peeked = self.stream.peek(&mut [0]);
        let restored = self.stream.set_nonblocking(false);
        match peeked {
            Ok(count) => count == 0 || restored.is_err(),
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        }
    }
}

enum Waited {
    Done,
    ClientGone,
    TimedOut,
}
