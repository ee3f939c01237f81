//! Our own stdin and stdout as streams, each behind a thread: who stops reading or writing stalls that thread and nobody
//! else. And stderr for what a person may want to look up; what nobody reads there is dropped.

use std::io;
use std::thread;

use rustix::io::Errno;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::{mpsc, oneshot};
use zdx_protocol::display::plain;

use crate::output::write_all;

const CHUNK: usize = 64 << 10;
/// Chunks on their way to or from a thread.
const WAITING: usize = 4;
/// Lines for stderr.
const LINES: usize = 256;

pub struct Streams {
    pub reader: DuplexStream,
    pub writer: DuplexStream,
    /// Over once everything is written, or cannot be.
    pub written: oneshot::Receiver<()>,
}

pub fn streams() -> io::Result<Streams> {
    let (reader, incoming) = tokio::io::duplex(CHUNK);
    let (writer, outgoing) = tokio::io::duplex(CHUNK);
    tokio::spawn(take(incoming, from_stdin()?));
    let (to_stdout, written) = to_stdout()?;
    tokio::spawn(give(outgoing, to_stdout));
    Ok(Streams { reader, writer, written })
}

fn from_stdin() -> io::Result<mpsc::Receiver<Vec<u8>>> {
    let (send, receive) = mpsc::channel(WAITING);
    let read = move || {
        let mut buffer = vec![0; CHUNK];
        loop {
            match rustix::io::read(rustix::stdio::stdin(), &mut buffer) {
                Ok(0) => return,
                Ok(n) if send.blocking_send(buffer[..n].to_vec()).is_err() => return,
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    };
    thread::Builder::new().name("stdin".into()).spawn(read)?;
    Ok(receive)
}

async fn take(mut stream: DuplexStream, mut chunks: mpsc::Receiver<Vec<u8>>) {
    while let Some(chunk) = chunks.recv().await {
        if stream.write_all(&chunk).await.is_err() {
            return;
        }
    }
}

fn to_stdout() -> io::Result<(mpsc::Sender<Vec<u8>>, oneshot::Receiver<()>)> {
    let (send, mut receive) = mpsc::channel::<Vec<u8>>(WAITING);
    let (done, written) = oneshot::channel();
    let write = move || {
        while let Some(chunk) = receive.blocking_recv() {
            if write_all(rustix::stdio::stdout(), &chunk).is_err() {
                break;
            }
        }
        // Nobody may wait for it any more.
        let _ = done.send(());
    };
    thread::Builder::new().name("stdout".into()).spawn(write)?;
    Ok((send, written))
}

/// Ends when everything was said; then, or when stdout is gone, the stream is closed.
async fn give(mut stream: DuplexStream, to: mpsc::Sender<Vec<u8>>) {
    let mut buffer = vec![0; CHUNK];
    while let Ok(n @ 1..) = stream.read(&mut buffer).await {
        if to.send(buffer[..n].to_vec()).await.is_err() {
            return;
        }
    }
}

/// Lines on stderr.
#[derive(Clone)]
pub struct Log(mpsc::Sender<String>);

impl Log {
    pub fn start() -> io::Result<Self> {
        let (send, mut lines) = mpsc::channel::<String>(LINES);
        let write = move || {
            while let Some(line) = lines.blocking_recv() {
                // Nobody can be told that stderr does not work.
                let _ = write_all(rustix::stdio::stderr(), format!("{line}\n").as_bytes());
            }
        };
        thread::Builder::new().name("stderr".into()).spawn(write)?;
        Ok(Self(send))
    }

    pub fn say(&self, text: &str) {
        let _ = self.0.try_send(format!("zdx: {}", plain(text)));
    }
}
